"""TrueSkill against the `trueskill` package, the paper's formulas, and at the far ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trueskill as package
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import norm

from annot_pipeline.methods.comparisons.trueskill import (
    TrueSkillParams,
    surprisal_of_tie,
    surprisal_of_win,
    trueskill,
)


def random_comparisons(seed: int, n_items: int, n: int):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    return first, second, rng.integers(-1, 2, n)


def by_package(first, second, outcome, start, params):
    """The package's factor graph: beta is gamma, no drift, the same margin of ties."""
    env = package.TrueSkill(beta=params.gamma, tau=0, backend="scipy")
    chance = 2 * norm.cdf(params.epsilon / (math.sqrt(2) * params.gamma)) - 1
    env.draw_probability = chance
    assert package.calc_draw_margin(chance, 2, env) == pytest.approx(params.epsilon, rel=1e-12)
    ratings = [env.create_rating(m, s) for m, s in zip(*start, strict=True)]
    for a, b, o in zip(first, second, outcome, strict=True):
        if o < 0:
            a, b = b, a
        ratings[a], ratings[b] = package.rate_1vs1(ratings[a], ratings[b], o == 0, env=env)
    return [r.mu for r in ratings], [r.sigma for r in ratings]


@pytest.mark.parametrize(
    ("gamma", "epsilon", "n_items", "sd"),
    [(0.1, 0.1, 12, 1.0), (0.5, 0.1, 4, 0.3), (1.0, 0.74, 30, 2.0), (0.3, 0.9, 3, 0.1)],
)
def test_equals_the_package(gamma, epsilon, n_items, sd):
    params = TrueSkillParams(gamma=gamma, epsilon=epsilon, mean=0.25, sd=sd)
    table = random_comparisons(n_items, n_items, 200)
    result = trueskill(*table, n_items=n_items, params=params)
    start = [params.mean] * n_items, [params.sd] * n_items
    mean, spread = by_package(*table, start, params)
    np.testing.assert_allclose(result.mean, mean, atol=1e-9)
    np.testing.assert_allclose(result.sd, spread, atol=1e-9)
    assert result.params is params


def test_equals_the_package_from_a_start():
    rng = np.random.default_rng(5)
    start = rng.normal(size=7), rng.uniform(0.1, 2, 7)
    table = random_comparisons(6, 7, 100)
    result = trueskill(*table, n_items=7, start=start)
    mean, spread = by_package(*table, start, TrueSkillParams())
    np.testing.assert_allclose(result.mean, mean, atol=1e-9)
    np.testing.assert_allclose(result.sd, spread, atol=1e-9)


def test_the_start_is_standard_normal():
    """A first win by hand: c^2 = 2.02, e = .1/c, v = pdf(-e)/cdf(-e), w = v (v - e)."""
    result = trueskill([0], [1], [1], n_items=3)
    c = math.sqrt(2.02)
    v = norm.pdf(0.1 / c) / norm.cdf(-0.1 / c)
    assert result.mean.tolist() == pytest.approx([v / c, -v / c, 0], abs=1e-14)
    sd = math.sqrt(1 - v * (v - 0.1 / c) / 2.02)
    assert result.sd.tolist() == pytest.approx([sd, sd, 1], abs=1e-14)
    assert result.n_comparisons.tolist() == [1, 1, 0]


GRID = [(t, e) for t in (-9, -2, -0.4, 0, 1e-3, 0.7, 3, 9) for e in (1e-3, 0.05, 0.5, 2)]


@pytest.mark.parametrize(("t", "e"), GRID)
def test_the_papers_formulas(t, e):
    """Eqs. 5, 6, 9, 10 with cdf and pdf, where these have their digits."""
    v, w = surprisal_of_win(t, e)
    paper = norm.pdf(t - e) / norm.cdf(t - e)
    assert v == pytest.approx(paper, rel=1e-12)
    assert w == pytest.approx(paper * (paper + t - e), abs=1e-12)
    v, w = surprisal_of_tie(t, e)
    s = abs(t)  # both tails below 0, or the difference of cdfs has no digits
    z = norm.cdf(e - s) - norm.cdf(-e - s)
    paper = (norm.pdf(-e - t) - norm.pdf(e - t)) / z
    assert v == pytest.approx(paper, rel=1e-10, abs=1e-12)
    top = (e - t) * norm.pdf(e - t) + (e + t) * norm.pdf(e + t)
    assert w == pytest.approx(paper**2 + top / z, abs=1e-9)


