"""Runs the topology study on full rankings, and says how sure its numbers are.

Brackets are random, so every ranking is rebuilt from several. Intervals (95%) resample rankings,
each with all its brackets; how much brackets alone move a number is told beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.planning.tournament import n_comparisons
from studies.curves import TAILS, Interval
from studies.item_rounds import stream
from studies.params import Topology
from studies.progress import Progress, Steps
from studies.topology import COUNTS, READINGS, WAYS, rebuild, share_right

MEASURES = (
    "pearson", "sd_of_pearson", *READINGS, *(f"{name}_without_path" for name in READINGS),
    "share_without_path",
)  # fmt: skip
"""Mean correlation and its standard deviation over rankings; the share of inferred relations that
is right, by reading; the same of those that no path settles; and how many of all these are."""

_AT_ONCE = 1 << 22
"""Numbers held at once."""


@dataclass(frozen=True, eq=False)
class RebuiltRankings:
    """Rankings of one number of outputs, each rebuilt from several brackets.

    Parameters
    ----------
    n
        Outputs of a ranking.
    rank
        ``(n_rankings, n)`` as they were given.
    pearson
        ``(repeats, n_rankings)``, NaN where undefined.
    counts
        ``(repeats, n_rankings, ways, counts)`` of inferred relations.
    """

    n: int
    rank: Codes
    pearson: Floats
    counts: Codes

    @property
    def comparisons(self) -> int:
        """Return comparisons of one ranking."""
        return n_comparisons(self.n)

    @property
    def relations(self) -> int:
        """Return pairs of one ranking."""
        return self.n * (self.n - 1) // 2

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Return ``(n_rankings,)`` those that tie all their outputs."""
        return np.asarray((self.rank == self.rank[:, :1]).all(axis=1))

    @property
    def tied(self) -> Floats:
        """Return ``(n_rankings,)`` share of pairs that are ties in the original."""
        first, second = np.triu_indices(self.n, 1)
        return np.asarray((self.rank[:, first] == self.rank[:, second]).mean(axis=1))

    def only(self, which: npt.NDArray[np.bool_]) -> RebuiltRankings:
        """Return some of the rankings."""
        return RebuiltRankings(
            self.n, self.rank[which], self.pearson[:, which], self.counts[:, which]
        )


@dataclass(frozen=True, eq=False)
class TopologyTask:
    """Rankings of one task, or of all.

    Parameters
    ----------
    task
        Its name.
    rebuilt
        Those of the number of outputs that was asked for.
    interval
        Of the `MEASURES`, over rankings.
    """

    task: str
    rebuilt: RebuiltRankings
    interval: Interval


def rebuild_rankings(
    task: str, rank: Codes, params: Topology, steps: Steps | None = None
) -> RebuiltRankings:
    """Rebuild rankings of one number of outputs from as many brackets as asked.

    Parameters
    ----------
    task
        Its name; with the seed it gives the brackets.
    rank
        ``(n_rankings, n)``.
    params, steps
        Of the study, and who is told of each repetition.
    """
    n = rank.shape[1]
    pearson, counts = [], []
    for repeat in range(params.repeats):
        once = rebuild(rank, stream(params.seed, task, "brackets", n, repeat))
        pearson.append(once.pearson)
        counts.append(once.counts)
        if steps is not None:
            steps.step()
    return RebuiltRankings(n, rank, np.stack(pearson), np.stack(counts))


def rebuild_all(
    rank: Mapping[str, Mapping[int, Codes]], params: Topology, progress: Progress
) -> dict[str, dict[int, RebuiltRankings]]:
    """Return all rankings by task and number of outputs."""
    steps = Steps(progress, "topology", params.repeats * sum(map(len, rank.values())))
    return {
        task: {n: rebuild_rankings(task, sized[n], params, steps) for n in sorted(sized)}
        for task, sized in rank.items()
    }


