"""Quality-controlled HITs of a task: the outputs least judged so far, and controls made of them.

A degraded copy is the same whenever it is made: its randomness hangs on the campaign's seed and
the item's name. What does not belong here: where controls stand (hit_design), how a text is
degraded (degradation).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from annot_pipeline.config import Campaign
from annot_pipeline.methods.degradation import CannotDegradeError, degrade
from annot_pipeline.methods.hit_design import ORDINARY, controlled_hits
from annot_pipeline.steps.hit_plan import Slots, TaskItems

DONORS = 50
"""Texts that a degraded copy may take its span from."""

POOL = 3
"""Items looked at for each that a batch shows: some texts are too short to degrade."""


def plan_controlled(items: TaskItems, settings: Campaign, notes: list[str]) -> Slots:
    """Plan the HITs of a task.

    Raises
    ------
    ValueError
        Why there can be none; a message for people.
    """
    given = settings.controlled_hits
    design, task = given.hit_design, items.question.task
    rng = items.rng(settings.seed)
    texts = [items.told("text", item) for item in range(len(items.names))]
    shown = np.flatnonzero([bool(text and text.strip()) for text in texts])
    if not shown.size:
        raise ValueError("no item has a text, and controls are made of texts: map text under items")
    if shown.size < len(texts):
        notes.append(f"{task}: {len(texts) - shown.size:,} items without a text are left out")
    if shown.size < design.outputs:
        raise ValueError(
            f"{shown.size:,} items have a text, and a HIT shows {design.outputs}: list more "
            "under items"
        )
    order = np.lexsort((rng.random(shown.size), items.n_judgments[shown]))
    pool = np.sort(shown[order[: POOL * design.outputs * given.hits]])
    copies: dict[str, list[str | None]] = {"ask_again": [texts[i] for i in pool]}
    if "bad_reference" in given.controls:
        copies["bad_reference"] = _degraded(items, texts, pool, settings, notes)
    if "good_reference" in given.controls:
        copies["good_reference"] = _references(items, pool)
    eligible = np.array([[c is not None for c in copies[kind]] for kind in given.controls])
    try:
        found = controlled_hits(
            items.n_judgments[pool], eligible, n_hits=given.hits, rng=rng, design=design
        )
    except ValueError as error:
        raise ValueError(
            f"{error}; {_what_to_do(eligible, given.controls, design.groups)}"
        ) from None
    kinds = found.kinds.reshape(-1).tolist()
    places = found.items.reshape(-1).tolist()
    names = ["none", *given.controls]
    return Slots(
        items=pool[found.items],
        roles=["least_judged" if kind == ORDINARY else "control" for kind in kinds],
        controls=[names[kind] for kind in kinds],
        probability=np.full(found.items.shape, np.nan),
        texts=[
            texts[pool[place]] if kind == ORDINARY else copies[names[kind]][place]
            for kind, place in zip(kinds, places, strict=True)
        ],
    )


def _degraded(
    items: TaskItems,
    texts: Sequence[str | None],
    pool: np.ndarray,
    settings: Campaign,
    notes: list[str],
) -> list[str | None]:
    """A degraded copy of each item of the pool; None where its text does not allow one."""
    how = settings.controlled_hits.degradation
    refused: Counter[str] = Counter()
    found: list[str | None] = []
    for item in pool.tolist():
        name = hashlib.sha256(items.names[item].encode("utf-8", "surrogatepass")).digest()
        rng = np.random.default_rng([settings.seed, int.from_bytes(name[:8], "big")])
        donors: list[str] = []
        if how == "replace_span":
            donors = _donors(items, texts, item, rng)
        try:
            found.append(degrade(str(texts[item]), how=how, donors=donors, rng=rng))
        except CannotDegradeError as error:
            refused[str(error)] += 1
            found.append(None)
    notes += [
        f"{items.question.task}: {n:,} texts cannot be degraded: {reason}"
        for reason, n in refused.most_common(3)
    ]
    return found


def _donors(
    items: TaskItems, texts: Sequence[str | None], item: int, rng: np.random.Generator
) -> list[str]:
    """Texts of other segments, at random."""
    segment = items.segments[item]
    some = rng.integers(0, len(texts), 2 * DONORS).tolist()
    others = (
        texts[i] for i in some if i != item and (segment is None or items.segments[i] != segment)
    )
    return [text for text in others if text and text != texts[item]][:DONORS]


def _references(items: TaskItems, pool: np.ndarray) -> list[str | None]:
    """The reference of each item: its own, or that of another output of its segment."""
    found = [items.told("reference", item) for item in pool.tolist()]
    return [text if text and text.strip() else None for text in found]


def _what_to_do(eligible: np.ndarray, controls: Sequence[str], groups: int) -> str:
    short = [c for c, e in zip(controls, eligible, strict=True) if e.sum() < groups]
    ways = {
        "good_reference": "map reference under items",
        "bad_reference": "longer texts, or degradation: replace_span",
    }
    told = [ways[control] for control in short if control in ways]
    without = ", ".join(c for c in controls if c not in short)
    return "; ".join([*told, f"or leave the control out: controlled_hits.controls: [{without}]"])
