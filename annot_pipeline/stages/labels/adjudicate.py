"""An expert's decisions override the labels of the model, whose own answer has its own columns.

A decision is certain: its probability is 1. What the model thinks of it is in
``label_distributions``.

What does not belong here: which of several decisions counts (sql/ingest/settle_judgments.sql).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import LABELS, TEXT
from annot_pipeline.errors import shorten
from annot_pipeline.runtime.indexing import is_in, text_keys
from annot_pipeline.stages.shared.columns import replace_columns

COUNTS = ("n_judgments", "n_judges")


def adjudicate(
    labels: pa.Table,
    distributions: pa.Table,
    judgments: pa.Table,
    task: str,
    classes: Collection[str] | None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Put decisions in the place of labels of a task.

    Parameters
    ----------
    labels
        Those of the model, as `contracts.LABELS` without decisions.
    distributions
        ``item``, ``label``, ``votes`` of the same items.
    judgments
        ``item``, ``judge_id``, ``label``, ``control``, ``fate``, ``submitted_at``,
        ``why``; those whose fate is ``adjudication`` are decisions, one an item at most.
    task
        Its name.
    classes
        Those that judges gave or the task declares; None: no judge answered.

    Returns
    -------
    labels, metrics
        A row an item that was judged or decided; ``adjudications``: how many items were
        ``decided``, of how many the model says otherwise (``overridden``), how many decisions are
        ``superseded``; and what may be mistyped: the items ``decided_not_judged``,
        and the ``decided_new_classes``: the class, how many items were decided so, and the first.
    """
    by_experts = judgments.filter(is_in(judgments["control"], ("adjudication",)))
    superseded = by_experts.filter(is_in(by_experts["fate"], ("superseded",))).num_rows
    decisions = judgments.filter(is_in(judgments["fate"], ("adjudication",)))
    metrics: dict[str, Any] = {}
    if decisions.num_rows:
        items = labels["item"].combine_chunks()
        decided_items = decisions["item"].cast(TEXT).combine_chunks()
        labels = _override(labels, decisions, distributions, pc.index_in(items, decided_items))
        lone = decisions.filter(pc.is_null(pc.index_in(decided_items, items)))
        labels = pa.concat_tables([labels, _decided_alone(lone, task)])
        labels = labels.sort_by([(name, "ascending") for name in LABELS.key]).combine_chunks()
        if lone.num_rows:
            names = lone["item"].cast(TEXT).to_pylist()
            metrics["decided_not_judged"] = [shorten(item) for item in names]
        if classes is not None and (new := _new_classes(decisions, classes)):
            metrics["decided_new_classes"] = new
    decided = labels.filter(labels["adjudicated"])
    if decided.num_rows or superseded:
        other = pc.fill_null(pc.not_equal(decided["label"], decided["model_label"]), False)
        metrics["adjudications"] = {
            "decided": decided.num_rows,
            "overridden": pc.sum(other).as_py() or 0,
            "superseded": superseded,
        }
    return labels, metrics


def _override(
    labels: pa.Table, decisions: pa.Table, distributions: pa.Table, decision: pa.Array
) -> pa.Table:
    """Replace labels by decisions; ``decision`` is the row of each label's, or null."""
    keys, model_keys = (
        text_keys(rows["item"], rows["label"]) for rows in (decisions, distributions)
    )
    at = pc.index_in(keys, model_keys).combine_chunks()
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
    columns = {
        name: pc.if_else(is_decided, values, labels[name]) for name, values in chosen.items()
    }
    columns |= {name: values.take(decision) for name, values in _who(decisions).items()}
    columns["adjudicated"] = is_decided
    types = LABELS.schema
    return replace_columns(labels, {n: v.cast(types.field(n).type) for n, v in columns.items()})


def _decided_alone(decisions: pa.Table, task: str) -> pa.Table:
    """Return the rows of items that only an expert judged; the model has no label of them."""
    n = decisions.num_rows
    no = pa.array(np.zeros(n, np.bool_))
    columns = {
        "task": pa.repeat(pa.scalar(task, TEXT), n),
        **{name: decisions[name].cast(TEXT) for name in ("item", "label")},
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


def _new_classes(decisions: pa.Table, classes: Collection[str]) -> list[tuple[str, int, str]]:
    """Return decided classes that no judge gave: counts, and an item."""
    items: dict[str, list[str]] = {}
    for row in decisions.select(["item", "label"]).to_pylist():
        if row["label"] not in classes:
            items.setdefault(row["label"], []).append(row["item"])
    return [(label, len(own), min(own)) for label, own in sorted(items.items())]


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
