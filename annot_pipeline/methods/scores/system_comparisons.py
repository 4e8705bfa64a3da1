"""Every system against every other: one-sided Wilcoxon rank-sum tests on segment scores.

Unmatched, by normal approximation with continuity correction, as WMT tests systems (Graham
et al. 2013, section 5; Bojar et al. 2016). Which segment scores are equal matters: round them
first (`rounding.comparable`, `zscores.printed`).

Memory is bounded: pairs of systems are tested in groups of at most ``ROWS`` segment scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.judges.grouped_tests import rank_sums
from annot_pipeline.methods.numerics.distinct import ranges
from annot_pipeline.methods.numerics.moments import means

ROWS = 1_000_000


@dataclass(frozen=True)
class SystemComparisons:
    """Arrays are ``(n_systems, n_systems)``, row against column; the diagonal is NaN.

    Parameters
    ----------
    difference
        Mean segment score of the row's system minus that of the column's.
    p_value
        One-sided: is the row's system better? NaN if one of them has no segments.
    """

    difference: Floats
    p_value: Floats


def compare_systems(
    systems: Codes, scores: Floats, *, n_systems: int, rows_at_once: int = ROWS
) -> SystemComparisons:
    """Test all ordered pairs of systems.

    Parameters
    ----------
    systems
        ``(n_cells,)`` codes of systems from 0; a cell is a segment that the system worked on.
    scores
        ``(n_cells,)`` segment scores.
    n_systems
        Size of the code range.
    rows_at_once
        Maximum number of segment scores of a group of pairs, unless it is one pair.
    """
    distinct, codes = np.unique(scores, return_inverse=True)
    order = np.argsort(systems, kind="stable")
    codes = codes.reshape(-1)[order]
    sizes = np.bincount(systems, minlength=n_systems)
    starts = np.cumsum(sizes) - sizes
    first, second = np.triu_indices(n_systems, 1)  # one test serves both directions
    p_value = np.full((n_systems, n_systems), np.nan)
    for pairs in _groups_of_pairs(sizes[first] + sizes[second], rows_at_once):
        a, b = first[pairs], second[pairs]
        sides = np.stack([a, b], axis=1).reshape(-1)
        rows = ranges(starts[sides], sizes[sides])
        side = np.repeat(np.arange(sides.size), sizes[sides])
        test = rank_sums(
            side >> 1, codes[rows], (side & 1) == 1, n_groups=a.size, n_values=distinct.size
        )
        equal = (test.variance <= 0) & (test.n > 0)  # all scores are equal: nobody is better
        for rows_, columns, p in ((a, b, test.p_value), (b, a, test.p_reverse)):
            p_value[rows_, columns] = np.where(equal, 1.0, np.where(test.n > 0, p, np.nan))
    mean = means(systems, scores, n_groups=n_systems)
    difference = mean[:, None] - mean[None, :]
    np.fill_diagonal(difference, np.nan)
    return SystemComparisons(difference, p_value)


def _groups_of_pairs(sizes: Codes, rows_at_once: int) -> list[slice]:
    """Return slices of consecutive pairs whose rows together fit (one pair always does)."""
    group = np.cumsum(sizes) // rows_at_once
    ends = np.flatnonzero(np.diff(group)) + 1
    bounds = [0, *ends.tolist(), sizes.size]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]
