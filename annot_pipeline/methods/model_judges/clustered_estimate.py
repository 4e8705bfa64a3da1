"""An estimate whose error comes from its influence values, in clusters of items and of judges.

The influence value of an answer is by how much the estimate moves with the weight of the answer;
the variance of the estimate is that of their mean. Sources: Hampel 1974 for influence values;
`numerics.intervals` for two-way clusters. Intervals are Student's, with as many degrees of
freedom as there are clusters of the rarer kind, less 1.

Assumes that clusters are random samples of those that are spoken of. With fewer than `FEW` judges
items alone count as drawn, and the interval speaks of these judges.

Degenerate input, each with a reason: fewer than two items (or documents), or influence values that
are all 0, as where all agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.intervals import variance_of_mean
from annot_pipeline.methods.rankings.inference import FEW

FEW_ITEMS = "fewer than 2 items, or documents, so the error is unknown"
NO_VARIATION = "agreement is equal on all items, so the error is unknown"
NEGLIGIBLE = 1e-12
"""Of influence values: what rounding may leave of 0."""


@dataclass(frozen=True)
class ClusteredEstimate:
    """An estimate with its standard error.

    Parameters
    ----------
    value
        NaN where it cannot be known.
    standard_error, degrees_of_freedom
        NaN where the error cannot be known.
    by_judge
        Whether judges are clusters too; else the interval speaks of these judges only.
    reason
        Why the value or its error is NaN; None: neither is.
    """

    value: float
    standard_error: float
    degrees_of_freedom: float
    by_judge: bool
    reason: str | None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval; NaN without an error."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees_of_freedom, 0.5 + level / 2)) * self.standard_error
        return self.value - half, self.value + half


def check_answers(items: Codes, judges: Codes, answers: Floats | Codes) -> None:
    """Check that each answer has an item and a judge, and a judge one answer on an item.

    Raises
    ------
    ValueError
        An array has another length, or a judge has two answers on an item.
    """
    if not items.size == judges.size == answers.size:
        raise ValueError(f"{items.size} items, {judges.size} judges, {answers.size} answers")
    if np.unique(np.stack([items, judges]), axis=1).shape[1] < items.size:
        raise ValueError("a judge has two answers on an item")


def unknown(reason: str, value: float = float("nan")) -> ClusteredEstimate:
    """Return an estimate without an error, or without a value as well."""
    return ClusteredEstimate(value, float("nan"), float("nan"), by_judge=False, reason=reason)


def clustered_estimate(
    value: float,
    influence: Floats,
    items: Codes,
    judges: Codes | None = None,
    *,
    judge_influence: Floats | None = None,
) -> ClusteredEstimate:
    """Return an estimate with its error.

    Parameters
    ----------
    value
        The estimate.
    influence
        ``(n,)`` of each answer; their mean is 0.
    items, judges
        ``(n,)`` codes of clusters; without judges, items alone are clusters.
    judge_influence
        ``(n,)`` in clusters of judges, where an answer stands for those of two judges.
    """
    if np.unique(items).size < 2:
        return unknown(FEW_ITEMS, value)
    if np.abs(influence).max() <= NEGLIGIBLE:
        return unknown(NO_VARIATION, value)
    by_judge = judges is not None and np.unique(judges).size >= FEW
    clusters = [items, judges] if judges is not None and by_judge else [items]
    variance, n_clusters = variance_of_mean(influence, clusters, second_values=judge_influence)
    return ClusteredEstimate(value, float(np.sqrt(variance)), n_clusters - 1.0, by_judge, None)
