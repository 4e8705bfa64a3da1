"""The outputs of each segment ranked by dominance, labelled adequate or not, and ranked again.

Source: Pighin, Formiga & Marquez 2012, sections 3 and 4.3. Graphs are pooled over judges, pair
by pair by majority; or there is one for each judge, and dominance is the mean over judges. Either
way parts that no comparison connects are ranked apart, and adequacy spreads along the pooled
graph. What does not belong here: the graphs (comparison_graphs), the rules of adequacy
(adequacy), systems (rank_by_comparisons).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import ADEQUACY_SOURCES, INT, SEGMENT_RANKS, TEXT
from annot_pipeline.methods.comparisons.adequacy import NOT_KNOWN, Adequacy, spread_adequacy
from annot_pipeline.methods.comparisons.comparison_graphs import (
    ComparisonGraphs,
    comparison_graphs,
    graph_consistency,
    majority_outcomes,
)
from annot_pipeline.methods.comparisons.harmonized_ranks import harmonized_ranks, rank_shift
from annot_pipeline.methods.numerics.distinct import ranges
from annot_pipeline.methods.numerics.ranks import dense_ranks
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import index_pairs, names_of
from annot_pipeline.stages.shared.adequacy_answers import adequacy_answers
from annot_pipeline.stages.shared.columns import without_nan

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Outputs:
    """The outputs of a task's segments, and their comparisons by judges kept.

    ``segment``, ``item`` and ``system`` name the outputs, ``graph`` numbers their segments,
    ``n_comparisons`` counts, ``(n_outputs,)``. ``first``, ``second``, ``outcome``, ``judge`` are
    ``(n_comparisons,)``, of outputs that differ in more than casing: the first of those that do
    not stands for all. ``like`` and ``twin``, ``(n_twins,)``, are such a first and each other.
    """

    segment: pa.Array
    item: pa.Array
    system: pa.Array
    graph: Codes
    n_comparisons: Codes
    first: Codes
    second: Codes
    outcome: Codes
    judge: Codes
    like: Codes
    twin: Codes


VOTES = pa.schema([("item", TEXT), ("label", TEXT), ("votes", INT)])
"""Answers to whether an output is adequate, in the task that asks."""


def rank_segments(
    rows: CodedTask, task: Row, equal: pa.Table, votes: pa.Table, *, segment_graphs: str
) -> tuple[pa.Table, dict[str, Any]]:
    """Rank the outputs of every segment of a task.

    Parameters
    ----------
    rows
        `comparisons.COMPARISONS` by judges kept.
    task
        ``references``, ``adequacy_task``, ``adequate``.
    equal
        `EQUAL_OUTPUTS`: those whose texts differ in casing only.
    votes
        `VOTES`.
    segment_graphs
        ``pooled``: one graph a segment; ``judge``: one for each judge of it.

    Returns
    -------
    segment_ranks, metrics
        Metrics are by name.
    """
    outputs = _outputs(rows, equal)
    edges = majority_outcomes(outputs.graph, outputs.first, outputs.second, outputs.outcome)
    ties = (outputs.like, outputs.twin, np.zeros_like(outputs.like))
    pooled = comparison_graphs(outputs.graph, *map(np.append, edges, ties))
    adequacy = _adequacy(outputs, pooled, task, votes)
    columns = _by_judge(outputs) if segment_graphs == "judge" else _of_graphs(pooled)
    rank = dense_ranks(pooled.part, comparable(columns["dominance"].astype(np.float64)))
    harmonized = harmonized_ranks(pooled.part, rank, adequacy.adequate)
    table = _table(rows.name, outputs, pooled, adequacy, columns | {
        "rank": rank, "harmonized_rank": pa.array(harmonized.rank, mask=~harmonized.defined),
    })  # fmt: skip
    metrics: dict[str, Any] = {"segment_graphs": _graph_metrics(outputs, pooled, edges)}
    if task["references"] or task["adequacy_task"] is not None:
        moved = rank_shift(pooled.part, rank, harmonized)
        metrics["adequacy"] = without_nan(asdict(adequacy.effort) | asdict(moved))
    if task["adequacy_task"] is not None and not votes.num_rows:
        metrics["adequacy_without_labels"] = task["adequacy_task"]
    return table, metrics


# --- outputs and their graphs ---------------------------------------------------------------


def _outputs(task: CodedTask, equal: pa.Table) -> _Outputs:
    """Return the outputs that were compared, or equal one that was except for casing.

    Where a task names no segment at all, it is one segment of its own name.
    """
    segment = task.rows["segment"].cast(TEXT)
    whole = segment.null_count == len(task)
    if whole:
        segment = pa.chunked_array([pa.repeat(pa.scalar(task.name, TEXT), len(task))])
    rows, segment = task.rows.filter(segment.is_valid()), segment.drop_null()
    ties = _ties(rows, segment, task.name, equal, whole=whole)
    n = rows.num_rows
    sides = CodedTask(task.name, pa.table({
        "segment": pa.chunked_array([*segment.chunks, *ties["segment"].chunks] * 2, TEXT),
        **{
            name: pa.chunked_array([
                chunk for side in "ab"
                for table in (rows, ties) for chunk in table[f"{name}_{side}"].cast(TEXT).chunks
            ], TEXT)
            for name in ("item", "system")
        },
    }))  # fmt: skip
    outputs = index_pairs(sides["segment"].codes, sides["item"].codes)
    both = np.split(outputs.codes, 2)
    n_outputs = outputs.first.size
    stands_for = np.arange(n_outputs)
    stands_for[both[1][n:]] = both[0][n:]
    first, second = (stands_for[side[:n]] for side in both)
    differ = first != second
    return _Outputs(
        segment=names_of(sides["segment"].names, outputs.first),
        item=names_of(sides["item"].names, outputs.second),
        system=sides.least("system", outputs.codes, n_outputs),
        graph=outputs.first,
        n_comparisons=np.bincount(np.concatenate([s[:n] for s in both]), minlength=n_outputs),
        first=first[differ],
        second=second[differ],
        outcome=rows["outcome"].to_numpy().astype(np.int64)[differ],
        judge=CodedTask("", rows)["judge"].codes[differ],
        like=both[0][n:],
        twin=both[1][n:],
    )


def _ties(
    rows: pa.Table, segment: pa.ChunkedArray, task: str, equal: pa.Table, *, whole: bool
) -> pa.Table:
    """Return ties between outputs that differ in casing only, if one of them was compared."""
    of_task = equal.filter(pc.fill_null(pc.equal(equal["task"], task), True)).to_pylist()
    compared: dict[str, set[str]] = {}
    if of_task:
        for side in ("item_a", "item_b"):
            for item, group_name in zip(rows[side].to_pylist(), segment.to_pylist(), strict=True):
                compared.setdefault(group_name, set()).add(item)
    groups: dict[int, list[Row]] = {}
    for row in of_task:
        groups.setdefault(row["group"], []).append(row)
    tied: list[dict[str, Any]] = []
    for group in groups.values():
        group_name = task if whole else group[0]["segment"]
        if compared.get(group_name, set()) & {row["item"] for row in group}:
            tied += [
                {
                    "segment": group_name,
                    **{f"{n}_a": group[0][n] for n in ("item", "system")},
                    **{f"{n}_b": other[n] for n in ("item", "system")},
                }
                for other in group[1:]
            ]
    names = ("segment", "item_a", "system_a", "item_b", "system_b")
    ties = pa.Table.from_pylist(tied, pa.schema([(name, TEXT) for name in names]))
    return ties.combine_chunks()


def _of_graphs(graphs: ComparisonGraphs) -> dict[str, Any]:
    return {
        name: getattr(graphs, name)
        for name in ("n_dominates", "n_dominated_by", "dominance", "in_contradiction")
    }


def _by_judge(outputs: _Outputs) -> dict[str, Any]:
    """Return the columns from one graph per judge: counts are added, dominance is averaged.

    The mean is over the judges who compared the output: to be judged more often is not better.
    """
    judged_outputs = index_pairs(
        np.concatenate([outputs.first, outputs.second]), np.tile(outputs.judge, 2)
    )
    # what is equal to an output that a judge compared is in the judge's graph as well
    order = np.argsort(outputs.like, kind="stable")
    starts, ends = (np.searchsorted(outputs.like[order], judged_outputs.first, side=side)
                    for side in ("left", "right"))  # fmt: skip
    of_node = np.repeat(np.arange(judged_outputs.first.size), ends - starts)
    twin = outputs.twin[order[ranges(starts, ends - starts)]]
    first = np.append(outputs.first, judged_outputs.first[of_node])
    second = np.append(outputs.second, twin)
    judge = np.append(outputs.judge, judged_outputs.second[of_node])
    outcome = np.append(outputs.outcome, np.zeros_like(twin))
    nodes = index_pairs(np.concatenate([first, second]), np.tile(judge, 2))
    graph = index_pairs(outputs.graph[nodes.first], nodes.second).codes
    first, second = nodes.codes.reshape(2, -1)
    by_node = _of_graphs(comparison_graphs(graph, first, second, outcome))
    sums = {
        name: np.bincount(nodes.first, weights=values, minlength=outputs.graph.size)
        for name, values in by_node.items()
    }
    n_judges = np.bincount(nodes.first, minlength=outputs.graph.size)
    return {name: values.astype(np.int64) for name, values in sums.items()} | {
        "dominance": sums["dominance"] / np.maximum(n_judges, 1),
        "in_contradiction": sums["in_contradiction"] > 0,
    }


def _adequacy(outputs: _Outputs, graphs: ComparisonGraphs, task: Row, votes: pa.Table) -> Adequacy:
    """Return the labels of outputs, from answers, references and dominance."""
    is_reference = pc.is_in(outputs.system, pa.array(task["references"] or [], TEXT))
    answers = np.full(outputs.graph.size, NOT_KNOWN)
    if task["adequacy_task"] is not None:
        answers = adequacy_answers(votes, outputs.item, task["adequate"])
    return spread_adequacy(graphs, is_reference.to_numpy(zero_copy_only=False), answers)


# --- the table, and what gates, report and manifest say -------------------------------------


def _table(
    task: str, outputs: _Outputs, graphs: ComparisonGraphs, adequacy: Adequacy, ranked: Row
) -> pa.Table:
    n = outputs.graph.size
    return SEGMENT_RANKS.from_columns(
        {
            "task": pa.repeat(pa.scalar(task, TEXT), n),
            "segment": outputs.segment,
            "item": outputs.item,
            "system": outputs.system,
            "n_comparisons": outputs.n_comparisons,
            "component": _places(outputs.graph, graphs.component),
            "part": _places(outputs.graph, graphs.part),
            "adequate": pa.array(adequacy.adequate == 1, mask=adequacy.adequate == NOT_KNOWN),
            "adequacy_source": names_of(ADEQUACY_SOURCES, adequacy.source),
            **ranked,
        }
    )


def _places(graph: Codes, group: Codes) -> Codes:
    """Return the number of each group within its graph, from 1; groups are numbered by graph."""
    first = np.full(int(graph.max(initial=-1)) + 1, group.size)
    np.minimum.at(first, graph, group)
    return np.asarray(group - first[graph] + 1)


def _graph_metrics(
    outputs: _Outputs, graphs: ComparisonGraphs, edges: tuple[Codes, Codes, Codes]
) -> dict[str, int]:
    consistency = graph_consistency(outputs.graph, graphs)
    return {
        "segments": consistency.graph.size,
        "outputs": outputs.graph.size,
        "components": int(consistency.n_components.sum()),
        "pairs": np.unique(np.stack(edges[:2]), axis=1).shape[1],
        "segments_with_contradictions": int((consistency.n_in_contradiction > 0).sum()),
        "outputs_in_contradiction": int(consistency.n_in_contradiction.sum()),
        "segments_in_parts": int((consistency.n_parts > 1).sum()),
    }
