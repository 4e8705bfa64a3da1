"""Preference for longer texts: an optimiser, recovery and coverage, degenerate input."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from annot_pipeline.methods.model_judges.judge_coefficients import fit_judges
from annot_pipeline.methods.model_judges.length_preference import (
    ALWAYS_ONE,
    BY_SYSTEM,
    FEW_CLUSTERS,
    NO_LENGTHS,
    NO_VARIATION,
    TOO_FEW,
    prepare_length_preference,
)
from annot_pipeline.methods.rankings.comparison_fit import STRENGTH_PRECISION, WEAK_PRECISION


def arena(rng, coefficient, n=800, n_systems=6):
    """Better systems write longer texts; two comparisons a question."""
    strengths = rng.normal(0, 1, n_systems)
    first = rng.integers(0, n_systems, n)
    second = (first + rng.integers(1, n_systems, n)) % n_systems
    pairs = np.stack([first, second], axis=1)
    lengths = np.ceil(np.exp(5 + 0.5 * strengths[pairs] + rng.normal(0, 0.5, pairs.shape)))
    ratio = np.log(lengths[:, 0] / lengths[:, 1])
    chance = expit(strengths[first] - strengths[second] + coefficient * ratio)
    outcomes = (rng.random(n) < chance).astype(float)
    return lengths[:, 0], lengths[:, 1], outcomes, np.arange(n) // 2, (first, second)


def length_preference(*data, systems=None):
    """Return the estimate of one judge, and the share of longer texts that won."""
    first, second, outcomes, clusters = data
    longer_share, asked = prepare_length_preference(
        np.array(first, float), np.array(second, float), np.array(outcomes, float),
        np.array(clusters, int), systems,
    )  # fmt: skip
    return SimpleNamespace(effect=fit_judges([asked])[0], longer_share=longer_share)


def test_as_an_optimiser_finds_it():
    first, second, outcomes, clusters, systems = arena(np.random.default_rng(1), 0.7, n=300)
    outcomes[:60] = 0.5
    result = length_preference(first, second, outcomes, clusters, systems=systems)
    ratio = np.log(first / second)

    def loss(x):
        odds = x[systems[0]] - x[systems[1]] + x[6] * ratio
        prior = STRENGTH_PRECISION * (x[:6] ** 2).sum() / 2 + WEAK_PRECISION * x[6] ** 2 / 2
        return np.logaddexp(0, odds).sum() - (outcomes * odds).sum() + prior

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-7}).x
    assert result.effect.value == pytest.approx(best[6], abs=1e-5)


def test_without_systems_the_sandwich_by_hand():
    """One coefficient: sum of squared sums of scores of questions, over information squared."""
    first, second, outcomes, clusters, _ = arena(np.random.default_rng(2), 0.7, n=200)
    result = length_preference(first, second, outcomes, clusters)
    ratio = np.log(first / second)
    chance = expit(result.effect.value * ratio)
    assert (ratio * (outcomes - chance)).sum() == pytest.approx(0, abs=1e-4)
    sums = np.bincount(clusters, ratio * (outcomes - chance))
    information = (ratio**2 * chance * (1 - chance)).sum()
    variance = (sums**2).sum() / information**2 * 100 / 99
    assert result.effect.standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)
    assert result.effect.degrees_of_freedom == 99
    longer = (outcomes == 1) == (ratio > 0)
    assert result.longer_share == longer[ratio != 0].mean()


@pytest.mark.parametrize("coefficient", [pytest.param(0.0, marks=pytest.mark.slow), 0.8])
def test_intervals_cover(coefficient):
    rng = np.random.default_rng(3)
    repeats, covered, values, without = 200, 0, [], []
    for n in range(repeats):
        *data, systems = arena(rng, coefficient)
        result = length_preference(*data, systems=systems)
        low, high = result.effect.interval()
        covered += low <= coefficient <= high
        values.append(result.effect.value)
        if n < 40:
            without.append(length_preference(*data).effect.value)
    assert 0.92 < covered / repeats < 0.985
    assert np.mean(values) == pytest.approx(coefficient, abs=0.03)
    assert np.mean(without) > coefficient + 0.3, "better systems write longer texts"


def test_neither_order_nor_units_count():
    rng = np.random.default_rng(4)
    first, second, outcomes, clusters, systems = arena(rng, 0.5)
    result = length_preference(first, second, outcomes, clusters, systems=systems)
    order = rng.permutation(first.size)
    moved = length_preference(
        7 * first[order], 7 * second[order], outcomes[order], clusters[order] + 3,
        systems=tuple(5 * codes[order] + 1 for codes in systems),
    )  # fmt: skip
    turned = length_preference(second, first, 1 - outcomes, clusters, systems=systems[::-1])
    for other in (moved, turned):
        assert other.effect.value == pytest.approx(result.effect.value, abs=1e-8)
        assert other.effect.standard_error == pytest.approx(result.effect.standard_error)
        assert other.longer_share == result.longer_share
    unknown = length_preference(
        np.append(first, [np.nan, 5, 0]), np.append(second, [5, np.nan, 9]),
        np.append(outcomes, [1, 1, 1]), np.append(clusters, [0, 0, 0]),
        systems=tuple(np.append(codes, [0, 1, 0]) for codes in systems),
    )  # fmt: skip
    assert unknown.effect == result.effect
    assert unknown.longer_share == result.longer_share


def test_reasons():
    first, second, outcomes, clusters, systems = arena(np.random.default_rng(5), 0.5, n=60)

    def reason(first, second, outcomes, clusters, **options):
        result = length_preference(first, second, outcomes, clusters, **options)
        assert np.isnan(result.effect.value)
        return result.effect.reason

    nothing = np.full(60, np.nan)
    assert reason([], [], [], []) == NO_LENGTHS
    assert reason(nothing, second, outcomes, clusters) == NO_LENGTHS
    few = [column[:19] for column in (first, second, outcomes, clusters)]
    assert reason(*few) == TOO_FEW
    assert reason(first, first, outcomes, clusters) == NO_VARIATION
    by_system = np.array([10.0, 20, 30, 40, 50, 60])
    one, other = (by_system[codes] for codes in systems)
    assert reason(one, other, outcomes, clusters, systems=systems) == BY_SYSTEM
    assert length_preference(one, other, outcomes, clusters).effect.reason is None
    assert reason(first, second, outcomes, clusters % 3) == FEW_CLUSTERS
    always = (first > second).astype(float)
    assert reason(first, second, always, clusters, systems=systems) == ALWAYS_ONE
    assert length_preference(first, second, always, clusters).longer_share > 0.99
    ties = length_preference(first, second, np.full(60, 0.5), clusters)
    assert ties.effect.value == pytest.approx(0)
    assert np.isnan(ties.longer_share)
