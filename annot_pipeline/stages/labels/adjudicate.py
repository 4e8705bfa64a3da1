"""An expert's decisions override the labels of the model, whose own answer has its own columns.

A decision is certain: its probability is 1. What the model thinks of it is in
``label_distributions``.

What does not belong here: which of several decisions counts (sql/ingest/settle_judgments.sql).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import LABELS, TEXT
from annot_pipeline.errors import shorten
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.indexing import is_in, text_keys

COUNTS = ("n_judgments", "n_judges")


def adjudicate(
    labels: pa.Table,
    distributions: pa.Table,
    judgments: pa.Table,
    classes: Mapping[str, Collection[str]],
) -> tuple[pa.Table, dict[str, Any]]:
    """Put decisions in the place of labels.

    Parameters
    ----------
    labels
        Those of the model, as `contracts.LABELS` without decisions.
    distributions
        ``task``, ``item``, ``label``, ``votes`` of the same items.
    judgments
        ``task``, ``item``, ``judge_id``, ``label``, ``control``, ``fate``, ``submitted_at``,
        ``why``; those whose fate is ``adjudication`` are decisions, one an item at most.
    classes
        Of the tasks that judges answered.

    Returns
    -------
    labels, metrics
        A row an item that was judged or decided; ``adjudications``: by task how many items were
        ``decided``, of how many the model says otherwise (``overridden``), how many decisions are
        ``superseded``; and what may be mistyped, by task too: the items ``decided_not_judged``,
        and the ``decided_new_classes`` of tasks that judges answered: the class, how many items
        were decided so, and the first.
    """
    by_experts = judgments.filter(is_in(judgments["control"], ("adjudication",)))
    superseded = by_experts.filter(is_in(by_experts["fate"], ("superseded",)))
    decisions = judgments.filter(is_in(judgments["fate"], ("adjudication",)))
    if not decisions.num_rows:
        return labels, {
            "adjudications": _counts(labels, superseded),
            "decided_not_judged": {},
            "decided_new_classes": {},
        }
    decision_rows = pc.index_in(_keys(labels, "task", "item"), _keys(decisions, "task", "item"))
    overridden = _override(labels, decisions, distributions, decision_rows)
    positions = pc.index_in(_keys(decisions, "task", "item"), _keys(labels, "task", "item"))
    lone_decisions = _decided_alone(decisions.filter(pc.is_null(positions)))
    whole = pa.concat_tables([overridden, lone_decisions])
    whole = whole.sort_by([(name, "ascending") for name in LABELS.key]).combine_chunks()
    return whole, {
        "adjudications": _counts(whole, superseded),
        "decided_not_judged": {
            task: [shorten(item) for item in rows["item"].to_pylist()]
            for rows_of in [ByTask(lone_decisions)]
            for task in rows_of.names
            for rows in [rows_of[task]]
        },
        "decided_new_classes": _new_classes(decisions, classes),
    }


def _override(
    labels: pa.Table, decisions: pa.Table, distributions: pa.Table, decision: pa.ChunkedArray
) -> pa.Table:
    """Replace labels by decisions; ``decision`` is the row of each label's, or null."""
    key_columns = ("task", "item", "label")
    at = pc.index_in(
        _keys(decisions, *key_columns), _keys(distributions, *key_columns)
    ).combine_chunks()
    # a class that the model does not know has no votes
    votes = pc.fill_null(distributions["votes"].combine_chunks().take(at), 0).take(decision)
    is_decided = pc.is_valid(decision)
    chosen = {
        "label": decisions["label"].cast(TEXT).take(decision),
        "probability": pa.scalar(1.0),
        "certain": pa.scalar(True),
        "entropy": pa.scalar(0.0),
        "support": pc.divide(votes.cast(pa.float64()), labels["n_judgments"].cast(pa.float64())),
    }
    for name, values in chosen.items():
        labels = _with(labels, name, pc.if_else(is_decided, values, labels[name]))
    for name, values in _who(decisions).items():
        labels = _with(labels, name, values.take(decision))
    return _with(labels, "adjudicated", is_decided)


def _decided_alone(decisions: pa.Table) -> pa.Table:
    """Return the rows of items that only an expert judged; the model has no label of them."""
    n = decisions.num_rows
    no = pa.array(np.zeros(n, np.bool_))
    columns = {
        **{name: decisions[name].cast(TEXT) for name in ("task", "item", "label")},
        "probability": np.ones(n),
        "certain": pc.invert(no),
        "entropy": np.zeros(n),
        "dawid_skene_certain": no,
        "adjudicated": pc.invert(no),
        **{name: np.zeros(n, np.int64) for name in COUNTS},
        **_who(decisions),
    }
    return LABELS.from_columns(columns)


def _who(decisions: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return who decided, when, and why."""
    return {
        "adjudicator": decisions["judge_id"].cast(TEXT),
        "adjudicated_at": decisions["submitted_at"],
        "adjudication_reason": decisions["why"].cast(TEXT),
    }


def _new_classes(
    decisions: pa.Table, classes: Mapping[str, Collection[str]]
) -> dict[str, list[tuple[str, int, str]]]:
    """Return decided classes that no judge gave, by task: counts, and an item."""
    by_task = ByTask(decisions)
    new_classes = {}
    for task in by_task.names:
        rows = by_task[task]
        if task in classes:
            new = rows.filter(pc.invert(is_in(rows["label"], classes[task])))
            items: dict[str, list[str]] = {}
            for row in new.to_pylist():
                items.setdefault(row["label"], []).append(row["item"])
            if items:
                new_classes[task] = [
                    (label, len(decided_items), min(decided_items))
                    for label, decided_items in sorted(items.items())
                ]
    return new_classes


def new_classes_in_words(new_classes: Sequence[tuple[str, int, str]]) -> list[str]:
    """Return the ``decided_new_classes`` of a task in words."""
    items: dict[str, tuple[int, str]] = {}
    for label, n, item in new_classes:
        so_far, first = items.get(label, (0, item))
        items[label] = so_far + n, min(first, item)
    return [
        f"{shorten(label)} ({n:,} item{'s' * (n > 1)}, as {shorten(first)})"
        for label, (n, first) in sorted(items.items())
    ]


def _counts(labels: pa.Table, superseded: pa.Table) -> dict[str, dict[str, int]]:
    decided = labels.filter(labels["adjudicated"])
    other = decided.filter(
        pc.fill_null(pc.not_equal(decided["label"], decided["model_label"]), False)
    )
    counted = {
        "decided": decided["task"], "overridden": other["task"], "superseded": superseded["task"],
    }  # fmt: skip
    counts: dict[str, dict[str, int]] = {}
    for name, tasks in counted.items():
        for row in pc.value_counts(tasks.cast(TEXT)).to_pylist():
            counts.setdefault(row["values"], dict.fromkeys(counted, 0))[name] = row["counts"]
    return dict(sorted(counts.items()))


def _with(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.schema.get_field_index(name)
    field = table.schema.field(name)
    return table.set_column(at, field, values.cast(field.type))


def _keys(table: pa.Table, *names: str) -> pa.ChunkedArray:
    return text_keys(*(table[name] for name in names))
