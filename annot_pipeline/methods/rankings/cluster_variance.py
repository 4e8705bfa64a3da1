"""Clusters of judgments: corrections of their variance, degrees of freedom, and documents.

Few clusters, or unequal ones, understate how much sums over clusters vary: a cluster's own
judgments pull the estimates towards them. Corrections are those of Bell & McCaffrey 2002 (CR2),
exact for judges, by the cluster's share of a system's judgments elsewhere; degrees of freedom are
Satterthwaite's for a working model in which judgments of a cluster and a system are correlated.

A segment without a document is a cluster of its own. Documents that share a segment are one
cluster, and so are documents that a chain of such segments connects: each segment then lies in one
cluster, and judgments of two clusters share neither segment nor document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.distinct import linked_groups, numbered_by_first
from annot_pipeline.methods.numerics.moments import Additive

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_SHARE = 0.95
"""Of a system's judgments that one cluster gave, in the correction."""
TERMS = 12
"""Of the power series of the inverse root."""
LEAST = 1e-300


@dataclass(frozen=True)
class CorrelationSums(Additive):
    """Sums over clusters and systems, for the correlation of residuals within them.

    Parameters
    ----------
    squared_sums, squared_counts
        Over cells of cluster and system: of the sum of residuals squared, of counts squared.
    squares, n
        Over judgments: of residuals squared, and their number.
    """

    squared_sums: float
    squared_counts: float
    squares: float
    n: float

    @property
    def correlation(self) -> float:
        """Return the correlation by moments of pairs, in [0, 1]; 0 where no pair is."""
        n_pairs = self.squared_counts - self.n
        if n_pairs <= 0:
            return 0.0
        of_pairs = (self.squared_sums - self.squares) / n_pairs
        return float(np.clip(of_pairs / max(self.squares / self.n, LEAST), 0, 1))


@dataclass(frozen=True)
class FreedomSums(Additive):
    """Working variance of clusters by system: sums ``(K,)`` and products ``(K, K)``."""

    total: Floats
    products: Floats

    @property
    def degrees_of_freedom(self) -> Floats:
        """Return those of the difference of each pair, ``(K, K)``."""
        own = np.diag(self.products)
        of_pairs = own[:, None] + own + 2 * self.products
        total = self.total[:, None] + self.total
        return np.asarray(np.maximum(total**2 / np.maximum(of_pairs, LEAST) - 1, 0))


def freedom_sums(
    counts: csr_array, squares: csr_array, totals: Floats, correlation: float
) -> FreedomSums:
    """Return the working variances that clusters add.

    Parameters
    ----------
    counts, squares
        ``(n_clusters, K)`` judgments: sums of their weights, and of squares of these.
    totals
        ``(K,)`` judgments of each system.
    correlation
        Of judgments of one cluster and system.
    """
    working = counts.astype(np.float64)
    m = working.data
    working.data = (squares.data + np.maximum(m**2 - squares.data, 0) * correlation) / (
        np.maximum(totals, LEAST)[working.indices] ** 2
    )
    return FreedomSums(np.asarray(working.sum(axis=0)), (working.T @ working).toarray())


def share_factors(counts: csr_array, totals: Floats) -> csr_array:
    """Return by how much sums of each cluster and system grow, less 1, ``(n_clusters, K)``.

    1 / sqrt(1 - share of the system's judgments that the cluster gave).
    """
    factors = counts.astype(np.float64)
    factors.data = share_growth(factors.data, totals[factors.indices]) - 1
    return factors


def share_growth(counts: Floats, totals: Floats) -> Floats:
    """Return by what sums of a cluster and system grow, of its judgments and all of the system."""
    shares = counts / np.maximum(totals, LEAST)
    return np.asarray(1 / np.sqrt(1 - np.minimum(shares, LARGEST_SHARE)))


def corrected_sums(sums: Floats, counts: Floats, projection: Floats, inverse: Floats) -> Floats:
    """Return the sums of judges after CR2, ``(n_judges, K)``.

    (I - A_c A^-1)^(-1/2) S_c by its power series, for all judges at once, with
    A_c = diag(n_c) - p_c n_c'.

    Parameters
    ----------
    sums, counts, projection
        ``(n_judges, K)``: S, judgments, and what is projected out of systems.
    inverse
        ``(K, K)`` A^-1, centred.
    """
    corrected, power, weight = sums.copy(), sums, 1.0
    for term in range(1, TERMS + 1):
        step = power @ inverse.T
        step -= step.mean(axis=1, keepdims=True)
        weighted = counts * step
        power = weighted - projection * weighted.sum(axis=1, keepdims=True)
        weight *= (2 * term - 1) / (2 * term)
        corrected += weight * power
    return corrected


def exact_freedom(
    counts: Floats, weights: Floats, inverse: Floats, shrinkage: float, correlation: float
) -> Floats:
    """Return degrees of freedom of each pair from the coefficients of judgments, ``(K, K)``.

    Parameters
    ----------
    counts, weights
        ``(n_judges, K)`` judgments, and the weight of each.
    inverse
        ``(K, K)`` A^-1, centred.
    shrinkage
        Judgments' worth that judge effects are drawn to 0 by; 0: fixed.
    correlation
        Of judgments of one judge and system.
    """
    n_systems = len(inverse)
    first, second = np.triu_indices(n_systems, 1)
    coefficients = (inverse[first] - inverse[second]).T
    if not shrinkage:
        coefficients = coefficients - coefficients.mean(axis=0)
    weighted = counts * weights
    n = weighted.sum(axis=1)
    mean = (weighted @ coefficients) / np.maximum(n + shrinkage, LEAST)[:, None]
    weight = weighted * weights * (1 + np.maximum(counts - 1, 0) * correlation)
    working = weight @ coefficients**2 - 2 * mean * (weight @ coefficients)
    working += mean**2 * (weight.sum(axis=1) + shrinkage)[:, None]
    working = np.maximum(working, 0)
    freedom = np.zeros((n_systems, n_systems))
    squares = np.maximum((working**2).sum(axis=0), LEAST)
    freedom[first, second] = np.maximum(working.sum(axis=0) ** 2 / squares - 1, 0)
    return freedom + freedom.T


NO_DOCUMENT = -1


def document_clusters(segments: Codes, documents: Codes, n_segments: int) -> Codes | None:
    """Return the cluster of each segment, ``(n_segments,)``; None if no row names a document.

    Parameters
    ----------
    segments, documents
        ``(n,)`` codes: the segment is of the document; `NO_DOCUMENT` where none is named.
    n_segments
        Size of the code range.
    """
    is_named = documents != NO_DOCUMENT
    if not is_named.any():
        return None
    return numbered_by_first(linked_groups(segments[is_named], documents[is_named], n_segments))
