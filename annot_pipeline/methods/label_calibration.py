"""Certainty that holds: Dawid-Skene with pooled confusions, its posterior tempered, without gold.

Dawid-Skene takes judges to err independently, and the few labels of a judge for all there is to
know of it. Neither is so, and the posterior is too certain. Two numbers mend that:

``pooling`` c
    theta[j, k] ~ Dirichlet(1 + smoothing + c P[k]), where P is the confusion of all judges taken
    as one: c labels of each class are borrowed from the others.
``dependence`` r
    judges of one item repeat each other, so n labels say what n / (1 + (n - 1) r) independent ones
    would (the design effect of Kish 1965): the posterior is raised to 1 / (1 + (n - 1) r), and
    scaled to 1. The most probable class stays; r = 0 changes nothing.

Both are those under which labels that were held out are most probable: of each item's labels a
quarter in turn is predicted from the others. r is above 0 only if that gains more than `CLEARLY`
standard errors, so a model that holds is left alone.

What labels cannot tell: that judges take one class for another all together. There certainty
stays too high, and only gold would show it.

Cost: the choice makes `FOLDS` fits for each of `POOLING`, of at most `MOST_CHOSEN_BY` labels
together, and stops them early; evidence is two models in `FOLDS` fits, of at most `MOST_LABELS`
labels a task; what is calibrated is one more fit of everything, and one in which judges are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.held_out_labels import (
    FOLDS,
    Fold,
    HeldOutLabels,
    log_scores,
    log_scores_of_votes,
    tempered,
)
from annot_pipeline.methods.label_matrix import LabelCodes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

ChosenBy = Literal["settings", "task", "tasks", "default"]

POOLING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
DEPENDENCE = (0.0, 0.02, 0.04, 0.07, 0.1, 0.14, 0.19, 0.25, 0.33, 0.43, 0.56, 0.75, 1.0)
"""Where both are looked for."""
CLEARLY = 2.0
"""Standard errors by which tempering must gain."""
ENOUGH = 1_000
"""Labels of a task that chooses for itself; others choose together."""
USUAL = 4.0
"""Pooling where all tasks together have not enough labels to choose it by."""
MOST_LABELS = 20_000
"""Of a task, that are held out in turn."""
MOST_CHOSEN_BY = 100_000
"""Of all tasks, that both numbers are chosen by."""
EARLY = 1e-6
"""Tolerance of fits that are compared."""


@dataclass(frozen=True)
class CalibrationParams:
    """What is chosen, and what is given.

    Parameters
    ----------
    pooling
        ``none``: the model as it is; labels of each class that are borrowed, >= 0; or
        ``held_out``.
    temper
        The power that posteriors are raised to, in (0, 1]; or ``held_out``.
    """

    pooling: float | Literal["none", "held_out"] = "held_out"
    temper: float | Literal["held_out"] = "held_out"

    def __post_init__(self) -> None:
        if self.pooling not in ("none", "held_out") and not 0 <= float(self.pooling) < np.inf:
            raise ValueError(f"pooling must be none, held_out or labels >= 0, not {self.pooling}")
        if self.temper != "held_out" and not 0 < float(self.temper) <= 1:
            raise ValueError(f"temper must be held_out or in (0, 1], not {self.temper}")


@dataclass(frozen=True)
class Evidence:
    """How probable held-out labels are: mean log likelihood a label, in nats.

    Parameters
    ----------
    raw, pooled, calibrated, votes
        Under Dawid-Skene; with pooled confusions; tempered too; and under shares of votes.
    overconfidence, overconfidence_error
        What tempering Dawid-Skene alone would gain, and its standard error over items.
    n_labels, n_items
        Held out, and their items; 0 where nothing could be.
    """

    raw: float
    pooled: float
    calibrated: float
    votes: float
    overconfidence: float
    overconfidence_error: float
    n_labels: int
    n_items: int

    @property
    def is_overconfident(self) -> bool:
        """Whether Dawid-Skene is, clearly."""
        return self.overconfidence > CLEARLY * self.overconfidence_error


@dataclass(frozen=True)
class Calibration:
    """One task, calibrated.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class.
    fit
        Of pooled confusions, before it was tempered.
    pooling
        Labels of each class that were borrowed; 0 for none.
    dependence
        Of judges on one item, NaN where ``temper`` was given.
    power
        ``(n_items,)`` that posteriors were raised to.
    chosen_by
        ``settings``, the ``task``, or several ``tasks``; ``default`` where labels are too few.
    evidence
        How it does on labels that were held out.
    """

    posterior: Floats
    fit: DawidSkeneResult
    pooling: float
    dependence: float
    power: Floats
    chosen_by: ChosenBy
    evidence: Evidence

    @property
    def changes(self) -> bool:
        """Whether anything was asked for but Dawid-Skene as it is."""
        return not (
            self.chosen_by == "settings" and self.pooling == 0 and bool((self.power == 1).all())
        )


def calibrate_batch(
    tasks: Sequence[LabelCodes],
    fits: Sequence[DawidSkeneResult],
    *,
    params: CalibrationParams | None = None,
    seeds: Sequence[Sequence[int]],
) -> list[Calibration]:
    """Calibrate Dawid-Skene of every task.

    Parameters
    ----------
    tasks
        Labels.
    fits
        Of Dawid-Skene, with one set of parameters.
    params
        Settings; default `CalibrationParams`.
    seeds
        Of each task: which labels are held out together.

    Raises
    ------
    ValueError
        An invalid setting.
    """
    params = params or CalibrationParams()
    if not tasks:
        return []
    model = fits[0].params
    early = replace(model, tolerance=max(model.tolerance, EARLY))
    held_out = [
        HeldOutLabels.draw(task, np.random.default_rng(list(seed)), most=MOST_LABELS)
        for task, seed in zip(tasks, seeds, strict=True)
    ]
    choices = _choose(held_out, params, early)
    evidence = _evidence(held_out, choices, early)
    pooled = _pooled(tasks, fits, [choice.pooling for choice in choices], model)
    found = []
    for task, fit, choice, of in zip(tasks, pooled, choices, evidence, strict=True):
        n = np.bincount(task.items, minlength=task.n_items)
        power = choice.power(n)
        found.append(
            Calibration(
                tempered(fit.posterior, power), fit, choice.pooling, choice.dependence, power,
                choice.chosen_by, of,
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class _Choice:
    pooling: float
    dependence: float
    temper: float  # NaN where dependence tells
    chosen_by: ChosenBy

    def power(self, n: Codes) -> Floats:
        """What posteriors are raised to, by the labels that items have."""
        if np.isnan(self.dependence):
            return np.full(n.shape, self.temper)
        return powers(n, self.dependence)


def powers(n: Codes, dependence: float) -> Floats:
    """What a posterior of ``n`` labels is raised to: the inverse of Kish's design effect."""
    return 1.0 / (1.0 + np.maximum(n - 1, 0) * dependence)


