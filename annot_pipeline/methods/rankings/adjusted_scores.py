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

Sources: Searle, Casella & McCulloch 1992, section 5.2 (components by moments of pairs); Cameron,
Gelbach & Miller 2011 (two-way clusters); Bell & McCaffrey 2002 (CR2).

Degenerate input: systems that no chain of judges connects are of different components; a system
without judgments has NaN; with one judgment a judge, nothing is left to estimate from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.rankings.cluster_variance import (
    LEAST,
    CorrelationSums,
    FreedomSums,
    corrected_sums,
    exact_freedom,
    freedom_sums,
    share_factors,
)
from annot_pipeline.methods.rankings.inference import FEW, ClusterVariance, SystemEstimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

FIXED = 1e-8
"""Judgments' worth that fixed effects are drawn to 0 by: none, but no division by 0."""
SPREAD_JUDGMENTS = 20.0
"""Judgments that the common spread is worth in a judge's own."""
SWEEPS, FIXED_SWEEPS, EFFECT_SWEEPS = 2, 12, 8
"""Of judges and segments in turn: for instruments, with fixed segments, and for effects."""
LITTLE = 0.005
"""Variance of segments, as a share of the residual's, below which they are not adjusted for."""
SINGULAR = 1e-6
"""Information on a difference, as a share of a system's judgments, that is none."""
MOST_EXACT = 20_000_000
"""Judges times systems squared up to which degrees of freedom are exact."""


@dataclass(frozen=True)
class ScoreParams:
    """How scores are adjusted.

    Parameters
    ----------
    judges
        ``fixed``, or ``random`` where judges were assigned to systems at random.
    segments
        ``random``, or ``fixed`` where systems had segments of other difficulty.
    is_scaled
        Whether deviations are divided by the judge's spread.
    """

    judges: Literal["fixed", "random"] = "fixed"
    segments: Literal["random", "fixed"] = "random"
    is_scaled: bool = False


