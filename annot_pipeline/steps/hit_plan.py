"""The table of a plan: one row is a slot of a HIT that is to be asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.contracts import INT, REAL, TEXT

HIT_PLAN = pa.schema(
    [
        ("task", TEXT),
        ("hit", TEXT),
        ("slot", INT),
        ("item", TEXT),
        ("segment", TEXT),
        ("system", TEXT),
        ("role", TEXT),
        ("draw", INT),
        ("control", TEXT),
        ("probability", REAL),
        ("easl_alpha", REAL),
        ("easl_beta", REAL),
        ("n_judgments", INT),
        ("seed", INT),
        ("gamma", REAL),
        ("state", TEXT),
        ("text", TEXT),
        ("source", TEXT),
    ]
)
"""Of each slot: why it is in the HIT (``role``), how likely that was, and the state of its item
at that time; ``state`` is the digest of the states of all items that could be chosen. HITs stand
in the order in which they should be asked.
"""

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class CannotPlanError(ValueError):
    """Why a task has no plan; a message for people."""


@dataclass(frozen=True)
class Question:
    """What is asked about each item of a task: scores on a scale, one for each criterion."""

    task: str
    scale: tuple[float, float]
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class TaskItems:
    """Items of a task that can be asked about; in code point order.

    Parameters
    ----------
    question
        The task.
    names
        ``(n_items,)``.
    segments, systems
        ``(n_items,)``, None where there is none.
    alpha, beta, n_judgments
        ``(n_items,)`` states after the judgments of judges kept.
    listed
        What item tables say of an item: text, source, reference.
    """

    question: Question
    names: Sequence[str]
    segments: Sequence[str | None]
    systems: Sequence[str | None]
    alpha: Floats
    beta: Floats
    n_judgments: Codes
    listed: Mapping[str, dict[str, Any]]

    @property
    def state(self) -> str:
        """Digest of the states: new as soon as a judgment counts that did not before."""
        found = hashlib.sha256()
        for name in self.names:
            found.update(name.encode("utf-8", "surrogatepass") + b"\0")
        for values in (self.alpha, self.beta, self.n_judgments):
            found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()[:16]

    def rng(self, seed: int) -> np.random.Generator:
        """Randomness of its own for each task and state: another night draws other items."""
        name = hashlib.sha256(self.question.task.encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng([seed, int.from_bytes(name[:8], "big"), int(self.state, 16)])

    def told(self, what: str, item: int) -> str | None:
        """What the item tables say of an item."""
        row = self.listed.get(self.names[item])
        return row[what] if row else None


@dataclass(frozen=True)
class Slots:
    """Slots of all HITs of a task; arrays and lists are ``(n_hits, hit_size)``, by row."""

    items: Codes
    roles: Sequence[str]
    draw: Codes | None  # as which of the HIT an item was drawn, from 0; None: all at once
    controls: Sequence[str]
    probability: Floats  # NaN: it does not depend on scores
    texts: Sequence[str | None]


def plan_table(
    items: TaskItems, slots: Slots, *, campaign: str, seed: int, gamma: float
) -> pa.Table:
    """The rows of a task's plan, with an id for each HIT that its content and state decide."""
    n_hits, size = slots.items.shape
    item = slots.items.reshape(-1)
    names = [items.names[i] for i in item.tolist()]
    sources = [items.told("source", i) for i in item.tolist()]
    state = items.state
    ids: list[str] = []
    for hit in range(n_hits):
        part = slice(hit * size, (hit + 1) * size)
        shown = [list(values[part]) for values in (names, slots.controls, slots.texts, sources)]
        content = [campaign, items.question.task, seed, state, hit, *shown]
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        ids += [hashlib.sha256(text.encode()).hexdigest()[:16]] * size
    probability = slots.probability.reshape(-1)
    adaptive = slots.draw is not None
    return pa.table(
        {
            "task": pa.repeat(pa.scalar(items.question.task, TEXT), item.size),
            "hit": ids,
            "slot": np.tile(np.arange(1, size + 1), n_hits),
            "item": names,
            "segment": pa.array([items.segments[i] for i in item.tolist()], TEXT),
            "system": pa.array([items.systems[i] for i in item.tolist()], TEXT),
            "role": pa.array(slots.roles, TEXT),
            "draw": pa.nulls(item.size, INT) if slots.draw is None else slots.draw.reshape(-1),
            "control": pa.array(slots.controls, TEXT),
            "probability": pa.array(probability, mask=np.isnan(probability)),
            "easl_alpha": items.alpha[item],
            "easl_beta": items.beta[item],
            "n_judgments": items.n_judgments[item],
            "seed": np.full(item.size, seed),
            "gamma": pa.array(np.full(item.size, gamma), mask=np.full(item.size, not adaptive)),
            "state": pa.repeat(pa.scalar(state, TEXT), item.size),
            "text": pa.array(slots.texts, TEXT),
            "source": pa.array(sources, TEXT),
        },
        schema=HIT_PLAN,
    )
