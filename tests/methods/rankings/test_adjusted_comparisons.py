"""Adjusted comparisons: the likelihood, sandwiches by loops, invariances, graphs without sizes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.comparison_fit import (
    ORDER_SD,
    STRENGTH_PRECISION,
    WEAK_PRECISION,
)
from annot_pipeline.methods.rankings.inference import NOT_CONNECTED, TESTED, compare_estimates
from annot_pipeline.methods.rankings.sign_tests import sign_tests
from tests.methods.rankings.judge_loads import weights_of_pairs


def draw(seed, n=400, n_judges=6, n_segments=15, n_systems=4, order=0.4, judge_sd=0.5):
    """Comparisons: segments, judges, first and second system, preferences, order groups."""
    rng = np.random.default_rng(seed)
    g, j = rng.integers(0, n_segments, n), rng.integers(0, n_judges, n)
    a = rng.integers(0, n_systems, n)
    b = (a + rng.integers(1, n_systems, n)) % n_systems
    d = 0.5 * (b - a) + rng.normal(0, judge_sd, (n_judges, n_systems))[j, a] + order
    win, lose = np.exp(d / 2), np.exp(-d / 2)
    u = rng.random(n) * (win + lose + 0.6)
    y = np.where(u < win, 1.0, np.where(u < win + lose, 0.0, 0.5))
    return g, j, a, b, y, j % 2


def fit(rows, n_blocks=1, n_judges=None, n_systems=None, **how):
    g, j, a, b, y, o = (np.asarray(array) for array in rows)
    n_judges = int(j.max(initial=-1)) + 1 if n_judges is None else n_judges
    largest = max(a.max(initial=-1), b.max(initial=-1))
    n_systems = int(largest) + 1 if n_systems is None else n_systems
    blocks = []
    for part in np.array_split(np.unique(g), n_blocks):
        m = np.isin(g, part)
        segments = np.searchsorted(part, g[m])
        sizes = (part.size, n_judges, n_systems, int(o.max(initial=-1)) + 1)
        blocks.append(ComparisonBlock(segments, j[m], a[m], b[m], y[m], o[m], *sizes))
    return adjusted_comparisons(InMemoryBlocks(blocks), **how)


def log_posterior(free, rows, n_systems, has_ties, weights=1.0):
    _, _, a, b, y, o = rows
    strengths, orders, tie = free[:n_systems], free[n_systems:-1], free[-1]
    eta = strengths[a] - strengths[b] + np.append(orders, 0.0)[o]
    prior = STRENGTH_PRECISION * strengths @ strengths + WEAK_PRECISION * (orders @ orders)
    if not has_ties:
        return (weights * (y * eta - np.logaddexp(0, eta))).sum() - prior / 2
    total = np.logaddexp(np.logaddexp(eta / 2, -eta / 2), tie)
    chosen = np.where(y == 1, eta / 2, np.where(y == 0, -eta / 2, tie))
    return (weights * (chosen - total)).sum() - (prior + WEAK_PRECISION * tie**2) / 2


@pytest.mark.parametrize("has_ties", [True, False])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_fit_is_that_of_a_general_optimizer(has_ties, is_ordered):
    rows = list(draw(1))
    if not is_ordered:
        rows[5] = np.full(rows[5].size, -1)
    fitted = fit(rows, has_ties=has_ties)
    actual, weights = fitted.fit, weights_of_pairs(*rows[1:4], fitted)
    assert np.ptp(weights) > 0.05
    n_free = 4 + 2 * is_ordered + 1
    best = minimize(
        lambda free: -log_posterior(free, rows, 4, has_ties, weights), np.zeros(n_free), tol=1e-12
    ).x
    np.testing.assert_allclose(actual.strengths, best[:4], atol=1e-4)
    np.testing.assert_allclose(actual.order_effects, best[4:-1], atol=1e-4)
    if has_ties:
        assert actual.tie == pytest.approx(best[-1], abs=1e-4)
    else:
        assert np.isnan(actual.tie)


def test_order_effects_shrink_to_the_average_judges():
    """As if the average were a parameter with a prior of its own: by a general optimizer."""
    rows = draw(1, n=60)

    def loss(free: np.ndarray) -> float:
        own, average = free[4:6] - free[-1], free[-1]
        prior = (own @ own + average**2) / ORDER_SD**2 - WEAK_PRECISION * (free[4:6] @ free[4:6])
        return prior / 2 - log_posterior(free[:-1], rows, 4, has_ties=True)

    best = minimize(loss, np.zeros(8), tol=1e-12).x
    actual, alone = (fit(rows, shrinks_orders=shrinks).fit for shrinks in (True, False))
    np.testing.assert_allclose(actual.order_effects, best[4:6], atol=1e-4)
    np.testing.assert_allclose(actual.strengths, best[:4], atol=1e-4)
    assert np.ptp(actual.order_effects) < 0.9 * np.ptp(alone.order_effects)


def test_graded_preferences_are_half_way():
    """.75 is a win and a tie half each; two of it are a win more and one tie.

    With three judges, as weights by loads take scatter into account.
    """
    g, j, a, b, y, o = draw(2, n_judges=3)
    y = np.where(y == 0.5, 0.0, y)
    more = [np.append(array, [0, 0]) for array in (g, j, a)]
    b, o = np.append(b, [1, 1]), np.append(o, [0, 0])
    graded = fit((*more, b, np.append(y, [0.75, 0.75]), o))
    whole = fit((*more, b, np.append(y, [1.0, 0.5]), o), has_ties=False)
    np.testing.assert_allclose(graded.fit.strengths, whole.fit.strengths, atol=1e-9)


def test_variances_by_loops_over_clusters():
    """Half wins without order: scores are (y - p)(x_a - x_b); shares of a system's comparisons."""
    g, j, a, b, y, _ = draw(3, order=0.0, judge_sd=2.0)
    o = np.full(y.size, -1)
    actual = fit((g, j, a, b, y, o), has_ties=False)
    x = np.eye(4)[a] - np.eye(4)[b]
    p = 1 / (1 + np.exp(-x @ actual.fit.strengths))
    w = weights_of_pairs(j, a, b, actual)[:, None]
    information = x.T @ (x * w * (p * (1 - p))[:, None]) + STRENGTH_PRECISION * np.eye(4)
    inverse, scores = np.linalg.inv(information), x * w * (y - p)[:, None]
    counts = w * (np.eye(4)[a] + np.eye(4)[b])

    def sandwich(clusters, corrected):
        meat = np.zeros((4, 4))
        for c in np.unique(clusters):
            v = scores[clusters == c].sum(axis=0)
            if corrected:
                v = v / np.sqrt(1 - counts[clusters == c].sum(axis=0) / counts.sum(axis=0))
            meat += np.outer(v, v)
        return inverse @ meat @ inverse

    estimates = actual.estimates
    np.testing.assert_allclose(estimates.judges.covariance, sandwich(j, True), rtol=1e-6)
    np.testing.assert_allclose(estimates.segments.covariance, sandwich(g, True), rtol=1e-6)
    np.testing.assert_allclose(estimates.both, sandwich(g * 6 + j, False), rtol=1e-6)
    of_judges = actual.judge_ratio / (1 + actual.judge_ratio)
    assert of_judges == pytest.approx(within(j, counts, scores), rel=0.5)
    of_segments = within(g, counts, scores)
    for clusters, kind, correlation in (
        (j, estimates.judges, of_judges), (g, estimates.segments, of_segments)
    ):  # fmt: skip
        expected = working_freedom(clusters, counts, correlation)
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(kind.degrees_of_freedom[off], expected[off], rtol=1e-6)


