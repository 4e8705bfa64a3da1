"""Counts of comparisons and of bootstrap rounds, held against counting rows."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_counts import PairCounts, count_comparisons


def example(n: int = 400, n_systems: int = 5, n_units: int = 30):
    rng = np.random.default_rng(8)
    first = rng.integers(n_systems, size=n)
    second = (first + rng.integers(1, n_systems, n)) % n_systems
    return first, second, rng.integers(-1, 2, n), rng.integers(n_units, size=n)


def stacked(rounds) -> np.ndarray:
    """(n_rounds, n_pairs, 3)"""
    pieces: list[PairCounts] = list(rounds)
    return np.concatenate([np.stack([p.wins, p.ties, p.losses], axis=2) for p in pieces])


def test_by_hand():
    """0 beats 1 twice (once written the other way round), ties it once; 2 beats 1."""
    actual = count_comparisons(
        [0, 1, 1, 1], [1, 0, 0, 2], [1, -1, 0, -1], [0, 0, 1, 1], n_systems=4
    )
    assert (actual.first.tolist(), actual.second.tolist()) == ([0, 1], [1, 2])
    assert stacked([actual.counts]).tolist() == [[[2, 1, 0], [0, 0, 1]]]
    assert actual.counts.n.tolist() == [[3, 1]]
    assert actual.n_units == 2


def test_a_round_is_the_sum_of_the_units_drawn():
    """Two units whose counts differ: each round shows how often either was drawn."""
    actual = count_comparisons([0, 0, 0], [1, 1, 1], [1, 1, 0], [7, 7, 9], n_systems=2)
    rounds = stacked(actual.resampled(200, np.random.default_rng(1)))[:, 0]
    drawn = {tuple(row) for row in rounds.tolist()}
    assert drawn == {(4, 0, 0), (2, 1, 0), (0, 2, 0)}
    assert 70 < (rounds[:, 1] == 1).sum() < 130


@pytest.mark.parametrize("single", [True, False])
def test_rounds_vary_as_units_do(single):
    """Mean and variance of each count over rounds, as of sums of independent draws of units."""
    first, second, outcome, unit = example()
    if single:
        unit = np.arange(first.size)
    actual = count_comparisons(first, second, outcome, unit, n_systems=5)
    rounds = stacked(actual.resampled(4_000, np.random.default_rng(2)))
    data = stacked([actual.counts])[0]
    by_unit = np.zeros((unit.max() + 1, *data.shape))
    for a, b, o, u in zip(first, second, outcome, unit, strict=True):
        low, high, sign = (a, b, o) if a < b else (b, a, -o)
        pair = np.flatnonzero((actual.first == low) & (actual.second == high))[0]
        by_unit[u, pair, 1 - sign] += 1
    np.testing.assert_array_equal(by_unit.sum(axis=0), data)
    sd = np.sqrt(len(by_unit) * by_unit.var(axis=0))
    np.testing.assert_allclose(rounds.mean(axis=0), data, atol=5 * sd.max() / np.sqrt(4_000))
    np.testing.assert_allclose(rounds.std(axis=0), sd, rtol=0.07)
    if single:
        assert (rounds.sum(axis=(1, 2)) == first.size).all()


@pytest.mark.parametrize("single", [True, False])
def test_pieces_are_the_same_rounds(single):
    first, second, outcome, unit = example()
    if single:
        unit = np.arange(first.size)
    counts = count_comparisons(first, second, outcome, unit, n_systems=5)
    whole = list(counts.resampled(50, np.random.default_rng(3)))
    assert len(whole) == 1
    pieces = list(counts.resampled(50, np.random.default_rng(3), counts_at_once=200))
    assert len(pieces) > 1
    np.testing.assert_array_equal(stacked(pieces), stacked(whole))


def test_order_of_rows_and_sides_change_nothing():
    first, second, outcome, unit = example()
    order = np.random.default_rng(4).permutation(first.size)
    one = count_comparisons(first, second, outcome, unit, n_systems=5)
    other = count_comparisons(
        second[order], first[order], -outcome[order], unit[order], n_systems=5
    )
    rounds = [stacked(c.resampled(20, np.random.default_rng(5))) for c in (one, other)]
    np.testing.assert_array_equal(*rounds)


@pytest.mark.parametrize("single", [True, False])
def test_codes_of_wide_ranges_count_the_same(single):
    """Few of many systems, units by any number: sorted then, not counted."""
    first, second, outcome, unit = example()
    if single:
        unit = np.arange(first.size)
    names = np.array([0, 7, 90_000, 90_001, 2_000_000])
    one = count_comparisons(first, second, outcome, unit, n_systems=5)
    other = count_comparisons(
        names[first], names[second], outcome, unit * 10**12 - 5, n_systems=2_000_001
    )
    for pairs, named in ((one.first, other.first), (one.second, other.second)):
        np.testing.assert_array_equal(names[pairs], named)
    rounds = [stacked(c.resampled(20, np.random.default_rng(5))) for c in (one, other)]
    np.testing.assert_array_equal(*rounds)


def test_none():
    actual = count_comparisons([], [], [], [], n_systems=3)
    assert actual.first.size == 0
    assert list(actual.resampled(10, np.random.default_rng(1))) == []
