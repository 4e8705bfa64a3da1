"""Intervals of agreement hold what they say, by simulation: bounds that chance does not reach."""

from __future__ import annotations

import numpy as np
import pytest

from studies.agreement_coverage import (
    STATISTICS,
    LabelDesign,
    agreement_coverage,
)
from studies.agreement_study import run_agreement
from studies.params import AgreementIntervals
from studies.score_agreement_coverage import DESIGNS as SCORE_DESIGNS
from studies.score_agreement_coverage import (
    ScoreDesign,
    score_agreement_coverage,
)
from tests.studies.study_runs import silent

pytestmark = pytest.mark.slow

REPLICATIONS = 150
LEAST = 0.95 - 3 * np.sqrt(0.05 * 0.95 / REPLICATIONS)
"""Three standard errors below 95%: .897."""


@pytest.mark.parametrize(
    "design",
    [
        LabelDesign(200, 3, 3, 0.5),
        LabelDesign(200, 5, 5, 0.5),
        LabelDesign(200, 20, 20, 0.5),
        LabelDesign(200, 20, 5, 0.5),
        LabelDesign(30, 20, 20, 0.5),
    ],
    ids=str,
)
def test_intervals_hold_the_truth(design):
    for name, measured in agreement_coverage(design, REPLICATIONS, 1).items():
        assert measured.coverage > LEAST, name
        assert measured.has_interval > 0.9, name
        assert abs(measured.bias) < 0.03, name


def test_intervals_are_not_too_wide():
    measured = agreement_coverage(LabelDesign(200, 20, 20, 0.5), 2 * REPLICATIONS, 2)
    assert all(one.coverage < 0.985 for one in measured.values())


def test_where_a_class_is_rare_kappas_have_no_interval_and_others_hold():
    measured = agreement_coverage(LabelDesign(30, 20, 20, 0.95), REPLICATIONS, 3)
    for name in STATISTICS:
        if name in ("percent_agreement", "gwet_ac1"):
            assert measured[name].coverage > LEAST
        else:
            assert measured[name].has_interval == 0
            assert measured[name].bias < -0.02  # the reason


@pytest.mark.parametrize("prevalence", [0.5, 0.95])
def test_ten_items_have_no_interval(prevalence):
    for measured in agreement_coverage(LabelDesign(10, 5, 5, prevalence), 20, 4).values():
        assert measured.has_interval == 0
        assert np.isnan(measured.coverage)


def test_cohen_of_many_judges_with_few_labels_is_not_biased():
    """100 judges with six labels each: pairs share none or one."""
    measured = agreement_coverage(LabelDesign(200, 100, 3, 0.5), REPLICATIONS, 5)
    assert abs(measured["cohen_kappa"].bias) < 0.015
    assert measured["cohen_kappa"].coverage > LEAST


@pytest.mark.parametrize("design", [ScoreDesign(30, 5, 5), ScoreDesign(100, 2, 2)], ids=str)
def test_bootstrap_intervals_of_scores_hold_for_these_judges(design):
    measured = score_agreement_coverage(design, 100, 200, np.random.default_rng(6))
    assert set(measured) == {
        "alpha_ordinal", "alpha_interval", "inter_kappa_raw_5", "inter_percent_agreement_raw_5",
        "inter_difference_mean", "inter_spearman",
    }  # fmt: skip
    for name, one in measured.items():
        assert one.has_interval == 1, name
        assert one.coverage > 0.87, name  # published; three standard errors below .93
        assert abs(one.bias) < (1.5 if name == "inter_difference_mean" else 0.03), name


def test_bootstrap_intervals_fail_where_a_build_publishes_none():
    """10 items; and pairs of judges who share six of 200 items."""
    few = score_agreement_coverage(ScoreDesign(10, 5, 5), 200, 200, np.random.default_rng(7))
    assert few["alpha_interval"].coverage < 0.92
    sparse = score_agreement_coverage(ScoreDesign(200, 20, 4), 40, 200, np.random.default_rng(8))
    assert sparse["inter_spearman"].coverage < 0.85
    assert sparse["alpha_interval"].coverage > 0.85


@pytest.mark.slow
def test_the_study_has_a_row_for_each_design_and_statistic():
    params = AgreementIntervals(repeats=2, rounds=3)
    result = run_agreement(params, silent)
    [table] = result.tables
    assert len(table.rows) == 26 * len(STATISTICS) + len(SCORE_DESIGNS) * 6
    assert {row[0] for row in table.rows} == {"labels", "scores"}
    ten = [row for row in table.rows if row[:2] == ("labels", 10)]
    assert ten
    assert all(row[-3:-1] == (None, 0.0) for row in ten)
    assert [sentence.split(":")[0] for sentence in result.findings] == [
        "Intervals of labels that a build publishes",
        "Intervals of scores that a build publishes",
    ]
