"""Scores of systems adjusted for judges and segments, with variances by judge and by segment.

A score is system + judge + segment + rest. Judges are lenient or strict, and segments easy or
hard; where systems have other judges or other segments, means of scores compare these instead. The
estimates are differences within judges, and within segments as far as segments differ
(generalized least squares by instruments): z = x - its mean over the judge - its mean over the
segment, shrunk. They are in points of the scale.

With ``is_scaled``, deviations of a judge are divided by the judge's own residual spread, shrunk
towards that of all: judges who use more of the scale count no more than others.

Judges are fixed effects: which judge saw which system tells nothing. ``judges="random"`` is right
only where judges were assigned to systems at random; it alone compares systems that share no judge.
Segments are random effects; ``segments="fixed"`` where systems were given easier or harder ones.

Where judges gave unequal numbers of judgments, judgments weigh by these (load_weights), as what a
judge makes of a system is not averaged out; fewer than `FEW` judges are not weighed against others.

Variances are over clusters of judges and of segments; segments of one document are one cluster,
where blocks have documents. Effects stay those of segments.

Sources: Searle, Casella & McCulloch 1992, section 5.2 (components by moments of pairs); Cameron,
Gelbach & Miller 2011 (two-way clusters); Bell & McCaffrey 2002 (CR2).

Degenerate input: systems that no chain of judges connects are of different components; a system
without judgments has NaN; with one judgment a judge, nothing is left to estimate from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.distinct import linked_groups
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.methods.rankings import score_variance
from annot_pipeline.methods.rankings.cluster_variance import LEAST
from annot_pipeline.methods.rankings.inference import FEW, ClusterVariance, SystemEstimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import (
    Scale,
    ScoreParams,
    Shrinkage,
    VarianceComponents,
    centred_inverse,
    fit_effects,
    judge_effects,
    load_weights,
    score_sums,
)

SWEEPS, FIXED_SWEEPS = 2, 12
"""Of judges and segments in turn for instruments, with random and with fixed segments."""
SINGULAR = 1e-6
"""Information on a difference, as a share of a system's judgments, that is none."""


@dataclass(frozen=True)
class AdjustedScores:
    """Systems' scores, and what they were adjusted for.

    Parameters
    ----------
    estimates
        Of systems, in points.
    components
        Variances.
    judge_effects, judge_spreads
        ``(n_judges,)`` points that a judge gives more than others, and the spread of the judge's
        residuals; NaN for judges without judgments.
    judge_judgments
        ``(n_judges,)``.
    judge_ratio
        Variance of what judges make of systems, as a share of that of judgments, in weights.
    """

    estimates: SystemEstimates
    components: VarianceComponents
    judge_effects: Floats
    judge_spreads: Floats
    judge_judgments: Floats
    judge_ratio: float

    @property
    def spread_of_spreads(self) -> float:
        """Return the standard deviation of the logarithm of spreads, weighted by judgments."""
        used = self.judge_judgments > 0
        weights, logs = self.judge_judgments[used], np.log(self.judge_spreads[used])
        if not weights.size:
            return 0.0
        mean = weights @ logs / weights.sum()
        return float(np.sqrt(weights @ (logs - mean) ** 2 / weights.sum()))


@dataclass(frozen=True)
class _Counts(Additive):
    """Judgments ``(n_judges, K)``, sums of scores ``(K,)``, and clusters with judgments.

    ``n_of_documents``: those of them that lie in blocks whose clusters are documents.
    """

    judgments: Floats
    scores: Floats
    n_clusters: int
    n_of_documents: int


@dataclass(frozen=True)
class _Normal(Additive):
    """Parts of the normal equations that are sums over segments."""

    judges: Floats
    systems: Floats
    scores: Floats


def adjusted_scores(
    blocks: Blocks[ScoreBlock], params: ScoreParams | None = None
) -> AdjustedScores:
    """Return the scores of systems, adjusted for judges and segments.

    Parameters
    ----------
    blocks
        Scores of one task; each segment, and each document, lies in one block.
    params
        How they are adjusted.
    """
    params = params or ScoreParams()
    counts = blocks.sum(_counts)
    n_judges, n_systems = counts.judgments.shape
    totals, of_judge = counts.judgments.sum(axis=0), counts.judgments.sum(axis=1)
    n = float(totals.sum())
    if not n:
        return _no_scores(n_judges, n_systems)
    scale = Scale(float(counts.scores.sum()) / n, np.zeros(n_judges), np.ones(n_judges))
    component = _components(counts.judgments, params)
    fitted = fit_effects(blocks, scale, counts.judgments, component, params)
    if params.is_scaled:
        factor = np.sqrt(max(fitted.components.residual, LEAST)) / fitted.spreads
        scale = Scale(scale.mean, fitted.judges, np.where(of_judge > 0, factor, 1.0))
        fitted = fit_effects(blocks, scale, counts.judgments, component, params)
    shrinkage = fitted.shrinkage
    n_used, n_clusters = int(np.count_nonzero(of_judge)), counts.n_clusters
    ratio = fitted.ratio if n_used >= FEW else 0.0
    weights = load_weights(counts.judgments, ratio)
    weighted = counts.judgments * weights
    of_system = weighted.sum(axis=0)
    if (weights != 1).any():
        blocks = blocks.keep(ScoreBlock.with_weights, weights)
    projection, before, normal = _instruments(blocks, scale, weighted, shrinkage, params)
    sums = blocks.sum(score_sums, scale)
    matrix = np.diag(of_system) - weighted.T @ projection - normal.systems
    component = _split_singular(matrix, totals, component)
    inverse = centred_inverse(matrix, totals, component)
    values = inverse @ (sums.system - projection.T @ sums.judge - normal.scores)
    effects = judge_effects(blocks, scale, values, weighted.sum(axis=1), shrinkage)
    meat = blocks.sum(
        score_variance.score_products, scale, values, effects, before, projection, of_system,
        shrinkage, n_bytes=2 * n_judges * n_systems * 8,
    )  # fmt: skip
    judges = segments = both = None
    if n_used >= FEW or n_clusters < FEW:
        judges = score_variance.judge_variance(
            counts.judgments, weights, projection, inverse, meat, shrinkage, params
        )
    if n_clusters >= FEW or n_used < FEW:
        correlation = meat.cluster_correlation.correlation
        freedom = blocks.sum(score_variance.cluster_freedom, of_system, correlation)
        segments = ClusterVariance(inverse @ meat.clusters @ inverse.T, freedom.degrees_of_freedom)
    if judges is not None and segments is not None:
        both = inverse @ meat.both @ inverse.T
    values = _levelled(values, counts.scores, totals, component)
    estimates = SystemEstimates(
        values, judges, segments, both, component, has_documents=counts.n_of_documents > 0
    )
    is_used = of_judge > 0
    residual = fitted.components.residual
    components = replace(
        fitted.components,
        judge_system=meat.judge_correlation(weighted) * residual,
        segment_system=meat.segment_correlation.correlation * residual,
    )
    return AdjustedScores(
        estimates,
        components,
        np.where(is_used, fitted.judges - _mean(fitted.judges[is_used]), np.nan),
        np.where(is_used, fitted.spreads, np.nan),
        of_judge,
        ratio,
    )