@pytest.mark.parametrize("s", [10.0, 37.0, 60.0, 1e3])
@pytest.mark.parametrize("e", [1e-3, 0.07, 0.7])
def test_far_from_the_margin_by_logarithms(s, e):
    """METHODS: exp(logpdf - log_ndtr), and log Z = a + log(-expm1(b - a)), where cdfs are 0."""
    v, _ = surprisal_of_win(-s, e)
    assert v == pytest.approx(np.exp(norm.logpdf(s + e) - log_ndtr(-s - e)), rel=1e-9)
    a, b = log_ndtr(e - s), log_ndtr(-e - s)
    log_z = a + np.log(-np.expm1(b - a))
    tie = np.exp(norm.logpdf(e - s) - log_z) - np.exp(norm.logpdf(e + s) - log_z)
    for sign in (1, -1):
        v, w = surprisal_of_tie(sign * s, e)
        assert v == pytest.approx(-sign * tie, rel=1e-8)
        assert 1 - 1.1 / (s - e) ** 2 <= w <= 1


def test_no_margin():
    """With epsilon 0 a tie is an observed difference of 0; near it nothing jumps."""
    t = np.array([-1e3, -2.0, 0.0, 0.3, 40.0])
    v, w = surprisal_of_tie(t, 0.0)
    assert v.tolist() == (-t).tolist()
    assert w.tolist() == [1] * 5
    for e in (1e-12, 0.99e-5, 1.01e-5, 1e-4):
        v, w = surprisal_of_tie(t, e)
        np.testing.assert_allclose(v, -t, rtol=max(e**2, 3e-10), atol=e)
        np.testing.assert_allclose(w, 1, atol=e**2)


def test_where_cdf_over_pdf_is_all_but_infinite():
    """Around 37.6 it is within a factor of 2 of the largest number; a warning is an error."""
    x = np.linspace(37, 38, 20_001)
    for v, w in (surprisal_of_win(x + 0.1, 0.1), surprisal_of_tie(0.0 * x, x)):
        assert (abs(v) < 1e-290).all()
        assert ((w >= 0) & (w < 1e-290)).all()


def test_w_has_a_limit_that_rounding_does_not_move():
    """1 - w is about 1 / distance^2 where the outcome is absurd, and w is 0 where it is sure."""
    far = np.geomspace(1.2e4, 1e12, 1_000)
    for sign, (v, w) in ((1, surprisal_of_win(-far, 0.1)), (-1, surprisal_of_tie(far, 0.1))):
        np.testing.assert_allclose(v, 0.1 + sign * far, rtol=1e-8)
        np.testing.assert_allclose(w, 1, atol=2e-8)
    for v, w in (surprisal_of_win(far, 0.1), surprisal_of_tie(1.0, far)):
        assert not v.any()
        assert not w.any()


def test_w_stays_within_its_bounds_on_the_way_there():
    """The variance of what lies within epsilon of 0 is at most epsilon^2: w >= 1 - epsilon^2."""
    t = np.linspace(5e3, 9.99e3, 5_000)
    for e in (2e-5, 1e-3):
        win, tie = surprisal_of_win(-t, e)[1], surprisal_of_tie(t, e)[1]
        assert (np.maximum(win, tie) <= 1).all()
        np.testing.assert_allclose(win, 1 - 1 / t**2, atol=5e-8)
        assert (tie >= 1 - e**2).all()


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_factors_are_bounded(t, e):
    for v, w in (surprisal_of_win(t, e), surprisal_of_tie(t, e)):
        assert np.isfinite(v)
        assert 0 <= w <= 1
    assert surprisal_of_win(t, e)[0] >= 0
    v, _ = surprisal_of_tie(t, e)
    assert v == -surprisal_of_tie(-t, e)[0]
    assert v * t <= 0
    # the posterior difference lies within the margin
    assert -e - 1e-9 * abs(t) <= t + v <= e + 1e-9 * abs(t)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("sd", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("outcome", [1, 0, -1])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
def test_extreme_differences(far, sd, outcome, epsilon):
    """No overflow, no NaN (warnings are errors), no sd of 0, and the right direction."""
    params = TrueSkillParams(epsilon=epsilon)
    start = np.array([far, 0.0]), np.array([sd, sd])
    result = trueskill([0], [1], [outcome], n_items=2, params=params, start=start)
    assert np.isfinite(result.mean).all()
    assert ((result.sd > 0) & (result.sd <= sd)).all()
    assert (result.mean[0] >= far) if outcome == 1 else (result.mean[0] <= far)
    if outcome < 1 and sd == 1e6:  # an upset is believed: the prior knows nothing
        assert result.mean[0] - result.mean[1] < far


def test_a_vague_item_against_a_known_one_keeps_an_sd():
    """sd 1e9 against 1e-3: what is left is the noise of the comparison, not 0."""
    start = np.zeros(2), np.array([1e9, 1e-3])
    for epsilon in (0.0, 1e-9):
        params = TrueSkillParams(epsilon=epsilon)
        result = trueskill([0], [1], [0], n_items=2, params=params, start=start)
        assert result.sd[0] == pytest.approx(math.sqrt(0.02 + 1e-6), rel=1e-6)


def test_equal_items_that_tie_stay_equal():
    rng = np.random.default_rng(3)
    first, second, _ = random_comparisons(3, 5, 50)
    result = trueskill(first, second, np.zeros(50, int), n_items=5)
    assert result.mean.tolist() == [0] * 5
    assert (result.sd < 1).all()
    start = np.array([rng.normal()] * 2), np.array([0.3] * 2)
    result = trueskill([0, 1, 0], [1, 0, 1], [0, 0, 0], n_items=2, start=start)
    assert result.mean.tolist() == start[0].tolist()
    assert result.sd[0] == result.sd[1] < 0.3


def test_a_tie_pulls_together():
    start = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    mean = trueskill([0], [1], [0], n_items=2, start=start).mean
    assert 0 < mean[1] < mean[0] < 1
    assert mean.sum() == pytest.approx(1)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(0, 60))
