"""Codes of one task's comparisons, as the methods take them; and of those that were asked.

Codes follow code point order, never row order. What does not belong here: any statistic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.shared_outputs import asked_comparisons
from annot_pipeline.runtime.indexing import index, index_pairs

UNKNOWN = -1


@dataclass(frozen=True)
class Names:
    """Holds the names of the codes; outputs without a segment have a code past the last."""

    task: str
    judges: list[str]
    segments: list[str]
    items: list[str]

    def segment(self, code: int) -> str | None:
        """Return the name of a segment; None for outputs that have none."""
        return self.segments[code] if code < len(self.segments) else None


@dataclass(frozen=True)
class OutputComparisons:
    """Holds the comparisons of a task; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    judges, segments, rankings
        Codes; what has no segment mapped has one code together, past the last name.
    first, second
        Codes of outputs: of items, or past the last item of what several items share.
    first_system, second_system
        Codes of their systems; of the items where these have no system, or the same.
    outcome
        1 the first is better, 0 tie, -1 the second is.
    same_output
        Whether the two are one output, and nobody was asked.
    second_shown_first
        1, 0, or -1 where nothing tells.
    is_kept
        Whether the judge counts.
    seconds
        Of the whole ranking; NaN: unknown.
    names
        Names of the codes.
    """

    judges: Codes
    segments: Codes
    rankings: Codes
    first: Codes
    second: Codes
    first_system: Codes
    second_system: Codes
    outcome: Codes
    same_output: Flags
    second_shown_first: Codes
    is_kept: Flags
    seconds: Floats
    names: Names

    @classmethod
    def by_task(cls, comparisons: pa.Table) -> Iterator[Self]:
        """Yield the comparisons of each task, in the order of names."""
        tasks = index(comparisons["task"])
        order = np.argsort(tasks.codes, kind="stable")
        ends = np.cumsum(np.bincount(tasks.codes, minlength=len(tasks.names)))
        for k, task in enumerate(tasks.names):
            rows = order[ends[k - 1] if k else 0 : ends[k]]
            yield cls._of(task, comparisons.take(pa.array(rows)))

    @classmethod
    def _of(cls, task: str, rows: pa.Table) -> Self:
        judges = index(rows["judge"])
        no_segment = pc.is_null(rows["segment"]).to_numpy()
        segments = index(rows["segment"], null="")
        codes = np.where(no_segment, len(segments.names), segments.codes)
        ends = [index(rows[name]) for name in ("item_a", "item_b")]
        items = sorted({*ends[0].names, *ends[1].names})
        position = {name: code for code, name in enumerate(items)}
        first, second = (
            np.array([position[name] for name in end.names], np.int64)[end.codes] for end in ends
        )
        first_system, second_system = _systems(rows, first, second)
        order = pc.fill_null(rows["b_shown_first"].cast(pa.int64()), UNKNOWN)
        return cls(
            judges=judges.codes,
            segments=codes,
            rankings=rows["ranking"].to_numpy(),
            first=first,
            second=second,
            first_system=first_system,
            second_system=second_system,
            outcome=rows["outcome"].cast(pa.int64()).to_numpy(),
            same_output=rows["same_output"].to_numpy(),
            second_shown_first=order.to_numpy(),
            is_kept=rows["kept"].to_numpy(),
            seconds=rows["seconds"].to_numpy(),  # null is NaN
            names=Names(task, judges.names, segments.names, items),
        )

    def only(self, rows: Flags | Codes) -> Self:
        """Return some of the comparisons; the codes stay."""
        arrays = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "names"}
        return replace(self, **arrays)

    def merge_shared_outputs(self) -> Self:
        """Return one row per comparison asked for: what systems share is one output."""
        questions = asked_comparisons(
            self.rankings, self.first, self.second, self.same_output, n_items=len(self.names.items)
        )
        rows, flip = self.only(questions.rows), questions.reversed_
        order = rows.second_shown_first
        return replace(
            rows,
            first=questions.first,
            second=questions.second,
            first_system=np.where(flip, rows.second_system, rows.first_system),
            second_system=np.where(flip, rows.first_system, rows.second_system),
            outcome=np.where(flip, -rows.outcome, rows.outcome),
            second_shown_first=np.where(flip & (order != UNKNOWN), 1 - order, order),
        )

    def pairs(self) -> Codes:
        """Return code of each comparison's segment and two outputs."""
        outputs = index_pairs(self.first, self.second).codes
        return index_pairs(self.segments, outputs).codes

    def resampled_units(self, otherwise: Codes) -> Codes:
        """Return the codes of what a bootstrap draws: segments, or ``otherwise`` without one."""
        lone = self.segments == len(self.names.segments)
        return np.where(lone, len(self.names.segments) + otherwise, self.segments)


def _systems(rows: pa.Table, first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """Return codes of the systems of both outputs; those of the outputs where these tell none."""
    ends = [index(rows[name], null="") for name in ("system_a", "system_b")]
    systems = sorted({*ends[0].names, *ends[1].names})
    codes = {name: code for code, name in enumerate(systems)}
    a, b = (np.array([codes[name] for name in end.names], np.int64)[end.codes] for end in ends)
    has_systems = (a != b) & (rows["system_a"].is_valid().to_numpy())
    has_systems &= rows["system_b"].is_valid().to_numpy()
    size = len(systems)
    return np.where(has_systems, a, size + first), np.where(has_systems, b, size + second)
