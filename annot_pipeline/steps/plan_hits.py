"""The next HITs of every scalar task, by the design that next_hits names.

What cannot be planned is said task by task, and does not stop a build. What does not belong
here: which items are chosen (next_hits, hit_design), files to upload (annot_pipeline.hits).
"""

from __future__ import annotations

import fnmatch
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign, TaskSettings
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.beta_scores import FRESH
from annot_pipeline.methods.next_hits import ROLES, NextHitsParams, next_hits
from annot_pipeline.steps.hit_plan import (
    HIT_PLAN,
    CannotPlanError,
    Question,
    Slots,
    TaskItems,
    plan_table,
)
from annot_pipeline.steps.indexing import index
from annot_pipeline.steps.plan_controlled_hits import plan_controlled
from annot_pipeline.steps.resolve_tasks import scale_of

CODE_VERSION = "1"


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
    listed = _listed(items, tasks, settings)
    questions, unplanned = _questions(tasks, listed, settings)
    notes: list[str] = []
    if len(listed.of) > 1:
        homeless = listed.common.keys() - set(scores["item"].to_pylist())
        homeless -= {item for rows in listed.of.values() for item in rows}
        if homeless:
            notes.append(
                f"listed items left out, for there are several tasks and their table does not map "
                f"task: {len(homeless):,}"
            )
    parts: list[pa.Table] = []
    planned: dict[str, int] = {}
    judged = index(scores["task"])
    order = np.argsort(judged.codes, kind="stable")
    ends = np.searchsorted(judged.codes[order], np.arange(len(judged.names) + 1))
    for question in questions:
        rows = order[:0]
        if question.task in judged.names:
            code = judged.names.index(question.task)
            rows = order[ends[code] : ends[code + 1]]
        of_task = scores.take(pa.array(rows))
        found = _task_items(question, of_task, listed)
        if settings.next_hits.design == "easl":
            found = _with_text(found, notes)
        try:
            slots = _DESIGNS[settings.next_hits.design](found, settings, notes)
        except CannotPlanError as error:
            unplanned[question.task] = str(error)
            continue
        planned[question.task] = len(slots.items)
        parts.append(
            plan_table(
                found, slots,
                campaign=settings.campaign, seed=settings.seed, gamma=settings.easl.gamma,
            )
        )  # fmt: skip
    table = pa.concat_tables(parts) if parts else HIT_PLAN.empty_table()
    return table, {"hits": planned, "unplanned": unplanned, "notes": notes}


# --- which tasks and items there are -------------------------------------------------------

Row = dict[str, Any]


@dataclass(frozen=True)
class _Listed:
    """Rows of the item tables by item: those that name a task, and those that name none.

    The first row of an item wins. Where there is only one task, the latter are its own.
    """

    of: dict[str, dict[str, Row]]
    common: dict[str, Row]


def _listed(items: pa.Table, tasks: pa.Table, settings: Campaign) -> _Listed:
    rows = items.to_pylist()
    judged = set(tasks["task"].to_pylist())
    named = {row["task"] for row in rows}
    if None in named and not judged:
        named.add(settings.campaign)  # the task of exports that map none
    of: dict[str, dict[str, Row]] = {task: {} for task in judged | named - {None}}
    common: dict[str, Row] = {}
    for row in rows:
        (common if row["task"] is None else of[row["task"]]).setdefault(row["item"], row)
    if len(of) == 1:
        (only,) = of.values()
        only |= {item: row for item, row in common.items() if item not in only}
    return _Listed(of, common)


def questions_of(
    tasks: pa.Table, items: pa.Table, settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    """Scalar tasks with a scale, and why others cannot be asked."""
    return _questions(tasks, _listed(items, tasks, settings), settings)


def _questions(
    tasks: pa.Table, listed: _Listed, settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    found: list[Question] = []
    unplanned: dict[str, str] = {}
    known = {row["task"]: row for row in tasks.to_pylist()}
    for task in sorted({*known, *listed.of}):
        if task in known:
            row = known[task]
            declared = row["scale_low"] is not None and row["scale_high"] is not None
            kind, scale = row["kind"], scale_of(row) if declared else None
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


def _task_items(question: Question, rows: pa.Table, all_listed: _Listed) -> TaskItems:
    """Items judged for a task, and those listed for it that nobody has judged."""
    listed = all_listed.of[question.task]
    judged = rows["item"].cast(TEXT).to_pylist()
    seen = set(judged)
    fresh = [item for item in listed if item not in seen]
    names = index(pa.array([*judged, *fresh], TEXT))
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
        listed=ChainMap[str, Row](listed, all_listed.common),
    )


def _with_text(items: TaskItems, notes: list[str]) -> TaskItems:
    """The items that have a text; all, under their names, where none has one."""
    task = items.question.task
    shown = [bool((items.told("text", i) or "").strip()) for i in range(len(items.names))]
    if all(shown):
        return items
    if not any(shown):
        system = ", which may tell the system" * any(s is not None for s in items.systems)
        notes.append(
            f"{task}: no item has a text: judges see its name{system}; map text under items"
        )
        return items
    notes.append(
        f"{task}: {shown.count(False):,} items without a text are left out; list them, with text, "
        "under items"
    )
    kept = np.flatnonzero(shown).tolist()
    return replace(
        items,
        names=[items.names[i] for i in kept],
        segments=[items.segments[i] for i in kept],
        systems=[items.systems[i] for i in kept],
        alpha=items.alpha[kept],
        beta=items.beta[kept],
        n_judgments=items.n_judgments[kept],
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
    can_be_asked = np.ones(n_items, np.bool_) if groups is None else (sizes >= n)[groups]
    found = next_hits(
        items.alpha, items.beta,
        judged=judged, groups=groups, rng=items.rng(settings.seed),
        params=NextHitsParams(easl.gamma, n, easl.hits, easl.random_share),
    )  # fmt: skip
    covered = int((found.roles == ROLES.index("cover")).sum())
    fresh = int((can_be_asked & ~judged).sum())
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
    texts = [items.told("text", i) for i in found.items.reshape(-1).tolist()]
    return Slots(
        items=found.items,
        roles=np.array(ROLES, object)[found.roles].reshape(-1).tolist(),
        draw=found.draw,
        controls=["none"] * len(texts),
        probability=found.probability,
        texts=texts,
    )


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
