"""The table of a plan: one row is a slot of a HIT that is to be asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import INT, REAL, TEXT
from annot_pipeline.methods.numerics.bootstrap import seed_of_name
from annot_pipeline.stages.shared.columns import nulls_for_nan

HIT_PLAN = pa.schema(
    [
        ("task", TEXT),
        ("hit", TEXT),
        ("slot", INT),
        ("item", TEXT),
        ("segment", TEXT),
        ("system", TEXT),
        ("item_b", TEXT),
        ("system_b", TEXT),
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
        ("text_b", TEXT),
        ("source", TEXT),
    ]
)
"""Of each slot: why it is in the HIT (``role``), how likely that was, and the state of its item
at that time; ``state`` is the digest of the states of all items that could be chosen. HITs stand
in the order in which they should be asked. Where two outputs of a segment are compared, ``item``
is shown first and ``item_b`` second; the states are those of ``item``.
"""

SAMPLED = "sampled"
"""The role of slots whose ``probability`` is that of the item in a sample for estimates."""

Ask = Literal["score", "compare", "label"]
"""What a slot asks: a score of an output, which of two outputs is better, a label of an output."""


class CannotPlanError(ValueError):
    """Why a task has no plan; a message for people."""


@dataclass(frozen=True)
class Question:
    """What is asked in each slot of a task.

    Parameters
    ----------
    task
        Its name.
    scale
        Lowest and highest score; None unless scores are asked.
    criteria
        What is scored in every slot, a score each; empty where one is all, and unless scores
        are asked.
    ask
        Scores, comparisons of two outputs, or labels.
    labels
        Of which one is chosen; empty unless labels are asked.
    sample
        Of an audit, the name of the sample: what the answers are controls of.

    Raises
    ------
    ValueError
        Scores without a scale, fewer than two labels to choose from, or what is of no use.
    """

    task: str
    scale: tuple[float, float] | None = None
    criteria: tuple[str, ...] = ()
    ask: Ask = "score"
    labels: tuple[str, ...] = ()
    sample: str | None = None

    def __post_init__(self) -> None:
        if (self.scale is not None) != (self.ask == "score"):
            raise ValueError(f"{self.task}: a scale is for scores, and scores need one")
        if self.criteria and self.ask != "score":
            raise ValueError(f"{self.task}: criteria are for scores")
        if self.labels and self.ask != "label":
            raise ValueError(f"{self.task}: labels are chosen from where labels are asked")
        if self.ask == "label" and len({*self.labels}) < max(len(self.labels), 2):
            raise ValueError(f"{self.task}: two labels or more are needed, all of them different")


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
    alpha, beta
        ``(n_items,)`` states after the judgments of judges kept; NaN where scores decide nothing.
    n_judgments
        ``(n_items,)``, of judges kept.
    listed
        What item tables say of an item: text, source, reference.
    other_state
        What else decides the plan (such as comparisons made so far), as bytes that are the same
        whenever it is the same; `state` hangs on it.
    """

    question: Question
    names: Sequence[str]
    segments: Sequence[str | None]
    systems: Sequence[str | None]
    alpha: Floats
    beta: Floats
    n_judgments: Codes
    listed: Mapping[str, dict[str, Any]]
    other_state: bytes = b""

    @property
    def state(self) -> str:
        """Return a digest of the states, which changes when another judgment counts."""
        digest = hashlib.sha256()
        for name in self.names:
            digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
        for values in (self.alpha, self.beta, self.n_judgments):
            digest.update(np.ascontiguousarray(values).tobytes())
        digest.update(self.other_state)
        return digest.hexdigest()[:16]

    def rng(self, seed: int) -> np.random.Generator:
        """Return a random generator of the task and state: another night draws other items."""
        own = seed_of_name(self.question.task)
        return np.random.default_rng([seed, own, int(self.state, 16)])

    def listed_value(self, what: str, item: int) -> str | None:
        """Return what the item tables say of an item."""
        row = self.listed.get(self.names[item])
        return row[what] if row else None

    def shown_value(self, what: str, item: int) -> str | None:
        """Return what the item tables say of an item; None where it is blank."""
        text = self.listed_value(what, item)
        return text if text and text.strip() else None

    @property
    def have_text(self) -> list[bool]:
        """Return whether there is a text to show of each item."""
        return [self.shown_value("text", item) is not None for item in range(len(self.names))]


@dataclass(frozen=True)
class Slots:
    """Slots of all HITs of a task, HIT by HIT.

    Parameters
    ----------
    items
        Codes of what is shown: ``(n_hits, hit_size)``, or ``(n_slots,)`` with ``sizes``.
    roles, texts
        ``(n_slots,)``, by row of ``items``.
    controls
        ``(n_slots,)``; None: no slot is a control.
    probability
        As ``items``; NaN, or None for all: it does not depend on scores.
    draw
        As ``items``: as which of the HIT an item was drawn, from 0; None: all at once.
    sizes
        ``(n_hits,)`` slots of each HIT, none of them empty; None: all are alike.
    items_b, texts_b
        As ``items`` and ``texts``: what stands second in a comparison; None: nothing is compared.
    """

    items: Codes
    roles: Sequence[str]
    texts: Sequence[str | None]
    controls: Sequence[str] | None = None
    probability: Floats | None = None
    draw: Codes | None = None
    sizes: Codes | None = None
    items_b: Codes | None = None
    texts_b: Sequence[str | None] | None = None

    @property
    def hit_sizes(self) -> list[int]:
        """Return slots of each HIT."""
        sizes: list[int]
        if self.sizes is None:
            n_hits, size = self.items.shape
            return [size] * n_hits
        sizes = self.sizes.tolist()
        return sizes


