"""Corrections against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.multiplicity import adjust


def test_holm_by_hand():
    # sorted .01 .02 .03 .04: times 4 3 2 1 = .04 .06 .06 .04, never falling: .04 .06 .06 .06
    assert adjust(np.array([0.04, 0.01, 0.03, 0.02]), "holm") == pytest.approx(
        [0.06, 0.04, 0.06, 0.06]
    )


def test_benjamini_hochberg_equals_scipy():
    p = np.random.default_rng(1).uniform(size=50) ** 3
    assert adjust(p, "benjamini_hochberg") == pytest.approx(stats.false_discovery_control(p))


@pytest.mark.parametrize("method", ["none", "holm", "benjamini_hochberg"])
def test_undefined_ones_are_no_tests(method):
    with_nan = adjust(np.array([0.2, np.nan, 0.01]), method)
    assert np.isnan(with_nan[1])
    assert with_nan[[0, 2]] == pytest.approx(adjust(np.array([0.2, 0.01]), method))
    assert adjust(np.array([]), method).size == 0
    assert adjust(np.array([0.9, 0.8]), method).max() <= 1
