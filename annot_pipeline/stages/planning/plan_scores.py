"""HITs of a task of scores: by EASL, or quality-controlled.

By EASL: what is not judged, then what is least certain, and partners of it. Quality-controlled: the
outputs least judged so far, and controls made of them. A degraded copy is the same whenever it is
made from the same item tables: its randomness hangs on the campaign's seed and the item's name.
What does not belong here: which items are chosen (easl_hits), where controls stand (hit_design),
how a text is degraded (degradation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from annot_pipeline.config import Campaign
from annot_pipeline.methods.numerics.bootstrap import seed_of_name
from annot_pipeline.methods.planning.degradation import CannotDegradeError, degrade
from annot_pipeline.methods.planning.easl_hits import ROLES, NextHitsParams, next_hits
from annot_pipeline.methods.planning.hit_design import ORDINARY, controlled_hits
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
    has_text = items.have_text
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


DONORS = 50
"""Texts that a degraded copy may take its span from."""

POOL = 3
"""Items looked at for each that a batch shows: some texts are too short to degrade."""


def plan_controlled(items: TaskItems, settings: Campaign, notes: list[str]) -> Slots:
    """Plan the HITs of a task.

    Raises
    ------
    CannotPlanError
        Why there can be none.
    """
    controlled = settings.controlled_hits
    design, task = controlled.hit_design, items.question.task
    rng = items.rng(settings.seed)
    texts = [items.listed_value("text", item) for item in range(len(items.names))]
    rows = np.flatnonzero(items.have_text)
    if not rows.size:
        raise CannotPlanError(
            "no item has a text, and controls are made of texts: map text under items"
        )
    if rows.size < len(texts):
        notes.append(f"{task}: {len(texts) - rows.size:,} items without a text are left out")
    if rows.size < design.outputs:
        raise CannotPlanError(
            f"{rows.size:,} items have a text, and a HIT shows {design.outputs}: list more "
            "under items"
        )
    order = rows[np.lexsort((rng.random(rows.size), items.n_judgments[rows]))].tolist()
    degraded = _Degraded(items, texts, settings)
    makers: dict[str, Callable[[int], str | None]] = {
        "ask_again": lambda item: texts[item],
        "bad_reference": degraded,
        "good_reference": lambda item: items.shown_value("reference", item),
    }
    copies, pool = _copies(
        order, {kind: makers[kind] for kind in controlled.controls},
        least=POOL * design.outputs * controlled.hits, each=design.groups * controlled.hits,
    )  # fmt: skip
    notes += degraded.notes()
    eligible = np.array([[c is not None for c in copies[kind]] for kind in controlled.controls])
    try:
        hits = controlled_hits(
            items.n_judgments[pool], eligible, n_hits=controlled.hits, rng=rng, design=design
        )
    except ValueError as error:
        raise CannotPlanError(
            f"{error}; {_what_to_do(eligible, controlled.controls, design.groups)}"
        ) from None
    kinds = hits.kinds.reshape(-1).tolist()
    places = hits.items.reshape(-1).tolist()
    names = ["none", *controlled.controls]
    return Slots(
        items=pool[hits.items],
        roles=["least_judged" if kind == ORDINARY else "control" for kind in kinds],
        controls=[names[kind] for kind in kinds],
        texts=[
            texts[pool[position]] if kind == ORDINARY else copies[names[kind]][position]
            for kind, position in zip(kinds, places, strict=True)
        ],
    )


def _copies(
    order: Sequence[int],
    makers: Mapping[str, Callable[[int], str | None]],
    *,
    least: int,
    each: int,
) -> tuple[dict[str, list[str | None]], np.ndarray]:
    """Return controls of candidate items, by kind and item, and which items these are.

    The least judged, and as many more as it takes until each kind can be made ``each`` times.
    """
    copies_by_kind: dict[str, dict[int, str | None]] = {kind: {} for kind in makers}
    pool = set(order[:least])
    for kind, make in makers.items():
        n_copies = 0
        for position, item in enumerate(order):
            if position >= least and n_copies >= each:
                break
            copy = copies_by_kind[kind][item] = make(item)
            if copy is not None:
                n_copies += 1
                pool.add(item)
    items = np.array(sorted(pool), np.int64)
    copies: dict[str, list[str | None]] = {}
    for kind, make in makers.items():
        kind_copies = copies_by_kind[kind]
        copies[kind] = [kind_copies[i] if i in kind_copies else make(i) for i in items.tolist()]
    return copies, items


class _Degraded:
    """Makes a degraded copy of an item's text; None where the text does not allow one."""

    def __init__(self, items: TaskItems, texts: Sequence[str | None], settings: Campaign) -> None:
        self._items, self._texts, self._settings = items, texts, settings
        self._refused: dict[int, str] = {}

    def __call__(self, item: int) -> str | None:
        how = self._settings.controlled_hits.degradation
        seed = seed_of_name(self._items.names[item])
        rng = np.random.default_rng([self._settings.seed, seed])
        donors = self._donors(item, rng) if how == "replace_span" else []
        try:
            return degrade(str(self._texts[item]), how=how, donors=donors, rng=rng)
        except CannotDegradeError as error:
            self._refused[item] = str(error)
            return None

    def notes(self) -> list[str]:
        """Return how many texts could not be degraded, and why."""
        return [
            f"{self._items.question.task}: {n:,} texts cannot be degraded: {reason}"
            for reason, n in Counter(self._refused.values()).most_common(3)
        ]

    def _donors(self, item: int, rng: np.random.Generator) -> list[str]:
        """Return texts of other segments, in random order."""
        texts, segments = self._texts, self._items.segments
        some = rng.integers(0, len(texts), 2 * DONORS).tolist()
        own = segments[item]
        donors = (texts[i] for i in some if i != item and (own is None or segments[i] != own))
        return [text for text in donors if text and text != texts[item]][:DONORS]


def _what_to_do(eligible: np.ndarray, controls: Sequence[str], groups: int) -> str:
    short = [c for c, e in zip(controls, eligible, strict=True) if e.sum() < groups]
    ways = {
        "good_reference": "map reference under items",
        "bad_reference": "longer texts, or degradation: replace_span",
    }
    advice = [ways[control] for control in short if control in ways]
    without = ", ".join(c for c in controls if c not in short)
    return "; ".join([*advice, f"or leave the control out: controlled_hits.controls: [{without}]"])
