"""Documents as text: one way to write values, fields and tables."""

from __future__ import annotations

import pytest

from annot_pipeline.cli.campaign import _validation
from annot_pipeline.cli.diff import _bisected
from annot_pipeline.cli.render import fields, table, text

DOCUMENT = {
    "campaign": "moods",
    "release": {"version": "v0002", "labels": 1200, "pinned": True, "damaged": []},
    "changes": {"new_labels": 3, "changed_labels": 0, "settings_changed": False},
    "failed": {"chance": ["ann", "bob"], "copies": ["cleo"]},
    "rows": [
        {"item": "i1", "label": "yes", "model": {"probability": 0.99999}, "n": 12, "why": None},
        {"item": "an item\nof \x1b[2J two lines", "label": "no", "model": {}, "n": 1200},
        {"item": "i3", "label": "no", "model": {"probability": 0.5}, "n": 3, "why": ""},
    ],
}


def test_a_document_as_text():
    lines = [
        *fields(DOCUMENT, "campaign release.version=release release.pinned release.damaged none"),
        *fields(DOCUMENT, {"changes": "  since then", "failed": "  failed judges"}),
        *table("items", DOCUMENT["rows"], "item label model.probability=sure n why", most=2),
        *table("no rows", [], "item"),
    ]
    assert lines == [
        "campaign: moods",
        "release: v0002",
        "release.pinned: yes",
        "  since then: new labels 3",
        "  failed judges: chance ann, bob; copies cleo",
        "items",
        "  item                       label     sure      n",
        "  i1                         yes    >0.9999     12",
        "  an item�of �[2J two lines  no              1,200",
        "  and 1 more; --json has all",
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.999989, ">0.9999"), (1.0, "1"), (0.0, "0"), (3e-7, "<0.0001"), (0.53632, "0.5363"),
     (0.9999, "0.9999"), (0.99994, ">0.9999"), (None, ""), (-0.0, "0"), (1234567, "1,234,567"),
     ([1, 2.5, "x"], "1, 2.5, x"), ([*"abcdefg"], "a, b, c, d, e and 2 more")],
)  # fmt: skip
def test_a_value_as_text(value, written):
    """No probability is rounded to certainty, nor to nothing."""
    assert text(value) == written


def test_long_texts_are_cut_and_digits_can_be_more():
    assert text("x" * 50, 10) == "x" * 9 + "…"
    assert text(1 - 1e-9, digits=6) == ">0.999999"
    assert text(0.6540712, digits=6) == "0.654071"


def test_a_name_of_10_kb_does_not_fill_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{"label": "x" * 10_240, "n": 1, "do": "a step " * 60}]
    lines = list(table("t", rows, "label n do", below=["do"]))
    assert all(len(line) <= 80 for line in lines[:-1])
    assert len(lines) < 10
    assert "…" in "".join(lines)
    assert lines[-1].count("a step") == 60, "sentences under a row are whole"


def test_cells_are_whole():
    name = "generaltest2022.en-liv.hyp.TAL-SJTU.liv.txt, of the segment 221"
    assert list(table("t", [{"item": name}], "item"))[2] == f"  {name}"


def test_bisect_shows_figures_as_other_commands_do():
    change = {
        "task": "t", "item": "i1", "column": "raw_mean", "value": 92 / 3, "value_before": None,
        "since": "v0002", "created_at": "2026", "before": "v0001", "decision": None,
        "judgments": [],
    }  # fmt: skip
    lines = [*_bisected({"changes": [change]}, "c")]
    assert lines[:2] == [
        "t: raw_mean of i1 is 30.67",
        "  since v0002 (2026); in v0001 it was not there",
    ]
    lines = [*_bisected({"changes": [change | {"column": "label", "value_before": "a\x1b"}]}, "c")]
    assert lines[1].endswith("it was a\ufffd")


def test_what_to_do_after_a_failed_build_has_a_line_each():
    """All of it stood in the line of the next command, 495 characters long."""
    empty = dict.fromkeys(("sources", "tasks", "gates", "rejections"), ())
    document = empty | {
        "records": 2, "fates": {"used": 2}, "names_of_this_run": False, "other_key": None,
        "failed_build": {"do": ["compare the export", "annot diff c latest candidate"]},
    }  # fmt: skip
    assert list(_validation(document, "c"))[-4:] == [
        "the last build failed with these exports and settings: see annot status",
        "  do: compare the export", "  do: annot diff c latest candidate",
        "next: resolve its error, then annot build c",
    ]  # fmt: skip
