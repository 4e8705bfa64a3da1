"""The items that a sample for people is drawn from, and what is estimated of them.

Estimands are those whose intervals a sample is planned for: prevalences of all items, mean scores
by system, win rates.

Strata are what a model said of an item, and whether models agree on it. There are few strata, each
of `LEAST_ITEMS` items or more: those of an answer are merged, then answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.model_judges.prediction_powered import PredictionPoweredMean
from annot_pipeline.methods.planning.validation_sample import SampledPopulation, shrunk_squares
from annot_pipeline.stages.model_judges.answers import TaskAnswers, group_means
from annot_pipeline.stages.model_judges.estimates import (
    Estimand,
    HumanModelComparison,
    model_answers,
    people_probabilities,
    sample_imbalance,
    task_estimands,
)
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
    human = group_means(estimand.unit_item, estimand.unit_value, own.size)
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


LEAST_ITEMS = 10
"""Items of a stratum; smaller ones are merged."""
MOST_ANSWERS = 20
"""Answers with strata of their own: the most frequent ones."""
BANDS = (0.25, 0.5, 0.75)
"""Quantiles that part scores into bands."""
OTHERS = "other answers"


@dataclass(frozen=True, eq=False)
class ValidationStrata:
    """Strata of items.

    Parameters
    ----------
    code
        ``(n_items,)``; -1: the model did not judge the item, which is drawn from no stratum.
    names
        Of strata, by code.
    """

    code: Codes
    names: list[str]


def validation_strata(
    kind: str, answers: Floats, by_model: Sequence[Floats], classes: Sequence[str]
) -> ValidationStrata:
    """Return the strata of a task's items.

    Parameters
    ----------
    kind
        categorical, scalar or pairwise.
    answers
        ``(n_items,)`` of the model whose estimates people correct: codes of classes, scores, or
        shares of the win (1, 1/2, 0); NaN where there is none.
    by_model
        The same of each model.
    classes
        Names of classes, of labels only.
    """
    judged = ~np.isnan(answers)
    answer = np.full(answers.size, -1)
    answer[judged], names = _answers(kind, answers[judged], classes)
    differ = _disagreement(kind, by_model)
    return _merged(answer, differ, names, has_several=len(by_model) > 1)


def _answers(kind: str, answers: Floats, classes: Sequence[str]) -> tuple[Codes, list[str]]:
    """Return codes of the model's answers, and what they are called."""
    if kind == "categorical":
        return answers.astype(np.int64), list(classes)
    if kind == "pairwise":
        code = np.select([answers > 0.5, answers < 0.5], [0, 1], 2)
        return np.asarray(code, np.int64), ["first item wins", "second item wins", "tie"]
    edges = np.unique(np.quantile(answers, BANDS)) if answers.size else np.zeros(0)
    names = [f"score up to {edge:.4g}" for edge in edges]
    names.append(f"score above {edges[-1]:.4g}" if edges.size else "any score")
    return np.searchsorted(edges, answers, side="left").astype(np.int64), names


def _disagreement(kind: str, by_model: Sequence[Floats]) -> Flags:
    """Return whether models differ on each item; of scores, more than on half of the items."""
    values = np.stack(by_model)
    is_answered = ~np.isnan(values)
    low = np.where(is_answered, values, np.inf).min(axis=0)
    high = np.where(is_answered, values, -np.inf).max(axis=0)
    spread = np.where(is_answered.any(axis=0), high - low, 0.0)
    bound = float(np.median(spread)) if kind == "scalar" and spread.size else 0.0
    return np.asarray(spread > bound)


def _merged(
    answer: Codes, differ: Flags, names: list[str], *, has_several: bool
) -> ValidationStrata:
    """Return strata of enough items."""
    counts = np.zeros((len(names), 2), np.int64)
    judged = answer >= 0
    np.add.at(counts, (answer[judged], differ[judged].astype(np.int64)), 1)
    n_of_answer = counts.sum(axis=1)
    frequent = np.argsort(-n_of_answer, kind="stable")[:MOST_ANSWERS]
    own = [code for code in sorted(frequent.tolist()) if n_of_answer[code] >= LEAST_ITEMS]
    stratum_names: list[str] = []
    code_of = np.full((len(names), 2), -1)
    for code in own:
        if counts[code].min() >= LEAST_ITEMS:
            code_of[code] = [len(stratum_names), len(stratum_names) + 1]
            stratum_names += [f"{names[code]}, models agree", f"{names[code]}, models differ"]
        else:
            code_of[code] = len(stratum_names)
            alike = has_several and counts[code, 1] == 0
            stratum_names.append(f"{names[code]}, models agree" if alike else names[code])
    rest = n_of_answer.sum() - n_of_answer[own].sum()
    if rest:
        is_rest = code_of[:, 0] < 0
        if rest >= LEAST_ITEMS or not own:
            code_of[is_rest] = len(stratum_names)
            stratum_names.append(OTHERS if own else "all answers")
        else:
            sizes = np.bincount(code_of[answer[judged], differ[judged].astype(np.int64)] + 1)[1:]
            smallest = int(np.argmin(sizes))
            code_of[is_rest] = smallest
            stratum_names[smallest] += f" and {OTHERS}"
    code = np.full(answer.size, -1)
    code[judged] = code_of[answer[judged], differ[judged].astype(np.int64)]
    return ValidationStrata(code, stratum_names)


PRIOR = 3.0
"""Answers that the spread of all strata counts for in that of each."""
NORMAL = 2 * 1.959963984540054
"""Width of a 95% interval of standard error 1."""


