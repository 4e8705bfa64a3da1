"""Rounds of online methods, each held against the method run on that round's comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.online_rounds import online_rounds
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill

PARAMS = [TrueSkillParams(gamma=0.3, epsilon=0.2, mean=0.5, sd=2), BoundedRaParams()]


def once(first, second, outcome, n, params):
    if isinstance(params, TrueSkillParams):
        start = np.full(n, params.mean), np.full(n, float(params.sd))
        return trueskill(first, second, outcome, n_items=n, params=params, start=start).mean
    return bounded_ra(first, second, outcome, n_items=n, params=params).score


def example(n: int = 300, n_systems: int = 6, n_rankings: int = 40):
    rng = np.random.default_rng(8)
    first = rng.integers(n_systems, size=n)
    second = (first + rng.integers(1, n_systems, n)) % n_systems
    return first, second, rng.integers(-1, 2, n), np.sort(rng.integers(n_rankings, size=n))


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("steps", [1, 7, 300, 4096])
def test_the_data_in_order_and_the_only_unit_drawn_are_the_method(params, steps):
    *table, ranking = example()
    scores = online_rounds(
        *table, ranking, np.zeros(300, int), n_systems=6, rounds=["given", "drawn"], params=params,
        rng=np.random.default_rng(1), steps_at_once=steps,
    )  # fmt: skip
    alone = once(*table, 6, params)
    assert all((row == alone).all() for row in scores)  # to the last bit


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("kind", ["given", "permuted", "drawn", "drawn_permuted"])
def test_a_round_is_one_of_all_that_can_be(params, kind):
    """Three rankings of 2, 1 and 3 comparisons: every order, or draw, or order of a draw."""
    first, second = np.array([0, 1, 3, 2, 0, 0]), np.array([1, 2, 0, 3, 2, 1])
    outcome, ranking = np.array([1, 0, 1, -1, 1, 0]), np.array([4, 4, 5, 6, 6, 6])
    rows = [np.flatnonzero(ranking == r) for r in (4, 5, 6)]
    chosen = {
        "given": [(0, 1, 2)],
        "permuted": list(itertools.permutations(range(3))),
        "drawn": [o for o in itertools.product(range(3), repeat=3) if list(o) == sorted(o)],
        "drawn_permuted": list(itertools.product(range(3), repeat=3)),
    }[kind]
    possible = {}
    for order in chosen:
        of = np.concatenate([rows[r] for r in order])
        score = once(first[of], second[of], outcome[of], 4, params)
        score[~np.isin(np.arange(4), [first[of], second[of]])] = np.nan
        possible[order] = score
    actual = online_rounds(
        first, second, outcome, ranking, ranking, n_systems=4, rounds=[kind] * 400, params=params,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    drawn = {
        order
        for row in actual
        for order, score in possible.items()
        if np.array_equal(row, score, equal_nan=True)
    }
    assert drawn == set(chosen)
    for row in actual:
        assert any(np.array_equal(row, score, equal_nan=True) for score in possible.values())


def test_units_are_drawn_whole():
    """Two judges: a round has both of one's rankings twice, or each judge once."""
    first, second, ranking = np.array([0, 0, 0]), np.array([1, 1, 1]), np.array([0, 1, 2])
    outcome, judge = np.array([1, 1, -1]), np.array([0, 0, 1])
    actual = online_rounds(
        first, second, outcome, ranking, judge, n_systems=2, rounds=["drawn"] * 200,
        params=PARAMS[1], rng=np.random.default_rng(1),
    )  # fmt: skip
    possible = [once([0] * len(o), [1] * len(o), o, 2, PARAMS[1]) for o in
                ([1, 1, 1, 1], [1, 1, -1], [-1, -1])]  # fmt: skip
    which = [[np.array_equal(row, score) for score in possible] for row in actual]
    assert (np.sum(which, axis=1) == 1).all()
    assert (np.sum(which, axis=0) > 20).all()


def test_rounds_have_streams_of_their_own():
    """More rounds, or fewer side by side, change no round."""
    *table, ranking = example()
    kinds = ["permuted", "drawn_permuted", "drawn"] * 4

    def run(rounds, **sizes):
        return online_rounds(*table, ranking, ranking, n_systems=6, rounds=rounds,
                             params=PARAMS[0], rng=np.random.default_rng(1), **sizes)  # fmt: skip

    whole = run(kinds)
    np.testing.assert_array_equal(run(kinds[:5]), whole[:5])
    np.testing.assert_array_equal(run(kinds, rankings_at_once=100), whole)
    assert len(np.unique(whole[:, 0])) == 12


def test_systems_that_only_tie_stay_equal():
    rng = np.random.default_rng(2)
    first = rng.integers(3, size=50)
    second = (first + 1) % 3
    for params in PARAMS:
        actual = online_rounds(
            first, second, np.zeros(50, int), np.arange(50), np.arange(50), n_systems=3,
            rounds=["permuted", "drawn_permuted", "drawn"], params=params,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        assert (actual == actual[0, 0]).all()


def test_no_comparison_and_no_round():
    nothing = np.empty((5, 0), int)
    actual = online_rounds(*nothing, n_systems=2, rounds=["permuted", "drawn"], params=PARAMS[0],
                          rng=np.random.default_rng(1))  # fmt: skip
    assert np.isnan(actual).all()
    assert actual.shape == (2, 2)
    none = online_rounds([0], [1], [1], [0], [0], n_systems=2, rounds=[], params=PARAMS[0],
                         rng=np.random.default_rng(1))  # fmt: skip
    assert none.shape == (0, 2)
