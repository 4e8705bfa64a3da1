"""The next HITs of every scalar task, by the design that next_hits names.

What cannot be planned is said task by task, and does not stop a build. What does not belong
here: which items are chosen (next_hits, hit_design), files to upload (annot_pipeline.hits).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign, TaskSettings
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.beta_scores import FRESH
from annot_pipeline.methods.next_hits import ROLES, NextHitsParams, next_hits
from annot_pipeline.steps.hit_plan import HIT_PLAN, Question, Slots, TaskItems, plan_table
from annot_pipeline.steps.indexing import index
from annot_pipeline.steps.plan_controlled_hits import plan_controlled
from annot_pipeline.steps.resolve_tasks import scale_of

CODE_VERSION = "1"


class CannotPlanError(ValueError):
    """Why a task has no plan; a message for people."""


def plan_hits(
    scores: pa.Table, tasks: pa.Table, items: pa.Table, *, settings: Campaign
) -> tuple[pa.Table, dict[str, Any]]:
    """Plan the next HITs.

    Parameters
    ----------
    scores
        ``task``, ``item``, ``segment``, ``system``, ``n_judgments``, ``easl_alpha``,
        ``easl_beta``.
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    items
        Rows of the item tables, in order of precedence.
    settings
        ``easl``, ``next_hits``, ``controlled_hits``, ``tasks``, ``campaign``, ``seed``.

    Returns
    -------
    plan, facts
        `hit_plan.HIT_PLAN`; and what was planned, what could not be, and what to know.
    """
    listed = _listed(items)
    questions, unplanned = _questions(tasks, listed, settings)
    notes: list[str] = []
    parts: list[pa.Table] = []
    planned: dict[str, int] = {}
    for question in questions:
        found = _task_items(question, scores, listed, notes, alone=len(questions) == 1)
        try:
            slots = _DESIGNS[settings.next_hits.design](found, settings, notes)
        except ValueError as error:
            unplanned[question.task] = str(error)
            continue
        planned[question.task] = len(slots.items)
        parts.append(plan_table(found, slots, campaign=settings.campaign, seed=settings.seed))
    table = pa.concat_tables(parts) if parts else HIT_PLAN.empty_table()
    return table, {"hits": planned, "unplanned": unplanned, "notes": notes}


# --- which tasks and items there are -------------------------------------------------------


def _listed(items: pa.Table) -> dict[str, dict[str, Any]]:
    """Rows of the item tables by item; the first row of an item wins."""
    found: dict[str, dict[str, Any]] = {}
    for row in items.to_pylist():
        found.setdefault(row["item"], row)
    return found


def questions_of(
    tasks: pa.Table, items: pa.Table, settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    """Scalar tasks with a scale, and why others cannot be asked."""
    return _questions(tasks, _listed(items), settings)


def _questions(
    tasks: pa.Table, listed: dict[str, dict[str, Any]], settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    found: list[Question] = []
    unplanned: dict[str, str] = {}
    known = {row["task"]: row for row in tasks.to_pylist()}
    names = {row["task"] for row in listed.values()} - {None}
    if not known and listed and not names:
        names = {settings.campaign}  # the task of exports that map none
    for task in sorted({*known, *names}):
        if task in known:
            row = known[task]
            kind, scale = row["kind"], scale_of(row)
            criteria = tuple(c["criterion"] for c in row["criteria"] or ())
        else:
            kind, scale, criteria = _declared(task, settings)
        if kind != "scalar":
            continue
        if scale is None:
            unplanned[task] = "it declares no scale; write scale: [lowest, highest] under tasks"
            continue
        found.append(Question(task, scale, criteria))
    return found, unplanned


def _declared(
    task: str, settings: Campaign
) -> tuple[str | None, tuple[float, float] | None, tuple[str, ...]]:
    """What campaign.yaml says of a task without judgments."""
    none = TaskSettings(name=task)
    of = next((s for s in settings.tasks if fnmatch.fnmatchcase(task, s.name)), none)
    return of.kind, of.scale, tuple(of.criteria)


def _task_items(
    question: Question,
    scores: pa.Table,
    listed: dict[str, dict[str, Any]],
    notes: list[str],
    *,
    alone: bool,
) -> TaskItems:
    """Items judged for a task, and those listed for it that nobody has judged."""
    rows = scores.filter(pc.equal(scores["task"].cast(TEXT), question.task))
    judged = rows["item"].cast(TEXT).to_pylist()
    seen = set(judged)
    fresh = [
        item
        for item, row in listed.items()
        if item not in seen and (row["task"] == question.task or (alone and row["task"] is None))
    ]
    if not alone and any(row["task"] is None for row in listed.values()):
        notes.append(
            f"{question.task}: listed items that were not judged are left out where the item "
            "table does not map task"
        )
    whole = pa.chunked_array([pa.array([*judged, *fresh], TEXT)])
    names = index(whole)
    order = np.argsort(names.codes, kind="stable")  # every item stands once

    def column(name: str, start: float) -> np.ndarray:
        known = pc.fill_null(rows[name], start).to_numpy(zero_copy_only=False)
        return np.concatenate([known, np.full(len(fresh), start)])[order]

    def told(name: str) -> list[str | None]:
        both = rows[name].to_pylist() + [listed[item][name] for item in fresh]
        return [both[place] for place in order.tolist()]

    return TaskItems(
        question=question,
        names=names.names,
        segments=told("segment"),
        systems=told("system"),
        alpha=column("easl_alpha", FRESH),
        beta=column("easl_beta", FRESH),
        n_judgments=column("n_judgments", 0).astype(np.int64),
        listed=listed,
    )


# --- EASL ----------------------------------------------------------------------------------


def _plan_easl(items: TaskItems, settings: Campaign, notes: list[str]) -> Slots:
    easl = settings.easl
    n, n_items = easl.hit_size, len(items.names)
    task = items.question.task
    if n_items < n:
        raise CannotPlanError(
            f"it has {n_items} item{'s' * (n_items != 1)}, and a HIT shows {n} "
            "(easl.hit_size); list more under items, or lower easl.hit_size"
        )
    groups = _segments(items) if settings.next_hits.within == "segment" else None
    if groups is not None:
        sizes = np.bincount(groups)
        small = int((sizes < n).sum())
        if small == sizes.size:
            raise CannotPlanError(
                f"no segment has {n} outputs, as many as a HIT shows (easl.hit_size); the largest "
                f"has {sizes.max()}: lower easl.hit_size, or set next_hits.within: task"
            )
        if small:
            notes.append(
                f"{task}: {small:,} of {sizes.size:,} segments are left out: fewer than {n} "
                "outputs (easl.hit_size)"
            )
    judged = items.n_judgments > 0
    found = next_hits(
        items.alpha, items.beta,
        judged=judged, groups=groups, rng=items.rng(settings.seed),
        params=NextHitsParams(easl.gamma, n, easl.hits, easl.random_share),
    )  # fmt: skip
    covered = int((found.roles == ROLES.index("cover")).sum())
    fresh = int((~judged).sum())
    if covered < fresh:
        notes.append(
            f"{task}: {fresh - covered:,} of {fresh:,} items without judgments wait for the next "
            f"batch; a HIT shows {n}, and easl.hits is {easl.hits:,}"
        )
    if len(found.items) < easl.hits and covered == fresh:
        notes.append(
            f"{task}: {len(found.items):,} HITs, not {easl.hits:,} (easl.hits): more would not fit "
            "into a round"
        )
    names = np.array(ROLES, object)[found.roles].reshape(-1)
    texts = [items.told("text", i) for i in found.items.reshape(-1).tolist()]
    return Slots(found.items, names.tolist(), ["none"] * len(texts), found.probability, texts)


def _segments(items: TaskItems) -> np.ndarray | None:
    """Codes of segments; None where the task has none. Items without one are one group."""
    if all(segment is None for segment in items.segments):
        return None
    known: dict[str | None, int] = {}
    return np.array([known.setdefault(s, len(known)) for s in items.segments], np.int64)


_DESIGNS: dict[str, Callable[[TaskItems, Campaign, list[str]], Slots]] = {
    "easl": _plan_easl,
    "controlled": plan_controlled,
}
