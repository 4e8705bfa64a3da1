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

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
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
    confusion_of_one,
    every_power,
    judges_as_one,
    shared_confusions,
    stream,
    summed,
)
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneModel,
    DawidSkeneParams,
    LabelGroup,
    label_groups,
)
from annot_pipeline.methods.labels.drawn_labels import LabelDraws
from annot_pipeline.methods.labels.e_step import e_step
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.held_out_labels import (
    HeldOutLabels,
    fits_in_turn,
    log_scores,
    log_scores_of_votes,
    n_judges_of,
    tempered,
)
from annot_pipeline.methods.labels.label_em import EMState, Shape
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.predictive_checks import PredictiveChecks, checks_of
from annot_pipeline.methods.numerics.blocks import Blocks

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
    residual_overconfidence
        What lower powers would still gain after calibration.
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
    residual_overconfidence: Estimate
    loss: Estimate
    n_labels: int


@dataclass(frozen=True)
class ItemFit:
    """What the probabilities of a task's items follow from.

    Parameters
    ----------
    estimates, pooled
        Of the label model, and with pooled confusions.
    choice
        How these are calibrated.
    """

    estimates: Estimates
    pooled: Estimates
    choice: Choice


@dataclass(frozen=True)
class CalibratedFit:
    """What was fitted to one task, and how its probabilities are calibrated.

    Parameters
    ----------
    fit, pooled
        The label model, and with pooled confusions.
    item_fit
        What probabilities of items follow from.
    evidence
        How these do on labels that were held out.
    checks, pooled_checks
        Whether judges agree as often as each model says.
    """

    fit: DawidSkeneModel
    pooled: DawidSkeneModel
    item_fit: ItemFit
    evidence: Evidence
    checks: PredictiveChecks
    pooled_checks: PredictiveChecks

    @property
    def choice(self) -> Choice:
        """How probabilities are calibrated, and by what that was chosen."""
        return self.item_fit.choice


@dataclass(frozen=True)
class Probabilities:
    """Of each class of some items of a task, ``(n_items, n_labels)``.

    Parameters
    ----------
    raw, pooled, calibrated
        Of the label model; with pooled confusions; and tempered too.
    power
        ``(n_items,)`` that the latter was raised to.
    """

    raw: Floats
    pooled: Floats
    calibrated: Floats
    power: Floats


Watch = Callable[[str], tuple[EMState | None, Callable[[int, EMState], None]]]
"""By what is fitted: where an earlier run stood, and what is told after each iteration."""


def watch_nothing(_: str) -> tuple[EMState | None, Callable[[int, EMState], None]]:
    """Return no state, and tell nobody."""
    return None, lambda _, __: None


def fit_calibrated(
    tasks: Blocks[Sequence[LabelCodes]],
    *,
    seeds: Sequence[Sequence[int]],
    model: DawidSkeneParams | None = None,
    params: CalibrationParams | None = None,
    together: Sequence[Choice | None] | None = None,
    watch: Watch = watch_nothing,
) -> list[CalibratedFit]:
    """Fit a label model to every task, and calibrate it.

    Parameters
    ----------
    tasks
        Of each block the labels of all tasks, with codes of whole tasks but for items.
    seeds
        Of each task: which labels are held out together.
    model, params
        Settings; default `DawidSkeneParams`, `CalibrationParams`.
    together
        What tasks chose with others, as `choose` takes it.
    watch
        Is asked once for each of three fits: of the model, of judges taken as one, and of the
        model with pooled confusions.

    Raises
    ------
    ValueError
        An invalid setting, or more confusion probabilities than ``model.max_parameters``.
    """
    params, model = params or CalibrationParams(), model or DawidSkeneParams()
    if not seeds:
        return []
    draws = LabelDraws(tasks)
    streams = partial(_streams, seeds)
    choices = choose(
        np.array([draws.n_predictable(t) for t in range(len(seeds))]),
        lambda some, most: list(draws.held_out(streams(some, "choice"), most).values()),
        pooling=params.given_pooling, temper=params.given_temper, params=early_fits(model),
        together=together,
    )  # fmt: skip
    fits, pooled = _fits(tasks, draws.shapes, [c.pooling for c in choices], model, watch)
    everything = range(len(seeds))
    held_out = draws.held_out(streams(everything, "evidence"), MOST_LABELS)
    evidence = evidence_of([*held_out.values()], choices, early_fits(model))
    rngs = {t: np.random.default_rng(list(seed)) for t, seed in enumerate(seeds)}
    to_check = draws.to_check(rngs)
    calibrated = []
    for t in everything:
        (fit, estimates), (pooled_fit, pooled_estimates) = fits[t], pooled[t]
        checks = [
            checks_of(to_check[t], model_fit, rng=copy.deepcopy(rngs[t]))
            for model_fit in (fit, pooled_fit)
        ]
        item_fit = ItemFit(estimates, pooled_estimates, choices[t])
        calibrated.append(CalibratedFit(fit, pooled_fit, item_fit, evidence[t], *checks))
    return calibrated


