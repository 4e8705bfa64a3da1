"""Ratios of sums, and what their intervals draw."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.agreement.segment_ratio import segment_ratio


def test_the_ratio_of_sums_is_no_mean_of_ratios():
    actual = segment_ratio([0, 0, 3], [1, 0, 1], [1, 1, 8], rounds=0, rng=1)
    assert actual.value == 2 / 10
    assert np.isnan([actual.ci_low, actual.ci_high]).all()


def test_segments_are_drawn_not_rows():
    """Fifty rows in one segment of three: a draw without it has share 0, one of three has 1."""
    segments = np.r_[np.zeros(50, int), 1, 2]
    parts = (segments == 0).astype(float)
    actual = segment_ratio(segments, parts, np.ones(52), rounds=500, rng=1)
    assert actual.value == 50 / 52
    assert (actual.ci_low, actual.ci_high) == (0, 1)


def test_the_interval_is_that_of_the_spread_of_means():
    values = np.random.default_rng(3).normal(10, 2, 400)
    actual = segment_ratio(np.arange(400), values, np.ones(400), rounds=4000, rng=5)
    half = 1.96 * values.std() / 20
    assert actual.ci_low == pytest.approx(values.mean() - half, abs=0.02)
    assert actual.ci_high == pytest.approx(values.mean() + half, abs=0.02)


def test_order_of_rows_and_unused_codes_change_nothing():
    rng = np.random.default_rng(1)
    segments, parts = rng.integers(0, 9, 60), rng.normal(size=60)
    order = rng.permutation(60)
    actual = segment_ratio(segments, parts, np.ones(60), rounds=50, rng=2)
    assert actual == segment_ratio(segments[order], parts[order], np.ones(60), rounds=50, rng=2)
    assert actual == segment_ratio(7 * segments + 3, parts, np.ones(60), rounds=50, rng=2)


def test_undefined_is_nan():
    assert np.isnan(segment_ratio([], [], [], rounds=9, rng=1).value)
    assert np.isnan(segment_ratio([0, 1], [0, 0], [0, 0], rounds=9, rng=1).value)
    one = segment_ratio([4, 4], [1, 0], [1, 1], rounds=9, rng=1)
    assert one.value == 0.5
    assert np.isnan(one.ci_low)


@pytest.mark.parametrize(
    ("segments", "parts", "wholes", "rounds"),
    [
        ([0], [1, 2], [1], 1),
        ([0], [np.nan], [1], 1),
        ([-1], [1], [1], 1),
        ([0], [1], [-1], 1),
        ([0], [1], [1], -1),
    ],
)
def test_bad_input_is_refused(segments, parts, wholes, rounds):
    with pytest.raises(ValueError, match=r"must be|rounds is"):
        segment_ratio(segments, parts, wholes, rounds=rounds, rng=1)
