"""Rows of the table variance: what makes scores of a task differ, and what can be told apart.

Components are those of the adjusted scores (methods.rankings.adjusted_scores); intraclass
correlations come from mean squares where every judge scored every item once, else from components.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import VARIANCE
from annot_pipeline.methods.agreement.intraclass import ItemSums, Statistic, intraclass
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.rankings.adjusted_scores import AdjustedScores, adjusted_scores
from annot_pipeline.methods.rankings.detectable import detectable_difference
from annot_pipeline.methods.rankings.inference import FEW, SystemEstimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.stages.shared.columns import without_nan

NOT_CROSSED = "not every judge scored every item once: from variance components, no interval"
NO_REPEATS = "no item has scores of two judges"
ONE_JUDGE = "one judge: nothing to compare it with"
NO_OVERLAP = "no two systems can be compared"
THESE_ONLY = f"for these {{}} only: fewer than {FEW}"
"""Limits what `detectable_difference` speaks of: judges, segments or documents are not drawn."""
VALUES = {"value": "value", "ci_low": "low", "ci_high": "high", "reason": "reason"}
"""Columns of what a statistic says, by name."""
NEGLIGIBLE = 1e-12
"""Variance, points squared, that is rounding."""


def variance_rows(
    task: str, blocks: Blocks[ScoreBlock], adjusted: AdjustedScores | None = None
) -> pa.Table:
    """Return the rows of one task with scores.

    Parameters
    ----------
    task
        Its name.
    blocks
        Scores of judges kept; without systems, all of one.
    adjusted
        Its adjusted scores, in points; None: they are made here.
    """
    adjusted = adjusted or adjusted_scores(blocks)
    values = adjusted.estimates.values
    center = float(np.nan_to_num(np.nanmean(values))) if not np.isnan(values).all() else 0.0
    sums, crossed = intraclass(blocks, center)
    n_judges = int(np.count_nonzero(sums.judge_counts))
    statistics = _components(adjusted, sums, n_judges)
    if crossed is None:
        statistics |= _from_components(statistics, sums, n_judges)
    else:
        statistics |= {name: getattr(crossed, name) for name in ("icc_1", "icc_2_1", "icc_k")}
    statistics["judgments_per_item"] = Statistic(sums.per_item)
    if values.size > 1:
        statistics["detectable_difference"] = _detectable(adjusted)
    common = {"task": task, "n_items": sums.n_items, "n_judges": n_judges}
    rows = [
        common | {"statistic": name} | {column: getattr(one, key) for column, key in VALUES.items()}
        for name, one in statistics.items()
    ]
    return VARIANCE.from_rows([without_nan(row) for row in rows])


def _components(adjusted: AdjustedScores, sums: ItemSums, n_judges: int) -> dict[str, Statistic]:
    """Return the variances of judges, segments, systems, their combinations, and the rest."""
    components = adjusted.components
    has_pairs = sums.n - sums.repeated > sums.n_items
    judge = Statistic(components.judge) if n_judges > 1 else Statistic(np.nan, reason=ONE_JUDGE)
    parts = {
        "variance_judge": judge,
        "variance_segment": Statistic(components.segment),
        "variance_residual": Statistic(
            components.residual - components.judge_system - components.segment_system
        ),
    }
    if not has_pairs:
        parts["variance_segment"] = Statistic(np.nan, reason=NO_REPEATS)
    if adjusted.estimates.values.size > 1:
        judge_system = Statistic(components.judge_system)
        if n_judges < 2 or not _shares_judges(adjusted):
            judge_system = Statistic(np.nan, reason=ONE_JUDGE if n_judges < 2 else NO_OVERLAP)
        parts |= {
            "variance_system": _system_variance(adjusted),
            "variance_judge_system": judge_system,
            "variance_segment_system": Statistic(components.segment_system),
        }
    return parts


def _shares_judges(adjusted: AdjustedScores) -> bool:
    """Return whether two systems are compared at all: else levels and tastes are one thing."""
    component = adjusted.estimates.component[~np.isnan(adjusted.estimates.values)]
    return bool(np.unique(component).size < component.size)


def _system_variance(adjusted: AdjustedScores) -> Statistic:
    """Return the variance of systems less that of their estimates, within components."""
    estimates = adjusted.estimates
    variance, _ = estimates.variance()
    is_connected = estimates.component[:, None] == estimates.component
    pairs = np.triu(is_connected & ~np.isnan(estimates.values[:, None] - estimates.values), 1)
    if not pairs.any():
        return Statistic(np.nan, reason=NO_OVERLAP)
    gaps = (estimates.values[:, None] - estimates.values)[pairs]
    return Statistic(float(max((gaps**2 - variance[pairs]).mean() / 2, 0.0)))


def _from_components(
    statistics: dict[str, Statistic], sums: ItemSums, n_judges: int
) -> dict[str, Statistic]:
    """Return intraclass correlations from variances: an item is a system's output of a segment."""
    names = ("icc_1", "icc_2_1", "icc_k")
    if n_judges < 2 or sums.n - sums.repeated <= sums.n_items:
        reason = ONE_JUDGE if n_judges < 2 else NO_REPEATS
        return dict.fromkeys(names, Statistic(np.nan, reason=reason))

    def total(*kinds: str) -> float:
        values = [statistics[f"variance_{kind}"].value for kind in kinds
                  if f"variance_{kind}" in statistics]  # fmt: skip
        return float(np.nansum(values))

    item = total("system", "segment", "segment_system")
    error = total("judge", "judge_system", "residual")
    if item + error <= NEGLIGIBLE:
        return dict.fromkeys(names, Statistic(np.nan, reason="the scores do not vary"))
    one = Statistic(item / (item + error), reason=NOT_CROSSED)
    mean = Statistic(item / (item + error / sums.per_item), reason=NOT_CROSSED)
    return {"icc_1": one, "icc_2_1": one, "icc_k": mean}


def _detectable(adjusted: AdjustedScores) -> Statistic:
    """Return the difference that most pairs of systems show, in the median pair."""
    variance, freedom = adjusted.estimates.variance()
    component = adjusted.estimates.component
    pairs = np.triu(component[:, None] == component, 1) & (freedom >= 1) & (variance > 0)
    if not pairs.any():
        return Statistic(np.nan, reason="no two systems have a test")
    differences = detectable_difference(np.sqrt(variance[pairs]), freedom[pairs])
    return Statistic(float(np.median(differences)), reason=_limit(adjusted.estimates))


def _limit(estimates: SystemEstimates) -> str | None:
    """Return for whom tests hold; None where they hold for other judges and segments too."""
    if estimates.judges is None:
        return THESE_ONLY.format("judges")
    if estimates.segments is None:
        return THESE_ONLY.format("documents" if estimates.has_documents else "segments")
    return None
