"""Order effects of one judge: by hand, an optimiser, recovery and coverage, degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.model_judges.judge_coefficients import fit_judges
from annot_pipeline.methods.model_judges.order_effect import (
    ALWAYS_ONE,
    FEW_CLUSTERS,
    NO_COMPARISON,
    ONE_ORDER,
    prepare_order_effect,
)


def order_effect(first, second, outcomes, clusters, *, strengths="systems"):
    """Return the estimate of one judge."""
    prepared = prepare_order_effect(
        np.array(first, int), np.array(second, int), np.array(outcomes, float),
        np.array(clusters, int), strengths=strengths,
    )  # fmt: skip
    return fit_judges([prepared])[0]


def davidson(rng, log_odds, tie):
    """Outcomes 1, 0.5, 0 of comparisons."""
    weights = np.exp(np.stack([log_odds / 2, np.full(log_odds.size, tie), -log_odds / 2]))
    below = np.cumsum(weights / weights.sum(axis=0), axis=0)
    return (2 - (rng.random(log_odds.size) > below[:2]).sum(axis=0)) / 2


def arena(rng, effect, n=600, n_systems=6, tie=-0.5):
    """Systems that change places, two comparisons a question."""
    strengths = rng.normal(0, 1, n_systems)
    pairs = np.array([rng.choice(n_systems, 2, replace=False) for _ in range(n)])
    first, second = pairs.T
    outcomes = davidson(rng, strengths[first] - strengths[second] + effect, tie)
    return first, second, outcomes, np.arange(n) // 2


def pairs_of_items(rng, effect, n_pairs=200, tie=-0.5, spread=1.5):
    """Each pair of items judged once in each order."""
    better = rng.normal(0, spread, n_pairs)
    first = np.concatenate([2 * np.arange(n_pairs), 2 * np.arange(n_pairs) + 1])
    second = np.concatenate([2 * np.arange(n_pairs) + 1, 2 * np.arange(n_pairs)])
    log_odds = np.concatenate([better, -better]) + effect
    return first, second, davidson(rng, log_odds, tie), np.tile(np.arange(n_pairs), 2)


def both(outcome_pairs):
    """Pairs of items with outcomes of either order, as of what was shown first."""
    n = len(outcome_pairs)
    one, other = np.array(outcome_pairs, float).T
    zero, item = np.zeros(n, int), np.arange(n)
    return (
        np.append(zero, zero + 1), np.append(zero + 1, zero), np.append(one, other),
        np.tile(item, 2),
    )  # fmt: skip


def test_pairs_by_hand():
    """6 pairs whose first wins in both orders, 2 whose second does, 4 with one winner.

    Odds 3 of two effects: log(3) / 2. The variance of log(6/2) / 2 is (1/6 + 1/2) / 4 without the
    correction 8 / 7.
    """
    result = order_effect(
        *both([(1, 1)] * 6 + [(0, 0)] * 2 + [(1, 0)] * 3 + [(0, 1)]), strengths="items"
    )
    assert result.value == pytest.approx(np.log(3) / 2)
    assert result.standard_error == pytest.approx(np.sqrt((1 / 6 + 1 / 2) / 4 * 8 / 7))
    assert result.degrees_of_freedom == 7


def test_one_tie_by_hand():
    """Beside one tie, 5 pairs favour what is first and 2 what is second: log(5 / 2)."""
    result = order_effect(
        *both([(1, 0.5)] * 3 + [(0.5, 1)] * 2 + [(0, 0.5)] * 2), strengths="items"
    )
    assert result.value == pytest.approx(np.log(5 / 2))


def test_repeats_by_hand():
    """One pair with two answers in each order, all for the first: 2 x 2 combinations count as 2.

    The others: one for the first, and two for the second: 3 to 2. With three answers in one order
    and one in the other, three combinations count as 1.
    """
    first, second, outcomes, clusters = both([(1, 1), (0, 0), (0, 0), (1, 1)])
    repeated = [np.append(column, column[[0, 4]]) for column in (first, second, outcomes, clusters)]
    result = order_effect(*repeated, strengths="items")
    assert result.value == pytest.approx(np.log(3 / 2) / 2)
    more = [np.append(column, column[[0, 0]]) for column in (first, second, outcomes, clusters)]
    assert order_effect(*more, strengths="items").value == pytest.approx(0)


def negative_log_chance(x, a, b):
    """Of outcomes a and b of the first item in two orders, given their sum."""
    ways = [(y, z) for y in (-1, 0, 1) for z in (-1, 0, 1) if y + z == a + b]
    logs = [(y - z) * x[0] / 2 + x[1] * [y, z].count(0) for y, z in ways]
    return np.logaddexp.reduce(logs) - (a - b) * x[0] / 2 - x[1] * [a, b].count(0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pairs_have_the_conditional_likelihood_of_an_optimiser(seed):
    first, second, outcomes, clusters = pairs_of_items(np.random.default_rng(seed), 0.7)
    result = order_effect(first, second, outcomes, clusters, strengths="items")
    pairs = list(zip((2 * outcomes - 1)[:200], 1 - 2 * outcomes[200:], strict=True))

    def losses(x):
        by_pair = {pair: negative_log_chance(x, *pair) for pair in set(pairs)}
        return np.array([by_pair[pair] for pair in pairs])

    best = minimize(lambda x: losses(x).sum(), np.zeros(2), method="BFGS").x
    assert result.value == pytest.approx(best[0], abs=1e-4)
    step = 1e-4
    ends = [(best + step * e, best - step * e) for e in np.eye(2)]
    scores = np.stack([(losses(up) - losses(down)) / (2 * step) for up, down in ends])
    information = np.array([
        [
            sum(
                sign * losses(best + step * (a * e + b * f)).sum()
                for a, b, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
            ) / (4 * step**2)
            for f in np.eye(2)
        ]
        for e in np.eye(2)
    ])  # fmt: skip
    inverse = np.linalg.inv(information)
    n = sum(a + b not in (-2, 2) for a, b in pairs)
    variance = (inverse @ scores @ scores.T @ inverse)[0, 0] * n / (n - 1)
    assert result.standard_error == pytest.approx(np.sqrt(variance), rel=1e-3)
    assert result.degrees_of_freedom == n - 1


def test_effects_of_items_are_not_doubled():
    first, second, outcomes, clusters = pairs_of_items(
        np.random.default_rng(4), 0.5, n_pairs=20_000
    )
    result = order_effect(first, second, outcomes, clusters, strengths="items")
    assert result.value == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(("effect", "tie"), [(0.0, -0.5), (0.8, 0.3), (-0.5, -20.0)])
@pytest.mark.slow
@pytest.mark.parametrize("strengths", ["systems", "items"])
def test_intervals_cover(strengths, effect, tie):
    rng = np.random.default_rng(5)
    simulate = arena if strengths == "systems" else pairs_of_items
    repeats, covered, values = 250, 0, []
    for _ in range(repeats):
        result = order_effect(*simulate(rng, effect, tie=tie), strengths=strengths)
        low, high = result.interval()
        covered += low <= effect <= high
        values.append(result.value)
    assert 0.92 < covered / repeats < 0.985
    assert np.mean(values) == pytest.approx(effect, abs=0.05)


@pytest.mark.parametrize("strengths", ["systems", "items"])
def test_neither_order_nor_codes_count(strengths):
    rng = np.random.default_rng(6)
    data = arena(rng, 0.5) if strengths == "systems" else pairs_of_items(rng, 0.5)
    first, second, outcomes, clusters = data
    result = order_effect(first, second, outcomes, clusters, strengths=strengths)
    order, codes = rng.permutation(first.size), rng.permutation(int(first.max()) + 1) * 3 + 1
    moved = order_effect(
        codes[first[order]], codes[second[order]], outcomes[order], clusters[order] * 5 + 9,
        strengths=strengths,
    )  # fmt: skip
    assert moved.value == pytest.approx(result.value, abs=1e-8)
    assert moved.standard_error == pytest.approx(result.standard_error, rel=1e-8)
    # what was shown second counts as shown first
    turned = order_effect(second, first, 1 - outcomes, clusters, strengths=strengths)
    assert turned.value == pytest.approx(-result.value, abs=1e-8)


def test_questions_twice_over_have_the_errors_of_once():
    """Repeated answers of a question tell nothing new, up to the correction of clusters' shares."""
    data = pairs_of_items(np.random.default_rng(7), 0.5)
    once = order_effect(*data, strengths="items")
    twice = order_effect(*(np.tile(column, 2) for column in data), strengths="items")
    assert twice.value == pytest.approx(once.value)
    assert twice.standard_error == pytest.approx(once.standard_error)
    data = arena(np.random.default_rng(7), 0.5)
    once, twice = order_effect(*data), order_effect(*(np.tile(column, 2) for column in data))
    assert twice.standard_error == pytest.approx(once.standard_error, rel=0.02)


