"""Judges of labels of whom something is wrong while the data cannot tell who is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config import Quality
from annot_pipeline.methods.judges.label_camps import find_camps
from annot_pipeline.stages.judges import suspicions
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.label_judges import LabelJudges, label_judges, without_judges
from studies.simulators.floods import Flood, FloodParams, draw_flood


def answers(flood: Flood, task: str = "t") -> pa.Table:
    n = flood.items.size
    return pa.table({
        "task": [task] * n, "judge_id": [f"j{code:03}" for code in flood.judges.tolist()],
        "item": [f"i{code:03}" for code in flood.items.tolist()],
        "label": [f"c{code}" for code in flood.labels.tolist()],
        "adjudicated": [False] * n,
    })  # fmt: skip


def of_tasks(floods: dict[str, Flood]) -> tuple[Any, ...]:
    """Arguments of `label_judges`: who judges several tasks is tested in each."""
    rows = pa.concat_tables(answers(flood, task) for task, flood in floods.items())
    settings = Quality(scope="task")
    return rows, {}, set(), Units.of_controls(rows, settings), settings


def judged(flood: Flood, models: set[str] = frozenset(), **quality: str) -> LabelJudges:
    rows, settings = answers(flood), Quality(**{"labels": "drop", **quality})
    return label_judges(rows, {}, {*models}, Units.of_controls(rows, settings), settings)


def flood(kind: str, share: float = 0.5, *, is_separate: bool = False, seed: int = 17) -> Flood:
    params = FloodParams(kind, share, is_separate=is_separate, n_classes=4)
    return draw_flood(params, np.random.default_rng(seed))


def suspected(result: LabelJudges) -> set[int]:
    return {*np.flatnonzero(result.is_suspected).tolist()}


@pytest.mark.parametrize(
    ("kind", "is_separate", "reason"),
    [
        ("copying", False, "12 judges who agree with each other (kappa 1.00) but too little"),
        ("copying", True, "12 judges who agree far more with each other (kappa 1.00) than"),
        ("constant", True, "the same answer to all items, one that others rarely give"),
        ("majority class", True, "the same answer to all items"),
        ("random", True, "12 judges of the same items, who agree with "),
    ],
)
def test_a_flood_is_suspected_and_careful_judges_are_not(
    kind: str, is_separate: bool, reason: str
) -> None:
    result = judged(flood(kind, is_separate=is_separate))
    assert suspected(result) <= {*range(12, 24)}
    failed = {*np.flatnonzero(result.verdict == 1).tolist()} - {*range(12)}
    assert suspected(result) | failed == {*range(12, 24)}
    reasons = {result.reason[judge] for judge in suspected(result)}
    assert all(reason in text and text.startswith("suspected: ") for text in reasons)
    if kind != "random":
        assert result.suspected_share >= 0.4
    assert all(result.reason[judge] is None for judge in range(12) if result.verdict[judge] == 0)


def test_two_camps_of_similar_size_are_both_suspected() -> None:
    """People who copy a guess with .7 agree less than copies do: either camp may be right."""
    result = judged(flood("copying most answers", 0.5))
    assert suspected(result) == {*range(24)}
    assert result.suspected_share == 1


def test_camps_of_the_same_answers_are_not_searched_again(monkeypatch) -> None:
    searched = []

    def logged(*of, **sizes):
        searched.append(sizes["n_judges"])
        return find_camps(*of, **sizes)

    monkeypatch.setattr(suspicions, "find_camps", logged)
    draws = {"t": flood("copying"), "u": flood("copying most answers")}
    first = label_judges(*of_tasks(draws))
    assert len(searched) == len(first.camps) == 2
    again = label_judges(*of_tasks(draws), first.camps)
    assert len(searched) == 2
    assert (again.reason, again.camps) == (first.reason, first.camps)
    assert any(again.reason)
    draws["u"] = flood("copying most answers", seed=18)
    changed, anew = (label_judges(*of_tasks(draws), camps) for camps in (first.camps, None))
    assert len(searched) == 2 + 1 + 2
    assert (changed.reason, changed.camps) == (anew.reason, anew.camps)


def test_judges_who_pass_controls_are_cleared_and_the_others_are_not() -> None:
    result = judged(flood("copying most answers", 0.5))
    cleared = without_judges(result, np.arange(24) < 12)
    assert suspected(cleared) == {*range(12, 24)}
    assert cleared.n_answers.sum() == result.n_answers.sum()
    assert without_judges(result, np.ones(24, np.bool_)).suspected_share == 0


def test_judges_who_share_no_item_with_most_are_unlinked() -> None:
    result = judged(flood("half careful", 0.25, is_separate=True))
    failed = {*np.flatnonzero(result.verdict == 1).tolist()} - {*range(12)}
    assert {*np.flatnonzero(result.is_unlinked).tolist()} == {*range(12, 16)} - failed
    assert result.unlinked_share == pytest.approx(0.25)
    assert not judged(flood("half careful", 0.25)).is_unlinked.any()


def test_crowds_of_batches_have_no_unlinked_judges() -> None:
    """Each batch of items has judges of its own: no linked judges gave most labels."""
    rng = np.random.default_rng(5)
    items = np.repeat(np.arange(120), 5)
    judges = np.concatenate([np.arange(5) + 5 * (item // 20) for item in range(120)])
    truth = rng.integers(0, 2, 120)
    right = rng.random(items.size) < 0.85
    batches = Flood(items, judges, np.where(right, truth[items], 1 - truth[items]), truth, 0, 30)
    result = judged(batches)
    assert not result.is_unlinked.any()
    assert not suspected(result)


def test_a_lone_crowd_at_chance_is_suspected() -> None:
    """Nothing but guesses: no judge fails, since nothing tells what a careful judge shows."""
    whole = flood("random", is_separate=True)
    some = ~whole.is_careful
    guesses = Flood(
        whole.items[some], whole.judges[some], whole.labels[some], whole.truth, 0, whole.n_judges
    )
    result = judged(guesses)
    assert len(suspected(result)) == 12
    assert not (result.verdict == 1).any()
    assert "who agree with" in result.reason[0]


def test_models_are_not_suspected_and_do_not_count_as_failed() -> None:
    copies = flood("copying")
    names = {f"j{n:03}" for n in range(12, 24)}
    assert not suspected(judged(copies, models=names))
    random = flood("random", 0.25)
    as_people = judged(random)
    as_models = judged(random, models={f"j{n:03}" for n in range(12, 16)})
    assert as_people.failed_share > 0.2
    assert as_models.failed_share == 0
    assert (as_models.verdict == as_people.verdict).all()


def test_most_judges_who_err_together_fail_nobody() -> None:
    """Many agree less than by chance with the rest: who is right is anybody's guess."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 100)
    rights = np.array([0.1] * 8 + [0.95] * 5)  # eight are misled, five are not
    items, judges = np.tile(np.arange(100), 13), np.repeat(np.arange(13), 100)
    right = rng.random(items.size) < rights[judges]
    labels = np.where(right, truth[items], 1 - truth[items])
    result = judged(Flood(items, judges, labels, truth, 0, 13))
    assert not (result.verdict == 1).any()
    assert suspected(result) == {8, 9, 10, 11, 12}


def test_many_tests_are_corrected() -> None:
    plain, corrected = (judged(flood("random", 0.25), correction=how) for how in ("none", "holm"))
    tested = ~np.isnan(plain.p_adjusted)
    assert (plain.p_adjusted[tested] == plain.chance.p_value[tested]).all()
    assert (corrected.p_adjusted[tested] >= corrected.chance.p_value[tested]).all()
    assert (corrected.p_adjusted[tested] > corrected.chance.p_value[tested]).any()
