"""Agreement: intervals, degenerate input."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest

from annot_pipeline.methods.agreement import agreement
from annot_pipeline.methods.agreement import krippendorff as alphas
from annot_pipeline.methods.agreement.agreement import ItemAgreement, nominal_agreement
from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.agreement.label_pairs import (
    JudgePairMeans,
    PairCounts,
    judge_pair_means,
)
from annot_pipeline.methods.agreement.rating_counts import overlap
from annot_pipeline.methods.agreement.rating_pairs import Partners
from annot_pipeline.methods.agreement.scale_agreement import (
    binned_agreement,
)
from annot_pipeline.methods.agreement.score_differences import (
    inter_judge_score_differences,
    score_differences,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import ItemResamples
from tests.methods.agreement_cases import METRICS, NAN, agree, crowd, statistics, values


def test_intervals_hold_their_value_and_shrink_with_items():
    few = agree(*crowd(n_items=100), rounds=200)
    many = agree(*crowd(n_items=1600), rounds=200)
    for name, statistic in statistics(few).items():
        more = statistics(many)[name]
        assert statistic.ci_low < statistic.value < statistic.ci_high
        assert more.ci_low < more.value < more.ci_high
        ratio = (more.ci_high - more.ci_low) / (statistic.ci_high - statistic.ci_low)
        assert 0.15 < ratio < 0.4, name  # a quarter, for sixteen times the items


def test_interval_of_a_share_is_the_binomial_one():
    same = np.random.default_rng(0).random(2000) < 0.7
    result = binned_agreement(
        same, np.ones(2000), np.arange(2000), n_items=2000, n_categories=2, rounds=2000, rng=0
    ).percent_agreement
    half = 1.96 * np.sqrt(result.value * (1 - result.value) / 2000)
    assert result.ci_low == pytest.approx(result.value - half, abs=0.1 * half)
    assert result.ci_high == pytest.approx(result.value + half, abs=0.1 * half)


def test_values_do_not_depend_on_rounds_and_intervals_only_on_the_seed():
    rows = crowd(n_judges=30, per_item=7)
    none, some = agree(*rows), agree(*rows, rounds=40, rng=7)
    assert values(none) == values(some)
    assert all(np.isnan([s.ci_low, s.ci_high]).all() for s in statistics(none).values())
    assert agree(*rows, rounds=40, rng=np.random.default_rng(7)) == some
    assert agree(*rows, rounds=40, rng=8) != some
    rng = np.random.default_rng(7)
    assert agree(*rows, rounds=40, rng=rng) != agree(*rows, rounds=40, rng=rng)


def test_items_with_one_label_take_no_part():
    items, judges, labels = crowd()
    alone = np.arange(60, 90)
    more = agree(
        np.concatenate([items, alone]),
        np.concatenate([judges, alone]),
        np.concatenate([labels, alone % 4]),
        rounds=30,
    )
    assert more == agree(items, judges, labels, rounds=30)


def test_rounds_without_a_value_are_left_out():
    # two units: drawn alone, either has no expected disagreement
    units, numbers = [0, 0, 1, 1], [0.1, 0.1, 0.7, 0.7]
    for metric in METRICS:
        result = krippendorff_alpha(units, numbers, n_units=2, metric=metric, rounds=50, rng=0)
        assert astuple(result)[:3] == (1, 1, 1), metric


@pytest.mark.parametrize("seed", range(10))
def test_on_two_values_interval_is_nominal_in_every_round(seed):
    # some rounds draw units of one value only, whose mean is rounded: no disagreement, no alpha
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(6), rng.integers(2, 9, 6))
    low, high = np.sort(rng.normal(size=2))
    numbers = np.where((units == 5) & (rng.random(units.size) < 0.5), high, low)
    numbers[-2:] = low, high
    interval, nominal = (
        krippendorff_alpha(units, numbers, n_units=6, metric=m, rounds=60, rng=seed)
        for m in ("interval", "nominal")
    )
    assert astuple(interval) == pytest.approx(astuple(nominal), rel=1e-9)


def test_full_agreement_is_one_to_the_last_digit():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(40), rng.integers(2, 12, 40))
    for metric in METRICS:
        result = krippendorff_alpha(
            units, rng.normal(size=40)[units], n_units=40, metric=metric, rounds=5, rng=0
        )
        assert astuple(result)[:3] == (1, 1, 1)


def is_undefined(statistic):
    return np.isnan(astuple(statistic)[:3]).all()


def test_nothing_at_all():
    result = nominal_agreement([], [], [], n_items=0, n_judges=0, n_labels=0, rounds=5, rng=0)
    assert all(is_undefined(s) for s in statistics(result).values())
    assert {s.n_items for s in statistics(result).values()} == {0}
    for metric in METRICS:
        alpha = krippendorff_alpha([], [], n_units=0, metric=metric, rounds=5, rng=0)
        assert is_undefined(alpha)
    sizes = {"n_items": 0, "rounds": 5, "rng": 0}
    assert np.isnan(binned_agreement([], [], [], n_categories=2, **sizes).kappa.value)
    empty = score_differences([], [], [], **sizes)
    assert np.isnan([empty.mean.value, empty.sd]).all()
    assert np.isnan(inter_judge_score_differences([], [], [], **sizes).sd)


def test_one_judge_is_no_agreement():
    result = agree([0, 1, 2], [0, 0, 0], [0, 1, 1], rounds=5)
    assert all(is_undefined(s) for s in statistics(result).values())
    repeated = agree([0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1], rounds=5)
    assert is_undefined(repeated.percent_agreement)
    assert is_undefined(repeated.cohen_kappa)
    assert repeated.alpha_nominal.value == 1
    assert overlap([0, 0], [3, 3], n_items=1, n_judges=4) == agreement.Overlap(0, 0)


def test_all_labels_equal():
    result = agree([0, 0, 1, 1], [0, 1, 0, 1], [2, 2, 2, 2], rounds=5)
    assert result.percent_agreement.value == result.pooled_percent_agreement.value == 1
    for name in ("cohen_kappa", "fleiss_kappa", "alpha_nominal", "alpha_ordinal"):
        assert is_undefined(statistics(result)[name]), name
    assert result.n_undefined_judge_pairs == 1
    for metric in METRICS:
        alpha = krippendorff_alpha([0, 0, 1], [0.3] * 3, n_units=2, metric=metric)
        assert np.isnan(alpha.value)


def test_one_item():
    result = agree([0, 0, 0], [0, 1, 2], [0, 0, 1], rounds=5)
    assert result.percent_agreement.value == pytest.approx(1 / 3)
    assert result.fleiss_kappa.value == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    assert result.alpha_nominal.value == 0
    for statistic in statistics(result).values():
        assert statistic.ci_low == statistic.ci_high == pytest.approx(statistic.value)


def test_one_pair_has_a_mean_and_no_sd():
    result = score_differences([3], [5], [0], n_items=1, rounds=3, rng=0)
    assert astuple(result.mean) == (2, 2, 2)
    assert np.isnan(result.sd)


def test_one_category_has_no_kappa():
    result = binned_agreement([0], [0], [0], n_items=1, n_categories=1, rounds=3, rng=0)
    assert result.percent_agreement.value == 1
    assert np.isnan(astuple(result.kappa)).all()


def test_too_many_values_for_the_ratio_metric(monkeypatch):
    monkeypatch.setattr(alphas, "MOST_RATIO_VALUES", 3)
    units, numbers = [0, 0, 1, 1], [1, 2, 3, 4]
    ratio = krippendorff_alpha(units, numbers, n_units=2, metric="ratio", rounds=3, rng=0)
    assert is_undefined(ratio)
    assert (ratio.n_units, ratio.n_values) == (2, 4)
    assert krippendorff_alpha(units, numbers, n_units=2, metric="interval").value > 0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"items": [0, 1]}, "one length"),
        ({"items": [0, 0, 9]}, "items holds codes 0 to 9, allowed are 0 to 1"),
        ({"judges": [0, -1, 0]}, "judges holds codes"),
        ({"labels": [0, 1, 3]}, "labels holds codes"),
        ({"rounds": -1}, "rounds is -1"),
        ({"n_judges": 2**40, "n_labels": 2**40}, "too many codes"),
    ],
)
def test_refuses_what_is_no_label(change, match):
    sizes = {"n_items": 2, "n_judges": 2, "n_labels": 3, "rounds": 0, "rng": 0}
    rows = {"items": [0, 0, 1], "judges": [0, 1, 0], "labels": [0, 1, 2]}
    with pytest.raises(ValueError, match=match):
        nominal_agreement(**rows | sizes | change)


def test_refuses_what_is_no_value():
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha([0], [NAN], n_units=1, metric="interval")
    with pytest.raises(ValueError, match="allowed are nominal, ordinal, interval, ratio"):
        krippendorff_alpha([0], [1], n_units=1, metric="cosine")
    with pytest.raises(ValueError, match="one length"):
        krippendorff_alpha([0], [1, 2], n_units=1, metric="interval")
    with pytest.raises(ValueError, match="allowed are 0 to 0"):
        krippendorff_alpha([1], [1], n_units=1, metric="interval")
    with pytest.raises(ValueError, match="rounds need rng"):
        krippendorff_alpha([0], [1], n_units=1, metric="interval", rounds=1)
    with pytest.raises(ValueError, match="finite"):
        score_differences([1.0], [np.inf], [0], n_items=1, rounds=0, rng=0)
    with pytest.raises(ValueError, match="one length"):
        score_differences([1.0, 2.0], [1.0], [0], n_items=1, rounds=0, rng=0)


# --- blocks of items -------------------------------------------------------------------------


def in_blocks(n_blocks, seed=7, n_items=60):
    """Labels of random items in blocks, and their codes as one."""
    rng = np.random.default_rng(seed)
    n = 400
    items, judges, labels = (
        rng.integers(n_items, size=n),
        rng.integers(9, size=n),
        rng.integers(4, size=n),
    )
    ends = np.linspace(0, n_items, n_blocks + 1).astype(np.int64)
    codes = LabelCodes(items, judges, labels, n_items, 9, 4)
    blocks = []
    for first, end in pairwise(ends):
        rows = (items >= first) & (items < end)
        blocks.append(
            LabelCodes(items[rows] - first, judges[rows], labels[rows], int(end - first), 9, 4)
        )
    return codes, blocks


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_sums_of_blocks_are_those_of_all_items(n_blocks):
    codes, blocks = in_blocks(n_blocks)
    whole, cells = ItemAgreement.from_codes(codes)
    parts = [ItemAgreement.from_codes(block)[0] for block in blocks]
    times = np.random.default_rng(1).integers(0, 4, (whole.n_items, 6)).astype(np.int16)
    drawn = np.split(times, np.cumsum([part.n_items for part in parts])[:-1])
    sums = sum(part.sums(of) for part, of in zip(parts, drawn, strict=True))
    assert sums == pytest.approx(whole.sums(times), rel=1e-12)
    ordinal = [part.ordinal_sum(of, sums) for part, of in zip(parts, drawn, strict=True)]
    assert sum(ordinal) == pytest.approx(whole.ordinal_sum(times, sums), rel=1e-12)
    counted = []
    for block in blocks:
        of_block = ItemAgreement.from_codes(block)[1]
        counted.append(
            PairCounts.from_cells(of_block, Partners.from_rows(of_block.items, of_block.judges))
        )
    found = JudgePairMeans.from_sums(PairCounts.joined(counted).sums(4))
    partners = Partners.from_rows(cells.items, cells.judges)
    none = ItemResamples.draw(whole.n_items, 0, 0)
    expected = judge_pair_means(cells, partners, none)
    assert (found.n_pairs, found.n_undefined) == (expected.n_pairs, expected.n_undefined)
    assert found.percent_agreement == pytest.approx(expected.percent_agreement, rel=1e-12)
    assert found.cohen_kappa == pytest.approx(expected.cohen_kappa, rel=1e-12)


def test_resamples_that_are_split_are_resamples_of_all_items():
    """Each draws as many items as there are; counts have the multinomial's mean and covariance."""
    n, rounds, sizes = 12, 40_000, [3, 0, 8, 1]
    split = ItemResamples.draw(n, rounds, 3).split(sizes)
    blocks = [np.concatenate([*of.counts(1000)], axis=1) for of in split if of.n_items]
    times = np.concatenate(blocks)
    assert (times[:, 0] == 1).all()
    drawn = times[:, 1:].astype(np.float64)
    assert (drawn.sum(axis=0) == n).all()
    assert drawn.mean(axis=1) == pytest.approx(np.ones(n), abs=0.02)
    covariance = np.cov(drawn)
    expected = np.eye(n) - 1 / n
    assert covariance == pytest.approx(expected, abs=0.04)
    again = ItemResamples.draw(n, rounds, 3).split(sizes)
    assert (np.concatenate([*again[2].counts(32)], axis=1) == blocks[1]).all()
