"""Weights of judgments in a mean of criteria, and the mean without each judge."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.scores.cell_means import cell_means, score_evidence


def test_by_hand():
    """Fluency 80 and 60, adequacy 50: (70 + 50) / 2."""
    actual = score_evidence(
        np.array([0, 1, 0]), np.array([0, 0, 1]), np.array([80.0, 60.0, 50.0]), n_judges=2
    )
    assert actual.weight.tolist() == [0.25, 0.25, 0.5]
    assert actual.mean == 60
    assert actual.without.tolist() == [60, 65]  # fluency alone; (80 + 50) / 2


def test_what_has_no_value_weighs_nothing():
    values = np.array([np.nan, 10.0, 30.0])
    actual = score_evidence(np.array([0, 1, 2]), np.zeros(3, np.int64), values, n_judges=3)
    assert actual.weight.tolist() == [0, 0.5, 0.5]
    assert actual.without.tolist() == [20, 30, 10]
    alone = score_evidence(np.array([0]), np.array([0]), np.array([5.0]), n_judges=1)
    assert (alone.weight.tolist(), alone.mean) == ([1], 5)
    assert np.isnan(alone.without).all()
    nothing = score_evidence(np.array([0]), np.array([0]), np.array([np.nan]), n_judges=1)
    assert nothing.weight.tolist() == [0]
    assert np.isnan(nothing.mean)


def test_it_is_the_mean_of_the_pipeline():
    rng = np.random.default_rng(2)
    judges, criteria = rng.integers(0, 6, 40), rng.integers(0, 3, 40)
    values = rng.uniform(0, 100, 40)
    values[rng.integers(0, 40, 5)] = np.nan
    actual = score_evidence(judges, criteria, values, n_judges=6)
    item = np.zeros(40, np.int64)
    assert actual.mean == pytest.approx(
        cell_means(item, values, n_cells=1, criteria=criteria).mean[0]
    )
    assert actual.weight @ np.nan_to_num(values) == pytest.approx(actual.mean)
    assert actual.weight.sum() == pytest.approx(1)
    for judge in range(6):
        left = judges != judge
        expected = cell_means(item[left], values[left], n_cells=1, criteria=criteria[left])
        assert actual.without[judge] == pytest.approx(expected.mean[0])
