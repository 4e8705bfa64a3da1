"""Pighin, Formiga & Marquez 2012: Figure 1, the comparisons needed, Table 2, harmonised ranks."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.adequacy import (
    AdequacyEffort,
    spread_adequacy,
)
from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.methods.comparisons.harmonized_ranks import RankShift, harmonized_ranks
from annot_pipeline.methods.planning.tournament import isolated_top_pairs, n_comparisons
from studies.simulators.adequacy_answers import greedy_answers

LW, GOOGLE, SYSTRAN, MOSES, BING, REFERENCE = range(6)
ONE_GRAPH = np.zeros(6, int)


@pytest.fixture(scope="module")
def figure_1():
    """LW > Google = Systran > Moses, Google > Bing, Reference > Bing."""
    return comparison_graphs(
        ONE_GRAPH,
        [LW, GOOGLE, SYSTRAN, GOOGLE, REFERENCE],
        [GOOGLE, SYSTRAN, MOSES, BING, BING],
        [1, 0, 1, 1, 1],
    )


def test_figure_1(figure_1):
    assert figure_1.dominance.tolist() == [4, 1, 1, -3, -4, 1]
    assert figure_1.rank.tolist() == [1, 2, 2, 3, 4, 2]
    assert figure_1.component.max() + 1 == 5
    assert not figure_1.in_contradiction.any()


def test_section_3_2_on_figure_1(figure_1):
    """LW inadequate decides four; the reference needs no question: one answer for six."""
    is_reference = np.arange(6) == REFERENCE
    answers = greedy_answers(figure_1, is_reference, np.zeros(6, int))
    result = spread_adequacy(figure_1, is_reference, answers)
    assert np.flatnonzero(answers >= 0).tolist() == [LW]
    assert result.adequate.tolist() == [0, 0, 0, 0, 0, 1]
    # "for the graph in Figure 1(4) the effort reduction would be 1/5"
    effort = spread_adequacy(figure_1, is_reference, np.full(6, -1)).effort
    assert effort.n_by_reference / effort.n_vertices == 0.2


def test_section_4_5_on_figure_1(figure_1):
    """ "If the reference translation had been compared, say, against LW ..." """
    pairs = isolated_top_pairs(ONE_GRAPH, figure_1)
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([LW], [REFERENCE])


@pytest.mark.parametrize(
    ("n_outputs", "expected"),
    [(0, 0), (1, 0), (2, 1), (3, 3), (4, 3), (5, 6), (6, 6), (7, 7), (8, 7), (9, 11), (10, 11)],
)
def test_comparisons_of_a_tournament(n_outputs, expected):
    """6 for 5 or 6 outputs is the paper's; its 2 ceil(n/2) would be 8 and 10 for 8 and 10."""
    assert n_comparisons(n_outputs) == expected


def test_table_2():
    effort = AdequacyEffort(
        n_outputs=11_292,
        n_vertices=6_670,
        n_by_reference=2_372,
        n_by_spread=668,
        n_asked=3_630,
        n_answers=3_630,
    )
    collapsed = effort.n_outputs - effort.n_vertices
    assert (collapsed, effort.n_automatic, effort.n_unknown) == (4_622, 3_040, 0)
    shares = (
        collapsed / effort.n_outputs,
        effort.n_automatic / effort.n_vertices,
        effort.n_by_reference / effort.n_vertices,
        effort.n_by_spread / effort.n_vertices,
        1 - effort.n_answers / effort.n_outputs,
    )
    percent = [round(100 * share, 2) for share in shares]
    assert percent == [40.93, 45.58, 35.56, 10.01, 67.85]


def test_harmonised_ranks_of_section_4_3():
    """a1 b2 c3 d3 e4, with b and c adequate, gives b1 c2 a2 d3 e4."""
    result = harmonized_ranks([0] * 5, [1, 2, 3, 3, 4], [0, 1, 1, 0, 0])
    assert dict(zip("abcde", result.rank.tolist(), strict=True)) == {
        "b": 1, "c": 2, "a": 2, "d": 3, "e": 4,
    }  # fmt: skip


def test_share_of_segments_where_both_ranks_differ():
    """Section 4.5: 212 of 1,882, 11.26%."""
    agreement = RankShift(1882, 0, 212, 0.98, 0.06, 0.05, 0.17, 0.08, 0.23)
    assert round(100 * agreement.n_differ / agreement.n_graphs, 2) == 11.26
