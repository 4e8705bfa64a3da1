"""Rows of system_rankings and system_comparisons from scores and their bootstrap rounds.

One form for all that is ranked by comparisons: a score, the same score in rounds, and the groups
within which scores can be compared at all. Clusters are those of WMT's rankings: systems whose
ranges of ranks do not overlap. What does not belong here: how a score is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Ranking
from annot_pipeline.contracts import INT, SYSTEM_COMPARISONS, SYSTEM_RANKINGS
from annot_pipeline.methods.comparisons.clusters import ranks
from annot_pipeline.methods.comparisons.rank_ranges import rank_clusters, rank_ranges
from annot_pipeline.methods.numerics.multiplicity import adjust
from annot_pipeline.runtime.indexing import names_of

TAILS = (0.025, 0.975)

MOST_SYSTEMS = 200
"""Of a task, for intervals, tests and Bradley-Terry: beyond, a matrix of them is too much."""

FEWEST_UNITS = 6
"""Resampled units of a system, for ranges of ranks and clusters.

That n units agree by chance has the probability 2^-n, and so may each tail of `TAILS`: 2^-6 is
the first below. A bootstrap of fewer would say more than they can.
"""

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scored:
    """Systems of one task as one method scores them.

    Parameters
    ----------
    method
        Its name.
    score
        ``(n_systems,)`` of the full data; NaN where there is none.
    order
        ``(n_systems,)`` what ranks within a group, highest first, equal if equal; NaN: no rank.
    group
        ``(n_systems,)`` codes from 0: where ranks hold; -1: nowhere.
    rounds
        ``(n_rounds, n_systems)``; NaN where a round says nothing of a system. Rounds compare
        within a group.
    sized
        ``(n_systems,)`` whether a round's value is a size of the score, not only an order.
    n_units
        ``(n_systems,)`` units with comparisons of the system: what rounds draw.
    n_segments, n_judgments
        ``(n_systems,)``
    reasons
        For each system, why something is missing.
    """

    method: str
    score: Floats
    order: Floats
    group: Codes
    rounds: Floats
    sized: Flags
    n_units: Codes
    n_segments: Codes
    n_judgments: Codes
    reasons: Sequence[Sequence[str]] = field(repr=False)

    @property
    def drawn(self) -> Flags:
        """Return the flags of systems that rounds have scores of."""
        return np.asarray(~np.isnan(self.rounds).all(axis=0) & ~np.isnan(self.order))

    @property
    def ranged(self) -> Flags:
        """Return the flags of systems with enough units for a range of ranks and a cluster."""
        return self.drawn & (self.n_units >= FEWEST_UNITS)


def ranked_rows(
    task: str, names: Sequence[str], scored: Scored, ranking: Ranking
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of both tables for one task and method.

    Parameters
    ----------
    task
        Its name.
    names
        ``(n_systems,)`` in code point order.
    scored
        What to rank.
    ranking
        Level and correction.

    Returns
    -------
    system_rankings, system_comparisons
        Of more than `MOST_SYSTEMS` systems there are no pairs.
    """
    many = len(names) > MOST_SYSTEMS
    p_value = np.full((0, 0), np.nan) if many else _p_values(scored)
    p_adjusted = adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)
    p_decisive = p_adjusted if ranking.correction == "holm" else p_value
    beats = np.nan_to_num(p_decisive, nan=1.0) < ranking.alpha
    drawn, ranged, placed = scored.drawn, scored.ranged, ~np.isnan(scored.order)
    interval = drawn & scored.sized & ~np.isnan(scored.score)
    low, high = np.full((2, len(names)), np.nan)
    if interval.any():
        low[interval], high[interval] = np.nanquantile(scored.rounds[:, interval], TAILS, axis=0)
    best, worst, cluster = _ranges(scored, ranged)
    one_group = scored.group.max(initial=0) == 0
    rows: dict[str, Any] = {
        "task": pa.repeat(task, len(names)),
        "method": pa.repeat(scored.method, len(names)),
        "system": list(names),
        "rank": pa.array(ranks_within(scored.order, scored.group), mask=~placed),
        "score": _null_nan(scored.score),
        "ci_low": _null_nan(low),
        "ci_high": _null_nan(high),
        "rank_low": pa.array(best, mask=~ranged),
        "rank_high": pa.array(worst, mask=~ranged),
        "wins": pa.array(np.zeros(len(names)) if many else beats.sum(axis=1), INT, mask=~drawn),
        "cluster": pa.array(cluster, mask=~ranged),
        "component": pa.array(scored.group + 1, mask=(scored.group < 0) | one_group),
        "n_segments": scored.n_segments,
        "n_judgments": scored.n_judgments,
        "reason": _reasons(scored, p_value, ranking),
    }
    if many:
        return SYSTEM_RANKINGS.from_columns(rows), SYSTEM_COMPARISONS.empty()
    return SYSTEM_RANKINGS.from_columns(rows), _pairs(
        task, names, scored, p_value, p_adjusted, beats
    )


