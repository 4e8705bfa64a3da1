"""Agreement: published and hand-worked numbers, the peer package, invariances, degenerate input."""

from __future__ import annotations

from dataclasses import astuple, fields
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods import agreement, bootstrap
from annot_pipeline.methods import krippendorff as alphas
from annot_pipeline.methods.agreement import AgreementStatistic, nominal_agreement
from annot_pipeline.methods.bootstrap import Estimate, ItemResamples
from annot_pipeline.methods.krippendorff import krippendorff_alpha
from annot_pipeline.methods.rating_counts import overlap
from annot_pipeline.methods.scale_agreement import (
    binned_agreement,
    equal_bins,
    inter_judge_binned_agreement,
    inter_judge_score_differences,
    kappa_of_share,
    percentile_bins,
    score_differences,
)

METRICS = ["nominal", "ordinal", "interval", "ratio"]
NAN = np.nan


def agree(items, judges, labels, rounds=0, rng=0):
    """All statistics, code ranges taken from the data."""
    sizes = [int(max(codes, default=-1)) + 1 for codes in (items, judges, labels)]
    return nominal_agreement(
        items,
        judges,
        labels,
        n_items=sizes[0],
        n_judges=sizes[1],
        n_labels=sizes[2],
        rounds=rounds,
        rng=rng,
    )


def from_counts(counts):
    """Ratings of a table units x categories; judges are the places in the unit."""
    counts = np.asarray(counts)
    items, labels = (np.repeat(c, counts[counts > 0]) for c in np.nonzero(counts))
    judges = np.concatenate([np.arange(n) for n in counts.sum(axis=1)])
    return items, judges, labels


def from_table(table):
    """Long form of a table judges x units with NaN for missing values."""
    table = np.asarray(table, np.float64)
    judges, units = np.nonzero(~np.isnan(table))
    return units, judges, table[judges, units]


def two_judges(confusion):
    """Labels of two judges with these counts [first label, second label]."""
    confusion = np.asarray(confusion)
    first, second = (np.repeat(c, confusion[confusion > 0]) for c in np.nonzero(confusion))
    items = np.arange(first.size)
    labels = np.concatenate([first, second])
    return np.tile(items, 2), np.repeat([0, 1], first.size), labels


def crowd(seed=0, n_items=60, n_judges=12, n_labels=4, per_item=5, right=0.6):
    rng = np.random.default_rng(seed)
    judges = np.argsort(rng.random((n_items, n_judges)), axis=1)[:, :per_item].ravel()
    items = np.repeat(np.arange(n_items), per_item)
    truth = rng.integers(n_labels, size=n_items)[items]
    labels = np.where(
        rng.random(items.size) < right, truth, rng.integers(n_labels, size=items.size)
    )
    return items, judges, labels


def statistics(result):
    return {
        f.name: getattr(result, f.name)
        for f in fields(result)
        if isinstance(getattr(result, f.name), AgreementStatistic)
    }


def values(result):
    return [s.value for s in statistics(result).values()]


# --- published and worked by hand


# Graham et al. 2013: categories, Pr(a), kappa as printed
TABLE_2 = [
    *[(5, 0.604, "0.505"), (5, 0.614, "0.517")],
    *[(5, 0.597, "0.496"), (4, 0.646, "0.528"), (2, 0.852, "0.704")],
    *[(5, 0.718, "0.647"), (4, 0.721, "0.629"), (2, 0.900, "0.800")],
]
TABLE_3 = [
    *[(5, 0.330, "0.16"), (5, 0.268, "0.084")],
    *[(5, 0.295, "0.119"), (4, 0.381, "0.174"), (2, 0.665, "0.331")],
    *[(5, 0.303, "0.128"), (4, 0.385, "0.180"), (2, 0.668, "0.335")],
    *[(5, 0.302, "0.1272"), (4, 0.355, "0.1403"), (2, 0.755, "0.5097")],
    *[(5, 0.335, "0.169"), (4, 0.445, "0.260"), (2, 0.738, "0.475")],
]


@pytest.mark.parametrize(("k", "share", "printed"), TABLE_2 + TABLE_3)
def test_kappas_of_graham_2013(k, share, printed):
    # half the last digit of kappa, and what half the last digit of Pr(a), 0.1%, makes of it
    half_digit = 0.5 * 10.0 ** -len(printed.split(".")[1])
    tolerance = half_digit + 0.0005 / (1 - 1 / k) + 1e-12
    assert float(kappa_of_share(share, k)) == pytest.approx(float(printed), abs=tolerance)


