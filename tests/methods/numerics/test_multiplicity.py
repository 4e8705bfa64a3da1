"""Corrections against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.numerics.multiplicity import adjust, thresholds


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


@pytest.mark.parametrize("method", ["none", "holm", "benjamini_hochberg"])
def test_thresholds_are_what_one_p_has_to_fall_below(method):
    """Whatever a test that is not significant is replaced by, the others staying as they are."""
    draw = np.random.default_rng(3)
    n_compared = 0
    for _ in range(40):
        p = draw.uniform(size=draw.integers(1, 12)) ** 4
        actual = thresholds(p, method, 0.05)
        significant = adjust(p, method) < 0.05
        assert (p < actual).tolist() == significant.tolist()
        for test in np.flatnonzero(~significant):
            for factor in (0.99, 1.01):
                other = p.copy()
                other[test] = actual[test] * factor
                assert (adjust(other, method)[test] < 0.05) == (factor < 1)
                n_compared += 1
    assert n_compared > 100


@pytest.mark.parametrize(
    ("method", "expected"),
    # two tests, one significant: the third would be held against .05/2, or 2/3 of .05 in all
    [("none", 0.05), ("holm", 0.05 / 2), ("benjamini_hochberg", 0.05 * 2 / 3)],
)
def test_a_test_that_was_not_done_has_the_threshold_of_one_more(method, expected):
    p = np.array([0.001, np.nan, 0.9])
    assert thresholds(p, method, 0.05)[1] == pytest.approx(expected)
    assert thresholds(np.array([np.nan]), method, 0.05) == pytest.approx([0.05])
