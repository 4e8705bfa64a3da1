"""Preferences, rankings and scored HITs of a task become comparisons of two outputs.

What one judge saw at once stays together: its comparisons share a ranking. A preference of a
HIT belongs to the HIT, one without is a ranking of its own. A scalar task is broken into
comparisons where its scores were given side by side: a ranking is mapped, or at least half of
its judgments share a HIT and a segment with another. What does not belong here: which two items
of a ranking are compared (implied_comparisons), what is made of the comparisons.

Two judgments of a pair, one in each order, become one: a win only where both agree. Source: Zheng
et al. 2023, section 3.4 ("call a judge twice by swapping the order of two answers and only declare
a win when an answer is preferred in both orders").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import FLAG, ORDINARY, REAL, TEXT
from annot_pipeline.methods.comparisons.implied_comparisons import (
    MOST_ITEMS,
    MOST_OF_SEGMENT,
    imply_comparisons,
)
from annot_pipeline.runtime.coded_task import CodedTask, seen_at_once
from annot_pipeline.runtime.indexing import index_pairs, is_in
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.shared.columns import nulls_for_nan, replace_columns
from annot_pipeline.stages.shared.comparisons import (
    COMPARISONS,
    LEFT_OUT,
    comparison_table,
    comparisons_of_pairs,
    describe_pairs,
    encoded,
)

ONE_ORDER = "the judge saw the pair in one order only (reconcile: order)"
PAIR = ("judge", "segment", "item_a", "item_b")


def reconcile_orders(rows: pa.Table) -> tuple[pa.Table, pa.Array]:
    """Reconcile the comparisons of a task whose pairs were judged in both orders.

    Parameters
    ----------
    rows
        As `comparisons.COMPARISONS`, in any order.

    Returns
    -------
    rows, lacking
        One comparison for each judge and pair: a win where all its judgments agree, else a tie;
        a graded share is the mean over both orders. The order of showing is null. ``lacking`` are
        the numbers of rows of pairs that were judged in one order only.
    """
    group = CodedTask("", rows).groups(*PAIR)
    n = int(group.max(initial=-1)) + 1
    order = pc.fill_null(rows["b_shown_first"].cast(pa.int64()), -1).to_numpy()
    n_by_order = [np.bincount(group[order == one], minlength=n) for one in (0, 1)]
    has_both = (n_by_order[0] > 0) & (n_by_order[1] > 0)
    outcome = rows["outcome"].to_numpy().astype(np.int64)
    low, high = np.full(n, 2), np.full(n, -2)
    np.minimum.at(low, group, outcome)
    np.maximum.at(high, group, outcome)
    agreed = np.where(low == high, low, 0)
    share = rows["share_a"].to_numpy()  # null is NaN
    means = [
        np.bincount(group[order == one], share[order == one], n) / np.maximum(n_by_order[one], 1)
        for one in (0, 1)
    ]
    mean = (means[0] + means[1]) / 2
    ids = CodedTask("", rows)["judgment_id"].codes
    first = np.lexsort((ids, group))
    first = first[np.unique(group[first], return_index=True)[1]]  # a group's least judgment id
    first = first[has_both[group[first]]]
    own = group[first]
    reconciled = rows.take(pa.array(first))
    reconciled = replace_columns(
        reconciled,
        {
            "outcome": pa.array(agreed[own]),
            "share_a": nulls_for_nan(mean[own]),
            "b_shown_first": pa.nulls(own.size, FLAG),
        },
    )
    return reconciled, pa.array(np.flatnonzero(~has_both[group]))


COUNTED = ("used", "judge_failed")
COMPARED_SHARE = 0.5
"""Share of a scalar task's judgments that HITs must let be compared for them to be."""

LEFT_OUT_REASONS = (
    "no ranking and no HIT is mapped",
    "the only ranked output of its ranking",
    *(f"its ranking holds more than {n:,} outputs" for n in (MOST_ITEMS, MOST_OF_SEGMENT)),
)
"""As `implied_comparisons.REASONS`, said of one judgment."""

FIRST = ORDINARY[:1]
NO_RANK = "no rank, although others of the task have one"