def shared_confusions(tasks: Sequence[LabelCodes], params: DawidSkeneParams) -> list[Floats]:
    """The confusion ``(n_labels, n_labels)`` of each task's judges taken as one."""
    alike = [
        replace(task, judges=np.zeros_like(task.judges), n_judges=min(task.n_judges, 1))
        for task in tasks
    ]
    k = [task.n_labels for task in tasks]
    return [
        fit.confusion[0] if fit.confusion.size else np.full((n, n), 1 / n)
        for fit, n in zip(dawid_skene_batch(alike, params=params), k, strict=True)
    ]


def _pooled(
    tasks: Sequence[LabelCodes],
    fits: Sequence[DawidSkeneResult],
    pooling: Sequence[float],
    params: DawidSkeneParams,
) -> list[DawidSkeneResult]:
    """Fits with pooled confusions; those of nothing pooled are as they were."""
    found = list(fits)
    some = [t for t, c in enumerate(pooling) if c > 0]
    of = [tasks[t] for t in some]
    priors = [
        pooling[t] * shared for t, shared in zip(some, shared_confusions(of, params), strict=True)
    ]
    for t, fit in zip(some, dawid_skene_batch(of, params=params, priors=priors), strict=True):
        found[t] = fit
    return found


# --- the choice --------------------------------------------------------------------------------


def _choose(
    held_out: Sequence[HeldOutLabels], params: CalibrationParams, early: DawidSkeneParams
) -> list[_Choice]:
    """Pooling and dependence of each task."""
    pooling: tuple[float, ...] = POOLING
    if params.pooling != "held_out":
        pooling = (0.0 if params.pooling == "none" else float(params.pooling),)
    temper = np.nan if params.temper == "held_out" else float(params.temper)
    if len(pooling) == 1 and not np.isnan(temper):
        return [_Choice(pooling[0], np.nan, temper, "settings")] * len(held_out)
    chosen_by: ChosenBy = "tasks"
    if sum(task.n_labels for task in held_out) < ENOUGH:
        pooling, chosen_by = (pooling if len(pooling) == 1 else (USUAL,)), "default"
    some = _within(held_out, MOST_CHOSEN_BY)
    curves = _curves([held_out[t] for t in some], pooling, early, temper)
    together = _best(list(curves), pooling, temper, chosen_by)
    own = {
        t: _best([curve], pooling, temper, "task")
        for t, curve in zip(some, curves, strict=True)
        if held_out[t].n_labels >= ENOUGH
    }
    return [own.get(t, together) for t in range(len(held_out))]


