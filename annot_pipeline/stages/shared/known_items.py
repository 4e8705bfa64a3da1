"""Items whose class is known beside the judgments: by the table of items, or an expert."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from annot_pipeline.config.signature import digest
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.labels.recalibration import FOLDS, KnownItems


@dataclass(frozen=True)
class Truths:
    """Truth by item, of the table of items; its ``repr`` tells all of it in a few characters."""

    by_item: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_items(cls, items: Iterable[pa.Table]) -> Truths:
        """Return the truths of a table that comes in parts, with ``item`` and ``truth``."""
        by_item: dict[str, str] = {}
        for rows in items:
            with_truth = rows.filter(rows["truth"].is_valid())
            names, truths = (with_truth[name].cast(TEXT).to_pylist() for name in ("item", "truth"))
            by_item.update(zip(names, truths, strict=True))
        return cls(by_item)

    def __repr__(self) -> str:
        return f"Truths({digest(self.by_item)})"


def known_items(
    names: Sequence[str], classes: Sequence[str], truths: Truths, decisions: Mapping[str, str]
) -> KnownItems:
    """Return which items of a task are known; an expert's decision goes before the truth.

    A class that nobody gave is none of the task's: such an item tells nothing of the others.
    """
    places = {name: code for code, name in enumerate(classes)}
    digests = (hashlib.sha256(name.encode()).digest() for name in names)
    folds = [int.from_bytes(digest[:4], "big") % FOLDS for digest in digests]
    rows = [
        (item, places[truth], folds[item])
        for item, name in enumerate(names)
        if (truth := decisions.get(name, truths.by_item.get(name))) in places
    ]
    return KnownItems(*np.array(rows, np.int64).reshape(-1, 3).T)
