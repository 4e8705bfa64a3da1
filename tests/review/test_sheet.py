"""`annot review`: the sheet, several exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.review.batches import upload_names
from annot_pipeline.review.sheet import safe_cell
from tests.review.batches import (
    CAREFUL,
    CARELESS,
    FAILED,
    FIELDS,
    HEAD,
    ONE_PAIR,
    UPSIDE_DOWN,
    batch,
    reviewed,
    sheet,
    upload,
    work,
)


def test_the_sheet(make):
    rows = [
        work("done", CARELESS, "Rejected"),
        work("careful", CAREFUL),
        work("upside", UPSIDE_DOWN),
        work("careless", CARELESS),
        work("half", CAREFUL.replace("none_1_70|", "").replace("2_31", "2_15")),
        work("once", ONE_PAIR),
    ]
    folder = make(
        {"b.csv": batch(*rows)}, tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}]
    )
    reviewed(folder)
    actual = sheet(folder)
    assert list(actual[0]) == [
        "export", "row", "line", "worker", "hit", "native_id", "status", "recommendation",
        "verdict", "reason", "p_value", "effect", "effect_low", "effect_high", "required_effect",
        "power", "n_pairs", "n_needed", "mean_ordinary", "mean_good_reference",
        "mean_bad_reference", "seconds_per_judgment", "longest_constant_run", "share_at_ends",
        "n_judgments", "n_rejected_records",
    ]  # fmt: skip
    order = [(row["worker"], row["recommendation"]) for row in actual]
    assert order == [
        ("once", "decide"), ("careless", "reject"), ("upside", "reject"), ("half", "approve"),
        ("careful", "approve"), ("done", "reject"),
    ]  # fmt: skip
    careless = actual[1]
    bounds = {"effect_low": "", "effect_high": "", "power": ""}
    assert careless | {"p_value": "", "longest_constant_run": ""} | bounds == {
        "export": "exports/b.csv", "row": "4", "line": "5", "worker": "careless", "hit": "h1",
        "native_id": "a-careless", "status": "Submitted", "recommendation": "reject",
        "verdict": "failed", "reason": FAILED, "p_value": "", "effect": "2.6666666666666665",
        "effect_low": "", "effect_high": "", "required_effect": "28.666666666666664", "power": "",
        "n_pairs": "3", "n_needed": "", "mean_ordinary": "50.333333333333336",
        "mean_good_reference": "",
        "mean_bad_reference": "47.666666666666664", "seconds_per_judgment": "",
        "longest_constant_run": "", "share_at_ends": "0.0", "n_judgments": "6",
        "n_rejected_records": "0",
    }  # fmt: skip
    assert float(careless["effect_low"]) < 2.67 < float(careless["effect_high"]) < 28.66
    assert float(careless["power"]) > 0.9
    assert float(careless["p_value"]) == pytest.approx(0.24497, abs=1e-5)
    assert (actual[3]["n_judgments"], actual[3]["n_rejected_records"]) == ("5", "1")
    assert actual[3]["reason"] == "the scores do not vary: decided by the means"


@pytest.mark.slow
def test_no_cell_is_a_formula(make):
    rows = [work(name, CARELESS) for name in ("=1+1", "@sum", "-2", "+3", "a=b", "'q")]
    folder = make({"=b.csv": batch(*rows)}, source={"path": "exports/=b.csv"})
    reviewed(folder)
    workers = {row["worker"] for row in sheet(folder)}
    assert workers == {"'=1+1", "'@sum", "'-2", "'+3", "a=b", "'q"}
    left = upload(folder, "upload-=b.csv")
    assert [name for name in ("=1+1", "@sum", "-2", "+3", "a=b", "'q") if f'"{name}"' in left] == [
        "a=b", "'q",
    ]  # fmt: skip
    assert [safe_cell(v) for v in ("\tx", "\rx", -1.5, 3, None, "")] == [
        "'\tx", "'\rx", -1.5, 3, None, "",
    ]  # fmt: skip


@pytest.mark.slow
def test_without_hits_and_ids_in_the_mapping_the_columns_tell(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, source={"fields": {
        k: v for k, v in FIELDS.items() if k not in ("hit", "native_id")
    } | {"judge": {"column": "WorkerId", "map": {"careful": "c"}}}})  # fmt: skip
    reviewed(folder)
    (row,) = sheet(folder)
    assert [row[k] for k in ("worker", "hit", "native_id")] == ["careful", "h1", "a-careful"]


@pytest.mark.slow
def test_a_status_that_another_column_holds(make):
    rows = [work("careful", CAREFUL), work("done", CAREFUL, "Approved"), work("new", CAREFUL, "")]
    head = ["State" if name == "AssignmentStatus" else name for name in HEAD]
    folder = make({"b.csv": batch(*rows, head=head)}, fields={"status": "State"})
    (counts,) = reviewed(folder)["uploads"]
    assert (counts["approve"], counts["decided"]) == (2, 1)
    assert {row["worker"]: row["status"] for row in sheet(folder)} == {
        "careful": "Submitted", "done": "Approved", "new": "",
    }  # fmt: skip


@pytest.mark.slow
def test_a_row_of_several_judges(make):
    """Nobody's work is in no column of its own; all must pass."""
    head = ["HITId", "AssignmentId", "Judge_p", "Judge_q", "Input.set", "Answer.Q1"]
    fields = {"judge": "Judge_{t}", "position": {"value": "{t}{i}{k}"}}
    fields["score"] = {"column": "Answer.Q1", "match": r"(?:^|[|;]){t}_{i}_{k}_(\d+)"}
    each = {"t": ["p", "q"], "i": ["none", "bad_reference"], "k": "0..2"}
    answers = [
        "|".join(f"{t}_{part}" for t, a in zip("pq", both, strict=True) for part in a.split("|"))
        for both in ((CAREFUL, CAREFUL), (CAREFUL, CARELESS))
    ]
    rows = [
        ["h", "1", "anna", "bert", "x", answers[0]],
        ["h", "2", "cleo", "dora", "x", answers[1]],
    ]
    folder = make({"b.csv": batch(*rows, head=head)}, fields=fields, source={"each": each})
    reviewed(folder)
    rows = [[*rows[0], "x", ""], [*rows[1], "", FAILED]]
    assert upload(folder) == batch(*rows, head=[*head, "Approve", "Reject"])