def test_a_better_system_in_front_is_no_order_effect():
    rng = np.random.default_rng(8)
    first, second, outcomes, clusters = arena(rng, 0.0, n=4000)
    strong = np.argsort(np.bincount(first, outcomes) / np.bincount(first))[-2:]
    is_strong = np.isin(first, strong) | (rng.random(first.size) < 0.3)
    first, second, outcomes, clusters = (
        column[is_strong] for column in (first, second, outcomes, clusters)
    )
    result = order_effect(first, second, outcomes, clusters)
    assert outcomes[outcomes != 0.5].mean() > 0.57
    assert abs(result.value) < 3 * result.standard_error < 0.4


def test_reasons():
    empty = order_effect([], [], [], [])
    assert empty.reason == NO_COMPARISON
    rng = np.random.default_rng(9)
    outcomes = rng.integers(0, 2, 50).astype(float)
    one_way = order_effect(np.zeros(50, int), np.ones(50, int), outcomes, np.arange(50))
    assert one_way.reason == ONE_ORDER
    alone = order_effect(
        2 * np.arange(50), 2 * np.arange(50) + 1, outcomes, np.arange(50), strengths="items"
    )
    assert alone.reason == ONE_ORDER
    # systems of a chain, each shown first against the next: as good as strengths
    chain = order_effect(np.arange(50) % 5, np.arange(50) % 5 + 1, outcomes, np.arange(50))
    assert chain.reason == ONE_ORDER
    few = both([(1, 1), (0, 0), (1, 0)])
    assert order_effect(*few).reason == FEW_CLUSTERS
    assert order_effect(*few, strengths="items").reason == FEW_CLUSTERS
    always = both([(1, 1)] * 9)
    assert order_effect(*always).reason == ALWAYS_ONE
    result = order_effect(*always, strengths="items")
    assert result.reason == ALWAYS_ONE
    never = order_effect(*both([(0, 0)] * 9), strengths="items")
    assert never.reason == ALWAYS_ONE
    consistent = order_effect(*both([(1, 0)] * 9), strengths="items")
    assert consistent.reason == FEW_CLUSTERS
