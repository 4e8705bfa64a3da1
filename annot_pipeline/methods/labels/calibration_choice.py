"""Pooling and dependence by which labels that were held out are most probable.

A task with enough labels chooses for itself, the others choose together. Where these have too few
labels to tell, both are what crowds of people have shown to need; and where no two judges label one
item, nothing can be held out, and nothing is done.

What does not belong here: what is done with the choice (label_calibration).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneModel,
    DawidSkeneParams,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.held_out_labels import (
    Fold,
    HeldOutLabels,
    fits_in_turn,
    log_scores,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
ChosenBy = Literal["settings", "task", "tasks", "default"]

POOLING = (1.0, 3.0, 8.0, 24.0)
DEPENDENCE = (0.0, 0.02, 0.04, 0.07, 0.1, 0.14, 0.19, 0.25, 0.33, 0.43, 0.56, 0.75, 1.0)
"""Where both are looked for."""
CLEARLY = 2.0
"""Standard errors by which tempering must gain."""
ENOUGH = 1_000
"""Labels of a task that chooses for itself; others choose together."""
USUAL_POOLING, USUAL_DEPENDENCE = 3.0, 0.19
"""Where those together have not enough labels either: medians of what published crowds chose."""
MOST_CHOSEN_BY = 1_000_000
"""Labels that tasks choose by, each for itself; smaller tasks beyond choose with the others."""
MOST_LABELS = 10_000
"""Of a task, that are held out in turn."""
MOST_TOGETHER = 100_000
"""Labels that the others choose by, `ENOUGH` of a task."""


@dataclass(frozen=True)
class Choice:
    """What a task takes.

    Parameters
    ----------
    pooling
        Labels of each class that are borrowed.
    dependence, temper
        Of judges on one item; or the power that was given. The other one is NaN.
    chosen_by
        ``settings``, the ``task``, or several ``tasks``; ``default`` where labels are too few.
    n_labels
        Labels that were held out for it.
    is_pooling_given
        Whether ``pooling`` was given.
    """

    pooling: float
    dependence: float
    temper: float
    chosen_by: ChosenBy
    n_labels: int = 0
    is_pooling_given: bool = False

    def power(self, n: Codes) -> Floats:
        """What posteriors of items with ``n`` judges are raised to."""
        if np.isnan(self.dependence):
            return np.where(n > 0, self.temper, 1.0)
        return powers(n, self.dependence)


def powers(n: Codes, dependence: float) -> Floats:
    """What a posterior of ``n`` judges is raised to: the inverse of Kish's design effect."""
    return 1.0 / (1.0 + np.maximum(n - 1, 0) * dependence)


def every_power(n: Codes) -> Floats:
    """`powers` of each `DEPENDENCE`, ``(n_dependence, n_items)``."""
    return np.stack([powers(n, dependence) for dependence in DEPENDENCE])


def choose(
    sizes: Codes,
    held_out: Callable[[Sequence[int], int], list[HeldOutLabels]],
    *,
    pooling: float | None,
    temper: float | None,
    params: DawidSkeneParams,
    together: Sequence[Choice | None] | None = None,
) -> list[Choice]:
    """Choose for every task.

    Parameters
    ----------
    sizes
        ``(n_tasks,)`` predictable labels.
    held_out
        Gives labels of some tasks to choose by, about so many of each.
    pooling, temper
        Those that are given; None for what is to be chosen.
    params
        Of the fits that are compared.
    together
        Of each task what it chose with others, those that are not here among them; None for one
        that chooses for itself. Where it is missing, these tasks are all there are.
    """
    if pooling is not None and temper is not None:
        return [given_choice(pooling, temper)] * sizes.size
    if together is None:
        alone, others = large_and_others(sizes)
        shared = None
        if others:
            by = [others[t] for t in deciding_tasks([sizes[t] for t in others])]
            shared = choose_together(
                held_out(by, ENOUGH), pooling=pooling, temper=temper, params=params
            )
        choices = dict.fromkeys(others, shared)
    else:
        choices = {t: choice for t, choice in enumerate(together) if choice}
        alone = [t for t, size in enumerate(sizes) if size and t not in choices]
    if alone:
        chosen = choose_alone(
            held_out(alone, MOST_LABELS), pooling=pooling, temper=temper, params=params
        )
        choices |= dict(zip(alone, chosen, strict=True))
    unknown = unknown_choice(pooling=pooling, temper=temper)
    all_choices = (choices.get(t) or unknown for t in range(sizes.size))
    return [replace(choice, is_pooling_given=pooling is not None) for choice in all_choices]


def given_choice(pooling: float, temper: float) -> Choice:
    """Where settings say both."""
    return Choice(pooling, np.nan, temper, "settings", is_pooling_given=True)


def unknown_choice(*, pooling: float | None, temper: float | None) -> Choice:
    """Return the settings as the choice of a task without an item labelled by two judges."""
    dependence, power = (0.0, np.nan) if temper is None else (np.nan, temper)
    is_given = pooling is not None
    return Choice(pooling or 0.0, dependence, power, "default", is_pooling_given=is_given)


def choose_alone(
    held_out: Sequence[HeldOutLabels],
    *,
    pooling: float | None,
    temper: float | None,
    params: DawidSkeneParams,
) -> list[Choice]:
    """Return the choice of each task, made by held-out labels of that task alone.

    Parameters
    ----------
    held_out
        Of each task, about `MOST_LABELS`.
    pooling, temper, params
        As `choose` takes them.
    """
    power, candidates = np.nan if temper is None else temper, _candidates(pooling)
    curves = _curves(held_out, candidates, params, power)
    return [
        replace(
            _best([curve], candidates, power, "task", task.n_labels),
            is_pooling_given=pooling is not None,
        )
        for task, curve in zip(held_out, curves, strict=True)
    ]