@pytest.mark.slow
def test_two_exports_of_one_name_and_another_source(make):
    """A batch that two sources read is written once, with the verdicts of both."""
    one, two = work("careful", CAREFUL), work("careless", CARELESS)
    sources = [
        {"path": "exports/*/b.csv", "format": "mturk", "fields": FIELDS,
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/*/B.csv", "format": "mturk", "fields": FIELDS,
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/day1/b.csv", "format": "mturk",
         "fields": FIELDS | {"task": {"value": "t"}},
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/c.csv", "format": "csv",
         "fields": {"task": {"value": "l"}, "judge": "w", "item": "i", "label": "l"}},
    ]  # fmt: skip
    files = {"day1/b.csv": batch(one), "day2/B.csv": batch(two), "c.csv": "w,i,l\na,b,c\na,d,e\n"}
    folder = make(files, sources=sources)
    document = reviewed(folder)
    names = [Path(u["path"]).name for u in document["uploads"]]
    assert names == ["upload-exports-day1-b.csv", "upload-exports-day2-B.csv"]
    assert upload(folder, names[0]) == batch([*one, "x", ""])
    assert upload(folder, names[1]) == batch([*two, "", FAILED])
    assert [row["worker"] for row in sheet(folder)] == ["careless", "careful"]
    assert sheet(folder)[1]["n_judgments"] == "12"


@pytest.mark.slow
def test_other_sources_do_not_count(make):
    each = {"i": ["none", "bad_reference"], "k": "0..2"}
    fields = {"task": {"value": "l"}, "judge": "w", "item": "i", "label": "l"}
    sources = [
        {"path": "exports/v*.csv", "format": "csv", "fields": fields},
        {"path": "exports/b.csv", "format": "mturk", "each": each, "fields": FIELDS},
    ]
    votes = "w,i,l\na,1,c\na,2,e\n"
    files = {"v1.csv": votes, "v2.csv": votes.replace("a", "b"), "b.csv": batch(work("w", CAREFUL))}
    folder = make(files, sources=sources)
    reviewed(folder)
    assert [(row["worker"], row["n_judgments"]) for row in sheet(folder)] == [("w", "6")]


def test_names_of_uploads():
    assert upload_names(["a/b.csv", "a/c.CSV.GZ", "d"]) == [
        "upload-b.csv",
        "upload-c.csv",
        "upload-d.csv",
    ]
    assert upload_names(["../x/b.csv", "y/B.csv.gz", "/b.csv"]) == [
        "upload-x-b.csv", "upload-y-B.csv", "upload-b.csv",
    ]  # fmt: skip
    assert upload_names(["a/b-c.csv", "a-b/c.csv", "a/b/c.csv", "x/b-c.csv"]) == [
        "upload-a-b-c.csv", "upload-a-b-c-again.csv", "upload-a-b-c-again-again.csv",
        "upload-x-b-c.csv",
    ]  # fmt: skip


@pytest.mark.slow
def test_an_older_download_decides_nothing(make):
    """MTurk would take an x for a row that it has rejected since as a change of mind."""
    careful, careless = work("careful", CAREFUL), work("careless", CARELESS)
    new = [work("careful", CAREFUL, "Rejected"), careless]
    folder = make({"b-1.csv": batch(careful), "b-2.csv": batch(*new)})
    document = reviewed(folder)
    assert [u["elsewhere"] for u in document["uploads"]] == [1, 0]
    assert upload(folder, "upload-b-1.csv") == batch([*careful, "", ""])
    assert upload(folder, "upload-b-2.csv") == batch(new[0] + ["", ""], new[1] + ["", FAILED])
    assert [(r["export"], r["worker"]) for r in sheet(folder)] == [
        ("exports/b-2.csv", "careless"), ("exports/b-2.csv", "careful"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("\uff1dcmd()", "'\uff1dcmd()"),
        ("a;=1+1", "a;'=1+1"),
        ("a\n@sum;\t-2", "a\n'@sum;'\t'-2"),
        ('";=1"', '";\'=1"'),
        ("  =1", "'  =1"),
        ("\tx", "'\tx"),
        ("p = .03, -1.2; fine", "p = .03, -1.2; fine"),
        (-2.5, -2.5),
    ],
)
def test_no_part_of_a_cell_is_a_formula_where_cells_are_split_elsewhere(cell, written):
    assert safe_cell(cell) == written