@dataclass(frozen=True, eq=False)
class PlannedTask:
    """The next HITs of a task.

    Parameters
    ----------
    items, slots
        What is asked about, and where in which HIT.
    effort
        Of adequacy, of outputs compared: ``asked`` now, ``answered``, ``by_reference``,
        ``by_spread`` (without an answer of their own), ``left``.
    summary
        Of a sample: model, counts, strata, estimands with their widths now and expected.
    probabilities
        Of a sample: `SELECTION_PROBABILITIES` of the whole population.
    """

    items: TaskItems
    slots: Slots
    effort: Mapping[str, int] | None = None
    summary: Mapping[str, Any] | None = None
    probabilities: pa.Table | None = None


def note_missing_texts(
    items: TaskItems, has_text: Sequence[bool], what: str, notes: list[str]
) -> None:
    """Add to notes that judges see names where no item has a text, else how many are left out."""
    task = items.question.task
    if has_text and not any(has_text):
        system = ", which may reveal the system" * any(s is not None for s in items.systems)
        notes.append(
            f"{task}: no {what} has a text: judges see its name{system}; map text under items"
        )
    elif not all(has_text):
        notes.append(
            f"{task}: {has_text.count(False):,} {what}s without a text are left out; list them, "
            "with text, under items"
        )


def plan_table(
    items: TaskItems, slots: Slots, *, campaign: str, seed: int, gamma: float
) -> pa.Table:
    """Return the rows of a task's plan; content and state determine the id of each HIT."""
    item = slots.items.reshape(-1)
    n_slots = item.size
    second = None if slots.items_b is None else slots.items_b.reshape(-1).tolist()
    names = [items.names[i] for i in item.tolist()]
    names_b = None if second is None else [items.names[i] for i in second]
    sources = [items.listed_value("source", i) for i in item.tolist()]
    controls = ["none"] * n_slots if slots.controls is None else slots.controls
    probability = np.full(n_slots, np.nan) if slots.probability is None else slots.probability
    contents = [names, controls, slots.texts, sources, names_b, slots.texts_b]
    ids = _hit_ids(items, slots.hit_sizes, contents, campaign=campaign, seed=seed)
    sizes = slots.hit_sizes
    adaptive = slots.draw is not None
    nulls = pa.nulls(n_slots, TEXT)
    return pa.table(
        {
            "task": pa.repeat(pa.scalar(items.question.task, TEXT), n_slots),
            "hit": [hit for hit, size in zip(ids, sizes, strict=True) for _ in range(size)],
            "slot": [slot for size in sizes for slot in range(1, size + 1)],
            "item": names,
            "segment": pa.array([items.segments[i] for i in item.tolist()], TEXT),
            "system": pa.array([items.systems[i] for i in item.tolist()], TEXT),
            "item_b": nulls if names_b is None else names_b,
            "system_b": nulls if second is None else [items.systems[i] for i in second],
            "role": pa.array(slots.roles, TEXT),
            "draw": pa.nulls(n_slots, INT) if slots.draw is None else slots.draw.reshape(-1),
            "control": pa.array(controls, TEXT),
            "probability": nulls_for_nan(probability.reshape(-1)),
            "easl_alpha": nulls_for_nan(items.alpha[item]),
            "easl_beta": nulls_for_nan(items.beta[item]),
            "n_judgments": items.n_judgments[item],
            "seed": np.full(n_slots, seed),
            "gamma": pa.array(np.full(n_slots, gamma), mask=np.full(n_slots, not adaptive)),
            "state": pa.repeat(pa.scalar(items.state, TEXT), n_slots),
            "text": pa.array(slots.texts, TEXT),
            "text_b": nulls if slots.texts_b is None else pa.array(slots.texts_b, TEXT),
            "source": pa.array(sources, TEXT),
        },
        schema=HIT_PLAN,
    )


def _hit_ids(
    items: TaskItems,
    sizes: Sequence[int],
    contents: Sequence[Sequence[Any] | None],
    *,
    campaign: str,
    seed: int,
) -> list[str]:
    """Return an id for each HIT; scored HITs keep the ids of earlier versions."""
    question, state = items.question, items.state
    question_content: list[Any] = [] if question.ask == "score" else [question.ask, question.labels]
    ids: list[str] = []
    end = 0
    for hit, size in enumerate(sizes):
        part = slice(end, end + size)
        end += size
        content: list[Any] = [campaign, question.task, seed, state, hit]
        content += [list(values[part]) for values in contents if values is not None]
        content += question_content
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        ids.append(hashlib.sha256(text.encode()).hexdigest()[:16])
    return ids
