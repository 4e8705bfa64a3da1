"""Agreement of final ranks, held against scipy and a worked example."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from annot_pipeline.methods.agreement.rank_agreement import rank_agreement


def measured(rows, *, rounds=0, rng=1, **sizes):
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return rank_agreement(*columns, rounds=rounds, rng=rng, **sizes)


def ranked(segment, judge, ranks):
    return [(segment, judge, output, rank) for output, rank in enumerate(ranks) if rank]


def test_by_hand():
    rows = [
        *ranked(0, 0, [1, 2, 3]), *ranked(0, 1, [1, 3, 2]),  # both .5
        *ranked(1, 0, [1, 1, 2]), *ranked(1, 1, [2, 2, 2]),  # constant
        *ranked(2, 0, [1, 2, 3]), *ranked(2, 1, [1, 2, 0]),  # two common outputs
        *ranked(3, 0, [1, 2, 3, 0]), *ranked(3, 2, [0, 0, 0, 1]),  # none: no pair
        *ranked(4, 2, [1, 2, 9, 0, 5]), *ranked(4, 0, [1, 2, 3, 4, 0]),  # 1 2 9 and 1 2 3
    ]  # fmt: skip
    actual = measured(rows, rounds=50)
    r = pearsonr([1, 2, 9], [1, 2, 3]).statistic
    assert actual.pearson.value == pytest.approx((0.5 + r) / 2)
    assert actual.spearman.value == pytest.approx(0.75)
    assert (actual.pearson.ci_low, actual.pearson.ci_high) == pytest.approx((0.5, r))
    assert (actual.n_few, actual.n_constant) == (1, 1)
    assert (actual.n_segments, actual.n_judges) == (2, 3)
    assert actual.segments.tolist() == [0, 1, 2, 4]
    assert actual.second.tolist() == [1, 1, 1, 2]
    assert actual.n_common.tolist() == [3, 3, 2, 3]


rows = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 6)), st.integers(1, 4),
    max_size=70,
)  # fmt: skip


@given(rows, st.sampled_from([1, 7, 10**6]))
@settings(max_examples=60)
def test_correlations_are_those_of_scipy(ranks, common_at_once):
    """Also where the work is cut into many blocks."""
    expected = {}
    for segment, (one, other) in [
        (s, pair) for s in range(3) for pair in combinations(range(4), 2)
    ]:
        common = [o for o in range(7) if {(segment, one, o), (segment, other, o)} <= ranks.keys()]
        x, y = ([ranks[segment, judge, o] for o in common] for judge in (one, other))
        if common:
            defined = len(common) >= 3 and len(set(x)) > 1 and len(set(y)) > 1
            expected[segment, one, other] = (
                (pearsonr(x, y).statistic, spearmanr(x, y).statistic) if defined else (np.nan,) * 2
            )
    agreement = measured(
        [(*key, rank) for key, rank in ranks.items()], common_at_once=common_at_once
    )
    pairs = list(zip(agreement.segments, agreement.first, agreement.second, strict=True))
    assert pairs == sorted(expected)
    rhos = np.stack([agreement.of_pearson, agreement.of_spearman], axis=1)
    np.testing.assert_allclose(
        rhos, np.array([expected[p] for p in pairs]).reshape(-1, 2), atol=1e-12
    )
    n_undefined = np.isnan(agreement.of_pearson).sum()
    assert agreement.n_few + agreement.n_constant == n_undefined


def test_equal_ranks_have_their_average():
    """Full sets of nine outputs on four ranks: ties of every size, on both sides."""
    rng = np.random.default_rng(4)
    ranks = rng.integers(1, 5, (20, 2, 9))
    actual = measured(
        [row for s in range(20) for j in range(2) for row in ranked(s, j, ranks[s, j])]
    )
    expected = [spearmanr(x, y).statistic for x, y in ranks]
    np.testing.assert_allclose(actual.of_spearman, expected, atol=1e-12)


@given(rows, st.permutations(range(4)), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_order_and_names_change_nothing(ranks, judges, random):
    ours = [(*key, rank) for key, rank in ranks.items()]
    theirs = [(s, judges[j], 5 * o, rank) for s, j, o, rank in ours]
    random.shuffle(theirs)
    a, b = measured(ours, rounds=9), measured(theirs, rounds=9)
    for name in ("pearson", "spearman"):
        np.testing.assert_allclose(
            list(vars(getattr(a, name)).values()), list(vars(getattr(b, name)).values()), atol=1e-12
        )
    assert (a.n_few, a.n_constant, a.n_judges) == (b.n_few, b.n_constant, b.n_judges)


def test_nothing_is_undefined():
    actual = measured([], rounds=9)
    assert np.isnan([actual.pearson.value, actual.spearman.value]).all()
    assert (actual.n_segments, actual.n_judges, actual.n_few, actual.n_constant) == (0, 0, 0, 0)


def test_the_interval_draws_segments():
    """120 pairs of 16 judges of one segment are one draw."""
    rng, rows = np.random.default_rng(1), []
    for segment, n_judges in enumerate([16, 2, 2]):
        for judge in range(n_judges):
            order = np.arange(4) if segment else rng.permutation(4)
            rows += ranked(segment, judge, (order + 1).tolist())
    actual = measured(rows, rounds=300)
    alike = defaultdict(list)
    for segment, rho in zip(actual.segments.tolist(), actual.of_pearson, strict=True):
        alike[segment].append(rho)
    assert alike[1] == alike[2] == [1]
    assert actual.pearson.ci_high == pytest.approx(1)  # some draws lack segment 0
    assert actual.pearson.ci_low == pytest.approx(np.mean(alike[0]))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one length"):
        rank_agreement([0], [0, 1], [0], [1], rounds=0, rng=1)
    with pytest.raises(ValueError, match="0 or more"):
        measured([(0, -1, 0, 1)])
    with pytest.raises(ValueError, match="1 outputs are ranked twice"):
        measured([(0, 0, 0, 1), (0, 0, 0, 2)])
