"""Comparisons of one task as systems' methods take them, and scores as ranks are made of them.

Where comparisons fall into parts, scores hold within parts: no method can say more. What does
not belong here: the methods (comparison_scores, online_scores), rows of tables (ranking_rows).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.comparisons.comparison_counts import ComparisonCounts, count_comparisons
from annot_pipeline.methods.comparisons.connectivity import Connectivity, connectivity
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.stages.comparisons.ranking_rows import FEWEST_UNITS, MOST_SYSTEMS, Scored

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FEW = 5
"""Systems that a reason names."""

TOO_MANY = f"more than {MOST_SYSTEMS} systems: no interval and no tests"
ONLY_TIES = "only ties: nothing tells systems apart, no interval"


@dataclass(frozen=True, eq=False)
class TaskComparisons:
    """Comparisons of one task that count, in order; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    names
        Systems with comparisons, in code point order.
    first, second, outcome
        Codes of systems; 1 the first is better, 0 tie, -1 the second is.
    ranking, unit, segment
        What was judged at once, what is drawn again, and the segment's code or -1.
    dominance
        Systems, segments and dominance of outputs in their segments' graphs, or None.
    units
        What units are called.
    seed
        Entropy of the rounds.
    """

    names: list[str]
    first: Codes
    second: Codes
    outcome: Codes
    ranking: Codes
    unit: Codes
    segment: Codes
    dominance: tuple[Codes, Codes, Floats] | None
    units: str
    seed: list[int]
    graph: Connectivity = field(init=False)
    counted: ComparisonCounts = field(init=False)

    def __post_init__(self) -> None:
        table, n = (self.first, self.second, self.outcome), len(self.names)
        object.__setattr__(self, "graph", connectivity(*table, n_systems=n))
        object.__setattr__(self, "counted", count_comparisons(*table, self.unit, n_systems=n))

    @property
    def n(self) -> int:
        """Return the number of systems."""
        return len(self.names)

    def distinct(self, codes: Codes) -> Codes:
        """Return how many different codes >= 0 each system's comparisons have."""
        width = int(codes.max(initial=-1)) + 1
        is_coded = codes >= 0
        keys = [
            np.unique(side[is_coded] * width + codes[is_coded])
            for side in (self.first, self.second)
        ]
        return np.bincount(np.union1d(*keys) // max(width, 1), minlength=self.n)

    @property
    def n_comparisons(self) -> Codes:
        """Return the number of comparisons of each system, ``(n_systems,)``."""
        return np.bincount(np.concatenate([self.first, self.second]), minlength=self.n)

    def only_ties(self, group: Codes) -> Flags:
        """Return whether each system's group, by code, has no decided comparison."""
        decided = np.zeros(self.n + 1, np.bool_)
        both = group[self.first] == group[self.second]
        decided[group[self.first[both & (self.outcome != 0)]]] = True
        return np.asarray(~decided[group])

    def few(self, members: Flags) -> str:
        """Return some names for people."""
        names = [self.names[code] for code in np.flatnonzero(members)]
        more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
        return ", ".join(names[:FEW]) + more


def scored(
    task: TaskComparisons,
    method: str,
    score: Floats,
    rounds: Floats,
    *,
    why_no_rounds: str | None,
    n_segments: Codes | None = None,
    why_no_score: str = "",
) -> Scored:
    """Return a score that holds within components, with rounds ``(n_rounds, n_systems)``.

    Parameters
    ----------
    task, method, score, rounds
        As `Scored` has them.
    why_no_rounds
        Why there are none, or None.
    n_segments
        ``(n_systems,)`` segments of each system, where the method draws these.
    why_no_score
        Of a system whose score is NaN.
    """
    own, units = task.distinct(task.unit), task.units
    if n_segments is not None:
        own, units = n_segments, "segments"
    rounds = rounds.copy()
    rounds[:, (own < 2) | np.isnan(score)] = np.nan
    parts, only_ties, reasons = _parts(task), task.only_ties(task.graph.part), []
    for code in range(task.n):
        reason = [*parts[task.graph.part[code]]]
        if np.isnan(score[code]):
            reason.append(why_no_score)
        elif only_ties[code]:
            reason.append(ONLY_TIES)
        elif why_no_rounds:
            reason.append(why_no_rounds)
        elif own[code] < 2:
            reason.append(f"fewer than two {units}: no interval")
        elif own[code] < FEWEST_UNITS:
            reason.append(f"fewer than {FEWEST_UNITS} {units}: no cluster")
        reasons.append(reason)
    return Scored(
        method=method,
        score=score,
        order=comparable(score),
        group=task.graph.part,
        rounds=comparable(rounds),
        sized=~only_ties,
        n_units=own,
        n_segments=task.distinct(task.segment) if n_segments is None else n_segments,
        n_judgments=task.n_comparisons,
        reasons=reasons,
    )


def no_rounds(task: TaskComparisons, rounds: int, setting: str) -> str | None:
    """Return why a task has no rounds, or None."""
    if task.n > MOST_SYSTEMS:
        return TOO_MANY
    return None if rounds else f"ranking.{setting} is 0: no interval"


def _parts(task: TaskComparisons) -> list[list[str]]:
    """Return a note for systems of each component that ranks hold in it only."""
    n = task.graph.n_parts
    if n == 1:
        return [[]]
    return [
        [
            f"the comparisons fall into {n} parts that share none: ranked within part {part + 1} "
            f"only ({task.few(task.graph.part == part)})"
        ]
        for part in range(n)
    ]
