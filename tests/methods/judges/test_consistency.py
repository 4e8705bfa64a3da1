"""Correlation with the others, and its permutation test."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.judges.consistency import (
    Consistency,
    judge_consistency,
    judge_correlations,
)
from annot_pipeline.methods.judges.leave_one_out import SharedScores, shared_moments
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from tests.methods.judges.panels import arguments, panel

NAN = np.nan


def consistency(table, reference=None, sizes=(), seed=17, names=None, **more: int) -> Consistency:
    names = names or [f"judge {n}" for n in range(np.asarray(table).shape[1])]
    return judge_consistency(*arguments(table, reference, sizes), names=names, seed=seed, **more)


def random_panel(rng, n_items, n_judges=6):
    """One judge who answers at random, beside others who do not."""
    table = np.clip(np.rint(panel(rng, n_items, [15.0] * n_judges)), 0, 100)
    table[:, 0] = rng.integers(0, 101, n_items)
    return table


def test_the_correlation_is_pearsons_with_the_mean_of_the_others():
    table = panel(np.random.default_rng(4), 25, [5.0, 20, 40, 12])
    actual = consistency(table)
    for judge in range(4):
        others = np.delete(table, judge, axis=1).mean(axis=1)
        result = stats.pearsonr(table[:, judge], others, alternative="greater")
        assert actual.correlation[judge] == pytest.approx(result.statistic)
        interval = stats.pearsonr(table[:, judge], others).confidence_interval()
        assert (actual.low[judge], actual.high[judge]) == pytest.approx(tuple(interval))
    assert actual.effective == pytest.approx([25] * 4)


def test_all_orders_of_few_items_are_tried():
    table = np.array([[3.0, 1, 2], [1, 2, 2], [4, 4, 5], [2, 3, 1], [5, 3, 4]])
    actual = consistency(table)
    for judge in range(3):
        others = np.delete(table, judge, axis=1).mean(axis=1)
        products = [np.dot(order, others) for order in permutations(table[:, judge])]
        reached = np.mean(np.array(products) >= np.dot(table[:, judge], others) - 1e-9)
        assert actual.p_value[judge] == pytest.approx(reached)
    assert actual.least_p == pytest.approx([1 / 120] * 3)


def test_p_of_draws_is_that_of_many_more_draws():
    table = random_panel(np.random.default_rng(8), 12)
    table[:, 0] += 0.8 * table[:, 1]  # some agreement
    actual = consistency(table)
    rng = np.random.default_rng(0)
    for judge in range(2):
        x, others = table[:, judge], np.delete(table, judge, axis=1).mean(axis=1)
        drawn = rng.permuted(np.tile(x, (40_000, 1)), axis=1) @ others
        p = (drawn >= x @ others - 1e-9).mean()
        assert actual.p_value[judge] == pytest.approx(p, abs=4 * np.sqrt(p / 999) + 1e-3)


def test_one_odd_item_is_no_proof():
    """A judge who moves on one item of 30, where the others do: 1 of 30 orders is as good."""
    table = np.full((30, 4), 50.0)
    table[:, 1:] += np.random.default_rng(0).normal(0, 1, (30, 3))
    table[7] = 90
    assert consistency(table).p_value[0] == pytest.approx(1 / 30, abs=0.02)


def test_a_clear_correlation_has_a_p_below_what_draws_resolve():
    table = panel(np.random.default_rng(1), 40, [10.0] * 5)
    actual = consistency(table)
    assert np.all(actual.p_value < 1e-6)
    others = table[:, 1:].mean(axis=1)
    p = stats.pearsonr(table[:, 0], others, alternative="greater").pvalue
    assert actual.p_value[0] == pytest.approx(p)


@pytest.mark.slow
def test_size_of_the_test():
    """Judges who answer at random reach p < .05 as often as that: within 3 standard errors."""
    rng = np.random.default_rng(11)
    for n_items, most in ((8, 0.05), (30, 0.05), (220, 0.05)):
        p = np.array([consistency(random_panel(rng, n_items, 4)).p_value[0] for _ in range(400)])
        assert most / 2 < (p < 0.05).mean() < most + 3 * np.sqrt(0.05 * 0.95 / 400), n_items
        assert abs((p < 0.5).mean() - 0.5) < 0.09, n_items


def test_draws_follow_from_the_judge_not_from_order_names_of_items_or_others():
    rng = np.random.default_rng(6)
    table = random_panel(rng, 30)
    actual = consistency(table)
    assert 0.06 < actual.p_value[0] < 1
    assert consistency(table[rng.permutation(30)]).p_value[0] == actual.p_value[0]
    assert consistency(table, sizes=[4, 26]).p_value[0] == actual.p_value[0]
    alone = np.vstack([np.column_stack([table, [NAN] * 30]), [[NAN] * 6 + [3.0]] * 5])
    assert consistency(alone).p_value[0] == actual.p_value[0], "one who shares nothing"
    order = [1, 2, 0, 3, 4, 5]
    names = [f"judge {n}" for n in order]
    assert consistency(table[:, order], names=names).p_value[2] == actual.p_value[0]
    assert consistency(table, names=["other", *names[1:]]).p_value[0] != actual.p_value[0]
    assert consistency(table, seed=18).p_value[0] != actual.p_value[0]


def test_constant_scores():
    table = panel(np.random.default_rng(2), 20, [5.0] * 3)
    table[:, 0] = 50
    actual = consistency(table)
    assert actual.p_value[0] == 1
    assert np.isnan([actual.correlation[0], actual.statistic[0], actual.low[0]]).all()
    table[:, 1:] = 30
    table[:, 0] = np.arange(20)
    actual = consistency(table)
    assert np.isnan(actual.p_value[0]), "the others do not tell items apart"
    assert np.isnan(actual.correlation[0])


def test_too_few_items():
    actual = consistency([[1.0, 2], [2, 3], [NAN, 3]])
    assert actual.n.tolist() == [2, 2]
    assert np.isnan(actual.p_value).all()
    assert np.isnan(actual.correlation).all()


def test_criteria_and_tasks_of_other_scales_are_strata():
    """A judge of two tasks, one of points of 5 and one of 100: means of tasks correlate with
    nothing, and the larger scale does not outweigh the other."""
    rng = np.random.default_rng(9)
    small, large = random_panel(rng, 40, 4) / 20, random_panel(rng, 40, 4)
    large[:, 0] = large[:, 1] + rng.normal(0, 5, 40)  # of one task it knows much
    scores = np.concatenate([small, large])
    items, judges = np.indices(scores.shape)
    judges = judges + 4 * (items >= 40)
    shared = SharedScores.from_scores(
        items.ravel(), judges.ravel(), scores.ravel(), np.zeros(scores.size, np.int64),
        n_items=80, n_judges=8, n_criteria=1,
    )  # fmt: skip
    blocks, everyone = InMemoryBlocks([shared]), np.ones(8, np.bool_)
    moments = shared_moments(blocks, everyone, np.zeros(8))
    unit, task = np.arange(8) % 4, np.arange(8) // 4
    actual = judge_correlations(moments, unit, task, n_judges=4)
    in_small, in_large = (consistency(table).correlation[0] for table in (small, large))
    assert min(in_small, in_large) < actual.correlation[0] < max(in_small, in_large)
    assert abs(actual.correlation[0] - (in_small + in_large) / 2) < 0.15
    assert actual.n.tolist() == [80] * 4
    assert actual.effective == pytest.approx([79] * 4, abs=4)
    test = judge_consistency(
        blocks, moments, everyone, unit, task, names=["a", "b", "c", "d"], seed=1
    )
    assert test.p_value[0] < 0.05
    scaled = judge_correlations(
        shared_moments(
            InMemoryBlocks([
                SharedScores(
                    shared.units, shared.series, shared.scores * np.where(shared.series < 4, 20, 1),
                    shared.n_units, shared.n_series,
                )
            ]),
            everyone, np.zeros(8),
        ), unit, task, n_judges=4,
    )  # fmt: skip
    assert scaled.correlation == pytest.approx(actual.correlation)


def test_in_a_crowd_only_judges_with_few_items_are_permuted():
    rng = np.random.default_rng(3)
    table = random_panel(rng, 30)
    table[15:, 5] = NAN
    drawn = consistency(table)
    limited = consistency(table, most_work=100_000)
    others = np.nanmean(table[:, 1:], axis=1)
    by_t = stats.pearsonr(table[:, 0], others, alternative="greater").pvalue
    assert limited.p_value[0] == pytest.approx(by_t)
    assert limited.p_value[0] != drawn.p_value[0]
    assert limited.p_value[0] == pytest.approx(drawn.p_value[0], abs=0.05)
    assert limited.p_value[5] == drawn.p_value[5], "15 items are few"
