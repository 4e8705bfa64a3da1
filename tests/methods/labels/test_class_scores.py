"""Precision, recall and F1 by class, against labels and against distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from annot_pipeline.methods.labels.class_scores import class_scores
from annot_pipeline.methods.numerics.bootstrap import ItemResamples


def of(estimates):
    return [e.value for e in estimates]


def test_certain_gold_gives_the_figures_of_scikit_learn():
    """The example of precision_recall_fscore_support and f1_score in scikit-learn's reference."""
    truth, code = [0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]
    actual = class_scores(np.eye(3)[truth], truth, code, ItemResamples.draw(6, 100, 1))
    assert of(actual.precision) == pytest.approx([2 / 3, 0, 0])
    assert of(actual.recall) == [1, 0, 0]
    assert of(actual.f1) == pytest.approx([0.8, 0, 0])
    assert actual.mean_f1.value == pytest.approx(0.2667, abs=5e-5)
    assert of(actual.expected_precision) == pytest.approx(of(actual.precision))
    assert of(actual.expected_f1) == pytest.approx(of(actual.f1))
    wilson = scipy.stats.binomtest(2, 3).proportion_ci(method="wilson")
    assert (actual.precision[0].ci_low, actual.precision[0].ci_high) == pytest.approx(wilson)


def test_uncertain_gold_by_hand():
    gold = np.array([[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])
    actual = class_scores(gold, [0, 0, 1], [0, 1, 1], ItemResamples.draw(3, 50, 1))
    assert (actual.n_gold.tolist(), actual.n_predicted.tolist()) == ([2, 1], [1, 2])
    assert actual.mass == pytest.approx([1.4, 1.6])
    assert of(actual.expected_precision) == pytest.approx([0.7, (0.4 + 0.9) / 2])
    assert of(actual.expected_recall) == pytest.approx([0.7 / 1.4, 1.3 / 1.6])
    f1 = [1.4 / 2.4, 2.6 / 3.6]
    assert of(actual.expected_f1) == pytest.approx(f1)
    assert actual.mean_expected_f1.value == pytest.approx(sum(f1) / 2)


def test_intervals_are_percentiles_over_resampled_items():
    rng = np.random.default_rng(0)
    gold = rng.dirichlet(np.ones(3), 80)
    label, code = gold.argmax(axis=1), rng.integers(3, size=80)
    resamples = ItemResamples.draw(80, 200, 4)
    actual = class_scores(gold, label, code, resamples)
    weights = np.concatenate(list(resamples.chunks(32)), axis=1)[:, 1:]
    for k in range(3):
        f1s = [
            2 * w[(label == k) & (code == k)].sum() / (w[label == k].sum() + w[code == k].sum())
            for w in weights.T
        ]
        low, high = np.percentile(f1s, [2.5, 97.5])
        assert (actual.f1[k].ci_low, actual.f1[k].ci_high) == pytest.approx((low, high))


def test_classes_that_nobody_has():
    actual = class_scores(np.eye(4)[[0, 1]], [0, 1], [0, -1], ItemResamples.draw(2, 0, 1))
    assert of(actual.precision)[:2] == pytest.approx([1, np.nan], nan_ok=True)
    assert of(actual.recall) == pytest.approx([1, 0, np.nan, np.nan], nan_ok=True)
    assert of(actual.f1) == pytest.approx([1, 0, np.nan, np.nan], nan_ok=True)
    assert actual.mean_f1.value == 0.5
    assert np.isnan(actual.mean_f1.ci_low)


def test_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="same items"):
        class_scores(np.eye(2), [0], [0, 1], ItemResamples.draw(2, 0, 1))
    with pytest.raises(ValueError, match="codes"):
        class_scores(np.eye(2), [0, 1], [0, 2], ItemResamples.draw(2, 0, 1))
