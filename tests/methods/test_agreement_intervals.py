"""Agreement: intervals, degenerate input."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from annot_pipeline.methods import agreement
from annot_pipeline.methods import krippendorff as alphas
from annot_pipeline.methods.agreement import nominal_agreement
from annot_pipeline.methods.krippendorff import krippendorff_alpha
from annot_pipeline.methods.rating_counts import overlap
from annot_pipeline.methods.scale_agreement import (
    binned_agreement,
    inter_judge_score_differences,
    score_differences,
)
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