def test_kappas_of_graham_2013_that_their_own_share_does_not_print():
    """Seven come out another in the last digit, all explained by the rounding of Pr(a)."""
    off = [
        (k, share, printed)
        for k, share, printed in TABLE_2 + TABLE_3
        if len(printed) == 5 and abs(kappa_of_share(share, k) - float(printed)) > 0.0005 + 1e-9
    ]
    assert off == [
        (4, 0.721, "0.629"),
        (5, 0.268, "0.084"),
        (4, 0.381, "0.174"),
        (2, 0.665, "0.331"),
        (5, 0.303, "0.128"),
        (2, 0.668, "0.335"),
        (2, 0.738, "0.475"),
    ]


def test_cohen_by_hand():
    # observed .70; chance .50 .60 + .30 .30 + .20 .10 = .41; (.70 - .41) / (1 - .41)
    result = agree(*two_judges([[44, 5, 1], [7, 20, 3], [9, 5, 6]]))
    assert result.percent_agreement.value == pytest.approx(0.70)
    assert result.cohen_kappa.value == pytest.approx(0.29 / 0.59)
    assert (result.cohen_kappa.n_items, result.cohen_kappa.n_judges) == (100, 2)
    # Scott's pi of the same: pooled shares .55 .30 .15, chance .415
    assert result.fleiss_kappa.value == pytest.approx((0.70 - 0.415) / (1 - 0.415))


def test_fleiss_1971_psychiatric_diagnoses():
    table = (
        "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
        "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
    )
    counts = np.array([[int(n) for n in row] for row in table.split()])
    assert counts.sum(axis=0).tolist() == [26, 26, 30, 55, 43]
    result = agree(*from_counts(counts))
    assert round(result.fleiss_kappa.value, 3) == 0.430
    assert round(result.pooled_percent_agreement.value, 3) == 0.556


def test_fleiss_ten_subjects_fourteen_judges():
    rows = "0 0 0 0 14,0 2 6 4 2,0 0 3 5 6,0 3 9 2 0,2 2 8 1 1,7 7 0 0 0,3 2 6 3 0,2 5 3 2 2,"
    counts = [[int(n) for n in row.split()] for row in f"{rows}6 5 2 1 0,0 2 2 3 7".split(",")]
    assert round(agree(*from_counts(counts)).fleiss_kappa.value, 3) == 0.210


KRIPPENDORFF_2011 = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(
    ("metric", "alpha"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_krippendorff_2011_section_d(metric, alpha):
    units, judges, numbers = from_table(KRIPPENDORFF_2011)
    result = krippendorff_alpha(units, numbers, n_units=12, metric=metric)
    assert round(result.value, 3) == alpha
    assert (result.n_units, result.n_values) == (11, 40)  # unit 12 has one value
    labelled = agree(units, judges, numbers.astype(int))
    if metric in {"nominal", "ordinal"}:
        assert statistics(labelled)[f"alpha_{metric}"].value == pytest.approx(result.value)


def test_three_ways_to_average_agreement_by_hand():
    # judges 0 and 1 share three items and agree on all, 0 and 2 share one and do not
    items, judges = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 0, 1, 0, 2]
    result = agree(items, judges, [0, 0, 0, 0, 1, 1, 0, 1])
    assert result.percent_agreement.value == (1 + 0) / 2
    assert result.pooled_percent_agreement.value == 3 / 4
    assert result.cohen_kappa.value == (1 + 0) / 2
    chance = (5**2 + 3**2) / 8**2
    assert result.fleiss_kappa.value == pytest.approx((3 / 4 - chance) / (1 - chance))
    assert (result.n_judge_pairs, result.n_undefined_judge_pairs, result.n_label_pairs) == (2, 0, 4)


def test_a_judge_is_no_pair_with_itself():
    # item 0: judge 0 says 0 and 1, judge 1 says 0; item 1: judge 0 alone, twice
    result = agree([0, 0, 0, 1, 1], [0, 0, 1, 0, 0], [0, 1, 0, 1, 1])
    assert result.n_label_pairs == 2
    assert result.percent_agreement.value == result.pooled_percent_agreement.value == 1 / 2
    # but three ratings of item 0 and two of item 1 as a table of units x ratings
    share, chance = (1 / 3 + 1) / 2, (2**2 + 3**2) / 5**2
    assert result.fleiss_kappa.value == pytest.approx((share - chance) / (1 - chance))
    assert result.alpha_nominal.value == pytest.approx(1 - 4 * (4 / 2) / (5 * 5 - 4 - 9))
    assert (result.percent_agreement.n_items, result.fleiss_kappa.n_items) == (1, 2)


def test_repeats_weigh_in_both_judges_shares():
    # pairs of labels of judges 0 and 1: (0, 0), (1, 0) on item 0; (1, 1) on item 1
    result = agree([0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 1])
    chance = 1 / 3 * 2 / 3 + 2 / 3 * 1 / 3
    assert result.cohen_kappa.value == pytest.approx((2 / 3 - chance) / (1 - chance))


def test_pairs_with_full_chance_agreement_are_counted_and_left_out():
    items, judges = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    result = agree(items, judges, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1])
    assert (result.n_judge_pairs, result.n_undefined_judge_pairs) == (3, 1)
    assert result.cohen_kappa.value == 0  # both others: observed .5, chance .5
    assert result.percent_agreement.value == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_score_differences_by_hand():
    result = score_differences([10, 50, 90], [20, 30, 30], [0, 0, 1], n_items=3, rounds=0, rng=0)
    assert result.mean.value == pytest.approx(30)
    assert result.sd == pytest.approx(np.std([10, 20, 60], ddof=1))
    assert (result.n_items, result.n_pairs) == (2, 3)


