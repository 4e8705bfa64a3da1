"""Preferences, rankings and scored HITs become comparisons of two outputs (`comparisons`).

What one judge saw at once stays together: its comparisons share a ranking. A preference of a
HIT belongs to the HIT, one without is a ranking of its own. A scalar task is broken into
comparisons where its scores were given side by side: a ranking is mapped, or at least half of
its judgments share a HIT and a segment with another. What does not belong here: which two items
of a ranking are compared (imply_comparisons), what is made of the comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.stages.comparisons.asked_pairs import comparisons_of_pairs, describe_pairs
from annot_pipeline.stages.comparisons.comparisons import LEFT_OUT, comparison_table
from annot_pipeline.stages.comparisons.imply_comparisons import (
    MOST_ITEMS,
    MOST_OF_SEGMENT,
    imply_comparisons,
)
from annot_pipeline.stages.comparisons.reconcile_orders import ONE_ORDER, reconcile_orders
from annot_pipeline.stages.ingest.listed_items import ListedItems

COUNTED = ("used", "judge_failed")
COMPARED_SHARE = 0.5
"""Share of a scalar task's judgments that HITs must let be compared for them to be."""

LEFT_OUT_REASONS = (
    "no ranking and no HIT is mapped",
    "the only ranked output of its ranking",
    *(f"its ranking holds more than {n:,} outputs" for n in (MOST_ITEMS, MOST_OF_SEGMENT)),
)
"""As `imply_comparisons.REASONS`, said of one judgment."""

NO_RANK = "no rank, although others of the task have one"


