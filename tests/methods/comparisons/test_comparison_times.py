"""Times by length: bins, medians, breaks, and what is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.comparison_times import comparison_times


def test_by_hand():
    """Edges belong to the bin below; 500 s among times of 10 s is a break, 99 s is none."""
    seconds = [10, 20, 60, 12, 500, 99, 30, 7, np.nan, -3]
    words = [10, 5, 11, 4, 10, 8, 25, -1, 5, 5]
    actual = comparison_times(seconds, words)
    short, middle, long, *_ = actual.disjoint
    assert [(b.longer_than, b.words, b.n, b.n_breaks) for b in actual.disjoint[:3]] == [
        (None, 10, 5, 1),
        (10, 20, 1, 0),
        (20, 30, 1, 0),
    ]
    assert (actual.disjoint[-1].longer_than, actual.disjoint[-1].words) == (60, None)
    assert short.mean == pytest.approx((10 + 20 + 12 + 500 + 99) / 5)
    assert short.median == 20
    assert short.mean_without_breaks == pytest.approx((10 + 20 + 12 + 99) / 4)
    assert short.mean_per_word == pytest.approx((1 + 4 + 3 + 50 + 99 / 8) / 5)
    assert short.median_per_word == 4
    assert short.mean_per_word_without_breaks == pytest.approx((1 + 4 + 3 + 99 / 8) / 4)
    assert (middle.mean, long.median_per_word) == (60, 30 / 25)
    assert [(b.words, b.n) for b in actual.cumulative[:2]] == [(10, 5), (20, 6)]
    assert actual.cumulative[1].mean == pytest.approx((10 + 20 + 12 + 500 + 99 + 60) / 6)
    assert (actual.overall.n, actual.overall.n_breaks) == (8, 1)
    assert actual.overall.median == 25  # 7 10 12 20 30 60 99 500
    assert (actual.n_unknown_seconds, actual.n_unknown_words) == (2, 1)


def test_a_break_is_one_by_its_own_length():
    """300 s is a break among short texts, not among long ones."""
    seconds, words = [20, 21, 22, 300, 290, 310, 300], [5, 5, 5, 5, 50, 50, 50]
    actual = comparison_times(seconds, words)
    assert [b.n_breaks for b in actual.disjoint] == [1, 0, 0, 0, 0, 0, 0]
    assert actual.overall.n_breaks == 1


def test_texts_without_words_have_no_time_by_word():
    actual = comparison_times([8.0, 4.0], [0, 2])
    assert actual.disjoint[0].n == 2
    assert actual.disjoint[0].mean_per_word == 2
    assert np.isnan(actual.disjoint[1].mean)


times = st.tuples(st.floats(0, 1e6), st.integers(-1, 70))


@given(st.lists(times, max_size=30), st.randoms(use_true_random=False))
def test_bins_hold_everything_once_in_any_order(rows, random):
    seconds, words = [r[0] for r in rows], [r[1] for r in rows]
    actual = comparison_times(seconds, words)
    assert sum(b.n for b in actual.disjoint) + actual.n_unknown_words == len(rows)
    for bin_ in (*actual.cumulative, *actual.disjoint):
        low, high = bin_.longer_than or -1, bin_.words or 10**6
        inside = [s for s, w in rows if w >= 0 and low < w <= high]
        assert bin_.n == len(inside)
        if inside:
            assert bin_.mean == pytest.approx(np.mean(inside))
            assert bin_.median == pytest.approx(np.median(inside))
    random.shuffle(rows)
    again = comparison_times([r[0] for r in rows], [r[1] for r in rows])
    np.testing.assert_equal(vars(again.overall), vars(actual.overall))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one length"):
        comparison_times([1.0], [1, 2])
