"""A model's scores against people's: by hand, scipy, coverage by simulation, degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from annot_pipeline.methods.model_judges.clustered_estimate import FEW_ITEMS, NO_VARIATION
from annot_pipeline.methods.model_judges.score_validation import (
    NO_CORRELATION,
    NO_SHARED_ITEM,
    score_validation,
)


def crowd(rng, n_items=100, n_judges=12, n_each=3, judge_spread=0.5):
    truth = rng.normal(0, 1, n_items)
    severity = rng.normal(0, judge_spread, n_judges)
    items = np.repeat(np.arange(n_items), n_each)
    judges = np.concatenate([rng.permutation(n_judges)[:n_each] for _ in range(n_items)])
    scores = truth[items] + severity[judges] + rng.normal(0, 0.7, items.size)
    return items, judges, scores, 0.3 + 0.8 * truth + rng.normal(0, 0.6, n_items)


def test_three_items_by_hand():
    """People: 1 3; 4; 6. The model: 3, 4, 5. Differences 1, 0, -1."""
    result = score_validation([0, 0, 1, 2], [0, 1, 0, 1], [1, 3, 4, 6], [3, 4, 5.0])
    assert result.bias.value == 0
    assert result.bias.standard_error == pytest.approx(np.sqrt(1 / 3))
    assert result.root_mean_square.value == pytest.approx(np.sqrt(2 / 3))
    assert result.pearson.value == 1
    assert result.pearson.reason == NO_VARIATION
    assert np.isnan(result.pearson.interval()).all()
    assert result.spearman == 1
    # judges share item 0 only: 1 against 3
    assert result.human.bias.tolist() == [-2, 2]
    assert result.human.root_mean_square.tolist() == [2, 2]
    assert np.isnan(result.human.pearson).all()
    assert np.isnan(result.human.pearson).all()
    assert result.human.n_items.tolist() == [1, 1]


def test_correlations_are_those_of_scipy():
    items, judges, scores, model = crowd(np.random.default_rng(1))
    scores, model = scores.round(1), model.round(1)
    means = scores.reshape(100, 3).mean(axis=1)
    result = score_validation(items, judges, scores, model)
    assert result.pearson.value == pytest.approx(pearsonr(model, means).statistic)
    assert result.spearman == pytest.approx(spearmanr(model, means.round(9)).statistic)
    assert result.bias.value == pytest.approx((model - means).mean())
    for judge in range(12):
        rows = np.flatnonzero(judges == judge)
        others = np.array(
            [scores[(items == items[row]) & (judges != judge)].mean() for row in rows]
        )
        own = scores[rows]
        assert result.human.n_items[judge] == rows.size
        assert result.human.bias[judge] == pytest.approx((own - others).mean())
        rmse = np.sqrt(((own - others) ** 2).mean())
        assert result.human.root_mean_square[judge] == pytest.approx(rmse)
        assert result.human.pearson[judge] == pytest.approx(pearsonr(own, others).statistic)
        spearman = spearmanr(own, others.round(9)).statistic
        assert result.human.spearman[judge] == pytest.approx(spearman)


def test_errors_are_those_of_a_jackknife():
    items, judges, scores, model = crowd(np.random.default_rng(2), n_items=400, n_judges=3)
    result = score_validation(items, judges, scores, model)
    means = scores.reshape(400, 3).mean(axis=1)
    figures = {
        "bias": lambda x, y: (x - y).mean(),
        "root_mean_square": lambda x, y: np.sqrt(((x - y) ** 2).mean()),
        "pearson": lambda x, y: np.corrcoef(x, y)[0, 1],
    }
    for name, figure in figures.items():
        values = np.array(
            [figure(np.delete(model, item), np.delete(means, item)) for item in range(400)]
        )
        jackknife = np.sqrt(399 / 400 * ((values - values.mean()) ** 2).sum())
        assert getattr(result, name).standard_error == pytest.approx(jackknife, rel=0.02)


def test_scale_and_order():
    rng = np.random.default_rng(3)
    items, judges, scores, model = crowd(rng)
    first = score_validation(items, judges, scores, model)
    order, codes = rng.permutation(items.size), rng.permutation(100)
    renamed = np.empty_like(model)
    renamed[codes] = model
    second = score_validation(codes[items[order]], judges[order], scores[order] * 10 + 5,
                              renamed * 10 + 5)  # fmt: skip
    assert second.bias.value == pytest.approx(10 * first.bias.value)
    assert second.bias.standard_error == pytest.approx(10 * first.bias.standard_error)
    assert second.root_mean_square.value == pytest.approx(10 * first.root_mean_square.value)
    assert second.pearson.value == pytest.approx(first.pearson.value)
    assert second.pearson.interval() == pytest.approx(first.pearson.interval())
    assert second.spearman == pytest.approx(first.spearman)
    turned = score_validation(items, judges, scores, -model)
    low, high = first.pearson.interval()
    assert turned.pearson.interval() == pytest.approx((-high, -low))
    model[50:] = np.nan
    half = score_validation(items, judges, scores, model)
    shorter = score_validation(items[:150], judges[:150], scores[:150], model[:50])
    assert (half.bias, half.pearson) == (shorter.bias, shorter.pearson)
    np.testing.assert_array_equal(half.human.bias, shorter.human.bias)


@pytest.mark.parametrize(
    ("n_judges", "spread"), [(12, 0.5), pytest.param(30, 1.0, marks=pytest.mark.slow)]
)
def test_intervals_cover(n_judges, spread):
    """The bias is 0.3 in truth; the error and the correlation are those of a large sample."""
    rng = np.random.default_rng(4)
    repeats, covered = 400, np.zeros(3)
    # people's means of three have variance 1 + (spread^2 + .49) / 3
    variance = 1 + (spread**2 + 0.49) / 3
    correlation = 0.8 / np.sqrt((0.64 + 0.36) * variance)
    error = np.sqrt(0.09 + 0.2**2 + 0.36 + variance - 1)
    for _ in range(repeats):
        result = score_validation(*crowd(rng, 100, n_judges, 3, spread))
        for number, ((low, high), true) in enumerate((
            (result.bias.interval(), 0.3),
            (result.pearson.interval(), correlation),
            (result.root_mean_square.interval(), error),
        )):  # fmt: skip
            covered[number] += low <= true <= high
    assert 0.92 < covered[0] / repeats <= 0.99, covered
    assert 0.9 < covered[1] / repeats <= 0.99, covered
    assert 0.85 < covered[2] / repeats <= 0.99, covered


def test_documents_are_clusters():
    items, judges, scores, model = crowd(np.random.default_rng(5), n_each=1)
    once = score_validation(items, judges % 3, scores, model)
    twice = score_validation(
        np.append(items, items + 100), np.tile(judges % 3, 2), np.tile(scores, 2),
        np.tile(model, 2), documents=np.tile(items, 2),
    )  # fmt: skip
    for name in ("bias", "root_mean_square", "pearson"):
        one, two = getattr(once, name), getattr(twice, name)
        assert two.standard_error == pytest.approx(one.standard_error)


def test_reasons():
    nothing = score_validation([0], [0], [1], [np.nan])
    assert nothing.bias.reason == nothing.pearson.reason == NO_SHARED_ITEM
    assert nothing.n_items == 0
    one = score_validation([0, 0], [0, 1], [1, 2], [2.0])
    assert one.bias.value == 0.5
    assert one.bias.reason == FEW_ITEMS
    assert one.pearson.reason == NO_CORRELATION
    constant = score_validation([0, 1, 2, 3], [0, 0, 0, 0], [1, 2, 3, 5], np.full(4, 0.1))
    assert constant.pearson.reason == NO_CORRELATION
    assert np.isnan(constant.spearman)
    assert constant.bias.reason is None
    people = score_validation([0, 1, 2, 3], [0, 0, 0, 0], np.full(4, 0.1), [1, 2, 3, 5])
    assert people.pearson.reason == NO_CORRELATION
    shifted = score_validation([0, 1, 2], [0, 0, 0], [1, 2, 4], [2.0, 3, 5])
    assert shifted.bias.value == 1
    assert shifted.bias.reason == NO_VARIATION
    with pytest.raises(ValueError, match="two answers"):
        score_validation([0, 0], [0, 0], [1, 2], [0.0])
    with pytest.raises(ValueError, match="numbers"):
        score_validation([0], [0], [np.nan], [0.0])
