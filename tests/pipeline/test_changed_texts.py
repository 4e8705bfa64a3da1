"""Items whose text changes: ids of judgments, controls, decisions, what vanished, slices."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.cli import main
from annot_pipeline.stages.ingest.item_versions import (
    VERSIONS,
    text_digest,
    without_split_versions,
)
from tests.pipeline.exported import export, fates

FIELDS = {"item": "item", "judge": "judge", "label": "label", "text": "text", "submitted_at": "at"}
SOURCE = {"path": "exports/*.csv", "format": "csv", "fields": FIELDS}
HEAD = "item,judge,label,text,at\n"
MOON = "the moon"
EARLIER = f"i0#{text_digest(MOON)[:8]}"
SCORED = {
    "path": "exports/*.csv", "format": "csv",
    "fields": {name: name for name in ("item", "judge", "score", "control", "text")},
}  # fmt: skip
SCALE = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
SCORED_HEAD = "item,judge,score,control,text,more\n"


def on(day, judges, text, label="no", item="i0"):
    return [f"{item},{judge},{label},{text},2026-01-{day:02}" for judge in judges]


def ids(built):
    """Judge and answer of each id that has a judgment."""
    return {
        row["judgment_id"]: (row["judge"], row["label"], row["source_file"])
        for row in built.rows("settled")
        if row["judgment_id"] is not None
    }


FIRST_NIGHT = {
    "a.csv": export(on(2, ("w0", "w1"), MOON), HEAD),
    "n.csv": export([*on(2, ("v0", "w1"), ""), *on(3, ("w0",), "", "yes")], HEAD),
}
EXPERTS = {
    **SOURCE, "path": "exports/e*.csv", "fields": FIELDS | {"control": {"value": "adjudication"}},
}  # fmt: skip
JUDGES = {**SOURCE, "path": "exports/[a-d]*.csv"}
PLAIN = {
    **SOURCE, "path": "exports/n*.csv",
    "fields": {name: column for name, column in FIELDS.items() if name != "text"},
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    "later",
    [
        on(4, ("w2",), "the sun"), on(4, ("w0",), "the sun"), on(1, ("w2",), "the sun"),
        on(1, ("w2",), "the sun") + on(4, ("w1",), "the sea") + on(5, ("w1",), MOON),
    ],
    ids=["another judge", "the same judge", "a late export", "and back"],
)  # fmt: skip
def test_no_id_changes_because_an_item_gets_another_text(stage_campaign, later):
    """Those of judgments with and without text, and of decisions, stay with who judged what."""
    exports = FIRST_NIGHT | {"e.csv": export([*on(3, ("x",), MOON), *on(3, ("y",), "")], HEAD)}
    sources = [JUDGES, PLAIN, EXPERTS]
    before = ids(stage_campaign(exports, sources=sources))
    after = ids(stage_campaign(exports | {"d.csv": export(later, HEAD)}, sources=sources))
    assert before.keys() < after.keys()
    changed = {judge for key, (judge, *_) in before.items() if after[key] != before[key]}
    assert not changed


def test_only_ids_of_who_answered_several_texts_differ(stage_campaign):
    """An earlier answer, exported late, takes the id of the first: the other has one of its own."""
    later = {"a.csv": export(on(2, ("w0", "w1"), MOON), HEAD)}
    late = {"b.csv": export(on(1, ("w0",), "the sun", "yes"), HEAD)}
    before = ids(stage_campaign(later, sources=[SOURCE]))
    built = stage_campaign(later | late, sources=[SOURCE])
    after = ids(built)
    assert before.keys() < after.keys()
    assert {before[key][0] for key in before if before[key] != after[key]} == {"w0"}
    assert fates(built) == {"used": 3}


def test_a_blank_text_goes_with_the_answer_of_its_judge(stage_campaign):
    """So a blank cell is of the text that its judge answered, whichever is current."""
    exports = {
        "a.csv": export(on(2, ("w0", "w1"), MOON), HEAD),
        "b.csv": export([*on(3, ("w0",), " ", "yes"), *on(3, ("w7",), "", "yes")], HEAD),
        "c.csv": export(on(4, ("w2",), "the sun", "yes"), HEAD),
    }
    built = stage_campaign(exports, sources=[SOURCE])
    items = {(r["judge"], r["fate"]): r["item"] for r in built.rows("settled")}
    assert items == {
        ("w0", "superseded"): EARLIER, ("w0", "used"): EARLIER, ("w1", "used"): EARLIER,
        ("w2", "used"): "i0", ("w7", "used"): "i0",
    }  # fmt: skip


def scored(judge, score, text, *more, control="none", item="i0"):
    return ",".join([item, judge, str(score), control, text, *more])


@pytest.mark.sampled
@pytest.mark.parametrize("more", ["hit", "submitted_at", None])
@pytest.mark.parametrize("control", ["bad_reference", "good_reference"])
def test_controls_stay_with_what_their_judge_answered(stage_campaign, more, control):
    """W0 answers the new text, too; what the controls are compared with does not change."""

    def cell(n):
        return {"hit": f"h{n}", "submitted_at": f"2026-01-0{n}T00:00:00Z"}.get(more, "")

    first = [
        row
        for judge, score in (("w0", 70), ("w1", 80))
        for row in (scored(judge, score, MOON, cell(1)),
                    scored(judge, score - 30, f"{MOON} moon", cell(1), control=control))
    ]  # fmt: skip
    second = [scored("w0", 20, "the sun", cell(2)), scored("w2", 90, "the sun", cell(2))]
    fields = SCORED["fields"] | ({more: "more"} if more else {})
    exports = {"a.csv": export(first, SCORED_HEAD), "b.csv": export(second, SCORED_HEAD)}
    built = stage_campaign(exports, sources=[{**SCORED, "fields": fields}], tasks=SCALE)
    pairs = {(r["judge_id"], r["item"], r["ordinary_score"]) for r in built.rows("control_pairs")}
    names = {r["judge"]: r["judge_id"] for r in built.rows("settled")}
    assert pairs == {(names["w0"], EARLIER, 70), (names["w1"], EARLIER, 80)}


def compared(built):
    """Judge and kind of each control, with the score that it is compared with or the reason."""
    names = {r["judge_id"]: r["judge"] for r in built.rows("settled")}
    return {
        (names[r["judge_id"]], r["control"], r["item"]): r["reason"] or r["ordinary_score"]
        for r in built.rows("control_pairs")
    }


@pytest.mark.sampled
@pytest.mark.parametrize("more", ["hit", "submitted_at", None])
def test_control_of_names_an_item_as_exports_call_it(stage_campaign, more):
    def cell(n):
        return {"hit": f"h{n}", "submitted_at": f"2026-01-0{n}T00:00:00Z"}.get(more, "")

    def of(judge, score, text, control, item, n):
        return f"{scored(judge, score, text, cell(n), control=control, item=item)},i0"

    first = [
        row
        for judge, score in (("w0", 70), ("w1", 80))
        for row in (f"{scored(judge, score, MOON, cell(1))},",
                    of(judge, score - 1, MOON, "ask_again", f"again-{judge}", 1),
                    of(judge, score - 30, f"{MOON} moon", "bad_reference", f"bad-{judge}", 1))
    ]  # fmt: skip
    second = [
        f"{scored('w0', 20, 'the sun', cell(2))},",
        of("w0", 10, "sun", "bad_reference", "bad-2", 2),
        of("w9", 10, "sun", "bad_reference", "bad-9", 2),
    ]
    head = SCORED_HEAD.strip() + ",control_of\n"
    fields = SCORED["fields"] | {"control_of": "control_of"} | ({more: "more"} if more else {})
    exports = {"a.csv": export(first, head), "b.csv": export(second, head)}
    built = stage_campaign(exports, sources=[{**SCORED, "fields": fields}], tasks=SCALE)
    assert compared(built) == {
        ("w0", "ask_again", "again-w0"): 70, ("w0", "bad_reference", "bad-w0"): 70,
        ("w1", "ask_again", "again-w1"): 80, ("w1", "bad_reference", "bad-w1"): 80,
        ("w0", "bad_reference", "bad-2"): 20,
        ("w9", "bad_reference", "bad-9"):
            "the ordinary judgment of the same output is by another judge",
    }  # fmt: skip


def test_controls_of_a_segment_and_system_go_with_the_text(stage_campaign):
    """A judge's answers to both texts are no two ordinary judgments of one output."""
    rows = [
        scored("w0", 70, MOON, "2026-01-01"), scored("w0", 20, "the sun", "2026-01-03"),
        scored("w0", 40, "moon", "2026-01-02", control="bad_reference"),
        scored("w0", 41, "moon", "2026-01-02", control="good_reference", item="i9"),
        scored("w0", 9, "sun", "2026-01-04", control="good_reference", item="i8"),
    ]  # fmt: skip
    fields = SCORED["fields"] | {
        "submitted_at": "more", "segment": {"value": "s"}, "system": {"value": "x"},
    }  # fmt: skip
    built = stage_campaign(
        {"a.csv": export(rows, SCORED_HEAD)}, sources=[{**SCORED, "fields": fields}], tasks=SCALE
    )
    assert compared(built) == {
        ("w0", "bad_reference", EARLIER): 70, ("w0", "good_reference", "i9"): 70,
        ("w0", "good_reference", "i8"): 20,
    }  # fmt: skip


