"""Tests of shares, against scipy and against exact distributions worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact

from annot_pipeline.methods.numerics.shares import share_difference


def test_large_counts_are_tested_as_by_scipy():
    yes, n = np.array([60, 95, 80]), np.array([100, 110, 90])
    actual = share_difference(yes, n)
    assert actual.p_value == pytest.approx(chi2_contingency([yes, n - yes]).pvalue, rel=1e-9)
    assert (actual.lowest, actual.highest) == (0, 2)
    assert actual.difference == pytest.approx(80 / 90 - 0.6)


def test_small_counts_are_tested_exactly():
    yes, n = [1, 7], [8, 8]
    exact = fisher_exact([[1, 7], [7, 1]]).pvalue  # equal margins: both orders are the same
    assert share_difference(yes, n).p_value == pytest.approx(exact, abs=0.003)


def test_shares_that_are_equal():
    assert share_difference([5, 5], [10, 10]).p_value == 1
    assert share_difference([0, 0, 0], [3, 4, 5]).p_value == 1
    assert share_difference([9], [10]).p_value == 1


def test_few_false_alarms_where_shares_are_the_same():
    rng = np.random.default_rng(5)
    n = np.array([40, 60, 25, 80])
    p = [share_difference(rng.binomial(n, 0.9), n).p_value for _ in range(300)]
    assert np.mean(np.array(p) < 0.05) < 0.09


def test_the_order_of_groups_moves_no_p_value():
    yes, n = np.array([30, 50, 41]), np.array([50, 55, 60])
    order = np.array([2, 0, 1])
    assert share_difference(yes, n).p_value == pytest.approx(
        share_difference(yes[order], n[order]).p_value
    )


@pytest.mark.parametrize(("yes", "n"), [([], []), ([1], [0]), ([2], [1]), ([-1], [1])])
def test_counts_that_cannot_be(yes, n):
    with pytest.raises(ValueError, match="n_yes"):
        share_difference(yes, n)