def probabilities(tasks: Sequence[LabelCodes], fits: Sequence[ItemFit]) -> list[Probabilities]:
    """Return the probabilities of the items of a block, by task.

    Parameters
    ----------
    tasks, fits
        Of each task the labels of some of its items, and what was fitted to all.
    """
    by_task: dict[int, Probabilities] = {}
    for size in sorted({task.n_labels for task in tasks}):
        members = [t for t, task in enumerate(tasks) if task.n_labels == size]
        matrix = LabelMatrix.from_tasks(members, [tasks[t] for t in members])
        raw, pooled = (
            e_step(matrix, _concatenate_estimates([getattr(fits[t], name) for t in members]))[0]
            for name in ("estimates", "pooled")
        )
        for place, t in enumerate(members):
            items = slice(matrix.item_starts[place], matrix.item_starts[place + 1])
            power = fits[t].choice.power(n_judges_of(tasks[t]))
            by_task[t] = Probabilities(
                raw[items], pooled[items], tempered(pooled[items], power), power
            )
    return [by_task[t] for t in range(len(tasks))]


def _concatenate_estimates(estimates: Sequence[Estimates]) -> Estimates:
    return Estimates(*(
        np.concatenate([getattr(task, field.name) for task in estimates])
        for field in fields(Estimates)
    ))  # fmt: skip


def _streams(
    seeds: Sequence[Sequence[int]], tasks: Iterable[int], purpose: str
) -> dict[int, np.random.Generator]:
    return {t: stream(seeds[t], purpose) for t in tasks}


def early_fits(model: DawidSkeneParams) -> DawidSkeneParams:
    """Settings of fits that are compared, which end early."""
    return replace(model, tolerance=max(model.tolerance, EARLY))


Fit = tuple[DawidSkeneModel, Estimates]


def _fits(
    tasks: Blocks[Sequence[LabelCodes]],
    shapes: Sequence[Shape],
    pooling: Sequence[float],
    params: DawidSkeneParams,
    watch: Watch,
) -> tuple[dict[int, Fit], dict[int, Fit]]:
    """Fit every task, and with pooled confusions; those of nothing pooled are as they were."""
    groups = label_groups(tasks, shapes, params)
    raw = _run(groups, params, watch(""))
    wanted = {t for t, c in enumerate(pooling) if c > 0}
    if not wanted:
        return raw, raw
    groups = [group.keep(wanted) for group in groups if not wanted.isdisjoint(group.tasks)]
    one_judge = [shape._replace(n_judges=min(shape.n_judges, 1)) for shape in shapes]
    alike = [
        group.keep(wanted)
        for group in label_groups(tasks.keep(judges_as_one), one_judge, params)
        if not wanted.isdisjoint(group.tasks)
    ]
    shared = _run(alike, params, watch("judges taken as one"))
    priors = {t: pooling[t] * confusion_of_one(fit) for t, (fit, _) in shared.items()}
    return raw, raw | _run(groups, params, watch("pooled"), priors)


def _run(
    groups: Sequence[LabelGroup],
    params: DawidSkeneParams,
    watched: tuple[EMState | None, Callable[[int, EMState], None]],
    priors: Mapping[int, Floats] | None = None,
) -> dict[int, Fit]:
    """Fit groups of tasks, one after the other."""
    state, progress = watched
    fits: dict[int, Fit] = {}

    def on_iteration(n_settled: int, em_state: EMState) -> None:
        progress(len(fits) + n_settled, em_state)

    for group in groups:
        fitted = group.fit(params, priors, on_iteration, state)
        fits |= {t: (fitted.model(t), fitted.estimates(t)) for t in group.tasks}
    return fits


# --- evidence ----------------------------------------------------------------------------------


def evidence_of(
    held_out: Sequence[HeldOutLabels], choices: Sequence[Choice], early: DawidSkeneParams
) -> list[Evidence]:
    """Return how probable raw, pooled and calibrated models and votes make held-out labels.

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
    training = [fold.training for fold in folds]
    priors = [
        c * confusion
        for c, confusion in zip(pooling, shared_confusions(training, early), strict=True)
    ]
    as_they_are = fits_in_turn(training, params=early)
    pairs = zip(as_they_are, fits_in_turn(training, params=early, priors=priors), strict=True)
    evidence = []
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
        evidence.append(
            Evidence(
                raw=estimate(raw),
                pooled=estimate(with_pooled),
                calibrated=estimate(calibrated),
                votes=estimate(votes),
                overconfidence=estimate(_best(curves[0]) - raw),
                residual_overconfidence=estimate(_best(curves[1]) - calibrated),
                loss=estimate(raw - calibrated),
                n_labels=task.n_labels,
            )
        )
    return evidence


def _estimate(by_item: Floats, *, n_labels: int) -> Estimate:
    total, error = summed(by_item)
    n = n_labels or np.nan  # nothing held out, nothing known
    return Estimate(total / n, error / n)


def _best(curve: Floats) -> Floats:
    """Scores of items under the power that is best for all."""
    best: Floats = curve[int(np.argmax(curve.sum(axis=1)))]
    return best
