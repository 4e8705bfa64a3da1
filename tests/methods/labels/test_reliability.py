"""Reliability bins, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.reliability import reliability


def test_bins_by_hand():
    actual = reliability(
        [0.55, 0.6, 0.95, 1.0, 0.0], [0.5, 0.7, 0.9, 0.8, 0.2], [1, 0, 1, 1, 0], n_bins=5
    )
    assert actual.n_items.tolist() == [1, 0, 2, 0, 2]  # an edge belongs to the bin below it
    assert actual.confidence == pytest.approx([0, np.nan, 0.575, np.nan, 0.975], nan_ok=True)
    assert actual.expected_accuracy == pytest.approx([0.2, np.nan, 0.6, np.nan, 0.85], nan_ok=True)
    assert actual.accuracy == pytest.approx([0, np.nan, 0.5, np.nan, 1], nan_ok=True)
    assert actual.error == pytest.approx((0.2 + 2 * 0.025 + 2 * 0.125) / 5)
    assert actual.label_error == pytest.approx((0 + 2 * 0.075 + 2 * 0.025) / 5)
    gaps = [-(1 - 0.55), -(0 - 0.6), 1 - 0.95, 1 - 1.0, 0]  # on the side of the bin's own gap
    assert np.mean(gaps) == pytest.approx(actual.label_error)
    assert actual.label_error_se == pytest.approx(np.std(gaps, ddof=1) / np.sqrt(5))
    assert actual.low.tolist() == [0, 0.2, 0.4, 0.6, 0.8]


def test_probabilities_that_are_frequencies_have_no_error():
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.ones(3), 200_000)
    truth = (rng.random(200_000)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    best = q.argmax(axis=1)
    actual = reliability(q.max(axis=1), q.max(axis=1), truth == best)
    assert actual.error == 0
    assert actual.label_error < 0.01


def test_the_standard_error_is_that_of_many_draws():
    """A model too sure by .1 on half of its items and by .2 on the others: .15 on the whole."""
    rng = np.random.default_rng(7)
    sure = np.repeat([0.75, 0.95], 200)
    drawn = [
        reliability(sure, sure, rng.random(400) < np.repeat([0.65, 0.75], 200))
        for _ in range(2_000)
    ]
    errors = np.array([actual.label_error for actual in drawn])
    ses = np.array([actual.label_error_se for actual in drawn])
    assert errors.mean() == pytest.approx(0.15, abs=0.002)
    assert ses.mean() == pytest.approx(errors.std(), rel=0.05)
    assert np.mean(np.abs(errors - 0.15) < 1.96 * ses) == pytest.approx(0.95, abs=0.015)


def test_nothing_and_what_does_not_fit():
    actual = reliability([], [], [])
    assert np.isnan([actual.error, actual.label_error, actual.label_error_se]).all()
    assert np.isnan(reliability([0.5], [1], [1]).label_error_se)
    assert actual.n_items.tolist() == [0] * 10
    with pytest.raises(ValueError, match="one length"):
        reliability([0.5], [0.5, 1], [1])
    with pytest.raises(ValueError, match="n_bins"):
        reliability([0.5], [0.5], [1], n_bins=0)
