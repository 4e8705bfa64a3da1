"""Intervals of agreement hold what they say, by simulation: bounds that chance does not reach."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.experiments.agreement_coverage import (
    DESIGNS,
    STATISTICS,
    LabelDesign,
    agreement_coverage,
    coverage_rows,
)

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


def test_all_designs_are_measured():
    rows = [*coverage_rows(1, 0, DESIGNS[:3])]
    assert [(design, name) for design, name, _ in rows] == [
        (design, name) for design in DESIGNS[:3] for name in STATISTICS
    ]
    assert len(set(DESIGNS)) == len(DESIGNS) == 26