def break_into_comparisons(task: TaskData, judged_together: pa.Table) -> TaskResult:
    """Break all that compares outputs of a task into comparisons.

    Parameters
    ----------
    task
        ``controlled`` of pairwise and ranking tasks, ``standardized``, its row of ``tasks``: of
        kind ranking also preferences are taken. What item tables say of an item wins over what
        records say.
    judged_together
        ``standardized``, at least of items that their judge scored beside others.

    Returns
    -------
    tables, metrics
        ``comparisons`` (`comparisons.COMPARISONS`), ``not_compared`` (`comparisons.LEFT_OUT`).
    """
    metrics: dict[str, Any] = {}
    compared: list[pa.Table] = []
    left_out = [LEFT_OUT.empty_table()]
    if is_asked := task.declared["kind"] in ("pairwise", "ranking"):
        compared, lone, metrics = _compared(task)
        left_out += lone
    elif task.declared["kind"] == "scalar":
        scores = CodedTask(
            task.name, judged_together.filter(is_in(judged_together["control"], FIRST))
        )
        margin = task.settings.easl.margin
        if len(scores):
            n_first = sum(task.blocks("standardized", ("control",)).map(_n_of_first))
            if _are_side_by_side(scores, n_first):
                compared, _ = _placings(scores, scores.numbers("score"), margin)
    table = encoded(comparison_table(compared)) if compared else COMPARISONS.empty_table()
    ties = pc.sum(pc.equal(table["outcome"], 0)).as_py() or 0
    metrics |= {"comparisons": table.num_rows, "ties": ties}
    metrics = {name: value for name, value in metrics.items() if value}
    if is_asked:
        metrics["without_comparisons"] = not table.num_rows
    not_compared = pa.concat_tables(left_out)
    not_compared = not_compared.sort_by([(name, "ascending") for name in LEFT_OUT.names])
    return {"comparisons": table, "not_compared": not_compared}, metrics


def _n_of_first(rows: pa.Table) -> int:
    """Return how many first scores a block of a task has."""
    return pc.sum(is_in(rows["control"], FIRST)).as_py() or 0


def _compared(task: TaskData) -> tuple[list[pa.Table], list[pa.Table], dict[str, Any]]:
    """Return the comparisons of preferences and rankings, who is in none, and metrics."""
    rows = task["controlled"]
    judged = rows.filter(pc.and_(is_in(rows["fate"], COUNTED), is_in(rows["control"], ORDINARY)))
    judged = judged.append_column("kept", is_in(judged["fate"], ("used",)))
    listed = task.listed or ListedItems.none()
    is_pair = pc.is_valid(judged["item_a"])  # as tournaments of a ranking task come back
    pairs = describe_pairs(judged.filter(is_pair), listed)
    reconciled = comparisons_of_pairs(pairs)
    lacking = pairs.slice(0, 0)
    if task.declared["reconcile"] == "order":
        reconciled, one_order = reconcile_orders(reconciled)
        lacking = pairs.take(one_order)
    is_ranked = pc.and_(pc.invert(is_pair), task.declared["kind"] == "ranking")
    ranked = listed.describe(judged.filter(is_ranked))
    valued, value, unranked = _values(ranked)
    outputs = CodedTask(task.name, valued)
    (placed,), lone = _placings(CodedTask(task.name, _one_a_ranking(valued)), value, 0.0)
    unplaced = _unplaced(valued, pairs)
    left_out = [
        lone,
        _left_out(unranked, "comparisons", NO_RANK),
        _left_out(lacking, "comparisons", ONE_ORDER),
        *unplaced,
    ]
    return (
        [placed, reconciled],
        left_out,
        {
            "ranked": ranked.num_rows,
            "left_out": lone.num_rows + unranked.num_rows,
            "compared": valued.num_rows + pairs.num_rows,
            "unplaced": sum(part.num_rows for part in unplaced),
            "repeated_outputs": _repeated(outputs, value),
        },
    )


def _values(ranked: pa.Table) -> tuple[pa.Table, Floats, pa.Table]:
    """Return ranked outputs, how good each is, and those without the rank that others have.

    A task is ranked by its ranks; by its scores where it has no rank at all.
    """
    has_rank = ranked["rank"].is_valid()
    if not pc.any(has_rank).as_py():
        return ranked, ranked["score"].to_numpy(), ranked.slice(0, 0)
    fitting = ranked.filter(has_rank)
    return fitting, -fitting["rank"].cast(REAL).to_numpy(), ranked.filter(pc.invert(has_rank))


def _one_a_ranking(ranked: pa.Table) -> pa.Table:
    """Return ranked outputs; without ranking and HIT, a judge ranked a segment at once."""
    neither = pc.and_(pc.is_null(ranked["ranking"]), pc.is_null(ranked["hit"]))
    ranking = pc.if_else(neither, "", ranked["ranking"].cast(TEXT))
    return replace_columns(ranked, {"ranking": ranking})


