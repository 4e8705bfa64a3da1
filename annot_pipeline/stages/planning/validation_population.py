"""The items that a sample for people is drawn from, and how far people deviate from the model.

What does not belong here: the allocation (validation_sample), strata (validation_strata), present
intervals (validation_estimands).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.planning.validation_sample import SampledPopulation, shrunk_squares
from annot_pipeline.stages.model_judges.answers import TaskAnswers
from annot_pipeline.stages.planning.validation_estimands import PlannedEstimand, PresentEstimates
from annot_pipeline.stages.planning.validation_strata import ValidationStrata, validation_strata

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
    n = np.bincount(cell[is_answered], minlength=n_items)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(cell[is_answered], values[is_answered], n_items) / n)


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
