"""Which of several answers counts: duplicates, corrections, withdrawals."""

from __future__ import annotations

import pytest

from tests.pipeline.exported import ROWS, export, fates, used_answers


def test_cumulative_exports_do_not_double_a_judgment(stage_campaign):
    once = stage_campaign({"1.csv": export(ROWS)}).run("labels")
    built = stage_campaign({"1.csv": export(ROWS), "2.csv": export(ROWS)})
    assert fates(built) == {"used": 100, "duplicate": 100}
    assert built.table("labels").equals(once.table("labels"))
    assert len(built.rows("lineage")) == 200


def test_repeats_within_a_file_stay_apart_also_when_exports_are_cumulative(stage_campaign):
    readings = ["i1,w1,yes", "i1,w1,no", "i1,w1,yes", "i1,w2,yes"]
    first = stage_campaign({"1.csv": export(readings)})
    assert fates(first) == {"used": 4}
    assert len({r["judgment_id"] for r in first.rows("controlled")}) == 4
    both = stage_campaign({"1.csv": export(readings), "2.csv": export(readings[::-1])})
    assert fates(both) == {"used": 4, "duplicate": 4}
    assert used_answers(both) == used_answers(first)


def test_a_corrected_answer_supersedes_by_path_order(stage_campaign):
    built = stage_campaign(
        {"night-2.csv": export(["i1,w1,no"]), "night-10.csv": export(["i1,w1,yes", "i2,w1,no"])}
    )
    assert fates(built) == {"used": 2, "superseded": 1}
    assert used_answers(built)[("i1", "w1", "yes")] == 1  # night-10 is after night-2


def test_submission_time_goes_before_path_order(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    head = "item,judge,label,at\n"
    built = stage_campaign(
        {
            "1.csv": export(["i1,w1,late,2024-01-02T00:00:00Z"], head),
            "2.csv": export(["i1,w1,early,2024-01-01T00:00:00Z", "i2,w1,late,"], head),
        },
        sources=sources,
    )
    assert fates(built) == {"used": 2, "superseded": 1}
    assert used_answers(built)[("i1", "w1", "late")] == 1


@pytest.mark.parametrize(
    ("repeats", "used"), [("keep", ["x", "y"]), ("first", ["x"]), ("last", ["y"])]
)
def test_a_file_with_some_of_the_answers_repeats_these(stage_campaign, repeats, used):
    """The window of the second file begins at noon: x of the morning is not corrected by it."""
    fields = {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"}
    head = "item,judge,label,at\n"
    rows = ["i1,w1,x,2024-01-01T08:00:00Z", "i1,w1,y,2024-01-01T20:00:00Z"]
    built = stage_campaign(
        {"1.csv": export(rows, head), "2.csv": export([*rows[1:], "i2,w1,z,"], head)},
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        tasks=[{"name": "*", "kind": "categorical", "repeats": repeats}],
    )
    answers = [label for (item, _, label), n in used_answers(built).items() if item == "i1" and n]
    assert sorted(answers) == used
    by_row = {(r["source_file"], r["source_row"]): r["fate"] for r in built.rows("lineage")}
    assert by_row["exports/1.csv", 1] == ("superseded" if repeats == "last" else "used")


def test_an_answer_given_again_after_a_correction(stage_campaign):
    built = stage_campaign(
        {f"{n}.csv": export([f"i1,w1,{label}"]) for n, label in enumerate(("a", "b", "a"))}
    )
    assert fates(built) == {"used": 1, "duplicate": 1, "superseded": 1}
    rows = {r["source_file"]: r["fate"] for r in built.rows("lineage")}
    assert rows == {
        "exports/0.csv": "duplicate",
        "exports/1.csv": "superseded",
        "exports/2.csv": "used",
    }


def test_the_order_of_sources_goes_before_the_order_of_paths(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label"}
    sources = [
        {"path": "exports/z.csv", "format": "csv", "fields": fields},
        {"path": "exports/a.csv", "format": "csv", "fields": fields},
    ]
    built = stage_campaign(
        {"a.csv": export(["i1,w1,from a"]), "z.csv": export(["i1,w1,from z"])}, sources=sources
    )
    assert list(used_answers(built)) == [("i1", "w1", "from a")]


def test_only_the_latest_file_of_a_cumulative_source(stage_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv", "files": "latest",
        "fields": {"item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    built = stage_campaign(
        {"n9.csv": export(ROWS[:10]), "n10.csv": export(ROWS[:30])}, sources=[source]
    )
    assert fates(built) == {"used": 30}


def test_a_withdrawn_judgment_leaves(build_campaign):
    build_campaign({"1.csv": export(ROWS), "2.csv": export(["i99,w1,yes"])})
    built = build_campaign({"1.csv": export(ROWS)})
    assert "i99" not in {r["item"] for r in built.rows("labels")}
    assert built.publication.release.manifest["changes"]["withdrawn_judgments"] == 1
    assert built.publication.release.manifest["changes"]["removed_labels"] == 1


@pytest.mark.slow
def test_changes_are_counted(build_campaign, start_campaign):
    start_campaign({"a.csv": export(ROWS)})
    item = ROWS[0].split(",")
    other = "no" if item[2] == "yes" else "yes"
    built = build_campaign(
        {"a.csv": export(ROWS), "b.csv": export([f"{item[0]},{item[1]},{other}", "new,w1,yes"])}
    )
    changes = built.publication.release.manifest["changes"]
    assert (changes["new_judgments"], changes["superseded_judgments"]) == (1, 1)
    assert (changes["withdrawn_judgments"], changes["new_labels"]) == (0, 1)


def test_a_blank_cell_and_a_missing_one_are_the_same_judgment(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "hit": "hit"}
    sources = [
        {"path": "exports/*.csv", "format": "csv", "fields": fields},
        {"path": "exports/*.jsonl", "format": "jsonl", "fields": fields},
    ]
    lines = [
        '{"item": "i1", "judge": "w1", "label": "yes"}',
        '{"item": "i2", "judge": "w1", "label": "yes", "hit": "h"}',
    ]
    built = stage_campaign(
        {"a.csv": export(["i1,w1,yes, "], "item,judge,label,hit\n"), "b.jsonl": "\n".join(lines)},
        sources=sources,
    )
    assert fates(built) == {"used": 2, "duplicate": 1}