def ranks_within(values: Floats, group: Codes) -> Codes:
    """Ranks along the last axis in each group, 1 for the highest, ties 1 2 2 4; NaN last."""
    ranked = np.zeros(values.shape, np.int64)
    for code in np.unique(group):
        members = np.flatnonzero(group == code)
        ranked[..., members] = ranks(values[..., members])
    return ranked


def _ranges(scored: Scored, ranged: Flags) -> tuple[Codes, Codes, Codes]:
    """Return the best and worst ranks and clusters of the ranged systems, ``(n_systems,)``."""
    best, worst, cluster = np.zeros((3, ranged.size), np.int64)
    if not ranged.any():
        return best, worst, cluster
    # a system that is not drawn stays where it is: others do not move up for want of it
    with np.errstate(invalid="ignore"):
        usual = np.where(np.isnan(scored.score), _means(scored.rounds), scored.score)
    filled = np.where(np.isnan(scored.rounds), usual, scored.rounds)
    best, worst = rank_ranges(ranks_within(filled, scored.group))
    for code in np.unique(scored.group):
        members = np.flatnonzero((scored.group == code) & ranged)
        members = members[np.argsort(-scored.order[members], kind="stable")]
        cluster[members] = rank_clusters(best[members], worst[members])
    return best, worst, cluster


def _reasons(scored: Scored, p_value: Floats, ranking: Ranking) -> list[str | None]:
    """Return why values are missing, or why no pair can be significant."""
    least = int((~np.isnan(p_value)).sum()) / (len(scored.rounds) + 1)
    blunt = ranking.correction == "holm" and least >= ranking.alpha
    more = f"{len(scored.rounds):,} rounds are too few for any Holm-adjusted p below ranking.alpha"
    row_reasons = [
        [*reasons, more] if blunt and of_drawn else reasons
        for reasons, of_drawn in zip(scored.reasons, scored.drawn.tolist(), strict=True)
    ]
    return ["; ".join(reasons) or None for reasons in row_reasons]


def _means(rounds: Floats) -> Floats:
    """Return the mean of each column over what is defined; NaN where nothing is."""
    n = (~np.isnan(rounds)).sum(axis=0)
    total = np.nansum(rounds, axis=0)
    means: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means


def _p_values(scored: Scored) -> Floats:
    """Return one-sided p-values, (1 + rounds not better) / (rounds + 1); NaN across groups.

    At least 2^-n, where one of both systems has n units: so often they all agree by chance.
    """
    n = scored.score.size
    p_values = np.full((n, n), np.nan)
    drawn = scored.drawn
    for row in np.flatnonzero(drawn).tolist():
        columns = np.flatnonzero(drawn & (scored.group == scored.group[row]))
        columns = columns[columns != row]
        gap = scored.rounds[:, [row]] - scored.rounds[:, columns]
        n_rounds, not_better = (~np.isnan(gap)).sum(axis=0), (gap <= 0).sum(axis=0)
        p_values[row, columns] = np.where(n_rounds > 0, (1 + not_better) / (1 + n_rounds), np.nan)
        least = 0.5 ** np.minimum(scored.n_units[row], scored.n_units[columns])
        p_values[row, columns] = np.maximum(p_values[row, columns], least)
    return p_values


def _pairs(
    task: str, names: Sequence[str], scored: Scored, p: Floats, p_adjusted: Floats, beats: Flags
) -> pa.Table:
    a, b = np.nonzero(~np.eye(len(names), dtype=np.bool_))
    together = scored.group[a] == scored.group[b]
    difference = np.where(together, scored.score[a] - scored.score[b], np.nan)
    return SYSTEM_COMPARISONS.from_columns(
        {
            "task": pa.repeat(task, a.size),
            "method": pa.repeat(scored.method, a.size),
            "system_a": names_of(names, a),
            "system_b": names_of(names, b),
            "difference": _null_nan(difference),
            "p_value": _null_nan(p[a, b]),
            "p_adjusted": _null_nan(p_adjusted[a, b]),
            "a_beats_b": beats[a, b],
        }
    )


def _null_nan(values: Floats) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))
