"""Bias, spread and inconsistency: by definition, on simulated judges, by P.913's own method."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.judges.judge_figures import JudgeFigures, judge_figures
from annot_pipeline.methods.judges.leave_one_out import SharedScores
from tests.methods.judges.panels import arguments, block, panel

NAN = np.nan


def figures(table, reference=None, sizes=()) -> JudgeFigures:
    return judge_figures(*arguments(table, reference, sizes), n_judges=np.asarray(table).shape[1])


def test_others_are_all_but_oneself_and_who_is_no_reference():
    table = np.array([[1.0, 4, 7], [2, NAN, 8], [3, NAN, NAN], [5, 6, NAN]])
    shared = block(table)
    rows = shared.leave_one_out(np.array([True, True, False]), np.array([0.0, 0, 1]))
    columns = (rows.series, rows.own, rows.rest, rows.n_others)
    listed = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert listed == [
        (0, 1, 4, 1),  # the third judge is no other
        (0, 5, 6, 1),
        (1, 4, 1, 1),
        (1, 6, 5, 1),
        (2, 6, 2.5, 2),  # 7, shifted by 1
        (2, 7, 2, 1),
    ]


def test_several_scores_of_one_item_are_one():
    shared = SharedScores.from_scores(
        np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), np.array([10.0, 20, 30, 40]),
        np.zeros(4, np.int64), n_items=2, n_judges=2, n_criteria=1,
    )  # fmt: skip
    assert sorted(shared.scores.tolist()) == [15, 30], "and the item of one judge is left out"


def test_bias_is_points_above_the_others_on_the_same_items():
    table = [[10, 20, 30], [20, 30, 40], [50, 60, 76]]
    assert figures(table).bias == pytest.approx([-16, -1, 17])
    assert figures(table, [True, True, False]).bias == pytest.approx([-10, 10, 17 + 0])
    assert figures(table).n.tolist() == [3, 3, 3]


def alternating_projection(table, rounds=200):
    """Bias and inconsistency by P.913, section 12.6: items' qualities are weighted means."""
    quality = np.nanmean(table, axis=1)
    bias = np.nanmean(table - quality[:, None], axis=0)
    for _ in range(rounds):
        residual = table - quality[:, None] - bias
        weight = np.where(np.isnan(table), 0, 1 / (np.nanstd(residual, axis=0) ** 2 + 1e-8))
        quality = np.nansum((table - bias) * weight, axis=1) / weight.sum(axis=1)
        bias = np.nanmean(table - quality[:, None], axis=0)
    return bias - bias.mean(), np.nanstd(table - quality[:, None] - bias, axis=0)


def test_panels_have_the_figures_of_p913():
    """26 judges of 79 items, as in the sample data of BT.500, some of them noisy."""
    rng = np.random.default_rng(3)
    noise = [8, 10, 12, 9, 11, 14, 8, 13, 10, 12, 9, 15, 11] * 2
    table = panel(rng, 79, noise, bias=rng.normal(0, 6, 26))
    table[rng.random(table.shape) < 0.02] = NAN
    bias, inconsistency = alternating_projection(table)
    actual = figures(table)
    assert actual.bias * 25 / 26 == pytest.approx(bias, abs=0.5)
    assert actual.inconsistency == pytest.approx(inconsistency, rel=0.09)


@pytest.mark.parametrize(("per_item", "error"), [(2, 0.1), (3, 0.06), (12, 0.04)])
def test_figures_do_not_depend_on_how_many_judge_an_item(per_item, error):
    """12 judges of 20,000 items, each judged by some: P.913's own residuals would be too small."""
    rng = np.random.default_rng(per_item)
    noise, bias = np.repeat([8.0, 12, 20], 4), np.tile([-6.0, 0, 0, 6], 3)
    spread = np.tile([0.8, 1, 1, 1.2], 3)
    table = panel(rng, 20_000, noise, bias=bias, spread=spread)
    for row in table:
        row[rng.permutation(12)[per_item:]] = NAN
    actual = figures(table)
    assert actual.bias == pytest.approx(bias * 12 / 11, abs=1.6)
    assert actual.spread == pytest.approx(spread, abs=error)
    own = np.sqrt(noise**2 + ((spread - 1) * 18) ** 2)  # P.913 has no spread: it counts as noise
    assert actual.inconsistency == pytest.approx(own, rel=error)


def test_noise_of_others_does_not_flatten_the_slope():
    """With one other judge as noisy as items differ a plain regression has a slope of one half."""
    table = panel(np.random.default_rng(1), 20_000, [12.0, 12.0])
    assert figures(table).spread == pytest.approx([1, 1], abs=0.04)
    assert np.polyfit(table[:, 1], table[:, 0], 1)[0] < 0.75


def test_blocks_are_the_whole_and_the_order_of_items_does_not_matter():
    rng = np.random.default_rng(2)
    table = panel(rng, 40, [10.0, 15, 20, 12])
    table[rng.random(table.shape) < 0.3] = NAN
    whole = figures(table)
    for other in (figures(table, sizes=[7, 1, 32]), figures(table[::-1])):
        for name in ("n", "bias", "spread", "inconsistency"):
            assert getattr(other, name) == pytest.approx(getattr(whole, name), rel=1e-9), name


def test_who_gives_one_score_has_no_spread():
    table = panel(np.random.default_rng(0), 30, [5.0, 5, 5])
    table[:, 0] = 50
    actual = figures(table)
    assert actual.spread[0] == 0
    assert actual.inconsistency[0] == pytest.approx(table[:, 1:].mean(axis=1).std(ddof=1), rel=0.1)


def test_nothing_is_said_of_fewer_than_three_shared_items():
    table = [[1.0, 2, NAN], [3, 1, NAN], [NAN, 4, 5], [2, NAN, 7], [NAN, NAN, 1]]
    actual = figures(table)
    assert actual.n.tolist() == [3, 3, 2]
    assert np.isfinite(actual.bias).tolist() == [True, True, False]
    for name in ("spread", "inconsistency"):
        assert np.isnan(getattr(actual, name)[2])


def test_no_slope_where_the_others_do_not_tell_items_apart():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(50, 20, 200) for _ in range(3)])
    assert np.isnan(figures(table).spread).all(), "their means are noise"
    table[:, 1:] = 50
    assert np.isnan(figures(table).spread[0])
    assert figures(table).inconsistency[1] >= 0