def _levelled(values: Floats, scores: Floats, totals: Floats, component: Codes) -> Floats:
    """Return values with the mean score of the component as theirs; NaN without judgments."""
    levelled = np.full(values.size, np.nan)
    for code in np.unique(component[totals > 0]):
        members = (component == code) & (totals > 0)
        gap = float(scores[members].sum() - totals[members] @ values[members])
        levelled[members] = values[members] + gap / float(totals[members].sum())
    return levelled


def _no_scores(n_judges: int, n_systems: int) -> AdjustedScores:
    nothing = np.zeros((n_systems, n_systems))
    estimates = SystemEstimates(
        np.full(n_systems, np.nan), None, ClusterVariance(nothing, nothing), None,
        np.arange(n_systems),
    )  # fmt: skip
    missing = np.full(n_judges, np.nan)
    unknown, n_of_judge = VarianceComponents(np.nan, np.nan, np.nan), np.zeros(n_judges)
    return AdjustedScores(estimates, unknown, missing, missing, n_of_judge, 0.0)


def _instruments(
    blocks: Blocks[ScoreBlock],
    scale: Scale,
    judgments: Floats,
    shrinkage: Shrinkage,
    params: ScoreParams,
) -> tuple[Floats, Floats, _Normal]:
    """Return what is projected out by judges, the same a sweep before, and sums over segments."""
    by_judge = shrinkage.by_judge(judgments.sum(axis=1))[:, None]
    projection = judgments * by_judge
    n_bytes = judgments.size * 8
    sweeps = FIXED_SWEEPS if params.segments == "fixed" else SWEEPS
    for sweep in range(sweeps):
        before = projection
        is_last = sweep == sweeps - 1
        normal = blocks.sum(_normal, scale, before, shrinkage, is_last, n_bytes=n_bytes)
        projection = (judgments - normal.judges) * by_judge
    return projection, before, normal


def _components(judgments: Floats, params: ScoreParams) -> Codes:
    """Return the component of each system: systems of one are connected by judges."""
    is_used = judgments.sum(axis=0) > 0
    if params.judges == "random":
        return np.where(is_used, 0, 1 + np.arange(is_used.size))
    judges, systems = np.nonzero(judgments)
    return linked_groups(systems, judges, is_used.size)


def _split_singular(matrix: Floats, totals: Floats, component: Codes) -> Codes:
    """Return components of which the normal equations tell all differences; else of one system.

    With fixed segments, systems may share judges, but no segment that tells them from these.
    """
    codes = component.copy()
    for code in np.unique(component):
        members = np.flatnonzero(component == code)
        own = matrix[np.ix_(members, members)]
        values = np.linalg.eigvalsh(own + own.T)
        if members.size > 1 and values[1] <= SINGULAR * totals[members].max():
            codes[members] = component.size + members
    return np.unique(codes, return_inverse=True)[1].reshape(-1)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _counts(block: ScoreBlock) -> _Counts:
    n_clusters = np.unique(block.cluster_codes).size
    return _Counts(
        block.by_judge_and_system(None), block.by_system(block.scores), n_clusters,
        n_clusters if block.clusters is not None else 0,
    )  # fmt: skip


def _normal(
    block: ScoreBlock, scale: Scale, projection: Floats, shrinkage: Shrinkage, is_last: bool
) -> _Normal:
    n_systems = block.n_systems
    nothing = np.zeros((n_systems, n_systems)), np.zeros(n_systems)
    if not shrinkage.has_segments:
        return _Normal(np.zeros_like(projection), *nothing)
    of_segment = score_variance.segment_projection(block, projection, shrinkage)
    judges = block.segment_judges.T @ of_segment
    if not is_last:
        return _Normal(judges, *nothing)
    y = block.by_segment(scale.apply(block))
    return _Normal(judges, block.segment_systems.T @ of_segment, of_segment.T @ y)
