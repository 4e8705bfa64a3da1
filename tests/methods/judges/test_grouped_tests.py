"""Tests by group against scipy, group by group; and what decides where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from annot_pipeline.methods.judges.grouped_tests import mann_whitney, paired_t, signed_rank, welch

RNG = np.random.default_rng(3)
N_GROUPS = 40
GROUPS, OTHERS = RNG.integers(N_GROUPS, size=1600), RNG.integers(N_GROUPS, size=1200)
FIRST, SECOND = np.round(RNG.normal(1, 3, 1600)), np.round(RNG.normal(0, 3, 1200))  # with ties


def by_group():
    for group in range(N_GROUPS):
        yield group, FIRST[group == GROUPS], SECOND[group == OTHERS]


def test_paired_t():
    ours = paired_t(GROUPS, FIRST, n_groups=N_GROUPS)
    for group, x, _ in by_group():
        theirs = stats.ttest_1samp(x, 0, alternative="greater")
        assert ours.p_value[group] == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.statistic[group] == pytest.approx(theirs.statistic)
        assert (ours.n[group], ours.effect[group]) == (x.size, pytest.approx(x.mean()))


def test_welch():
    ours = welch(GROUPS, FIRST, OTHERS, SECOND, n_groups=N_GROUPS)
    for group, x, y in by_group():
        theirs = stats.ttest_ind(x, y, equal_var=False, alternative="greater")
        assert ours.p_value[group] == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.statistic[group] == pytest.approx(theirs.statistic)


def test_mann_whitney():
    ours = mann_whitney(GROUPS, FIRST, OTHERS, SECOND, n_groups=N_GROUPS)
    for group, x, y in by_group():
        theirs = stats.mannwhitneyu(x, y, alternative="greater", method="asymptotic")
        assert ours.p_value[group] == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.effect[group] == pytest.approx(x.mean() - y.mean())
        assert ours.n[group] == min(x.size, y.size)


def test_signed_rank():
    ours = signed_rank(GROUPS, FIRST, n_groups=N_GROUPS)
    for group, x, _ in by_group():
        theirs = stats.wilcoxon(x[x != 0], alternative="greater", method="approx", correction=True)
        assert ours.p_value[group] == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("test", [paired_t, signed_rank])
def test_one_difference_is_too_few(test):
    result = test(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]), n_groups=3)
    assert np.isnan(result.p_value).tolist() == [True, False, True]
    assert result.n.tolist() == [1, 2, 0]


def test_without_variance_the_means_decide():
    groups = np.repeat([0, 1, 2], 3)
    result = paired_t(groups, np.repeat([5.0, 0.0, -5.0], 3), n_groups=3)
    assert result.p_value.tolist() == [0, 1, 1]
    assert result.statistic.tolist() == [np.inf, 0, -np.inf]
    same = np.full(9, 7.0)  # a judge who gives everything one score
    for test in (welch, mann_whitney):
        assert test(groups, same, groups, same, n_groups=3).p_value.tolist() == [1, 1, 1]


@given(st.permutations(range(30)))
@settings(max_examples=20, deadline=None)
def test_order_of_rows_does_not_matter(order):
    groups, values = GROUPS[:30] % 3, FIRST[:30]
    a = mann_whitney(groups, values, groups, values + 1, n_groups=3)
    b = mann_whitney(groups[order], values[order], groups, values + 1, n_groups=3)
    np.testing.assert_allclose(a.p_value, b.p_value, rtol=1e-12)
