"""Comparisons of systems: Davidson's model with order effects, and variances by judge and segment.

The log odds that a beats b are the difference of their strengths, plus an effect of the order in
which they are shown, one of each group of judges. Where few pairs were seen in both orders, effects
may shrink towards the average judge's (``shrinks_orders``), so that strengths do not rest on what
these pairs happened to be. Ties have the probability of Davidson 1970,
``exp(tie)`` times the geometric mean of the two wins; or count as half a win. Preferences may be
graded, from 0 to 1. Covariates, differences of the two outputs such as that of the logarithms of
their lengths, add to the log odds, each times one coefficient.

Fitted by Newton's method (`comparison_fit`) to counts of each pair and order, or with covariates
to single comparisons, with a prior N(0, 9) on strengths, which keeps them finite and never counts
as data. Where judges have unequal numbers, comparisons weigh by these (load_weights), each as a
judgment of both systems. The variance is a sandwich by clusters of judges and of segments, or of
documents where segments have them (inference). Between systems of different strongly connected
components the data have an order, but no size: one of them never lost (Ford 1957). Such pairs have
no test but that of signs, over judges who compared the two (`sign_tests`).

Degenerate input: systems never compared are components of their own; ties alone make all equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.methods.rankings import cluster_variance
from annot_pipeline.methods.rankings.comparison_fit import (
    ComparisonModel,
    Derivatives,
    Design,
    maximise,
)
from annot_pipeline.methods.rankings.inference import FEW, ClusterVariance, SystemEstimates
from annot_pipeline.methods.rankings.score_effects import JudgeLoads, load_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class ComparisonBlock:
    """Comparisons of whole segments; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    segments
        Codes from 0, of the block: clusters of comparisons. With ``has_documents``, those of the
        documents of segments (document_clusters).
    judges, first, second
        Codes of the whole task; the first was shown first, where the order is known.
    preferences
        1: the first is better, 0: the second, 0.5: a tie.
    orders
        Group of judges with an order effect of its own; -1 where the order is not known.
    n_segments, n_judges, n_systems, n_orders
        Sizes: of the block, and of the task.
    has_documents
        Whether segments of one document have one code.
    covariates
        ``(n_comparisons, n_covariates)`` of the output shown first less those of the second; None:
        there are none.
    weights
        Of comparisons; None: each counts once.
    """

    segments: Codes
    judges: Codes
    first: Codes
    second: Codes
    preferences: Floats
    orders: Codes
    n_segments: int
    n_judges: int
    n_systems: int
    n_orders: int
    has_documents: bool = False
    covariates: Floats | None = None
    weights: Floats | None = None

    def with_weights(self, weights: Floats) -> ComparisonBlock:
        """Return the block with weights: the geometric mean of those of both systems.

        ``weights``: ``(n_judges, K)`` of judgments by judge and system.
        """
        of_both = weights[self.judges, self.first] * weights[self.judges, self.second]
        return replace(self, weights=np.sqrt(of_both))

    def weighted(self, values: Floats | None) -> Floats:
        """Return ``(n_comparisons,)`` values times their weights; the weights for None."""
        weights = np.ones(self.first.size) if self.weights is None else self.weights
        return weights if values is None else weights * values

    @property
    def differences(self) -> Floats:
        """Return the covariates, ``(n_comparisons, n_covariates)``."""
        return np.zeros((self.first.size, 0)) if self.covariates is None else self.covariates

    @property
    def terms(self) -> tuple[Codes, Codes, Codes, Floats]:
        """Return what the log odds are made of."""
        return self.first, self.second, self.orders, self.differences

    @cached_property
    def judge_of_segment(self) -> Codes:
        """Return code of the cell (segment, judge) of each comparison."""
        key = self.segments * self.n_judges + self.judges
        return np.asarray(np.unique(key, return_inverse=True)[1].reshape(-1), np.int64)

    @cached_property
    def systems_by_segment(self) -> csr_array:
        """Return comparisons of each segment and system, ``(n_segments, K)``."""
        return self.systems_by(self.segments, self.n_segments, self.weighted(None))

    def systems_by(self, clusters: Codes, n_clusters: int, values: Floats) -> csr_array:
        """Return sums by cluster and system, ``(n_clusters, K)``."""
        from scipy.sparse import csr_array

        systems = np.concatenate([self.first, self.second])
        places = (np.tile(clusters, 2), systems)
        return csr_array((np.tile(values, 2), places), shape=(n_clusters, self.n_systems))


@dataclass(frozen=True)
class PairCounts(Additive):
    """Comparisons, sums of preferences, and ties, by order group, first and second system.

    ``(n_orders + 1, K, K)``; the first group has no known order.
    """

    n: Floats
    preferences: Floats
    ties: Floats


@dataclass(frozen=True)
class ComparisonFit:
    """Strengths of systems and what else was fitted.

    Parameters
    ----------
    strengths
        ``(K,)`` logits, 0 in the mean.
    order_effects
        ``(n_orders,)`` logits in favour of the system that is shown first.
    tie
        Log of Davidson's nu; NaN where ties count as half wins.
    coefficients
        ``(n_covariates,)`` logits for one unit in favour of the system shown first.
    order_errors, coefficient_errors
        Standard errors of order effects and coefficients, by the clusters of the estimates.
    effect_degrees_of_freedom
        Of their intervals: as many as there are clusters of the rarer kind, less 1.
    """

    strengths: Floats
    order_effects: Floats
    tie: float
    coefficients: Floats
    order_errors: Floats
    coefficient_errors: Floats
    effect_degrees_of_freedom: float


@dataclass(frozen=True)
class ClusterSums(Additive):
    """Sums over clusters of segments, and of judge and segment: products of scores."""

    segments: Floats
    both: Floats
    judges: Floats


@dataclass(frozen=True)
class FreedomCounts(Additive):
    """What degrees of freedom hang on: weights by judge and system, residuals by segment."""

    judge_counts: Floats
    judge_squares: Floats
    segment_cells: cluster_variance.CorrelationSums


@dataclass(frozen=True, eq=False)
class AdjustedComparisons:
    """Strengths with variances, and the order that data without sizes have.

    What is not in ``fit`` is worked out when it is asked for.

    Parameters
    ----------
    fit
        All parameters.
    model
        All parameters, as they are fitted.
    blocks, counts, totals
        The comparisons, of each pair of systems, and ``(K,)`` of each system.
    inverse
        ``(n_parameters, n_parameters)`` inverse of the information.
    meat
        Sums over clusters.
    judge_ratio
        Variance of what judges make of systems, as a share of that of comparisons; 0 where judges
        are no clusters.
    n_judges, n_segments
        Clusters.
    """

    fit: ComparisonFit
    model: ComparisonModel
    blocks: Blocks[ComparisonBlock]
    counts: PairCounts
    totals: Floats
    inverse: Floats
    meat: ClusterSums
    judge_ratio: float
    n_judges: int
    n_segments: int

    @cached_property
    def estimates(self) -> SystemEstimates:
        """Return estimates of systems, logits; components are the strongly connected ones."""
        n_systems, meat = self.totals.size, self.meat
        own = self.blocks.sum(_freedom_counts, self.model)
        judges = segments = both = None
        if _are_many_judges(self.n_judges, self.n_segments):
            correlation = self.judge_ratio / (1 + self.judge_ratio)
            judges = _judge_variance(meat, own, self.totals, self.inverse, correlation)
        if _are_many_segments(self.n_judges, self.n_segments):
            correlation = own.segment_cells.correlation
            freedom = self.blocks.sum(_segment_freedom, self.totals, correlation)
            segments = ClusterVariance(
                _of_systems(self.inverse, meat.segments, n_systems), freedom.degrees_of_freedom
            )
        if judges is not None and segments is not None:
            both = _of_systems(self.inverse, meat.both, n_systems)
        return SystemEstimates(
            np.where(self.totals > 0, self.fit.strengths, np.nan), judges, segments, both,
            _components(self.counts)[0], any(self.blocks.map(attrgetter("has_documents"))),
        )  # fmt: skip


def adjusted_comparisons(
    blocks: Blocks[ComparisonBlock],
    *,
    has_ties: bool = True,
    virtual: float = 0.0,
    shrinks_orders: bool = False,
) -> AdjustedComparisons:
    """Return strengths of systems from comparisons.

    Parameters
    ----------
    blocks
        Comparisons of one task; each segment, and each document, lies in one block.
    has_ties
        Whether ties have a probability of their own; else each is half a win.
    virtual
        Comparisons added between each two systems, half of them won by each; never counted as data.
    shrinks_orders
        Whether order effects have a prior around the average judge's, and that one around 0; to
        estimate an effect for its own sake, leave it out.
    """
    counts = blocks.sum(pair_counts)
    n_orders, n_systems = len(counts.n) - 1, counts.n.shape[1]
    n_ties = float(counts.ties.sum())
    models_ties = has_ties and 0 < n_ties < float(counts.n.sum())
    covariates, segments, judges = zip(*blocks.map(_sizes), strict=True)
    n_covariates, n_segments = max(covariates), sum(segments)
    n_judges = np.unique(np.concatenate(judges)).size
    start = ComparisonModel(
        np.zeros(n_systems + n_orders + n_covariates + 1), n_systems, n_covariates, models_ties,
        shrinks_orders,
    )  # fmt: skip
    model, information = _fit(blocks, counts, virtual, start)
    weighted, ratio = counts, 0.0
    if _are_many_judges(n_judges, n_segments):
        loads = blocks.sum(_judge_loads, model)
        ratio = loads.ratio(_components(counts)[1], has_levels=False)
        weights = load_weights(loads.counts, ratio if n_judges >= FEW else 0.0)
        if (weights != 1).any():
            blocks = blocks.keep(ComparisonBlock.with_weights, weights)
            weighted = blocks.sum(pair_counts)
            model, information = _fit(blocks, weighted, virtual, model)
    inverse = np.asarray(np.linalg.inv(information), np.float64)
    of_system = weighted.n.sum(axis=0)
    totals = of_system.sum(axis=0) + of_system.sum(axis=1)
    meat = blocks.sum(_meat, model, totals)
    kinds = []
    if _are_many_judges(n_judges, n_segments):
        kinds.append((meat.judges.T @ meat.judges, n_judges))
    if _are_many_segments(n_judges, n_segments):
        kinds.append((meat.segments, n_segments))
    errors = _effect_errors(inverse, kinds, meat.both, n_systems)
    fit = ComparisonFit(
        model.parameters[:n_systems], model.order_effects,
        float(model.parameters[-1]) if models_ties else np.nan,
        model.coefficients, errors[:n_orders], errors[n_orders:-1],
        max(min(n for _, n in kinds) - 1.0, 0.0),
    )  # fmt: skip
    return AdjustedComparisons(
        fit, model, blocks, counts, totals, inverse, meat, ratio, n_judges, n_segments
    )


def _judge_loads(block: ComparisonBlock, model: ComparisonModel) -> JudgeLoads:
    """Return the loads of judges as if each residual were a score of both systems."""
    residual = block.preferences - model.expected(model.log_odds(*block.terms))[0]
    counts = block.systems_by(block.judges, block.n_judges, np.ones(residual.size)).toarray()
    residuals = _residuals_by(block, block.judges, block.n_judges, residual)
    return JudgeLoads(residuals, counts, 2 * float(residual @ residual))


def _are_many_judges(n_judges: int, n_segments: int) -> bool:
    """Return whether judges are clusters: there are enough, or segments are few as well."""
    return n_judges >= FEW or n_segments < FEW


def _are_many_segments(n_judges: int, n_segments: int) -> bool:
    """Return whether segments are clusters: there are enough, or judges are few as well."""
    return n_segments >= FEW or n_judges < FEW


def pair_counts(block: ComparisonBlock) -> PairCounts:
    """Return how often each system was preferred to each, by order group."""
    shape = (block.n_orders + 1, block.n_systems, block.n_systems)
    cells = ((block.orders + 1) * block.n_systems + block.first) * block.n_systems + block.second
    ties = (block.preferences == 0.5).astype(np.float64)
    sums = (
        np.bincount(cells, weights, shape[0] * shape[1] ** 2).reshape(shape).astype(np.float64)
        for weights in map(block.weighted, (None, block.preferences, ties))
    )
    return PairCounts(*sums)


def _virtual(counts: PairCounts, virtual: float) -> PairCounts:
    """Return virtual comparisons between all systems that were compared, none of them tied."""
    compared = counts.n.sum(axis=(0, 1)) + counts.n.sum(axis=(0, 2)) > 0
    pairs = np.triu(np.outer(compared, compared), 1) * virtual
    added = np.zeros_like(counts.n)
    added[0] = pairs
    return PairCounts(added, added / 2, np.zeros_like(added))


def _fit(
    blocks: Blocks[ComparisonBlock], counts: PairCounts, virtual: float, start: ComparisonModel
) -> tuple[ComparisonModel, Floats]:
    """Return the model and the information of its parameters, prior and all."""
    if not start.n_covariates:
        rows = _CountedRows.from_counts(counts + _virtual(counts, virtual), start)
        return maximise(rows.derivatives, start)
    added = _CountedRows.from_counts(_virtual(counts, virtual), start)

    def of_all(model: ComparisonModel) -> Derivatives:
        return blocks.sum(_derivatives, model) + added.derivatives(model)

    return maximise(of_all, start)


@dataclass(frozen=True)
class _CountedRows:
    """Comparisons with equal terms as rows ``(n_rows,)``: each pair of systems and order."""

    terms: tuple[Codes, Codes, Codes, Floats]
    design: Design
    n: Floats
    preferences: Floats
    ties: Floats

    @classmethod
    def from_counts(cls, counts: PairCounts, model: ComparisonModel) -> _CountedRows:
        """Return the rows of counts; their covariates are 0."""
        orders, first, second = np.nonzero(counts.n)
        terms = (first, second, orders - 1, np.zeros((first.size, model.n_covariates)))
        tables = (table[orders, first, second] for table in vars(counts).values())
        return cls(terms, model.design(*terms), *tables)

    def derivatives(self, model: ComparisonModel) -> Derivatives:
        """Return the derivatives of their log likelihood."""
        log_odds = model.log_odds(*self.terms)
        return model.derivatives(self.design, log_odds, self.n, self.preferences, self.ties)


def _derivatives(block: ComparisonBlock, model: ComparisonModel) -> Derivatives:
    """Return the derivatives of the log likelihood of a block's comparisons."""
    ties = (block.preferences == 0.5).astype(np.float64)
    return model.derivatives(
        model.design(*block.terms), model.log_odds(*block.terms),
        *map(block.weighted, (None, block.preferences, ties)),
    )  # fmt: skip


