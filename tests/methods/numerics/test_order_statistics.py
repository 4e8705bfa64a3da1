"""Values at places in the order of all of them, by blocks, against sorting them."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.numerics.ranks import (
    cell_counts,
    cells_of_places,
    values_at,
    values_of_cells,
)

RNG = np.random.default_rng(4)
VALUES = {
    "normal": RNG.normal(size=3000),
    "ties": RNG.integers(-3, 4, size=3000) / 2,
    "one value": np.zeros(3000),
    "beyond the grid": np.concatenate([RNG.normal(size=10), RNG.normal(50, 30, 2990)]),
    "few": np.array([0.3, -0.2]),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("n_blocks", [1, 7])
def test_places_are_those_of_sorted_values(values, n_blocks):
    blocks = np.array_split(values, n_blocks)
    places = np.unique([0, 1, values.size // 5, values.size // 2, values.size - 1])
    counts = sum(cell_counts(block) for block in blocks)
    cells = cells_of_places(counts, places)
    actual = [values_of_cells(block, cells) for block in blocks]
    for some in (places, places[1:2]):
        np.testing.assert_array_equal(values_at(counts, cells, actual, some), np.sort(values)[some])
