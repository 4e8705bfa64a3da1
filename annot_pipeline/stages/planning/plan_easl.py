"""EASL HITs of a task: what is not judged, then what is least certain, and partners of it.

What does not belong here: which items are chosen (easl_hits).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from annot_pipeline.config import Campaign
from annot_pipeline.methods.planning.easl_hits import ROLES, NextHitsParams, next_hits
from annot_pipeline.stages.planning.hit_plan import (
    CannotPlanError,
    Slots,
    TaskItems,
    note_missing_texts,
)


def plan_easl(items: TaskItems, settings: Campaign, notes: list[str]) -> Slots:
    """Plan the HITs of a task, of items that `with_text` left.

    Raises
    ------
    CannotPlanError
        Why there can be none.
    """
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
    hits = next_hits(
        items.alpha, items.beta,
        judged=judged, groups=groups, rng=items.rng(settings.seed),
        params=NextHitsParams(easl.gamma, n, easl.hits, easl.random_share),
    )  # fmt: skip
    covered = int((hits.roles == ROLES.index("cover")).sum())
    fresh = int((can_be_asked & ~judged).sum())
    if covered < fresh:
        notes.append(
            f"{task}: {fresh - covered:,} of {fresh:,} items without judgments wait for the next "
            f"batch; a HIT shows {n}, and easl.hits is {easl.hits:,}"
        )
    if len(hits.items) < easl.hits and covered == fresh:
        notes.append(
            f"{task}: {len(hits.items):,} HITs, not {easl.hits:,} (easl.hits): more would not fit "
            "into a round"
        )
    texts = [items.listed_value("text", i) for i in hits.items.reshape(-1).tolist()]
    return Slots(
        items=hits.items,
        roles=np.array(ROLES, object)[hits.roles].reshape(-1).tolist(),
        draw=hits.draw,
        probability=hits.probability,
        texts=texts,
    )


def _segments(items: TaskItems) -> np.ndarray | None:
    """Return codes of segments; None where the task has none. Items without one are one group."""
    if all(segment is None for segment in items.segments):
        return None
    codes: dict[str | None, int] = {}
    return np.array([codes.setdefault(s, len(codes)) for s in items.segments], np.int64)


def with_text(items: TaskItems, notes: list[str]) -> TaskItems:
    """Return the items that have a text; all items if none has one."""
    has_text = [
        bool((items.listed_value("text", i) or "").strip()) for i in range(len(items.names))
    ]
    note_missing_texts(items, has_text, "item", notes)
    if all(has_text) or not any(has_text):
        return items
    shown_items = np.flatnonzero(has_text).tolist()
    return replace(
        items,
        names=[items.names[i] for i in shown_items],
        segments=[items.segments[i] for i in shown_items],
        systems=[items.systems[i] for i in shown_items],
        alpha=items.alpha[shown_items],
        beta=items.beta[shown_items],
        n_judgments=items.n_judgments[shown_items],
    )
