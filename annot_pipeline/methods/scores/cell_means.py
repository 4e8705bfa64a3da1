"""Means of means: judgments to criteria, to cells, to systems; and what each judgment weighs.

A cell is what is scored at once (an item, or a system's output for a segment). With several
criteria a cell's score is the unweighted mean over its criteria, whatever the number of
judgments of each; a system's score is the unweighted mean over its segments (Graham et al.
2013, section 5; as WMT computes it). A judgment without a value counts for nothing, and a
cell without any has NaN.

An item's score is the mean of its criteria's means (Graham et al. 2013, section 5, as
`annot_pipeline.methods.scores.cell_means` computes it), so a judgment weighs 1 / (criteria x
judgments of its criterion). Without a judge the same rule holds for what is left; a criterion that
nobody is left to judge drops out. z-scores keep the mean and sd of their judges: held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import means


@dataclass(frozen=True)
class CellMeans:
    """Arrays are ``(n_cells,)``: the mean (NaN without values) and the number of values."""

    mean: Floats
    n: Codes


def cell_means(
    cells: Codes, values: Floats, *, n_cells: int, criteria: Codes | None = None
) -> CellMeans:
    """Return the mean value of each cell.

    Parameters
    ----------
    cells
        ``(n_values,)`` codes of cells from 0.
    values
        ``(n_values,)``; NaN is left out.
    n_cells
        Size of the code range.
    criteria
        ``(n_values,)`` codes of criteria from 0; None: there is one.
    """
    is_scored = ~np.isnan(values)
    cells, values = cells[is_scored], values[is_scored]
    n = np.bincount(cells, minlength=n_cells)
    if criteria is None or not criteria.size:
        return CellMeans(means(cells, values, n_groups=n_cells), n)
    width = int(criteria.max()) + 1
    parts, part = np.unique(cells * width + criteria[is_scored], return_inverse=True)
    part_means = means(part.reshape(-1), values, n_groups=parts.size)
    return CellMeans(means(parts // width, part_means, n_groups=n_cells), n)


@dataclass(frozen=True, eq=False)
class ScoreEvidence:
    """What the judgments say of one item.

    Parameters
    ----------
    weight
        ``(n_judgments,)`` share in the mean; 0 without a value. They add up to 1.
    mean
        The item's mean; NaN without values.
    without
        ``(n_judges,)`` the mean without the judge; NaN where nothing is left.
    """

    weight: Floats
    mean: float
    without: Floats


def score_evidence(
    judges: Codes, criteria: Codes, values: Floats, *, n_judges: int
) -> ScoreEvidence:
    """Weigh the judgments of one item.

    Parameters
    ----------
    judges, criteria
        ``(n_judgments,)`` codes from 0.
    values
        ``(n_judgments,)``; NaN is left out.
    n_judges
        Size of the code range of judges.
    """
    n_criteria = int(criteria.max(initial=0)) + 1
    is_scored = ~np.isnan(values)
    total, n = np.zeros((n_judges, n_criteria)), np.zeros((n_judges, n_criteria), np.int64)
    np.add.at(total, (judges[is_scored], criteria[is_scored]), values[is_scored])
    np.add.at(n, (judges[is_scored], criteria[is_scored]), 1)
    all_total, all_n = total.sum(axis=0), n.sum(axis=0)
    share = 1.0 / (np.maximum(all_n, 1) * max(int((all_n > 0).sum()), 1))
    return ScoreEvidence(
        weight=np.where(is_scored, share[criteria], 0.0),
        mean=float(_mean_of_means(all_total, all_n)),
        without=_mean_of_means(all_total - total, all_n - n),
    )


def _mean_of_means(total: Floats, n: Codes) -> Floats:
    """Return the unweighted mean over the criteria that have values; the last axis is criteria."""
    means = np.where(n > 0, total / np.maximum(n, 1), 0.0)
    criteria = (n > 0).sum(axis=-1)
    return np.asarray(np.where(criteria > 0, means.sum(axis=-1) / np.maximum(criteria, 1), np.nan))