# --- against plain definitions and the peer package


def plain_nominal(items, judges, labels, weights):
    """Percent, pooled, Cohen and Fleiss from lists, one pair at a time."""
    by_pair, shares, share_weights, n = {}, [], [], {}
    for item, weight in weights.items():
        rows = [(j, k) for i, j, k in zip(items, judges, labels, strict=True) if i == item]
        if not weight:
            continue
        pairs = [sorted(pair) for pair in combinations(rows, 2)]
        for (m, k), (other, c) in pairs:
            if m != other:
                cell = by_pair.setdefault((m, other), {})
                cell[k, c] = cell.get((k, c), 0) + weight
        shares.append(np.mean([a[1] == b[1] for a, b in pairs]))
        share_weights.append(weight)
        for _, k in rows:
            n[k] = n.get(k, 0) + weight
    observed, kappas, agreeing, total = [], [], 0, 0
    for cell in by_pair.values():
        size, same = sum(cell.values()), sum(v for (a, b), v in cell.items() if a == b)
        observed.append(same / size)
        agreeing, total = agreeing + same, total + size
        chance = sum(v * w for (a, _), v in cell.items() for (_, b), w in cell.items() if a == b)
        if chance != size**2:
            kappas.append((same / size - chance / size**2) / (1 - chance / size**2))
    fleiss = NAN
    if len(n) > 1:
        chance = sum(v**2 for v in n.values()) / sum(n.values()) ** 2
        fleiss = (np.average(shares, weights=share_weights) - chance) / (1 - chance)
    return [
        np.mean(observed) if observed else NAN,
        agreeing / total if total else NAN,
        np.mean(kappas) if kappas else NAN,
        fleiss,
    ]


@pytest.mark.parametrize("in_block", [1, 7, None])
@pytest.mark.parametrize("seed", range(12))
def test_values_and_intervals_are_those_of_plain_loops(monkeypatch, seed, in_block):
    if in_block:  # judge pairs in many small blocks, few rounds at a time
        monkeypatch.setattr(agreement, "_FEWEST_IN_BLOCK", in_block)
        monkeypatch.setattr(agreement, "_MOST_IN_BLOCK", in_block)
        monkeypatch.setattr(bootstrap, "_BUDGET", 500)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    items, judges, labels = (rng.integers(size, size=n) for size in rng.integers(2, 9, size=3))
    result = agree(items, judges, labels, rounds=9, rng=seed)
    codes, counts = np.unique(items, return_counts=True)
    kept = codes[counts > 1].tolist()
    weights = np.concatenate(list(ItemResamples.draw(len(kept), 9, seed).chunks(4)), axis=1)
    plain = np.array(
        [
            plain_nominal(items, judges, labels, dict(zip(kept, w, strict=True)))
            for w in weights.T.astype(int).tolist()
        ]
    )
    found = [
        result.percent_agreement,
        result.pooled_percent_agreement,
        result.cohen_kappa,
        result.fleiss_kappa,
    ]
    for statistic, replicates in zip(found, plain.T, strict=True):
        np.testing.assert_allclose(
            astuple(statistic)[:3], astuple(Estimate.of(replicates)), rtol=1e-12, atol=1e-12
        )


