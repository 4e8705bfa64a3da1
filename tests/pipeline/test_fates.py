"""Every row of an export has a fate: used, set aside, or rejected with the reason."""

from __future__ import annotations

import pytest

from annot_pipeline.errors import GateError
from tests.pipeline.exported import ROWS, export, fates


def test_every_row_has_a_fate(stage_campaign):
    rows = [*ROWS, "i1,,yes", "ragged", "i2,w1", ",w1,yes", "i3,w9,"]
    built = stage_campaign({"a.csv": export(rows)})
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


def test_each_makes_one_record_a_combination_also_of_unreadable_rows(stage_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv", "each": {"i": "1..3"},
        "fields": {"item": "item{i}", "judge": "judge", "label": "label{i}"},
    }  # fmt: skip
    head = "judge,item1,item2,item3,label1,label2,label3\n"
    built = stage_campaign(
        {"a.csv": export(["w1,a,b,c,x,y,", "ragged"], head)}, "gates.rejected_share.error=1",
        sources=[source],
    )  # fmt: skip
    rows = [(r["source_row"], r["cell"], r["fate"]) for r in built.rows("lineage")]
    assert sorted(rows) == [
        (1, "i=1", "used"), (1, "i=2", "used"), (1, "i=3", "not_asked"),
        (2, "i=1", "rejected"), (2, "i=2", "rejected"), (2, "i=3", "rejected"),
    ]  # fmt: skip


def test_controls_are_set_aside_but_not_repeats(stage_campaign):
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "label": "label", "control": "control"},
    }  # fmt: skip
    rows = ["i1,w1,yes,none", "i1,w1,yes,ask_again", "i2,w1,no,known_answer"]
    built = stage_campaign({"a.csv": export(rows, "item,judge,label,control\n")}, sources=[source])
    assert fates(built) == {"used": 2, "control": 1}
    assert {r["item"] for r in built.rows("labels")} == {"i1"}


def test_a_key_that_one_jsonl_leaves_out_is_null_there(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "hit": "hit"}
    sources = [{"path": "exports/*.jsonl", "format": "jsonl", "fields": fields}]
    built = stage_campaign(
        {
            "a.jsonl": '{"item": "i1", "judge": "w1", "label": "yes", "hit": "h"}',
            "b.jsonl": '{"item": "i2", "judge": "w1", "label": "yes"}',
        },
        sources=sources,
    )
    assert fates(built) == {"used": 2}


def test_numbers_that_could_not_be_summed_are_rejected(stage_campaign):
    fields = {"item": "item", "judge": "judge", "label": "label", "seconds": "s", "rank": "r"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    rows = ["i1,w1,a,1e300,1", "i2,w1,a,1,1e300", "i3,w1,a,2.5,9007199254740993", "i4,w1,a,1,1"]
    built = stage_campaign(
        {"a.csv": export(rows, "item,judge,label,s,r\n")}, "gates.rejected_share.error=1",
        sources=[source],
    )  # fmt: skip
    reasons = [r["reason"] for r in built.rows("lineage") if r["fate"] == "rejected"]
    assert sorted(reason.partition(":")[0] for reason in reasons) == [
        "rank is too large", "rank is too large", "seconds is too large",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_failed_gate_publishes_nothing_and_lists_reasons(build_campaign, start_campaign):
    start_campaign({"a.csv": export(ROWS)})
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": export([*ROWS, *["i1,,yes"] * 20, "x", "y"])})
    assert "rejected_share" in str(error.value)
    assert "20 x judge is blank" in str(error.value)
    assert "2 x ragged row" in str(error.value)
    again = build_campaign({"a.csv": export(ROWS)})
    assert again.publication.release.version == "v0001"


def test_files_beside_exports_that_nobody_reads_are_warned_of(stage_campaign):
    """Such as those of the next month; not what an item table or another source names.

    Beside a file that is named they are those that end as it does.
    """
    names = ["11-01.csv", "11-02.csv", "12-01.csv", "12-02.jsonl", "notes.md", ".hidden.csv"]
    exports = {name: export(ROWS) for name in [*names, "items.csv"]}
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/11-*.csv", "format": "csv", "fields": fields}
    items = [{"path": "exports/items.csv", "format": "csv", "fields": {"item": "item"}}]

    def gate(*paths):
        sources = [source | {"path": path} for path in paths]
        staged = stage_campaign(exports, sources=sources, items=items)
        return next(g for g in staged.runs["read_records"].gates if g.name == "unread_files")

    warned = gate("exports/11-*.csv")
    assert (warned.level, warned.value) == ("warn", 2)
    assert "exports/12-01.csv, exports/12-02.jsonl" in warned.detail
    named = gate("exports/11-01.csv")
    assert (named.level, named.value) == ("warn", 2)
    assert "exports/11-02.csv, exports/12-01.csv" in named.detail
    assert gate("exports/1?-0?.*").level == "pass"


def test_files_in_subfolders_of_exports_that_nobody_reads_are_warned_of(
    stage_campaign, tmp_path, monkeypatch
):
    """Not hidden ones, not those that builds write, and none below the folder of a campaign."""
    unread = ["mail/2026-11-03/n2.csv", "mail/2026-11-03/raw/n3.jsonl.gz"]
    others = ["mail/.new/a.csv", "mail/2026-11-03/notes.md", "hits/a.csv"]
    for name in [*unread, *others, "votes.csv", "mail/n1.csv", "mail/two/b.csv"]:
        path = tmp_path / "campaign" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(export(ROWS))

    def gate(*paths):
        fields = {"item": "item", "judge": "judge", "label": "label"}
        sources = [{"path": path, "format": "csv", "fields": fields} for path in paths]
        staged = stage_campaign({}, sources=sources, store="mail/own")
        return next(g for g in staged.runs["read_records"].gates if g.name == "unread_files")

    warned = gate("mail/*.csv", "mail/two/*.csv")
    assert (warned.level, warned.value) == ("warn", 2)
    assert ", ".join(unread) in warned.detail
    assert gate("*.csv").level == "pass"
    monkeypatch.setattr("annot_pipeline.stages.ingest.present_exports.MOST_FOLDERS", 2)
    assert gate("mail/*.csv", "mail/two/*.csv").value == 1