def within(clusters, counts, residuals):
    """Correlation of weighted residuals of pairs of one cluster and system."""
    squares, n = (residuals**2).sum(), (counts**2).sum()
    n_pairs, of_pairs = -n, -squares
    for c in np.unique(clusters):
        n_pairs += (counts[clusters == c].sum(axis=0) ** 2).sum()
        of_pairs += (residuals[clusters == c].sum(axis=0) ** 2).sum()
    return float(np.clip(of_pairs / n_pairs / (squares / n), 0, 1))


def working_freedom(clusters, counts, correlation):
    """Satterthwaite over clusters: weighted judgments vary as q + (m^2 - q) correlation."""
    total = counts.sum(axis=0)
    v = []
    for c in np.unique(clusters):
        m, q = counts[clusters == c].sum(axis=0), (counts[clusters == c] ** 2).sum(axis=0)
        v.append((q + (m**2 - q) * correlation) / total**2)
    of_pair = np.array(v)[:, :, None] + np.array(v)[:, None, :]
    return of_pair.sum(axis=0) ** 2 / (of_pair**2).sum(axis=0) - 1


def test_the_information_with_ties_is_the_variance_of_scores():
    """Over the three outcomes of each comparison, by loops; segments one by one."""
    g, j, a, b, y, o = draw(8)
    g = np.arange(y.size)
    actual = fit((g, j, a, b, y, o))
    x = np.hstack([np.eye(4)[a] - np.eye(4)[b], np.eye(2)[o]])
    free = np.r_[actual.fit.strengths, actual.fit.order_effects]
    eta, nu = x @ free, np.exp(actual.fit.tie)
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), np.full(y.size, nu)], axis=1)
    chance = weights / weights.sum(axis=1, keepdims=True)
    mean, tie = chance @ np.array([1.0, 0.0, 0.5]), chance[:, 2]
    w = weights_of_pairs(j, a, b, actual)[:, None]
    information = np.diag(np.r_[np.full(4, STRENGTH_PRECISION), np.full(3, WEAK_PRECISION)])
    for outcome, (value, is_tie) in enumerate(((1.0, 0.0), (0.0, 0.0), (0.5, 1.0))):
        score = np.hstack([x * (value - mean)[:, None], (is_tie - tie)[:, None]])
        information += score.T @ (w * score * chance[:, [outcome]])
    inverse = np.linalg.inv(information)
    score = w * np.hstack([x * (y - mean)[:, None], ((y == 0.5) - tie)[:, None]])
    expected = (inverse @ score.T @ score @ inverse)[:4, :4]
    np.testing.assert_allclose(actual.estimates.both, expected, rtol=1e-6)


