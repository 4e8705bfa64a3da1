"""Comparisons in a fixed order: checked, the winner first, and cut into waves.

An online method changes two items after each comparison, so its result depends on the order.
Two comparisons that share no item may change places, though. The wave of a comparison is one
more than the last wave of either of its items. So no item occurs twice in a wave, each item
meets its comparisons in their order, and waves applied one after the other, each in one step
on arrays, give exactly the result of a loop over comparisons.

Many orders side by side, such as rounds of one campaign, share their waves: each is one step on
arrays for all of them.

The number of waves is at least the largest number of comparisons of one item: many items make
few long waves, a few items make many short ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats

Bools = npt.NDArray[np.bool_]

FIRST_WINS, TIE, SECOND_WINS = 1, 0, -1
"""Codes of outcomes."""


def waves(first: npt.ArrayLike, second: npt.ArrayLike, *, n_items: int) -> list[Codes]:
    """Return places of comparisons, wave by wave.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of the items compared, from 0, in the order of the updates.
    n_items
        Size of the code range.

    Returns
    -------
    list of ndarray
        Ascending places in ``first`` and ``second``; each place occurs in one wave.

    Raises
    ------
    ValueError
        Arrays of different lengths, a code outside its range, an item against itself.
    """
    first, second = _checked(first, second, n_items)
    last = [-1] * n_items
    number: list[int] = []
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        wave = last[a] if last[a] > last[b] else last[b]
        last[a] = last[b] = wave + 1
        number.append(wave + 1)
    numbers = np.asarray(number, dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers)).tolist()
    return [order[start:end] for start, end in pairwise([0, *ends])]


def waves_side_by_side(pairs: Codes, tie: Bools, *, n_items: int) -> Iterator[tuple[Codes, Bools]]:
    """Yield comparisons wave by wave, of many orders at once that share no item.

    Parameters
    ----------
    pairs
        ``(2, n_comparisons, n_orders)`` codes of winners and losers from 0, valid as those that
        `winners_first` returns.
    tie
        ``(n_comparisons, n_orders)``.
    n_items
        Size of the code range.

    Yields
    ------
    pair, tied
        ``(2, n)`` and ``(n,)`` of a wave.
    """
    number = np.empty(tie.shape, np.min_scalar_type(len(tie)))
    next_wave = np.zeros(n_items, number.dtype)
    for step in range(len(tie)):
        winner, loser = pairs[:, step]
        wave = np.maximum(next_wave.take(winner), next_wave.take(loser), out=number[step])
        next_wave[winner] = next_wave[loser] = wave + 1
    order = np.argsort(number, axis=None, kind="stable")
    pairs, tie = pairs.reshape(2, -1).take(order, axis=1), tie.reshape(-1)[order]
    ends = np.cumsum(np.bincount(number.reshape(-1))).tolist()
    for start, end in pairwise([0, *ends]):
        yield pairs[:, start:end], tie[start:end]


def winners_first(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike, *, n_items: int
) -> tuple[Codes, Bools]:
    """Return comparisons as (winner, loser), and which of them are ties.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of items from 0.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    n_items
        Size of the code range.

    Returns
    -------
    pairs
        ``(2, n_comparisons)``: winners above losers; a tie stays as it is.
    tie
        ``(n_comparisons,)``.

    Raises
    ------
    ValueError
        As `waves`, and an outcome that is none of the three.
    """
    first, second, outcome = checked(first, second, outcome, n_items=n_items)
    lost = outcome == SECOND_WINS
    pairs = np.empty((2, first.size), np.int64)
    for side, winner, loser in ((0, first, second), (1, second, first)):
        pairs[side] = winner
        np.copyto(pairs[side], loser, where=lost)
    return pairs, np.asarray(outcome == TIE)


def states(
    start: tuple[npt.ArrayLike, npt.ArrayLike] | None, fresh: tuple[float, float], n_items: int
) -> tuple[Floats, Floats]:
    """Return both states of each item, of its own to be changed: where to go on from, or fresh.

    Raises
    ------
    ValueError
        Shapes that are not ``(n_items,)``.
    """
    if start is None:
        return np.full(n_items, fresh[0], np.float64), np.full(n_items, fresh[1], np.float64)
    first, second = (np.array(part, dtype=np.float64) for part in start)
    if first.shape != (n_items,) or second.shape != (n_items,):
        raise ValueError(f"start is of shapes {first.shape} and {second.shape}, not ({n_items},)")
    return first, second


def checked(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike, *, n_items: int
) -> tuple[Codes, Codes, npt.NDArray[np.int8]]:
    """Check comparisons and return them as arrays; parameters and errors as `winners_first`."""
    first, second = _checked(first, second, n_items)
    outcomes = np.asarray(outcome)
    if outcomes.shape != first.shape:
        raise ValueError(f"{outcomes.size} outcomes of {first.size} comparisons")
    is_valid = (outcomes == FIRST_WINS) | (outcomes == TIE) | (outcomes == SECOND_WINS)
    if not is_valid.all():
        raise ValueError(f"outcome must be 1, 0 or -1, not {outcomes[~is_valid][:5].tolist()}")
    return first, second, outcomes.astype(np.int8)


def _checked(first: npt.ArrayLike, second: npt.ArrayLike, n_items: int) -> tuple[Codes, Codes]:
    first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"first and second are of shapes {first.shape} and {second.shape}")
    for codes in (first, second):
        if codes.min(initial=0) < 0 or codes.max(initial=-1) >= n_items:
            outside = (codes < 0) | (codes >= n_items)
            raise ValueError(f"items not in 0..{n_items - 1}: {codes[outside][:5].tolist()}")
    same = first == second
    if same.any():
        raise ValueError(
            f"{same.sum()} comparisons of an item with itself: items {first[same][:5].tolist()}"
        )
    return first, second
