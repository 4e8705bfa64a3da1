"""Agreement of a model with people: by hand, scikit-learn's kappa, coverage, degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from annot_pipeline.methods.model_judges.clustered_estimate import FEW_ITEMS, NO_VARIATION
from annot_pipeline.methods.model_judges.label_validation import (
    NO_SHARED_ITEM,
    NO_TWO_PEOPLE,
    ONE_LABEL,
    SAME_LABEL,
    label_validation,
)


def crowd(rng, n_items=100, n_judges=12, n_each=3, judge_spread=0.15, n_labels=3):
    """Judges of unequal accuracy, items of unequal difficulty, and a model of 75%."""
    truth = rng.integers(0, n_labels, n_items)
    ease = rng.uniform(-0.2, 0.2, n_items)
    skill = rng.uniform(-judge_spread, judge_spread, n_judges)
    items = np.repeat(np.arange(n_items), n_each)
    judges = np.concatenate([rng.permutation(n_judges)[:n_each] for _ in range(n_items)])
    right = rng.random(items.size) < 0.75 + ease[items] + skill[judges] / 3
    labels = np.where(right, truth[items], (truth[items] + 1) % n_labels)
    is_right = rng.random(n_items) < 0.75 + ease
    return items, judges, labels, np.where(is_right, truth, (truth + 1) % n_labels)


def test_four_items_by_hand():
    """Model: 0, 0, 1, 1. People: 0 0; 0 1; 1; 0.

    Agreement: (1 + 1/2 + 1 + 0) / 4 = 5/8. People's share of 0: (1 + 1/2 + 0 + 1) / 4 = 5/8, the
    model's 1/2: chance 1/2, kappa 1/4. The ceiling is of the first two items: (1 + 0) / 2.
    """
    result = label_validation([0, 0, 1, 1, 2, 3], [0, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0],
                              [0, 0, 1, 1])  # fmt: skip
    assert result.agreement.value == 0.625
    assert result.kappa.value == 0.25
    # shares of items 1, .5, 1, 0: standard deviation .47871, over the root of 4
    assert result.agreement.standard_error == pytest.approx(0.2393568)
    assert result.agreement.degrees_of_freedom == 3
    assert not result.agreement.by_judge
    assert result.confusion.tolist() == [[1.5, 1], [0.5, 1]]
    assert (result.n_items, result.n_judges, result.n_answers) == (4, 2, 6)
    assert result.n_ceiling_items == 2
    # people's share of 0 there: 3/4: chance 10/16, kappa (1/2 - 5/8) / (3/8)
    assert result.human_agreement.value == 0.5
    assert result.human_kappa.value == pytest.approx(-1 / 3)


def test_one_person_has_the_kappa_of_scikit_learn():
    rng = np.random.default_rng(1)
    people, model = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    model = np.where(rng.random(200) < 0.5, people, model)
    result = label_validation(np.arange(200), np.zeros(200, int), people, model)
    assert result.kappa.value == pytest.approx(cohen_kappa_score(people, model))
    # delta method, Fleiss, Cohen & Everitt 1969, eq. 13, and C / (C - 1)
    table = result.confusion / 200
    p, q = table.sum(axis=1), table.sum(axis=0)
    kappa, chance = result.kappa.value, float(p @ q)
    own = (np.diag(table) * (1 - (p + q) * (1 - kappa)) ** 2).sum()
    cross = (1 - kappa) ** 2 * (
        (table * (q[:, None] + p) ** 2).sum() - (np.diag(table) * (p + q) ** 2).sum()
    )
    variance = (own + cross - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2 / 199
    assert result.kappa.standard_error == pytest.approx(np.sqrt(variance))
    assert result.human_agreement.reason == NO_TWO_PEOPLE


def test_the_ceiling_is_the_agreement_of_a_held_out_person():
    rng = np.random.default_rng(2)
    items, judges, labels, model = crowd(rng, n_items=40, n_each=4)
    result = label_validation(items, judges, labels, model)
    table = labels.reshape(40, 4)
    shares = [(np.delete(table, one, axis=1) == table[:, [one]]).mean(axis=1) for one in range(4)]
    assert result.human_agreement.value == pytest.approx(np.mean(shares))
    marginal = np.bincount(labels) / labels.size
    chance = (marginal**2).sum()
    assert result.human_kappa.value == pytest.approx((np.mean(shares) - chance) / (1 - chance))


def test_the_ceiling_counts_a_pair_of_people_for_both():
    """The variance by judges sums all pairs of a judge, as their agreement moves with each."""
    items, judges, labels, model = crowd(
        np.random.default_rng(8), n_judges=8, judge_spread=0.6, n_each=4
    )
    result = label_validation(items, judges, labels, model).human_agreement
    by_item, by_judge, by_cell = np.zeros(100), np.zeros(8), np.zeros((100, 8))
    for item in range(100):
        rows = np.flatnonzero(items == item)
        for number, one in enumerate(rows):
            for other in rows[number + 1 :]:
                share = (float(labels[one] == labels[other]) - result.value) / 6 / 100
                by_item[item] += share
                for judge in (judges[one], judges[other]):
                    by_judge[judge] += share
                    by_cell[item, judge] += share
    parts = [
        (sums**2).sum() * n / (n - 1) for sums, n in ((by_item, 100), (by_judge, 8), (by_cell, 400))
    ]
    variance = max(parts[0] + parts[1] - parts[2], (parts[0] + parts[1]) / 2)
    assert result.standard_error == pytest.approx(np.sqrt(variance))


@pytest.mark.slow
def test_influence_values_are_those_of_a_jackknife():
    items, judges, labels, model = crowd(np.random.default_rng(3), n_items=300, n_judges=3)
    result = label_validation(items, judges, labels, model)
    for name in ("agreement", "kappa", "human_agreement", "human_kappa"):
        values = []
        for item in range(300):
            rest = items != item
            without = label_validation(items[rest], judges[rest], labels[rest], model)
            values.append(getattr(without, name).value)
        jackknife = np.sqrt(299 / 300 * ((values - np.mean(values)) ** 2).sum())
        assert getattr(result, name).standard_error == pytest.approx(jackknife, rel=0.01)


def test_neither_order_nor_codes_count():
    rng = np.random.default_rng(4)
    items, judges, labels, model = crowd(rng)
    first = label_validation(items, judges, labels, model)
    order, codes = rng.permutation(items.size), rng.permutation(100)
    renamed = np.empty_like(model)
    renamed[codes] = (model + 1) % 3
    second = label_validation(codes[items[order]], judges[order] * 5 + 2, (labels[order] + 1) % 3,
                              renamed)  # fmt: skip
    for name in ("agreement", "kappa", "human_agreement", "human_kappa"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.by_judge
        assert (other.value, other.standard_error) == pytest.approx(
            (one.value, one.standard_error), rel=1e-12
        )
        assert other.degrees_of_freedom == one.degrees_of_freedom == 11


def test_items_without_a_label_of_the_model_do_not_count():
    items, judges, labels, model = crowd(np.random.default_rng(5))
    model[60:] = -1
    is_first = items < 60
    first = label_validation(items, judges, labels, model)
    second = label_validation(items[is_first], judges[is_first], labels[is_first], model[:60])
    assert first.agreement == second.agreement
    assert first.human_kappa == second.human_kappa
    assert first.confusion.sum() == pytest.approx(60)


def test_documents_are_clusters():
    """Items twice over, as one document each, have the errors of the items once."""
    items, judges, labels, model = crowd(np.random.default_rng(6))
    judges = judges % 3
    items = np.arange(items.size)  # one answer each
    model = model[items // 3]
    once = label_validation(items, judges, labels, model)
    twice = label_validation(
        np.append(items, items + items.size), np.tile(judges, 2), np.tile(labels, 2),
        np.tile(model, 2), documents=np.tile(items, 2),
    )  # fmt: skip
    assert twice.kappa.standard_error == pytest.approx(once.kappa.standard_error)
    assert twice.agreement.standard_error == pytest.approx(once.agreement.standard_error)
    assert twice.n_items == 2 * once.n_items


@pytest.mark.parametrize(
    ("n_judges", "n_each", "spread"),
    [(12, 3, 0.15), pytest.param(30, 3, 0.6, marks=pytest.mark.slow)],
)
def test_intervals_cover(n_judges, n_each, spread):
    rng = np.random.default_rng(7)
    repeats = 400
    names = ("agreement", "kappa", "human_agreement", "human_kappa")
    large = crowd(rng, 20_000, 4000, 3, spread)
    truth = label_validation(*large)
    covered = dict.fromkeys(names, 0)
    for _ in range(repeats):
        result = label_validation(*crowd(rng, 100, n_judges, n_each, spread))
        for name in names:
            low, high = getattr(result, name).interval()
            covered[name] += low <= getattr(truth, name).value <= high
    for name in names:
        assert 0.92 < covered[name] / repeats <= 0.99, covered


def test_reasons():
    nothing = label_validation([0, 1], [0, 1], [0, 1], [-1, -1, 0])
    assert nothing.agreement.reason == nothing.human_kappa.reason == NO_SHARED_ITEM
    assert np.isnan(nothing.kappa.value)
    assert nothing.n_items == 0
    one = label_validation([0, 0], [0, 1], [0, 1], [0])
    assert one.agreement.value == 0.5
    assert one.agreement.reason == FEW_ITEMS
    constant = label_validation([0, 1, 2], [0, 0, 0], [0, 1, 0], [0, 0, 0])
    assert constant.kappa.value == 0
    assert constant.kappa.reason == ONE_LABEL
    assert constant.agreement.reason is None
    same = label_validation([0, 1, 2], [0, 0, 0], [1, 1, 1], [1, 1, 1])
    assert np.isnan(same.kappa.value)
    assert same.kappa.reason == SAME_LABEL
    assert same.agreement.reason == NO_VARIATION
    assert np.isnan(same.agreement.interval()).all()
    perfect = label_validation([0, 1, 2], [0, 0, 0], [0, 1, 1], [0, 1, 1])
    assert perfect.kappa.value == 1
    assert perfect.kappa.reason == NO_VARIATION
    empty = label_validation([], [], [], [])
    assert empty.confusion.shape == (0, 0)
    with pytest.raises(ValueError, match="two answers"):
        label_validation([0, 0], [0, 0], [0, 1], [0])
    with pytest.raises(ValueError, match="0 or more"):
        label_validation([0, 0], [0, 1], [0, -1], [0])
