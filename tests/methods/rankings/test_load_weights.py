"""Judges with unequal loads: weights by hand, their variance by a search, widths by REML."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t as student

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import JudgeLoads, load_weights
from tests.methods.rankings.mixed_models import pair_widths, score_widths

K = 6
PAIRS = np.triu_indices(K, 1)


def loads_of(j, s, y):
    shape = (int(j.max()) + 1, int(s.max()) + 1)
    cells = j * shape[1] + s
    sums, counts = (np.bincount(cells, w, shape[0] * shape[1]).reshape(shape) for w in (y, None))
    return JudgeLoads(sums, counts.astype(float), float(y @ y))


def uneven(seed, n=400, n_judges=8, n_systems=4):
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n_judges + 1)
    j, s = rng.choice(n_judges, n, p=share / share.sum()), rng.integers(0, n_systems, n)
    y = rng.normal(0, 12, n_judges)[j] + rng.normal(0, 4, (n_judges, n_systems))[j, s]
    return j, s, y + 3.0 * s + rng.normal(0, 10, n)


def test_the_mean_of_n_judgments_weighs_by_the_inverse_of_its_variance():
    """Taste 9, noise 100: means of 1, 4, 10 and 100 judgments vary by 109, 34, 19 and 10."""
    counts = np.array([[1.0, 4, 10, 100, 0]])
    of_means = (load_weights(counts, 9 / 100) * counts)[0, :4]
    np.testing.assert_allclose(of_means / of_means[0], 109 / np.array([109, 34, 19, 10]))
    assert (counts / load_weights(counts, 0.09)).sum() == pytest.approx(115)
    np.testing.assert_array_equal(load_weights(counts, 0.0), 1)
    np.testing.assert_allclose(load_weights(np.full((3, 2), 7.0), 0.5), 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_variance_makes_weighted_squares_their_degrees_of_freedom(seed):
    """Means of cells regressed on judges and systems, by dense least squares and a search."""
    j, s, y = uneven(seed)
    loads = loads_of(j, s, y)
    has_cell = loads.counts > 0
    judge, system = np.nonzero(has_cell)
    n = loads.counts[has_cell]
    mean = loads.sums[has_cell] / n
    noise = (y @ y - (n * mean**2).sum()) / (y.size - n.size)
    x = np.hstack([np.eye(8)[judge], np.eye(4)[system]])

    def excess(variance):
        root = 1 / np.sqrt(variance + noise / n)
        fit = np.linalg.lstsq(x * root[:, None], mean * root, rcond=None)[0]
        return ((root * (mean - x @ fit)) ** 2).sum() - (n.size - 8 - 3)

    expected = brentq(excess, 0, 1e4) / noise
    actual = loads.ratio(np.zeros(4, np.int64), has_levels=True)
    assert actual == pytest.approx(expected, rel=1e-4)


def test_without_a_taste_or_repeats_the_variance_is_0():
    component = np.zeros(4, np.int64)
    j, s, y = uneven(5)
    y[np.lexsort((s, j))] = np.arange(y.size) % 2  # means of cells vary less than by chance
    assert loads_of(j, s, y).ratio(component, has_levels=True) == 0
    one_each = np.indices((5, 4)).reshape(2, -1)
    rng = np.random.default_rng(0)
    assert loads_of(*one_each, rng.normal(0, 1, 20)).ratio(component, has_levels=True) == 0
    lone = np.zeros(9, np.int64), np.arange(9) % 4, rng.normal(0, 1, 9)
    assert loads_of(*lone).ratio(component, has_levels=True) == 0


def score_rows(rng, loads):
    """Judges who score all systems on segments of their own; 4 points of taste, noise of 15."""
    n = np.asarray(loads)
    j = np.repeat(np.arange(n.size), n * K)
    s, g = np.arange(j.size) % K, np.arange(j.size) // K
    y = 2.0 * s + rng.normal(0, 15, n.size)[j] + rng.normal(0, 15, j.size)
    return g, j, s, y + rng.normal(0, 4, (n.size, K))[j, s]


def compare_scores(g, j, s, y):
    sizes = (int(g.max()) + 1, int(j.max()) + 1, K)
    block = ScoreBlock.from_rows(g, j, s, y, sizes)
    return compare_estimates(adjusted_scores(InMemoryBlocks([block])).estimates)


def test_equal_loads_give_the_paired_t_interval_of_judges():
    """Twelve judges with 20 segments each: a difference is a mean over judges of their own."""
    g, j, s, y = score_rows(np.random.default_rng(1), [20] * 12)
    actual = compare_scores(g, j, s, y)
    own = np.bincount(j * K + s, y).reshape(12, K) / 20
    gap = own[:, :1] - own[:, 1:]
    half = student.ppf(0.975, 11) * gap.std(axis=0, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(actual.difference[0, 1:], gap.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(((actual.high - actual.low) / 2)[0, 1:], half, rtol=0.08)


HEAVY = [110, *[10] * 11]
"""Judges of whom one has half of all scores."""


def check_widths(halves, errors, mixed, n):
    """Means over replications: widths at most 1.25 of REML's, coverage within chance of .95."""
    assert not np.isnan(halves).any()
    assert np.mean(halves) < 1.25 * np.mean(mixed)
    assert np.mean(halves) > 0.9 * np.mean(mixed)
    slack = 0.25 / np.sqrt(n)  # differences of one replication share systems
    assert 0.94 - slack < np.mean(np.abs(errors) <= halves) < 0.96 + slack


