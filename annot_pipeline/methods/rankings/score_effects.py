"""Weights of judgments, variances of judges and segments in scores, and effects under them.

A judge makes something of a system, and another judgment of the system does not average that out.
Where judges gave unequal numbers, generalized least squares weigh the mean of n judgments by
1 / (v_JS + v_e / n), with the variances of what judges make of systems and of judgments: no judge
counts for more than a judge is worth. v_JS is that under which the weighted squares of residuals
of the means are as large as their degrees of freedom (Paule & Mandel 1982), by Newton's method.

Degenerate input: without repeated judgments, or with no more means than judges and systems, v_JS
is taken as 0.

Variances are moments of pairs of residuals (Searle, Casella & McCulloch 1992, section 5.2): pairs
of one judge and other segments, and of one segment and other judges. Effects are fitted in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.methods.rankings.cluster_variance import LEAST
from annot_pipeline.methods.rankings.score_block import ScoreBlock


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


def centred_inverse(matrix: Floats, totals: Floats, component: Codes) -> Floats:
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


MAX_ITERATIONS, TOLERANCE = 30, 1e-6


@dataclass(frozen=True)
class JudgeLoads(Additive):
    """Sums of residuals and judgments ``(n_judges, K)``, and squares of all residuals."""

    sums: Floats
    counts: Floats
    squares: float

    def ratio(self, component: Codes, *, has_levels: bool) -> float:
        """Return the variance of what judges make of systems, as a share of that of judgments.

        Parameters
        ----------
        component
            ``(K,)`` codes: systems of one are connected by judges.
        has_levels
            Whether judges have levels, which take a degree of freedom each.
        """
        counts, has_cell = self.counts, self.counts > 0
        means, is_system = self.sums / np.maximum(counts, 1), has_cell.any(axis=0)
        within = self.squares - float((self.sums * means).sum())
        n_within = float(counts.sum()) - float(has_cell.sum())
        n_parameters = int(is_system.sum()) - np.unique(component[is_system]).size
        n_parameters += has_levels * int(has_cell.any(axis=1).sum())
        freedom = float(has_cell.sum()) - n_parameters
        if freedom < 1 or n_within < 1 or not within > 0:
            return 0.0
        ratio, noise = 0.0, within / n_within
        for _ in range(MAX_ITERATIONS):
            weights = counts / (1 + ratio * counts)
            share = has_levels * weights / np.maximum(weights.sum(axis=1), LEAST)[:, None]
            totals = weights.sum(axis=0)
            inverse = centred_inverse(np.diag(totals) - weights.T @ share, totals, component)
            residuals = means - (share * means).sum(axis=1, keepdims=True)
            systems = inverse @ (weights * residuals).sum(axis=0)
            terms = weights * (residuals - systems + share @ systems[:, None]) ** 2 / noise
            step = (float(terms.sum()) - freedom) / max(float((weights * terms).sum()), LEAST)
            ratio += step
            if step <= TOLERANCE * ratio:
                break
        return max(ratio, 0.0)


def load_weights(counts: Floats, ratio: float) -> Floats:
    """Return the weight of a judgment by judge and system; inverse weights are 1 in the mean.

    Parameters
    ----------
    counts
        ``(n_judges, K)`` judgments.
    ratio
        Variance of what judges make of systems, as a share of that of judgments.
    """
    effect = 1 + ratio * counts
    mean = (counts * effect).sum() / max(float(counts.sum()), 1.0)
    return np.where(counts > 0, mean / effect, 1.0)


FIXED = 1e-8
"""Judgments' worth that fixed effects are drawn to 0 by: none, but no division by 0."""
SPREAD_JUDGMENTS = 20.0
"""Judgments that the common spread is worth in a judge's own."""
EFFECT_SWEEPS = 8
"""Of judges and segments in turn."""
LITTLE = 0.005
"""Variance of segments, as a share of the residual's, below which they are not adjusted for."""


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
class Scale:
    """Scores as deviations: ``level_j + factor_j (y - mean - level_j)``, arrays ``(n_judges,)``."""

    mean: float
    level: Floats
    factor: Floats

    def apply(self, block: ScoreBlock) -> Floats:
        """Return the scores of a block as deviations."""
        level = self.level[block.judges]
        deviation = block.scores - self.mean - level
        return np.asarray(level + self.factor[block.judges] * deviation)


@dataclass(frozen=True)
class ScoreSums(Additive):
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
class JudgeSums(Additive):
    """Residuals: sums by judge and system ``(n_judges, K)``, sums of squares ``(n_judges,)``."""

    cells: Floats
    squares: Floats


