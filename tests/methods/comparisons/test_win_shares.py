"""Shares of wins by hand."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_counts import win_shares

PAIRS = np.array([0, 0, 1]), np.array([1, 2, 2])  # 0-1, 0-2, 1-2; system 3 is never compared
WINS, TIES, LOSSES = np.array([[3.0, 0, 1]]), np.array([[1.0, 2, 0]]), np.array([[1.0, 0, 3]])


def test_by_hand():
    """0 won 3, tied 3, lost 1; 1 won 2, tied 1, lost 6; 2 won 3, tied 2, lost 1."""
    out, half = (
        win_shares(*PAIRS, WINS, TIES, LOSSES, n_systems=4, ties_count=ties)
        for ties in ("out", "half")
    )
    assert out[0, :3].tolist() == pytest.approx([3 / 4, 2 / 8, 3 / 4])
    assert half[0, :3].tolist() == pytest.approx([4.5 / 7, 2.5 / 9, 4 / 6])
    assert np.isnan([out[0, 3], half[0, 3]]).all()


def test_rounds_stand_alone_and_only_ties_have_no_share_without_them():
    wins, ties, losses = (np.concatenate([x, 0 * x]) for x in (WINS, TIES, LOSSES))
    ties[1] = 5
    out, half = (
        win_shares(*PAIRS, wins, ties, losses, n_systems=4, ties_count=count)
        for count in ("out", "half")
    )
    np.testing.assert_array_equal(
        out[0], win_shares(*PAIRS, WINS, TIES, LOSSES, n_systems=4, ties_count="out")[0]
    )
    assert np.isnan(out[1]).all()
    assert half[1, :3].tolist() == [0.5, 0.5, 0.5]
