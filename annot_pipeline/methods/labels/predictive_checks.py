"""Whether judges agree as often as a fitted Dawid-Skene says: posterior predictive checks.

Classes of items and labels are drawn anew from the fit, for the same judges of the same items, and
two figures of the draws are held against those of the data: the share of pairs of judges of an
item that agree, and the share of items on which all agree. Judges who err together, on items that
are hard or look like another class, agree more often than independent ones would (Gelman, Meng &
Stern 1996; Passonneau & Carpenter 2013, section 3 for the model).

A label a judge and item takes part: repeats of a judge are not agreement between judges. Items
with one judge take no part; without others all figures are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneModel
from annot_pipeline.methods.labels.held_out_labels import n_judges_of
from annot_pipeline.methods.labels.label_matrix import LabelCodes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

REPLICATES = 100
MOST = 5_000
"""Labels that take part, about."""
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Replicated:
    """A figure of the data, and of what the model draws: mean and central 95%."""

    observed: float
    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class PredictiveChecks:
    """How often judges agree, and what the model expects.

    Parameters
    ----------
    pairwise_agreement
        Share of pairs of judges of an item who give one label.
    unanimous_share
        Share of items on which all judges give one label.
    n_items, n_labels
        That took part.
    """

    pairwise_agreement: Replicated
    unanimous_share: Replicated
    n_items: int
    n_labels: int


def predictive_checks(
    task: LabelCodes, fit: DawidSkeneModel, *, most: int = MOST, rng: np.random.Generator
) -> PredictiveChecks:
    """Hold agreement between judges against what a fit expects.

    Parameters
    ----------
    task, fit
        Labels, and the model fitted to them.
    most
        Labels that take part, about: of more, items are drawn.
    rng
        Draws.
    """
    some = items_to_check(n_judges_of(task), rng, most=most)
    return checks_of(task.of_items(some), fit, rng=rng)


def items_to_check(
    n_judges: Codes, rng: np.random.Generator, *, most: int = MOST
) -> npt.NDArray[np.bool_]:
    """``(n_items,)`` items that take part, of those with two judges and more."""
    order = rng.permutation(np.flatnonzero(n_judges > 1))
    some = np.zeros(n_judges.size, np.bool_)
    some[order] = np.cumsum(n_judges[order]) - n_judges[order] < most
    return some


def checks_of(
    task: LabelCodes, fit: DawidSkeneModel, *, rng: np.random.Generator
) -> PredictiveChecks:
    """Compute the checks of the items of a task, which were drawn before."""
    items, judges, labels = _one_each(task)
    n_items, k = int(items.max(initial=-1)) + 1, task.n_labels
    if not n_items:
        nothing = Replicated(*[np.nan] * 4)
        return PredictiveChecks(nothing, nothing, 0, 0)
    chance = np.cumsum(fit.confusion, axis=2)  # [judge, true, observed]
    prevalence = np.cumsum(fit.prevalence)
    agreement = np.empty((2, REPLICATES))
    for draw in range(REPLICATES):
        truth = np.minimum(np.searchsorted(prevalence, rng.random(n_items), side="right"), k - 1)
        cumulative, chosen = chance[judges, truth[items]], rng.random(items.size)
        drawn = sum((chosen >= end).astype(np.int64) for end in cumulative.T[:-1])
        agreement[:, draw] = _agreement(items, drawn, n_items, k)
    pair, unanimous = (
        Replicated(
            float(seen), float(replicated.mean()), *map(float, np.quantile(replicated, TAILS))
        )
        for seen, replicated in zip(_agreement(items, labels, n_items, k), agreement, strict=True)
    )
    return PredictiveChecks(pair, unanimous, n_items, items.size)


def _one_each(task: LabelCodes) -> tuple[Codes, Codes, Codes]:
    """A label a judge and item, whatever the order of rows; codes of items without gaps."""
    rows = np.lexsort((task.labels, task.judges, task.items))
    items, judges = task.items[rows], task.judges[rows]
    rows = rows[np.append(True, (np.diff(items) != 0) | (np.diff(judges) != 0))[: rows.size]]
    _, items = np.unique(task.items[rows], return_inverse=True)
    return items, task.judges[rows], task.labels[rows]


def _agreement(items: Codes, labels: Codes, n_items: int, n_labels: int) -> tuple[float, float]:
    """Share of pairs that agree, and of items on which all do."""
    counts = np.bincount(items * n_labels + labels, minlength=n_items * n_labels)
    counts = counts.reshape(n_items, n_labels)
    n = counts.sum(axis=1)
    pairs = (counts * (counts - 1)).sum() / (n * (n - 1)).sum()
    return float(pairs), float((counts.max(axis=1) == n).mean())
