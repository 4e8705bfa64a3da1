"""Comparisons of estimates: two kinds of clusters, tests, ranks, clusters, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.rankings.inference import (
    NO_VARIATION,
    NOT_CONNECTED,
    ONE_SYSTEM,
    TESTED,
    TOO_FEW,
    ClusterVariance,
    SystemEstimates,
    compare_estimates,
)


def variance(covariance, freedom=30.0):
    covariance = np.asarray(covariance, np.float64)
    return ClusterVariance(covariance, np.full(covariance.shape, freedom))


def estimates(values, judges=None, segments=None, both=None, component=None):
    values = np.asarray(values, np.float64)
    n = values.size
    return SystemEstimates(
        values,
        variance(np.eye(n)) if judges is None else judges,
        variance(np.eye(n)) if segments is None else segments,
        np.zeros((n, n)) if both is None else both,
        np.zeros(n, np.int64) if component is None else np.asarray(component),
    )


def test_a_difference_by_hand():
    """Variances 2 and 3.2 of the difference, .4 of both; Satterthwaite over the two kinds."""
    actual = compare_estimates(
        estimates(
            [5.0, 1.0],
            variance(np.eye(2), 12.0),
            variance([[2.0, 0.4], [0.4, 2.0]], 40.0),
            0.2 * np.eye(2),
        )
    )
    total = 2 + 3.2 - 0.4
    freedom = total**2 / (2**2 / 12 + 3.2**2 / 40)
    assert actual.error[0, 1] == pytest.approx(np.sqrt(total))
    assert actual.degrees_of_freedom[0, 1] == pytest.approx(freedom)
    assert actual.p_value[0, 1] == pytest.approx(stats.t.sf(4 / np.sqrt(total), freedom))
    low, high = stats.t.interval(0.95, freedom, 4, np.sqrt(total))
    assert (actual.low[0, 1], actual.high[0, 1]) == (pytest.approx(low), pytest.approx(high))
    assert actual.p_value[1, 0] == pytest.approx(1 - actual.p_value[0, 1])


def test_the_variance_is_at_least_the_mean_of_the_two():
    actual = compare_estimates(estimates([1.0, 0.0], both=10 * np.eye(2)))
    assert actual.error[0, 1] ** 2 == pytest.approx((2 + 2) / 2)


def test_few_judges_speak_of_themselves():
    own = SystemEstimates(
        np.array([9.0, 0.0]), None, variance(np.eye(2)), None, np.zeros(2, np.int64)
    )
    actual = compare_estimates(own)
    assert actual.of_these_judges
    assert actual.beats[0, 1]
    assert actual.error[0, 1] ** 2 == pytest.approx(2)
    assert not actual.is_confirmed.any()
    assert actual.cluster.tolist() == [1, 1]


def test_holm_ranks_and_clusters():
    """The first beats the others; the second and the third do not differ."""
    actual = compare_estimates(estimates([20.0, 1.0, 0.0]))
    p = np.sort(actual.p_value[~np.isnan(actual.p_value)])
    expected = np.minimum(np.maximum.accumulate(p * np.arange(6, 0, -1)), 1)
    np.testing.assert_allclose(np.sort(actual.p_adjusted[~np.isnan(actual.p_adjusted)]), expected)
    assert actual.beats.tolist() == [[False, True, True], [False] * 3, [False] * 3]
    assert actual.rank.tolist() == [1, 2, 3]
    assert actual.best_rank.tolist() == [1, 2, 2]
    assert actual.worst_rank.tolist() == [1, 3, 3]
    assert actual.cluster.tolist() == [1, 2, 2]


@pytest.mark.parametrize("rounding", [0.0, 1e-17, 1e-15])
def test_last_digits_are_no_error_of_a_difference(rounding):
    noise = variance(np.diag([rounding, 2 * rounding, 0.0]) ** 2)
    actual = compare_estimates(estimates([4.0, 3.0, 2.0], noise, noise))
    assert set(actual.reason[~np.eye(3, dtype=bool)]) == {NO_VARIATION}
    assert not actual.beats.any()
    assert actual.best_rank.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("judges", "segments"), [(8.4, 30.0), (30.0, 18.4)])
def test_wins_of_few_cut_no_clusters(judges, segments):
    actual = compare_estimates(
        estimates([50.0, 0.0], variance(np.eye(2), judges), variance(np.eye(2), segments))
    )
    assert actual.beats[0, 1]
    assert actual.cluster.tolist() == [1, 1]
    assert actual.worst_rank.tolist() == [1, 2]


def test_ten_equal_judges_are_enough():
    nine = variance(np.eye(2), 9 - 1e-12)
    assert compare_estimates(estimates([50.0, 0.0], nine)).cluster.tolist() == [1, 2]


def test_what_cannot_be_told_has_a_reason_and_no_number():
    covariance = np.diag([1.0, 0.0, 0.0, 1.0, 1.0])
    actual = compare_estimates(
        estimates(
            [4.0, 3.0, 2.0, 1.0, np.nan],
            variance(covariance),
            variance(covariance),
            component=[0, 0, 0, 1, 2],
        )
    )
    assert actual.reason[1, 2] == NO_VARIATION
    assert actual.reason[0, 3] == NOT_CONNECTED
    assert actual.reason[0, 4] == NOT_CONNECTED
    assert actual.reason[0, 0] == ONE_SYSTEM
    assert actual.reason[0, 1] == TESTED
    for numbers in (actual.p_value, actual.p_adjusted, actual.low, actual.high, actual.error):
        assert np.isnan(numbers[actual.reason != TESTED]).all()
        assert not np.isnan(numbers[actual.reason == TESTED]).any()
    assert np.isnan(actual.difference[0, 3])
    assert actual.rank.tolist() == [1, 2, 3, 1, 0]
    assert actual.cluster[4] == 0


def test_less_than_one_degree_of_freedom_is_no_test():
    few = variance(np.eye(2), 0.4)
    actual = compare_estimates(estimates([9.0, 0.0], few, few))
    assert actual.reason[0, 1] == TOO_FEW
    assert not actual.beats.any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_compare(n):
    actual = compare_estimates(estimates(np.arange(n, dtype=np.float64)))
    assert actual.p_value.shape == (n, n)
    assert np.isnan(actual.p_value).all()
    assert actual.rank.tolist() == [1] * n
