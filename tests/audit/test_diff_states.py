"""Verdicts, item tables, decisions, mappings and keys between two releases."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.audit.diff.cells import CAUSES, column_of
from annot_pipeline.audit.diff.releases import Diff

pytestmark = pytest.mark.slow

NAMES = ("segment", "system", "judge", "score", "control")
HEAD = ",".join(NAMES) + "\n"
SCORES: dict[str, Any] = {
    "sources": [{"path": "exports/*.csv", "format": "csv", "fields": {n: n for n in NAMES}}],
    "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    "privacy": {"pseudonymize": False},
    "ranking": {"bootstrap": 20, "online_rounds": 0},
    "agreement": {"bootstrap": 0},
    "gates": {"rejected_share": {"error": None}},
}


def scores(segments: range, judges: str = "pqr", *, careless: str = "") -> str:
    """Two systems, and degraded copies of one; who is careless likes the copies best."""
    lines = []
    for s in segments:
        for place, judge in enumerate(judges):
            spread = (7 * s + 3 * place) % 5  # some noise
            for system, score in (("good", 80), ("poor", 60)):
                lines.append(f"s{s},{system},{judge},{score + spread - 2 * place},none\n")
            copy = 90 + s % 3 if judge in careless else 20 + (3 * s + place) % 7
            lines.append(f"s{s},good,{judge},{copy},bad_reference\n")
    return "".join(lines)


def causes(diff: Diff, table: str, column: str, **where: str) -> set[tuple[str, ...]]:
    return {
        tuple(row["causes"])
        for row in diff.cells.to_pylist()
        if (row["table"], row["column"]) == (table, column)
        and all(row[name] == value for name, value in where.items())
    }


def test_a_judge_who_fails_because_of_new_judgments(build_campaign, start_campaign, diff):
    """Items judged before move by the verdict; the verdict itself by what was judged anew."""
    first = HEAD + scores(range(6))
    start_campaign({"a.csv": first}, **SCORES)
    after = build_campaign({"a.csv": first, "b.csv": HEAD + scores(range(6, 20), careless="r")},
                           **SCORES)  # fmt: skip
    verdicts = {row["judge"]: row["verdict"] for row in after.rows("judges")}
    assert verdicts == {"p": "passed", "q": "passed", "r": "failed"}
    d = diff()
    assert causes(d, "judges", "verdict") == {("new judgments",)}
    assert causes(d, "judges", "dropped") == {("new judgments",)}
    (row,) = d.inputs["verdicts"]
    assert (row["judge"], row["old_verdict"], row["new_verdict"]) == ("r", "passed", "failed")
    assert row["old_p_value"] < 0.05 < row["new_p_value"]
    assert causes(d, "scores", "raw_mean", change="changed") == {("verdicts",)}
    assert causes(d, "scores", "z_mean", change="changed") == {("new judgments", "verdicts")}
    added = causes(d, "scores", "raw_mean", change="added")
    assert added == {("new judgments", "verdicts")}
    for cell in d.cells.to_pylist():
        if (cell["item"], cell["column"]) == ("s0/good", "raw_mean"):
            held = [80 + (0 + 3 * place) % 5 - 2 * place for place in range(3)]
            assert cell["delta_verdicts"] == pytest.approx(sum(held[:2]) / 2 - sum(held) / 3)
            assert cell["after_new_judgments"] == cell["old"] == cell["old_recomputed"]
        if cell["delta"] is not None:
            deltas = [cell[column_of("delta", cause)] for cause in CAUSES]
            assert sum(deltas) == pytest.approx(cell["delta"], abs=1e-9)
    assert sum("scores" in made["tables"] for made in d.recomputed) == 1  # verdicts held


@pytest.mark.slow
def test_a_new_judge_has_a_verdict_from_the_start(build_campaign, start_campaign, diff):
    first = HEAD + scores(range(6))
    start_campaign({"a.csv": first}, **SCORES)
    after = build_campaign({"a.csv": first, "b.csv": HEAD + scores(range(6), "x", careless="x")},
                           **SCORES)  # fmt: skip
    assert {row["judge"]: row["dropped"] for row in after.rows("judges")}["x"]
    d = diff()
    assert {tuple(row["causes"]) for row in d.cells.to_pylist()} == {("new judgments",)}
    assert not any("scores" in made["tables"] for made in d.recomputed)
    assert causes(d, "scores", "raw_mean") == set()


@pytest.mark.slow
def test_a_judge_who_is_known_keeps_the_verdict_in_a_task_that_is_new(build_campaign, diff):
    """Judges are tested over all tasks; what fails the judge is what was judged in the new one."""

    def of_task(task: str, text: str) -> str:
        return "".join(f"{task},{line}\n" for line in text.splitlines())

    fields = {name: name for name in ("task", *NAMES)}
    settings = SCORES | {"sources": [{**SCORES["sources"][0], "fields": fields}]}
    first = f"task,{HEAD}" + of_task("one", scores(range(6)))
    build_campaign({"a.csv": first}, **settings)
    second = of_task("two", scores(range(14), careless="r"))
    build_campaign({"a.csv": first + second}, **settings)
    d = diff()
    assert causes(d, "scores", "raw_mean", task="one") == {("verdicts",)}
    assert causes(d, "scores", "raw_mean", task="two") == {("new judgments", "verdicts")}
    assert causes(d, "judges", "verdict") == {("new judgments",)}


def test_records_that_do_not_count_can_move_a_scale(build_campaign, diff):
    """A score that is superseded at once says of an undeclared scale that it is 0 to 100."""
    settings = {name: value for name, value in SCORES.items() if name != "tasks"}
    settings["sources"] = ITEMS["sources"][:1]
    text = "item,judge,score\n" + "".join(f"i{i},{j},0.{3 + i}\n" for i in range(4) for j in "pq")
    build_campaign({"a2.csv": text}, **settings)
    build_campaign({"a1.csv": "item,judge,score\ni0,p,55\n", "a2.csv": text}, **settings)
    d = diff()
    assert causes(d, "scores", "easl_score") == {("other records",)}
    assert sum(d.inputs["judgments"].values()) == 0


@pytest.mark.slow
def test_verdicts_by_another_level_are_settings(build_campaign, diff):
    text = HEAD + scores(range(6)) + scores(range(6, 9), careless="r")
    build_campaign({"a.csv": text}, "quality.alpha=0.4", **SCORES)
    after = build_campaign({"a.csv": text}, "quality.alpha=0.01", **SCORES)
    assert {row["judge"]: row["dropped"] for row in after.rows("judges")}["r"]
    d = diff()
    assert {tuple(row["causes"]) for row in d.cells.to_pylist()} == {("settings",)}
    assert causes(d, "judges", "dropped") == {("settings",)}
    assert d.recomputed == []


ITEMS = {
    **SCORES,
    "sources": [
        {"path": "exports/a*.csv", "format": "csv",
         "fields": {"item": "item", "judge": "judge", "score": "score"}}
    ],
    "items": [
        {"path": "exports/items.csv", "format": "csv",
         "fields": {"item": "item", "segment": "segment", "system": "system"}}
    ],
}  # fmt: skip


def judged(items: range, **changed: int) -> str:
    lines = [
        f"i{item},{judge},{changed.get(f'i{item}_{judge}', 10 * item + place)}\n"
        for item in items
        for place, judge in enumerate("pq")
    ]
    return "item,judge,score\n" + "".join(lines)


def listed(**systems: str) -> str:
    """i0 and i1 are segment 0, and so on; even ones are by system a."""
    lines = [f"i{i},s{i // 2},{systems.get(f'i{i}', 'ab'[i % 2])}\n" for i in range(8)]
    return "item,segment,system\n" + "".join(lines)


def test_an_item_table_that_says_otherwise(build_campaign, start_campaign, diff):
    start_campaign({"a.csv": judged(range(8)), "items.csv": listed()}, **ITEMS)
    build_campaign({"a.csv": judged(range(8)), "items.csv": listed(i7="c")}, **ITEMS)
    d = diff()
    assert causes(d, "system_rankings", "score") == {("item tables",)}
    assert {tuple(row["causes"]) for row in d.cells.to_pylist()} == {("item tables",)}
    assert [(e["kind"], e["name"]) for e in d.inputs["exports"]["changed"]] == [
        ("items", "exports/items.csv")
    ]


@pytest.mark.slow
def test_item_tables_beside_a_correction(build_campaign, start_campaign, diff):
    """Of system a the score is corrected, of b and c the item table changes."""
    start_campaign({"a.csv": judged(range(8)), "items.csv": listed()}, **ITEMS)
    corrected = judged(range(8), i2_p=35)
    build_campaign({"a.csv": corrected, "items.csv": listed(i7="c")}, **ITEMS)
    d = diff()
    assert causes(d, "system_rankings", "score", system="a") == {("corrected judgments",)}
    for system in "bc":
        assert causes(d, "system_rankings", "score", system=system) == {("item tables",)}
    assert causes(d, "scores", "raw_mean") == {("corrected judgments",)}


DECIDED = {
    "sources": [
        {"path": "exports/a*.csv", "format": "csv",
         "fields": {"item": "item", "judge": "judge", "label": "label"}},
        {"path": "exports/x*.csv", "format": "csv",
         "fields": {"item": "item", "judge": "judge", "label": "label",
                    "control": {"value": "adjudication"}}},
    ],
    "agreement": {"bootstrap": 0},
}  # fmt: skip
LABELS = "item,judge,label\n"


def labelled(items: range, **changed: str) -> str:
    """Judge r is wrong about every third item."""
    lines = [
        f"i{i},{judge},{changed.get(f'i{i}_{judge}', 'xy'[(i + (judge == 'r' and not i % 3)) % 2])}"
        for i in items
        for judge in "pqr"
    ]
    return LABELS + "\n".join(lines) + "\n"


def test_a_decision_of_an_expert(build_campaign, diff):
    first = {"a.csv": labelled(range(9)), "x1.csv": LABELS + "i0,e,x\n"}
    build_campaign(first, **DECIDED)
    build_campaign(first | {"x2.csv": LABELS + "i3,e,x\n"}, **DECIDED)
    d = diff()
    assert {tuple(row["causes"]) for row in d.cells.to_pylist()} == {("adjudications",)}
    assert {row["item"] for row in d.cells.to_pylist()} == {"i3"}
    assert causes(d, "labels", "label") == {("adjudications",)}
    assert {n: k for n, k in d.inputs["judgments"].items() if k} == {"new_adjudications": 1}


@pytest.mark.slow
def test_a_decision_beside_new_judgments(build_campaign, diff):
    build_campaign({"a.csv": labelled(range(9)), "x1.csv": LABELS + "i0,e,x\n"}, **DECIDED)
    after = {"a.csv": labelled(range(12)), "x1.csv": LABELS + "i0,e,y\n", "x2.csv": LABELS +
             "i1,e,x\n"}  # fmt: skip
    build_campaign(after, **DECIDED)
    d = diff()
    assert causes(d, "labels", "label", change="changed") == {("adjudications",)}
    assert causes(d, "labels", "label", change="added") == {("new judgments",)}
    assert causes(d, "labels", "adjudicated", change="changed") == {("adjudications",)}


def test_a_mapping_is_a_setting_and_an_entry_is_a_source(build_campaign, diff):
    source = {"path": "exports/a*.csv", "format": "csv"}
    plain = {"item": "item", "judge": "judge", "label": "label"}
    turned = plain | {"label": {"column": "label", "map": {"x": "y", "y": "x"}}}
    exports = {"a.csv": labelled(range(6)), "b.csv": labelled(range(6, 9))}
    build_campaign(exports, sources=[{**source, "fields": plain}])
    added = {**source, "path": "exports/b.csv", "fields": plain}
    build_campaign(exports, sources=[{**source, "fields": turned}, added])
    d = diff()
    assert causes(d, "labels", "label", change="changed") == {("settings",)}
    assert causes(d, "labels", "label", change="added") == {("new judgments",)}
    paths = [change["path"] for change in d.inputs["settings"]]
    assert paths == ["sources.0.fields.label.map", "sources.1"]
    assert d.notes == []


def test_exports_that_the_old_mapping_cannot_read(build_campaign, diff):
    """The column has another name: nothing could be told apart, and that is said."""
    build_campaign({"a.csv": labelled(range(6))})
    renamed = labelled(range(9), i2_p="y").replace("label", "answer", 1)
    build_campaign(
        {"a.csv": renamed},
        sources=[{"path": "exports/*.csv", "format": "csv",
                  "fields": {"item": "item", "judge": "judge", "label": "answer"}}],
    )  # fmt: skip
    d = diff()
    assert causes(d, "labels", "label", change="added") == {("new judgments",)}
    assert {n: k for n, k in d.inputs["judgments"].items() if k} == {"new": 9, "corrected": 1}
    (note,) = d.notes
    assert "mappings of sources changed together with the exports" in note
    assert "unknown column" in note


def test_judges_of_another_key_are_not_matched(build_campaign, diff, monkeypatch):
    named = {n: v for n, v in SCORES.items() if n != "privacy"}
    first = HEAD + scores(range(6))
    build_campaign({"a.csv": first}, **named)
    monkeypatch.setenv("ANNOT_KEY", "another key for tests, and as long")
    after = {"a.csv": first, "b.csv": HEAD + scores(range(6, 20), careless="r")}
    build_campaign(after, "privacy.new_key=true", **named)
    d = diff()
    assert d.inputs["verdicts"] is None
    assert set(d.cells["table"].to_pylist()) == {"scores", "system_rankings"}
    assert "judges have other names in v0001" in d.notes[0]
    assert causes(d, "scores", "raw_mean", change="changed") == {("verdicts",)}
    assert diff(causes=False).inputs["verdicts"] is None


@pytest.mark.slow
def test_judges_who_get_their_names_back_are_matched_where_causes_are_told(build_campaign, diff):
    """Published names differ; what was recomputed has one kind of names throughout."""
    first = HEAD + scores(range(6))
    build_campaign({"a.csv": first}, "privacy.pseudonymize=true", **SCORES)
    build_campaign({"a.csv": first, "b.csv": HEAD + scores(range(6, 20), careless="r")}, **SCORES)
    d = diff()
    assert "judges have other names in v0002" in d.notes[0]
    assert d.inputs["judgments"]["restated"] == 0
    assert causes(d, "scores", "raw_mean", change="changed") == {("verdicts",)}
