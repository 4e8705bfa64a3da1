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
standard errors, so a model that holds is mostly left alone. Where labels are too few to tell, both
are what published crowds chose; where no two judges label one item, nothing is done.

What labels cannot tell: that judges take one class for another all together. There certainty
stays too high, and only gold would show it.

Cost: the choice makes `FOLDS` fits for each of `POOLING`, of at most `MOST_LABELS` labels of a task
and `MOST_CHOSEN_BY` in all, and stops them early; evidence is two models in `FOLDS` fits, of at
most `MOST_LABELS` labels a task, dealt out anew; what is calibrated is one more fit of everything,
and one in which judges are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.calibration_choice import (
    CLEARLY,
    DEPENDENCE,
    MOST_LABELS,
    Choice,
    choose,
    draw,
    every_power,
    shared_confusions,
    summed,
)
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.held_out_labels import (
    HeldOutLabels,
    fits_in_turn,
    log_scores,
    log_scores_of_votes,
    n_judges_of,
    tempered,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

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

    @property
    def given_pooling(self) -> float | None:
        """Labels that are borrowed; None if that is to be chosen."""
        if self.pooling == "held_out":
            return None
        return 0.0 if self.pooling == "none" else float(self.pooling)

    @property
    def given_temper(self) -> float | None:
        """The power; None if it is to be chosen."""
        return None if self.temper == "held_out" else float(self.temper)


@dataclass(frozen=True)
class Estimate:
    """A mean a label, in nats, and its standard error over items; NaN where nothing is known."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it lies above 0, beyond chance."""
        return self.mean > CLEARLY * self.error


@dataclass(frozen=True)
class Evidence:
    """How probable held-out labels are: mean log likelihood a label, in nats.

    Parameters
    ----------
    raw, pooled, calibrated, votes
        Under Dawid-Skene; with pooled confusions; tempered too; and under shares of votes.
    overconfidence
        What tempering Dawid-Skene would gain; the best of several powers is not allowed for, so a
        model that holds is found too sure now and then.
    left
        The same of what was calibrated: what lower powers would gain.
    loss
        What calibration lost against Dawid-Skene.
    n_labels
        Held out; 0 where nothing could be, and the figures are NaN.
    """

    raw: Estimate
    pooled: Estimate
    calibrated: Estimate
    votes: Estimate
    overconfidence: Estimate
    left: Estimate
    loss: Estimate
    n_labels: int


@dataclass(frozen=True)
class Calibration:
    """One task, calibrated.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class.
    fit
        Of pooled confusions, before it was tempered.
    power
        ``(n_items,)`` that posteriors were raised to.
    choice
        What was chosen, and by what.
    evidence
        How it does on labels that were held out.
    """

    posterior: Floats
    fit: DawidSkeneResult
    power: Floats
    choice: Choice
    evidence: Evidence


def calibrate_batch(
    tasks: Sequence[LabelCodes],
    fits: Sequence[DawidSkeneResult],
    *,
    params: CalibrationParams | None = None,
    seeds: Sequence[Sequence[int]],
    together: Sequence[Choice | None] | None = None,
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
    together
        What tasks chose with others, as `choose` takes it.

    Raises
    ------
    ValueError
        An invalid setting.
    """
    params = params or CalibrationParams()
    if not tasks:
        return []
    model = fits[0].params
    early = early_fits(model)
    choices = choose(
        tasks, seeds, pooling=params.given_pooling, temper=params.given_temper, params=early,
        together=together,
    )  # fmt: skip
    held_out = [
        draw(task, seed, "evidence", MOST_LABELS) for task, seed in zip(tasks, seeds, strict=True)
    ]
    evidence = evidence_of(held_out, choices, early)
    pooled = _pooled(tasks, fits, [choice.pooling for choice in choices], model)
    found = []
    for task, fit, choice, of in zip(tasks, pooled, choices, evidence, strict=True):
        power = choice.power(n_judges_of(task))
        found.append(
            Calibration(
                posterior=tempered(fit.posterior, power),
                fit=fit,
                power=power,
                choice=choice,
                evidence=of,
            )
        )
    return found


def early_fits(model: DawidSkeneParams) -> DawidSkeneParams:
    """Settings of fits that are compared, which end early."""
    return replace(model, tolerance=max(model.tolerance, EARLY))


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


# --- evidence ----------------------------------------------------------------------------------


def evidence_of(
    held_out: Sequence[HeldOutLabels], choices: Sequence[Choice], early: DawidSkeneParams
) -> list[Evidence]:
    """How raw, pooled and calibrated models and votes do on labels that were held out.

    Parameters
    ----------
    held_out, choices
        Of each task, about `MOST_LABELS` labels, and what it takes.
    early
        Settings of the fits that are compared, `early_fits`.
    """
    folds = [fold for task in held_out for fold in task.folds]
    pooling = [
        choice.pooling for task, choice in zip(held_out, choices, strict=True) for _ in task.folds
    ]
    given = [fold.given for fold in folds]
    priors = [c * of for c, of in zip(pooling, shared_confusions(given, early), strict=True)]
    as_they_are = fits_in_turn(given, params=early)
    pairs = zip(as_they_are, fits_in_turn(given, params=early, priors=priors), strict=True)
    found = []
    for task, choice in zip(held_out, choices, strict=True):
        scores = np.zeros((4, task.n_items))
        curves = np.zeros((2, len(DEPENDENCE), task.n_items))
        for fold in task.folds:
            as_it_is, borrowed = next(pairs)
            one, chosen, every = np.ones(fold.n.shape), choice.power(fold.n), every_power(fold.n)
            lower = np.minimum(every, chosen)  # not what is too strong already
            of_raw = log_scores(fold, as_it_is, np.stack([one, *every]))
            of_pooled = log_scores(fold, borrowed, np.stack([one, chosen, *lower]))
            scores += np.stack([of_raw[0], *of_pooled[:2], log_scores_of_votes(fold)])
            curves += np.stack([of_raw[1:], of_pooled[2:]])
        raw, with_pooled, calibrated, votes = scores
        estimate = partial(_estimate, n_labels=task.n_labels)
        found.append(
            Evidence(
                raw=estimate(raw),
                pooled=estimate(with_pooled),
                calibrated=estimate(calibrated),
                votes=estimate(votes),
                overconfidence=estimate(_best(curves[0]) - raw),
                left=estimate(_best(curves[1]) - calibrated),
                loss=estimate(raw - calibrated),
                n_labels=task.n_labels,
            )
        )
    return found


def _estimate(by_item: Floats, *, n_labels: int) -> Estimate:
    total, error = summed(by_item)
    n = n_labels or np.nan  # nothing held out, nothing known
    return Estimate(total / n, error / n)


def _best(curve: Floats) -> Floats:
    """Scores of items under the power that is best for all."""
    best: Floats = curve[int(np.argmax(curve.sum(axis=1)))]
    return best
