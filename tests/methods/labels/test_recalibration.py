"""Recalibration by known items: the optimum, cross-fitting, small and odd samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from annot_pipeline.methods.labels.recalibration import (
    ENOUGH,
    FOLDS,
    OFFSET_SD,
    SLOPE_SD,
    ClassMass,
    KnownItems,
    fit_recalibration,
    fit_scaling,
    unlike_others,
)


def draw(n, k, sharpness, seed, shift=0.0):
    """Probabilities that are too sure by ``sharpness``, with classes drawn from true ones."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(k, 0.6), n)
    classes = np.array([rng.choice(k, p=p) for p in true])
    said = true**sharpness * np.exp(shift * np.arange(k))
    return said / said.sum(axis=1, keepdims=True), classes, np.arange(n) % FOLDS


def test_the_scaling_is_that_of_a_general_optimizer():
    p, classes, _ = draw(300, 3, 2.0, 1, shift=0.5)
    logs = np.log(np.maximum(p, 1e-9))

    def loss(free):
        logits = free[0] * logs + free[1:]
        top = logits.max(axis=1)
        norm = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
        likelihood = (logits[np.arange(300), classes] - norm).sum()
        penalty = ((free[0] - 1) / SLOPE_SD) ** 2 + (free[1:] ** 2).sum() / OFFSET_SD**2
        return penalty / 2 - likelihood

    best = minimize(loss, np.r_[1.0, np.zeros(3)], tol=1e-10)
    actual = fit_scaling(p, classes)
    assert actual.temperature == pytest.approx(best.x[0], abs=1e-4)
    np.testing.assert_allclose(actual.offsets, best.x[1:], atol=1e-4)


def test_what_is_too_sure_is_corrected():
    """Probabilities squared: temperature 1/2 gives them back."""
    p, classes, folds = draw(3000, 4, 2.0, 2)
    actual = fit_recalibration(p, classes, folds)
    assert actual.scaling.temperature == pytest.approx(0.5, abs=0.06)
    assert actual.gain > 2 * actual.gain_error > 0
    corrected = actual.apply(p, KnownItems(np.arange(3000), classes, folds))
    true = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    assert np.abs(corrected - true).mean() < 0.03


def test_what_holds_is_seldom_touched_and_never_by_much():
    losses = []
    for seed in range(40):
        p, classes, folds = draw(100, 3, 1.0, seed)
        actual = fit_recalibration(p, classes, folds)
        if actual is not None:
            fresh, truth, _ = draw(4000, 3, 1.0, seed + 1000)
            corrected = actual.scaling.apply(fresh)
            rows = np.arange(4000)
            losses.append(np.log(fresh[rows, truth]).mean() - np.log(corrected[rows, truth]).mean())
    assert len(losses) < 20
    assert max(losses, default=0) < 0.08


def test_a_known_item_has_no_part_in_its_own_probability():
    p, classes, folds = draw(200, 3, 2.0, 3)
    known = KnownItems(np.arange(200), classes, folds)
    before = fit_recalibration(p, classes, folds).apply(p, known)
    other = classes.copy()
    other[7] = (classes[7] + 1) % 3
    after = fit_recalibration(p, other, folds).apply(p, KnownItems(np.arange(200), other, folds))
    np.testing.assert_array_equal(before[7], after[7])
    assert np.abs(before - after)[folds != folds[7]].max() > 1e-4


@pytest.mark.parametrize("n", [0, 1, ENOUGH - 1])
def test_few_known_items_correct_nothing(n):
    p, classes, folds = draw(max(n, 1), 3, 2.0, 4)
    assert fit_recalibration(p[:n], classes[:n], folds[:n]) is None


def test_one_class_is_not_corrected():
    classes = np.zeros(80, np.int64)
    assert fit_recalibration(np.ones((80, 1)), classes, np.arange(80) % FOLDS) is None


@pytest.mark.slow
def test_more_classes_than_known_items():
    """200 classes, 60 known items, some probabilities 0: finite, sums to 1, no class favoured."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(200, 0.02), 60)
    classes = np.array([rng.choice(200, p=row**0.5 / (row**0.5).sum()) for row in p])
    actual = fit_recalibration(p, classes, np.arange(60) % FOLDS)
    assert actual is not None
    fresh = actual.scaling.apply(rng.dirichlet(np.full(200, 0.02), 500))
    np.testing.assert_allclose(fresh.sum(axis=1), 1)
    never = np.setdiff1d(np.arange(200), classes)
    assert actual.scaling.offsets[never].max() < 0


def test_contradictory_truth_makes_everything_less_sure():
    """Truth that has nothing to do with probabilities: they end near the shares of classes."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(3, 0.1), 400)
    classes = rng.choice(3, 400)
    actual = fit_recalibration(p, classes, np.arange(400) % FOLDS)
    assert actual.scaling.temperature < 0.15


def test_known_items_drawn_at_random_are_like_the_others():
    """And items of one class are not, although the model is right of them all."""
    rng = np.random.default_rng(3)
    alarms, actual = 0, 0
    for _ in range(300):
        truth = rng.choice(3, 800, p=[0.6, 0.3, 0.1])
        p = rng.dirichlet(np.ones(3), 800) + 2 * np.eye(3)[truth]
        p /= p.sum(axis=1, keepdims=True)
        mass = ClassMass.from_probabilities(p[:500]) + ClassMass.from_probabilities(p[500:])
        alarms += unlike_others(p[rng.choice(800, 60, replace=False)], mass)
        actual += unlike_others(p[np.flatnonzero(truth == 1)[:60]], mass)
    assert alarms <= 1
    assert actual == 300
    assert not unlike_others(p, mass)


def test_without_offsets_the_temperature_is_fitted_alone():
    p, truth, folds = draw(400, 3, 2.0, 5, shift=1.0)
    fitted = fit_recalibration(p, truth, folds, has_offsets=False)
    assert fitted is None or np.abs(fitted.scaling.offsets).max() < 1e-6
    logs = np.log(np.maximum(p, 1e-9))

    def loss(temperature):
        q = np.exp(temperature * logs)
        q /= q.sum(axis=1, keepdims=True)
        return -np.log(q[np.arange(400), truth]).sum() + 0.5 * ((temperature - 1) / 0.5) ** 2

    best = minimize_scalar(loss, bounds=(0.01, 5), method="bounded").x
    assert fit_scaling(p, truth, 1e-6).temperature == pytest.approx(best, abs=1e-3)
