"""Standardisation by hand, and the judges who have no z."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.scores.zscores import z_scores


def test_by_hand():
    result = z_scores([0, 0, 0, 1, 1], [10, 20, 30, 50, 70], n_judges=2)
    assert result.mean == pytest.approx([20, 60])
    assert result.sd == pytest.approx([10, np.sqrt(200)])
    assert result.z == pytest.approx([-1, 0, 1, -np.sqrt(0.5), np.sqrt(0.5)])


def test_one_score_or_no_variance_is_no_z():
    result = z_scores([0, 1, 1, 2, 2], [10, 5, 5, 1, 3], n_judges=4)
    assert np.isnan(result.z).tolist() == [True, True, True, False, False]
    assert result.n.tolist() == [1, 2, 2, 0]
    assert np.isnan(result.sd).tolist() == [True, False, False, True]


def test_shift_and_scale_do_not_matter():
    rng = np.random.default_rng(0)
    judges, scores = rng.integers(5, size=200), rng.uniform(0, 100, 200)
    moved = scores * np.array([1, 2, 0.5, 3, 1.5])[judges] + 7
    np.testing.assert_allclose(
        z_scores(judges, moved, n_judges=5).z, z_scores(judges, scores, n_judges=5).z
    )


def test_refuses_what_is_no_score():
    with pytest.raises(ValueError, match="finite"):
        z_scores([0], [np.nan], n_judges=1)
    with pytest.raises(ValueError, match="one length"):
        z_scores([0, 1], [1.0], n_judges=2)


def test_a_constant_that_does_not_add_up_exactly_has_no_z():
    actual = z_scores(np.zeros(3, int), np.full(3, 70.1), n_judges=1)
    assert np.isnan(actual.z).all()
    assert actual.sd[0] == 0


def test_mean_and_sd_can_be_those_of_some_scores_only():
    scores = np.array([10.0, 20.0, 90.0])
    actual = z_scores(np.zeros(3, int), scores, n_judges=1, counts=np.array([True, True, False]))
    assert (actual.mean[0], actual.n[0]) == (15, 2)
    np.testing.assert_allclose(actual.z, (scores - 15) / np.std([10, 20], ddof=1))


def test_the_arithmetic_of_wmt():
    """Mean 73.11392405 and sd 19.75230421 go on as 73.11392 and 19.7523 (M0781, cs-en)."""
    z = (80 - 73.11392) / 19.7523
    assert f"{z:.15g}" == "0.348621679500615"  # what correct rounding gives
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.integers(0, 101, 400), [80]]).astype(float)
    actual = z_scores(np.zeros(401, int), scores, n_judges=1, arithmetic="wmt")
    mean, sd = (float(f"{value:.7g}") for value in (actual.mean[0], actual.sd[0]))
    np.testing.assert_allclose(actual.z, (scores - mean) / sd, rtol=1e-13)
    assert all(float(f"{value:.15g}") == value for value in actual.z)