@dataclass(frozen=True, eq=False)
class JudgedPopulation:
    """Items of the task; arrays are ``(n_items,)``, and ``cell`` is ``(n_cells,)``.

    Parameters
    ----------
    names
        Of items or pairs, in code point order.
    cell
        Code of each cell's item: an item has a cell a criterion.
    strata
        Of items.
    earlier
        Probability with which people were asked so far.
    is_judged
        Whether a person judged the item.
    """

    names: list[str]
    cell: Codes
    strata: ValidationStrata
    earlier: Floats
    is_judged: Flags


def judged_population(answers: TaskAnswers, present: PresentEstimates) -> JudgedPopulation:
    """Return items from cells: those of several criteria are one."""
    names = sorted(set(answers.items.names))
    code_by_name = {name: code for code, name in enumerate(names)}
    cell = np.array([code_by_name[name] for name in answers.items.names], np.int64)
    values = answers.share if answers.kind == "pairwise" else answers.value
    by_model = [
        _item_means(answers.of_judge(code, values), cell, len(names)) for code in answers.models
    ]
    strata = validation_strata(
        answers.kind, _item_means(present.values, cell, len(names)), by_model, answers.classes
    )
    is_judged = np.zeros(len(names), np.bool_)
    is_judged[cell[answers.item[answers.by_people]]] = True
    earlier = np.zeros(len(names))
    np.maximum.at(earlier, cell, present.earlier)
    return JudgedPopulation(names, cell, strata, earlier, is_judged)


def _item_means(values: Floats, cell: Codes, n_items: int) -> Floats:
    """Return the mean of an item's cells; NaN without any."""
    is_answered = ~np.isnan(values)
    return group_means(cell[is_answered], values[is_answered], n_items)


def sampled_population(
    population: JudgedPopulation, present: PresentEstimates
) -> SampledPopulation:
    """Return cells of equal stratum and earlier probability, and how far people deviate in them."""
    in_strata = np.flatnonzero(population.strata.code >= 0)
    keys = np.stack([population.strata.code[in_strata], population.earlier[in_strata]], axis=1)
    groups, group = np.unique(keys, axis=0, return_inverse=True)
    group_of_item = np.full(len(population.names), -1)
    group_of_item[in_strata] = group.reshape(-1)
    n_items = np.bincount(group.reshape(-1))
    stratum, earlier = groups[:, 0].astype(np.int64), groups[:, 1]
    parts = [
        _squares(one, population, group_of_item, stratum, earlier) for one in present.estimands
    ]
    return SampledPopulation(
        n_items, stratum, earlier,
        np.stack([squares for squares, _ in parts]), np.array([floor for _, floor in parts]),
    )  # fmt: skip


def _squares(
    one: PlannedEstimand,
    population: JudgedPopulation,
    group_of_item: Codes,
    stratum: Codes,
    earlier: Floats,
) -> tuple[Floats, float]:
    """Return squared deviations by cell, over N squared, and the variance that stays.

    That of the model, and between strata, is of these items as a sample of others: no answer of
    people takes it away (`prediction_powered_mean`). Scaled so that the present variance is that of
    the present interval: answers of one document or person may err together.
    """
    cells = np.flatnonzero(~np.isnan(one.own))
    n = cells.size
    n_strata = int(stratum.max()) + 1
    own, human = one.own[cells], one.human[cells]
    group = group_of_item[population.cell[cells]]
    n_of_group = np.bincount(group, minlength=stratum.size)
    is_known = ~np.isnan(human)
    if n < 2:
        return np.zeros(stratum.size), 0.0
    if np.isnan(one.width):  # nothing is known of people: they vary as the model does
        return np.asarray(n_of_group * (float(own.var()) / n**2), np.float64), 0.0
    weights = 1 / population.earlier[population.cell[cells[is_known]]]
    rest = human[is_known] - one.power * own[is_known]
    of_known = stratum[group[is_known]]
    overall = np.full(n_strata, np.average(rest, weights=weights))
    own_means = _shrunk_means(rest, of_known, overall)
    # an even sample has no strata, and its interval no benefit from them
    means_now = overall if np.unique(earlier[earlier > 0]).size == 1 else own_means

    def of_groups(means: Floats) -> Floats:
        squares = (rest - means[of_known]) ** 2
        mean = shrunk_squares(squares, weights, of_known, n_strata=n_strata, prior=PRIOR)
        return np.asarray(n_of_group * mean[stratum] / n**2, np.float64)

    elsewhere = own[~is_known] if (~is_known).any() else own
    is_possible = earlier > 0
    of_people = float((of_groups(means_now)[is_possible] / earlier[is_possible]).sum())
    of_model = one.power**2 * float(own.var()) / n
    n_of_stratum = np.bincount(stratum, n_of_group, n_strata)
    between = float(n_of_stratum @ (own_means - n_of_stratum @ own_means / n) ** 2) / n**2
    present = of_people + one.power**2 * float(elsewhere.var()) / elsewhere.size
    if means_now is own_means:
        present += between
    scale = (one.width / NORMAL) ** 2 / present if present > 0 else 1.0
    return of_groups(own_means) * scale, scale * (of_model + between)


def _shrunk_means(values: Floats, stratum: Codes, overall: Floats) -> Floats:
    """Return the mean of each stratum, shrunk to that of all, ``(n_strata,)``."""
    total = np.bincount(stratum, values, overall.size)
    n = np.bincount(stratum, minlength=overall.size)
    return np.asarray((total + PRIOR * overall) / (n + PRIOR), np.float64)
