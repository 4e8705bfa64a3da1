"""The pipeline from exports to release: ids, fates, precedence, the same bytes."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from annot_pipeline import pipeline
from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import GateError, StoreError
from annot_pipeline.pipeline import STAGES, Build
from annot_pipeline.publish import publish
from annot_pipeline.storage.tables import read_table

HEAD = "item,judge,label\n"
ROWS = [f"i{i},w{j},{'yes' if (i + j * j) % 3 else 'no'}" for i in range(20) for j in range(5)]


def export(rows, head=HEAD):
    return head + "".join(f"{row}\n" for row in rows)


def fates(built):
    return {fate: n for fate, n in built.facts("settle_judgments")["fates"].items() if n}


def but_lineage(built):
    hashes = built.hashes()
    hashes.pop("lineage")
    return hashes


def used_answers(built):
    return Counter(
        (r["item"], r["judge"], r["label"]) for r in built.rows("controlled") if r["fate"] == "used"
    )


# --- the same bytes ------------------------------------------------------------------------


def test_shuffled_rows_renamed_and_split_files_give_the_same_bytes(build_campaign):
    whole = build_campaign({"a.csv": export(ROWS)})
    shuffled = list(ROWS)
    random.Random(1).shuffle(shuffled)
    others = [
        build_campaign({"a.csv": export(shuffled)}),
        build_campaign({"another name.csv": export(ROWS)}),
        build_campaign({"z.csv": export(shuffled[:40]), "b.csv": export(shuffled[40:])}),
        build_campaign({"a.csv": export(shuffled)}, "resources.threads=1"),
        build_campaign({"a.csv": export(ROWS)}, "resources.threads=2"),
    ]
    assert but_lineage(whole)["labels"]
    for other in others:
        assert but_lineage(other) == but_lineage(whole)
        assert used_answers(other) == used_answers(whole)


def test_lineage_is_the_same_for_the_same_files(build_campaign, tmp_path):
    first = build_campaign({"a.csv": export(ROWS)})
    again = build_campaign({"a.csv": export(ROWS)}, f"store={tmp_path}/other-store")
    assert first.hashes() == again.hashes()


def test_an_incremental_build_equals_a_full_one(build_campaign, tmp_path):
    build_campaign({"1.csv": export(ROWS[:50])})
    grown = build_campaign({"1.csv": export(ROWS[:50]), "2.csv": export(ROWS[30:])})
    full = build_campaign(
        {"1.csv": export(ROWS[:50]), "2.csv": export(ROWS[30:])},
        f"store={tmp_path}/fresh", f"gold={tmp_path}/fresh-gold",
    )  # fmt: skip
    assert grown.facts("read_records")["parsed"] == 1
    assert full.facts("read_records")["parsed"] == 2
    assert grown.hashes() == full.hashes()


def test_nothing_new_publishes_nothing_and_runs_nothing(build_campaign):
    first = build_campaign({"a.csv": export(ROWS)})
    second = build_campaign({"a.csv": export(ROWS)})
    assert first.publication.published
    assert not second.publication.published
    assert second.publication.release.version == "v0001"
    assert second.facts("read_records")["parsed"] == 0
    looked = ("archive_exports", "read_records", "compare_releases")
    assert all(run.result.reused for name, run in second.runs.items() if name not in looked)


def test_a_changed_contract_makes_its_table_again(build_campaign, monkeypatch):
    build_campaign({"a.csv": export(ROWS)})
    changed = dataclasses.replace(GOLD["labels"], row="one item, as it is now")
    monkeypatch.setattr(pipeline, "GOLD", GOLD | {"labels": changed})
    again = build_campaign({"a.csv": export(ROWS)})
    reused = {name: run.result.reused for name, run in again.runs.items()}
    assert not reused["infer_labels"]
    assert reused["control_judges"]


def test_a_setting_that_moves_numbers_publishes(build_campaign):
    build_campaign({"a.csv": export(ROWS)})
    changed = build_campaign({"a.csv": export(ROWS)}, "dawid_skene.smoothing=0.5")
    assert changed.publication.published
    assert changed.publication.release.manifest["parent"]["version"] == "v0001"
    assert changed.publication.release.version == "v0002"


def test_a_renamed_export_alone_does_not_publish(build_campaign):
    build_campaign({"a.csv": export(ROWS)})
    assert not build_campaign({"b.csv": export(ROWS)}).publication.published


# --- fates ---------------------------------------------------------------------------------


def test_cumulative_exports_do_not_double_a_judgment(build_campaign):
    once = build_campaign({"1.csv": export(ROWS)})
    labels = once.hashes()["labels"]
    built = build_campaign({"1.csv": export(ROWS), "2.csv": export(ROWS)})
    assert fates(built) == {"used": 100, "duplicate": 100}
    assert built.hashes()["labels"] == labels
    assert len(built.rows("lineage")) == 200


def test_repeats_within_a_file_stay_apart_also_when_exports_are_cumulative(build_campaign):
    readings = ["i1,w1,yes", "i1,w1,no", "i1,w1,yes", "i1,w2,yes"]
    first = build_campaign({"1.csv": export(readings)})
    assert fates(first) == {"used": 4}
    assert len({r["judgment_id"] for r in first.rows("controlled")}) == 4
    both = build_campaign({"1.csv": export(readings), "2.csv": export(readings[::-1])})
    assert fates(both) == {"used": 4, "duplicate": 4}
    assert used_answers(both) == used_answers(first)


def test_a_corrected_answer_supersedes_by_path_order(build_campaign):
    built = build_campaign(
        {"night-2.csv": export(["i1,w1,no"]), "night-10.csv": export(["i1,w1,yes", "i2,w1,no"])}
    )
    assert fates(built) == {"used": 2, "superseded": 1}
    assert used_answers(built)[("i1", "w1", "yes")] == 1  # night-10 is after night-2


def test_submission_time_goes_before_path_order(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    head = "item,judge,label,at\n"
    built = build_campaign(
        {
            "1.csv": export(["i1,w1,late,2024-01-02T00:00:00Z"], head),
            "2.csv": export(["i1,w1,early,2024-01-01T00:00:00Z", "i2,w1,late,"], head),
        },
        sources=sources,
    )
    assert fates(built) == {"used": 2, "superseded": 1}
    assert used_answers(built)[("i1", "w1", "late")] == 1


def test_an_answer_given_again_after_a_correction(build_campaign):
    built = build_campaign(
        {f"{n}.csv": export([f"i1,w1,{label}"]) for n, label in enumerate(("a", "b", "a"))}
    )
    assert fates(built) == {"used": 1, "duplicate": 1, "superseded": 1}
    rows = {r["source_file"]: r["fate"] for r in built.rows("lineage")}
    assert rows == {
        "exports/0.csv": "duplicate",
        "exports/1.csv": "superseded",
        "exports/2.csv": "used",
    }


def test_the_order_of_sources_goes_before_the_order_of_paths(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label"}
    sources = [
        {"path": "exports/z.csv", "format": "csv", "fields": fields},
        {"path": "exports/a.csv", "format": "csv", "fields": fields},
    ]
    built = build_campaign(
        {"a.csv": export(["i1,w1,from a"]), "z.csv": export(["i1,w1,from z"])}, sources=sources
    )
    assert list(used_answers(built)) == [("i1", "w1", "from a")]


def test_only_the_latest_file_of_a_cumulative_source(build_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv", "files": "latest",
        "fields": {"item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    built = build_campaign(
        {"n9.csv": export(ROWS[:10]), "n10.csv": export(ROWS[:30])}, sources=[source]
    )
    assert fates(built) == {"used": 30}


def test_a_withdrawn_judgment_leaves(build_campaign):
    build_campaign({"1.csv": export(ROWS), "2.csv": export(["i99,w1,yes"])})
    built = build_campaign({"1.csv": export(ROWS)})
    assert "i99" not in {r["item"] for r in built.rows("labels")}
    assert built.publication.release.manifest["changes"]["withdrawn_judgments"] == 1
    assert built.publication.release.manifest["changes"]["removed_labels"] == 1


def test_changes_are_counted(build_campaign):
    build_campaign({"1.csv": export(ROWS)})
    item = ROWS[0].split(",")
    other = "no" if item[2] == "yes" else "yes"
    built = build_campaign(
        {"1.csv": export(ROWS), "2.csv": export([f"{item[0]},{item[1]},{other}", "new,w1,yes"])}
    )
    changes = built.publication.release.manifest["changes"]
    assert (changes["new_judgments"], changes["superseded_judgments"]) == (1, 1)
    assert (changes["withdrawn_judgments"], changes["new_labels"]) == (0, 1)


def test_every_row_has_a_fate(build_campaign):
    rows = [*ROWS, "i1,,yes", "ragged", "i2,w1", ",w1,yes", "i3,w9,"]
    built = build_campaign({"a.csv": export(rows)}, "gates.rejected_share.error=0.5")
    lineage = built.rows("lineage")
    assert sorted(r["source_row"] for r in lineage) == list(range(1, len(rows) + 1))
    reasons = {r["source_row"]: r["reason"] for r in lineage if r["fate"] == "rejected"}
    assert reasons == {
        101: "judge is blank",
        102: "ragged row: 1 field, the header has 3",
        103: "ragged row: 2 fields, the header has 3",
        104: "item is blank",
        105: "label is blank",
    }
    source = built.publication.release.manifest["sources"][0]
    assert source["rows"] == len(rows) == sum(source["records"].values())


def test_each_makes_one_record_a_combination_also_of_unreadable_rows(build_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv", "each": {"i": "1..3"},
        "fields": {"item": "item{i}", "judge": "judge", "label": "label{i}"},
    }  # fmt: skip
    head = "judge,item1,item2,item3,label1,label2,label3\n"
    built = build_campaign(
        {"a.csv": export(["w1,a,b,c,x,y,", "ragged"], head)}, "gates.rejected_share.error=1",
        sources=[source],
    )  # fmt: skip
    rows = [(r["source_row"], r["cell"], r["fate"]) for r in built.rows("lineage")]
    assert sorted(rows) == [
        (1, "i=1", "used"), (1, "i=2", "used"), (1, "i=3", "rejected"),
        (2, "i=1", "rejected"), (2, "i=2", "rejected"), (2, "i=3", "rejected"),
    ]  # fmt: skip


def test_controls_are_set_aside_but_not_repeats(build_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "label": "label", "control": "control"},
    }  # fmt: skip
    rows = ["i1,w1,yes,none", "i1,w1,yes,ask_again", "i2,w1,no,known_answer"]
    built = build_campaign({"a.csv": export(rows, "item,judge,label,control\n")}, sources=[source])
    assert fates(built) == {"used": 2, "control": 1}
    assert {r["item"] for r in built.rows("labels")} == {"i1"}


def test_items_are_segment_and_system_escaped(build_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"segment": "seg", "system": "sys", "judge": "judge", "label": "label"},
    }  # fmt: skip
    built = build_campaign(
        {"a.csv": export(["a/b,50%,w1,yes", "s2,x,w1,no"], "seg,sys,judge,label\n")},
        sources=[source],
    )
    assert [(r["item"], r["segment"], r["system"]) for r in built.rows("items")] == [
        ("a%2Fb/50%25", "a/b", "50%"), ("s2/x", "s2", "x"),
    ]  # fmt: skip


def test_item_tables_add_texts_and_truth(build_campaign, tmp_path):
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text("id,t,gold\ni0,Zero,yes\nextra,More,no\n")
    items = [
        {
            "path": "items.csv",
            "format": "csv",
            "fields": {"item": "id", "text": "t", "truth": "gold"},
        }
    ]
    built = build_campaign({"a.csv": export(ROWS)}, items=items)
    by_item = {r["item"]: r for r in built.rows("items")}
    assert len(by_item) == 21
    assert by_item["i0"]["text"] == "Zero"
    assert by_item["extra"]["truth"] == "no"
    assert by_item["i1"]["text"] is None


def test_a_blank_cell_and_a_missing_one_are_the_same_judgment(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "hit": "hit"}
    sources = [
        {"path": "exports/*.csv", "format": "csv", "fields": fields},
        {"path": "exports/*.jsonl", "format": "jsonl", "fields": fields},
    ]
    lines = [
        '{"item": "i1", "judge": "w1", "label": "yes"}',
        '{"item": "i2", "judge": "w1", "label": "yes", "hit": "h"}',
    ]
    built = build_campaign(
        {"a.csv": export(["i1,w1,yes, "], "item,judge,label,hit\n"), "b.jsonl": "\n".join(lines)},
        sources=sources,
    )
    assert fates(built) == {"used": 2, "duplicate": 1}


def test_a_key_that_one_jsonl_leaves_out_is_null_there(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "hit": "hit"}
    sources = [{"path": "exports/*.jsonl", "format": "jsonl", "fields": fields}]
    built = build_campaign(
        {
            "a.jsonl": '{"item": "i1", "judge": "w1", "label": "yes", "hit": "h"}',
            "b.jsonl": '{"item": "i2", "judge": "w1", "label": "yes"}',
        },
        sources=sources,
    )
    assert fates(built) == {"used": 2}


def test_the_order_of_patterns_counts_also_when_nothing_else_changed(build_campaign):
    def source(*patterns: str) -> dict:
        label = {"column": "label", "map": {p: p[1:] for p in patterns}}
        fields = {"item": "item", "judge": "judge", "label": label}
        return {"path": "exports/*.csv", "format": "csv", "fields": fields}

    exports = {"a.csv": export(["i1,w1,yes"])}
    first = build_campaign(exports, sources=[source("~^y", "~s$")])
    assert list(used_answers(first)) == [("i1", "w1", "^y")]
    second = build_campaign(exports, sources=[source("~s$", "~^y")])
    assert list(used_answers(second)) == [("i1", "w1", "s$")]
    assert second.publication.published


def test_a_blank_truth_is_no_truth(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "truth": "truth"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    rows = ["i1,w1,yes,yes", "i1,w2,yes,", "i2,w1,yes, "]
    built = build_campaign({"a.csv": export(rows, "item,judge,label,truth\n")}, sources=[source])
    assert {r["item"]: r["truth"] for r in built.rows("items")} == {"i1": "yes", "i2": None}


@pytest.mark.parametrize("change", ["exports", "settings"])
def test_tables_of_different_builds_are_not_released_together(build_campaign, tmp_path, change):
    """A selection of assets that was materialized alone must not slip into gold."""
    build_campaign({"a.csv": export(ROWS)})
    folder = tmp_path / "campaign"
    sets = ["dawid_skene.smoothing=5"] if change == "settings" else []
    if change == "exports":
        (folder / "exports" / "b.csv").write_text(export(["new,w1,yes"]))
    build = Build(load_campaign(folder, sets=sets))
    for stage in STAGES[:3]:
        build.run_stage(stage)
    with pytest.raises(StoreError, match="not of one build") as error:
        publish(build)
    stale = {"exports": "control_judges", "settings": "infer_labels"}[change]
    assert stale in str(error.value)
    assert [p.name for p in (folder / "gold").iterdir() if p.is_dir()] == ["v0001"]


def test_numbers_that_could_not_be_summed_are_rejected(build_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "seconds": "s", "rank": "r"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    rows = ["i1,w1,a,1e300,1", "i2,w1,a,1,1e300", "i3,w1,a,2.5,9007199254740993", "i4,w1,a,1,1"]
    built = build_campaign(
        {"a.csv": export(rows, "item,judge,label,s,r\n")}, "gates.rejected_share.error=1",
        sources=[source],
    )  # fmt: skip
    reasons = [r["reason"] for r in built.rows("lineage") if r["fate"] == "rejected"]
    assert sorted(reason.partition(":")[0] for reason in reasons) == [
        "rank is too large", "rank is too large", "seconds is too large",
    ]  # fmt: skip


def test_a_bad_row_of_an_item_table_stops_nothing(build_campaign, tmp_path):
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text("id,t\ni0,Zero\n,nobody\nragged\ni1,One\n")
    items = [{"path": "items.csv", "format": "csv", "fields": {"item": "id", "text": "t"}}]
    built = build_campaign({"a.csv": export(ROWS)}, items=items)
    texts = {r["item"]: r["text"] for r in built.rows("items")}
    assert (texts["i0"], texts["i1"], texts["i2"]) == ("Zero", "One", None)
    gate = next(g for g in built.runs["read_records"].gates if g.name == "unread_items")
    assert (gate.level, gate.value) == ("warn", 2)
    assert "items.csv row 2: item is blank" in gate.detail


# --- tasks and gates -----------------------------------------------------------------------


def test_classes_are_ordered_as_declared_else_as_numbers_else_by_code_point(build_campaign):
    def order(built):
        rows = sorted(built.rows("prevalence"), key=lambda r: r["label_order"])
        return [r["label"] for r in rows]

    rows = ["i1,w1,10", "i1,w2,9", "i2,w1,2", "i2,w2,2"]
    assert order(build_campaign({"a.csv": export(rows)})) == ["2", "9", "10"]
    mixed = [*rows, "i3,w1,x"]
    assert order(build_campaign({"a.csv": export(mixed)})) == ["10", "2", "9", "x"]
    declared = {"name": "*", "kind": "categorical", "labels": ["9", "2", "10", "none"]}
    built = build_campaign({"a.csv": export(rows)}, tasks=[declared])
    assert order(built) == ["9", "2", "10", "none"]
    assert len([r for r in built.rows("label_distributions") if r["item"] == "i1"]) == 4


def test_the_first_pattern_that_matches_a_task_wins(build_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"task": "task", "item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    tasks = [{"name": "a*", "labels": ["yes", "no"]}, {"name": "*", "kind": "categorical"}]
    rows = ["ab,i1,w1,yes", "ab,i1,w2,maybe", "b,i1,w1,maybe"]
    built = build_campaign(
        {"a.csv": export(rows, "task,item,judge,label\n")}, "gates.rejected_share.error=1",
        sources=[source], tasks=tasks,
    )  # fmt: skip
    assert fates(built) == {"used": 2, "rejected": 1}
    kinds = {r["task"]: (r["kind"], r["guessed"]) for r in built.rows("tasks")}
    assert kinds == {"ab": ("categorical", True), "b": ("categorical", False)}


def test_a_failed_gate_publishes_nothing_and_lists_reasons(build_campaign):
    build_campaign({"a.csv": export(ROWS)})
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": export([*ROWS, *["i1,,yes"] * 20, "x", "y"])})
    assert "rejected_share" in str(error.value)
    assert "20 x judge is blank" in str(error.value)
    assert "2 x ragged row" in str(error.value)
    again = build_campaign({"a.csv": export(ROWS)})
    assert again.publication.release.version == "v0001"


JUDGE = "alice@example.invalid"


def everything_said(folder: Path) -> str:
    """All text of a release, Parquet decoded."""
    texts = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            texts.append(json.dumps(read_table(path).to_pylist(), default=str))
        else:
            texts.append(path.read_text())
    return "\n".join(texts)


def test_judges_are_pseudonyms_everywhere(build_campaign):
    rows = [f"i{i},{JUDGE},{'yes' if i % 2 else 'no'}" for i in range(9)]
    any_rejects = "gates.rejected_share.error=1"
    built = build_campaign({"a.csv": export([*rows, f",{JUDGE},x"])}, any_rejects)
    said = everything_said(built.publication.release.folder)
    assert "i1" in said  # it is decoded: an item's name is found
    assert "alice" not in said
    assert "alice" not in json.dumps([r.result.document() for r in built.runs.values()])
    names = {r["judge"] for r in built.rows("lineage")}
    assert all(name.startswith("j") and len(name) == 21 for name in names)
    open_ = build_campaign({"a.csv": export(rows)}, "privacy.pseudonymize=false")
    assert {r["judge"] for r in open_.rows("judges")} == {JUDGE}


def test_reasons_and_settings_do_not_name_judges(build_campaign):
    judge = {"column": "judge", "json": "w", "map": {JUDGE: "w1", "w2": "w2"}}
    fields = {"item": "item", "judge": judge, "label": "label"}
    sources = [
        {"path": "exports/*.csv", "format": "csv", "fields": fields},
        {"path": "exports/*.jsonl", "format": "jsonl", "fields": fields | {"judge": "judge"}},
    ]
    lines = ['{"item": "i1", "judge": "w3", "label": "yes"}', f'["{JUDGE}", "i1", "yes"]']
    built = build_campaign(
        {
            "a.csv": f'item;judge;label\ni1;{{w: {JUDGE}}};yes\ni1;{{"w": "w2"}};yes\n',
            "b.jsonl": "\n".join(lines),
        },
        "gates.rejected_share.error=1",
        sources=sources,
    )
    assert fates(built) == {"used": 2, "rejected": 2}
    assert "alice" not in everything_said(built.publication.release.folder)


def test_published_judgment_ids_do_not_confirm_a_guess_of_who_judged(build_campaign):
    built = build_campaign({"a.csv": export(ROWS)})
    internal = {r["judgment_id"] for r in built.rows("controlled")}
    published = {r["judgment_id"] for r in built.rows("lineage")}
    assert len(published) == len(internal)
    assert not published & internal
    assert all(len(i) == 32 and set(i) <= set("0123456789abcdef") for i in published)


def test_calculations_do_not_depend_on_the_key(build_campaign, monkeypatch):
    one = build_campaign({"a.csv": export(ROWS)})
    monkeypatch.setenv("ANNOT_KEY", "quite another key")
    two = build_campaign({"a.csv": export(ROWS)}, "privacy.new_key=true")
    for table in ("labels", "label_distributions", "prevalence", "items"):
        assert one.hashes()[table] == two.hashes()[table]
    assert one.hashes()["judges"] != two.hashes()["judges"]
    assert two.publication.published  # the key counts as a setting


def test_a_path_that_tells_the_judge_is_warned_of(build_campaign):
    """File names are published as they are."""
    fields = {"item": "item", "judge": {"capture": "(?P<judge>[a-z]+)[.]csv"}, "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    exports = {"alice.csv": "item,label\ni1,x\n", "bob.csv": "item,label\ni1,x\n"}
    warned = build_campaign(exports, sources=sources)
    gates = {g.name: g for g in warned.runs["read_records"].gates}
    assert gates["judges_in_paths"].level == "warn"
    plain = build_campaign(exports, sources=sources, privacy={"pseudonymize": False})
    gates = {g.name: g for g in plain.runs["read_records"].gates}
    assert gates["judges_in_paths"].level == "pass"
