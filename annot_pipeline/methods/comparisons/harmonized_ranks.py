"""Ranks after adequacy: no inadequate output above an adequate one; and how far they moved.

Source: Pighin, Formiga & Marquez 2012, section 4.3 (Table 3). Outputs are sorted by rank, then,
stably, the adequate first; the first gets 1, each next one its own rank, clamped to that of the
one before or one more. Readings:

- The paper's listing subtracts from all that follow, which contradicts its own example; the
  example is right (as METHODS.md).
- Outputs of equal rank and equal adequacy are one step, so they stay equal (ours; the listing
  keeps them equal too). Else 1 3 3 would become 1 2 3, in an order that means nothing.
- A graph with an output of unknown adequacy has no harmonised ranks (ours): any guess would
  move the others.

Both runs of steps, adequate and inadequate, ascend strictly. So the clamp has a closed form: the
adequate steps get 1 to A; an inadequate one gets A plus the number of inadequate steps, up to
its own, whose rank is above A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import is_new


@dataclass(frozen=True, eq=False)
class HarmonizedRanks:
    """Arrays are ``(n_items,)``.

    Parameters
    ----------
    rank
        1 is best; 0 where it is not defined.
    defined
        Whether the adequacy of all outputs of the graph is known.
    """

    rank: Codes
    defined: Flags


@dataclass(frozen=True)
class RankShift:
    """Both ranks, graph by graph: means and standard deviations (n - 1) over graphs (Table 3).

    NaN where there are no graphs (means), or fewer than two (deviations).

    Parameters
    ----------
    n_graphs
        Graphs with harmonised ranks.
    n_constant
        Of these, graphs without a Spearman correlation: one of both ranks is constant.
    n_differ
        Of these, graphs in which any rank differs.
    spearman_mean, spearman_sd
        Over the graphs where it is defined.
    mae_mean, mae_sd
        Mean absolute error, ranks.
    rmse_mean, rmse_sd
        Root mean squared error, ranks.
    """

    n_graphs: int
    n_constant: int
    n_differ: int
    spearman_mean: float
    spearman_sd: float
    mae_mean: float
    mae_sd: float
    rmse_mean: float
    rmse_sd: float


def harmonized_ranks(
    graph: npt.ArrayLike, rank: npt.ArrayLike, adequate: npt.ArrayLike
) -> HarmonizedRanks:
    """Re-rank outputs so that adequate ones come first.

    Parameters
    ----------
    graph
        ``(n_items,)`` code of each output's graph.
    rank
        ``(n_items,)`` rank in the graph, from 1, 1 is best.
    adequate
        ``(n_items,)`` 1 adequate, 0 inadequate, -1 unknown.

    Raises
    ------
    ValueError
        Arrays of different lengths, a rank below 1, an adequacy that is none of the three.
    """
    graph, rank, adequate = (np.asarray(part, np.int64) for part in (graph, rank, adequate))
    if not graph.shape == rank.shape == adequate.shape or graph.ndim != 1:
        raise ValueError(f"arrays are of shapes {graph.shape}, {rank.shape}, {adequate.shape}")
    if (rank < 1).any():
        raise ValueError(f"ranks must be >= 1, not {rank[rank < 1][:5].tolist()}")
    if not np.isin(adequate, (1, 0, -1)).all():
        wrong = adequate[~np.isin(adequate, (1, 0, -1))]
        raise ValueError(f"adequate must be 1, 0 or -1, not {wrong[:5].tolist()}")
    graph = np.unique(graph, return_inverse=True)[1]
    steps, step = np.unique(np.stack([graph, -adequate, rank]), axis=1, return_inverse=True)
    step_graph, good, own = steps[0], steps[1] == -1, steps[2]
    n_good = np.bincount(step_graph[good], minlength=graph.max(initial=-1) + 1)
    # what follows of both runs: each good step counts one, a bad one if its rank is above A
    number = _running_count(step_graph, good | (own > n_good[step_graph]))
    unknown = np.bincount(graph[adequate < 0], minlength=n_good.size) > 0
    defined = ~unknown[graph]
    return HarmonizedRanks(np.where(defined, number[step], 0), defined)


def rank_shift(graph: npt.ArrayLike, rank: npt.ArrayLike, harmonized: HarmonizedRanks) -> RankShift:
    """Compare ranks before and after, over the graphs where harmonised ranks are defined.

    Parameters
    ----------
    graph, rank
        As `harmonized_ranks` got them.
    harmonized
        What it gave.
    """
    used = harmonized.defined
    codes, graph_code = np.unique(np.asarray(graph, np.int64)[used], return_inverse=True)
    before, after = np.asarray(rank, np.int64)[used], harmonized.rank[used]
    n = np.bincount(graph_code, minlength=codes.size)
    error = np.abs(after - before)
    mae = _sums(graph_code, error, codes.size) / n
    rmse = np.sqrt(_sums(graph_code, error**2, codes.size) / n)
    x, y = _centred(graph_code, before, n), _centred(graph_code, after, n)
    spread = _sums(graph_code, x**2, codes.size) * _sums(graph_code, y**2, codes.size)
    defined = spread > 0
    spearman = _sums(graph_code, x * y, codes.size)[defined] / np.sqrt(spread[defined])
    moments = [value for part in (spearman, mae, rmse) for value in _mean_and_sd(part)]
    return RankShift(codes.size, int((~defined).sum()), int((mae > 0).sum()), *moments)


def _running_count(graph: Codes, counted: Flags) -> Codes:
    """Return how many steps of its graph were counted up to each step."""
    total = np.cumsum(counted)
    start = np.flatnonzero(is_new(graph))
    before: Codes = np.repeat((total - counted)[start], np.diff(np.append(start, graph.size)))
    return np.asarray(total - before)


def _centred(graph: Codes, values: Codes, n: Codes) -> Codes:
    """Return twice the distance of mid-ranks from their graph's mean: whole numbers."""
    kinds, kind, many = np.unique(
        np.stack([graph, values]), axis=1, return_inverse=True, return_counts=True
    )
    kind_graph = kinds[0]
    below = np.cumsum(many) - many - (np.cumsum(n) - n)[kind_graph]
    return np.asarray((2 * below + many - n[kind_graph])[kind])


def _sums(graph: Codes, values: Codes, size: int) -> Floats:
    """Return sums of whole numbers by graph, exact up to 2**53."""
    return np.asarray(np.bincount(graph, weights=values, minlength=size), np.float64)


def _mean_and_sd(values: Floats) -> tuple[float, float]:
    mean = float(values.mean()) if values.size else np.nan
    return mean, float(values.std(ddof=1)) if values.size > 1 else np.nan
