"""Sums by cell are those of `numpy.add.at`, bit by bit."""

from __future__ import annotations

import numpy as np

from annot_pipeline.methods.numerics.moments import cell_sums


def test_sums_are_those_of_add_at() -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 7, 1000), rng.integers(0, 5, 1000)
    weights = rng.standard_normal(1000)
    expected = np.zeros((7, 5))
    np.add.at(expected, (rows, columns), weights)
    np.testing.assert_array_equal(cell_sums(rows, columns, shape=(7, 5), weights=weights), expected)


def test_cells_without_rows_are_zero() -> None:
    nothing = np.zeros(0, np.int64)
    np.testing.assert_array_equal(cell_sums(nothing, nothing, shape=(2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(
        cell_sums(np.array([1, 1]), np.array([2, 2]), shape=(2, 3)), [[0, 0, 0], [0, 0, 2]]
    )
