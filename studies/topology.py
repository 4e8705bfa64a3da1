"""Do the comparisons of a tournament suffice to rebuild a ranking? (topology hypothesis)

Pighin, Formiga & Marquez 2012, section 4.4.1: a judge who is perfectly consistent answers the
comparisons of a tournament as a full ranking says (equal rank: tie); the ranking is rebuilt from
them by dominance, and held against the one that was given.

- Ranks that are correlated (Pearson): dense ranks of the original, and dense ranks by dominance.
  A ranking that ties all its outputs is constant: its correlation is undefined, and counted.
- A relation is inferred if its two outputs were not compared. The paper does not say whether ties
  are relations, so each is counted; what is counted as a share of which is up to the reader of
  `Rebuilt.counts` (`READINGS`).
- A relation along a path of comparisons is right by logic, for such a judge does not contradict
  itself. One without a path rests on the difference of dominance alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.methods.planning.tournament import n_comparisons, tournament

WAYS = ("path", "dominance")
"""How a relation was inferred."""

COUNTS = ("relations", "right", "strict", "rebuilt_strict", "both_strict", "strict_right")
"""Of inferred relations: all; those that are right; those that are no tie in the original; no tie
in the rebuilt ranking; in neither; and the right ones of these."""

READINGS = {
    "ties_count": ("right", "relations"),
    "strict_in_original": ("strict_right", "strict"),
    "strict_in_rebuilt": ("strict_right", "rebuilt_strict"),
    "strict_in_both": ("strict_right", "both_strict"),
}
"""Which share of which is right: numerator and denominator."""


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Rankings of n outputs, rebuilt once.

    Parameters
    ----------
    pearson
        ``(n_rankings,)`` correlation of original and rebuilt ranks; NaN where either is constant.
    counts
        ``(n_rankings, ways, counts)`` of inferred relations, by `WAYS` and `COUNTS`.
    rank
        ``(n_rankings, n)`` rebuilt.
    pairs
        ``(n_rankings, f(n), 2)`` outputs that were compared.
    """

    pearson: Floats
    counts: Codes
    rank: Codes
    pairs: Codes


def rebuild(rank: npt.ArrayLike, rng: np.random.Generator) -> Rebuilt:
    """Simulate a tournament of each ranking's outputs, and rank them by its comparisons.

    Parameters
    ----------
    rank
        ``(n_rankings, n)`` of n outputs, 1 the best; only their order counts.
    rng
        Of the brackets; rankings are taken in order.

    Raises
    ------
    ValueError
        Fewer than two outputs.
    """
    original = dense(rank)
    n_rankings, n = original.shape
    if n < 2:
        raise ValueError(f"a ranking of {n} outputs has nothing to rebuild")
    pairs = np.empty((n_rankings, n_comparisons(n), 2), np.int64)
    for position in range(n_rankings):
        pairs[position] = tournament([(output,) for output in range(n)], rng).pairs
    row = np.arange(n_rankings)[:, None]
    first, second = pairs[..., 0], pairs[..., 1]
    outcome = np.sign(original[row, second] - original[row, first])
    graphs = comparison_graphs(
        np.repeat(np.arange(n_rankings), n),
        (row * n + first).ravel(),
        (row * n + second).ravel(),
        outcome.ravel(),
    )
    rebuilt = graphs.rank.reshape(n_rankings, n)
    counts = _counts(original, rebuilt, pairs, _paths(n, pairs, outcome))
    return Rebuilt(_pearson(original, rebuilt), counts, rebuilt, pairs)


def dense(rank: npt.ArrayLike) -> Codes:
    """Return ranks 1, 2, ... without gaps, in the same order, row by row: ``(n_rankings, n)``."""
    gapped = np.asarray(rank)
    order = np.argsort(gapped, axis=1, kind="stable")
    ascending = np.take_along_axis(gapped, order, axis=1)
    step = np.cumsum(np.diff(ascending, axis=1) != 0, axis=1)
    ranks = np.ones(gapped.shape, np.int64)
    np.put_along_axis(ranks, order[:, 1:], 1 + step, axis=1)
    return ranks


def share_right(counts: Floats, reading: str) -> Floats:
    """Return ``(...,)`` share of ``counts`` ``(..., counts)`` that is right; NaN of none."""
    above, below = (counts[..., COUNTS.index(name)] for name in READINGS[reading])
    share = np.full(np.shape(below), np.nan)
    return np.asarray(np.divide(above, below, out=share, where=below > 0))


def _paths(n: int, pairs: Codes, outcome: Codes) -> Flags:
    """Return ``(n_rankings, n, n)`` whether a path leads from one output to another."""
    row = np.arange(len(pairs))[:, None]
    leads = np.zeros((len(pairs), n, n), np.bool_)
    for (a, b), edges in (((0, 1), outcome >= 0), ((1, 0), outcome <= 0)):
        # pairs may be asked twice: or, not set
        np.logical_or.at(leads, (np.broadcast_to(row, edges.shape), pairs[..., a], pairs[..., b]),
                         edges)  # fmt: skip
    for _ in range(max(n - 1, 1).bit_length()):  # paths of 2, 4, ... steps
        leads |= np.matmul(leads, leads)
    return leads


def _counts(original: Codes, rebuilt: Codes, pairs: Codes, paths: Flags) -> Codes:
    """Count inferred relations, by way."""
    n_rankings, n = original.shape
    was_asked = np.zeros((n_rankings, n, n), np.bool_)
    row = np.arange(n_rankings)[:, None]
    for a, b in ((0, 1), (1, 0)):
        was_asked[row, pairs[..., a], pairs[..., b]] = True
    first, second = np.triu_indices(n, 1)
    inferred = ~was_asked[:, first, second]
    path = paths[:, first, second] | paths[:, second, first]
    truth = np.sign(original[:, second] - original[:, first])
    inferred_sign = np.sign(rebuilt[:, second] - rebuilt[:, first])
    right, strict = truth == inferred_sign, truth != 0
    ordered = inferred_sign != 0
    kinds = (np.ones_like(right), right, strict, ordered, strict & ordered, strict & right)
    return np.stack(
        [
            np.stack([(inferred & way & kind).sum(axis=1) for kind in kinds], axis=-1)
            for way in (path, ~path)
        ],
        axis=1,
    )


def _pearson(x: Codes, y: Codes) -> Floats:
    """Return ``(n_rows,)`` correlation of rows.

    Exact sums of integers, NaN where one is constant.
    """
    n = x.shape[1]
    both = n * (x * y).sum(axis=1) - x.sum(axis=1) * y.sum(axis=1)
    var_x, var_y = (n * (v * v).sum(axis=1) - v.sum(axis=1) ** 2 for v in (x, y))
    defined = (var_x > 0) & (var_y > 0)
    size = np.sqrt(np.where(defined, var_x, 1) * np.where(defined, var_y, 1).astype(np.float64))
    return np.asarray(np.where(defined, np.clip(both / size, -1, 1), np.nan))