def measure_scores(loads, replications, seed):
    rng, halves, errors, mixed = np.random.default_rng(seed), [], [], []
    for _ in range(replications):
        g, j, s, y = score_rows(rng, loads)
        actual = compare_scores(g, j, s, y)
        halves.append(((actual.high - actual.low) / 2)[PAIRS])
        errors.append((actual.difference - 2.0 * (np.arange(K)[:, None] - np.arange(K)))[PAIRS])
        mixed.append(score_widths(j, s, y)[PAIRS])
    check_widths(np.array(halves), np.array(errors), mixed, replications)


def test_a_judge_with_half_of_the_scores_leaves_intervals_of_a_mixed_models_width():
    measure_scores(HEAVY, 30, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "loads", [[30, 10, 10, 10], [50, *[10] * 5], HEAVY, [390, *[10] * 39]], ids=len
)
def test_intervals_of_scores_by_judges_with_unequal_loads(loads):
    measure_scores(loads, 300, 3)


def measure_pairs(loads, replications, seed):
    rng, halves, gaps, mixed, ratios = np.random.default_rng(seed), [], [], [], []
    j = np.repeat(np.arange(len(loads)), loads)
    strengths = np.linspace(0.5, -0.5, K)
    for _ in range(replications):
        a = rng.integers(0, K, j.size)
        b = (a + rng.integers(1, K, j.size)) % K
        taste = strengths + rng.normal(0, 0.5, (len(loads), K))
        y = (rng.random(j.size) < 1 / (1 + np.exp(taste[j, b] - taste[j, a]))).astype(float)
        rows = (np.arange(j.size), j, a, b, y, np.full(j.size, -1), j.size, len(loads), K, 0)
        fitted = adjusted_comparisons(InMemoryBlocks([ComparisonBlock(*rows)]))
        actual = compare_estimates(fitted.estimates)
        ratios.append(fitted.judge_ratio)
        halves.append(((actual.high - actual.low) / 2)[PAIRS])
        gaps.append(actual.difference[PAIRS])
        mixed.append(pair_widths(j, a, b, y)[PAIRS])
    truth = (strengths[:, None] - strengths)[PAIRS]
    slope = np.mean(gaps, axis=0) @ truth / (truth @ truth)  # tastes are averaged over
    # p (1 - p) times the variance of tastes, of which one of K is lost to the others
    assert np.mean(ratios) == pytest.approx(0.24 * 0.25 * K / (K - 1), rel=0.35)
    check_widths(np.array(halves), np.array(gaps) - slope * truth, mixed, replications)


def test_comparisons_by_zipf_leave_intervals_of_a_mixed_models_width():
    measure_pairs(zipf(12, 600), 12, 4)


def zipf(n_judges, n):
    share = 1 / np.arange(1, n_judges + 1)
    return np.maximum(n * share / share.sum(), 2).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("n_judges", [6, 12, 40])
def test_intervals_of_comparisons_by_judges_with_unequal_loads(n_judges):
    measure_pairs(zipf(n_judges, 1200), 150, 5)
