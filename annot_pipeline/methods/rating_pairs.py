"""Pairs of ratings of one item by distinct judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.krippendorff import pairs_in_chunks

Codes = npt.NDArray[np.int64]


def rating_pairs(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    values: npt.ArrayLike | None = None,
    *,
    chunk_pairs: int = 2_000_000,
) -> Iterator[tuple[Codes, Codes]]:
    """Enumerate the pairs of ratings of one item by distinct judges, each pair once.

    Pairs come by item, then by the lower judge code, which is the first of the pair. An item may
    go on over many chunks, so 100,000 ratings of one item need no more memory than others.

    Parameters
    ----------
    items, judges
        ``(n_ratings,)`` codes from 0.
    values
        ``(n_ratings,)`` puts several ratings of an item by one judge in order; without it they
        are paired in the order of the rows.
    chunk_pairs
        Most pairs in a chunk.

    Yields
    ------
    tuple[Codes, Codes]
        Rows of the first and the second rating, ``(up to chunk_pairs,)`` each.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative codes, ``chunk_pairs`` below 1.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    values = np.zeros(items.size) if values is None else np.asarray(values)
    if not items.shape == judges.shape == values.shape or items.ndim != 1:
        raise ValueError("items, judges and values must be 1-d and of one length")
    if items.size and (items.min() < 0 or judges.min() < 0):
        raise ValueError("codes must not be negative")
    if chunk_pairs < 1:
        raise ValueError(f"chunk_pairs is {chunk_pairs}, allowed are 1 and more")
    order = np.lexsort((values, judges, items))
    partners = Partners.of(items[order], judges[order])
    for first, second in pairs_in_chunks(partners.starts, partners.counts, chunk_pairs):
        yield order[first], order[second]


@dataclass(frozen=True)
class Partners:
    """Of rows in order of item and judge: the rows after each one, same item, other judge."""

    starts: Codes
    counts: Codes

    @classmethod
    def of(cls, items: Codes, judges: Codes) -> Partners:
        """Find the partners of rows sorted by item and judge."""
        new_item = np.ones(items.size, dtype=np.bool_)
        new_item[1:] = items[1:] != items[:-1]
        new_judge = new_item.copy()
        new_judge[1:] |= judges[1:] != judges[:-1]
        starts = _ends(new_judge)
        return cls(starts, _ends(new_item) - starts)


def _ends(new: npt.NDArray[np.bool_]) -> Codes:
    """Where the run of each position ends; ``new`` marks the first of a run."""
    bounds = np.append(np.flatnonzero(new), new.size)
    return np.repeat(bounds[1:], np.diff(bounds))
