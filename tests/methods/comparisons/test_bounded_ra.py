"""Bounded ranking aggregation against the methods page and the paper's equations one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.bounded_ra import (
    BoundedRaParams,
    bounded_ra,
    tie_probability,
    win_probability,
)


def random_comparisons(seed: int, n_items: int, n: int):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    return first, second, rng.integers(-1, 2, n)


def plain_loop(first, second, outcome, alpha, beta, gamma, epsilon):
    """Eqs. 12 to 22 as printed, item by item."""

    def mode(i):
        return 0.5 if alpha[i] + beta[i] == 2 else (alpha[i] - 1) / (alpha[i] + beta[i] - 2)

    def variance(i):
        a, b = alpha[i], beta[i]
        return a * b / ((a + b) ** 2 * (a + b + 1))

    theta = math.exp(epsilon)
    for i, j, o in zip(first, second, outcome, strict=True):
        if o < 0:
            i, j = j, i
        var_i, var_j, score_i, score_j = variance(i), variance(j), mode(i), mode(j)
        c = math.sqrt(2 * gamma**2 + var_i + var_j)
        pi_i, pi_j = math.exp(score_i), math.exp(score_j)
        if o != 0:
            p = pi_i / (pi_i + theta * pi_j)
            alpha[i] += var_i / c * (1 - p)
            beta[j] += var_j / c * (1 - p)
            continue
        p = (theta**2 - 1) * pi_i * pi_j / ((pi_i + theta * pi_j) * (theta * pi_i + pi_j))
        if abs(score_i - score_j) > epsilon:
            if score_i < score_j:
                i, j, var_i, var_j = j, i, var_j, var_i
            beta[i] += var_i / c * (1 - p)
            alpha[j] += var_j / c * (1 - p)
        else:
            for item, var in ((i, var_i), (j, var_j)):
                alpha[item] += var / c * (1 - p)
                beta[item] += var / c * (1 - p)
    return alpha, beta


def test_the_methods_page():
    result = bounded_ra([0, 0, 1], [1, 1, 2], [1, 0, -1], n_items=3)
    np.testing.assert_allclose(result.alpha, [1.1012576, 1.1816835, 1.1102279], atol=5e-8)
    np.testing.assert_allclose(result.beta, [1.1816835, 1.2018604, 1], atol=5e-8)
    assert result.n_comparisons.tolist() == [2, 3, 1]
    assert result.params == BoundedRaParams(gamma=0.1, epsilon=0.1)


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.1, 0.1), (0.4, 0.02), (0.05, 0.6)])
@pytest.mark.parametrize("n_items", [2, 5, 40])
def test_equals_the_papers_equations(gamma, epsilon, n_items):
    table = random_comparisons(n_items, n_items, 300)
    start = [1.0] * n_items, [1.0] * n_items
    params = BoundedRaParams(gamma, epsilon)
    result = bounded_ra(*table, n_items=n_items, params=params)
    alpha, beta = plain_loop(*table, *start, gamma, epsilon)
    np.testing.assert_allclose(result.alpha, alpha, rtol=1e-10)
    np.testing.assert_allclose(result.beta, beta, rtol=1e-10)
    total = result.alpha + result.beta
    np.testing.assert_allclose(result.score, (result.alpha - 1) / (total - 2), rtol=1e-10)
    mean = result.alpha / total
    np.testing.assert_allclose(result.variance, mean * (1 - mean) / (total + 1), rtol=1e-10)


def outcome_probabilities(score_i, score_j, epsilon):
    gap = np.array([score_i - score_j])
    return [
        win_probability(gap, epsilon),
        win_probability(-gap, epsilon),
        tie_probability(gap, epsilon),
    ]


@pytest.mark.parametrize(("score_i", "score_j"), [(0.5, 0.5), (1.0, 0.0), (0.2, 0.9)])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
def test_probabilities_of_the_paper(score_i, score_j, epsilon):
    theta, i, j = math.exp(epsilon), math.exp(score_i), math.exp(score_j)
    expected = (
        i / (i + theta * j),
        j / (theta * i + j),
        (theta**2 - 1) * i * j / ((i + theta * j) * (theta * i + j)),
    )
    actual = outcome_probabilities(score_i, score_j, epsilon)
    assert [p[0] for p in actual] == pytest.approx(expected, rel=1e-12)


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(0, 1e4))
def test_probabilities_sum_to_one(score_i, score_j, epsilon):
    actual = outcome_probabilities(score_i, score_j, epsilon)
    assert sum(p[0] for p in actual) == pytest.approx(1, abs=1e-12)
    assert all(0 <= p[0] <= 1 for p in actual)
    other = outcome_probabilities(score_j, score_i, epsilon)
    assert [p[0] for p in other] == [actual[1][0], actual[0][0], actual[2][0]]


def test_no_margin_no_ties():
    p_i, p_j, tie = outcome_probabilities(0.3, 0.3, 0.0)
    assert (p_i[0], p_j[0], tie[0]) == (0.5, 0.5, 0)


def scored(score: float, n: float = 10.0) -> tuple[float, float]:
    return 1 + n * score, 1 + n * (1 - score)


@pytest.mark.parametrize(
    ("high", "low"), [(0.6, 0.5), (0.4, 0.3), (0.3, 0.2), (0.8, 0.7), (1, 0.9)]
)
def test_a_difference_of_epsilon_is_within_it(high, low):
    """.6 - .5 rounds to less than .1 and .4 - .3 to more; both are .1."""
    start = tuple(zip(scored(high), scored(low), strict=True))
    result = bounded_ra([0], [1], [0], n_items=2, start=start)
    assert (result.alpha > start[0]).all()
    assert (result.beta > start[1]).all()


def test_a_tie_further_apart_pulls_together():
    start = tuple(zip(scored(0.61), scored(0.5), strict=True))
    for first, second in ((0, 1), (1, 0)):
        result = bounded_ra([first], [second], [0], n_items=2, start=start)
        assert result.alpha[0] == start[0][0]
        assert result.beta[0] > start[1][0]
        assert result.alpha[1] > start[0][1]
        assert result.beta[1] == start[1][1]
        assert result.score[0] < 0.61
        assert result.score[1] > 0.5


def test_equal_items_that_tie_stay_equal():
    for epsilon in (0.0, 0.1):
        params = BoundedRaParams(epsilon=epsilon)
        first, second, _ = random_comparisons(3, 5, 50)
        result = bounded_ra(first, second, np.zeros(50, int), n_items=5, params=params)
        assert result.score.tolist() == [0.5] * 5
        start = np.array([2.4, 2.4]), np.array([1.7, 1.7])
        result = bounded_ra([0, 1], [1, 0], [0, 0], n_items=2, params=params, start=start)
        assert result.alpha[0] == result.alpha[1] > 2.4
        assert result.beta[0] == result.beta[1] > 1.7


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(0, 60))
@settings(deadline=None, max_examples=40)
def test_waves_equal_a_loop_to_the_last_bit(seed, n_items, n):
    """One comparison a call has no waves; each goes on from the one before."""
    first, second, outcome = random_comparisons(seed, n_items, n)
    alpha, beta = np.ones(n_items), np.ones(n_items)
    for k in range(n):
        step = bounded_ra(first[k : k + 1], second[k : k + 1], outcome[k : k + 1],
                          n_items=n_items, start=(alpha, beta))  # fmt: skip
        alpha, beta = step.alpha, step.beta
    result = bounded_ra(first, second, outcome, n_items=n_items)
    assert result.alpha.tolist() == alpha.tolist()
    assert result.beta.tolist() == beta.tolist()


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(deadline=None, max_examples=40)
def test_names_and_sides_do_not_matter(seed, n_items):
    first, second, outcome = random_comparisons(seed, n_items, 50)
    rng = np.random.default_rng(seed)
    name, swap = rng.permutation(n_items), rng.random(50) < 0.5
    result = bounded_ra(first, second, outcome, n_items=n_items)
    other = bounded_ra(
        name[np.where(swap, second, first)],
        name[np.where(swap, first, second)],
        np.where(swap, -outcome, outcome),
        n_items=n_items,
    )
    assert other.alpha[name].tolist() == result.alpha.tolist()
    assert other.beta[name].tolist() == result.beta.tolist()


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 3.0]))
@settings(deadline=None, max_examples=30)
def test_parameters_never_fall(seed, epsilon):
    table = random_comparisons(seed, 4, 80)
    result = bounded_ra(*table, n_items=4, params=BoundedRaParams(0.1, epsilon))
    assert ((result.alpha >= 1) & (result.beta >= 1)).all()
    assert ((result.score >= 0) & (result.score <= 1)).all()


def test_the_order_matters():
    one = bounded_ra([0, 1], [1, 2], [1, 0], n_items=3).alpha
    other = bounded_ra([1, 0], [2, 1], [0, 1], n_items=3).alpha
    assert abs(one - other).max() > 0.001


def test_items_never_compared_keep_the_start():
    result = bounded_ra([0], [1], [1], n_items=3)
    assert (result.alpha[2], result.beta[2], result.score[2]) == (1, 1, 0.5)
    assert result.variance[2] == pytest.approx(1 / 12)
    start = np.array([3.0, 2.0]), np.array([1.0, 2.0])
    bounded_ra([0], [1], [1], n_items=2, start=start)
    assert (start[0].tolist(), start[1].tolist()) == ([3, 2], [1, 2])
    result = bounded_ra([], [], [], n_items=2, start=start)
    assert result.score.tolist() == [1, 0.5]


def test_bad_input():
    for name, value in [("gamma", 0), ("gamma", np.nan), ("epsilon", -0.1), ("epsilon", np.inf)]:
        with pytest.raises(ValueError, match=f"^{name} must be"):
            BoundedRaParams(**{name: value})
    with pytest.raises(ValueError, match="with itself"):
        bounded_ra([0], [0], [0], n_items=2)
    with pytest.raises(ValueError, match=r"start is of shapes \(3,\) and \(2,\), not \(3,\)"):
        bounded_ra([0], [1], [0], n_items=3, start=([1, 1, 1], [1, 1]))
    for start in (([1, np.nan], [1, 1]), ([1, 1], [1, 0]), ([np.inf, 1], [1, 1])):
        with pytest.raises(ValueError, match="start must be finite and > 0"):
            bounded_ra([0], [1], [0], n_items=2, start=start)