def test_what_does_not_matter():
    rows = draw(4)
    whole = compare_estimates(fit(rows).estimates)
    order = np.random.default_rng(0).permutation(rows[0].size)
    for other in (
        fit([array[order] for array in rows]),
        fit((14 - rows[0], 5 - rows[1], *rows[2:])),
        fit(rows, n_blocks=5),
        fit(rows, n_judges=9),
    ):
        again = compare_estimates(other.estimates)
        np.testing.assert_allclose(again.difference, whole.difference, atol=1e-9)
        np.testing.assert_allclose(again.error, whole.error, rtol=1e-8)
        np.testing.assert_allclose(again.p_value, whole.p_value, rtol=1e-6)


def test_who_is_shown_first_is_no_strength():
    """Better systems are shown first and gain by it: without the order they seem better yet."""
    rng = np.random.default_rng(5)
    n = 4000
    a = rng.integers(0, 3, n)
    b = rng.integers(a + 1, 4)
    d = 0.3 * (b - a) + 0.8
    y = (rng.random(n) < 1 / (1 + np.exp(-d))).astype(np.float64)
    g, j = rng.integers(0, 50, n), rng.integers(0, 12, n)
    known = fit((g, j, a, b, y, np.zeros(n, np.int64)))
    unknown = fit((g, j, a, b, y, np.full(n, -1)))
    gaps = [f.fit.strengths[0] - f.fit.strengths[3] for f in (known, unknown)]
    assert gaps[0] == pytest.approx(0.9, abs=0.25)
    assert gaps[1] > gaps[0] + 0.3
    assert known.fit.order_effects[0] == pytest.approx(0.8, abs=0.15)


