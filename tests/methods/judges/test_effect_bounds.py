"""Intervals of judges' effects: by hand, and how often they hold what simulated judges have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.judges.effect_bounds import (
    Answers,
    ControlScores,
    accuracy_interval,
    effect_interval,
    mean_errors,
)
from annot_pipeline.methods.numerics.moments import means

TRUE = 10.0


def everybody(n: int) -> Any:
    return np.zeros(n, np.int64)


def test_independent_scores_have_the_interval_of_t_at_least():
    """With nothing to pool and no HITs: Student's, or the wider one that is moderated."""
    values = np.array([4.0, 7, 1, 9, 12, 3])
    rows = np.arange(6)
    scores = ControlScores(np.zeros(6, np.int64), values, rows, rows)
    low, high = effect_interval(np.array([6.0]), mean_errors(scores, everybody(1)))
    expected = stats.t.interval(0.95, 5, 6, stats.sem(values))
    assert (low[0], high[0]) == pytest.approx(expected)


def test_criteria_of_one_output_are_one_observation():
    """Five equal scores of an output tell what one tells."""
    values = np.array([4.0, 7, 1, 9])
    once = ControlScores(np.zeros(4, np.int64), values, np.arange(4), np.arange(4))
    five = ControlScores(*(np.repeat(x, 5) for x in (once.unit, values, once.output, once.hit)))
    bounds = [
        effect_interval(np.array([values.mean()]), mean_errors(of, everybody(1)))
        for of in (once, five)
    ]
    assert bounds[1][0] == pytest.approx(bounds[0][0])
    assert bounds[1][1] == pytest.approx(bounds[0][1])


def test_one_output_has_no_interval():
    scores = ControlScores(*(np.zeros(5, np.int64), np.arange(5.0), *2 * [np.zeros(5, np.int64)]))
    low, high = effect_interval(np.array([2.0]), mean_errors(scores, everybody(1)))
    assert np.isnan([low[0], high[0]]).all()


def test_few_equal_scores_are_no_proof():
    """Two zeros beside judges who vary: the bound is far, that of twenty is near."""
    draw = np.random.default_rng(5)
    unit = np.repeat(np.arange(12), [2, 20, *10 * [10]])
    values = np.where(unit < 2, 0.0, draw.normal(20, 15, unit.size))
    rows = np.arange(unit.size)
    errors = mean_errors(ControlScores(unit, values, rows, rows), everybody(12))
    _, high = effect_interval(means(unit, values, n_groups=12), errors)
    assert high[0] > 10 > high[1]


def simulated(
    draw: np.random.Generator, *, hits: tuple[int, int], outputs: int, criteria: int,
    in_hit: float, in_output: float, spread: float, n_judges: int = 40,
) -> ControlScores:  # fmt: skip
    """Differences of careful judges: good and bad HITs, outputs, criteria; own variances."""
    rows = []
    output = hit = 0
    for judge in range(n_judges):
        sd = 20 * np.exp(draw.normal(0, spread))
        for _ in range(draw.integers(hits[0], hits[1] + 1)):
            of_hit = draw.normal(0, in_hit**0.5)
            for _ in range(outputs):
                of_output = draw.normal(0, in_output**0.5)
                noise = of_output + draw.normal(0, (1 - in_output) ** 0.5, criteria)
                values = TRUE + sd * (of_hit + (1 - in_hit) ** 0.5 * noise)
                rows += [(judge, value, output, hit) for value in values]
                output += 1
            hit += 1
    unit, value, output_, hit_ = map(np.array, zip(*rows, strict=True))
    return ControlScores(unit, value, output_, hit_)


DEPENDENT: list[dict[str, Any]] = [
    {"hits": (1, 3), "outputs": 5, "criteria": 1, "in_hit": 0, "in_output": 0, "spread": 0},
    {"hits": (1, 5), "outputs": 10, "criteria": 1, "in_hit": 0.08, "in_output": 0, "spread": 0.4},
    {"hits": (1, 1), "outputs": 10, "criteria": 1, "in_hit": 0.08, "in_output": 0, "spread": 0.4},
    {"hits": (2, 4), "outputs": 5, "criteria": 1, "in_hit": 0.3, "in_output": 0, "spread": 0.5},
    {"hits": (1, 4), "outputs": 1, "criteria": 5, "in_hit": 0, "in_output": 0.6, "spread": 0.5},
    {"hits": (1, 4), "outputs": 4, "criteria": 3, "in_hit": 0.2, "in_output": 0.6, "spread": 0.5},
]
"""As WMT22 has them (HITs of 10 pairs, correlated .07), Dialogue-Eval (5 criteria), and worse."""


@pytest.mark.parametrize("crowd", DEPENDENT, ids=str)
def test_the_interval_holds_what_simulated_judges_have(crowd):
    """Of 95% intervals at least 95% do, within chance; of upper bounds 97.5%."""
    draw = np.random.default_rng(11)
    held: list[Any] = []
    above: list[Any] = []
    for _ in range(25):
        scores = simulated(draw, **crowd)
        errors = mean_errors(scores, everybody(40))
        low, high = effect_interval(means(scores.unit, scores.value, n_groups=40), errors)
        some = np.isfinite(high)
        held += ((low < TRUE) & (high > TRUE))[some].tolist()
        above += (high > TRUE)[some].tolist()
    assert len(held) > 500
    assert np.mean(held) > 0.935
    assert np.mean(above) > 0.965


def test_known_answers_have_the_interval_of_clopper_and_pearson():
    right = np.array([True] * 7 + [False] * 2)
    rows = np.arange(9)
    low, high = accuracy_interval(Answers(np.zeros(9, np.int64), right, rows, rows), everybody(1))
    expected = stats.binomtest(7, 9).proportion_ci(0.95, method="exact")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))


def test_a_question_that_was_answered_twice_counts_once():
    rows = np.arange(9)
    right = np.array([True] * 7 + [False] * 2)
    once = Answers(np.zeros(9, np.int64), right, rows, rows)
    twice = Answers(*(np.repeat(x, 2) for x in (once.unit, right, rows, rows)))
    bounds = [np.ravel(accuracy_interval(answers, everybody(1))) for answers in (once, twice)]
    assert bounds[1] == pytest.approx(bounds[0])


def test_the_interval_holds_the_accuracy_of_judges_with_bad_hits():
    """Each HIT of five questions goes well (.95) or badly (.55): .85 on the whole."""
    draw = np.random.default_rng(2)
    above: list[Any] = []
    for _ in range(30):
        n_hits = 4 * 40
        chance = np.where(draw.uniform(size=n_hits) < 0.25, 0.55, 0.95)
        right = draw.uniform(size=5 * n_hits) < np.repeat(chance, 5)
        hit = np.repeat(np.arange(n_hits), 5)
        answers = Answers(hit // 4, right, np.arange(hit.size), hit)
        above += (accuracy_interval(answers, everybody(40))[1] > 0.85).tolist()
    assert np.mean(above) > 0.965
