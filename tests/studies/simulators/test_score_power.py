"""Simulated direct assessments: power of the tests of judges."""

import numpy as np
import pytest

from annot_pipeline.methods.judges.grouped_tests import mann_whitney, paired_t, signed_rank, welch
from studies.simulators.score_pairs import ScorePairs, simulate_pairs

N_TRIALS = 20_000


def power(p_values: np.ndarray) -> float:
    assert p_values.shape == (N_TRIALS,)
    return float(np.mean(p_values < 0.05))


def as_printed(share: float) -> tuple[float, float]:
    """Where a power printed with two digits lies: half a digit and three standard errors."""
    tolerance = 0.005 + 3 * float(np.sqrt(share * (1 - share) / N_TRIALS))
    return share - tolerance, share + tolerance


@pytest.fixture(scope="module")
def ten_pairs() -> ScorePairs:
    """One HIT of each judge; degradation 20, item sd 22, noise 12."""
    return simulate_pairs(10, n_judges=N_TRIALS)


def test_power_of_paired_tests(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .96 for the paired t, .94 for the signed rank."""
    judge, differences = ten_pairs.judge, ten_pairs.ordinary - ten_pairs.degraded
    low, high = as_printed(0.96)
    assert low < power(paired_t(judge, differences, n_groups=N_TRIALS).p_value) < high
    low, high = as_printed(0.94)
    assert low < power(signed_rank(judge, differences, n_groups=N_TRIALS).p_value) < high


def test_power_of_pooled_tests(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .74 to .77; all 70 ordinary scores against the 10 degraded."""
    first = ten_pairs.ordinary_judge, ten_pairs.all_ordinary
    second = ten_pairs.judge, ten_pairs.degraded
    assert ten_pairs.all_ordinary.shape == (70 * N_TRIALS,)
    low, high = as_printed(0.74)
    assert low < power(welch(*first, *second, n_groups=N_TRIALS).p_value) < high
    low, high = as_printed(0.76)
    assert low < power(mann_whitney(*first, *second, n_groups=N_TRIALS).p_value) < high
    # the same tests look worse still if only the ten outputs that have copies are taken
    first = ten_pairs.judge, ten_pairs.ordinary
    assert power(welch(*first, *second, n_groups=N_TRIALS).p_value) == pytest.approx(0.56, abs=0.02)
    by_ranks = power(mann_whitney(*first, *second, n_groups=N_TRIALS).p_value)
    assert by_ranks == pytest.approx(0.515, abs=0.02)


def test_power_of_differences_against_repeats(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .26 for |d1| against d2."""
    judge = ten_pairs.judge
    differences = ten_pairs.ordinary - ten_pairs.degraded
    low, high = as_printed(0.26)
    for test in (welch, mann_whitney):
        actual = test(judge, differences, judge, ten_pairs.repeat_difference, n_groups=N_TRIALS)
        assert low < power(actual.p_value) < high


def test_without_degradation_the_tests_hold_their_level() -> None:
    null = simulate_pairs(10, n_judges=N_TRIALS, degradation=0)
    differences = null.ordinary - null.degraded
    low, high = as_printed(0.05)
    assert low < power(paired_t(null.judge, differences, n_groups=N_TRIALS).p_value) < high
    assert power(signed_rank(null.judge, differences, n_groups=N_TRIALS).p_value) < high