@settings(deadline=None, max_examples=40)
def test_waves_equal_a_loop_to_the_last_bit(seed, n_items, n):
    """One comparison a call has no waves; each goes on from the one before."""
    first, second, outcome = random_comparisons(seed, n_items, n)
    mean, sd = np.zeros(n_items), np.ones(n_items)
    for k in range(n):
        step = trueskill(first[k : k + 1], second[k : k + 1], outcome[k : k + 1],
                         n_items=n_items, start=(mean, sd))  # fmt: skip
        mean, sd = step.mean, step.sd
    result = trueskill(first, second, outcome, n_items=n_items)
    assert result.mean.tolist() == mean.tolist()
    assert result.sd.tolist() == sd.tolist()
    assert result.n_comparisons.sum() == 2 * n


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(deadline=None, max_examples=40)
def test_names_and_sides_do_not_matter(seed, n_items):
    first, second, outcome = random_comparisons(seed, n_items, 50)
    rng = np.random.default_rng(seed)
    name, swap = rng.permutation(n_items), rng.random(50) < 0.5
    result = trueskill(first, second, outcome, n_items=n_items)
    other = trueskill(
        name[np.where(swap, second, first)],
        name[np.where(swap, first, second)],
        np.where(swap, -outcome, outcome),
        n_items=n_items,
    )
    assert other.mean[name].tolist() == result.mean.tolist()
    assert other.sd[name].tolist() == result.sd.tolist()


def test_the_order_matters():
    one = trueskill([0, 1], [1, 2], [1, 1], n_items=3).mean
    other = trueskill([1, 0], [2, 1], [1, 1], n_items=3).mean
    assert abs(one - other).max() > 0.01


def test_the_start_is_not_changed():
    start = np.zeros(2), np.ones(2)
    trueskill([0], [1], [1], n_items=2, start=start)
    assert (start[0].tolist(), start[1].tolist()) == ([0, 0], [1, 1])
    result = trueskill([], [], [], n_items=2, start=start)
    assert result.mean.tolist() == [0, 0]


def test_bad_input():
    for name, value in [("gamma", 0), ("gamma", np.inf), ("epsilon", -0.1), ("epsilon", np.nan),
                        ("mean", np.nan), ("sd", 0.0), ("sd", np.nan)]:  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name} must be"):
            TrueSkillParams(**{name: value})
    with pytest.raises(ValueError, match="with itself"):
        trueskill([0], [0], [0], n_items=2)
    with pytest.raises(ValueError, match=r"start is of shapes \(2,\) and \(3,\), not \(3,\)"):
        trueskill([0], [1], [0], n_items=3, start=([0, 0], [1, 1, 1]))
    for start in (([0, np.nan], [1, 1]), ([0, 0], [1, 0]), ([0, 0], [1, np.inf])):
        with pytest.raises(ValueError, match="start must be finite, with sd > 0"):
            trueskill([0], [1], [0], n_items=2, start=start)


def test_whole_numbers_start_as_any_others_do():
    whole = trueskill([0], [1], [1], n_items=2, params=TrueSkillParams(mean=0, sd=1))
    assert (whole.mean == trueskill([0], [1], [1], n_items=2).mean).all()
    assert whole.mean[0] > 0 > whole.mean[1]
