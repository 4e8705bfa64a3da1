from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.methods.planning.tournament import isolated_top_pairs, n_comparisons, tournament

seeds = st.integers(0, 2**32 - 1)


def singles(n):
    return [[item] for item in range(n)]


def keys(pairs):
    return [tuple(sorted(pair)) for pair in pairs.tolist()]


def parts(n_items, pairs):
    """Connected parts, in plain Python."""
    part = list(range(n_items))
    for a, b in pairs:
        part = [part[a] if of == part[b] else of for of in part]
    return len(set(part))


@given(st.integers(2, 50), seeds)
def test_from_single_outputs(n, seed):
    """f(n) comparisons, ceil(n/2) in the first round, connected, no pair twice."""
    plan = tournament(singles(n), np.random.default_rng(seed))
    pairs = keys(plan.pairs)
    assert len(pairs) == n_comparisons(n)
    assert len(set(pairs)) == len(pairs)
    assert all(a != b for a, b in pairs)
    assert parts(n, pairs) == 1
    in_round, sets = np.bincount(plan.round)[1:].tolist(), n
    for count in in_round:
        sets = -(-sets // 2)
        assert count == sets
    assert sets == 1
    assert (np.diff(plan.round) >= 0).all()


@given(st.integers(2, 20), seeds)
def test_in_the_first_round_everyone_meets_once_but_the_partner_of_the_odd_one(n, seed):
    plan = tournament(singles(n), np.random.default_rng(seed))
    times = np.bincount(plan.pairs[plan.round == 1].ravel(), minlength=n)
    assert sorted(times.tolist()) == [1] * (n - n % 2) + [2] * (n % 2)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), seeds)
def test_sets_that_are_connected_already(sizes, seed):
    bounds = np.cumsum([0, *sizes]).tolist()
    sets = [list(range(a, b)) for a, b in pairwise(bounds)]
    own = [number for number, members in enumerate(sets) for _ in members]
    plan = tournament(sets, np.random.default_rng(seed))
    pairs = keys(plan.pairs)
    assert len(pairs) == len(set(pairs)) == n_comparisons(len(sets))
    assert all(own[a] != own[b] for a, b in pairs)
    assert parts(len(sets), [(own[a], own[b]) for a, b in pairs]) == 1


def test_all_pairs_are_equally_likely():
    """Of 4 outputs each of 6 pairs is in half of the plans, on each side as often."""
    counts = np.zeros((4, 4))
    rng = np.random.default_rng(3)
    for _ in range(3000):
        np.add.at(counts, tuple(tournament(singles(4), rng).pairs.T), 1)
    off = counts[~np.eye(4, dtype=bool)]
    # binomial, n = 3000, p = 1/4: sd 23.7; five of them
    assert np.abs(off - 750).max() < 119


def test_the_order_of_sets_and_members_does_not_matter():
    one = tournament([[0, 1], [2], [3, 4], [5]], np.random.default_rng(9))
    two = tournament([[5], [4, 3], [2], [1, 0]], np.random.default_rng(9))
    assert one.pairs.tolist() == two.pairs.tolist()


@pytest.mark.parametrize("sets", [[], [[0, 1, 2]]])
def test_nothing_to_ask(sets):
    plan = tournament(sets, np.random.default_rng(0))
    assert plan.pairs.shape == (0, 2)
    assert plan.round.shape == (0,)


def test_what_is_refused():
    for sets in ([[0], []], [[0], [0, 1]], [[0, 0], [1]]):
        with pytest.raises(ValueError, match="disjoint"):
            tournament(sets, np.random.default_rng(0))
    with pytest.raises(ValueError, match="-1"):
        n_comparisons(-1)


def test_isolated_top_pairs():
    """Graph 7: 0 = 1 and 2 on top, 3 below. Graph 2: one on top. Graph 5: three on top."""
    graph = [7, 7, 7, 7, 2, 2, 5, 5, 5, 5]
    first, second = [0, 1, 2, 4, 9, 7, 8], [1, 3, 3, 5, 6, 6, 6]
    graphs = comparison_graphs(graph, first, second, [0, 1, 1, 1, 1, 1, 1])
    pairs = isolated_top_pairs(graph, graphs)
    assert pairs.graph.tolist() == [5, 7]
    assert pairs.first.tolist() == [7, 0]
    assert pairs.second.tolist() == [8, 2]


def test_isolated_top_pairs_of_nothing():
    assert isolated_top_pairs([], comparison_graphs([], [], [], [])).graph.size == 0
    assert isolated_top_pairs([0], comparison_graphs([0], [], [], [])).graph.size == 0
