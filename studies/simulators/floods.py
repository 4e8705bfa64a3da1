"""Crowds who label items, and people who flood them: careless in one of several ways.

What does not belong here: tests and builds of these crowds (studies.floods).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats

Kind = Literal["constant", "majority class", "random", "copying", "copying in part",
               "copying most answers", "copying a careful judge", "half careful"]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
LOW, HIGH = 0.7, 0.9
"""Accuracies of careful judges, evenly spaced."""
SOURCE = 0.8
"""Accuracy of the careful judge whom others copy."""
COPIED = {"copying in part": 0.93, "copying most answers": 0.7}
"""Share of the answers that are copied; the rest are random."""
PREVALENCE = {2: (0.7, 0.3), 4: (0.5, 0.25, 0.15, 0.1)}


@dataclass(frozen=True)
class FloodParams:
    """A crowd and a flood.

    Parameters
    ----------
    kind
        How the flood answers.
    share
        Share of the judges of flooded items who are of the flood, and of their answers.
    is_later
        Whether careful judges alone labelled ``n_items`` before; else all is one release.
    is_separate
        Whether items of the flood have no other judges.
    n_classes
        2 or 4.
    n_items, n_new, n_judges, per_item
        Items (before the night), items of the night, careful judges, and their labels an item.
    """

    kind: Kind = "constant"
    share: float = 0.5
    is_later: bool = False
    is_separate: bool = False
    n_classes: int = 2
    n_items: int = 180
    n_new: int = 60
    n_judges: int = 12
    per_item: int = 5


@dataclass(frozen=True)
class Flood:
    """Labels of a crowd and of a flood.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes of the answers; judges from ``n_judges`` on are the flood.
    truth
        ``(n_items,)`` class of each item.
    n_before
        Items below this code were labelled before.
    n_judges
        Number of careful judges.
    """

    items: Codes
    judges: Codes
    labels: Codes
    truth: Codes
    n_before: int
    n_judges: int

    @property
    def is_careful(self) -> Flags:
        """Return ``(n,)`` whether an answer is a careful judge's."""
        return np.asarray(self.judges < self.n_judges)


def draw_flood(params: FloodParams, rng: np.random.Generator) -> Flood:
    """Draw the answers of careful judges and of a flood."""
    k, share = params.n_classes, params.share
    n_before = params.n_items if params.is_later else 0
    n = params.n_items + params.n_new * params.is_later
    truth = rng.choice(k, n, p=PREVALENCE[k])
    is_flooded = np.arange(n) >= n_before
    if params.is_separate and not params.is_later:
        is_flooded = np.arange(n) >= n * (1 - share)
    is_judged = ~is_flooded if params.is_separate else np.ones(n, np.bool_)
    n_flood = max(3, round(share * params.n_judges / (1 - share)))
    per_flooded = max(1, round(share * params.per_item / (1 - share)))
    if params.is_separate:
        per_flooded = params.per_item
    items, judges = _pairs(rng, np.flatnonzero(is_judged), params.n_judges, params.per_item)
    accuracy = np.linspace(LOW, HIGH, params.n_judges)
    labels = _with_errors(rng, truth[items], accuracy[judges], k)
    flooded, people = _pairs(rng, np.flatnonzero(is_flooded), n_flood, min(per_flooded, n_flood))
    careless = _careless(rng, params, truth, flooded)
    return Flood(
        np.concatenate([items, flooded]), np.concatenate([judges, params.n_judges + people]),
        np.concatenate([labels, careless]), truth, n_before, params.n_judges,
    )  # fmt: skip


def _pairs(
    rng: np.random.Generator, items: Codes, n_judges: int, per_item: int
) -> tuple[Codes, Codes]:
    chosen = rng.random((items.size, n_judges)).argsort(axis=1)[:, :per_item]
    return np.repeat(items, per_item), chosen.ravel()


def _with_errors(rng: np.random.Generator, truth: Codes, accuracy: float | Floats, k: int) -> Codes:
    wrong = (truth + rng.integers(1, k, truth.size)) % k
    return np.where(rng.random(truth.size) < accuracy, truth, wrong)


def _careless(rng: np.random.Generator, params: FloodParams, truth: Codes, items: Codes) -> Codes:
    k, n = params.n_classes, items.size
    guesses = rng.integers(0, k, n)
    source = rng.integers(0, k, truth.size)
    match params.kind:
        case "constant":
            return np.full(n, k // 2)
        case "majority class":
            return np.zeros(n, np.int64)
        case "random":
            return guesses
        case "copying":
            return source[items]
        case "copying in part" | "copying most answers":
            return np.where(rng.random(n) < COPIED[params.kind], source[items], guesses)
        case "copying a careful judge":
            return _with_errors(rng, truth, SOURCE, k)[items]
        case "half careful":
            careful = _with_errors(rng, truth[items], (LOW + HIGH) / 2, k)
            return np.where(rng.random(n) < 1 / 2, careful, guesses)
