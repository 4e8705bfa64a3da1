"""Figures of judges, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.judge_accuracy import judge_accuracy

PI = np.array([0.8, 0.2, 0.0])


def test_by_hand():
    confusion = np.array(
        [
            [[0.9, 0.1, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]],  # good
            [[0.7, 0.2, 0.1]] * 3,  # does not look
            [[0, 1, 0], [1, 0, 0], [1, 0, 0]],  # turned round
        ]
    )
    figures = judge_accuracy(confusion, PI, np.array([True, True, False]))
    assert figures.accuracy == pytest.approx([0.82, 0.6, 0])
    assert figures.mean_class_accuracy == pytest.approx([1.4 / 3 + 1 / 9, 1 / 3, 0])
    assert figures.mean_met_class_accuracy == pytest.approx([0.7, 0.45, 0])
    # q of the first: .8*.9 + .2*.5 = .82, .18
    assert figures.chance_accuracy == pytest.approx([0.8 * 0.82 + 0.2 * 0.18, 0.6, 0.32])
    assert figures.bias_label.tolist() == [0, 2, 1]
    assert figures.bias == pytest.approx([0.02, 0.1, 0.6])


def test_no_class_met_is_undefined():
    figures = judge_accuracy(np.eye(2)[None], np.array([0.5, 0.5]), np.zeros(2, bool))
    assert np.isnan(figures.mean_met_class_accuracy).all()


def test_how_it_lies_in_memory_moves_no_digit():
    """Another machine gives back an array in the order of its indices."""
    rng = np.random.default_rng(4)
    confusion = np.exp(rng.normal(size=(50, 7, 7))).transpose(0, 2, 1)
    prevalence, met = rng.dirichlet(np.ones(7)), np.ones(7, np.bool_)
    here = judge_accuracy(confusion, prevalence, met)
    there = judge_accuracy(np.ascontiguousarray(confusion), prevalence, met)
    for name in ("accuracy", "mean_class_accuracy", "chance_accuracy", "bias"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
