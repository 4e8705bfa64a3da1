"""Distinct numbers, runs of rows and groups, by codes.

Distinct numbers are counted where they are whole and of a narrow range, else sorted: what
`np.unique` gives, which always sorts: where the range holds a few times as many numbers as
are given, one pass of counting does it in a tenth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats

WIDE = 4
"""Numbers in the range for each one given: where there are more, sorting takes less memory."""


def distinct(numbers: Codes) -> tuple[Codes, Codes]:
    """Find the distinct numbers, ascending, and how often each occurs.

    Parameters
    ----------
    numbers
        ``(n,)`` whole numbers.
    """
    if not _is_narrow(numbers):
        values, counts = np.unique(numbers, return_counts=True)
        return values, counts
    counts = np.bincount(numbers)
    values = np.flatnonzero(counts)
    return values, counts[values]


def places(numbers: Codes, values: Codes) -> Codes:
    """Return the place of each number among the distinct ones, ``(n,)``.

    Parameters
    ----------
    numbers
        ``(n,)`` whole numbers.
    values
        All of the distinct ones, ascending.
    """
    if not _is_narrow(numbers):
        return np.searchsorted(values, numbers)
    positions = np.empty(int(values.max(initial=-1)) + 1, np.int64)
    positions[values] = np.arange(values.size)
    return positions[numbers]


def renumbered(numbers: Codes) -> tuple[Codes, Codes]:
    """Find the distinct numbers, ascending, and the place of each number among them.

    Parameters
    ----------
    numbers
        ``(n,)`` whole numbers.
    """
    values, _ = distinct(numbers)
    return values, places(numbers, values)


def renumbered_values(values: Floats) -> tuple[Floats, Codes]:
    """Find the distinct values, ascending, and the place of each value among them.

    Parameters
    ----------
    values
        ``(n,)`` finite numbers.
    """
    codes, _ = ordered_codes(values)
    distinct_codes, positions = renumbered(codes)
    of_place = np.empty(distinct_codes.size)
    of_place[positions] = values
    return of_place, positions


def ordered_codes(values: Floats) -> tuple[Codes, int]:
    """Return codes in the order of values, and the size of their range.

    Whole numbers of a narrow range are codes themselves; of others the places are, by sorting.

    Parameters
    ----------
    values
        ``(n,)`` finite numbers.
    """
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if 0 <= high - low < WIDE * values.size and (np.rint(values) == values).all():
        return (values - low).astype(np.int64), int(high - low) + 1
    distinct_values, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1), distinct_values.size


def is_new(*keys: npt.NDArray[Any]) -> Flags:
    """Return whether a row differs in one of the keys from the row before; the first one does."""
    new = np.zeros(keys[0].size, np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new


def ranges(starts: Codes, sizes: Codes) -> Codes:
    """Return start, ..., start + size - 1 of each range, one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(sizes.sum()) + np.repeat(starts - before, sizes), np.int64)


def places_within(sorted_groups: Codes) -> Codes:
    """Return the place of each row among those of its group, from 0; rows are in order of group."""
    return np.arange(sorted_groups.size) - np.searchsorted(sorted_groups, sorted_groups)


def numbered_by_first(groups: npt.NDArray[Any]) -> Codes:
    """Return groups numbered from 0 in the order of their first members."""
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)
    number[np.argsort(first)] = np.arange(first.size)
    return number[codes.reshape(-1)]


def linked_groups(members: Codes, links: Codes, n_members: int) -> Codes:
    """Return the group of each member, ``(n_members,)``: members of one link are in one group.

    Parameters
    ----------
    members, links
        ``(n,)`` codes: the member has the link.
    n_members
        Size of the code range.
    """
    least = np.full(int(links.max(initial=-1)) + 1, n_members)
    group, before = np.arange(n_members), np.empty(0, np.int64)
    while not np.array_equal(group, before):
        before = group.copy()
        np.minimum.at(least, links, group[members])
        for own in (members, before[members]):  # with a member, the one that names its group
            np.minimum.at(group, own, least[links])
        group = group[group]
    return np.asarray(np.unique(group, return_inverse=True)[1].reshape(-1), np.int64)


def _is_narrow(numbers: Codes) -> bool:
    if not numbers.size:
        return False
    return bool(numbers.min() >= 0 and numbers.max() < WIDE * numbers.size)
