"""Agreement: invariances, bins and pairs."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.agreement.label_agreement import nominal_agreement
from annot_pipeline.methods.agreement.rating_counts import shared_items
from annot_pipeline.methods.agreement.scale_agreement import (
    binned_agreement,
    bins_of_edges,
    equal_bins,
    inter_judge_binned_agreement,
    percentile_places,
)
from annot_pipeline.methods.agreement.score_differences import (
    inter_judge_score_differences,
    score_differences,
)
from tests.methods.agreement_cases import METRICS, NAN, agree, crowd, values


def test_no_digit_depends_on_the_order_of_rows():
    items, judges, labels = crowd(per_item=6)
    judges[::7] = judges[1::7][: judges[::7].size]  # some repeats
    scores = np.random.default_rng(5).normal(50, 20, items.size)
    bins = equal_bins(np.clip(scores, 0, 100), 0, 100, 5)

    def everything(rows):
        i, j = items[rows], judges[rows]
        sizes = {"n_items": 60, "rounds": 20, "rng": 1}
        return (
            agree(i, j, labels[rows]),
            [
                krippendorff_alpha(i, scores[rows], n_units=60, metric=m, rounds=20, rng=1)
                for m in METRICS
            ],
            inter_judge_binned_agreement(i, j, bins[rows], n_judges=12, n_categories=5, **sizes),
            inter_judge_score_differences(i, j, scores[rows], **sizes),
            score_differences(scores[rows], bins[rows], i, **sizes),
            binned_agreement(bins[rows], labels[rows], i, n_categories=5, **sizes),
        )

    shuffled = np.random.default_rng(6).permutation(items.size)
    assert repr(everything(shuffled)) == repr(everything(np.arange(items.size)))


def test_repeats_of_a_judge_are_summed_in_one_order():
    rng = np.random.default_rng(0)
    items, judges, scores = np.zeros(60, np.int64), np.arange(60) % 3, rng.normal(0, 30, 60)
    sums = set()
    for _ in range(20):
        rows = rng.permutation(60)
        result = inter_judge_score_differences(
            items, judges[rows], scores[rows], n_items=1, rounds=0, rng=0
        )
        sums.add((result.mean.value, result.sd))
    assert len(sums) == 1


def test_copies_of_rows_add_no_agreement():
    """Of every row, or of all rows of one judge: no statistic but alpha's n - 1 sees the first."""
    items, judges, labels = crowd(3, n_items=40, n_judges=6, per_item=3)
    once = agree(items, judges, labels)
    thrice = agree(np.tile(items, 3), np.tile(judges, 3), np.tile(labels, 3))
    for name in ("percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1", "gwet_ac2"):
        assert getattr(thrice, name).value == pytest.approx(getattr(once, name).value), name
    n = labels.size
    disagreement = (1 - once.alpha_nominal.value) * n / (n - 1) * (3 * n - 1) / (3 * n)
    assert thrice.alpha_nominal.value == pytest.approx(1 - disagreement)
    alone = np.concatenate([np.arange(n), np.flatnonzero(judges == 2)])
    copied = agree(items[alone], judges[alone], labels[alone])
    assert copied.alpha_nominal.value == pytest.approx(once.alpha_nominal.value, abs=0.1)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_names_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    items, judges, labels = crowd(seed, n_items=15, n_judges=6, per_item=3)
    plain = agree(items, judges, labels, 7)
    renamed = agree(rng.permutation(40)[items], rng.permutation(30)[judges], labels, 7)
    np.testing.assert_allclose(values(renamed), values(plain), rtol=1e-12, atol=1e-14)
    other = agree(items, judges, rng.permutation(7)[labels], 7)
    nominal = slice(0, 6)  # the two that need an order come last
    np.testing.assert_allclose(
        values(other)[nominal], values(plain)[nominal], rtol=1e-12, atol=1e-14
    )
    turned = agree(items, judges, 6 - labels, 7)
    np.testing.assert_allclose(values(turned), values(plain), rtol=1e-12, atol=1e-14)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.floats(-1e4, 1e4), st.floats(1e-3, 1e3))
