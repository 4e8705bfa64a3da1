"""Agreement within and between groups of judges, and groups that one truth cannot explain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.judges.label_camps import Camps, camp_agreement, find_camps
from studies.simulators.floods import Flood, FloodParams, draw_flood


def camps_of(flood: Flood) -> Camps:
    return find_camps(
        flood.items, flood.judges, flood.labels, n_items=flood.truth.size,
        n_judges=int(flood.judges.max()) + 1, n_labels=int(flood.labels.max()) + 1,
    )  # fmt: skip


def honest(flood: Flood) -> Flood:
    some = flood.is_careful
    return replace(
        flood, items=flood.items[some], judges=flood.judges[some], labels=flood.labels[some]
    )


def worst_half(camps: Camps) -> float:
    return float(np.max([half.ratio_high for half in camps.halves]))


def test_kappas_by_hand() -> None:
    """Four judges, two items, classes a and b; the camps are the first two and the last two.

    The first camp says aa, bb: kappa 1. The second says aa, ab: of two pairs one agrees; the
    shares are 3/4 and 1/4, so chance is 10/16 and kappa (1/2 - 5/8) / (3/8) = -1/3. Between: item
    1 agrees in 4 of 4 pairs, item 2 in 2 of 4: 6/8; shares 1/2, 1/2 and 3/4, 1/4: chance 1/2,
    kappa 1/2. Item 1 adds (4 - 3)/8 / (1/2) and item 2 minus that: the error is sqrt(2)/4.
    """
    items, judges = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    labels = np.array([0, 0, 0, 0, 1, 1, 0, 1])
    second = np.array([False, False, True, True])
    agreement = camp_agreement(items, judges, labels, second, n_items=2, n_labels=2)
    assert agreement.first == 1
    assert agreement.second == pytest.approx(-1 / 3)
    assert agreement.between == pytest.approx(1 / 2)
    assert agreement.between_error == pytest.approx(np.sqrt(2) / 4)
    assert agreement.pairs == (2, 2, 8)
    assert np.isnan(agreement.ratio_high)  # the second camp agrees less than by chance


def test_kappa_of_two_judges_is_that_of_cohen() -> None:
    """Cohen 1960: of 10 items 7 agree; shares .3 .3 .4 and .2 .4 .4 make .34 by chance."""
    first, second = [0, 1, 1, 2, 2, 2, 0, 1, 0, 2], [0, 1, 2, 2, 2, 1, 0, 1, 1, 2]
    items, judges = np.tile(np.arange(10), 2), np.repeat([0, 1], 10)
    agreement = camp_agreement(
        items, judges, np.array([*first, *second]), np.array([False, True]), n_items=10, n_labels=3
    )
    assert agreement.between == pytest.approx((0.7 - 0.34) / (1 - 0.34))
    assert np.isnan(agreement.first)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_copies_are_a_camp_and_careful_judges_are_not(n_classes: int) -> None:
    rng = np.random.default_rng(17)
    for _ in range(10):
        flood = draw_flood(FloodParams("copying in part", 0.5, n_classes=n_classes), rng)
        assert not worst_half(camps_of(honest(flood))) < 0.8  # NaN: no group tells
        camps = camps_of(flood)
        is_copy = np.arange(24) >= 12
        n_wrong = (camps.second != is_copy).sum()
        assert min(n_wrong, 24 - n_wrong) <= 1
        assert worst_half(camps) < 0.4


def test_half_careful_people_are_no_camp() -> None:
    rng = np.random.default_rng(17)
    for _ in range(10):
        camps = camps_of(draw_flood(FloodParams("half careful", 0.5, n_classes=4), rng))
        assert not worst_half(camps) < 0.8


def test_names_of_judges_and_classes_do_not_matter() -> None:
    flood = draw_flood(FloodParams("copying", 0.5, n_classes=4), np.random.default_rng(5))
    camps, order = camps_of(flood), np.random.default_rng(6).permutation(flood.items.size)
    turned = camps_of(replace(
        flood, items=flood.items[order], judges=23 - flood.judges[order],
        labels=3 - flood.labels[order],
    ))  # fmt: skip
    same = turned.second[::-1] == camps.second
    assert same.all() or not same.any()
    assert sorted((turned.agreement.first, turned.agreement.second)) == pytest.approx(
        sorted((camps.agreement.first, camps.agreement.second))
    )


def test_judges_without_shared_items_have_no_agreement() -> None:
    items, judges = np.arange(12), np.repeat([0, 1, 2], 4)
    camps = find_camps(items, judges, np.zeros(12, np.int64), n_items=12, n_judges=3, n_labels=1)
    assert np.isnan(camps.agreement.between)
    assert np.isnan(camps.agreement.ratio_high)


def test_many_answers_are_sampled_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    flood = draw_flood(FloodParams("copying", 0.5, n_items=600), np.random.default_rng(3))
    whole = camps_of(flood)
    monkeypatch.setattr("annot_pipeline.methods.judges.label_camps.CELLS", 6_000)
    sample = camps_of(flood)
    assert sum(sample.agreement.pairs) * 1.5 < sum(whole.agreement.pairs)
    assert worst_half(sample) < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("n_items", "n_judges", "per_item"), [(60, 6, 3), (180, 12, 5), (300, 60, 5)]
)
def test_careful_judges_are_seldom_a_camp(
    n_items: int, n_judges: int, per_item: int, n_classes: int
) -> None:
    """Of 300 crowds at most 2% hold a camp by the rule of judge control."""
    rng = np.random.default_rng(29)
    params = FloodParams(n_classes=n_classes, n_items=n_items, n_judges=n_judges, per_item=per_item)
    n_camps = 0
    for _ in range(300):
        camps = camps_of(honest(draw_flood(params, rng)))
        kappa = max(camps.agreement.first, camps.agreement.second)
        n_camps += worst_half(camps) < 0.8 and kappa >= 0.75
    assert n_camps <= 6
