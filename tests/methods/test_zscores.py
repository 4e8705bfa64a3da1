"""Standardisation by hand, and the judges who have no z."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.zscores import z_scores


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
