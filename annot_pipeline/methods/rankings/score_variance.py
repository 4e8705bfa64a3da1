"""How estimates of systems vary over clusters of judges and of segments, from sums over blocks.

Segments of one document are one cluster (document_clusters).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.methods.rankings import cluster_variance
from annot_pipeline.methods.rankings.inference import ClusterVariance
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import Scale, ScoreParams, Shrinkage

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MOST_EXACT = 20_000_000
"""Judges times systems squared up to which degrees of freedom are exact."""


@dataclass(frozen=True)
class ScoreProducts(Additive):
    """Sums over clusters of what each adds to the estimates, before A^-1.

    Parameters
    ----------
    judge_sums, judge_totals
        ``(n_judges, K)`` but for what is projected out by judges, and ``(n_judges,)`` residuals.
    clusters, both
        ``(K, K)``, over clusters of segments, and over cells of these and judges.
    judge_residuals, residual_squares, n
        ``(n_judges, K)`` residuals, squares of all, and of weights: for correlations within judges.
    segment_correlation, cluster_correlation
        Of residuals of a system within segments, and within their clusters.
    """

    judge_sums: Floats
    judge_totals: Floats
    clusters: Floats
    both: Floats
    judge_residuals: Floats
    residual_squares: float
    n: float
    segment_correlation: cluster_variance.CorrelationSums
    cluster_correlation: cluster_variance.CorrelationSums

    def judge_correlation(self, judgments: Floats) -> float:
        """Return the correlation of residuals of one judge and system."""
        return cluster_variance.CorrelationSums(
            float((self.judge_residuals**2).sum()),
            float((judgments**2).sum()),
            self.residual_squares,
            max(self.n, 1.0),
        ).correlation


def judge_variance(
    judgments: Floats,
    weights: Floats,
    projection: Floats,
    inverse: Floats,
    meat: ScoreProducts,
    shrinkage: Shrinkage,
    params: ScoreParams,
) -> ClusterVariance:
    """Return the variance by clusters of judges, after CR2."""
    sums = meat.judge_sums - meat.judge_totals[:, None] * projection
    weighted = judgments * weights
    of_systems = cluster_variance.corrected_sums(sums, weighted, projection, inverse) @ inverse.T
    correlation = meat.judge_correlation(weighted)
    if judgments.size * judgments.shape[1] < MOST_EXACT:
        is_random = params.judges == "random"
        freedom = cluster_variance.exact_freedom(
            judgments, weights, inverse, shrinkage.judge if is_random else 0.0, correlation
        )
    else:
        from scipy.sparse import csr_array

        freedom = cluster_variance.freedom_sums(
            csr_array(weighted), csr_array(weighted * weights), weighted.sum(axis=0), correlation
        ).degrees_of_freedom
    return ClusterVariance(of_systems.T @ of_systems, freedom)


def segment_projection(block: ScoreBlock, projection: Floats, shrinkage: Shrinkage) -> Floats:
    """Return what is projected out of systems by segments, ``(n_segments, K)``."""
    remainder = block.segment_systems.toarray() - block.segment_judges @ projection
    return np.asarray(remainder * shrinkage.by_segment(block)[:, None])


def score_products(
    block: ScoreBlock,
    scale: Scale,
    systems: Floats,
    judges: Floats,
    before: Floats,
    projection: Floats,
    totals: Floats,
    shrinkage: Shrinkage,
) -> ScoreProducts:
    """Return the products of a block's sums by cluster of segments, and its sums by judge."""
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
    of_systems = None
    if shrinkage.has_segments:
        of_systems = segment_projection(block, before, shrinkage)
        sums -= block.by_segment_and_judge(of_judge).T @ of_systems
        segment_sums -= block.by_segment(of_segment)[:, None] * of_systems
    cluster_sums = block.sum_by_cluster(segment_sums)
    factors = cluster_variance.share_factors(block.cluster_systems, totals)
    cluster_sums += factors.multiply(cluster_sums).toarray()
    weighted, weights = block.weighted(e), block.weighted(None)
    squares, n = float(weighted @ weighted), float(weights @ weights)
    segment_correlation = _correlation(
        block.by_segment_and_system(e), block.segment_systems, squares, n
    )
    cluster_correlation = segment_correlation
    if block.clusters is not None:
        cluster_correlation = _correlation(
            block.by_cluster_and_system(e), block.cluster_systems, squares, n
        )
    return ScoreProducts(
        sums,
        block.by_judge(of_judge),
        cluster_sums.T @ cluster_sums,
        _both(block, e, projection, of_systems),
        block.by_judge_and_system(e),
        squares,
        n,
        segment_correlation,
        cluster_correlation,
    )