def random_table(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers((2, 2), (8, 25)))
    kinds = [
        rng.integers(0, rng.integers(2, 8), shape).astype(float),
        rng.uniform(0, 100, shape),
        np.round(rng.normal(20, 6, shape)),
        np.round(rng.normal(0, 2, shape)),  # zeros, and sums of zero
    ]
    table = kinds[seed % 4]
    table[rng.random(shape) < rng.uniform(0, 0.6)] = NAN
    return table


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(40))
def test_alpha_is_that_of_the_krippendorff_package(monkeypatch, seed, metric):
    if seed >= 20:
        monkeypatch.setattr(alphas, "_PAIRS_AT_ONCE", 11)  # chunks within units and of values
    table = random_table(seed)
    units, _, numbers = from_table(table)
    result = krippendorff_alpha(units, numbers, n_units=table.shape[1], metric=metric)
    if not result.n_units or len(set(numbers[np.bincount(units)[units] > 1])) < 2:
        assert np.isnan(result.value)
        return
    peer = krippendorff.alpha(table, level_of_measurement=metric)
    assert result.value == pytest.approx(peer, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_each_round_of_alpha_is_alpha_of_the_resample(monkeypatch, metric):
    table = random_table(2)
    units, _, numbers = from_table(table)
    seen = []
    monkeypatch.setattr(Estimate, "of", lambda r: seen.append(r) or Estimate(*r[[0, 1, 2]]))
    krippendorff_alpha(units, numbers, n_units=table.shape[1], metric=metric, rounds=20, rng=3)
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    weights = np.concatenate(list(ItemResamples.draw(table.shape[1], 20, 3).chunks(7)), axis=1)
    peers = [
        krippendorff.alpha(np.repeat(table, w, axis=1), level_of_measurement=metric)
        for w in weights.T.astype(int)
    ]
    np.testing.assert_allclose(seen[0], peers, rtol=1e-9, atol=1e-12)


def test_labels_and_values_give_one_alpha_and_one_interval():
    items, judges, labels = crowd()
    result = agree(items, judges, labels, rounds=50, rng=4)
    for metric in ("nominal", "ordinal"):
        alpha = krippendorff_alpha(items, labels, n_units=60, metric=metric, rounds=50, rng=4)
        found = statistics(result)[f"alpha_{metric}"]
        assert astuple(found)[:3] == astuple(alpha)[:3]


# --- invariances


def test_no_digit_depends_on_the_order_of_rows():
    items, judges, labels = crowd(per_item=6)
    judges[::7] = judges[1::7][: judges[::7].size]  # some repeats
    scores = np.random.default_rng(5).normal(50, 20, items.size)
    bins = equal_bins(np.clip(scores, 0, 100), 0, 100, 5)

    def everything(rows):
        i, j = items[rows], judges[rows]
        sizes = {"n_items": 60, "rounds": 20, "rng": 1}
        return (
            agree(i, j, labels[rows], rounds=20, rng=1),
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


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_names_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    items, judges, labels = crowd(seed, n_items=15, n_judges=6, per_item=3)
    plain = agree(items, judges, labels)
    renamed = agree(rng.permutation(40)[items], rng.permutation(30)[judges], labels)
    np.testing.assert_allclose(values(renamed), values(plain), rtol=1e-12, atol=1e-14)
    other = agree(items, judges, rng.permutation(7)[labels])
    nominal = slice(0, 5)  # alpha_ordinal comes last
    np.testing.assert_allclose(
        values(other)[nominal], values(plain)[nominal], rtol=1e-12, atol=1e-14
    )
    turned = agree(items, judges, labels.max() - labels)
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


# --- bins and pairs


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
    assert percentile_bins([], 4, []).size == 0
    with pytest.raises(ValueError, match="finite"):
        percentile_bins([NAN], 2, [1.0])
    with pytest.raises(ValueError, match="no reference"):
        percentile_bins([1.0], 2, [])


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
    assert overlap(items, judges, n_items=9, n_judges=6).n_items == by_item.n_items


# --- intervals


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


# --- degenerate input


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