def merge_rankings(parts: Sequence[RebuiltRankings]) -> RebuiltRankings:
    """Return rankings of several tasks with one number of outputs."""
    return RebuiltRankings(
        parts[0].n,
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.pearson for part in parts], axis=1),
        np.concatenate([part.counts for part in parts], axis=1),
    )


def measures(rebuilt: RebuiltRankings) -> Floats:
    """Return the measures of each repetition, ``(repeats, measures)``; NaN where undefined."""
    every = np.arange(len(rebuilt.rank))
    return np.stack(
        [
            _measures(*_sums(rebuilt.pearson[k : k + 1], rebuilt.counts[k : k + 1], every[None]))[
                :, 0
            ]
            for k in range(len(rebuilt.pearson))
        ]
    )


def interval_of(rebuilt: RebuiltRankings, rounds: int, rng: np.random.Generator) -> Interval:
    """Return ``(measures,)`` over all repetitions, with 95% intervals over rankings."""
    n = len(rebuilt.rank)
    value = _measures(*_sums(rebuilt.pearson, rebuilt.counts, np.arange(n)[None]))[:, 0]
    at_once = max(1, _AT_ONCE // max(n, 1))
    parts = [
        _measures(*_sums(rebuilt.pearson, rebuilt.counts, rng.integers(n, size=(part, n))))
        for part in _parts(rounds, at_once)
    ]
    among = np.concatenate(parts, axis=1)
    low, high = np.full((2, len(MEASURES)), np.nan)
    some = ~np.isnan(among).all(axis=1)
    if some.any():
        low[some], high[some] = np.nanpercentile(among[some], TAILS, axis=1)
    return Interval(value, low, high)


def _parts(total: int, most: int) -> list[int]:
    return [min(most, total - start) for start in range(0, total, most)]


def _sums(pearson: Floats, counts: Codes, indices: Codes) -> tuple[Floats, Floats, Floats, Floats]:
    """Return sums over drawn rankings ``(rounds, n_rankings)``.

    Correlations that are defined ``(rounds,)``, their sum by repetition ``(rounds, repeats)``, sum
    of squares ``(rounds,)`` and counts ``(rounds, ways, counts)`` over all repetitions.
    """
    n = pearson.shape[1]
    weights = np.stack([np.bincount(row, minlength=n) for row in indices]).astype(np.float64)
    is_defined = ~np.isnan(pearson).any(axis=0)  # the same in every repetition
    r = np.where(is_defined, pearson, 0.0)
    per_ranking = counts.sum(axis=0).reshape(n, -1).astype(np.float64)
    # not matmul: its sums depend on the number of threads
    columns = np.column_stack([is_defined, (r * r).sum(axis=0), r.T, per_ranking])
    total = np.einsum("ri,ic->rc", weights, columns)
    repeats = len(pearson)
    return (
        total[:, 0], total[:, 2 : 2 + repeats], total[:, 1],
        total[:, 2 + repeats :].reshape(len(indices), len(WAYS), len(COUNTS)),
    )  # fmt: skip


def _measures(defined: Floats, sums: Floats, squares: Floats, counts: Floats) -> Floats:
    """Return ``(measures, rounds)``; the standard deviation is that within a repetition."""
    n = np.where(defined > 0, defined, np.nan)
    means = sums / n[:, None]
    mean = means.mean(axis=1)
    spread = squares / (sums.shape[1] * n) - (means * means).mean(axis=1)
    sd = np.sqrt(np.maximum(spread, 0) * n / np.where(n > 1, n - 1, np.nan))
    both, dominance = counts.sum(axis=1), counts[:, WAYS.index("dominance")]
    relations = COUNTS.index("relations")
    every = np.where(both[:, relations] > 0, both[:, relations], np.nan)
    return np.stack(
        [
            mean, sd, *(share_right(both, reading) for reading in READINGS),
            *(share_right(dominance, reading) for reading in READINGS),
            dominance[:, relations] / every,
        ]
    )  # fmt: skip