def _repeated(ranked: CodedTask, value: Floats) -> list[str]:
    """Return the outputs that have several ranks in one ranking; their mean counts."""
    group = ranked.groups("judge", "ranking", "hit", "segment", "item")
    placed = index_pairs(group, np.unique(value, return_inverse=True)[1].reshape(-1))
    is_twice = np.bincount(placed.first, minlength=1)[group] > 1
    item = ranked["item"]
    return [item.names[code] for code in np.unique(item.codes[is_twice])]


def _are_side_by_side(scores: CodedTask, n_scored: int) -> bool:
    """Return whether the scores of a scalar task were given to be compared."""
    if scores.is_known("ranking").any():
        return True
    group = scores.groups("judge", "hit", "segment")
    outputs = index_pairs(group, scores["item"].codes)
    several = np.bincount(outputs.first, minlength=1)[group] > 1
    placed = scores.is_known("hit") & scores.is_known("segment")
    n_compared = np.count_nonzero(several & placed)
    return bool(len(scores) and n_compared >= COMPARED_SHARE * max(n_scored, 1))


def _placings(task: CodedTask, value: Floats, margin: float) -> tuple[list[pa.Table], pa.Table]:
    """Return the comparisons of the outputs that a judge placed at once, and who is in none.

    More is better.
    """
    rows = task.rows
    pairs = imply_comparisons(
        task["item"].codes, value, seen_at_once(task), n_items=task.n("item"), margin=margin
    )
    first, second = pa.array(pairs.first_row), pa.array(pairs.second_row)
    at = pa.array(pairs.row)
    one_position = pc.equal(rows["position"].take(first), rows["position"].take(second))
    shared = pc.fill_null(one_position, False).to_numpy()
    # a position where ranks differ is no place of one output, but a trial of several
    has_trials = (shared & (pairs.outcome != 0)).any()
    has_positions = not shared.all()
    one_output = shared & (pairs.outcome == 0) & (has_positions and not has_trials)
    table = pa.table(
        {
            **{name: rows[name].take(at) for name in ("task", "judge", "kept", "segment")},
            "document": pc.coalesce(
                *(rows["document"].cast(TEXT).take(n) for n in (first, second))
            ),
            **{f"{n}_a": rows[n].take(first) for n in ("item", "system")},
            **{f"{n}_b": rows[n].take(second) for n in ("item", "system")},
            "outcome": pairs.outcome,
            "share_a": pa.nulls(pairs.outcome.size, REAL),
            "same_output": one_output,
            "b_shown_first": pa.nulls(pairs.outcome.size, pa.bool_()),
            "ranking": pairs.ranking,
            "submitted_at": rows["submitted_at"].take(pa.array(pairs.last_row)),
            "seconds": pc.coalesce(rows["seconds"], rows["hit_seconds"]).take(at),
            "judgment_id": rows["judgment_id"].take(at),
        }
    )
    lone = np.flatnonzero(pairs.row_reason >= 0)
    reasons = pc.take(pa.array(LEFT_OUT_REASONS, TEXT), pa.array(pairs.row_reason[lone]))
    return [table], _left_out(rows.take(pa.array(lone)), "comparisons", reasons)


def _left_out(rows: pa.Table, what: str, reasons: pa.Array | str) -> pa.Table:
    """Return the judgments that a calculation could not take."""
    if isinstance(reasons, str):
        reasons = pa.repeat(reasons, rows.num_rows)
    return pa.table(
        {
            **{name: rows[name].cast(TEXT) for name in LEFT_OUT.names[:4]},
            "left_out_of": pa.repeat(what, rows.num_rows),
            "reason": reasons,
        },
        schema=LEFT_OUT,
    )


def _unplaced(ranked: pa.Table, pairs: pa.Table) -> list[pa.Table]:
    """Return judgments without a segment, or a system, where others of the task have one."""
    both = pc.binary_join_element_wise(
        pairs["item_a"].cast(TEXT), pairs["item_b"].cast(TEXT), " | "
    )
    system = pc.if_else(
        pc.and_(pairs["system_a"].is_valid(), pairs["system_b"].is_valid()), "known", None
    )
    as_one = replace_columns(pairs, {"item": both, "system": system})
    names = [*LEFT_OUT.names[:4], "segment", "system"]
    texts = pa.schema([(name, TEXT) for name in names])
    rows = pa.concat_tables([part.select(names).cast(texts) for part in (ranked, as_one)])
    return [
        _left_out(rows.filter(rows[name].is_null()), what, f"no {name} is named")
        for name, what in (("segment", "segment_ranks"), ("system", "system_rankings"))
        if rows[name].null_count < rows.num_rows
    ]
