"""Codes of one task's comparisons, as the methods take them; graphs, and outputs that are equal.

Source: Pighin, Formiga & Marquez 2012, section 3.1. Outputs of one task and segment are equal if
their texts are, after blanks around them are taken away and case is folded (`str.casefold`: also
"Strasse" and "Straße"). A blank text, or none, equals nothing, not even another one.

The graph of what one judge said of one segment is that of Pighin, Formiga & Marquez 2012, section
4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.methods.comparisons.comparison_counts import asked_comparisons
from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.runtime.coded_task import NONE, CodedTask
from annot_pipeline.runtime.indexing import index_pairs

EQUAL_OUTPUTS = pa.schema(
    [
        pa.field("task", TEXT),  # null: of any task, for the item table names none
        pa.field("segment", TEXT),  # null: none is mapped
        pa.field("item", TEXT, nullable=False),
        pa.field("system", TEXT),
        pa.field("group", INT, nullable=False),  # from 0; of two outputs or more
    ]
)
"""Sorted by group, then item; groups by their task (null first), segment (null first) and text."""


def equal_outputs(items: pa.Table) -> pa.Table:
    """Return groups of outputs whose texts are equal but for case.

    Parameters
    ----------
    items
        ``task``, ``segment``, ``item``, ``system``, ``text`` of the item tables, in order of
        precedence: the first row of a task and item wins.

    Returns
    -------
    pyarrow.Table
        `EQUAL_OUTPUTS`. Rows without a task speak of every task that knows their item.
    """
    keys: set[tuple[str | None, str]] = set()
    alike: dict[tuple[str, ...], list[dict[str, str | None]]] = {}
    columns = (items[name].to_pylist() for name in ("task", "segment", "item", "system", "text"))
    for task, segment, item, system, text in zip(*columns, strict=True):
        if (task, item) in keys:
            continue
        keys.add((task, item))
        appearance = (text or "").strip().casefold()
        if appearance:
            row = {"task": task, "segment": segment, "item": item, "system": system}
            alike.setdefault((task or "", segment or "", appearance), []).append(row)
    groups = [alike[key] for key in sorted(alike) if len(alike[key]) > 1]
    rows = [
        row | {"group": number}
        for number, group in enumerate(groups)
        for row in sorted(group, key=lambda row: str(row["item"]))
    ]
    return pa.Table.from_pylist(rows, EQUAL_OUTPUTS)


UNKNOWN = -1


@dataclass(frozen=True)
class Names:
    """Holds the names of the codes; outputs without a segment have a code past the last."""

    task: str
    judges: list[str]
    segments: list[str]
    items: list[str]


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
    def from_rows(cls, rows: CodedTask) -> Self:
        """Return the comparisons of a task."""
        items, first, second = rows.sides("item")
        first_system, second_system = _systems(rows, first, second)
        segment, n_segments = rows["segment"], rows.n("segment")
        order = pc.fill_null(rows.rows["b_shown_first"].cast(pa.int64()), UNKNOWN)
        return cls(
            judges=rows["judge"].codes,
            segments=np.where(segment.codes == NONE, n_segments, segment.codes),
            rankings=rows.rows["ranking"].to_numpy(),
            first=first,
            second=second,
            first_system=first_system,
            second_system=second_system,
            outcome=rows.rows["outcome"].cast(pa.int64()).to_numpy(),
            same_output=rows.flags("same_output"),
            second_shown_first=order.to_numpy(),
            is_kept=rows.flags("kept"),
            seconds=rows.numbers("seconds"),
            names=Names(rows.name, rows["judge"].names, segment.names, items),
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


def _systems(rows: CodedTask, first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """Return codes of the systems of both outputs; those of the outputs where these tell none."""
    systems, a, b = rows.sides("system")
    has_systems = (a != b) & (a != NONE) & (b != NONE)
    size = len(systems)
    return np.where(has_systems, a, size + first), np.where(has_systems, b, size + second)


@dataclass(frozen=True)
class JudgeGraphs:
    """Holds the comparison graphs of a task, one per segment and judge.

    Parameters
    ----------
    segments, judges
        ``(n_graphs,)`` codes.
    n_outputs, n_in_contradiction
        ``(n_graphs,)`` outputs, and those of them in a contradiction.
    graph, output, rank
        ``(n_nodes,)`` of each output of each graph: code of the graph, code of the output, and
        its dense rank.
    """

    segments: Codes
    judges: Codes
    n_outputs: Codes
    n_in_contradiction: Codes
    graph: Codes
    output: Codes
    rank: Codes

    @classmethod
    def from_comparisons(cls, compared: OutputComparisons) -> Self:
        """Build the graphs; ties of shared outputs are edges like all ties."""
        graphs = index_pairs(compared.segments, compared.judges)
        nodes = index_pairs(
            np.tile(graphs.codes, 2), np.concatenate([compared.first, compared.second])
        )
        first, second = nodes.codes.reshape(2, -1)
        contradictions = comparison_graphs(nodes.first, first, second, compared.outcome)
        n_graphs = graphs.first.size
        return cls(
            segments=graphs.first,
            judges=graphs.second,
            n_outputs=np.bincount(nodes.first, minlength=n_graphs),
            n_in_contradiction=np.bincount(
                nodes.first[contradictions.in_contradiction], minlength=n_graphs
            ),
            graph=nodes.first,
            output=nodes.second,
            rank=contradictions.rank,
        )

    @property
    def contradicts(self) -> Flags:
        """Return whether a graph holds a contradiction, ``(n_graphs,)``."""
        return np.asarray(self.n_in_contradiction > 0)