def test_a_system_that_never_lost_has_an_order_and_no_test():
    g, j, a, b, y, o = draw(6)
    won = np.where(b == 3, 0.0, np.where(a == 3, 1.0, y))
    actual = fit((g, j, a, b, won, o))
    compared = compare_estimates(actual.estimates)
    assert (compared.reason[3, :3] == NOT_CONNECTED).all()
    assert (compared.reason[0, 1:3] == TESTED).all()


def test_signs_of_judges_where_one_system_never_lost():
    """System 2 never lost: five judges prefer it, one has ties alone, one compared the others."""
    rows = [(j, 2, j % 2, 1.0) for j in range(5)] + [(0, 0, 2, 0.0), (5, 2, 0, 0.5)]
    rows += [(6, 0, 1, 1.0), (6, 1, 0, 1.0)]
    j, a, b, y = (np.array(column) for column in zip(*rows, strict=True))
    o = np.full(y.size, -1)
    component = np.array([0, 0, 1])
    sizes = (7, 3, 0)
    for n_blocks in (1, 3):
        parts = np.array_split(np.arange(y.size), n_blocks)
        blocks = [
            ComparisonBlock(np.arange(m.size), j[m], a[m], b[m], y[m], o[m], m.size, *sizes)
            for m in parts
        ]
        actual = sign_tests(InMemoryBlocks(blocks), component)
        assert (actual.better.tolist(), actual.worse.tolist()) == ([1], [0])
        assert (actual.n_judges.tolist(), actual.n_for.tolist()) == ([5], [5])
        assert actual.p_value[0] == pytest.approx(0.5**5)
    none = sign_tests(InMemoryBlocks(blocks), np.zeros(3, np.int64))
    assert none.better.size == 0


ROWS = np.arange(12)
CYCLE = (ROWS % 4, ROWS % 6, ROWS % 3, (ROWS + 1) % 3, np.ones(12), np.full(12, -1))
ODD = {
    "ties only": (*CYCLE[:4], np.full(12, 0.5), CYCLE[5]),
    "a cycle of equal wins": CYCLE,
    "one judge": (CYCLE[0], np.zeros(12, int), *CYCLE[2:]),
    "one segment": (np.zeros(12, int), *CYCLE[1:]),
    "one comparison": tuple(array[:1] for array in CYCLE),
    "nothing": tuple(array[:0] for array in CYCLE),
    "two parts": (ROWS % 4, ROWS % 6, ROWS % 2 * 2, ROWS % 2 * 2 + 1, ROWS % 3 / 2, CYCLE[5]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("has_ties", [True, False])
@pytest.mark.parametrize("name", ODD)
def test_odd_comparisons(name, has_ties):
    actual = fit(ODD[name], has_ties=has_ties)
    compared = compare_estimates(actual.estimates)
    tested = compared.reason == TESTED
    assert np.isfinite(compared.p_value[tested]).all()
    assert not compared.beats.any()
    if name in ("ties only", "a cycle of equal wins"):
        np.testing.assert_allclose(actual.fit.strengths, 0, atol=1e-9)
    if name == "two parts":
        assert (compared.reason[:2, 2:] == NOT_CONNECTED).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_many_systems_with_three_comparisons_each():
    rng = np.random.default_rng(7)
    a = np.repeat(np.arange(500), 3)
    b = (a + rng.integers(1, 500, a.size)) % 500
    rows = (rng.integers(0, 300, a.size), rng.integers(0, 20, a.size), a, b,
            rng.choice([0, 0.5, 1], a.size), np.zeros(a.size, np.int64))  # fmt: skip
    compared = compare_estimates(fit(rows).estimates)
    assert not compared.beats.any()
    assert np.isfinite(compared.p_value[compared.reason == TESTED]).all()
