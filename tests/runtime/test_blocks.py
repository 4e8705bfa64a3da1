"""Blocks in memory and in files: the same calls give the same results in the order of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks, spans_by_size
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.executors.local import LocalEngine

VALUES = [np.arange(3.0), np.array([10.0]), np.array([0.1, 0.2])]


@pytest.fixture(params=["memory", "files"])
def blocks(request, tmp_path) -> Blocks[Any]:
    if request.param == "memory":
        return InMemoryBlocks(VALUES)
    paths = [tmp_path / f"block-{n}" for n in range(len(VALUES))]
    for path, values in zip(paths, VALUES, strict=True):
        dump(path, values)
    engine = SimpleNamespace(run=LocalEngine(2).run)
    return StoredBlocks(engine, tmp_path, [partial(load, path) for path in paths])


def powers(block: np.ndarray, exponent: int) -> np.ndarray:
    return block**exponent


def scaled_total(block: np.ndarray, factor: float, shift: float) -> list[float]:
    return [float(block.sum()) * factor + shift]


def sizes_above(blocks: Iterator[np.ndarray], least: float, shift: int) -> list[int]:
    return [int((block >= least).sum()) + shift for block in blocks]


def test_results_are_in_the_order_of_blocks(blocks):
    assert len(blocks) == 3
    assert blocks.map(scaled_total, 5.0, each=[1.0, 2.0, 10.0]) == [[8.0], [25.0], [8.0]]
    assert [x.tolist() for x in blocks.map(powers, 2)][1] == [100.0]


@pytest.mark.parametrize("n_bytes", [0, 1 << 40])
def test_sums_are_added_in_the_order_of_blocks(blocks, n_bytes):
    """Lists are joined by ``+``, which shows the order; one sum at a time where memory is short."""
    joined = blocks.sum(scaled_total, 5.0, each=[1.0, 2.0, 10.0], n_bytes=n_bytes)
    assert joined == [8.0, 25.0, 8.0]
    assert blocks.sum(scaled_total, 1.0, 0.0) == [3.0, 10.0, pytest.approx(0.3)]


def test_kept_results_are_blocks(blocks):
    squares = blocks.keep(powers, 2)
    assert len(squares) == 3
    assert squares.sum(scaled_total, 1.0, 0.0) == [5.0, 100.0, pytest.approx(0.05)]


def test_gathered_results_see_all_blocks(blocks):
    assert blocks.gather(sizes_above, 100, each=[0.0, 2.0]) == [[103, 101, 102], [101, 101, 100]]


@pytest.mark.parametrize(
    ("counts", "spans"),
    [
        ([], [(0, 0)]),
        ([3, 3, 3], [(0, 1), (1, 2), (2, 3)]),
        ([1, 1, 1, 9, 1], [(0, 3), (3, 4), (4, 5)]),
        ([0, 0, 5], [(0, 3)]),
    ],
)
def test_spans_hold_no_more_than_they_may_but_one_code(counts, spans):
    assert spans_by_size(counts, 5) == spans
