"""Each cause of a change between two releases is named rightly, on campaigns made to show it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.audit.diff.cells import CAUSES, CODE, column_of
from annot_pipeline.audit.diff.releases import Diff
from annot_pipeline.cli.diff import diff_lines
from annot_pipeline.runtime.context import StageOutput
from annot_pipeline.stages.build import MAKER
from annot_pipeline.storage.tables import read_table
from tests.conftest import build_file, write_small_campaign

HEAD = "task,item,judge,label\n"
FIELDS = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
LABELS = {
    "sources": [{"path": "exports/*.csv", "format": "csv", "fields": FIELDS}],
    "agreement": {"bootstrap": 0},
}


def votes(task: str, items: range, *, seed: int = 1, judges: int = 4, **changed: str) -> str:
    """Votes of judges who are right four times in five; ``changed`` by item_judge."""
    draw = random.Random(f"{task} {seed}")
    lines = []
    for item in range(items.stop):  # the same votes for an item, whichever items are asked for
        truth = draw.choice("xy")
        for judge in range(judges):
            label = truth if draw.random() < 0.8 else draw.choice("xy")
            label = changed.get(f"i{item}_j{judge}", label)
            if item in items and label:
                lines.append(f"{task},i{item},j{judge},{label}\n")
    return "".join(lines)


def other(text: str, item: str, judge: str) -> dict[str, str]:
    """The other label than this judge gave this item."""
    (given,) = [line[-1] for line in text.split() if f",{item},{judge}," in line]
    return {f"{item}_{judge}": "y" if given == "x" else "x"}


def changed_cells(diff: Diff, *causes: str) -> set[tuple[str, ...]]:
    """Causes of the cells, as they stand together."""
    return {tuple(row["causes"]) for row in rows(diff)} - {causes}


def rows(diff: Diff) -> list[dict[str, Any]]:
    return diff.cells.to_pylist()


def of_items(diff: Diff) -> dict[tuple[str, str, str], list[str]]:
    return {(row["task"], row["item"], row["column"]): row["causes"] for row in rows(diff)}


def adds_up(diff: Diff) -> int:
    """Whether the deltas of every number make its whole change; how many were held against it."""
    held = 0
    for row in rows(diff):
        deltas = [row[column_of("delta", cause)] for cause in CAUSES]
        assert row["causes"]
        if row["delta"] is None:
            assert deltas == [None] * len(CAUSES)
            continue
        assert sum(deltas) == pytest.approx(row["delta"], abs=1e-12)
        moved = {cause for cause, delta in zip(CAUSES, deltas, strict=True) if delta}
        assert moved <= set(row["causes"])
        held += 1
    return held


def build_one_more(folder: Path) -> None:
    """Build a release of one export, and one of two."""
    exports = {"a.csv": HEAD + votes("t", range(20))}
    for more in ({}, {"b.csv": HEAD + votes("t", range(20, 30))}):
        build_file(write_small_campaign(folder, exports | more, **LABELS))


@pytest.fixture
def one_more(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    return copy_campaign(build_one_more, tmp_path / "campaign")


@pytest.mark.slow
@pytest.mark.usefixtures("one_more")
def test_one_more_export(diff):
    d = diff()
    assert changed_cells(d) == {("new judgments",)}
    added = {row["item"] for row in rows(d) if row["change"] == "added"}
    assert added == {f"i{n}" for n in range(20, 30)}
    assert [e["name"] for e in d.inputs["exports"]["added"]] == ["exports/b.csv"]
    assert d.inputs["judgments"]["new"] == 40
    assert sum(d.inputs["judgments"].values()) == 40
    assert [made["tables"] for made in d.recomputed] == [["judgments", "verdicts"]] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("one_more")
def test_the_other_way_round_they_are_withdrawn(diff):
    forth, back = diff(), diff("v0002", "v0001")
    assert changed_cells(back) == {("withdrawn judgments",)}
    assert back.inputs["judgments"]["withdrawn"] == 40
    there = {(r["item"], r["column"]): (r["old"], r["new"], r["delta"]) for r in rows(forth)}
    for row in rows(back):
        old, new, delta = there[row["item"], row["column"]]
        assert (row["new"], row["old"]) == (old, new)
        assert row["delta"] == (None if delta is None else -delta)


@pytest.mark.slow
def test_one_correction(build_campaign, start_campaign, diff):
    first = HEAD + votes("t", range(20))
    change = other(first, "i3", "j1")
    start_campaign({"a.csv": first}, **LABELS)
    build_campaign({"a.csv": HEAD + votes("t", range(20), **change)}, **LABELS)
    d = diff()
    assert changed_cells(d) == {("corrected judgments",)}
    assert {k: n for k, n in d.inputs["judgments"].items() if n} == {"corrected": 1}
    assert [e["name"] for e in d.inputs["exports"]["changed"]] == ["exports/a.csv"]


@pytest.mark.slow
def test_a_correction_in_a_file_of_its_own(build_campaign, diff):
    """The new file takes precedence; the judgment before it is superseded, not withdrawn."""
    first = HEAD + votes("t", range(20))
    ((_, label),) = other(first, "i3", "j1").items()
    build_campaign({"a.csv": first}, **LABELS)
    build_campaign({"a.csv": first, "b.csv": f"{HEAD}t,i3,j1,{label}\n"}, **LABELS)
    d = diff()
    assert changed_cells(d) == {("corrected judgments",)}
    assert {k: n for k, n in d.inputs["judgments"].items() if n} == {"corrected": 1}


@pytest.mark.slow
def test_one_withdrawal(build_campaign, diff):
    build_campaign({"a.csv": HEAD + votes("t", range(20))}, **LABELS)
    build_campaign({"a.csv": HEAD + votes("t", range(20), i3_j1="")}, **LABELS)
    d = diff()
    assert changed_cells(d) == {("withdrawn judgments",)}
    assert {k: n for k, n in d.inputs["judgments"].items() if n} == {"withdrawn": 1}


@pytest.mark.slow
def test_an_export_that_repeats_changes_nothing(build_campaign, start_campaign, diff):
    first = HEAD + votes("t", range(20))
    start_campaign({"a.csv": first}, **LABELS)
    build_campaign({"a.csv": first, "b.csv": HEAD + votes("t", range(5))}, **LABELS)
    d = diff()
    assert rows(d) == []
    assert sum(d.inputs["judgments"].values()) == 0


def test_new_corrected_and_withdrawn_each_at_its_own_items(build_campaign, diff):
    """Tasks with few labels in all share no weights: each of three moves by its own cause alone."""
    corrected, withdrawn = votes("corrected", range(15)), votes("withdrawn", range(15))
    grown, still = votes("grown", range(15)), votes("still", range(15))
    change = other(corrected, "i2", "j0")
    build_campaign({"a.csv": HEAD + corrected + grown + withdrawn + still}, **LABELS)
    after = votes("corrected", range(15), **change) + votes("grown", range(18))
    after += votes("withdrawn", range(15), i4_j2="") + still
    build_campaign({"a.csv": HEAD + after}, **LABELS)
    d = diff()
    causes = {task: c for (task, _, _), c in of_items(d).items()}
    assert causes == {
        "corrected": ["corrected judgments"],
        "grown": ["new judgments"],
        "withdrawn": ["withdrawn judgments"],
    }
    assert len(changed_cells(d)) == 3
    assert adds_up(d) > 10
    states = [made["state"] for made in d.recomputed if "labels" in made["tables"]]
    assert len(states) == 2  # the third is the newer release


@pytest.mark.slow
def test_what_stands_after_a_step_is_what_a_build_of_it_gives(build_campaign, diff):
    """In one task, where every judgment moves every item, held against builds of those exports."""
    first = votes("t", range(20))
    change = other(first, "i2", "j0")
    build_campaign({"a.csv": HEAD + first}, **LABELS)
    both = votes("t", range(24), i5_j1="", **change)
    new = {"dawid_skene": {"smoothing": 0.2}}
    build_campaign({"a.csv": HEAD + both}, **LABELS | new)
    d = diff()
    steps = {
        "new judgments": (votes("t", range(24)), {}),
        "corrected judgments": (votes("t", range(24), **change), {}),
        "withdrawn judgments": (both, {}),
        "settings": (both, new),
    }
    assert adds_up(d) == sum(row["delta"] is not None for row in rows(d)) > 15
    assert (
        "new judgments",
        "corrected judgments",
        "withdrawn judgments",
        "settings",
    ) in changed_cells(d)
    for cause, (text, settings) in steps.items():
        built = build_campaign({"a.csv": HEAD + text}, **LABELS | settings)
        labels = {row["item"]: row for row in built.rows("labels")}
        for row in rows(d):
            held = row[column_of("after", cause)]
            told = labels[row["item"]][row["column"]]
            assert held == (str(told).lower() if isinstance(told, bool) else str(told)), cause


@pytest.mark.slow
def test_another_smoothing(one_more, diff):
    build_file(one_more, "dawid_skene.smoothing=0.5")
    d = diff("v0002", "v0003")
    assert changed_cells(d) == {("settings",)}
    assert d.inputs["settings"] == [{"path": "dawid_skene.smoothing", "old": 0.01, "new": 0.5}]
    assert d.recomputed == []
    assert d.inputs["judgments"] is None


@pytest.mark.slow
def test_another_certainty(build_campaign, diff):
    """Where only `labels.certain_at` falls, labels become certain, and settings are the cause."""
    first = HEAD + votes("t", range(20))
    before = build_campaign({"a.csv": first}, **LABELS)
    after = build_campaign({"a.csv": first}, "labels.certain_at=0.8", **LABELS)
    certain = [sum(row["certain"] for row in b.rows("labels")) for b in (before, after)]
    d = diff()
    (counts,) = (row for row in d.summary() if row["column"] == "certain")
    assert counts["became_true"] == counts["changed"] == certain[1] - certain[0] > 0
    assert counts["causes"] == {"settings": counts["changed"]}
    [line] = [line for line in diff_lines(d.document(0)) if line.startswith("  labels  certain")]
    n = str(counts["changed"])
    assert line.split() == ["labels", "certain", n, "0", "0", n, "settings", n]


@pytest.fixture
def other_code():
    """Changes a method, and raises the version of its stage's code."""
    stage = MAKER["labels"]
    was = {"code_version": stage.code_version, "work": stage.work}

    def set_(**values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(stage, name, value)

    def work(context) -> StageOutput:
        made = was["work"](context)
        labels = read_table(made.tables["labels"])
        at = labels.schema.get_field_index("probability")
        halved = [p / 2 for p in labels["probability"].to_pylist()]
        halved = labels.set_column(at, labels.schema.field(at), [halved])
        return replace(made, tables={**made.tables, "labels": halved})

    yield lambda: set_(code_version="another", work=work), lambda: set_(**was)
    set_(**was)


@pytest.mark.slow
def test_a_changed_method_version(build_campaign, diff, other_code):
    change, change_back = other_code
    first = HEAD + votes("t", range(20))
    build_campaign({"a.csv": first}, **LABELS)
    change()
    build_campaign({"a.csv": first}, **LABELS)
    for code_at_hand in (change, change_back):
        code_at_hand()
        d = diff()
        assert changed_cells(d) == {(CODE,)}
        assert {row["column"] for row in rows(d)} == {"probability"}
        assert {row["delta"] for row in rows(d)} == {row["delta_code"] for row in rows(d)}
        assert d.recomputed == []
        assert {row["what"] for row in d.inputs["code"]} == {"stage infer_labels"}


@pytest.mark.slow
def test_code_and_judgments_are_told_apart(build_campaign, diff, other_code):
    change, change_back = other_code
    first, more = votes("t", range(20)), votes("more", range(10))
    build_campaign({"a.csv": HEAD + first}, **LABELS)
    change()
    build_campaign({"a.csv": HEAD + first + more}, **LABELS)
    for code_at_hand in (change, change_back):
        code_at_hand()
        d = diff()
        causes = of_items(d)
        assert causes["t", "i0", "probability"] == [CODE]
        assert causes["more", "i0", "label"] == ["new judgments"]
        assert adds_up(d) == 20
    assert causes["more", "i0", "probability"] == ["new judgments", CODE]


@pytest.mark.slow
def test_code_of_neither_release_is_no_cause_of_what_it_moves_alike(
    build_campaign, diff, other_code
):
    """Both were made by one code, and are compared by another."""
    change, _ = other_code
    first = votes("t", range(20))
    build_campaign({"a.csv": HEAD + first}, **LABELS)
    build_campaign({"a.csv": HEAD + first + votes("more", range(10))}, **LABELS)
    change()
    d = diff()
    assert {row["task"] for row in rows(d)} == {"more"}
    causes = of_items(d)
    assert causes["more", "i0", "label"] == ["new judgments"]
    assert causes["more", "i0", "probability"] == ["new judgments", CODE]
