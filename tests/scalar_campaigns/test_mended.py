"""Scores through the whole pipeline: what went wrong once."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    KNOWN,
    SCALE,
    YES_NO,
    alike,
    bad,
    by,
    fates,
    gates,
    hit_of,
    known,
    labels,
    of,
)

UNIT = [{"name": "*", "kind": "scalar", "scale": [0, 1]}]


@pytest.mark.slow
def test_rounding_breaks_no_ties_of_the_signed_rank_test(stage: Any) -> None:
    """The same judgments on two scales have the same p."""
    tenths = [(3, 1), (2, 4), (9, 7), (6, 8), (7, 5), (5, 3), (4, 2), (8, 6)]
    p = []
    for points in (10, 1):
        pairs = [(a * points / 10, b * points / 10) for a, b in tenths]
        rows = [*hit_of("ann", pairs), *hit_of("careful", [(points, 0)] * 20)]
        tasks = [{"name": "*", "kind": "scalar", "scale": [0, points]}]
        built = stage(rows, tasks=tasks, quality={"test": "signed_rank"})
        p.append(by(built.rows("judges"), "judge")["ann"]["p_value"])
    assert p[0] == pytest.approx(p[1])


@pytest.mark.sampled
@pytest.mark.parametrize("test", ["welch", "mann_whitney"])
def test_rounding_lets_no_judge_pass(test: str, stage: Any) -> None:
    """Degraded copies as far off as repeats: a tenth, each time."""
    rows = hit_of("ann", [(0.8, 0.7)] * 5, [(0.8, 0.9)] * 5)
    rows += hit_of("careful", [(0.9, 0.1 + n / 100) for n in range(20)], [(0.5, 0.5)] * 20)
    built = stage(rows, tasks=UNIT, quality={"test": test, "contrast": "difference"})
    assert by(built.rows("judges"), "judge")["ann"]["verdict"] == "failed"


def test_a_verdict_is_of_one_task_and_judge(stage: Any) -> None:
    rows = hit_of("b\x1fc", CARELESS, task="a") + hit_of("c", CAREFUL, task="a\x1fb")
    rows += [row | {"score": row["score"] - 1} for row in hit_of("careful", CAREFUL, task="a")]
    fate = fates(stage(rows, quality={"scope": "task"}), "task", "judge", "item")
    assert fate["a", "b\x1fc", "s0/x"][0] == "judge_failed"
    assert fate["a\x1fb", "c", "s0/x"][0] == "used"


@pytest.mark.slow
def test_a_reversed_criterion_on_a_scale_of_decimals(stage: Any) -> None:
    tasks = [SCALE[0] | {"scale": [0.1, 0.7], "criteria": {"robotic": {"reverse": True}}}]
    for low, high in ((0.1, 0.7), (0.2, 1.1), (-2, -1.8)):
        tasks[0]["scale"] = [low, high]
        built = stage(
            [of(criterion="robotic", score=low), of("t", high, criterion="robotic")], tasks=tasks
        )
        assert [row["raw_mean"] for row in built.rows("scores")] == [high, low]
        assert built.rows("judges")[0]["share_at_ends"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("field", ["hit", "native_id", "position"])
def test_ids_of_many_digits(field: str, stage: Any) -> None:
    rows = [
        of(f"s{n}", submitted_at="2024-01-01", position=n) | {field: "7" * n} for n in (1, 5000)
    ]
    (judge,) = stage(rows).rows("judges")
    assert judge["longest_constant_run"] == 2


@pytest.mark.slow
def test_an_assignment_rejected_in_a_later_export(stage: Any) -> None:
    rows = [{"item": f"i{k}", "judge": "ann", "score": k, "status": "Submitted"} for k in range(3)]
    later = [row | {"status": "Rejected"} for row in rows[:2]]
    built = stage({"night-1.csv": rows, "night-2.csv": later})
    assert [row["item"] for row in built.rows("scores") if row["n_judgments"]] == ["i2"]


@pytest.mark.slow
def test_two_controls_of_one_judgment_however_they_name_it(stage: Any) -> None:
    first = [of(native_id="7"), bad(native_id="8"), bad("t", native_id="9", control_of="7")]
    second = [
        of("t", item="i", hit="g"), bad("u", item="b", control_of="i"),
        bad("v", item="c", hit="k", control_of="i"),
    ]  # fmt: skip
    for rows in (first, second):
        built = stage(rows)
        assert [row["reason"] for row in built.rows("control_pairs")] == [alike(2)] * 2
        assert built.rows("judges")[0]["n_pairs"] == 0


@pytest.mark.slow
def test_known_answers_that_all_lack_their_truth_leave_judges_undetermined(stage: Any) -> None:
    rows = known("ann", "yyy", "   ") + labels("ann", "yn")
    built = stage(rows, tasks=YES_NO, quality=KNOWN)
    (judge,) = built.rows("judges")
    assert judge["verdict"] == "undetermined"
    assert gates(built)["unused_controls"].level == "warn"


@pytest.mark.slow
def test_a_truth_that_is_no_class_of_the_task(stage: Any) -> None:
    rows = known("ann", "y" * 6, "Y" * 6) + labels("ann", "yn")
    built = stage(rows, tasks=YES_NO, quality=KNOWN, gates={"nothing_used": {"error": None}})
    (judge,) = built.rows("judges")
    assert judge["n_known_answers"] == 0
    assert {row["reason"] for row in built.rows("set_aside")} == {
        "the truth is not a declared class: 'Y'"
    }


@pytest.mark.slow
def test_controls_that_no_test_of_their_task_takes(stage: Any) -> None:
    known_score = [of(), of("t", 70, control="known_answer")]
    degraded_label = [
        {"item": "i", "judge": "ann", "label": "y"},
        {"item": "j", "judge": "ann", "label": "n", "control": "bad_reference"},
    ]
    for rows, tasks, item in ((known_score, SCALE, "t/x"), (degraded_label, YES_NO, "j")):
        for quality in (KNOWN, {}):
            aside = stage(rows, tasks=tasks, quality=quality).rows("set_aside")
            assert [(row["item"], row["left_out_of"]) for row in aside] == [(item, "judge_control")]


def test_an_item_has_the_segment_and_system_that_any_row_names(stage: Any) -> None:
    rows = [{"item": "i", "judge": "ann", "segment": "", "system": "", "score": 10}]
    rows += [{"item": "i", "judge": "bob", "segment": "s", "system": "x", "score": 30}]
    (row,) = stage(rows).rows("scores")
    assert (row["segment"], row["system"]) == ("s", "x")


def test_systems_of_the_item_table_are_ranked(stage: Any) -> None:
    rows = [{"item": i, "judge": "ann", "score": s} for i, s in (("a", 10), ("b", 30))]
    items = [{"item": i, "segment": "s", "system": f"sys-{i}"} for i in "ab"]
    built = stage(rows, items=items)
    assert {row["system"] for row in built.rows("system_rankings")} == {"sys-a", "sys-b"}


def test_rejected_assignments_are_no_defect_of_an_export(stage: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "score": k, "status": status}
        for k, status in enumerate(["Approved", "Rejected"] * 5)
    ]
    actual = gates(stage(rows, gates={}))
    assert actual["rejected_share"].value == actual["rejected_share_by_export"].value == 0


@pytest.mark.slow
@pytest.mark.parametrize("status", ["Rejected\t", "rejected\r\n"])
def test_a_status_with_other_blanks(status: str, stage: Any) -> None:
    rows = [of(), of("t", status=status)]
    assert fates(stage(rows))["t/x"][0] == "rejected"


@pytest.mark.slow
def test_scores_next_to_nothing(stage: Any) -> None:
    tiny = ["1e-320", "2e-320", "4e-320"]
    rows = [{"item": f"i{k}", "judge": "ann", "score": score} for k, score in enumerate(tiny)]
    built = stage(rows)
    assert [row["raw_mean"] for row in built.rows("scores")] == pytest.approx([0, 0, 0])


def test_a_scale_wider_than_numbers_go(build: Any) -> None:
    with pytest.raises(ConfigError):
        build([of()], tasks=[SCALE[0] | {"scale": [-1e308, 1e308]}])