def _of_systems(inverse: Floats, meat: Floats, n_systems: int) -> Floats:
    return np.asarray((inverse @ meat @ inverse)[:n_systems, :n_systems])


def _effect_errors(
    inverse: Floats, kinds: Sequence[tuple[Floats, int]], both: Floats, n_systems: int
) -> Floats:
    """Return standard errors of what is no strength, from products of scores by cluster.

    ``kinds``: of judges and of segments, with the number of clusters; ``both``: of both together.
    """
    variances = [
        np.diag(inverse @ products @ inverse)[n_systems:] * (n / max(n - 1, 1))
        for products, n in kinds
    ]
    if len(variances) == 1:
        return np.asarray(np.sqrt(variances[0]))
    total = variances[0] + variances[1]
    cells = np.diag(inverse @ both @ inverse)[n_systems:]
    return np.asarray(np.sqrt(np.maximum(total - cells, total / 2)))


def _components(counts: PairCounts) -> tuple[Codes, Codes]:
    """Return strongly connected components by wins and ties, and connected parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, preferences = counts.n.sum(axis=0), counts.preferences.sum(axis=0)
    beats = (preferences > 0) | (n - preferences > 0).T
    strong = connected_components(csr_array(beats), connection="strong")[1]
    part = connected_components(csr_array(n > 0), directed=False)[1]
    return np.asarray(strong, np.int64), np.asarray(part, np.int64)


def _residuals(block: ComparisonBlock, model: ComparisonModel) -> tuple[Floats, Floats]:
    """Return weighted residuals of preferences, and of ties."""
    preference, tie, _ = model.expected(model.log_odds(*block.terms))
    is_tie = (block.preferences == 0.5).astype(np.float64)
    residual = block.weighted(block.preferences - preference)
    return residual, block.weighted(is_tie - tie) * model.has_ties


def _meat(block: ComparisonBlock, model: ComparisonModel, totals: Floats) -> ClusterSums:
    residuals = _residuals(block, model)
    segments = _cluster_scores(block, model, block.segments, block.n_segments, *residuals)
    factors = cluster_variance.share_factors(block.systems_by_segment, totals)
    segments[:, : block.n_systems] *= 1 + factors.toarray()
    cells = block.judge_of_segment
    both = _cluster_scores(block, model, cells, int(cells.max(initial=-1)) + 1, *residuals)
    judges = _cluster_scores(block, model, block.judges, block.n_judges, *residuals)
    return ClusterSums(segments.T @ segments, both.T @ both, judges)


def _freedom_counts(block: ComparisonBlock, model: ComparisonModel) -> FreedomCounts:
    residual, weights = _residuals(block, model)[0], block.weighted(None)
    of_segment = _residuals_by(block, block.segments, block.n_segments, residual)
    counts, squares = (
        block.systems_by(block.judges, block.n_judges, values).toarray()
        for values in (weights, weights**2)
    )
    cells = cluster_variance.CorrelationSums(
        float((of_segment**2).sum()), float((block.systems_by_segment.data**2).sum()),
        2 * float(residual @ residual), max(2 * float(weights @ weights), 1.0),
    )  # fmt: skip
    return FreedomCounts(counts, squares, cells)


def _judge_variance(
    meat: ClusterSums, own: FreedomCounts, totals: Floats, inverse: Floats, correlation: float
) -> ClusterVariance:
    """Return the variance by clusters of judges; their sums come with the share correction."""
    from scipy.sparse import csr_array

    counts, squares = csr_array(own.judge_counts), csr_array(own.judge_squares)
    sums = meat.judges.copy()
    sums[:, : totals.size] *= 1 + cluster_variance.share_factors(counts, totals).toarray()
    freedom = cluster_variance.freedom_sums(counts, squares, totals, correlation).degrees_of_freedom
    return ClusterVariance(_of_systems(inverse, sums.T @ sums, totals.size), freedom)


def _cluster_scores(
    block: ComparisonBlock,
    model: ComparisonModel,
    clusters: Codes,
    n_clusters: int,
    residual: Floats,
    tie_residual: Floats,
) -> Floats:
    """Return sums of scores of parameters by cluster, ``(n_clusters, n_parameters)``."""
    size = model.parameters.size
    sums = np.zeros(n_clusters * size)
    has_order = block.orders >= 0
    entries: list[tuple[Codes, Floats, Flags | slice]] = [
        (block.first, residual, slice(None)),
        (block.second, -residual, slice(None)),
        (block.n_systems + block.orders[has_order], residual[has_order], has_order),
        (np.full(residual.size, size - 1), tie_residual, slice(None)),
        *(
            (np.full(residual.size, model.n_not_covariates + code), residual * values, slice(None))
            for code, values in enumerate(block.differences.T)
        ),
    ]
    for columns, values, rows in entries:
        sums += np.bincount(clusters[rows] * size + columns, values, sums.size)
    return sums.reshape(n_clusters, size)


def _residuals_by(
    block: ComparisonBlock, clusters: Codes, n_clusters: int, residual: Floats
) -> Floats:
    """Return sums of residuals by cluster and system, those of the second negative."""
    sums = np.bincount(
        np.tile(clusters, 2) * block.n_systems + np.concatenate([block.first, block.second]),
        np.concatenate([residual, -residual]),
        n_clusters * block.n_systems,
    )
    return np.asarray(sums.reshape(n_clusters, block.n_systems), np.float64)


def _sizes(block: ComparisonBlock) -> tuple[int, int, Codes]:
    """Return numbers of covariates and of segments, and the judges."""
    n_segments = int(np.unique(block.segments).size)
    return int(block.differences.shape[1]), n_segments, np.unique(block.judges)


def _segment_freedom(
    block: ComparisonBlock, totals: Floats, correlation: float
) -> cluster_variance.FreedomSums:
    squares = block.systems_by(block.segments, block.n_segments, block.weighted(None) ** 2)
    return cluster_variance.freedom_sums(block.systems_by_segment, squares, totals, correlation)
