"""The outputs of a task that are compared or could be, as graphs: what plans of comparisons see.

An output is a segment and an item; a task that names no segment is one segment. Graphs are
pooled over the judges kept, pair by pair by majority, whatever ranking.segment_graphs says: a
plan is about what to ask next, not about whom. What does not belong here: what is asked
(plan_comparisons), how outputs are ranked (rank_segments).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.comparisons.comparison_graphs import (
    ComparisonGraphs,
    comparison_graphs,
    majority_outcomes,
)
from annot_pipeline.methods.numerics.distinct import linked_groups
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.planning.hit_plan import Question, TaskItems, note_missing_texts

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ComparedOutputs:
    """Outputs of a task.

    Parameters
    ----------
    items
        ``(n_outputs,)``, by segment, then item; ``n_judgments`` counts comparisons. The `state`
        hangs on every comparison that counts.
    segment
        ``(n_outputs,)`` codes.
    first, second, outcome
        ``(n_comparisons,)`` codes of outputs compared by judges kept; 1, 0 or -1.
    same
        ``(2, n_same)`` codes of outputs that are one output: of systems, in a ranking.
    equal
        ``(2, n_equal)`` codes of outputs whose texts are equal but for case.
    is_shown
        ``(n_outputs,)`` whether there is something to show to a judge.
    has_texts
        Whether texts are shown, and not names.
    """

    items: TaskItems
    segment: Codes
    first: Codes
    second: Codes
    outcome: Codes
    same: Codes
    equal: Codes
    is_shown: Flags
    has_texts: bool

    @cached_property
    def graphs(self) -> ComparisonGraphs:
        """Return the graphs of all segments; one output stands for all that are equal to it."""
        pairs = np.concatenate([np.stack([self.first, self.second]), self.same], axis=1)
        outcome = np.append(self.outcome, np.zeros(self.same.shape[1], np.int64))
        first, second = self._first_of_tied(self.equal)[pairs]
        differ = first != second
        edges = majority_outcomes(self.segment, first[differ], second[differ], outcome[differ])
        ties = (*self.equal, np.zeros(self.equal.shape[1], np.int64))
        return comparison_graphs(self.segment, *map(np.append, edges, ties))

    @cached_property
    def representative(self) -> Codes:
        """Return the output that is asked about in place of each, ``(n_outputs,)``.

        The first that can be shown.
        """
        return self._first_of_tied(np.concatenate([self.same, self.equal], axis=1))

    def _first_of_tied(self, tied: Codes) -> Codes:
        n = self.segment.size
        links = np.tile(np.arange(tied.shape[1]), 2)
        group = linked_groups(tied.reshape(-1), links, n)
        order = np.lexsort((np.arange(n), ~self.is_shown, group))
        first = order[np.unique(group[order], return_index=True)[1]]
        return np.asarray(first[group], np.int64)

    @property
    def can_be_asked(self) -> Flags:
        """Return whether judges can be asked about each output; of equal ones, about one."""
        return np.asarray(self.is_shown & (self.representative == np.arange(self.segment.size)))

    @property
    def is_compared(self) -> Flags:
        """Return whether a comparison connects each output to another, ``(n_outputs,)``."""
        part = self.graphs.part
        with_one = np.zeros(int(part.max(initial=-1)) + 1, np.bool_)
        with_one[part[self.first]] = True
        return np.asarray(with_one[part])

    def text(self, output: int) -> str | None:
        """Return the text that is shown; None for the item's name."""
        return self.items.listed_value("text", output) if self.has_texts else None


def compared_outputs(
    question: Question,
    comparisons: pa.Table,
    candidates: Mapping[str, Row],
    listed: Mapping[str, Row],
    equal: Mapping[int, Sequence[Row]],
    *,
    notes: list[str],
) -> ComparedOutputs:
    """Return the outputs of one task.

    Parameters
    ----------
    question
        What is asked of them.
    comparisons
        `comparisons.COMPARISONS` of the task, of all judges.
    candidates
        Item table rows of outputs that are to be compared, by item.
    listed
        What item tables say of any item.
    equal
        Rows of `equal_outputs.EQUAL_OUTPUTS` by group, those that speak of the task.
    notes
        Grows by what to know.
    """
    nodes = _nodes(comparisons, candidates, question.task, notes)
    segments, names, systems = zip(*nodes, strict=True) if nodes else ((), (), ())
    comparisons, first, second = _placed(comparisons, segments, names)
    is_kept = comparisons["kept"].to_numpy()
    is_asked = is_kept & ~comparisons["same_output"].to_numpy()
    outcome = comparisons["outcome"].to_numpy().astype(np.int64)
    unasked = is_kept & ~is_asked
    same, alike = np.stack([first[unasked], second[unasked]]), _ties(segments, names, equal)
    first, second, outcome = first[is_asked], second[is_asked], outcome[is_asked]
    segment = index(pa.array([s or "" for s in segments], TEXT)).codes
    n_judgments = np.bincount(np.append(first, second), minlength=len(names))
    unscored = np.full(len(names), np.nan)
    items = TaskItems(
        question=question,
        names=names,
        segments=segments,
        systems=systems,
        alpha=unscored,
        beta=unscored,
        n_judgments=n_judgments,
        listed=listed,
        other_state=_digestible(segment, first, second, outcome, np.append(same, alike, axis=1)),
    )
    has_text = items.have_text
    has_texts = any(has_text)
    is_shown = np.array(has_text, np.bool_) if has_texts else np.ones(len(names), np.bool_)
    note_missing_texts(items, has_text, "output", notes)
    return ComparedOutputs(items, segment, first, second, outcome, same, alike, is_shown, has_texts)


