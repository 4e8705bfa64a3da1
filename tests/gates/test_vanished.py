"""Gates on what a release has and no export holds any more."""

from __future__ import annotations

import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.runtime.job_sizes import JobSizes
from tests.gates.test_drift import export, gate

NAMES = ("vanished_judgments", "vanished_items")
NEVER = {name: {"error": None} for name in NAMES}


def half(n):
    return "xy"[n % 2]


def test_an_export_that_shrank_is_not_published(build_campaign, start_campaign):
    """40 items, then 4 of them: 108 of 120 judgments are gone."""
    folder = start_campaign({"a.csv": export(40, half)})
    with pytest.raises(GateError, match="vanished_items") as error:
        build_campaign({"a.csv": export(4, half)})
    assert "small 108 of 120" in str(error.value)
    assert "small 36 of 40: i004, i005, i006, i007, i008" in str(error.value)
    assert '"v0001"' in (folder / "gold" / "latest.json").read_text()


def many(first, n=4, judges=("a", "b", "c")):
    """Exports of ten items each, and the first as it is given."""
    later = {f"{k}.csv": export(10, half, judges, start=10 * k) for k in range(1, n)}
    return {"0.csv": first} | later


@pytest.mark.parametrize("cut", ["judge,item,label\n", export(4, half), None])
@pytest.mark.slow
def test_an_export_that_was_cut_is_a_small_part_of_all(stage_campaign, start_campaign, cut):
    """30 or 18 of 120 judgments: without a row, cut, or not there."""
    start_campaign(many(export(10, half)))
    exports = many(cut)
    built = stage_campaign({name: text for name, text in exports.items() if text}, gates=NEVER)
    actual = gate(built, "vanished_judgments")
    n = 18 if cut and "i000" in cut else 30
    assert (actual.value, actual.detail) == (n / 30, f"small {n} of 30 of exports/0.csv")
    assert gate(built, "vanished_items").value == {18: 6, 30: 10}[n] / 40


@pytest.mark.slow
def test_what_one_judge_withdraws_is_counted(stage_campaign, start_campaign):
    """A third of the judgments, and no item."""
    start_campaign({"a.csv": export(40, half)})
    built = stage_campaign({"a.csv": export(40, half, ("a", "b"))})
    actual = gate(built, "vanished_judgments")
    assert (actual.level, actual.value, actual.detail) == ("error", 1 / 3, "small 40 of 120")
    assert (gate(built, "vanished_items").level, gate(built, "vanished_items").detail) == (
        "pass", "",
    )  # fmt: skip


def test_what_is_moved_repeated_or_corrected_has_not_vanished(stage_campaign, start_campaign):
    start_campaign({"a.csv": export(40, half)})
    built = stage_campaign(
        {"b.csv": export(40, half), "c.csv": export(40, lambda n: half(n // 2))},
        "gates.label_flips.error=null", "gates.agreement_fall.error=null",
    )  # fmt: skip
    assert [gate(built, name).value for name in NAMES] == [0, 0]


@pytest.mark.slow
def test_judgments_of_other_names_are_not_compared_but_items_are(stage_campaign, start_campaign):
    start_campaign({"a.csv": export(40, half)})
    built = stage_campaign(
        {"a.csv": export(30, half)}, "privacy.pseudonymize=false", gates=NEVER
    )  # fmt: skip
    assert "other names" in gate(built, "vanished_judgments").detail
    assert gate(built, "vanished_items").value == 10 / 40


@pytest.mark.slow
def test_few_items_are_no_alarm_unless_the_campaign_says_so(build_campaign):
    build_campaign({"a.csv": export(4, half)})
    (name,) = NAMES[1:]
    built = build_campaign({"a.csv": export(1, half)}, gates={NAMES[0]: {"minimum": 13}})
    assert [gate(built, name).value for name in NAMES] == [0, 0]
    build_campaign({"a.csv": export(4, half)})
    with pytest.raises(
        GateError, match=r"vanished_items: 75.00% of items .* worst task of 4 or more"
    ):
        build_campaign({"a.csv": export(1, half)}, gates={name: {"minimum": 4}})


@pytest.mark.slow
def test_every_task_is_asked_whatever_part_it_is_in(build_campaign):
    """Tasks that are gone before, between and behind those that are there; one is in slices."""
    sizes = JobSizes(20, 6, end_one_in=1)
    fields = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    allowed = {"sources": [source], "gates": NEVER | {"label_flips": {"error": None}}}

    def rows(tasks):
        lines = [
            f"{task},i{item:02d},{judge},{half(item)}\n"
            for task, items in tasks.items()
            for item in items
            for judge in "ab"
        ]
        return "task,item,judge,label\n" + "".join(lines)

    wide = {"t1": range(4), "t2": range(4), "t3": range(30), "t4": range(4), "t9": range(4)}
    build_campaign({"a.csv": rows(wide)}, sizes=sizes, **allowed)
    less = {"t2": range(4), "t3": range(5, 30), "t5": range(4), "t6": range(4)}
    built = build_campaign({"a.csv": rows(less)}, sizes=sizes, **allowed)
    assert len(built.runs["trace_lineage"].result.tables["lineage"].files) > len(less)
    columns = ("task", "judgments", "vanished", "items", "vanished_items")
    counts = [tuple(row[name] for name in columns) for row in built.rows("vanished_judgments")]
    assert counts == [
        ("t1", 8, 8, 4, 4), ("t2", 8, 0, 4, 0), ("t3", 60, 10, 30, 5), ("t4", 8, 8, 4, 4),
        ("t9", 8, 8, 4, 4),
    ]  # fmt: skip


def test_exports_of_tasks_that_did_not_change_are_not_asked_for(build_campaign):
    """Of two exports, each of a task in a part of its own, one is replaced by half of it."""
    sizes = JobSizes(20, 6, end_one_in=1)
    fields = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    gates = NEVER | {name: {"error": None} for name in ("label_flips", "agreement_fall")}

    def built(n_items):
        exports = {
            f"{task}.csv": "task,item,judge,label\n" + "".join(
                f"{task},i{item},{judge},{half(item)}\n" for item in range(n) for judge in "ab"
            )
            for task, n in (("same", 8), ("shorter", n_items))
        }  # fmt: skip
        return build_campaign(exports, sizes=sizes, sources=[source], gates=gates)

    assert len(built(8).runs["trace_lineage"].result.tables["lineage"].files) == 2
    metrics = built(4).metrics("compare_releases")
    [of_export] = metrics["vanished_by_export"]
    assert (of_export["task"], of_export["of_export"]) == ("shorter", " of exports/shorter.csv")
    assert (of_export["judgments"], of_export["vanished"]) == (16, 8)
