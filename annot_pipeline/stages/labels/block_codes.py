"""Codes of the labels of a large task, a file a block, and what jobs ask of them.

Each function here is a job, or is called by one: all that it is given is small, or lies in a file
that every machine reaches.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.calibration_choice import (
    MOST_LABELS,
    stream,
)
from annot_pipeline.methods.labels.dawid_skene import (
    expected_counts,
    voted_counts,
)
from annot_pipeline.methods.labels.estimates import Counts
from annot_pipeline.methods.labels.held_out_labels import (
    HeldOutLabels,
    drawn_items,
)
from annot_pipeline.methods.labels.label_em import Flags
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.predictive_checks import items_to_check
from annot_pipeline.storage.files import read_regular

T = TypeVar("T")
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def dump(path: Path, found: Any) -> None:
    """Put it where other jobs find it; two machines may do so at once."""
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    temporary.write_bytes(pickle.dumps(found, protocol=5))
    temporary.replace(path)


def load(path: Path) -> Any:
    """What was put there."""
    return pickle.loads(read_regular(path))  # noqa: S301 - of our own jobs


@dataclass(frozen=True)
class Block:
    """Where the codes of a block lie, and its matrix."""

    folder: Path
    n: int

    @property
    def codes(self) -> Path:
        """`LabelCodes`."""
        return self.folder / f"codes-{self.n}"

    @property
    def sizes(self) -> Path:
        """`ItemSizes`."""
        return self.folder / f"sizes-{self.n}"

    @property
    def matrix(self) -> Path:
        """`LabelMatrix`."""
        return self.folder / f"matrix-{self.n}"

    @property
    def alike(self) -> Path:
        """`LabelMatrix` of all judges taken as one."""
        return self.folder / f"alike-{self.n}"


@dataclass(frozen=True)
class ItemSizes:
    """``(n_items,)`` labels and judges of the items of a block."""

    n: npt.NDArray[np.int32]
    n_judges: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Drawn:
    """Labels of a task that are held out or checked."""

    n_predictable: int
    choice: HeldOutLabels
    evidence: HeldOutLabels
    checked: LabelCodes
    rng: np.random.Generator


def take_as_one(block: Block) -> None:
    """The matrix of a block whose judges are taken as one."""
    codes = load(block.codes)
    one = replace(codes, judges=np.zeros_like(codes.judges), n_judges=1)
    dump(block.alike, LabelMatrix.of([0], [one]))


def expected_of(matrix: Path, estimates: Path) -> Counts:
    """Expected counts of a block."""
    return expected_counts(load(matrix), load(estimates))[1]


def voted_of(matrix: Path) -> Counts:
    """Counts of a block by shares of votes."""
    return voted_counts(load(matrix))


def draw(blocks: Sequence[Block], seed: Sequence[int]) -> Drawn:
    """Draw the labels that are held out or checked, from all items of a task."""
    sizes = [load(block.sizes) for block in blocks]  # of codes, a gigabyte of 40 million labels
    starts = np.cumsum([0, *(of.n.size for of in sizes)])
    n, n_judges = (
        np.concatenate([getattr(of, name) for of in sizes]).astype(np.int64)
        for name in ("n", "n_judges")
    )
    del sizes
    held_out = {}
    for purpose in ("choice", "evidence"):
        rng = stream(seed, purpose)
        some = drawn_items(n, rng, MOST_LABELS)
        held_out[purpose] = HeldOutLabels.of(_gathered(blocks, starts, some), rng)
    rng = np.random.default_rng(list(seed))
    checked = _gathered(blocks, starts, items_to_check(n_judges, rng))
    return Drawn(int(n[n_judges > 1].sum()), **held_out, checked=checked, rng=rng)


def _gathered(blocks: Sequence[Block], starts: Codes, some: Flags) -> LabelCodes:
    """Labels of some items of a task."""
    found = []
    for block, first, end in zip(blocks, starts, starts[1:], strict=False):
        if some[first:end].any():
            codes = load(block.codes).of_items(some[first:end])
            found.append(replace(codes, items=codes.items + first, n_items=some.size))
    shape = load(blocks[0].codes)
    none = np.empty(0, np.int64)
    items, judges, labels = (
        np.concatenate([none, *(getattr(of, name) for of in found)])
        for name in ("items", "judges", "labels")
    )
    return LabelCodes(items, judges, labels, some.size, shape.n_judges, shape.n_labels)
