"""Correlations with the oracle: values, bands, gains and what is needed to get there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from studies.curves import (
    Correlations,
    bands,
    correlations,
    gains,
    reaches,
    undefined,
)

X = np.arange(1, 5.0)


def rng(seed: int = 4) -> np.random.Generator:
    return np.random.default_rng(seed)


def of_values(value: np.ndarray, rounds: np.ndarray | None = None) -> Correlations:
    """Correlations ``(repeats, methods, points)`` of DA, a and b as given, for both measures."""
    value = np.stack([value, value])
    given = value[..., None] if rounds is None else np.stack([rounds, rounds])
    names = ("DA", "a", "b")[: value.shape[2]]
    return Correlations(names, X[: value.shape[3]], value, given)


def test_values_are_those_of_scipy() -> None:
    truth = np.round(rng(1).random(30), 1)
    scores = np.round(truth + rng(2).normal(0, 0.3, size=(3, 2, 4, 30)), 1)  # with ties
    actual = correlations(("DA", "a"), X, scores, truth, rounds=5, rng=rng())
    for place in np.ndindex(3, 2, 4):
        ours = actual.value[(slice(None), *place)]
        assert ours[0] == pytest.approx(spearmanr(scores[place], truth).statistic, abs=1e-12)
        assert ours[1] == pytest.approx(pearsonr(scores[place], truth).statistic, abs=1e-12)
    assert actual.rounds.shape == (2, 3, 2, 4, 5)


def test_a_correlation_with_a_constant_is_undefined_and_counted() -> None:
    truth = np.arange(6.0)
    scores = np.zeros((2, 1, 2, 6))
    scores[1] = truth
    actual = correlations(("DA",), X[:2], scores, truth, rounds=10, rng=rng())
    assert np.isnan(actual.value[:, 0]).all()
    curve_bands = bands(actual)
    assert curve_bands.value == pytest.approx(np.ones((2, 1, 2)))
    repeats, rounds = undefined(actual)
    assert (repeats == 1).all()
    assert (rounds >= 10).all()
    constant = correlations(("DA",), X[:2], scores, np.ones(6), rounds=10, rng=rng())
    for part in vars(bands(constant)).values():
        assert np.isnan(part).all()
    assert np.isnan(gains(constant, rng()).difference.value).all()
    assert np.isnan(reaches(constant, 1, rng()).value).all()


def test_gains_are_paired_within_repetitions() -> None:
    # DA differs much between repetitions, the difference to it does not
    value = np.array([[[0.1], [0.2]], [[0.9], [1.0]], [[0.5], [0.6]]])
    actual = gains(of_values(value), rng())
    assert actual.over == "repetitions"
    assert actual.to == "DA"
    np.testing.assert_allclose(actual.difference.value[0, :, 0], [0, 0.1])
    np.testing.assert_allclose(actual.difference.low[0, :, 0], [0, 0.1])
    np.testing.assert_allclose(actual.difference.high[0, :, 0], [0, 0.1])
    assert gains(of_values(value), rng(), "a").difference.value[0, :, 0] == pytest.approx([-0.1, 0])


def test_what_is_needed_to_reach_da_by_hand() -> None:
    da, a, b = [0.1, 0.3, 0.5, 0.6], [0.2, 0.4, 0.7, 0.9], [0.1, 0.2, 0.3, 0.4]
    actual = of_values(np.array([[da, a, b]] * 2))
    at_3 = reaches(actual, 3, rng())
    # .5 lies a third of the way from .4 to .7; b never gets there
    np.testing.assert_allclose(at_3.value[0], [3, 2 + 1 / 3, np.nan])
    np.testing.assert_allclose(at_3.low[0], [3, 2 + 1 / 3, np.nan])
    at_2 = reaches(actual, 2, rng())
    np.testing.assert_allclose(at_2.value[0], [2, 1.5, 3])
    np.testing.assert_allclose(reaches(actual, 1, rng()).value[0], [1, 1, 1])
    np.testing.assert_allclose(reaches(actual, 2.5, rng()).value[0], [2.5, 2, 4])  # DA has .4 there
    assert np.isnan(reaches(actual, 5, rng()).value).all()  # beyond the curve
    assert np.isnan(reaches(actual, 0.5, rng()).value).all()
