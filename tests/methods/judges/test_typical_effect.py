"""Effects corrected for selection: by scipy's truncated distributions, and on simulated judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.config import Quality
from annot_pipeline.methods.judges.effect_bounds import Answers, ControlScores, accuracy_interval
from annot_pipeline.methods.judges.grouped_tests import GroupedTest, paired_t, signed_rank
from annot_pipeline.methods.judges.judge_power import (
    accuracy_given_passing,
    effect_given_passing,
    least_right,
)
from annot_pipeline.methods.judges.known_answers import known_answers
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    JudgeVerdicts,
    answer_test,
    judge_verdicts,
    score_test,
)

CROWDS = 60


def test_the_median_of_those_who_pass_is_what_was_observed():
    effect, error, least = np.array([[20.0, 15, 40, 14], [5, 5, 4, 5], [12, 12, 12, 9]])
    actual = effect_given_passing(effect, error, least)
    median = stats.truncnorm.median((least - actual) / error, np.inf, loc=actual, scale=error)
    assert median == pytest.approx(effect)
    assert actual[2] == pytest.approx(40, abs=1e-9), "where all pass nothing is selected"
    assert np.all(actual < effect)


def test_effects_are_not_negative():
    """One who just passed would have passed by luck; scores that do not vary tell the effect."""
    actual = effect_given_passing(
        np.array([10.0, 7, -3]), np.array([5.0, 0, 0]), np.array([9.999, 0, -4])
    )
    assert actual == pytest.approx([0, 7, 0])


def expected_right(accuracy: float, n: int, least: int) -> float:
    """Mean of right answers of those who pass, by adding up."""
    k = np.arange(least, n + 1)
    chance = stats.binom.pmf(k, n, accuracy)
    return float((k * chance).sum() / chance.sum())


def test_the_mean_of_those_who_pass_is_what_was_observed():
    right, n, least = np.array(
        [[9, 10, 14, 17, 6, 6], [10, 10, 15, 20, 6, 6], [9, 9, 12, 15, 6, 6]]
    )
    strata = np.array([0, 0, 0, 0, 0, 1])
    actual = accuracy_given_passing(right, n, least, strata, np.array([0.5, 0.5]))
    passed = zip(n[:4].tolist(), least[:4].tolist(), strict=True)
    expected = sum(expected_right(float(actual[0]), m, k) for m, k in passed)
    assert expected == pytest.approx(9 + 10 + 14 + 17)
    assert np.isnan(actual[1]), "only perfect records pass"


def test_accuracies_that_passing_does_not_tell():
    """All just passed; all are perfect, of whom half an answer less is the median."""
    just = accuracy_given_passing(*np.array([[9, 9], [10, 10], [9, 9], [0, 0]]), np.array([0.5]))
    assert np.isnan(just).all()
    perfect = accuracy_given_passing(*np.array([[10], [10], [9], [0]]), np.array([0.5]))
    assert expected_right(float(perfect[0]), 10, 9) == pytest.approx(9.5)


@pytest.mark.parametrize("n", [6, 10, 37])
def test_the_least_number_of_right_answers_that_passes(n):
    p = stats.binom.sf(np.arange(n + 1) - 1, n, 0.5)
    assert least_right(n, 0.5, 0.05) == np.flatnonzero(p < 0.05)[0]
    assert least_right(n, 0.5, 1e-12) == n + 1


Crowd = Callable[[np.random.Generator], JudgeVerdicts]


def answering(accuracy: float, n: int) -> Crowd:
    """Forty judges of one accuracy, of two classes, and ten who do not look."""
    p = np.repeat([accuracy, 0.5], [40, 10])

    def drawn(draw: np.random.Generator) -> JudgeVerdicts:
        unit = np.repeat(np.arange(50), n)
        given = Answers(unit, draw.random(unit.size) < p[unit], *[np.arange(unit.size)] * 2)
        actual = known_answers(unit, given.right, np.full(unit.size, 0.5), n_judges=50)
        result = GroupedTest(actual.n_right * 1.0, actual.effect, actual.p_value, actual.n,
                             np.full(50, np.inf))  # fmt: skip
        strata = np.zeros(50, np.int64)
        test = answer_test(result, np.full(50, 0.5), *accuracy_interval(given, strata))
        quality = Quality.model_validate({"test": "known_answer"})
        return judge_verdicts(test, np.ones(50, np.bool_), strata, quality)

    return drawn


def scoring(test: Any, effect: float, n: int) -> Crowd:
    """Forty judges whose differences have a standard deviation of 17, and ten who do not look."""
    of = np.repeat([effect, 0.0], [40, 10])
    quality = Quality.model_validate({"test": test.__name__, "contrast": "paired"})

    def drawn(draw: np.random.Generator) -> JudgeVerdicts:
        unit, strata = np.repeat(np.arange(50), n), np.zeros(50, np.int64)
        value = draw.normal(of[unit], np.where(unit < 40, 17.0, 34.0))
        scores = ControlScores(unit, value, *[np.arange(unit.size)] * 2)
        tested = score_test(test(unit, value, n_groups=50), (scores,), strata, quality)
        return judge_verdicts(tested, np.ones(50, np.bool_), strata, quality)

    return drawn


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("draw_crowd", "of", "n"),
    [
        *((answering, accuracy, n) for accuracy in (0.75, 0.9) for n in (6, 10, 20)),
        *((partial(scoring, paired_t), effect, n) for effect in (8, 20) for n in (5, 10)),
        *((partial(scoring, signed_rank), effect, 10) for effect in (8, 20)),
    ],
)
def test_power_is_not_more_than_careful_judges_have(draw_crowd: Any, of: float, n: int) -> None:
    """Where few pass, the median of those who do tells a power of .74 that is .24 (10 answers).

    Of judges who are careful all alike, failed ones are those whom a test of enough power missed.
    """
    draw = np.random.default_rng(36)
    crowd: Crowd = draw_crowd(of, n)
    actual = [crowd(draw) for _ in range(CROWDS)]
    passing = np.mean([(judged.verdict[:40] == PASSED).mean() for judged in actual])
    told = np.median(
        [np.nanmean(judged.power[:40]) for judged in actual if judged.power is not None]
    )
    failed = np.mean([(judged.verdict[:40] == FAILED).mean() for judged in actual])
    assert told < passing + 0.06
    assert failed < 0.32
    if passing < 0.4:
        assert failed < 0.22, "most crowds tell that the test has too little power"
