"""The comparisons that rankings and scored HITs imply: of two items that one judge saw at once.

A HIT of n scored items yields n (n - 1) / 2 outcomes (Sakaguchi & Van Durme 2018, section 5), and
so does a ranking of n outputs. Pairs join ordinary judgments of one judge, segment and ranking
(HIT, where no ranking is mapped); where no segment is known they join those of one HIT that holds
no more than `MOST_ITEMS` items. They come in the order of the rankings' submission, then of the
least judgment id, and within a ranking by items: online methods depend on it. What does not
belong here: what the methods make of them (trueskill, bounded_ra).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.runtime.indexing import index, index_pairs

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
class Comparisons:
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
    rows: pa.Table, items: Codes, tasks: Codes, scores: Floats, *, n_items: int, margin: float
) -> Comparisons:
    """Compare the items of each HIT.

    Parameters
    ----------
    rows
        Ordinary judgments: ``judge``, ``ranking``, ``hit``, ``segment``, ``submitted_at``,
        ``judgment_id``.
    items, tasks
        ``(n_rows,)`` codes of the items (of all tasks) and of the tasks.
    scores
        ``(n_rows,)``; more is better. Several of one item in a HIT (criteria, say) are averaged.
    n_items
        Size of the items' code range.
    margin
        Scores no farther apart are a tie.
    """
    ranked = rows["ranking"].is_valid().to_numpy()
    some = np.flatnonzero(ranked | rows["hit"].is_valid().to_numpy())
    row_reason, all_items = np.zeros(ranked.size, np.int64), items
    rows = rows.select(["judge", "ranking", "hit", "segment", "submitted_at", "judgment_id"])
    rows, items, tasks, scores = rows.take(pa.array(some)), items[some], tasks[some], scores[some]
    groups, has_segment = _groups(rows, tasks)
    belongs = has_segment | ranked[some]  # a ranking says by itself what was seen together
    cells = index_pairs(groups, items)  # an item in a HIT
    n_groups = int(groups.max(initial=-1)) + 1
    n_in_group = np.bincount(cells.first, minlength=n_groups)
    is_segment = np.zeros(n_groups, np.bool_)
    is_segment[groups] = belongs
    too_many = n_in_group > np.where(is_segment, MOST_OF_SEGMENT, MOST_ITEMS)
    compared = (n_in_group > 1) & ~too_many
    why = np.where(compared, -1, np.where(too_many, np.where(is_segment, 3, CROWDED), ALONE))
    row_reason[some] = why[groups]
    order, least, last = _order(rows, groups, compared)
    first, second = _pairs(n_in_group, order)
    ranking = np.repeat(np.arange(order.size), n_in_group[order] * (n_in_group[order] - 1) // 2)
    score = means(cells.codes, scores, n_groups=cells.first.size)
    gap = score[first] - score[second]
    noise = ROUNDING * np.maximum(np.abs(score[first]), np.abs(score[second]))
    outcome = np.where(np.abs(gap) <= margin + noise, 0, np.sign(gap)).astype(np.int64)
    of_cell = some[_row_of_each(cells.codes, rows["judgment_id"])]
    return Comparisons(
        cells.second[first], cells.second[second], outcome,
        ranking, of_cell[first], of_cell[second], some[least][ranking], some[last][ranking],
        _reasons(all_items, row_reason, n_items), row_reason,
    )  # fmt: skip


def _row_of_each(cells: Codes, ids: pa.ChunkedArray) -> Codes:
    """Return the row of each cell; of several, the one with the least judgment id."""
    row = np.empty(int(cells.max(initial=-1)) + 1, np.int64)
    row[cells] = np.arange(cells.size)
    several = np.flatnonzero(np.bincount(cells, minlength=1)[cells] > 1)
    if several.size:
        id_ = index(ids.take(pa.array(several))).codes
        from_last = several[np.lexsort((id_, cells[several]))[::-1]]
        row[cells[from_last]] = from_last
    return row


def _reasons(items: Codes, row_reason: Codes, n_items: int) -> Codes:
    """Return why an item is in no comparison, by the judgment that comes nearest to one."""
    reason = np.zeros(n_items, np.int64)
    np.maximum.at(reason, items, row_reason)
    reason[items[row_reason < 0]] = -1
    return reason


def _groups(rows: pa.Table, tasks: Codes) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the codes of task, judge, ranking and segment, and whether a row has a segment."""
    has_segment = rows["segment"].is_valid().to_numpy()
    codes = tasks
    ranked = rows["ranking"].is_valid().to_numpy()
    for name in ("judge", "ranking", "hit", "segment"):
        key = index(rows[name], null="").codes
        if name == "hit":
            key = np.where(ranked, 0, key + 1)  # a ranking says more than its HIT
        codes = index_pairs(codes, key).codes
    return index_pairs(codes, has_segment.astype(np.int64)).codes, has_segment


def _order(
    rows: pa.Table, groups: Codes, compared: npt.NDArray[np.bool_]
) -> tuple[Codes, Codes, Codes]:
    """Return the compared groups by submission, then by their least judgment id.

    With each its row of the least judgment id, and the row that was submitted last.
    """
    some = np.flatnonzero(compared[groups])
    if not some.size:
        return some, some, some
    late = np.iinfo(np.int64).max  # a HIT without a time comes last
    time = pc.fill_null(rows["submitted_at"].cast(pa.int64()), late).to_numpy()[some]
    ids = index(rows["judgment_id"].take(pa.array(some))).codes
    group = groups[some]
    by_id, by_time = np.lexsort((ids, group)), np.lexsort((ids, -time, group))
    start = np.flatnonzero(np.diff(group[by_id], prepend=-1))
    least, last = by_id[start], by_time[start]
    order = np.lexsort((ids[least], time[last]))
    return group[least][order], some[least][order], some[last][order]


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