def _within(held_out: Sequence[HeldOutLabels], most: int) -> list[int]:
    """Tasks whose labels are no more together, those with the most labels first."""
    order = sorted(range(len(held_out)), key=lambda t: (-held_out[t].n_labels, t))
    total = np.cumsum([held_out[t].n_labels for t in order])
    return [t for t, n in zip(order, total, strict=True) if n <= max(most, total[0])]


def _curves(
    held_out: Sequence[HeldOutLabels],
    pooling: Sequence[float],
    early: DawidSkeneParams,
    temper: float,
) -> list[Floats]:
    """Log scores of each task's items, ``(n_pooling, n_dependence, n_items)``."""
    folds = [fold for task in held_out for fold in task.folds]
    shared = shared_confusions([fold.given for fold in folds], early)
    fits = iter(
        dawid_skene_batch(
            [fold.given for _ in pooling for fold in folds],
            params=early,
            priors=[c * confusion for c in pooling for confusion in shared],
        )
    )
    curves = [np.zeros((len(pooling), _n_powers(temper), of.n_items)) for of in held_out]
    for c in range(len(pooling)):
        for task, curve in zip(held_out, curves, strict=True):
            for fold in task.folds:
                fit = next(fits)
                for place, power in enumerate(_powers(fold, temper)):
                    curve[c, place] += log_scores(fold, fit, power)
    return curves


def _n_powers(temper: float) -> int:
    return len(DEPENDENCE) if np.isnan(temper) else 1


def _powers(fold: Fold, temper: float) -> list[Floats]:
    if not np.isnan(temper):
        return [np.full(fold.n.shape, temper)]
    return [powers(fold.n, dependence) for dependence in DEPENDENCE]


def _best(
    curves: Sequence[Floats],
    pooling: Sequence[float],
    temper: float,
    chosen_by: ChosenBy,
) -> _Choice:
    """What some tasks choose; the first of equals borrows and tempers least."""
    items = np.concatenate(curves, axis=2)
    total = items.sum(axis=2)
    c, place = map(int, np.unravel_index(np.argmax(total), total.shape))
    if not np.isnan(temper):
        return _Choice(pooling[c], np.nan, temper, chosen_by)
    gain, error = _gain(items[c, place] - items[c, 0])
    if gain <= CLEARLY * error:
        place = 0
    return _Choice(pooling[c], DEPENDENCE[place], np.nan, chosen_by)


def _gain(by_item: Floats) -> tuple[float, float]:
    """A sum over items and its standard error."""
    n = by_item.size
    error = np.sqrt(n * by_item.var(ddof=1)) if n > 1 else np.inf
    return float(by_item.sum()), float(error)


# --- evidence ----------------------------------------------------------------------------------


def _evidence(
    held_out: Sequence[HeldOutLabels], choices: Sequence[_Choice], early: DawidSkeneParams
) -> list[Evidence]:
    """How raw, pooled and calibrated models and votes do on labels that were held out."""
    folds = [fold for task in held_out for fold in task.folds]
    pooling = [
        choice.pooling for task, choice in zip(held_out, choices, strict=True) for _ in task.folds
    ]
    given = [fold.given for fold in folds]
    raw = dawid_skene_batch(given, params=early)
    pooled = iter(zip(raw, _pooled(given, raw, pooling, early), strict=True))
    found = []
    for task, choice in zip(held_out, choices, strict=True):
        scores = np.zeros((3, task.n_items))
        of_votes = np.zeros(task.n_items)
        curve = np.zeros((len(DEPENDENCE), task.n_items))
        for fold in task.folds:
            as_it_is, borrowed = next(pooled)
            one = np.ones(fold.n.shape)
            scores[0] += log_scores(fold, as_it_is, one)
            scores[1] += log_scores(fold, borrowed, one)
            scores[2] += log_scores(fold, borrowed, choice.power(fold.n))
            of_votes += log_scores_of_votes(fold)
            for place, dependence in enumerate(DEPENDENCE):
                curve[place] += log_scores(fold, as_it_is, powers(fold.n, dependence))
        n = task.n_labels or np.nan  # nothing held out, nothing known
        best = int(np.argmax(curve.sum(axis=1)))
        gain, error = _gain(curve[best] - curve[0])
        means = scores.sum(axis=1) / n
        found.append(
            Evidence(
                raw=float(means[0]),
                pooled=float(means[1]),
                calibrated=float(means[2]),
                votes=float(of_votes.sum() / n),
                overconfidence=gain / n,
                overconfidence_error=error / n,
                n_labels=task.n_labels,
                n_items=task.n_items,
            )
        )
    return found


__all__ = [
    "FOLDS", "Calibration", "CalibrationParams", "Evidence", "calibrate_batch", "powers",
    "shared_confusions",
]  # fmt: skip
