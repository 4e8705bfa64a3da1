"""The next judgments of labels: items below a level, those first of which one more tells most.

An item is not asked again once its label has the probability `next_hits.level`, an expert decided
it, or it has `next_hits.per_item` judgments. Items without judgments, or whose judges all
failed, come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config.sections import NextHits
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.errors import counted
from annot_pipeline.methods.planning.label_gain import expected_gain
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.planning.hit_plan import CannotPlanError, Question, Slots, TaskItems
from annot_pipeline.stages.planning.plan_comparisons import NothingLeftError, even_parts

NO_MODEL = "no model labels its items, so nothing tells how probable a label is"


@dataclass(frozen=True, eq=False)
class PlannedLabels:
    """What is asked of a task, and a summary for people; see `plan_hits`."""

    items: TaskItems
    slots: Slots
    summary: dict[str, Any]


def label_slots(
    question: Question,
    names: Sequence[str],
    n_judgments: Codes,
    asked: Codes,
    listed: Mapping[str, dict[str, Any]],
    hit_size: int,
    *,
    role: str,
    summary: dict[str, Any],
    state: bytes,
    control: str = "none",
    probability: Floats | None = None,
) -> PlannedLabels:
    """Return the slots of items, an item once.

    Parameters
    ----------
    question
        What is asked.
    names, n_judgments
        ``(n_items,)`` items of the task, and their judgments.
    asked
        Codes of items, in the order in which they are asked.
    listed
        What item tables say of an item.
    hit_size
        Slots of a HIT at most.
    role, control
        Of all slots.
    summary
        For people.
    state
        What the plan depends on.
    probability
        ``(n_asked,)`` with which each item was drawn; None: by no chance.
    """
    nothing, nobody = np.full(len(names), np.nan), [None] * len(names)
    items = TaskItems(question, names, nobody, nobody, nothing, nothing, n_judgments, listed, state)
    texts = [items.listed_value("text", item) for item in asked.tolist()]
    slots = Slots(
        items=asked,
        roles=[role] * asked.size,
        controls=[control] * asked.size,
        probability=np.full(asked.size, np.nan) if probability is None else probability,
        texts=[text if text and text.strip() else None for text in texts],
        sizes=np.array(even_parts(asked.size, hit_size), np.int64),
    )
    return PlannedLabels(items, slots, summary)


GAIN = "gain"
"""The role of slots of items that are asked for what the answer is expected to tell."""


def plan_labels(
    question: Question,
    tables: Mapping[str, pa.Table],
    listed: Mapping[str, dict[str, Any]],
    own: NextHits,
    level: float,
    notes: list[str],
) -> PlannedLabels:
    """Plan the next judgments of a task.

    Parameters
    ----------
    question
        What is asked.
    tables
        ``labels``, ``label_distributions``, ``judge_confusion``, ``controlled`` of the task.
    listed
        Items of the item tables.
    own
        ``items``, ``per_item``, ``hit_size``.
    level
        Probability from which a label is not asked again.
    notes
        Grows by what to know.

    Raises
    ------
    NothingLeftError, CannotPlanError
        Why there can be none.
    """
    labels = tables["labels"]
    if labels.num_rows and not labels["probability"].is_valid().to_numpy().any():
        raise CannotPlanError(NO_MODEL)
    judged = labels["item"].cast(TEXT).to_pylist()
    rows = tables["controlled"]
    failed = rows.filter(is_in(rows["fate"], ["judge_failed"]))["item"].cast(TEXT)
    fresh = sorted({*listed, *failed.drop_null().to_pylist()}.difference(judged))
    gain = np.concatenate([_gains(tables, judged), np.full(len(fresh), np.inf)])
    probability = pc.fill_null(labels["probability"], 0.0).to_numpy()
    n = np.concatenate([labels["n_judgments"].to_numpy(), np.zeros(len(fresh), np.int64)])
    is_open = np.concatenate([probability < level, np.ones(len(fresh), np.bool_)])
    can_be_asked = is_open & (n < own.per_item)
    asked = np.flatnonzero(can_be_asked)
    names = [*judged, *fresh]
    asked = asked[np.lexsort((np.array(names, object)[asked], -gain[asked]))][: own.items]
    n_open = int(is_open.sum())
    summary = {
        "level": level, "items": len(names), "left": n_open, "asked": asked.size,
        "at_most": int((is_open & ~can_be_asked).sum()), **_saved(n, own.per_item), "strata": [],
        "estimands": [],
    }  # fmt: skip
    if not asked.size:
        raise NothingLeftError(
            f"{n_open:,} of {counted(len(names), 'label')} are below {level:g}, and each of them "
            f"has {own.per_item:,} judgments or more; --set next_hits.per_item=N asks again"
            if n_open else f"no label is below {level:g}"
        )  # fmt: skip
    notes += _notes(question.task, summary, own.per_item)
    state = np.ascontiguousarray(gain, np.float64).tobytes()
    return label_slots(
        question, names, n, asked, listed, own.hit_size, role=GAIN, summary=summary, state=state
    )


def _gains(tables: Mapping[str, pa.Table], items: list[str]) -> Floats:
    """Return the gain of each item; of items that an expert alone decided, none."""
    rows, confusion = tables["label_distributions"], tables["judge_confusion"]
    gains = np.zeros(len(items))
    if not rows.num_rows or not confusion.num_rows:
        return gains
    classes = pc.unique(rows["label"].cast(TEXT)).to_pylist()
    k = len(classes)
    posterior = rows["probability"].cast(REAL).to_numpy().reshape(-1, k)
    true, observed = (
        pc.index_in(confusion[f"{which}_label"].cast(TEXT), pa.array(classes, TEXT)).to_numpy()
        for which in ("true", "observed")
    )
    average = np.zeros((k, k))
    np.add.at(average, (true, observed), confusion["probability"].to_numpy())
    average /= average.sum(axis=1, keepdims=True)
    names = rows["item"].cast(TEXT).take(pa.array(np.arange(0, rows.num_rows, k)))
    places = pc.index_in(names, pa.array(items, TEXT))
    gains[places.to_numpy()] = expected_gain(posterior, average)
    return gains


def _saved(n: Floats, per_item: int) -> dict[str, int]:
    """Return judgments so far, and those that as many as allowed for all items would be more."""
    judged = n[n > 0]
    total = int(judged.sum())
    return {"judgments": total, "saved": max(per_item * judged.size - total, 0)}


def _notes(task: str, summary: Mapping[str, Any], per_item: int) -> list[str]:
    total, saved = summary["judgments"], summary["saved"]
    notes = [
        f"{task}: {summary['left']:,} of {counted(summary['items'], 'label')} are below "
        f"{summary['level']:g}; {counted(summary['asked'], 'judgment')} planned, those first that "
        "tell most"
    ]
    if summary["at_most"]:
        notes.append(
            f"{task}: {summary['at_most']:,} of these, with {per_item:,} judgments or more, not "
            "asked again (next_hits.per_item)"
        )
    if saved:
        notes.append(
            f"{task}: {total:,} judgments so far; {per_item:,} for each judged item "
            f"(next_hits.per_item) would be {saved:,} more"
        )
    return notes