Node = tuple[str | None, str, str | None]


def _nodes(
    comparisons: pa.Table, candidates: Mapping[str, Row], task: str, notes: list[str]
) -> list[Node]:
    """Return segment, item and system of each output, in order."""
    sides = [
        pa.table([comparisons[n].cast(TEXT) for n in ("segment", f"item_{side}", f"system_{side}")],
                 ("segment", "item", "system"))
        for side in "ab"
    ]  # fmt: skip
    distinct = pa.concat_tables(sides).group_by(["segment", "item"]).aggregate([("system", "min")])
    rows = zip(*(distinct[n].to_pylist() for n in ("segment", "item", "system_min")), strict=True)
    nodes: dict[tuple[str | None, str], Node] = {row[:2]: row for row in rows}
    compared = {item for _, item in nodes}
    for item, row in candidates.items():
        if item not in compared:
            nodes[row["segment"], item] = row["segment"], item, row["system"]
    outputs = sorted(nodes.values(), key=lambda node: (node[0] or "", node[1]))
    placed = [node for node in outputs if node[0] is not None]
    if placed and len(placed) < len(outputs):
        notes.append(
            f"{task}: {len(outputs) - len(placed):,} outputs without a segment are left out, "
            "because others have one"
        )
    return placed or outputs


def _placed(
    comparisons: pa.Table, segments: Sequence[str | None], names: Sequence[str]
) -> tuple[pa.Table, Codes, Codes]:
    """Return the comparisons of these outputs, and the codes of both sides."""
    if any(segment is not None for segment in segments):
        comparisons = comparisons.filter(comparisons["segment"].is_valid())
    n, n_rows = len(names), comparisons.num_rows
    segment_names = [pa.array([s or "" for s in segments], TEXT)]
    segment_names += pc.fill_null(comparisons["segment"].cast(TEXT), "").chunks
    item = [pa.array(names, TEXT)]
    item += [c for side in "ab" for c in comparisons[f"item_{side}"].cast(TEXT).chunks]
    segment, name = (index(pa.chunked_array(chunks)).codes for chunks in (segment_names, item))
    width = int(name.max(initial=0)) + 1
    key = segment[:n] * width + name[:n]
    order = np.argsort(key)
    first, second = (
        order[np.searchsorted(key[order], segment[n:] * width + side)]
        for side in (name[n : n + n_rows], name[n + n_rows :])
    )
    return comparisons, first, second


def _ties(
    segments: Sequence[str | None], names: Sequence[str], equal: Mapping[int, Sequence[Row]]
) -> Codes:
    """Return pairs of each output of a group and the group's first."""
    if not equal:
        return np.zeros((2, 0), np.int64)
    position = {key: code for code, key in enumerate(zip(segments, names, strict=True))}
    pairs: list[tuple[int, int]] = []
    for group in equal.values():
        members = [
            position[key] for row in group if (key := (row["segment"], row["item"])) in position
        ]
        pairs += [(members[0], other) for other in members[1:]]
    return np.array(pairs, np.int64).reshape(-1, 2).T


def _digestible(segment: Codes, first: Codes, second: Codes, outcome: Codes, tied: Codes) -> bytes:
    """Return comparisons as bytes that do not depend on the order of rows or of outputs."""
    turned = np.where(first <= second, outcome, -outcome)
    rows = np.stack([np.minimum(first, second), np.maximum(first, second), turned])
    ties = np.sort(tied, axis=0)
    parts = (segment, rows[:, np.lexsort(rows[::-1])], ties[:, np.lexsort(ties[::-1])])
    return b"".join(np.ascontiguousarray(part, np.int64).tobytes() for part in parts)
