"""Distinct numbers, held against np.unique, whether they are counted or sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.numerics import distinct as module
from annot_pipeline.methods.numerics.distinct import (
    WIDE,
    distinct,
    linked_groups,
    ordered_codes,
    places,
    renumbered,
    renumbered_values,
)


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


@pytest.mark.parametrize(
    "values",
    [
        [],
        [3.0, 1.0, 3.0],
        [-2.0, 5.0, -0.0, 0.0, 5.0],
        [0.5, 1.0, 0.5],
        [1e300, -1e300, 1.0],
        [2.0**60, 2.0**60 + 512, 2.0**60],
        [1e9, 7.0],
        [1e9 + 3, 1e9, 1e9 + 3],
    ],
)
def test_distinct_values_are_those_of_numpy(values):
    values = np.array(values, np.float64)
    for actual, plain in zip(
        renumbered_values(values), np.unique(values, return_inverse=True), strict=True
    ):
        np.testing.assert_array_equal(actual, plain)
        assert actual.dtype == plain.dtype


@pytest.mark.parametrize("largest", [3, 10**12])
def test_keys_are_renumbered_with_a_sort_and_without(largest):
    keys = np.random.default_rng(2).integers(0, largest, 50)
    for actual, plain in zip(renumbered(keys), np.unique(keys, return_inverse=True), strict=True):
        np.testing.assert_array_equal(actual, plain)


@pytest.mark.parametrize(("n_members", "n_links", "n"), [(0, 0, 0), (6, 3, 4), (90, 80, 90)])
def test_members_of_a_link_are_in_one_group_numbered_by_its_first(n_members, n_links, n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        members, links = rng.integers(0, n_members or 1, n), rng.integers(0, n_links or 1, n)
        expected = np.arange(n_members)
        for _ in range(n_members):  # one link after the other, until nothing moves
            for link in range(n_links):
                own = np.unique(members[links == link])
                expected[own] = expected[own].min(initial=n_members)
        expected = np.unique(expected, return_inverse=True)[1].reshape(-1)
        np.testing.assert_array_equal(linked_groups(members, links, n_members), expected)


def test_a_chain_in_any_order_is_one_group():
    order = np.random.default_rng(4).permutation(20_000)
    members, links = np.concatenate([order[:-1], order[1:]]), np.tile(np.arange(19_999), 2)
    assert not linked_groups(members, links, order.size).any()
