"""Pairs of judges of labels who agree where they should not: on answers that the others deny.

Two judges who look for themselves agree on a class that is not the plurality of an item's answers
now and then: by chance, or since the item is hard. Each of them denies the plurality alone as well
then. Of copies neither does: whenever one denies it, so does the other, with the same class. Pairs
are those who agree on nearly all items that both answered, and whose shared denials are improbable
under the answers of the other judges to the same items. Where copies are the plurality, nothing
tells who is right (label_camps).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.distinct import is_new, linked_groups

FEWEST_DENIALS = 8
"""Shared denials of a pair, from which on its agreement can tell copies from hard items."""
LOG_DENIALS_P = math.log(1e-5)
"""Log chance of the shared denials of independent judges, below which a pair copies."""
LEAST_AGREEMENT = 0.98
"""Least share of equal answers, of the items that both answered, by which a pair copies."""
MOST_ALIKE = 64
"""If more judges than this give one minority answer to an item, its pairs are not counted."""


@dataclass(frozen=True)
class LabelCopies:
    """Pairs of judges who copy, ``(n_pairs,)``.

    Parameters
    ----------
    first, second
        Codes of the judges, the first below the second.
    denials
        Items on which both gave the same class, and more judges another.
    shared
        Items that both answered.
    agreed
        Items to which both gave the same answers.
    """

    first: Codes
    second: Codes
    denials: Codes
    shared: Codes
    agreed: Codes


def label_copies(
    items: Codes, judges: Codes, labels: Codes, *, n_items: int, n_judges: int, n_labels: int
) -> LabelCopies:
    """Return the pairs of judges of a task who copy.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes of the answers; of several answers of a judge to an item the last counts.
    n_items, n_judges, n_labels
        How many there are of each.
    """
    keys = items * np.int64(n_judges) + judges
    _, last = np.unique(keys[::-1], return_index=True)
    keep = keys.size - 1 - last
    items, judges, labels = items[keep], judges[keep], labels[keep]
    counts = np.zeros((n_items, n_labels), np.int64)
    np.add.at(counts, (items, labels), 1)
    top = np.sort(np.column_stack([counts, np.zeros(n_items, np.int64)]), axis=1)[:, -2:]
    is_top = counts[items, labels] == top[items, 1]
    rival = np.where(is_top, top[items, 0], top[items, 1])  # of the other classes
    is_denied = rival > counts[items, labels]
    # chance of the class by the answers of others than the pair, smoothed by a vote for each class
    share = (counts - 1) / np.maximum(counts.sum(axis=1, keepdims=True) - 2 + n_labels, 1)
    pairs, denials, log_p = _pairs_of_cells(
        (items * n_labels + labels)[is_denied], judges[is_denied], n_judges, share.ravel()
    )
    some = (denials >= FEWEST_DENIALS) & (log_p < LOG_DENIALS_P)
    pairs, denials = pairs[some], denials[some]
    first, second = pairs // n_judges, pairs % n_judges
    shared, agreed = np.zeros(first.size, np.int64), np.zeros(first.size, np.int64)
    order = np.argsort(judges, kind="stable")
    ends = np.searchsorted(judges[order], np.arange(n_judges + 1))
    for n, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        of_a, of_b = order[ends[a] : ends[a + 1]], order[ends[b] : ends[b + 1]]
        _, at_a, at_b = np.intersect1d(
            items[of_a], items[of_b], assume_unique=True, return_indices=True
        )
        shared[n] = at_a.size
        agreed[n] = (labels[of_a[at_a]] == labels[of_b[at_b]]).sum()
    copies = agreed >= LEAST_AGREEMENT * shared
    return LabelCopies(
        first[copies], second[copies], denials[copies], shared[copies], agreed[copies]
    )


def _pairs_of_cells(
    cells: Codes, judges: Codes, n_judges: int, share: Floats
) -> tuple[Codes, Codes, Floats]:
    """Return pairs of judges within cells as numbers, how many each pair shares, and log chance."""
    order = np.lexsort((judges, cells))
    cells, judges = cells[order], judges[order]
    starts = np.flatnonzero(is_new(cells))
    sizes = np.diff(np.append(starts, cells.size))
    parts, of_part = [np.zeros(0, np.int64)], [np.zeros(0)]
    for size in range(2, min(MOST_ALIKE, int(sizes.max(initial=0))) + 1):
        of_size = starts[sizes == size]
        members = judges[of_size[:, None] + np.arange(size)]
        a, b = np.triu_indices(size, 1)
        parts.append((members[:, a] * n_judges + members[:, b]).ravel())
        of_part.append(np.repeat(np.log(share[cells[of_size]]), a.size))
    pairs, at = np.unique(np.concatenate(parts), return_inverse=True)
    log_p: Floats = np.bincount(at, np.concatenate(of_part), pairs.size).astype(np.float64)
    return pairs, np.bincount(at, minlength=pairs.size).astype(np.int64), log_p


def groups_of_copies(copies: LabelCopies, n_judges: int) -> Codes:
    """Return the group of each judge, ``(n_judges,)``: of those who copy one another."""
    pairs = np.arange(copies.first.size)
    members = np.concatenate([copies.first, copies.second])
    return linked_groups(members, np.tile(pairs, 2), n_judges)
