from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.comparison_graphs import (
    comparison_graphs,
    graph_consistency,
    majority_outcomes,
)

ARRAYS = (
    "component", "part", "in_contradiction", "n_dominates", "n_dominated_by", "dominance", "rank",
)  # fmt: skip


def build(n_items, *comparisons, graph=None):
    rows = np.array(comparisons, np.int64).reshape(-1, 3)
    return comparison_graphs(np.zeros(n_items, int) if graph is None else graph, *rows.T)


def brute_force(graph, comparisons):
    """Floyd & Warshall over items, in plain Python; then counts by their definitions."""
    n = len(graph)
    items = range(n)
    reaches = [[i == j for j in items] for i in items]
    touches = [[i == j for j in items] for i in items]
    for a, b, outcome in comparisons:
        reaches[a][b] |= outcome >= 0
        reaches[b][a] |= outcome <= 0
        touches[a][b] = touches[b][a] = True
    for table in (reaches, touches):
        for k, i, j in product(items, repeat=3):
            table[i][j] |= table[i][k] and table[k][j]
    same = [[reaches[i][j] and reaches[j][i] for j in items] for i in items]
    over = [[reaches[i][j] and not same[i][j] for j in items] for i in items]
    strict = [a for a, b, outcome in comparisons if outcome and same[a][b]]
    f = [sum(over[i]) - sum(over[j][i] for j in items) for i in items]
    rank = [1 + len({f[j] for j in items if graph[j] == graph[i] and f[j] > f[i]}) for i in items]
    return {
        "same": same, "touches": touches, "over": over, "dominance": f, "rank": rank,
        "n_dominates": [sum(row) for row in over],
        "n_dominated_by": [sum(over[j][i] for j in items) for i in items],
        "in_contradiction": [any(same[i][a] for a in strict) for i in items],
    }  # fmt: skip


@st.composite
def several_graphs(draw):
    """Items of up to three graphs, mixed, with codes that are neither dense nor in order."""
    graph = draw(st.lists(st.sampled_from([7, 0, 3]), max_size=12))
    pairs = [(i, j) for i, j in product(range(len(graph)), repeat=2) if i != j]
    pairs = [(i, j) for i, j in pairs if graph[i] == graph[j]]
    if not pairs:
        return graph, []
    outcomes = draw(st.sampled_from([(-1, 0, 1), (1, -1), (0,), (1, 1, 1, 0)]))
    row = st.tuples(st.sampled_from(pairs), st.sampled_from(outcomes))
    return graph, [(*pair, outcome) for pair, outcome in draw(st.lists(row, max_size=20))]


@given(several_graphs())
def test_against_brute_force(drawn):
    graph, comparisons = drawn
    result, expected = build(len(graph), *comparisons, graph=graph), brute_force(*drawn)
    for name in ("in_contradiction", "n_dominates", "n_dominated_by", "dominance", "rank"):
        assert getattr(result, name).tolist() == expected[name], name
    for name, table in (("component", "same"), ("part", "touches")):
        codes = getattr(result, name)
        assert (codes[:, None] == codes).tolist() == expected[table]
        assert sorted(set(codes.tolist())) == list(range(len(set(codes.tolist()))))
    totals = [result.dominance[np.array(graph) == code].sum() for code in set(graph)]
    assert not any(totals)


@given(several_graphs(), st.randoms(use_true_random=False))
def test_dominated_by_any_and_dominates_any(drawn, random):
    graph, comparisons = drawn
    result, over = build(len(graph), *comparisons, graph=graph), brute_force(*drawn)["over"]
    items = range(len(graph))
    marked = [random.random() < 0.3 for _ in items]
    dominated = [any(marked[j] and over[j][i] for j in items) for i in items]
    dominates = [any(marked[j] and over[i][j] for j in items) for i in items]
    assert result.dominated_by_any(marked).tolist() == dominated
    assert result.dominates_any(marked).tolist() == dominates


@given(several_graphs(), st.randoms(use_true_random=False))
def test_order_sides_repeats_and_names_do_not_matter(drawn, random):
    graph, comparisons = drawn
    result = build(len(graph), *comparisons, graph=graph)
    turned = [random.choice([(a, b, o), (b, a, -o)]) for a, b, o in comparisons * 2]
    random.shuffle(turned)
    again = build(len(graph), *turned, graph=graph)
    for name in ARRAYS:
        assert getattr(again, name).tolist() == getattr(result, name).tolist()

    new = list(range(len(graph)))
    random.shuffle(new)
    renamed = [(new[a], new[b], o) for a, b, o in comparisons]
    regraphed = np.empty(len(graph), int)
    regraphed[new] = graph
    other = build(len(graph), *renamed, graph=regraphed)
    for name in ("in_contradiction", "n_dominates", "n_dominated_by", "dominance", "rank"):
        assert getattr(other, name)[new].tolist() == getattr(result, name).tolist()


def test_components_and_parts_are_numbered_by_graph_then_least_item():
    result = build(6, (4, 1, 0), (5, 0, 1), graph=[1, 0, 0, 0, 0, 1])
    assert result.component.tolist() == [3, 0, 1, 2, 0, 4]
    assert result.part.tolist() == [3, 0, 1, 2, 0, 3]


def test_a_strict_chain():
    result = build(3, (0, 1, 1), (2, 1, -1))
    assert result.dominance.tolist() == [2, 0, -2]
    assert result.rank.tolist() == [1, 2, 3]
    assert not result.in_contradiction.any()


def test_a_cycle_below_one_output():
    """3 beats 0; 0 > 1 > 2 > 0: three equal outputs below one."""
    result = build(4, (0, 1, 1), (1, 2, 1), (2, 0, 1), (3, 0, 1))
    assert result.dominance.tolist() == [-1, -1, -1, 3]
    assert result.rank.tolist() == [2, 2, 2, 1]
    assert result.in_contradiction.tolist() == [True, True, True, False]


