"""Thurstone's model in closed form, by brute force, by invariances, and where nothing is finite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from studies.thurstone import ThurstoneParams, thurstone

WITH_PRIOR = ThurstoneParams(prior_sd=1.0)


def random_comparisons(seed: int, n_items: int, n: int):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    return first, second, rng.integers(-1, 2, n)


def brute_force(first, second, outcome, n_items, sigma, prior_sd=None):
    """Eq. 2 as it stands, comparison by comparison, by a general optimiser."""

    def loss(mean):
        d = (mean[first] - mean[second]) / (np.sqrt(2) * sigma)
        wins, losses = (outcome + 1) / 2, (1 - outcome) / 2
        total = wins @ norm.logcdf(d) + losses @ norm.logcdf(-d)
        prior = 0 if prior_sd is None else norm.logpdf(mean, scale=prior_sd).sum()
        return -total - prior

    actual = minimize(loss, np.zeros(n_items), method="BFGS", options={"gtol": 1e-7}).x
    return actual - actual.mean()


@pytest.mark.parametrize(("wins", "n"), [(7, 10), (1, 2), (1, 1000), (3, 4)])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_two_items_in_closed_form(wins, n, sigma):
    outcome = np.where(np.arange(n) < wins, 1, -1)
    result = thurstone([0] * n, [1] * n, outcome, n_items=2, params=ThurstoneParams(sigma))
    expected = np.sqrt(2) * sigma * norm.ppf(wins / n)
    assert result.mean[0] - result.mean[1] == pytest.approx(expected, abs=1e-10)
    assert result.mean.sum() == pytest.approx(0, abs=1e-12)
    assert result.finite is True
    assert result.convergence.converged is True
    assert result.component.tolist() == [0, 0]


@pytest.mark.parametrize(("n_items", "reach"), [(5, 5), (60, 60), (1500, 1500), (1500, 1)])
def test_a_tree_in_closed_form(n_items, reach):
    """Each pair of a tree has its own difference; the last one is a chain of 1,500."""
    rng = np.random.default_rng(n_items)
    parent = np.array([rng.integers(max(0, i - reach), i) for i in range(1, n_items)])
    wins = rng.integers(1, 10, n_items - 1)
    first, second = np.repeat(parent, 10), np.repeat(np.arange(1, n_items), 10)
    outcome = np.where(np.tile(np.arange(10), n_items - 1) < np.repeat(wins, 10), 1, -1)
    expected = np.zeros(n_items)
    for child, p in enumerate(parent, start=1):
        expected[child] = expected[p] - np.sqrt(2) * norm.ppf(wins[child - 1] / 10)
    result = thurstone(first, second, outcome, n_items=n_items)
    np.testing.assert_allclose(result.mean, expected - expected.mean(), atol=1e-9)


@pytest.mark.parametrize(("sigma", "prior_sd"), [(1.0, None), (0.4, None), (1.0, 1.0), (2.0, 0.5)])
@pytest.mark.parametrize("n_items", [3, 8])
def test_against_brute_force(sigma, prior_sd, n_items):
    table = random_comparisons(n_items, n_items, 30 * n_items)
    result = thurstone(*table, n_items=n_items, params=ThurstoneParams(sigma, prior_sd))
    expected = brute_force(*table, n_items, sigma, prior_sd)
    np.testing.assert_allclose(result.mean, expected, atol=2e-6)
    assert result.finite
    assert result.convergence.stop_on == ("posterior" if prior_sd else "likelihood")


def test_a_strict_chain_has_no_finite_estimate_without_a_prior():
    result = thurstone([0, 2], [1, 1], [1, -1], n_items=3)  # 0 > 1 > 2
    assert np.isnan(result.mean).all()
    assert result.component.tolist() == [0, 1, 2]
    assert result.finite is False
    assert (result.convergence.converged, result.convergence.iterations) == (False, 0)


@pytest.mark.parametrize("prior_sd", [1e-3, 1.0, 1e3, 1e6, 1e8])
def test_a_strict_chain_is_ranked_with_a_prior(prior_sd):
    """By symmetry (d, 0, -d), where the slope pdf/cdf(d / sqrt 2) / sqrt 2 equals d / sd^2."""
    params = ThurstoneParams(prior_sd=prior_sd)
    result = thurstone([0, 2], [1, 1], [1, -1], n_items=3, params=params)
    d = result.mean[0]
    assert d > 0
    assert result.mean.tolist() == pytest.approx([d, 0, -d], abs=1e-9 * d)
    x = d / np.sqrt(2)
    assert norm.pdf(x) / norm.cdf(x) / np.sqrt(2) == pytest.approx(d / prior_sd**2, rel=1e-6)
    assert result.finite is True
    assert result.convergence.converged is True
    assert result.component.tolist() == [0, 1, 2]


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(deadline=None, max_examples=60)
def test_components_by_paths(seed, n_items):
    """Items are together if wins lead from each to the other; numbers follow the first items."""
    first, second, outcome = random_comparisons(seed, n_items, n_items)
    beats = np.eye(n_items, dtype=bool)
    beats[first[outcome >= 0], second[outcome >= 0]] = True
    beats[second[outcome <= 0], first[outcome <= 0]] = True
    for via in range(n_items):
        beats |= beats[:, [via]] & beats[[via]]
    component, seen = [], []
    for item, row in enumerate(beats & beats.T):
        leader = int(np.flatnonzero(row)[0])
        seen += [leader] if leader == item and np.isin(item, [first, second]) else []
        component.append(seen.index(leader) if leader in seen else -1)
    result = thurstone(first, second, outcome, n_items=n_items)
    assert result.component.tolist() == component
    assert result.finite == (max(component) == 0)


def test_no_comparisons():
    result = thurstone([], [], [], n_items=2)
    assert np.isnan(result.mean).all()
    assert (result.finite, result.component.tolist()) == (False, [-1, -1])
    result = thurstone([], [], [], n_items=2, params=WITH_PRIOR)
    assert (result.finite, result.mean.tolist()) == (True, [0, 0])


@given(st.integers(0, 10_000), st.integers(2, 8))
@settings(deadline=None, max_examples=30)
def test_rows_sides_and_names_do_not_matter(seed, n_items):
    first, second, outcome = random_comparisons(seed, n_items, 10 * n_items)
    rng = np.random.default_rng(seed)
    rows, swap = rng.permutation(first.size), rng.random(first.size) < 0.5
    name = rng.permutation(n_items)
    turned = (np.where(swap, second, first), np.where(swap, first, second),
              np.where(swap, -outcome, outcome))  # fmt: skip
    result = thurstone(first, second, outcome, n_items=n_items, params=WITH_PRIOR)
    other = thurstone(*(a[rows] for a in turned), n_items=n_items, params=WITH_PRIOR)
    assert other.mean.tolist() == result.mean.tolist()
    other = thurstone(name[first], name[second], outcome, n_items=n_items, params=WITH_PRIOR)
    np.testing.assert_allclose(other.mean[name], result.mean, atol=1e-10)
    together = result.component[:, None] == result.component
    assert ((other.component[name][:, None] == other.component[name]) == together).all()


@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([0.1, 1.0, 1e4]))
@settings(deadline=None, max_examples=40)
def test_the_posterior_never_falls(seed, n_items, prior_sd):
    table = random_comparisons(seed, n_items, n_items)
    result = thurstone(*table, n_items=n_items, params=ThurstoneParams(prior_sd=prior_sd))
    course = result.convergence.log_posterior
    assert course.size == result.convergence.iterations + 1
    assert (np.diff(course) >= -1e-13 * abs(course[0])).all()
    assert result.convergence.converged
    assert np.isfinite(result.mean).all()
    assert result.mean.sum() == pytest.approx(0, abs=1e-9 * prior_sd)


def test_a_step_that_is_too_long_is_halved():
    """Found by search: a full step of Newton's method falls here, from -.000227 to -.000240."""
    n = [7, 13, 98, 2196, 1069, 233, 6]
    first, second = np.repeat([1, 1, 1, 2, 2, 4, 5], n), np.repeat([0, 3, 4, 0, 5, 3, 4], n)
    params = ThurstoneParams(prior_sd=884.8942183791016)
    result = thurstone(first, second, np.ones(first.size), n_items=6, params=params)
    assert (np.diff(result.convergence.log_posterior) >= -1e-13).all()
    assert result.convergence.converged


def test_a_prior_that_says_nothing():
    """Found by search: products of conjugate gradients underflow to 0. Means stay finite."""
    n = [8, 3, 1, 3, 3]
    first, second = np.repeat([0, 1, 2, 2, 3], n), np.repeat([2, 3, 0, 1, 1], n)
    params = ThurstoneParams(prior_sd=118392408.09083359)
    result = thurstone(first, second, np.ones(first.size), n_items=4, params=params)
    assert np.isfinite(result.mean).all()
    assert result.mean[[0, 2]].min() > result.mean[[1, 3]].max()


def test_bad_input():
    bad = [("sigma", 0), ("sigma", np.nan), ("prior_sd", 0), ("prior_sd", np.inf)]
    bad += [("tolerance", 0.0), ("tolerance", 1.0), ("max_iterations", 0)]
    for name, value in bad:
        with pytest.raises(ValueError, match=f"^{name} must be"):
            ThurstoneParams(**{name: value})
    with pytest.raises(ValueError, match="with itself"):
        thurstone([0], [0], [0], n_items=2)
    with pytest.raises(ValueError, match="outcome must be"):
        thurstone([0], [1], [2], n_items=2)
