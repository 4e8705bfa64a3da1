import math
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest

from annot_pipeline.methods.numerics import moments as module
from annot_pipeline.methods.numerics.moments import means, moments, sums


def test_moments_of_groups_are_those_of_numpy():
    rng = np.random.default_rng(1)
    groups, values = rng.integers(20, size=500), rng.normal(50, 20, 500)
    actual = moments(groups, values, n_groups=21)
    for group in range(20):
        of = values[groups == group]
        assert actual.n[group] == of.size
        assert actual.mean[group] == pytest.approx(of.mean(), rel=1e-14)
        assert actual.variance[group] == pytest.approx(of.var(ddof=1), rel=1e-12)
    assert actual.n[20] == 0
    assert np.isnan([actual.mean[20], actual.variance[20]]).all()


@pytest.mark.parametrize("value", [70.1, 0.1, 1 / 3, 100.0, -1e-9])
@pytest.mark.parametrize("n", [2, 3, 7, 49])
def test_a_constant_has_its_own_mean_and_no_variance(value, n):
    """Whatever 70.1 + 70.1 + 70.1 is: rounding must not give such a judge a z-score."""
    actual = moments(np.zeros(n, int), np.full(n, value), n_groups=1)
    assert (actual.mean[0], actual.variance[0]) == (value, 0)


def test_one_value_has_a_mean_and_no_variance():
    actual = moments(np.array([0]), np.array([70.1]), n_groups=1)
    assert actual.mean[0] == 70.1
    assert np.isnan(actual.variance[0])


def test_sums_are_exact_and_do_not_depend_on_the_order():
    rng = np.random.default_rng(2)
    for scale in (1e-3, 1.0, 1e6):
        groups, values = rng.integers(5, size=1000), rng.normal(0, scale, 1000)
        actual = sums(groups, values, n_groups=5)
        exact = [math.fsum(values[groups == group]) for group in range(5)]
        assert actual.tolist() == exact
        order = rng.permutation(1000)
        assert sums(groups[order], values[order], n_groups=5).tolist() == exact
    plain = np.bincount(groups, weights=values, minlength=5)
    assert plain.tolist() != exact  # what summing in the order of rows gives


def test_no_moment_depends_on_the_order_of_rows():
    rng = np.random.default_rng(5)
    groups, values = rng.integers(3, size=9_000), rng.normal(50, 20, size=9_000)
    first = moments(groups, values, n_groups=3)
    for _ in range(3):
        order = rng.permutation(groups.size)
        again = moments(groups[order], values[order], n_groups=3)
        np.testing.assert_array_equal(again.variance, first.variance)
        np.testing.assert_array_equal(again.mean, first.mean)


def test_blocks_of_rows_change_no_bit(monkeypatch):
    rng = np.random.default_rng(3)
    groups, values = rng.integers(5, size=1000), rng.normal(0, 1, 1000)
    results = []
    for rows in (7, 1000):
        monkeypatch.setattr("annot_pipeline.methods.numerics.moments.ROWS", rows)
        result = moments(groups, values, n_groups=5)
        results.append((result.mean.tolist(), result.variance.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(5).integers(101, size=900).astype(float),
        np.random.default_rng(5).normal(1e6, 1, 900),
        np.full(900, 0.1),
    ],
)
def test_blocks_add_up_to_the_whole(values):
    """To the last digit where values are whole, or equal."""
    groups = np.random.default_rng(6).integers(7, size=900)
    whole = moments(groups, values, n_groups=8)
    ends = [0, 0, 10, 500, 900]
    blocks = [(groups[a:b], values[a:b]) for a, b in pairwise(ends)]
    extent = reduce(add, (module.Extent.from_values(*of, n_groups=8) for of in blocks))
    firsts = reduce(add, (module.FirstSums.from_values(*of, extent) for of in blocks))
    squares = reduce(add, (module.squares_about(*of, extent, firsts) for of in blocks))
    actual = module.moments_of(extent, firsts, squares)
    np.testing.assert_array_equal(actual.n, whole.n)
    if np.ptp(values) == 0 or (values == np.rint(values)).all():
        np.testing.assert_array_equal(actual.mean, whole.mean)
        np.testing.assert_array_equal(actual.variance, whole.variance)
    np.testing.assert_allclose(actual.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(actual.variance, whole.variance, rtol=1e-12)


def test_no_digit_of_a_group_depends_on_other_groups():
    rng = np.random.default_rng(4)
    groups, values = rng.integers(40, size=900), rng.integers(101, size=900).astype(float)
    alone = moments(groups, values, n_groups=40)
    for other in ([50.5, 40], [2.0**60, 3], [np.pi]):
        beside = moments(
            np.append(groups, [40] * len(other)), np.append(values, other), n_groups=42
        )
        for name in ("n", "mean", "variance"):
            assert getattr(beside, name)[:40].tolist() == getattr(alone, name).tolist()
        assert beside.mean[40] == pytest.approx(np.mean(other))
        assert np.isnan(beside.mean[41])


@pytest.mark.parametrize(("n", "largest"), [(50, 100), (50, 10**9), (2_000, 10**4)])
def test_whole_numbers_have_the_nearest_moments(n, largest):
    """Up to sums that no double holds, where the last digit may be another."""
    rng = np.random.default_rng(6)
    values = rng.integers(-largest, largest + 1, size=n)
    values[0] = largest
    actual = moments(np.zeros(n, int), values.astype(float), n_groups=1)
    mean = Fraction(int(values.sum()), n)
    variance = sum((Fraction(int(v)) - mean) ** 2 for v in values) / (n - 1)
    exact = (n * largest) ** 2 < 2**53
    assert actual.mean[0] == float(mean)
    assert actual.variance[0] == pytest.approx(float(variance), rel=0 if exact else 1e-14)
    assert exact == (largest < 10**5)


def test_nothing_sums_to_nothing():
    none = np.empty(0)
    assert sums(none.astype(int), none, n_groups=2).tolist() == [0, 0]
    assert np.isnan(means(none.astype(int), none, n_groups=2)).all()