@pytest.mark.slow
def test_votes_on_a_text_that_changes_back_have_not_vanished(build_campaign):
    source = {
        **SOURCE, "fields": {"item": "item", "label": "label", "votes": "n", "text": "text"},
    }  # fmt: skip
    exports = {}
    for n, text in enumerate([MOON, "the sun", MOON], start=1):
        rows = [f"i{i},{label},{n},{text} {i}" for i in range(25) for label in ("yes", "no")]
        exports[f"n{n}.csv"] = export(rows, "item,label,n,text\n")
        built = build_campaign(exports, sources=[source])
        for row in built.metrics("compare_releases")["vanished_judgments"]:
            assert (row["vanished_items"], row["first_vanished"]) == (0, [])
    fewer = dict.fromkeys(exports, export(rows[:-2], "item,label,n,text\n"))
    built = build_campaign(fewer, sources=[source])
    [row] = built.metrics("compare_releases")["vanished_judgments"]
    assert row["first_vanished"][0] == "i24"


@pytest.mark.slow
def test_decisions_on_two_texts_both_count(build_campaign, tmp_path, capsys):
    """The text of a later decision is another text of the item, and no earlier one."""
    exports = {
        "a.csv": export(on(1, ("w0", "w1"), "the sea", item="i1"), HEAD),
        "e.csv": export(
            [*on(2, ("x",), MOON), *on(3, ("x",), "the sun", "yes"),
             *on(4, ("x",), "the ocean", "yes", item="i1")], HEAD,
        ),
    }  # fmt: skip
    built = build_campaign(exports, sources=[JUDGES, EXPERTS])
    assert fates(built) == {"used": 2, "adjudication": 3}
    newer = f"i1#{text_digest('the ocean')[:8]}"
    labels = {row["item"]: row["label"] for row in built.rows("labels")}
    assert labels == {"i0": "yes", EARLIER: "no", "i1": "no", newer: "yes"}
    assert main(["trace", str(tmp_path / "campaign"), "i1"]) == 0
    assert f"  {newer}  {newer.rpartition('#')[2]}  the ocean\n" in capsys.readouterr().out
    assert main(["trace", str(tmp_path / "campaign"), newer]) == 0
    assert "the sea\n" in capsys.readouterr().out


def test_names_with_more_digits_split_no_versions():
    """The name of item1 comes before that of its versions, and item10 behind these."""
    names = sorted(f"item{n}" for n in range(1, 10_001))
    ends = names[249::250][:-1]
    rows = [
        {"task": "t", "item": item, "text_digest": name, "name": name, "is_current": name == item}
        for item in ("item1", "item2", "item500")
        for name in (item, f"{item}#{text_digest(item)[:8]}")
    ]
    versions = pa.Table.from_pylist(rows, VERSIONS)
    assert without_split_versions(ends, versions) == ends
    assert without_split_versions(["item1", *ends], versions) == ends
