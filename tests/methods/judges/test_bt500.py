"""Screening by ITU-R BT.500: by the recommendation's own steps, one score after the other."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.judges.bt500 import bt500_screening
from tests.methods.judges.panels import blocks, panel

NAN = np.nan


def screened(table, sizes=()):
    n_judges = np.asarray(table).shape[1]
    return bt500_screening(blocks(table, sizes), np.arange(n_judges), n_judges=n_judges)


def by_the_book(table):
    """P and Q of each observer, and who is rejected, as A1-2.3.1 says it; complete tables."""
    n_items, n_judges = table.shape
    above, below = [0] * n_judges, [0] * n_judges
    for scores in table.tolist():
        mean = sum(scores) / n_judges
        squares = sum((u - mean) ** 2 for u in scores)
        if not squares:
            continue
        sd = (squares / (n_judges - 1)) ** 0.5
        kurtosis = sum((u - mean) ** 4 for u in scores) / n_judges / (squares / n_judges) ** 2
        far = (2 if 2 <= kurtosis <= 4 else 20**0.5) * sd
        for judge, u in enumerate(scores):
            above[judge] += u >= mean + far
            below[judge] += u <= mean - far
    rejected = [
        (p + q) / (n_items) > 0.05 and abs(p - q) / (p + q) < 0.3
        for p, q in zip(above, below, strict=True)
    ]
    return above, below, rejected


@pytest.mark.parametrize("seed", range(12))
def test_the_steps_of_the_recommendation(seed):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(4, 35, 24)
    table = np.clip(panel(rng, 60, noise, bias=rng.normal(0, 8, 24)), 0, 100)
    table = np.rint(table / 20) if seed % 2 else table
    actual = screened(table)
    above, below, rejected = by_the_book(table)
    assert (actual.above.tolist(), actual.below.tolist()) == (above, below)
    assert actual.rejected.tolist() == rejected
    assert actual.n.tolist() == [60] * 24
    assert screened(table, sizes=[11, 49]).share == pytest.approx(actual.share)


def test_some_are_rejected_and_some_are_not():
    """The comparison above must meet both."""
    rng = np.random.default_rng(0)
    table = panel(rng, 80, [8.0] * 20 + [30.0] * 4)
    rejected = screened(table).rejected
    assert rejected[20:].any()
    assert not rejected[:20].any()
    assert rejected.tolist() == by_the_book(table)[2]


def test_a_worked_example():
    """Ten observers: on 3 of 20 items one gives 100 or 0 where the others give 40 to 60.

    Two above and one below: |2 - 1| / 3 is more than .3, the observer has a bias and stays; with
    two and two the observer goes.
    """
    others = [40, 44, 48, 52, 56, 60, 45, 50, 55]
    table = np.array([[50, *others]] * 20, np.float64)
    table[:3, 0] = [100, 100, 0]
    assert by_the_book(table)[:2] == ([0] * 10, [0] * 10), "kurtosis is above 4: sqrt(20) sd"
    wide = [20, 30, 35, 65, 70, 80, 25, 50, 75]
    table = np.array([[50, *wide]] * 20, np.float64)
    table[:3, 0] = [120, 120, -20]
    actual = screened(table)
    assert (actual.above[0], actual.below[0], actual.share[0]) == (2, 1, 3 / 20)
    assert not actual.rejected[0]
    table[3, 0] = -20
    assert screened(table).rejected.tolist() == [True] + [False] * 9


def test_five_scores_of_an_item_tell_nothing():
    table = panel(np.random.default_rng(0), 60, [3.0] * 4 + [60.0])
    actual = screened(table)
    assert actual.n.tolist() == [0] * 5
    assert not actual.rejected.any()
    assert np.isnan(actual.share).all()
    six = np.column_stack([table, table[:, 0]])
    six[:30, 5] = NAN
    assert screened(six).n.tolist() == [30] * 6


def test_items_without_variance_have_no_far_score():
    table = np.full((40, 8), 3.0)
    actual = screened(table)
    assert (actual.above.sum(), actual.below.sum(), actual.n.tolist()) == (0, 0, [40] * 8)
