"""Crowds who label items of known class: judges who err independently or together, guess, are new.

What does not belong here: campaigns with files and damage (simulate), what is made of crowds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes

Crowd = Literal["independent", "difficulty", "correlated", "sparse", "spam"]
CROWDS: tuple[Crowd, ...] = get_args(Crowd)

PREVALENCE = np.array([0.5, 0.3, 0.2])
HARD, MUDDLED = 0.35, 0.65
"""Share of items that are hard, and of what is guessed there."""
REPEATED = 0.35
"""Share of labels that repeat what the item looks like."""
GUESSING = 0.4
"""Share of judges who guess."""
FEW = 4
"""Labels a judge who is seldom asked."""


@dataclass(frozen=True)
class CrowdParams:
    """One crowd and its items.

    Parameters
    ----------
    kind
        ``independent``: as Dawid-Skene has it, accuracies from Beta(8, 3). ``difficulty``: on
        hard items all guess more. ``correlated``: labels repeat what an item looks like.
        ``sparse``: four labels a judge. ``spam``: some judges guess.
    n_items, per_item, n_judges
        Items, labels an item, judges (``sparse``: as many as it takes).
    """

    kind: Crowd = "independent"
    n_items: int = 1_000
    per_item: int = 8
    n_judges: int = 60


def draw_crowd(params: CrowdParams, rng: np.random.Generator) -> tuple[LabelCodes, Codes]:
    """Draw labels of a task, and the true classes ``(n_items,)``."""
    n, k = params.n_items, PREVALENCE.size
    n_judges = -(-n * params.per_item // FEW) if params.kind == "sparse" else params.n_judges
    truth = rng.choice(k, n, p=PREVALENCE)
    right = rng.beta(8, 3, n_judges)
    if params.kind == "spam":
        right[rng.random(n_judges) < GUESSING] = 1 / k
    theta = _confusions(right, k, rng)
    items = np.repeat(np.arange(n), params.per_item)
    if params.kind == "sparse":
        judges = rng.permutation(np.repeat(np.arange(n_judges), FEW))[: items.size]
    else:
        judges = np.argsort(rng.random((n, n_judges)), axis=1)[:, : params.per_item].reshape(-1)
    chance = theta[judges, truth[items]]
    if params.kind == "difficulty":
        hard = (rng.random(n) < HARD)[items]
        chance[hard] = (1 - MUDDLED) * chance[hard] + MUDDLED / k
    labels = _draw_classes(chance, rng)
    if params.kind == "correlated":
        looks = _draw_classes(theta.mean(axis=0)[truth], rng)[items]
        labels = np.where(rng.random(items.size) < REPEATED, looks, labels)
    return LabelCodes(items, judges, labels, n, n_judges, k), truth


def _confusions(right: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Return confusions ``(n_judges, k, k)``; how a judge errs is drawn for each class."""
    wrong = rng.dirichlet(np.ones(k - 1), (right.size, k))
    theta = np.empty((right.size, k, k))
    for true in range(k):
        theta[:, true, np.arange(k) != true] = wrong[:, true] * (1 - right)[:, None]
        theta[:, true, true] = right
    return theta


def _draw_classes(chance: Floats, rng: np.random.Generator) -> Codes:
    """Draw a class for each row of probabilities."""
    ends = np.cumsum(chance, axis=1)
    codes = (rng.random(len(chance))[:, None] >= ends).sum(axis=1)
    return np.asarray(np.minimum(codes, chance.shape[1] - 1), np.int64)
