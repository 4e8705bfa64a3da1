from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from annot_pipeline.methods.comparisons.harmonized_ranks import harmonized_ranks, rank_shift


def dense(values):
    return [1 + len({w for w in values if w < v}) for v in values]


def one_by_one(rank, adequate):
    """Section 4.3 step by step: sort, start at 1, clamp to [previous, previous + 1]."""
    places = sorted(range(len(rank)), key=lambda i: (-adequate[i], rank[i]))
    out, previous = [0] * len(rank), 1
    for number, (key, members) in enumerate(groupby(places, key=lambda i: (-adequate[i], rank[i]))):
        if number:
            previous = min(max(key[1], previous), previous + 1)
        for i in members:
            out[i] = previous
    return out


outputs = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 1)), min_size=1, max_size=9)


@given(st.lists(outputs, max_size=4), st.booleans())
def test_against_the_algorithm_step_by_step(graphs, make_dense):
    expected, columns = [], []
    for code, graph in zip((5, 2, 9, 0), graphs, strict=False):
        ranks, adequate = zip(*graph, strict=True)
        ranks = dense(ranks) if make_dense else ranks
        expected += one_by_one(ranks, adequate)
        columns += [(code, *row) for row in zip(ranks, adequate, strict=True)]
    code, rank, adequate = np.array(columns, int).reshape(-1, 3).T
    order = np.random.default_rng(0).permutation(code.size)
    result = harmonized_ranks(code[order], rank[order], adequate[order])
    assert result.defined.all()
    assert result.rank.tolist() == np.array(expected, int)[order].tolist()


@given(outputs)
def test_what_the_paper_asks_of_harmonised_ranks(graph):
    rank, adequate = map(list, zip(*graph, strict=True))
    new = harmonized_ranks([0] * len(rank), dense(rank), adequate).rank.tolist()
    items = range(len(rank))
    for i, j in product(items, items):
        if adequate[i] > adequate[j]:
            assert new[i] <= new[j]
        if adequate[i] == adequate[j]:
            assert np.sign(new[i] - new[j]) in {0, np.sign(rank[i] - rank[j])}
            assert rank[i] != rank[j] or new[i] == new[j]
    assert sorted(set(new)) == list(range(1, max(new) + 1))


@pytest.mark.parametrize("label", [0, 1])
def test_one_label_for_all_leaves_dense_ranks_alone(label):
    assert harmonized_ranks([0] * 4, [2, 1, 3, 2], [label] * 4).rank.tolist() == [2, 1, 3, 2]


def test_equal_outputs_stay_equal_behind_a_gap():
    """The adequate have ranks 1 3 3; the inadequate one of rank 2 shares the last of them."""
    assert harmonized_ranks([0] * 4, [1, 2, 3, 3], [1, 0, 1, 1]).rank.tolist() == [1, 2, 2, 2]


def test_a_graph_with_an_unknown_has_no_harmonised_ranks():
    result = harmonized_ranks([0, 1, 0, 1], [1, 1, 2, 2], [1, 0, -1, 1])
    assert result.defined.tolist() == [False, True, False, True]
    assert result.rank.tolist() == [0, 1, 0, 1]


@given(st.lists(outputs, min_size=2, max_size=4))
def test_agreement_against_scipy(graphs):
    columns = [
        (code, *row)
        for code, graph in enumerate(graphs)
        for row in zip(dense([r for r, _ in graph]), [a for _, a in graph], strict=True)
    ]
    code, rank, adequate = np.array(columns).T
    order = np.random.default_rng(1).permutation(code.size)
    code, rank, adequate = code[order], rank[order], adequate[order]
    harmonized = harmonized_ranks(code, rank, adequate)
    result = rank_shift(code, rank, harmonized)
    spearman, mae, rmse, n_differ = [], [], [], 0
    for of in range(len(graphs)):
        x, y = rank[code == of], harmonized.rank[code == of]
        if len(set(x)) > 1 and len(set(y)) > 1:
            spearman.append(spearmanr(x, y).statistic)
        mae.append(np.abs(x - y).mean())
        rmse.append(np.sqrt(((x - y) ** 2).mean()))
        n_differ += bool((x != y).any())
    assert result.n_graphs == len(graphs)
    assert result.n_constant == len(graphs) - len(spearman)
    assert result.n_differ == n_differ
    for name, values in (("spearman", spearman), ("mae", mae), ("rmse", rmse)):
        mean = np.mean(values) if values else np.nan
        sd = np.std(values, ddof=1) if len(values) > 1 else np.nan
        assert getattr(result, f"{name}_mean") == pytest.approx(mean, nan_ok=True)
        assert getattr(result, f"{name}_sd") == pytest.approx(sd, nan_ok=True, abs=1e-12)


def test_agreement_leaves_out_graphs_with_an_unknown():
    graph, rank = [0, 0, 1, 1, 2], [1, 2, 1, 2, 1]
    harmonized = harmonized_ranks(graph, rank, [1, 0, 0, -1, 1])
    result = rank_shift(graph, rank, harmonized)
    assert (result.n_graphs, result.n_constant, result.n_differ) == (2, 1, 0)
    assert result.spearman_mean == 1
    assert np.isnan(result.spearman_sd)
    assert result.mae_mean == result.mae_sd == 0


def test_agreement_of_nothing_is_undefined():
    nothing = rank_shift([0], [1], harmonized_ranks([0], [1], [-1]))
    assert nothing.n_graphs == 0
    assert np.isnan([nothing.spearman_mean, nothing.mae_mean]).all()


@pytest.mark.parametrize(
    ("rank", "adequate", "message"),
    [([0], [1], ">= 1"), ([1], [2], "1, 0 or -1"), ([1, 2], [1], "shapes")],
)
def test_what_is_refused(rank, adequate, message):
    with pytest.raises(ValueError, match=message):
        harmonized_ranks([0], rank, adequate)
