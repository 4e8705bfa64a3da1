"""What is known of a task's estimates before people judge more: intervals, and how people differ.

Estimands are those whose intervals a sample is planned for: prevalences of all items, mean scores
by system, win rates. What does not belong here: the sample (plan_validation), the estimates of a
build (model_judges.estimates).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.methods.model_judges.prediction_powered import PredictionPoweredMean
from annot_pipeline.stages.model_judges.answers import TaskAnswers
from annot_pipeline.stages.model_judges.estimands import Estimand, model_answers, task_estimands
from annot_pipeline.stages.model_judges.estimates import HumanModelComparison
from annot_pipeline.stages.model_judges.people_sample import people_probabilities, sample_imbalance
from annot_pipeline.stages.planning.hit_plan import CannotPlanError


@dataclass(frozen=True, eq=False)
class PlannedEstimand:
    """An estimand with what a model says of its items, and what people said so far.

    Parameters
    ----------
    key
        ``quantity``, ``criterion``, ``system``, ``label``.
    own
        ``(n_cells,)`` the model's values; NaN outside what the mean is over.
    human
        ``(n_cells,)`` the mean of people's answers; NaN where there is none.
    power
        How far the model counts in the present estimate; 0 without one.
    width
        Of the present 95% interval; NaN where there is none.
    """

    key: dict[str, Any]
    own: Floats
    human: Floats
    power: float
    width: float


@dataclass(frozen=True, eq=False)
class PresentEstimates:
    """Estimands of a task, corrected by the model that gives the narrowest intervals.

    Parameters
    ----------
    model
        Its name, or that of all models' mean.
    values
        ``(n_cells,)`` its answers.
    estimands
        Those that are planned for.
    earlier
        ``(n_cells,)`` probability with which each was chosen for people so far.
    assumption
        What is assumed of earlier items, for people; None: nothing.
    """

    model: str
    values: Floats
    estimands: list[PlannedEstimand]
    earlier: Floats
    assumption: str | None

    @property
    def have_width(self) -> bool:
        """Return whether any estimand has an interval now."""
        return any(not np.isnan(one.width) for one in self.estimands)


def present_estimates(
    answers: TaskAnswers, *, people_items: Literal["random", "chosen"]
) -> PresentEstimates:
    """Return what is known now.

    Raises
    ------
    CannotPlanError
        Probabilities are known of some of people's items only, or not of the others.
    """
    estimands = list(task_estimands(answers))
    models = model_answers(answers)
    earlier, assumption, is_estimated = _earlier(answers, estimands, models, people_items)
    stated = None if np.isnan(answers.items.probability).all() else answers.items.probability
    planned = [pair for pair in estimands if _is_planned(pair[0], answers)]
    best: PresentEstimates | None = None
    for name, values in models.items():
        if answers.kind == "categorical" and len(values) > 1:
            continue  # labels have no mean to make strata of
        present = PresentEstimates(
            name, np.mean(values, axis=0),
            [
                _planned_estimand(answers, estimand, label, values, stated, is_estimated)
                for estimand, label in planned
            ],
            earlier, assumption,
        )  # fmt: skip
        if best is None or _order(present) < _order(best):
            best = present
    if best is None:
        raise CannotPlanError("no judge of it is declared as a model")
    return best


def _order(present: PresentEstimates) -> tuple[float, int]:
    """Return what sorts models: the widest interval, then how few items they judged."""
    widths = [one.width for one in present.estimands if not np.isnan(one.width)]
    return max(widths, default=np.inf), -int((~np.isnan(present.values)).sum())


def _is_planned(estimand: Estimand, answers: TaskAnswers) -> bool:
    """Return whether a sample is planned for the estimand: scores by system where there are any."""
    if answers.kind == "scalar" and answers.items.systems:
        return estimand.system is not None
    return answers.kind == "pairwise" or estimand.system is None


def _earlier(
    answers: TaskAnswers,
    estimands: list[tuple[Estimand, int | None]],
    models: dict[str, Floats],
    people_items: Literal["random", "chosen"],
) -> tuple[Floats, str | None, bool]:
    """Return the probabilities of people's items so far, what they assume, and if estimates do."""
    n_cells = len(answers.items.names)
    is_judged = np.zeros(n_cells, np.bool_)
    is_judged[answers.item[answers.by_people]] = True
    stated = answers.items.probability
    if not is_judged.any():
        return np.zeros(n_cells), None, False
    probabilities, refusal = people_probabilities(answers, people_items)
    if probabilities is not None:
        n_unknown = int(np.isnan(stated[~is_judged]).sum())
        if n_unknown and n_unknown == (~is_judged).sum():
            raise CannotPlanError(
                f"selection_probability is known for people's items, and for {n_unknown:,} other "
                "items it is not: list selection_probabilities.csv of the last batch under items"
            )
        return np.nan_to_num(stated), None, True  # what is not listed could not be selected
    if (~np.isnan(stated[is_judged])).any():
        raise CannotPlanError(str(refusal))
    n_judged, n_items = _distinct(answers, is_judged), _distinct(answers, np.ones_like(is_judged))
    if refusal is None:
        refusal = sample_imbalance(answers, estimands, models)
    if refusal is not None:
        return is_judged.astype(np.float64), (
            f"the {n_judged:,} items of people are not a random sample: they represent only "
            "themselves (selection probability 1), and the others are sampled"
        ), False  # fmt: skip
    return np.full(n_cells, n_judged / n_items), (
        f"the {n_judged:,} items that people judged are treated as a random sample of "
        f"{n_items:,} (selection probability {n_judged / n_items:.4g})"
    ), True  # fmt: skip


def _distinct(answers: TaskAnswers, cells: Flags) -> int:
    """Return the number of different items among cells; criteria of an item are one."""
    return len({name for name, is_in in zip(answers.items.names, cells, strict=True) if is_in})


def _planned_estimand(
    answers: TaskAnswers,
    estimand: Estimand,
    label: int | None,
    values: Floats,
    probabilities: Floats | None,
    is_estimated: bool,
) -> PlannedEstimand:
    own = estimand.of_models(values, label)
    n_units = np.bincount(estimand.unit_item, minlength=own.size)
    with np.errstate(invalid="ignore"):
        human = np.bincount(estimand.unit_item, estimand.unit_value, own.size) / n_units
    estimate = _estimate(answers, estimand, own, probabilities) if is_estimated else None
    if estimate is None:
        return PlannedEstimand(estimand.key, own, human, 0.0, float("nan"))
    low, high = estimate.interval()
    width = float(high - low)
    return PlannedEstimand(
        estimand.key, own, human, estimate.power, width if width > 0 else float("nan")
    )


def _estimate(
    answers: TaskAnswers, estimand: Estimand, own: Floats, probabilities: Floats | None
) -> PredictionPoweredMean | None:
    both = HumanModelComparison.from_estimand(answers, estimand, own, probabilities)
    return both.estimate() if both.human.size > 1 and both.elsewhere.size else None
