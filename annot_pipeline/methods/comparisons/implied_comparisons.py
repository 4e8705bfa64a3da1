"""The comparisons that rankings and scored HITs imply: of two items that one judge saw at once.

A HIT of n scored items yields n (n - 1) / 2 outcomes (Sakaguchi & Van Durme 2018, section 5), and
so does a ranking of n outputs. Pairs join ordinary judgments of one judge, segment and ranking
(HIT, where no ranking is mapped); where no segment is known they join those of one HIT that holds
no more than `MOST_ITEMS` items. They come in the order of the rankings' submission, then of the
least judgment id, and within a ranking by items: online methods depend on it. What does not
belong here: what the methods make of them (trueskill, bounded_ra).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import renumbered
from annot_pipeline.methods.numerics.moments import means

MOST_ITEMS = 20
"""Items of a HIT without segments that are compared with each other."""

MOST_OF_SEGMENT = 1_000
"""Items of one segment in a HIT: beyond, the pairs would not fit into memory."""

ROUNDING = 1e-12
"""Of scores that differ by less, relative to the larger, the difference is noise of a mean."""

REASONS = (
    "no comparison: neither HIT nor ranking is mapped",
    "no comparison: no other item of its segment in a HIT",
    f"no comparison: no segment is mapped, and its HITs hold more than {MOST_ITEMS} items",
    f"no comparison: its HITs hold more than {MOST_OF_SEGMENT:,} items of its segment",
)

ALONE, CROWDED = 1, 2
"""Places in `REASONS`: of an item that its judge scored beside no other, or beside too many."""


@dataclass(frozen=True, eq=False)
class Sittings:
    """What judges saw at once: ordinary judgments of one task; codes are -1 where there is none.

    Parameters
    ----------
    judges, rankings, hits, segments
        ``(n_rows,)`` codes.
    times
        ``(n_rows,)`` of submission; the largest integer where it is not known.
    ids
        Returns the order of the judgment ids of some rows among themselves.
    """

    judges: Codes
    rankings: Codes
    hits: Codes
    segments: Codes
    times: Codes
    ids: Callable[[Codes], Codes]


@dataclass(frozen=True, eq=False)
class ImpliedComparisons:
    """Comparisons in order; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    first, second
        Codes of items; the first comes before the second.
    outcome
        1: the first wins; -1: the second wins; 0: a tie.
    ranking
        Number of what was judged at once, in order, from 0.
    first_row, second_row
        A row that says what is known of either item in this ranking.
    row
        Of the ranking: the row with the least judgment id.
    last_row
        Of the ranking: the row that was submitted last.
    reason
        ``(n_items,)`` place in `REASONS` of why an item has none; -1 where it has.
    row_reason
        ``(n_rows,)`` the same of the single judgments.
    """

    first: Codes
    second: Codes
    outcome: Codes
    ranking: Codes
    first_row: Codes
    second_row: Codes
    row: Codes
    last_row: Codes
    reason: Codes
    row_reason: Codes


def imply_comparisons(
    items: Codes, scores: Floats, sittings: Sittings, *, n_items: int, margin: float
) -> ImpliedComparisons:
    """Compare the items of each HIT.

    Parameters
    ----------
    items
        ``(n_rows,)`` codes.
    scores
        ``(n_rows,)``; more is better. Several of one item in a HIT (criteria, say) are averaged.
    seen
        What was seen at once.
    n_items
        Size of the items' code range.
    margin
        Scores no farther apart are a tie.
    """
    is_ranked = sittings.rankings >= 0
    some = np.flatnonzero(is_ranked | (sittings.hits >= 0))
    row_reason = np.zeros(items.size, np.int64)
    groups = _groups(sittings, some)
    # a ranking says by itself what was seen together
    belongs = (sittings.segments[some] >= 0) | is_ranked[some]
    keys, cells = renumbered(groups * max(n_items, 1) + items[some])  # an item in a HIT
    group_of_cell, item_of_cell = np.divmod(keys, max(n_items, 1))
    n_groups = int(groups.max(initial=-1)) + 1
    n_in_group = np.bincount(group_of_cell, minlength=n_groups)
    is_segment = np.zeros(n_groups, np.bool_)
    is_segment[groups] = belongs
    too_many = n_in_group > np.where(is_segment, MOST_OF_SEGMENT, MOST_ITEMS)
    compared = (n_in_group > 1) & ~too_many
    why = np.where(compared, -1, np.where(too_many, np.where(is_segment, 3, CROWDED), ALONE))
    row_reason[some] = why[groups]
    order, least, last = _order(sittings, some, groups, compared)
    first, second = _pairs(n_in_group, order)
    ranking = np.repeat(np.arange(order.size), n_in_group[order] * (n_in_group[order] - 1) // 2)
    score = means(cells, scores[some], n_groups=keys.size)
    gap = score[first] - score[second]
    noise = ROUNDING * np.maximum(np.abs(score[first]), np.abs(score[second]))
    outcome = np.where(np.abs(gap) <= margin + noise, 0, np.sign(gap)).astype(np.int64)
    of_cell = _row_of_each(cells, some, sittings)
    return ImpliedComparisons(
        item_of_cell[first], item_of_cell[second], outcome,
        ranking, of_cell[first], of_cell[second], least[ranking], last[ranking],
        _reasons(items, row_reason, n_items), row_reason,
    )  # fmt: skip


def _groups(sittings: Sittings, some: Codes) -> Codes:
    """Return the codes of judge, ranking and segment: a ranking says more than its HIT."""
    ranking = sittings.rankings[some]
    hit = np.where(ranking >= 0, -1, sittings.hits[some])
    keys = (sittings.judges[some], ranking, hit, sittings.segments[some])

    def pair(codes: Codes, key: Codes) -> Codes:
        return renumbered(codes * (int(key.max(initial=-1)) + 2) + key + 1)[1]

    return reduce(pair, keys, np.zeros(some.size, np.int64))


def _row_of_each(cells: Codes, some: Codes, sittings: Sittings) -> Codes:
    """Return the row of each cell; of several, the one with the least judgment id."""
    row = np.empty(int(cells.max(initial=-1)) + 1, np.int64)
    row[cells] = some
    several = np.flatnonzero(np.bincount(cells, minlength=1)[cells] > 1)
    if several.size:
        ids = sittings.ids(some[several])
        from_last = several[np.lexsort((ids, cells[several]))[::-1]]
        row[cells[from_last]] = some[from_last]
    return row


def _reasons(items: Codes, row_reason: Codes, n_items: int) -> Codes:
    """Return why an item is in no comparison, by the judgment that comes nearest to one."""
    reason = np.zeros(n_items, np.int64)
    np.maximum.at(reason, items, row_reason)
    reason[items[row_reason < 0]] = -1
    return reason


def _order(
    sittings: Sittings, some: Codes, groups: Codes, compared: Flags
) -> tuple[Codes, Codes, Codes]:
    """Return the compared groups by submission, then by their least judgment id.

    With each its row of the least judgment id, and the row that was submitted last.
    """
    of_compared = compared[groups]
    rows, group = some[of_compared], groups[of_compared]
    if not rows.size:
        return rows, rows, rows
    time, ids = sittings.times[rows], sittings.ids(rows)
    by_id, by_time = np.lexsort((ids, group)), np.lexsort((ids, -time, group))
    start = np.flatnonzero(np.diff(group[by_id], prepend=-1))
    least, last = by_id[start], by_time[start]
    order = np.lexsort((ids[least], time[last]))
    return group[least][order], rows[least][order], rows[last][order]


def _pairs(n_in_group: Codes, order: Codes) -> tuple[Codes, Codes]:
    """Return all pairs of cells of each group, group by group in order."""
    start = np.cumsum(n_in_group) - n_in_group
    sizes = n_in_group[order]
    firsts: list[Codes] = []
    seconds: list[Codes] = []
    places: list[Codes] = []
    for size in np.unique(sizes).tolist():
        a, b = np.triu_indices(size, 1)
        where = np.flatnonzero(sizes == size)
        base = start[order[where]][:, None]
        firsts.append((base + a).reshape(-1))
        seconds.append((base + b).reshape(-1))
        places.append(np.repeat(where, a.size))
    if not places:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    by_place = np.argsort(np.concatenate(places), kind="stable")
    return np.concatenate(firsts)[by_place], np.concatenate(seconds)[by_place]