def _candidates(pooling: float | None) -> tuple[float, ...]:
    return POOLING if pooling is None else (pooling,)


def deciding_tasks(sizes: Sequence[int]) -> list[int]:
    """Return the places of the tasks whose labels decide for those that choose together.

    Parameters
    ----------
    sizes
        Predictable labels of each, the largest first.
    """
    if sum(sizes) < ENOUGH:
        return []
    return np.flatnonzero(np.cumsum(np.minimum(sizes, ENOUGH)) <= MOST_TOGETHER).tolist()


def choose_together(
    held_out: Sequence[HeldOutLabels],
    *,
    pooling: float | None,
    temper: float | None,
    params: DawidSkeneParams,
) -> Choice:
    """Return one choice for several tasks, by those that `deciding_tasks` names; else the default.

    Parameters
    ----------
    held_out
        Labels of each that are held out, `draw_together`.
    pooling, temper, params
        As `choose` takes them.
    """
    power = np.nan if temper is None else temper
    if not held_out:
        usual = USUAL_POOLING if pooling is None else pooling
        dependence = USUAL_DEPENDENCE if temper is None else np.nan
        return Choice(usual, dependence, power, "default")
    candidates = _candidates(pooling)
    n_labels = sum(task.n_labels for task in held_out)
    curves = _curves(held_out, candidates, params, power)
    return _best(curves, candidates, power, "tasks", n_labels)


def draw_together(task: LabelCodes, seed: Sequence[int]) -> HeldOutLabels:
    """Labels by which a task chooses with others."""
    return HeldOutLabels.draw(task, stream(seed, "choice"), most=ENOUGH)


def large_and_others(sizes: Codes) -> tuple[list[int], list[int]]:
    """Return the places of tasks that choose for themselves and of the others, largest first.

    Parameters
    ----------
    sizes
        Predictable labels of every task of a campaign; what has none is in neither.
    """
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    is_within_limit = np.cumsum(np.minimum(sizes[order], MOST_LABELS)) <= MOST_CHOSEN_BY
    is_large = is_within_limit & (sizes[order] >= ENOUGH)
    return order[is_large].tolist(), order[~is_large].tolist()


def stream(seed: Sequence[int], purpose: str) -> np.random.Generator:
    """Draws; each purpose has its own."""
    return np.random.default_rng([*seed, int.from_bytes(purpose.encode(), "big")])


def shared_confusions(tasks: Sequence[LabelCodes], params: DawidSkeneParams) -> list[Floats]:
    """The confusion ``(n_labels, n_labels)`` of each task's judges taken as one."""
    fits = dawid_skene_batch(judges_as_one(tasks), params=params)
    return [confusion_of_one(fit) for fit in fits]


def confusion_of_one(fit: DawidSkeneModel) -> Floats:
    """Return the confusion of the one judge of a fit; where there is none, all cells alike."""
    k = fit.prevalence.size
    return fit.confusion[0] if fit.confusion.size else np.full((k, k), 1 / k)


def judges_as_one(tasks: Sequence[LabelCodes]) -> list[LabelCodes]:
    """Return the labels as if one judge had given all."""
    return [
        replace(task, judges=np.zeros_like(task.judges), n_judges=min(task.n_judges, 1))
        for task in tasks
    ]


def _curves(
    held_out: Sequence[HeldOutLabels],
    pooling: Sequence[float],
    params: DawidSkeneParams,
    temper: float,
) -> list[Floats]:
    """Return log scores of each task's items, ``(n_pooling, n_dependence, n_items)``."""
    folds = [fold for task in held_out for fold in task.folds]
    shared = shared_confusions([fold.training for fold in folds], params)
    fits = fits_in_turn(
        [fold.training for _ in pooling for fold in folds],
        params=params,
        priors=[c * confusion for c in pooling for confusion in shared],
    )
    curves = [np.zeros((len(pooling), _n_powers(temper), task.n_items)) for task in held_out]
    for c in range(len(pooling)):
        for task, curve in zip(held_out, curves, strict=True):
            for fold in task.folds:
                fit = next(fits)
                curve[c] += log_scores(fold, fit, _powers(fold, temper))
    return curves


def _n_powers(temper: float) -> int:
    return len(DEPENDENCE) if np.isnan(temper) else 1


def _powers(fold: Fold, temper: float) -> Floats:
    if not np.isnan(temper):
        return np.where(fold.n > 0, temper, 1.0)[None]
    return every_power(fold.n)


def _best(
    curves: Sequence[Floats],
    pooling: Sequence[float],
    temper: float,
    chosen_by: ChosenBy,
    n_labels: int,
) -> Choice:
    """What some tasks choose; the first of equals borrows and tempers least."""
    items = np.concatenate(curves, axis=2)
    total = items.sum(axis=2)
    c, place = map(int, np.unravel_index(np.argmax(total), total.shape))
    if not np.isnan(temper):
        return Choice(pooling[c], np.nan, temper, chosen_by, n_labels)
    gain, error = summed(items[c, place] - items[c, 0])
    if gain <= CLEARLY * error:  # left as it is, with the pooling that is best then
        c, place = int(np.argmax(total[:, 0])), 0
    return Choice(pooling[c], DEPENDENCE[place], np.nan, chosen_by, n_labels)


def summed(by_item: Floats) -> tuple[float, float]:
    """A sum over items and its standard error."""
    n = by_item.size
    error = np.sqrt(n * by_item.var(ddof=1)) if n > 1 else np.inf
    return float(by_item.sum()), float(error)