def test_each_metric_has_its_maps(seed, shift, scale):
    rng = np.random.default_rng(seed)
    units, numbers = rng.integers(8, size=30), np.round(rng.uniform(1, 9, 30), 1)

    def alpha(x, metric):
        return krippendorff_alpha(units, x, n_units=8, metric=metric, rounds=5, rng=1)

    def same(x, metric, tolerance):
        np.testing.assert_allclose(
            astuple(alpha(x, metric)), astuple(alpha(numbers, metric)), atol=tolerance
        )

    same(numbers * scale + shift, "interval", 1e-6)  # a great shift rounds the values themselves
    same(-numbers, "interval", 1e-12)
    same(numbers * scale, "ratio", 1e-12)
    same(np.exp(numbers), "ordinal", 1e-12)
    same(-numbers, "ordinal", 1e-12)
    same(rng.permutation(1000)[(numbers * 10).astype(int)], "nominal", 1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_alpha_neither_overflows_nor_vanishes(factor):
    units, numbers = [0, 0, 1, 1, 2, 2], np.array([1, 2, 3, 3, 5, 7])
    for metric in METRICS:
        plain = krippendorff_alpha(units, numbers, n_units=3, metric=metric, rounds=30, rng=0)
        scaled = krippendorff_alpha(
            units, numbers * factor, n_units=3, metric=metric, rounds=30, rng=0
        )
        assert astuple(scaled) == pytest.approx(astuple(plain), rel=1e-12)


def test_a_large_common_part_costs_no_digits():
    units, numbers = np.repeat(np.arange(50), 3), np.random.default_rng(1).integers(5, size=150)
    plain = krippendorff_alpha(units, numbers, n_units=50, metric="interval")
    moved = krippendorff_alpha(units, numbers + 2.0**50, n_units=50, metric="interval")
    assert moved.value == pytest.approx(plain.value, rel=1e-13)


def test_duplicated_items_change_shares_not_at_all():
    items, judges, labels = crowd()
    once = agree(items, judges, labels)
    twice = agree(np.concatenate([items, items + 60]), np.tile(judges, 2), np.tile(labels, 2))
    assert values(twice)[:4] == pytest.approx(values(once)[:4], rel=1e-12)


def test_equal_bins():
    scores = [0, 19.99, 20, 40, 59, 60, 80, 99, 100]
    assert equal_bins(scores, 0, 100, 5).tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 4]
    assert equal_bins([-1, 0, 1], -1, 1, 2).tolist() == [0, 1, 1]
    assert equal_bins(np.arange(101), 0, 100, 100).tolist() == [*range(100), 99]
    assert equal_bins([], 0, 1, 3).size == 0
    for wrong in ([101], [-1], [NAN]):
        with pytest.raises(ValueError, match="1 scores outside the scale 0 to 100"):
            equal_bins(wrong, 0, 100, 5)
    with pytest.raises(ValueError, match="nothing to cut"):
        equal_bins([1], 1, 1, 5)


def percentile_bins(z, k, reference):
    edges = np.sort(np.asarray(reference, float))[percentile_places(len(reference), k)]
    return bins_of_edges(np.asarray(z, float), edges)


def test_percentile_bins():
    z = np.random.default_rng(0).permutation(100) / 7
    for k in (2, 4, 5):
        bins = percentile_bins(z, k, z)
        assert np.bincount(bins).tolist() == [100 // k] * k
        assert (np.diff(bins[np.argsort(z)]) >= 0).all()
    # cut by all scores together, not by those that are binned
    assert percentile_bins([0.5, 1.5, 9.0], 2, [0, 1, 2, 3]).tolist() == [0, 1, 1]
    # on the edge is in the bottom part; ties in one bin
    assert percentile_bins([0, 1, 1, 1, 2], 2, [0, 1, 1, 1, 2]).tolist() == [0, 0, 0, 0, 1]
    assert percentile_bins([3, 3, 3], 5, [3, 3, 3]).tolist() == [0, 0, 0]
    assert np.bincount(percentile_bins(np.arange(49), 49, np.arange(49))).tolist() == [1] * 49


def test_binned_agreement_by_hand():
    result = binned_agreement(
        [0, 1, 2, 2], [0, 1, 2, 1], [0, 0, 1, 3], n_items=5, n_categories=5, rounds=200, rng=1
    )
    assert result.percent_agreement.value == 3 / 4
    assert result.kappa.value == pytest.approx((3 / 4 - 1 / 5) / (4 / 5))
    assert (result.n_items, result.n_pairs, result.n_categories) == (3, 4, 5)
    # resampling three items with 2, 1 and 1 pairs: the last alone gives 0, without it 1
    assert (result.percent_agreement.ci_low, result.percent_agreement.ci_high) == (0, 1)
    assert result.kappa.ci_low == pytest.approx(-1 / 4)


@pytest.mark.parametrize("seed", range(5))
def test_inter_judge_figures_are_those_of_their_pairs(seed):
    rng = np.random.default_rng(seed)
    items, judges = rng.integers(9, size=70), rng.integers(6, size=70)
    scores = rng.integers(101, size=70).astype(float)
    bins = equal_bins(scores, 0, 100, 4)
    pairs = combinations(range(items.size), 2)
    known = [(a, b) for a, b in pairs if items[a] == items[b] and judges[a] != judges[b]]
    first, second = np.array(known, np.int64).reshape(-1, 2).T
    sizes = {"n_items": 9, "rounds": 30, "rng": seed}
    assert inter_judge_binned_agreement(
        items, judges, bins, n_judges=6, n_categories=4, **sizes
    ) == binned_agreement(bins[first], bins[second], items[first], n_categories=4, **sizes)
    by_item = inter_judge_score_differences(items, judges, scores, **sizes)
    listed = score_differences(scores[first], scores[second], items[first], **sizes)
    assert astuple(by_item.mean) == pytest.approx(astuple(listed.mean), rel=1e-12)
    assert by_item.n_pairs == listed.n_pairs
    assert by_item.sd == pytest.approx(np.std(np.abs(scores[first] - scores[second]), ddof=1))
    shared, _ = shared_items(items, judges, n_items=9, n_judges=6)
    assert shared.sum() == by_item.n_items


def test_labels_without_an_order_have_no_ordinal_alpha_and_all_else():
    items, judges, labels = crowd()
    sizes = {"n_items": 60, "n_judges": 12, "n_labels": 4}
    ordered, plain = (
        nominal_agreement(items, judges, labels, **sizes, ordinal=o) for o in (True, False)
    )
    without = {
        name: replace(
            getattr(ordered, name), value=NAN, ci_low=NAN, ci_high=NAN,
            reason="the classes have no order",
        )
        for name in ("alpha_ordinal", "gwet_ac2")
    }  # fmt: skip
    assert ordered.alpha_ordinal.value > 0
    assert ordered.gwet_ac2.value > 0
    assert repr(plain) == repr(replace(ordered, **without))