@dataclass(frozen=True)
class Shrinkage:
    """What effects are shrunk by: 1 / (n + lambda)."""

    judge: float
    segment: float
    has_segments: bool

    def by_judge(self, n: Floats) -> Floats:
        """Return the factors of judges with ``n`` judgments."""
        return np.asarray(1 / (n + self.judge))

    def by_segment(self, block: ScoreBlock) -> Floats:
        """Return the factors of the segments of a block; 0 where they are not adjusted for."""
        if not self.has_segments:
            return np.zeros(block.n_segments)
        return np.asarray(1 / (block.n_judgments + self.segment))


@dataclass(frozen=True)
class Effects:
    """A first fit: variance components, effects of judges, and their residual spreads.

    ``ratio``: the variance of what judges make of systems, as a share of that of judgments.
    """

    components: VarianceComponents
    judges: Floats
    spreads: Floats
    shrinkage: Shrinkage
    ratio: float


def fit_effects(
    blocks: Blocks[ScoreBlock],
    scale: Scale,
    judgments: Floats,
    component: Codes,
    params: ScoreParams,
) -> Effects:
    """Return the variance components by moments, and effects of judges under them."""
    totals, of_judge = judgments.sum(axis=0), judgments.sum(axis=1)
    sums = blocks.sum(score_sums, scale)
    if params.judges == "random":
        systems = sums.system / np.maximum(totals, 1)
    else:
        share = judgments / np.maximum(of_judge, 1)[:, None]
        within = np.diag(totals) - judgments.T @ share
        systems = centred_inverse(within, totals, component) @ (sums.system - share.T @ sums.judge)
    by_judge = sums.judge - judgments @ systems
    moments = blocks.sum(_moments, scale, systems, by_judge / np.maximum(of_judge, 1))
    components = _variance_components(moments, by_judge, of_judge)
    shrinkage = _shrinkage(components, params)
    judges = judge_effects(blocks, scale, systems, of_judge, shrinkage)
    residuals = blocks.sum(_residuals, scale, systems, judges, shrinkage)
    residual = components.residual
    spread = (SPREAD_JUDGMENTS * residual + residuals.squares) / (
        SPREAD_JUDGMENTS + np.maximum(of_judge - 1, 0)
    )
    own = residuals.cells - judgments * judges[:, None]
    loads = JudgeLoads(own, judgments, float(residuals.squares.sum()))
    ratio = loads.ratio(component, has_levels=True)
    return Effects(components, judges, np.sqrt(np.maximum(spread, LEAST)), shrinkage, ratio)


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


def _shrinkage(components: VarianceComponents, params: ScoreParams) -> Shrinkage:
    residual = components.residual
    judge = residual / components.judge if params.judges == "random" else FIXED
    if params.segments == "fixed":
        return Shrinkage(judge, FIXED, has_segments=True)
    segment = residual / max(components.segment, 1e-6 * residual)
    return Shrinkage(judge, segment, components.segment > LITTLE * residual)


def judge_effects(
    blocks: Blocks[ScoreBlock],
    scale: Scale,
    values: Floats,
    of_judge: Floats,
    shrinkage: Shrinkage,
) -> Floats:
    """Return the effects of judges, with those of segments in turn, ``(n_judges,)``."""
    by_judge = shrinkage.by_judge(of_judge)
    effects = np.zeros(of_judge.size)
    for sweep in range(EFFECT_SWEEPS if shrinkage.has_segments else 1):
        sums = blocks.sum(_residuals, scale, values, effects, shrinkage, sweep > 0)
        effects = sums.cells.sum(axis=1) * by_judge
    return effects


def score_sums(block: ScoreBlock, scale: Scale) -> ScoreSums:
    """Return the sums of scores of a block."""
    y = scale.apply(block)
    return ScoreSums(block.by_system(y), block.by_judge(y))


def _moments(block: ScoreBlock, scale: Scale, systems: Floats, judge_means: Floats) -> _Moments:
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
    scale: Scale,
    systems: Floats,
    judges: Floats,
    shrinkage: Shrinkage,
    has_segments: bool = True,
) -> JudgeSums:
    """Return residuals: their sums without the judge's effect, their squares with it."""
    r = scale.apply(block) - systems[block.systems]
    own = judges[block.judges]
    if has_segments:
        r = r - (block.by_segment(r - own) * shrinkage.by_segment(block))[block.segments]
    return JudgeSums(block.by_judge_and_system(r), block.by_judge((r - own) ** 2))