def test_a_preference_among_ties_is_a_contradiction():
    """0 = 1 = 2 but 0 > 2."""
    assert build(3, (0, 1, 0), (1, 2, 0), (0, 2, 1)).in_contradiction.all()
    assert not build(3, (0, 1, 0), (1, 2, 0), (0, 2, 0)).in_contradiction.any()


def test_contradictory_duplicates():
    for rows in (((0, 1, 1), (0, 1, -1)), ((0, 1, 1), (1, 0, 0))):
        result = build(2, *rows)
        assert result.in_contradiction.all()
        assert result.rank.tolist() == [1, 1]


def test_all_ties_and_nothing_at_all():
    for rows in (((0, 1, 0), (1, 2, 0)), ()):
        result = build(3, *rows)
        assert result.dominance.tolist() == [0, 0, 0]
        assert result.rank.tolist() == [1, 1, 1]
        assert not result.in_contradiction.any()
    assert build(1).rank.tolist() == [1]
    assert build(0).rank.size == build(0).component.size == 0


def test_one_thousand_outputs_in_one_graph():
    """A chain, beside two outputs of another graph: outputs are counted across words of bits."""
    n = 1000
    chain = [(i, i + 1, 1) for i in range(n - 1)]
    result = build(n + 2, *chain, (n, n + 1, 1), graph=[0] * n + [1, 1])
    assert result.dominance[:n].tolist() == list(range(n - 1, -n, -2))
    assert result.rank.tolist() == [*range(1, n + 1), 1, 2]
    assert result.dominance[n:].tolist() == [1, -1]


@pytest.mark.parametrize("words", [1, 900])
def test_blocks_of_outputs_change_nothing(words):
    rng = np.random.default_rng(5)
    first = rng.integers(0, 199, 400)
    rows = np.stack([first, rng.integers(first + 1, 200), np.arange(400) % 40 > 0])
    graph = np.zeros(200, int)
    whole = comparison_graphs(graph, *rows)
    assert whole.component.max() > 64
    blocks = comparison_graphs(graph, *rows, words_at_once=words)
    assert blocks.n_dominates.tolist() == whole.n_dominates.tolist()
    assert blocks.n_dominated_by.tolist() == whole.n_dominated_by.tolist()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 1, 0)], "with itself"),
        ([(0, 2, 1)], "two graphs: items \\[\\[0, 2\\]\\]"),
        ([(0, 3, 1)], "not in 0..2"),
        ([(0, 1, 2)], "1, 0 or -1"),
    ],
)
@pytest.mark.parametrize("function", [comparison_graphs, majority_outcomes])
def test_what_is_refused(function, rows, message):
    with pytest.raises(ValueError, match=message):
        function([0, 0, 1], *np.array(rows).T)


def test_marks_of_another_length_are_refused():
    with pytest.raises(ValueError, match="shape"):
        build(2, (0, 1, 1)).dominated_by_any([True])


BETTER, WORSE, TIE, BOTH = [1], [-1], [0], [1, -1]


@pytest.mark.parametrize(
    ("wins_a", "wins_b", "ties", "decision"),
    [
        (1, 0, 0, BETTER), (0, 1, 0, WORSE), (0, 0, 1, TIE), (2, 1, 0, BETTER), (1, 2, 2, WORSE),
        (1, 0, 1, BETTER), (1, 0, 2, TIE), (2, 1, 3, TIE), (0, 0, 4, TIE),
        (1, 1, 0, BOTH), (2, 2, 2, BOTH), (1, 1, 2, TIE), (3, 3, 1, BOTH),
    ],
)  # fmt: skip
def test_majority(wins_a, wins_b, ties, decision):
    rows = [(0, 1, 1)] * wins_a + [(1, 0, 1)] * wins_b + [(1, 0, 0)] * ties
    first, second, outcome = majority_outcomes([0, 0], *np.array(rows).T)
    assert outcome.tolist() == decision
    assert set(first.tolist()) == {0}
    assert set(second.tolist()) == {1}
    graphs = comparison_graphs([0, 0], first, second, outcome)
    assert graphs.in_contradiction.all() == (decision == BOTH)


def test_majority_of_several_pairs_is_sorted_and_keeps_contradictions_apart():
    rows = [(3, 2, 1), (1, 0, 1), (2, 3, 1), (0, 1, 1), (2, 0, 0), (3, 0, 1)]
    pooled = np.stack(majority_outcomes([0] * 4, *np.array(rows).T), axis=1)
    assert pooled.tolist() == [
        [0, 1, 1], [0, 1, -1], [0, 2, 0], [0, 3, -1], [2, 3, 1], [2, 3, -1],
    ]  # fmt: skip
    assert [part.size for part in majority_outcomes([0], [], [], [])] == [0, 0, 0]


def test_consistency():
    """Graph 4: a cycle of three and one output more; graph 9: a chain; 1: one output."""
    graph = [4, 9, 4, 9, 4, 4, 1]
    graphs = build(7, (0, 2, 1), (2, 4, 1), (4, 0, 1), (1, 3, 1), graph=graph)
    of = graph_consistency(graph, graphs)
    assert of.graph.tolist() == [1, 4, 9]
    assert of.n_items.tolist() == [1, 4, 2]
    assert of.n_components.tolist() == [1, 2, 2]
    assert of.n_parts.tolist() == [1, 2, 1]
    assert of.n_in_contradiction.tolist() == [0, 3, 0]
    assert of.consistency.tolist() == [1, 0.25, 1]


def test_nothing_has_no_consistency():
    assert graph_consistency([], build(0)).consistency.size == 0