@dataclass(frozen=True)
class VarianceComponents:
    """Variances, points squared.

    Parameters
    ----------
    judge, segment
        Of levels of judges and of segments.
    residual
        Of the rest, with what judges and segments make of systems.
    judge_system, segment_system
        Of what a judge, or a segment, makes of a system, as parts of the residual.
    """

    judge: float
    segment: float
    residual: float
    judge_system: float = 0.0
    segment_system: float = 0.0


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
    """

    estimates: SystemEstimates
    components: VarianceComponents
    judge_effects: Floats
    judge_spreads: Floats


@dataclass(frozen=True)
class _Scale:
    """Scores as deviations: ``level_j + factor_j (y - mean - level_j)``, arrays ``(n_judges,)``."""

    mean: float
    level: Floats
    factor: Floats

    def apply(self, block: ScoreBlock) -> Floats:
        level = self.level[block.judges]
        deviation = block.scores - self.mean - level
        return np.asarray(level + self.factor[block.judges] * deviation)


@dataclass(frozen=True)
class _Counts(Additive):
    """Judgments ``(n_judges, K)``, sums of scores ``(K,)``, and segments with judgments."""

    judgments: Floats
    scores: Floats
    n_segments: int


@dataclass(frozen=True)
class _ScoreSums(Additive):
    """Sums of scores by system and by judge."""

    system: Floats
    judge: Floats


@dataclass(frozen=True)
class _Moments(Additive):
    """Sums of squares of residuals and of their sums, for pairs of one judge or segment.

    Parameters
    ----------
    judge_cells
        Of sums by cell of segment and judge.
    segments, cells, squares
        Of sums by segment, by cell, and of residuals, all less the mean of the judge.
    segment_counts, cell_counts
        Of numbers of judgments.
    """

    judge_cells: float
    segments: float
    cells: float
    squares: float
    segment_counts: float
    cell_counts: float


@dataclass(frozen=True)
class _JudgeSums(Additive):
    """Residuals by judge: ``(n_judges,)`` sums and sums of squares."""

    total: Floats
    squares: Floats


@dataclass(frozen=True)
class _Normal(Additive):
    """Parts of the normal equations that are sums over segments."""

    judges: Floats
    systems: Floats
    scores: Floats


@dataclass(frozen=True)
class _Meat(Additive):
    """Sums over clusters of what each adds to the estimates, before A^-1.

    Parameters
    ----------
    judge_sums, judge_totals
        ``(n_judges, K)`` but for what is projected out by judges, and ``(n_judges,)`` residuals.
    segments, both
        ``(K, K)``.
    judge_residuals, residual_squares, n
        ``(n_judges, K)`` residuals, squares of all, judgments: for correlations within judges.
    correlation
        Of residuals within segments.
    """

    judge_sums: Floats
    judge_totals: Floats
    segments: Floats
    both: Floats
    judge_residuals: Floats
    residual_squares: float
    n: float
    correlation: CorrelationSums

    def judge_correlation(self, judgments: Floats) -> float:
        """Return the correlation of residuals of one judge and system."""
        return CorrelationSums(
            float((self.judge_residuals**2).sum()),
            float((judgments**2).sum()),
            self.residual_squares,
            max(self.n, 1.0),
        ).correlation


@dataclass(frozen=True)
class _Shrinkage:
    """What effects are shrunk by: 1 / (n + lambda)."""

    judge: float
    segment: float
    has_segments: bool

    def by_judge(self, n: Floats) -> Floats:
        return np.asarray(1 / (n + self.judge))

    def by_segment(self, block: ScoreBlock) -> Floats:
        if not self.has_segments:
            return np.zeros(block.n_segments)
        return np.asarray(1 / (block.n_judgments + self.segment))


def adjusted_scores(
    blocks: Blocks[ScoreBlock], params: ScoreParams | None = None
) -> AdjustedScores:
    """Return the scores of systems, adjusted for judges and segments.

    Parameters
    ----------
    blocks
        Scores of one task; each segment lies in one block.
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
    scale = _Scale(float(counts.scores.sum()) / n, np.zeros(n_judges), np.ones(n_judges))
    component = _components(counts.judgments, params)
    fitted = _fit_effects(blocks, scale, counts.judgments, component, params)
    if params.is_scaled:
        factor = np.sqrt(max(fitted.components.residual, LEAST)) / fitted.spreads
        scale = _Scale(scale.mean, fitted.judges, np.where(of_judge > 0, factor, 1.0))
        fitted = _fit_effects(blocks, scale, counts.judgments, component, params)
    shrinkage = fitted.shrinkage
    projection, before, normal = _instruments(blocks, scale, counts.judgments, shrinkage, params)
    sums = blocks.sum(_score_sums, scale)
    matrix = np.diag(totals) - counts.judgments.T @ projection - normal.systems
    component = _told_apart(matrix, totals, component)
    inverse = _inverse(matrix, totals, component)
    values = inverse @ (sums.system - projection.T @ sums.judge - normal.scores)
    effects = _judge_effects(blocks, scale, values, of_judge, shrinkage)
    meat = blocks.sum(
        _meat, scale, values, effects, before, projection, totals, shrinkage,
        n_bytes=2 * n_judges * n_systems * 8,
    )  # fmt: skip
    n_used, n_segments = int(np.count_nonzero(of_judge)), counts.n_segments
    judges = segments = both = None
    if n_used >= FEW or n_segments < FEW:
        judges = _judge_variance(counts.judgments, projection, inverse, meat, shrinkage, params)
    if n_segments >= FEW or n_used < FEW:
        freedom = blocks.sum(_segment_freedom, totals, meat.correlation.correlation)
        segments = ClusterVariance(inverse @ meat.segments @ inverse.T, freedom.degrees_of_freedom)
    if judges is not None and segments is not None:
        both = inverse @ meat.both @ inverse.T
    values = _levelled(values, counts.scores, totals, component)
    estimates = SystemEstimates(values, judges, segments, both, component)
    is_used = of_judge > 0
    residual = fitted.components.residual
    components = replace(
        fitted.components,
        judge_system=meat.judge_correlation(counts.judgments) * residual,
        segment_system=meat.correlation.correlation * residual,
    )
    return AdjustedScores(
        estimates,
        components,
        np.where(is_used, fitted.judges - _mean(fitted.judges[is_used]), np.nan),
        np.where(is_used, fitted.spreads, np.nan),
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
    return AdjustedScores(estimates, VarianceComponents(np.nan, np.nan, np.nan), missing, missing)


@dataclass(frozen=True)
class _Effects:
    """A first fit: variance components, effects of judges, and their residual spreads."""

    components: VarianceComponents
    judges: Floats
    spreads: Floats
    shrinkage: _Shrinkage


def _fit_effects(
    blocks: Blocks[ScoreBlock],
    scale: _Scale,
    judgments: Floats,
    component: Codes,
    params: ScoreParams,
) -> _Effects:
    """Return variance components by moments, and effects of judges under them."""
    totals, of_judge = judgments.sum(axis=0), judgments.sum(axis=1)
    sums = blocks.sum(_score_sums, scale)
    if params.judges == "random":
        systems = sums.system / np.maximum(totals, 1)
    else:
        share = judgments / np.maximum(of_judge, 1)[:, None]
        within = np.diag(totals) - judgments.T @ share
        systems = _inverse(within, totals, component) @ (sums.system - share.T @ sums.judge)
    by_judge = sums.judge - judgments @ systems
    moments = blocks.sum(_moments, scale, systems, by_judge / np.maximum(of_judge, 1))
    components = _variance_components(moments, by_judge, of_judge)
    shrinkage = _shrinkage(components, params)
    judges = _judge_effects(blocks, scale, systems, of_judge, shrinkage)
    residuals = blocks.sum(_residuals, scale, systems, judges, shrinkage)
    residual = components.residual
    spread = (SPREAD_JUDGMENTS * residual + residuals.squares) / (
        SPREAD_JUDGMENTS + np.maximum(of_judge - 1, 0)
    )
    return _Effects(components, judges, np.sqrt(np.maximum(spread, LEAST)), shrinkage)


def _variance_components(
    moments: _Moments, by_judge: Floats, of_judge: Floats
) -> VarianceComponents:
    """Return components from pairs of one judge and other segments, and the other way round.

    Those of segments and of the rest are of residuals less the mean of the judge, so that lenient
    and strict judges have no part in them. ``by_judge``: ``(n_judges,)`` sums of residuals.
    """
    n_within = max(float(np.maximum(of_judge - 1, 0).sum()), 1.0)
    total = max(moments.squares / n_within, LEAST)
    pairs_of_judge = float(of_judge @ of_judge) - moments.cell_counts
    pairs_of_segment = moments.segment_counts - moments.cell_counts
    judge = (float(by_judge @ by_judge) - moments.judge_cells) / max(pairs_of_judge, 1.0)
    segment = max((moments.segments - moments.cells) / max(pairs_of_segment, 1.0), 0.0)
    return VarianceComponents(max(judge, 1e-3 * total), segment, max(total - segment, 0.05 * total))


def _shrinkage(components: VarianceComponents, params: ScoreParams) -> _Shrinkage:
    residual = components.residual
    judge = residual / components.judge if params.judges == "random" else FIXED
    if params.segments == "fixed":
        return _Shrinkage(judge, FIXED, has_segments=True)
    segment = residual / max(components.segment, 1e-6 * residual)
    return _Shrinkage(judge, segment, components.segment > LITTLE * residual)


def _judge_effects(
    blocks: Blocks[ScoreBlock],
    scale: _Scale,
    systems: Floats,
    of_judge: Floats,
    shrinkage: _Shrinkage,
) -> Floats:
    """Return the effects of judges, with those of segments in turn, ``(n_judges,)``."""
    by_judge = shrinkage.by_judge(of_judge)
    effects = np.zeros(of_judge.size)
    for sweep in range(EFFECT_SWEEPS if shrinkage.has_segments else 1):
        sums = blocks.sum(_residuals, scale, systems, effects, shrinkage, sweep > 0)
        effects = sums.total * by_judge
    return effects


def _instruments(
    blocks: Blocks[ScoreBlock],
    scale: _Scale,
    judgments: Floats,
    shrinkage: _Shrinkage,
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


def _inverse(matrix: Floats, totals: Floats, component: Codes) -> Floats:
    """Return the inverse of the normal equations, centred within components: differences alone.

    The equations say nothing of the level of a component: it is fixed, then taken away.
    """
    level = max(float(np.trace(matrix)), 1e-6 * float(totals.sum())) / len(matrix)
    components = [np.flatnonzero(component == code) for code in np.unique(component)]
    with_levels = matrix.T.copy()
    for members in components:
        with_levels[np.ix_(members, members)] += level / members.size
    inverse = np.linalg.inv(with_levels)
    for members in components:
        inverse[members] -= inverse[members].mean(axis=0)
    return np.asarray(inverse)


def _components(judgments: Floats, params: ScoreParams) -> Codes:
    """Return the component of each system: systems of one are connected by judges."""
    is_used = judgments.sum(axis=0) > 0
    if params.judges == "random":
        return np.where(is_used, 0, 1 + np.arange(is_used.size))
    judges, systems = np.nonzero(judgments)
    return connected_systems(judges, systems, is_used.size)


def connected_systems(judges: Codes, systems: Codes, n_systems: int) -> Codes:
    """Return components of systems that chains of judges connect, ``(n_systems,)``.

    Parameters
    ----------
    judges, systems
        ``(n,)`` codes: the judge judged the system.
    n_systems
        Size of the code range; a system without judges is a component of its own.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = n_systems + int(judges.max(initial=-1)) + 1
    graph = coo_array((np.ones(judges.size), (systems, n_systems + judges)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][:n_systems], np.int64)


def _told_apart(matrix: Floats, totals: Floats, component: Codes) -> Codes:
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


def _judge_variance(
    judgments: Floats,
    projection: Floats,
    inverse: Floats,
    meat: _Meat,
    shrinkage: _Shrinkage,
    params: ScoreParams,
) -> ClusterVariance:
    """Return the variance by clusters of judges, after CR2."""
    sums = meat.judge_sums - meat.judge_totals[:, None] * projection
    of_systems = corrected_sums(sums, judgments, projection, inverse) @ inverse.T
    totals = judgments.sum(axis=0)
    correlation = meat.judge_correlation(judgments)
    if judgments.size * judgments.shape[1] < MOST_EXACT:
        is_random = params.judges == "random"
        freedom = exact_freedom(
            judgments, inverse, shrinkage.judge if is_random else 0.0, correlation
        )
    else:
        from scipy.sparse import csr_array

        freedom = freedom_sums(csr_array(judgments), totals, correlation).degrees_of_freedom
    return ClusterVariance(of_systems.T @ of_systems, freedom)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _counts(block: ScoreBlock) -> _Counts:
    n_segments = int(np.count_nonzero(block.n_judgments))
    return _Counts(block.by_judge_and_system(None), block.by_system(block.scores), n_segments)


def _score_sums(block: ScoreBlock, scale: _Scale) -> _ScoreSums:
    y = scale.apply(block)
    return _ScoreSums(block.by_system(y), block.by_judge(y))


def _moments(block: ScoreBlock, scale: _Scale, systems: Floats, judge_means: Floats) -> _Moments:
    r = scale.apply(block) - systems[block.systems]
    cells = block.judge_of_segment
    of_cell = np.bincount(cells, r)
    r = r - judge_means[block.judges]
    within_segment, within_cell = block.by_segment(r), np.bincount(cells, r)
    counts = np.bincount(cells).astype(np.float64)
    return _Moments(
        float(of_cell @ of_cell),
        float(within_segment @ within_segment),
        float(within_cell @ within_cell),
        float(r @ r),
        float(block.n_judgments @ block.n_judgments),
        float(counts @ counts),
    )


def _residuals(
    block: ScoreBlock,
    scale: _Scale,
    systems: Floats,
    judges: Floats,
    shrinkage: _Shrinkage,
    has_segments: bool = True,
) -> _JudgeSums:
    """Return residuals by judge: their sums without the judge's effect, their squares with it."""
    r = scale.apply(block) - systems[block.systems]
    own = judges[block.judges]
    if has_segments:
        r = r - (block.by_segment(r - own) * shrinkage.by_segment(block))[block.segments]
    return _JudgeSums(block.by_judge(r), block.by_judge((r - own) ** 2))


def _segment_projection(block: ScoreBlock, projection: Floats, shrinkage: _Shrinkage) -> Floats:
    """Return what is projected out of systems by segments, ``(n_segments, K)``."""
    remainder = block.segment_systems.toarray() - block.segment_judges @ projection
    return np.asarray(remainder * shrinkage.by_segment(block)[:, None])


def _normal(
    block: ScoreBlock, scale: _Scale, projection: Floats, shrinkage: _Shrinkage, is_last: bool
) -> _Normal:
    n_systems = block.n_systems
    nothing = np.zeros((n_systems, n_systems)), np.zeros(n_systems)
    if not shrinkage.has_segments:
        return _Normal(np.zeros_like(projection), *nothing)
    of_segment = _segment_projection(block, projection, shrinkage)
    judges = block.segment_judges.T @ of_segment
    if not is_last:
        return _Normal(judges, *nothing)
    y = block.by_segment(scale.apply(block))
    return _Normal(judges, block.segment_systems.T @ of_segment, of_segment.T @ y)


def _meat(
    block: ScoreBlock,
    scale: _Scale,
    systems: Floats,
    judges: Floats,
    before: Floats,
    projection: Floats,
    totals: Floats,
    shrinkage: _Shrinkage,
) -> _Meat:
    r = scale.apply(block) - systems[block.systems]
    own = judges[block.judges]
    segment = (block.by_segment(r - own) * shrinkage.by_segment(block))[block.segments]
    e = r - own - segment
    of_judge, of_segment = r - segment, r - own  # residuals with the effect of the cluster
    sums = block.by_judge_and_system(of_judge)
    segment_sums = (
        block.by_segment_and_system(of_segment).toarray()
        - block.by_segment_and_judge(of_segment) @ projection
    )
    both = _both(block, e, projection)
    if shrinkage.has_segments:
        of_systems = _segment_projection(block, before, shrinkage)
        sums -= block.by_segment_and_judge(of_judge).T @ of_systems
        segment_sums -= block.by_segment(of_segment)[:, None] * of_systems
        both += _both_with_segments(block, e, projection, of_systems)
    factors = share_factors(block.segment_systems, totals)
    segment_sums += factors.multiply(segment_sums).toarray()
    cells = block.by_segment_and_system(e).data
    counts = block.segment_systems.data
    squares, n = float(e @ e), float(e.size)
    return _Meat(
        sums,
        block.by_judge(of_judge),
        segment_sums.T @ segment_sums,
        both,
        block.by_judge_and_system(e),
        squares,
        n,
        CorrelationSums(float(cells @ cells), float(counts @ counts), squares, max(n, 1.0)),
    )


def _both(block: ScoreBlock, e: Floats, projection: Floats) -> Floats:
    """Return sums of squares over clusters of judge and segment, segments not adjusted for.

    Each adds its residuals by system less their sum times what is projected out by the judge; the
    square is expanded, as cells times systems would be too many.
    """
    cells = block.by_cell_and_system(e)
    of_cell = np.bincount(block.judge_of_segment, e)[block.judge_of_segment]
    by_system = block.by_judge_and_system(e * of_cell)
    cross = projection.T @ by_system
    squares = block.by_judge(e * of_cell)
    own = (projection.T * squares) @ projection
    return np.asarray((cells.T @ cells).toarray() - cross - cross.T + own)


def _both_with_segments(
    block: ScoreBlock, e: Floats, projection: Floats, of_systems: Floats
) -> Floats:
    """Return what the adjustment for segments adds to `_both`."""
    of_cell = np.bincount(block.judge_of_segment, e)[block.judge_of_segment]
    weights = e * of_cell
    cross = block.by_segment_and_system(weights).T @ of_systems
    judge = projection.T @ (block.by_segment_and_judge(weights).T @ of_systems)
    own = (of_systems.T * block.by_segment(weights)) @ of_systems
    return np.asarray(own + judge + judge.T - cross - cross.T)


def _segment_freedom(block: ScoreBlock, totals: Floats, correlation: float) -> FreedomSums:
    return freedom_sums(block.segment_systems, totals, correlation)
