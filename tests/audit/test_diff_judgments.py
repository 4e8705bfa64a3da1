"""Which judgments differ between two releases: item, answers, places, and what is no difference."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.audit.diff.releases import Diff, diff_releases
from annot_pipeline.config.campaign_file import load_campaign

NAMES = ("item", "judge", "label")
HEAD = "item,judge,label\n"
FIELDS = {name: name for name in NAMES}
EXPERT = FIELDS | {"control": {"value": "adjudication"}, "why": "why", "submitted_at": "at"}
OPEN: dict[str, Any] = {"agreement": {"bootstrap": 0}, "privacy": {"pseudonymize": False}}


def of(path: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"path": f"exports/{path}", "format": "csv", "fields": fields}


def votes(**changed: str) -> str:
    return HEAD + "".join(
        f"i{i},{j},{changed.get(f'i{i}_{j}', 'xy'[i % 2])}\n" for i in range(8) for j in "pqr"
    )


@pytest.fixture
def diff(tmp_path):

    def between(**options: Any) -> Diff:
        return diff_releases(load_campaign(tmp_path / "campaign"), ("v0001", "v0002"), **options)

    return between


def listed(diff: Diff) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = diff.document(99)["judgments"]
    return told


@pytest.mark.slow
def test_each_with_both_answers_and_places(build_campaign, diff):
    settings = OPEN | {"sources": [of("*.csv", FIELDS)]}
    first = votes()
    build_campaign({"a.csv": first}, **settings)
    after = {"a.csv": first.replace("i7,r,y\n", ""), "b.csv": f"{HEAD}i3,q,x\ni9,p,y\n"}
    build_campaign(after, **settings)
    d = diff()
    same = {"is_adjudication": False, "task": d.new.manifest["campaign"], "particulars": []}
    assert listed(d) == [
        same | {"change": "corrected", "item": "i3", "judge": "q", "old_answer": "y",
                "new_answer": "x", "old_fate": "used", "new_fate": "used",
                "old_file": "exports/a.csv", "old_row": 11, "new_file": "exports/b.csv",
                "new_row": 1},
        same | {"change": "withdrawn", "item": "i7", "judge": "r", "old_answer": "y",
                "old_fate": "used", "old_file": "exports/a.csv", "old_row": 24},
        same | {"change": "new", "item": "i9", "judge": "p", "new_answer": "y",
                "new_fate": "used", "new_file": "exports/b.csv", "new_row": 2},
    ]  # fmt: skip
    document = d.document(1)
    assert (len(document["judgments"]), document["judgments_changed"]) == (1, 3)
    without = diff(causes=False).document(9)
    assert (without["judgments"], without["judgments_changed"]) == ([], None)


@pytest.mark.slow
def test_another_expert_or_reason_is_a_change_of_the_label(build_campaign, diff):
    settings = OPEN | {"sources": [of("a*.csv", FIELDS), of("x*.csv", EXPERT)]}
    head = "item,judge,label,why,at\n"
    decisions = head + "i0,e,y,blurred,2024-01-02\ni1,e,x,cut,2024-01-02\n"
    build_campaign({"a.csv": votes(), "x.csv": decisions}, **settings)
    decisions = head + "i0,e,y,sharp,2024-01-02\ni1,f,x,cut,2024-01-03\n"
    build_campaign({"a.csv": votes(), "x.csv": decisions}, **settings)
    d = diff()
    cells = {(r["item"], r["column"]): (r["old"], r["new"], r["causes"])
             for r in d.cells.to_pylist()}  # fmt: skip
    assert cells["i0", "adjudication_reason"] == ("blurred", "sharp", ["adjudications"])
    assert cells["i1", "adjudicator"] == ("e", "f", ["adjudications"])
    assert {column for item, column in cells if item == "i1"} == {"adjudicator", "adjudicated_at"}
    told = [(r["change"], r["item"], r["judge"], r["particulars"]) for r in listed(d)]
    assert told == [
        ("withdrawn", "i1", "e", []), ("new", "i1", "f", []), ("restated", "i0", "e", ["why"])
    ]  # fmt: skip
    assert {n: k for n, k in d.inputs["judgments"].items() if k} == {
        "new_adjudications": 1, "withdrawn_adjudications": 1, "corrected_adjudications": 1
    }  # fmt: skip


@pytest.mark.slow
def test_what_was_paid_is_no_change_of_a_judgment(build_campaign, diff):
    paid = FIELDS | {"reward": "paid", "seconds": "took"}
    settings = OPEN | {"sources": [of("a*.csv", paid)]}
    lines = votes().splitlines()

    def export(paid: str, took: str = "9") -> str:
        return "\n".join([f"{lines[0]},paid,took", *(f"{x},{paid},{took}" for x in lines[1:])])

    build_campaign({"a.csv": export("0.10")}, **settings)
    build_campaign({"a.csv": export("0.20").replace("i4,p,x,0.20,9", "i4,p,x,0.20,8")}, **settings)
    d = diff()
    assert {n: k for n, k in d.inputs["judgments"].items() if k} == {"restated": 1}
    assert [(r["item"], r["judge"], r["particulars"]) for r in listed(d)] == [
        ("i4", "p", ["seconds"])
    ]


@pytest.mark.slow
def test_another_document_is_another_particular(build_campaign, diff):
    settings = OPEN | {"sources": [of("a*.csv", FIELDS | {"document": "doc"})]}
    lines = votes().splitlines()
    export = "\n".join([f"{lines[0]},doc", *(f"{line},d1" for line in lines[1:])])
    build_campaign({"a.csv": export}, **settings)
    build_campaign({"a.csv": export.replace("i4,p,x,d1", "i4,p,x,d2")}, **settings)
    assert [(r["item"], r["judge"], r["particulars"]) for r in listed(diff())] == [
        ("i4", "p", ["document"])
    ]


@pytest.mark.slow
def test_the_order_of_sources_is_a_setting(build_campaign, diff):
    """Of two answers that stand in two sources the later source's counts."""
    exports = {"a.csv": votes(), "b.csv": votes(i2_p="y", i3_q="x")}
    a, b = of("a.csv", FIELDS), of("b.csv", FIELDS)
    build_campaign(exports, **OPEN, sources=[a, b])
    build_campaign(exports, **OPEN, sources=[b, a])
    d = diff()
    assert {tuple(row["causes"]) for row in d.cells.to_pylist()} == {("settings",)}
    assert sum((d.inputs["judgments"] or {}).values()) == 0
    assert d.inputs["settings"] == [
        {"path": "sources (order)", "old": ["exports/a.csv", "exports/b.csv"],
         "new": ["exports/b.csv", "exports/a.csv"]}
    ]  # fmt: skip


@pytest.mark.slow
def test_a_new_source_before_old_ones_in_another_order(build_campaign, diff):
    exports = {"a.csv": votes(), "b.csv": votes(i2_p="y")}
    a, b, c = (of(f"{name}.csv", FIELDS) for name in "abc")
    build_campaign(exports, **OPEN, sources=[a, b])
    build_campaign(exports | {"c.csv": f"{HEAD}i9,p,x\n"}, **OPEN, sources=[b, c, a])
    d = diff()
    assert {n: k for n, k in d.inputs["judgments"].items() if k} == {"new": 1}
    by_item = {
        row["item"]: row["causes"] for row in d.cells.to_pylist() if row["column"] == "label"
    }
    assert by_item == {"i9": ["new judgments"]}
