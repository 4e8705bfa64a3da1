"""The comparisons that scalar HITs imply: of two items that one judge scored in one HIT.

A HIT of n scored items yields n (n - 1) / 2 outcomes (Sakaguchi & Van Durme 2018, section 5).
Pairs join ordinary judgments of one judge, HIT and segment; where no segment is known they join
those of one HIT that holds no more than `MOST_ITEMS` items. They come in the order of the HITs'
submission, then of the least judgment id, and within a HIT by items: online methods depend on
it. What does not belong here: what the methods make of them (trueskill, bounded_ra).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.moments import means
from annot_pipeline.steps.indexing import index, index_pairs

MOST_ITEMS = 20
"""Items of a HIT without segments that are compared with each other."""

MOST_OF_SEGMENT = 1_000
"""Items of one segment in a HIT: beyond, the pairs would not fit into memory."""

ROUNDING = 1e-12
"""Of scores that differ by less, relative to the larger, the difference is noise of a mean."""

REASONS = (
    "no comparison: no HIT is mapped",
    "no comparison: no other item of its segment in a HIT",
    f"no comparison: no segment is mapped, and its HITs hold more than {MOST_ITEMS} items",
    f"no comparison: its HITs hold more than {MOST_OF_SEGMENT:,} items of its segment",
)

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons in order; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    first, second
        Codes of items; the first comes before the second.
    outcome
        1: the first wins; -1: the second wins; 0: a tie.
    reason
        ``(n_items,)`` place in `REASONS` of why an item has none; -1 where it has.
    """

    first: Codes
    second: Codes
    outcome: Codes
    reason: Codes


def imply_comparisons(
    rows: pa.Table, items: Codes, tasks: Codes, scores: Floats, *, n_items: int, margin: float
) -> Comparisons:
    """Compare the items of each HIT.

    Parameters
    ----------
    rows
        Ordinary judgments of judges kept: ``judge``, ``hit``, ``segment``, ``submitted_at``,
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
    in_hit = rows["hit"].is_valid().to_numpy()
    reason = np.full(n_items, 1)
    reason[np.bincount(items[in_hit], minlength=n_items) == 0] = 0
    rows, items, tasks, scores = (
        rows.filter(pa.array(in_hit)), items[in_hit], tasks[in_hit], scores[in_hit]
    )  # fmt: skip
    groups, has_segment = _groups(rows, tasks)
    cells = index_pairs(groups, items)  # an item in a HIT
    n_groups = int(groups.max(initial=-1)) + 1
    n_in_group = np.bincount(cells.first, minlength=n_groups)
    segmented = np.zeros(n_groups, np.bool_)
    segmented[groups] = has_segment
    unsegmented = ~segmented & (n_in_group > MOST_ITEMS)
    reason[items[unsegmented[groups]]] = 2
    large = segmented & (n_in_group > MOST_OF_SEGMENT)
    reason[items[large[groups]]] = 3
    too_many = unsegmented | large
    compared = (n_in_group > 1) & ~too_many
    order = _order(rows, groups, compared)
    first, second = _pairs(n_in_group, order)
    score = means(cells.codes, scores, n_groups=cells.first.size)
    apart = score[first] - score[second]
    noise = ROUNDING * np.maximum(np.abs(score[first]), np.abs(score[second]))
    outcome = np.where(np.abs(apart) <= margin + noise, 0, np.sign(apart)).astype(np.int64)
    reason[cells.second[np.concatenate([first, second])]] = -1
    return Comparisons(cells.second[first], cells.second[second], outcome, reason)


def _groups(rows: pa.Table, tasks: Codes) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Codes of task, judge, HIT and segment together, and whether a row has a segment."""
    has_segment = rows["segment"].is_valid().to_numpy()
    codes = tasks
    for name in ("judge", "hit", "segment"):
        column = pc.fill_null(rows[name].cast(TEXT), "")
        codes = index_pairs(codes, index(column).codes).codes
    return index_pairs(codes, has_segment.astype(np.int64)).codes, has_segment


def _order(rows: pa.Table, groups: Codes, compared: npt.NDArray[np.bool_]) -> Codes:
    """The groups that are compared, in order of submission, then of their least judgment id."""
    some = np.flatnonzero(compared[groups])
    if not some.size:
        return np.zeros(0, np.int64)
    group = groups[some]
    late = np.iinfo(np.int64).max  # a HIT without a time comes last
    time = pc.fill_null(rows["submitted_at"].cast(pa.int64()), late).to_numpy()[some]
    ids = index(rows["judgment_id"].take(pa.array(some))).codes
    submitted = np.full(compared.size, np.iinfo(np.int64).min)
    np.maximum.at(submitted, group, time)
    least = np.full(compared.size, late)
    np.minimum.at(least, group, ids)
    found = np.flatnonzero(compared)
    return found[np.lexsort((least[found], submitted[found]))]


def _pairs(n_in_group: Codes, order: Codes) -> tuple[Codes, Codes]:
    """All pairs of cells of each group, group by group in order; cells stand by group."""
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
