"""Covariates of comparisons: a general optimiser, blocks, units, recovery and coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.comparison_fit import (
    STRENGTH_PRECISION,
    WEAK_PRECISION,
    varies_within_systems,
)
from annot_pipeline.methods.rankings.inference import compare_estimates

TRUTH = np.array([0.6, 0.2, 0.0, -0.3, -0.5])


def draw(seed, n=600, n_judges=12, n_segments=60, coefficient=0.8, judge_sd=0.0, order=0.4):
    """Weak systems write longer texts, which judges favour."""
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    segments, judges = rng.integers(0, n_segments, n), rng.integers(0, n_judges, n)
    first = rng.integers(0, 5, n)
    second = (first + rng.integers(1, 5, n)) % 5
    length = rng.normal(0, 0.5, n) - 1.5 * (TRUTH[first] - TRUTH[second])
    taste = rng.normal(0, judge_sd, (n_judges, 5))
    odds = TRUTH[first] - TRUTH[second] + coefficient * length + order
    odds += taste[judges, first] - taste[judges, second]
    weights = np.exp(np.stack([odds / 2, np.full(n, -0.7), -odds / 2]))
    below = np.cumsum(weights / weights.sum(axis=0), axis=0)
    preferences = (2 - (rng.random(n) > below[:2]).sum(axis=0)) / 2
    return ComparisonBlock(
        segments, judges, first, second, preferences, judges % 2, n_segments, n_judges, 5, 2,
        covariates=length[:, None],
    )  # fmt: skip


def fit(*blocks, **options):
    return adjusted_comparisons(InMemoryBlocks(list(blocks)), **options)


@pytest.mark.parametrize("has_ties", [True, False])
@pytest.mark.parametrize("virtual", [0.0, 0.5])
def test_the_fit_is_that_of_a_general_optimiser(has_ties, virtual):
    block = draw(1)
    block = replace(block, covariates=np.append(block.covariates, block.covariates**2, axis=1))
    result = fit(block, has_ties=has_ties, virtual=virtual).fit

    def loss(x):
        strengths, orders, coefficients, tie = x[:5], x[5:7], x[7:9], x[9]
        odds = strengths[block.first] - strengths[block.second] + orders[block.orders]
        odds = odds + block.covariates @ coefficients
        pairs = strengths[:, None] - strengths

        def log_chances(odds):
            total = np.logaddexp(odds / 2, -odds / 2)
            return total if not has_ties else np.logaddexp(total, tie)

        chosen = (2 * block.preferences - 1) * odds / 2
        if has_ties:
            chosen = np.where(block.preferences == 0.5, tie, chosen)
        prior = STRENGTH_PRECISION * strengths @ strengths + WEAK_PRECISION * (x[5:9] @ x[5:9])
        prior += WEAK_PRECISION * tie**2 if has_ties else tie**2
        added = virtual * log_chances(pairs)[np.triu_indices(5, 1)].sum()
        return (log_chances(odds) - chosen).sum() + added + prior / 2

    best = minimize(loss, np.zeros(10), tol=1e-12).x
    np.testing.assert_allclose(result.strengths, best[:5], atol=1e-4)
    np.testing.assert_allclose(result.order_effects, best[5:7], atol=1e-4)
    np.testing.assert_allclose(result.coefficients, best[7:9], atol=1e-4)


def test_blocks_have_the_sums_of_one():
    block = draw(2)
    names = ("judges", "first", "second", "preferences", "orders", "covariates")
    parts = []
    for low, high in ((0, 20), (20, 60)):
        rows = (block.segments >= low) & (block.segments < high)
        values = {name: getattr(block, name)[rows] for name in names}
        parts.append(
            replace(block, segments=block.segments[rows] - low, n_segments=high - low, **values)
        )
    one, two = fit(block), fit(*parts)
    for name in ("strengths", "order_effects", "coefficients", "order_errors",
                 "coefficient_errors"):  # fmt: skip
        np.testing.assert_allclose(getattr(two.fit, name), getattr(one.fit, name), rtol=1e-8)
    both = [compare_estimates(result.estimates) for result in (one, two)]
    np.testing.assert_allclose(both[1].error, both[0].error, rtol=1e-8)


def test_units_and_useless_covariates():
    block = draw(3)
    result, scaled = fit(block), fit(replace(block, covariates=block.covariates * 10))
    assert scaled.fit.coefficients * 10 == pytest.approx(result.fit.coefficients, rel=1e-5)
    assert scaled.fit.coefficient_errors * 10 == pytest.approx(result.fit.coefficient_errors)
    np.testing.assert_allclose(scaled.fit.strengths, result.fit.strengths, atol=1e-5)
    without = fit(replace(block, covariates=None))
    nothing = fit(replace(block, covariates=np.zeros((block.first.size, 1))))
    assert nothing.fit.coefficients == pytest.approx(0)
    np.testing.assert_allclose(nothing.fit.strengths, without.fit.strengths, atol=1e-8)
    np.testing.assert_allclose(nothing.fit.order_errors, without.fit.order_errors, rtol=1e-6)
    errors = [compare_estimates(one.estimates).error for one in (nothing, without)]
    np.testing.assert_allclose(*errors, rtol=1e-6)
    assert without.fit.coefficients.size == without.fit.coefficient_errors.size == 0


@pytest.mark.parametrize(
    ("n_judges", "judge_sd"), [(12, 0.0), pytest.param(20, 0.5, marks=pytest.mark.slow)]
)
def test_intervals_cover(n_judges, judge_sd):
    rng = np.random.default_rng(4)
    repeats, covered, naive = 120, np.zeros(3), 0
    differences = TRUTH[:, None] - TRUTH
    pairs = ~np.eye(5, dtype=bool)
    for _ in range(repeats):
        block = draw(rng, n_judges=n_judges, judge_sd=judge_sd)
        result = fit(block)
        inference = compare_estimates(result.estimates)
        inside = (inference.low <= differences) & (differences <= inference.high)
        half = 2.1 * np.append(result.fit.coefficient_errors, result.fit.order_errors[0])
        errors = np.append(result.fit.coefficients - 0.8, result.fit.order_effects[0] - 0.4)
        covered += np.append(inside[pairs].mean(), np.abs(errors) <= half)
        plain = compare_estimates(fit(replace(block, covariates=None)).estimates)
        naive += ((plain.low <= differences) & (differences <= plain.high))[pairs].mean()
    assert (covered / repeats > 0.9).all(), covered / repeats
    assert (covered / repeats <= 0.995).all(), covered / repeats
    assert naive / repeats < 0.5, "weak systems write longer texts"


def test_differences_of_systems_alone_tell_of_no_coefficient():
    block = draw(5)
    lengths = np.array([1.0, 4, 2, 7, 3])
    by_system = lengths[block.first] - lengths[block.second]
    assert not varies_within_systems(by_system, block.first, block.second)
    assert not varies_within_systems(np.zeros(600), block.first, block.second)
    own = by_system + np.random.default_rng(1).normal(0, 0.5, 600)
    assert varies_within_systems(own, block.first, block.second)