def _correlation(
    residuals: csr_array, counts: csr_array, squares: float, n: float
) -> cluster_variance.CorrelationSums:
    """Return the sums for the correlation within the cells of two tables, by cluster and system."""
    cells, sizes = residuals.data, counts.data
    return cluster_variance.CorrelationSums(
        float(cells @ cells), float(sizes @ sizes), squares, max(n, 1.0)
    )


def _both(block: ScoreBlock, e: Floats, projection: Floats, of_systems: Floats | None) -> Floats:
    """Return sums of squares over cells of judge and cluster of segments.

    Each adds its residuals by system less what is projected out by the judge and, unless
    ``of_systems`` is None, by segments.
    """
    if block.n_clusters < block.n_segments:
        return _both_of_documents(block, e, projection, of_systems)
    both = _both_of_segments(block, e, projection)
    if of_systems is not None:
        both += _adjusted_for_segments(block, e, projection, of_systems)
    return both


def _both_of_documents(
    block: ScoreBlock, e: Floats, projection: Floats, of_systems: Floats | None
) -> Floats:
    """Return `_both` from the table of cells and systems: a cell has several segments."""
    cells = block.judge_of_cluster
    sums = block.by_cell_and_system(e).toarray()
    judges = np.zeros(len(sums), np.int64)
    judges[cells] = block.judges
    sums -= block.by_cell(e)[:, None] * projection[judges]
    if of_systems is not None:
        sums -= block.by_cell_and_segment(e) @ of_systems
    return np.asarray(sums.T @ sums)


def _both_of_segments(block: ScoreBlock, e: Floats, projection: Floats) -> Floats:
    """Return `_both` where each segment is a cluster, segments not adjusted for.

    The square is expanded, as cells times systems would be too many.
    """
    cells = block.by_cell_and_system(e)
    of_cell = block.by_cell(e)[block.judge_of_cluster]
    by_system = block.by_judge_and_system(e * of_cell)
    cross = projection.T @ by_system
    squares = block.by_judge(e * of_cell)
    own = (projection.T * squares) @ projection
    return np.asarray((cells.T @ cells).toarray() - cross - cross.T + own)


def _adjusted_for_segments(
    block: ScoreBlock, e: Floats, projection: Floats, of_systems: Floats
) -> Floats:
    """Return what the adjustment for segments adds to `_both_of_segments`."""
    of_cell = block.by_cell(e)[block.judge_of_cluster]
    weights = e * of_cell
    cross = block.by_segment_and_system(weights).T @ of_systems
    judge = projection.T @ (block.by_segment_and_judge(weights).T @ of_systems)
    own = (of_systems.T * block.by_segment(weights)) @ of_systems
    return np.asarray(own + judge + judge.T - cross - cross.T)


def cluster_freedom(
    block: ScoreBlock, totals: Floats, correlation: float
) -> cluster_variance.FreedomSums:
    """Return the working variances that the clusters of segments of a block add."""
    squares = block.by_cluster_and_system(block.weighted(None))
    return cluster_variance.freedom_sums(block.cluster_systems, squares, totals, correlation)