def break_into_comparisons(
    judgments: pa.Table,
    standardized: pa.Table,
    tasks: pa.Table,
    items: pa.Table,
    *,
    margin: float,
    n_scored: Mapping[str, int] | None = None,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Break all that compares outputs into comparisons.

    Parameters
    ----------
    judgments
        Of all tasks; those of kind pairwise and ranking are taken, of the latter also
        preferences.
    standardized
        As `standardize_scores` gives it: judgments of scalar tasks.
    tasks
        ``task``, ``kind``, ``reconcile``.
    items
        `listed_items.COLUMNS` of the item tables; what the first row says of an item wins over
        what records say.
    margin
        Scores of a scalar task no farther apart are a tie.
    n_scored
        Ordinary scores by task, of tasks whose ``standardized`` holds those alone that were judged
        beside others.

    Returns
    -------
    tables, metrics
        ``comparisons`` (`comparisons.COMPARISONS`), ``not_compared`` (`comparisons.LEFT_OUT`);
        metrics are by task.
    """
    kinds = {row["task"]: row["kind"] for row in tasks.to_pylist()}
    counted = judgments.filter(
        pc.and_(
            is_in(judgments["fate"], COUNTED),
            is_in(judgments["control"], ["none", "ask_again"]),
        )
    )
    counted = counted.append_column("kept", is_in(counted["fate"], ("used",)))
    ranked = _rows_of_kind(counted, kinds, "ranking")
    is_pair = pc.is_valid(ranked["item_a"])  # as tournaments of a ranking task come back
    asked_pairs = ranked.filter(is_pair)
    listed = ListedItems(items)
    ranked = listed.describe(ranked.filter(pc.invert(is_pair)))
    valued, value, unranked = _values(ranked)
    placed = _placings(_one_a_ranking(valued), value, 0.0)
    scored = standardized.filter(is_in(standardized["control"], ("none",)))
    scored = _side_by_side(scored, n_scored or {})
    implied = _placings(scored, scored["score"].to_numpy(), margin)
    pairs = pa.concat_tables([_rows_of_kind(counted, kinds, "pairwise"), asked_pairs])
    pairs = describe_pairs(pairs, listed)
    reconciled = reconcile_orders(
        comparisons_of_pairs(pairs),
        [row["task"] for row in tasks.to_pylist() if row["reconcile"] == "order"],
    )
    table = comparison_table([placed.rows, implied.rows, reconciled.rows])
    reasons = pc.take(pa.array(LEFT_OUT_REASONS, TEXT), pa.array(placed.why))
    unplaced = _unplaced(valued, pairs)
    left_out = pa.concat_tables(
        [
            _left_out(placed.lone_rows, "comparisons", reasons),
            _left_out(unranked, "comparisons", NO_RANK),
            _left_out(pairs.take(reconciled.lacking), "comparisons", ONE_ORDER),
            *unplaced,
        ]
    )
    left_out = left_out.sort_by([(name, "ascending") for name in LEFT_OUT.names])
    n_comparisons = _count(table["task"])
    metrics = {
        "comparisons": n_comparisons,
        "ties": _count(table.filter(pc.equal(table["outcome"], 0))["task"]),
        "without_comparisons": {
            task: task not in n_comparisons
            for task, kind in sorted(kinds.items())
            if kind in ("pairwise", "ranking")
        },
        "ranked": _count(ranked["task"]),
        "left_out": _count(placed.lone_rows["task"], unranked["task"]),
        "compared": _count(valued["task"], pairs["task"]),
        "unplaced": _count(*(part["task"] for part in unplaced)),
        "repeated_outputs": _repeated(valued),
    }
    return {"comparisons": table, "not_compared": left_out}, metrics


def _values(ranked: pa.Table) -> tuple[pa.Table, Floats, pa.Table]:
    """Return ranked outputs, how good each is, and those without the rank that others have.

    A task is ranked by its ranks; by its scores where it has no rank at all.
    """
    task, by_rank = index(ranked["task"]), ranked["rank"].is_valid().to_numpy()
    has_ranks = np.bincount(task.codes[by_rank], minlength=len(task.names)) > 0
    fits = by_rank == has_ranks[task.codes]
    fitting = ranked.filter(pa.array(fits, pa.bool_()))
    rank = pc.negate(fitting["rank"].cast(REAL))
    value = pc.if_else(fitting["rank"].is_valid(), rank, fitting["score"])
    return fitting, value.to_numpy(), ranked.filter(pa.array(~fits, pa.bool_()))


def _one_a_ranking(ranked: pa.Table) -> pa.Table:
    """Return ranked outputs; without ranking and HIT, a judge ranked a segment at once."""
    neither = pc.and_(pc.is_null(ranked["ranking"]), pc.is_null(ranked["hit"]))
    ranking = pc.if_else(neither, "", ranked["ranking"].cast(TEXT))
    return ranked.set_column(ranked.schema.get_field_index("ranking"), "ranking", ranking)


def _repeated(ranked: pa.Table) -> dict[str, list[str]]:
    """Return the outputs that have several ranks in one ranking, by task; their mean counts."""
    keys = ("task", "judge", "ranking", "hit", "segment", "item")
    group = np.zeros(ranked.num_rows, np.int64)
    for name in keys:
        group = index_pairs(group, index(ranked[name], null="").codes).codes
    rank = pc.coalesce(pc.negate(ranked["rank"]).cast(REAL), ranked["score"])
    placed = index_pairs(group, np.unique(rank.to_numpy(), return_inverse=True)[1].reshape(-1))
    twice = np.bincount(placed.first, minlength=1) > 1
    first = np.unique(group, return_index=True)[1]
    rows = ranked.select(["task", "item"]).take(pa.array(first[twice[: first.size]]))
    names: dict[str, set[str]] = {}
    for row in rows.to_pylist():
        names.setdefault(row["task"], set()).add(row["item"])
    return {task: sorted(items) for task, items in sorted(names.items())}


def _rows_of_kind(rows: pa.Table, kinds: dict[str, str], kind: str) -> pa.Table:
    names = pa.array([task for task, task_kind in kinds.items() if task_kind == kind], TEXT)
    return rows.filter(is_in(rows["task"], names))


def _count(*tasks: pa.ChunkedArray) -> dict[str, int]:
    """Return rows by task, of one column or several."""
    named = pa.chunked_array([part for column in tasks for part in column.cast(TEXT).chunks], TEXT)
    counts = pc.value_counts(named).to_pylist()
    return {row["values"]: row["counts"] for row in sorted(counts, key=lambda row: row["values"])}


# --- rankings, and scores given side by side ------------------------------------------------


@dataclass(frozen=True)
class _Placings:
    """Comparisons that placings imply; and judgments that are in none, and why (`REASONS`)."""

    rows: pa.Table
    lone_rows: pa.Table
    why: Codes


def _side_by_side(scored: pa.Table, n_scored: Mapping[str, int]) -> pa.Table:
    """Return the judgments of the scalar tasks whose scores were given to be compared."""
    task = index(scored["task"])
    group = task.codes
    for name in ("judge", "hit", "segment"):
        group = index_pairs(group, index(scored[name], null="").codes).codes
    outputs = index_pairs(group, index(scored["item"]).codes)
    several = np.bincount(outputs.first, minlength=1)[group] > 1 if group.size else group > 0
    placed = pc.and_(scored["hit"].is_valid(), scored["segment"].is_valid()).to_numpy()
    n_given = np.bincount(task.codes, minlength=len(task.names)).tolist()
    n_rows = np.array([n_scored.get(*key) for key in zip(task.names, n_given, strict=True)])
    n_compared = np.bincount(task.codes[several & placed], minlength=len(task.names))
    n_ranked = np.bincount(task.codes[scored["ranking"].is_valid().to_numpy()],
                           minlength=len(task.names))  # fmt: skip
    side_by_side = (n_ranked > 0) | (n_compared >= COMPARED_SHARE * np.maximum(n_rows, 1))
    return scored.filter(pa.array(side_by_side[task.codes], pa.bool_()))


def _placings(rows: pa.Table, value: Floats, margin: float) -> _Placings:
    """Return the comparisons of the outputs that a judge placed at once; more is better."""
    task, item = index(rows["task"]), index(rows["item"])
    outputs = index_pairs(task.codes, item.codes)
    pairs = imply_comparisons(
        rows, outputs.codes, task.codes, value, n_items=outputs.first.size, margin=margin
    )
    first, second = pa.array(pairs.first_row), pa.array(pairs.second_row)
    at = pa.array(pairs.row)
    one_position = pc.equal(rows["position"].take(first), rows["position"].take(second))
    shared = pc.fill_null(one_position, False).to_numpy()
    # a position where ranks differ is no place of one output, but a trial of several
    has_trials = np.zeros(len(task.names), np.bool_)
    of_pair = task.codes[pairs.first_row]
    has_trials[of_pair[shared & (pairs.outcome != 0)]] = True
    has_positions = np.zeros(len(task.names), np.bool_)
    has_positions[of_pair[~shared]] = True
    one_output = shared & (pairs.outcome == 0) & (has_positions & ~has_trials)[of_pair]
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
    lone_rows = np.flatnonzero(pairs.row_reason >= 0)
    return _Placings(table, rows.take(pa.array(lone_rows)), pairs.row_reason[lone_rows])


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
    """Return judgments without a segment, or a system, in tasks where others have one."""
    both = pc.binary_join_element_wise(
        pairs["item_a"].cast(TEXT), pairs["item_b"].cast(TEXT), " | "
    )
    system = pc.if_else(
        pc.and_(pairs["system_a"].is_valid(), pairs["system_b"].is_valid()), "known", None
    )
    at = {name: pairs.schema.get_field_index(name) for name in ("item", "system")}
    as_one = pairs.set_column(at["item"], "item", both)
    as_one = as_one.set_column(at["system"], "system", system)
    names = [*LEFT_OUT.names[:4], "segment", "system"]
    texts = pa.schema([(name, TEXT) for name in names])
    rows = pa.concat_tables([part.select(names).cast(texts) for part in (ranked, as_one)])
    task = index(rows["task"])
    parts = []
    for name, what in (("segment", "segment_ranks"), ("system", "system_rankings")):
        is_named = rows[name].is_valid().to_numpy()
        some = np.bincount(task.codes[is_named], minlength=len(task.names)) > 0
        without = rows.filter(pa.array(~is_named & some[task.codes], pa.bool_()))
        parts.append(_left_out(without, what, f"no {name} is named"))
    return parts
