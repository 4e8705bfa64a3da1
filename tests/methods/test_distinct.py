"""Distinct numbers, held against np.unique, whether they are counted or sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods import distinct as module
from annot_pipeline.methods.distinct import WIDE, distinct, ordered_codes, places


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(-(2**62), 2**62)), max_size=30))
def test_as_unique(numbers):
    given = np.array(numbers, np.int64)
    values, counts = distinct(given)
    expected, of, times = np.unique(given, return_inverse=True, return_counts=True)
    assert values.tolist() == expected.tolist()
    assert counts.tolist() == times.tolist()
    assert places(given, values).tolist() == of.tolist()


@pytest.mark.parametrize("wide", [False, True])
def test_sorted_only_where_the_range_is_wide(monkeypatch, wide):
    """The table of counts stays within a few times the numbers given."""
    numbers = np.array([3, 0, 2, 4 * WIDE - (not wide)])
    tables: list[int] = []
    count = np.bincount
    monkeypatch.setattr(module.np, "bincount", lambda of: tables.append(of.size) or count(of))
    assert distinct(numbers)[0].tolist() == sorted(numbers.tolist())
    assert bool(tables) is not wide


@pytest.mark.parametrize("step", [1.0, 0.5, 1e6])
def test_ordered_codes_order_and_equal_as_values_do(step):
    """Whole numbers of a narrow range, halves, whole numbers of a wide range."""
    values = np.array([3.0, -2, 0, -0.0, 3, 7]) * step
    codes, size = ordered_codes(values)
    assert (
        np.sign(np.subtract.outer(codes, codes)) == np.sign(np.subtract.outer(values, values))
    ).all()
    assert codes.min() == 0
    assert codes.max() == size - 1
    assert ordered_codes(values[:0])[0].size == 0
