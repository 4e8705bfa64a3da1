"""Agreement: published and worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.agreement.scale_agreement import (
    kappa_of_share,
)
from annot_pipeline.methods.agreement.score_differences import (
    score_differences,
)
from tests.methods.agreement_cases import (
    NAN,
    agree,
    from_counts,
    from_table,
    statistics,
    two_judges,
)

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
    # judge 0 says 0 three times of 4, judge 1 two of 3, judge 2 never: 3 pairs and 1
    expected = (3 * (3 / 4 * 2 / 3 + 1 / 4 * 1 / 3) + 1 / 4) / 4
    assert result.cohen_kappa.value == pytest.approx((3 / 4 - expected) / (1 - expected))
    chance = (5**2 + 3**2) / 8**2
    assert result.fleiss_kappa.value == pytest.approx((3 / 4 - chance) / (1 - chance))
    assert (result.n_judge_pairs, result.n_label_pairs) == (2, 4)


def test_a_judge_is_no_pair_with_itself():
    # item 0: judge 0 says 0 and 1, judge 1 says 0; item 1: judge 0 alone, twice
    result = agree([0, 0, 0, 1, 1], [0, 0, 1, 0, 0], [0, 1, 0, 1, 1])
    assert result.n_label_pairs == 2
    assert result.percent_agreement.value == result.pooled_percent_agreement.value == 1 / 2
    share, chance = 1 / 2, (2**2 + 1**2) / 3**2
    assert result.fleiss_kappa.value == pytest.approx((share - chance) / (1 - chance))
    assert result.alpha_nominal.value == pytest.approx(1 - (1 - share) / (2 / 3))
    assert result.percent_agreement.n_items == result.fleiss_kappa.n_items == 1


def test_repeats_weigh_in_both_judges_shares():
    # pairs of labels of judges 0 and 1: (0, 0), (1, 0) on item 0; (1, 1) on item 1
    result = agree([0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 1])
    chance = 1 / 3 * 2 / 3 + 2 / 3 * 1 / 3
    assert result.cohen_kappa.value == pytest.approx((2 / 3 - chance) / (1 - chance))


def test_pairs_with_full_chance_agreement_count_as_any():
    items, judges = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    result = agree(items, judges, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1])
    assert result.n_judge_pairs == 3
    # observed (4 + 2 + 2) / 12; chance 1 of one pair, 1/2 of both others
    assert result.cohen_kappa.value == pytest.approx(0, abs=1e-15)
    assert result.percent_agreement.value == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_score_differences_by_hand():
    result = score_differences([10, 50, 90], [20, 30, 30], [0, 0, 1], n_items=3, rounds=0, rng=0)
    assert result.mean.value == pytest.approx(30)
    assert result.sd == pytest.approx(np.std([10, 20, 60], ddof=1))
    assert (result.n_items, result.n_pairs) == (2, 3)


def test_gwet_and_others_of_three_abstractors():
    """100 pregnancies (Gwet 2014), two abstractors; as irrCAC 1.0 prints them."""
    result = agree(*two_judges([[13, 0, 0], [0, 20, 7], [0, 4, 56]]))
    printed = {
        "cohen_kappa": 0.7964094, "fleiss_kappa": 0.7962397, "gwet_ac1": 0.8493305,
        "alpha_nominal": 0.7972585, "pooled_percent_agreement": 0.89,
    }  # fmt: skip
    for name, value in printed.items():
        assert statistics(result)[name].value == pytest.approx(value, abs=5e-8), name


def test_gwet_of_four_raters_with_missing_labels():
    """AC1 .77544, AC2 with quadratic weights .914: irrCAC, cac.raw4raters, unit 12 included."""
    units, judges, numbers = from_table(KRIPPENDORFF_2011)
    result = agree(units, judges, numbers.astype(int) - 1)
    assert round(result.gwet_ac1.value, 5) == 0.77544
    assert round(result.gwet_ac2.value, 5) == 0.914


def test_gwet_by_hand():
    # two judges, ten items, nine "yes" of both and one of one: pi = .95, chance 2 .95 .05 = .095
    result = agree(*two_judges([[9, 1], [0, 0]]))
    assert result.gwet_ac1.value == pytest.approx((0.9 - 0.095) / (1 - 0.095))
    # the paradox of high agreement and low kappa
    assert result.cohen_kappa.value == pytest.approx(0, abs=1e-15)
    # a third class that nobody used: chance .095 / 2
    wider = agree(*two_judges([[9, 1], [0, 0]]), n_labels=3)
    assert wider.gwet_ac1.value == pytest.approx((0.9 - 0.0475) / (1 - 0.0475))
    # AC2: agreement .9 + .1 (1 - 1/4); weights sum to 3 + 4 (3/4) = 6, chance 6/6 .095
    assert wider.gwet_ac2.value == pytest.approx((0.975 - 0.095) / (1 - 0.095))


TEN_ITEMS = ["2102", "0212", "1101", "2112", "2222", "1121", "2021", "1001", "1002", "1011"]


def test_a_complete_table_has_the_coefficients_of_irrcac():
    """Ten items, four raters: Conger's kappa is Cohen's pooled over pairs of judges."""
    table = np.array([[int(label) for label in row] for row in TEN_ITEMS])
    items, judges = np.indices(table.shape)
    result = agree(items.ravel(), judges.ravel(), table.ravel())
    printed = {
        "cohen_kappa": 0.07035, "fleiss_kappa": 0.04578, "gwet_ac1": 0.08895,
        "gwet_ac2": 0.28151, "pooled_percent_agreement": 0.38333, "percent_agreement": 0.38333,
    }  # fmt: skip
    for name, value in printed.items():
        assert round(statistics(result)[name].value, 5) == value, name


@pytest.mark.parametrize("seed", range(5))
def test_cohen_of_two_judges_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=30)
    second = np.where(rng.random(30) < 0.5, first, rng.integers(4, size=30))
    labels = np.concatenate([first, second])
    result = agree(np.tile(np.arange(30), 2), np.repeat([0, 1], 30), labels)
    assert result.cohen_kappa.value == pytest.approx(cohen_kappa_score(first, second), rel=1e-12)
