"""Rankings hold what they say, by simulation: bounds that chance does not reach."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.rankings.adjusted_scores import ScoreParams
from studies.coverage_designs import PAIR_DESIGNS, SCORE_DESIGNS
from studies.ranking_coverage import (
    pair_coverage,
    rank_sum_coverage,
    score_coverage,
)

REPLICATIONS = 40
FAMILYWISE = 0.05 + 2 * np.sqrt(0.05 * 0.95 / REPLICATIONS)


def check(actual):
    assert 0.90 < actual.coverage < 0.985
    assert 0.02 < actual.size < 0.08
    assert actual.familywise <= FAMILYWISE
    assert actual.false_boundary <= 0.05
    assert 0.92 < actual.system_coverage < 0.995
    assert actual.is_tested > 0.98
    assert actual.power > 1.5 * actual.size


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["HITs", "panel 10 x 20", "two neighbours of six"])
def test_intervals_and_tests_of_scores_hold(name):
    rng = np.random.default_rng(3)
    check(score_coverage(SCORE_DESIGNS[name], ScoreParams(), REPLICATIONS, rng))


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["20 judges", "order .5, better first"])
def test_intervals_and_tests_of_comparisons_hold(name):
    check(pair_coverage(PAIR_DESIGNS[name], REPLICATIONS, np.random.default_rng(3)))


@pytest.mark.slow
def test_documents_hold_where_they_are_declared_and_not_where_they_are_left_out():
    """What a document makes of a system: segments of one document are no news."""
    draw, params = SCORE_DESIGNS["40 documents"], ScoreParams()
    check(score_coverage(draw, params, REPLICATIONS, np.random.default_rng(3)))
    undeclared = score_coverage(
        draw, params, REPLICATIONS, np.random.default_rng(3), declares_documents=False
    )
    assert undeclared.coverage < 0.91
    assert undeclared.size > 0.08
    assert undeclared.familywise > FAMILYWISE


@pytest.mark.slow
def test_documents_of_comparisons_hold():
    design = PAIR_DESIGNS["40 documents, compared"]
    declared, undeclared = (
        pair_coverage(design, REPLICATIONS, np.random.default_rng(3), declares_documents=declares)
        for declares in (True, False)
    )
    check(declared)
    assert undeclared.coverage < declared.coverage - 0.02


@pytest.mark.slow
def test_judges_of_one_system_each_compare_systems_only_if_drawn_at_random():
    draw, rng = SCORE_DESIGNS["one system each"], np.random.default_rng(3)
    assert score_coverage(draw, ScoreParams(), 2, rng).is_tested == 0
    check(score_coverage(draw, ScoreParams(judges="random"), REPLICATIONS, rng))


@pytest.mark.slow
def test_rank_sum_tests_take_what_repeats_for_news():
    """What WMT does rejects equal systems three times as often as it says, in its own design."""
    draw = SCORE_DESIGNS["HITs"]
    by_rank_sum = rank_sum_coverage(draw, REPLICATIONS, np.random.default_rng(3))
    adjusted = score_coverage(draw, ScoreParams(), REPLICATIONS, np.random.default_rng(3))
    assert by_rank_sum.size > 0.11
    assert by_rank_sum.false_boundary > 0.1
    assert adjusted.power_at_size > by_rank_sum.power_at_size - 0.08


def test_four_judges_cut_no_clusters():
    draw, rng = SCORE_DESIGNS["panel 4 x 100"], np.random.default_rng(3)
    assert score_coverage(draw, ScoreParams(), REPLICATIONS, rng).false_boundary == 0
