"""Agreement: intervals, degenerate input."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.agreement.label_agreement import nominal_agreement
from annot_pipeline.methods.agreement.rating_counts import shared_items
from annot_pipeline.methods.agreement.scale_agreement import (
    binned_agreement,
)
from annot_pipeline.methods.agreement.score_differences import (
    inter_judge_score_differences,
    score_differences,
)
from tests.methods.agreement_cases import METRICS, NAN, agree, crowd, statistics


def logit(share):
    return np.log(share / (1 - share))


def test_intervals_hold_their_value_and_shrink_with_items():
    few = agree(*crowd(n_items=100, n_judges=60))
    many = agree(*crowd(n_items=1600, n_judges=960))
    for name, statistic in statistics(few).items():
        more = statistics(many)[name]
        assert statistic.ci_low < statistic.value < statistic.ci_high
        if name != "percent_agreement":  # a pair of judges shares an item at most
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


def test_items_with_one_label_count_for_gwet_alone():
    items, judges, labels = crowd()
    alone = np.arange(60, 90)
    more = agree(
        np.concatenate([items, alone]),
        np.concatenate([judges, alone - 55]),
        np.concatenate([labels, alone % 4]),
    )
    few = agree(items, judges, labels)
    for name, statistic in statistics(few).items():
        if name.startswith("gwet"):
            assert statistics(more)[name].value != statistic.value
        else:
            assert astuple(statistics(more)[name])[:3] == pytest.approx(
                astuple(statistic)[:3], rel=1e-12
            )


def test_intervals_cost_no_draws_and_are_the_same_again():
    assert agree(*crowd()) == agree(*crowd())


def test_an_interval_of_items_alone_is_the_binomial_one():
    """Two judges: their interval is the one of a share of items, on the scale of logits."""
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=400)
    second = np.where(rng.random(400) < 0.8, first, 1 - first)
    items, judges = np.tile(np.arange(400), 2), np.repeat([0, 1], 400)
    result = agree(items, judges, np.concatenate([first, second]))
    share = result.pooled_percent_agreement
    p = (first == second).mean()
    error = 1 / np.sqrt(400 * p * (1 - p))
    assert logit(share.value) == pytest.approx(logit(p))
    for end, sign in ((share.ci_low, -1), (share.ci_high, 1)):
        assert logit(end) == pytest.approx(logit(p) + sign * 1.96 * error, abs=0.03 * error)
    assert share.reason == "interval for these judges only: fewer than 4"
    assert agree(*crowd()).cohen_kappa.reason is None


def test_judges_who_differ_widen_the_interval():
    """Half of the judges guess; with the guesses spread over all judges, judges are alike."""
    rng = np.random.default_rng(2)
    items, judges = np.repeat(np.arange(300), 12), np.tile(np.arange(12), 300)
    truth = rng.integers(2, size=300)[items]
    guess = rng.integers(2, size=items.size)
    by_judge = np.where(judges < 6, guess, truth)
    by_chance = np.where(rng.random(items.size) < 0.5, guess, truth)
    wide, narrow = (agree(items, judges, labels) for labels in (by_judge, by_chance))
    for name in ("cohen_kappa", "percent_agreement", "gwet_ac1", "alpha_nominal"):
        first, second = (statistics(result)[name] for result in (wide, narrow))
        assert first.ci_high - first.ci_low > 4 * (second.ci_high - second.ci_low), name


def test_one_judge_in_half_of_the_pairs_is_no_sample_of_judges():
    """Ten judges, each compared with an expert alone: intervals are of these judges."""
    items = np.repeat(np.arange(200), 2)
    judges = np.stack([np.zeros(200, np.int64), 1 + np.arange(200) % 10], axis=1).ravel()
    labels = np.random.default_rng(1).integers(3, size=400)
    result = agree(items, judges, labels)
    assert result.cohen_kappa.n_judges == 11
    assert result.cohen_kappa.reason == "interval for these judges only: fewer than 4"


@pytest.mark.parametrize(("n_items", "has_interval"), [(19, False), (20, True)])
def test_few_items_have_no_interval(n_items, has_interval):
    result = agree(*crowd(n_items=n_items))
    for statistic in statistics(result).values():
        assert np.isnan([statistic.ci_low, statistic.ci_high]).any() != has_interval
        expected = None if has_interval else "fewer than 20 items for an interval"
        assert statistic.reason == expected


def test_a_rare_class_has_no_interval_of_what_chance_shares_correct():
    """100 items, 5 judges: one item in twenty is of the other class."""
    items, judges = np.repeat(np.arange(100), 5), np.tile(np.arange(5), 100)
    labels = (items % 20 == 0).astype(np.int64)
    labels[::31] = 1 - labels[::31]
    result = agree(items, judges, labels)
    reason = "too few labels outside the most frequent class for an interval"
    for name, statistic in statistics(result).items():
        has_interval = name.startswith("gwet") or "percent" in name
        assert statistic.reason == (None if has_interval else reason), name
        assert np.isnan(statistic.ci_low) != has_interval


def test_cohen_does_not_shrink_where_pairs_of_judges_share_few_items():
    """200 judges with 15 labels each, of two classes: pairs share an item or two; kappa is .64."""
    kappas = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        items = np.repeat(np.arange(1000), 3)
        judges = np.argsort(rng.random((1000, 200)), axis=1)[:, :3].ravel()
        truth = rng.integers(2, size=1000)[items]
        kappas.append(agree(items, judges, truth ^ (rng.random(3000) < 0.1)).cohen_kappa)
    assert np.mean([k.value for k in kappas]) == pytest.approx(0.64, abs=0.015)
    assert all(k.ci_low < k.value < k.ci_high for k in kappas)
    assert np.mean([k.ci_low < 0.64 < k.ci_high for k in kappas]) > 0.7


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
    result = nominal_agreement([], [], [], n_items=0, n_judges=0, n_labels=0)
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
    result = agree([0, 1, 2], [0, 0, 0], [0, 1, 1])
    assert all(is_undefined(s) for s in statistics(result).values())
    repeated = agree([0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1])
    assert all(is_undefined(s) for s in statistics(repeated).values())
    assert repeated.alpha_nominal.reason == "no item has labels by two judges"
    assert not np.concatenate(shared_items([0, 0], [3, 3], n_items=1, n_judges=4)).any()


def test_all_labels_equal():
    result = agree([0, 0, 1, 1], [0, 1, 0, 1], [2, 2, 2, 2])
    assert result.percent_agreement.value == result.pooled_percent_agreement.value == 1
    for name in ("cohen_kappa", "fleiss_kappa", "alpha_nominal", "alpha_ordinal"):
        assert is_undefined(statistics(result)[name]), name
        assert result.fleiss_kappa.reason == "all labels are of one class"
    assert result.gwet_ac1.value == 1
    assert result.gwet_ac1.reason == result.percent_agreement.reason == "all pairs of labels agree"
    for metric in METRICS:
        alpha = krippendorff_alpha([0, 0, 1], [0.3] * 3, n_units=2, metric=metric)
        assert np.isnan(alpha.value)


def test_one_item():
    result = agree([0, 0, 0], [0, 1, 2], [0, 0, 1])
    assert result.percent_agreement.value == pytest.approx(1 / 3)
    assert result.fleiss_kappa.value == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    assert result.alpha_nominal.value == 0
    for statistic in statistics(result).values():
        assert statistic.reason == "fewer than 20 items for an interval"


def test_one_pair_has_a_mean_and_no_sd():
    result = score_differences([3], [5], [0], n_items=1, rounds=3, rng=0)
    assert astuple(result.mean) == (2, 2, 2)
    assert np.isnan(result.sd)


def test_one_category_has_no_kappa():
    result = binned_agreement([0], [0], [0], n_items=1, n_categories=1, rounds=3, rng=0)
    assert result.percent_agreement.value == 1
    assert np.isnan(astuple(result.kappa)).all()


def test_too_many_values_for_the_ratio_metric():
    units, numbers = [0, 0, 1, 1], [1, 2, 3, 4]
    ratio = krippendorff_alpha(
        units, numbers, n_units=2, metric="ratio", rounds=3, rng=0, most_ratio_values=3
    )
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
        ({"n_judges": 2**40, "n_labels": 2**40}, "too many codes"),
    ],
)
def test_refuses_what_is_no_label(change, match):
    sizes = {"n_items": 2, "n_judges": 2, "n_labels": 3}
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
