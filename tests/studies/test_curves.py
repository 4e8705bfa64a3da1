"""Correlations with the oracle: values, bands, gains and what is needed to get there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

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


def test_a_round_draws_items_with_the_ranks_of_all() -> None:
    truth = rng(1).random(12)
    scores = (truth + rng(2).normal(0, 0.3, size=12)).reshape(1, 1, 1, 12)
    actual = correlations(("DA",), X[:1], scores, truth, rounds=3, rng=rng())
    again = rng()
    for n in range(3):
        drawn = again.integers(12, size=12)
        ranks = rankdata(scores[0, 0, 0])[drawn], rankdata(truth)[drawn]
        assert actual.rounds[0, 0, 0, 0, n] == pytest.approx(pearsonr(*ranks).statistic)
        of_scores = pearsonr(scores[0, 0, 0][drawn], truth[drawn]).statistic
        assert actual.rounds[1, 0, 0, 0, n] == pytest.approx(of_scores)


def test_all_methods_and_repetitions_have_the_same_items_drawn() -> None:
    truth = rng(1).random(20)
    one = truth + rng(2).normal(0, 0.3, size=20)
    actual = correlations(("DA", "a"), X, np.tile(one, (3, 2, 4, 1)), truth, rounds=7, rng=rng())
    assert (actual.rounds == actual.rounds[:, :1, :1, :1]).all()
    assert (gains(actual, rng()).items.high == 0).all()


def test_perfect_and_reversed() -> None:
    truth = rng(1).random(10)
    scores = np.stack([truth**3, -truth]).reshape(1, 2, 1, 10)
    actual = correlations(("DA", "a"), X[:1], scores, truth, rounds=20, rng=rng())
    assert actual.value[0, 0, :, 0].tolist() == pytest.approx([1, -1])
    assert actual.rounds[0, 0, 0].tolist()[0] == pytest.approx([1] * 20)
    assert (np.abs(actual.rounds) <= 1).all()


def test_noise_of_sums_makes_no_order() -> None:
    truth = np.arange(4.0)
    scores = np.array([0.3, 0.1 + 0.2, 0.1 + 0.2, 0.3]).reshape(1, 1, 1, 4)
    actual = correlations(("DA",), X[:1], scores, truth, rounds=2, rng=rng())
    assert np.isnan(actual.value).all()


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


def test_the_score_of_a_missing_item_makes_a_point_undefined() -> None:
    truth = np.arange(6.0)
    scores = np.tile(truth, (1, 1, 2, 1))
    scores[0, 0, 1, 2] = np.nan
    actual = correlations(("DA",), X[:2], scores, truth, rounds=3, rng=rng())
    assert actual.value[0, 0, 0].tolist() == pytest.approx([1, np.nan], nan_ok=True)
    assert actual.value[1, 0, 0].tolist() == pytest.approx([1, np.nan], nan_ok=True)


def test_a_band_pools_all_repetitions() -> None:
    rounds = np.arange(200.0).reshape(2, 1, 1, 100) / 200
    actual = of_values(np.array([[[0.2]], [[0.4]]]), rounds)
    curve_bands = bands(actual)
    assert curve_bands.value[0, 0, 0] == pytest.approx(0.3)
    low, high = np.percentile(np.arange(200) / 200, [2.5, 97.5])
    assert (curve_bands.low[0, 0, 0], curve_bands.high[0, 0, 0]) == (
        pytest.approx(low),
        pytest.approx(high),
    )


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


def test_the_interval_of_a_gain_is_that_of_its_mean() -> None:
    differences = rng(9).normal(0.05, 0.02, size=40)
    value = np.stack([np.zeros(40), differences], axis=1)[..., None]
    actual = gains(of_values(value), rng()).difference
    half = 1.96 * differences.std() / np.sqrt(40)
    assert actual.value[0, 1, 0] == pytest.approx(differences.mean())
    assert actual.low[0, 1, 0] == pytest.approx(differences.mean() - half, abs=0.002)
    assert actual.high[0, 1, 0] == pytest.approx(differences.mean() + half, abs=0.002)


def test_one_repetition_has_intervals_over_items() -> None:
    rounds = np.zeros((1, 2, 1, 101))
    rounds[0, 1, 0] = np.arange(101) / 100
    actual = gains(of_values(np.array([[[0.0], [0.5]]]), rounds), rng())
    assert actual.over == "items"
    ends = actual.difference.low[0, 1, 0], actual.difference.high[0, 1, 0]
    assert ends == (pytest.approx(0.025), pytest.approx(0.975))
    assert actual.difference is actual.items


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


def test_the_interval_of_what_is_needed_may_lie_beyond_what_was_asked() -> None:
    there, not_there = [0.1, 0.3, 0.5, 0.6], [0.1, 0.1, 0.1, 0.1]
    value = np.array([[there, there], [there, not_there]])
    actual = reaches(of_values(value), 2, rng())
    assert actual.low[0, 1] == pytest.approx(2)
    assert np.isnan(actual.high[0, 1])
