"""Power of judge control: by hand, by scipy, by simulation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.judges.grouped_tests import mann_whitney, paired_t, signed_rank, welch
from annot_pipeline.methods.judges.judge_power import (
    enough_controls,
    least_p_known_answers,
    least_p_mann_whitney,
    least_p_signed_rank,
    power_known_answers,
    power_mann_whitney,
    power_paired_t,
    power_signed_rank,
    power_welch,
    typical_sd,
)

ROUNDS = 4_000


def array(*values: float) -> Any:
    return np.array(values, np.float64)


def test_least_p_by_hand():
    """3 of 3 right of two classes: 1/8. Four pairs: 1/16. Three scores against three: 1/20."""
    assert least_p_known_answers([3, 5, 1], [0.5, 0.5, 0.25]).tolist() == [1 / 8, 1 / 32, 1 / 4]
    assert least_p_signed_rank([2, 4, 5]).tolist() == [1 / 4, 1 / 16, 1 / 32]
    assert least_p_mann_whitney([3, 2, 25], [3, 4, 5]) == pytest.approx(
        [1 / 20, 1 / 15, 1 / 142506]
    )


@pytest.mark.parametrize("n", [2, 4, 7])
def test_least_p_is_that_of_exact_tests(n):
    differences = np.arange(1.0, n + 1)
    exact = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert least_p_signed_rank(n) == pytest.approx(exact)
    exact = stats.mannwhitneyu(differences + 9, differences[:2], alternative="greater",
                               method="exact").pvalue  # fmt: skip
    assert least_p_mann_whitney(n, 2) == pytest.approx(exact)
    exact = stats.binomtest(n, n, 0.3, alternative="greater").pvalue
    assert least_p_known_answers(n, 0.3) == pytest.approx(exact)


@pytest.mark.parametrize("alpha", [0.05, 0.001])
@pytest.mark.parametrize("chance", [0.5, 0.2])
def test_power_of_known_answers_is_exact(alpha, chance):
    """The chance of at least as many right answers as any p below alpha takes."""
    for n in (1, 3, 5, 6, 10, 37):
        p = stats.binom.sf(np.arange(n + 1) - 1, n, chance)
        passing = np.flatnonzero(p < alpha)
        for accuracy in (0.4, 0.9, 1.0):
            expected = stats.binom.sf(passing[0] - 1, n, accuracy) if passing.size else 0.0
            power = power_known_answers(*(array(x) for x in (n, accuracy, chance, alpha)))
            assert power[0] == pytest.approx(expected, abs=1e-12), (n, accuracy)


@pytest.mark.parametrize("shift", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("n", [2, 3, 5, 6, 10, 20])
def test_power_is_what_simulated_judges_show(n, shift):
    """Size (no shift) and power of each test, with normal scores."""
    draw = np.random.default_rng(n)
    judge = np.repeat(np.arange(ROUNDS), n)
    first, second = draw.normal(shift, 1, judge.size), draw.normal(0, 1.5, judge.size)
    sizes, alpha = array(n), array(0.05)

    def share(test: Any, *samples: Any) -> float:
        return float((test(*samples, n_groups=ROUNDS).p_value < 0.05).mean())

    close = partial(pytest.approx, abs=0.03)
    assert power_paired_t(sizes, array(shift), array(1), alpha)[0] == close(
        share(paired_t, judge, first)
    )
    two = array(shift), array(1), array(1.5), alpha
    close = partial(pytest.approx, abs=0.12 if n < 5 else 0.03)  # the degrees of freedom vary
    assert power_welch(sizes, sizes, *two)[0] == close(share(welch, judge, first, judge, second))
    close = partial(pytest.approx, abs=0.11 if n < 10 else 0.06)  # a normal approximation
    ranks = share(signed_rank, judge, first) if n >= 5 else 0.0
    assert power_signed_rank(sizes, array(shift), array(1), alpha)[0] == close(ranks)
    ranks = share(mann_whitney, judge, first, judge, second) if n >= 5 else 0.0
    assert power_mann_whitney(sizes, sizes, *two)[0] == close(ranks)


def test_two_pairs_find_few_careful_judges():
    """The paired t-test with 2 pairs fails most of them (METHODS: degradation 20, noise 12)."""
    power = power_paired_t(array(2, 3, 10), array(20), array(12 * 2**0.5), array(0.05))
    assert power[0] < 0.25
    assert power[2] > 0.95


def test_scores_that_do_not_vary():
    zero, alpha = array(0.0), array(0.05)
    assert power_paired_t(array(2), array(5), zero, alpha).tolist() == [1]
    assert power_welch(array(2), array(3), array(5), zero, zero, alpha).tolist() == [1]
    assert power_signed_rank(array(5), array(5), zero, alpha)[0] == pytest.approx(1)
    assert power_mann_whitney(array(5), array(5), array(5), zero, zero, alpha)[0] == pytest.approx(
        1
    )
    assert power_paired_t(array(1), array(5), array(1), alpha).tolist() == [0]


@pytest.mark.parametrize(
    ("accuracy", "wanted", "needed"),
    # two classes, alpha .05: 5 of 5 (p = 1/32); 7 of 8 (9/256); 9 of 11 (67/2048)
    [(1.0, 0.5, 5), (0.9, 0.5, 8), (0.9, 0.8, 11)],
)
def test_how_many_known_answers_are_enough(accuracy, wanted, needed):
    """From there on the power does not fall below again: 5 have .59 and 7 have .48."""

    def power(n: Any) -> Any:
        return power_known_answers(n, array(accuracy), array(0.5), array(0.05))

    assert enough_controls(power, wanted) == needed
    assert enough_controls(power, wanted, least=30) == 30


def test_no_number_is_enough_for_no_effect():
    assert (
        enough_controls(lambda n: power_paired_t(n, array(0), array(1), array(0.05)), 0.5) is None
    )


def test_the_typical_sd_is_that_of_most_judges():
    """Whatever few judges do: with two scores each, or ten, and a third who answer at random."""
    draw = np.random.default_rng(8)
    for n in (2, 3, 10):
        sd = np.repeat([12.0, 60.0], [300, 100])
        variance = draw.normal(0, sd[:, None], (400, n)).var(axis=1, ddof=1)
        freedom, strata = np.full(400, n - 1), np.zeros(400, np.int64)
        actual = typical_sd(variance, freedom, strata)[0]
        assert 11.5 < actual < (22 if n == 2 else 17), n
        careful = typical_sd(variance[:300], freedom[:300], strata[:300])[0]
        assert careful == pytest.approx(12, rel=0.2)


def test_the_typical_sd_by_hand():
    """Of 3 scores each chi squared has the median 1.386; halfway between two of equal weight."""
    strata = np.array([0, 0, 1, 1, 2, 3, 4])
    variance = np.array([4.0, 16, 9, 0, 0, 0, 25])
    freedom = np.array([2, 2, 2, 2, 2, 0, 2])
    by_hand = np.sqrt(np.array([10.0, 9, 0, np.nan, 25]) * 2 / 1.3862943611)
    assert typical_sd(variance, freedom, strata) == pytest.approx(by_hand, nan_ok=True)
