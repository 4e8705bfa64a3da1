"""Rows of ``estimates``: means over all items, from few answers of people and many of models.

What is estimated of a task, and how the items that people judged were chosen, stands here too.

People's items must be a random sample, or the probabilities with which they were chosen known;
where they are neither, no corrected estimate is published, and its reason says so. What does not
belong here: the estimators (methods.model_judges).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import ALL_MODELS
from annot_pipeline.methods.model_judges.prediction_powered import (
    PredictionPoweredMean,
    prediction_powered_mean,
)
from annot_pipeline.methods.model_judges.rogan_gladen import rogan_gladen
from annot_pipeline.methods.model_judges.sample_balance import balance_p_value
from annot_pipeline.methods.rankings.inference import FEW
from annot_pipeline.stages.model_judges.answers import NONE, TaskAnswers
from annot_pipeline.stages.shared.columns import without_nan

Row = dict[str, Any]

NO_SHARED_ITEM = "the model and people share no item"
THESE_PEOPLE = "intervals hold for these people: fewer than 4"
MOST_CLASSES, MOST_OF_SYSTEMS = 200, 20
"""Classes of a task whose prevalence is estimated, and those whose share is by system."""


@dataclass(frozen=True, eq=False)
class Estimand:
    """A mean over items that is to be estimated.

    Parameters
    ----------
    quantity, criterion, system, label
        As in the table.
    unit_item, unit_judge, unit_value
        ``(n_units,)`` people's answers: an item's code, the person's, `NONE` if several, and value.
    in_population
        ``(n_items,)`` whether the item belongs to what the mean is over.
    side
        ``(n_items,)`` of comparisons: whether the share of the win counts from the other side.
    """

    quantity: Literal["mean_score", "prevalence", "win_rate"]
    criterion: str | None
    system: str | None
    label: str | None
    unit_item: Codes
    unit_judge: Codes
    unit_value: Floats
    in_population: npt.NDArray[np.bool_]
    side: npt.NDArray[np.bool_] | None = None

    @property
    def key(self) -> Row:
        """Return what names the estimate."""
        return {name: getattr(self, name) for name in ("quantity", "criterion", "system", "label")}

    def of_models(self, answers: Floats, label: int | None) -> Floats:
        """Return values of models by item, ``(n_items,)``, of several their mean.

        NaN outside, and where a model has no answer; ``answers`` is ``(n_models, n_items)``.
        """
        values = answers if label is None else np.where(np.isnan(answers), np.nan, answers == label)
        values = np.mean(values, axis=0)
        if self.side is not None:
            values = np.where(self.side, 1 - values, values)
        return np.where(self.in_population, values, np.nan)


def model_answers(answers: TaskAnswers) -> dict[str, Floats]:
    """Return answers by item of each model, and of all where there are several.

    Each is ``(n_models, n_items)``: codes of labels, scores, or shares of the win.
    """
    values = answers.share if answers.kind == "pairwise" else answers.value
    models = {
        answers.judges[code]: answers.of_judge(code, values)[np.newaxis] for code in answers.models
    }
    if len(models) > 1:
        models[ALL_MODELS] = np.concatenate([*models.values()])
    return models


def task_estimands(answers: TaskAnswers) -> Iterator[tuple[Estimand, int | None]]:
    """Yield what is estimated, with the code of the label whose prevalence it is."""
    people = answers.by_people
    item, judge, value = answers.item[people], answers.judge[people], answers.value[people]
    everything = np.ones(len(answers.items.names), np.bool_)
    if answers.kind == "categorical":
        yield from _prevalences(answers, item, judge, value)
    elif answers.kind == "scalar":
        criteria = answers.items.criteria
        for code, criterion in enumerate(criteria):
            of_criterion = answers.items.criterion == code
            for system, is_in in _populations(answers.items.system, answers.items.systems):
                population = of_criterion & (everything if is_in is None else is_in)
                units = population[item]
                yield Estimand(
                    "mean_score", criterion or None, system, None, item[units], judge[units],
                    value[units], population,
                ), None  # fmt: skip
    else:
        share = answers.share[people]
        for code, system in enumerate(answers.items.systems):
            first = answers.items.system == code
            second = (answers.items.other_system == code) & ~first
            population = first | second
            units = population[item]
            values = np.where(second[item], 1 - share, share)[units]
            yield Estimand(
                "win_rate", None, system, None, item[units], judge[units], values, population,
                second,
            ), None  # fmt: skip


def _prevalences(
    answers: TaskAnswers, item: Codes, judge: Codes, value: Floats
) -> Iterator[tuple[Estimand, int | None]]:
    """Yield the prevalence of each class: an item has the label of more than half of its people."""
    n_items = len(answers.items.names)
    n = np.bincount(item, minlength=n_items)
    codes = np.flatnonzero(n)
    lone = np.full(n_items, NONE)
    lone[item] = judge
    person = np.where(n[codes] == 1, lone[codes], NONE)
    if len(answers.classes) > MOST_CLASSES:
        return
    for system, is_in in _populations(answers.items.system, answers.items.systems):
        if system is not None and len(answers.classes) > MOST_OF_SYSTEMS:
            return
        population = np.ones(n_items, np.bool_) if is_in is None else is_in
        units = population[codes]
        for code, label in enumerate(answers.classes):
            votes = np.bincount(item[value == code], minlength=n_items)
            is_label = (2 * votes > n)[codes].astype(np.float64)
            yield Estimand(
                "prevalence", None, system, label, codes[units], person[units], is_label[units],
                population,
            ), code  # fmt: skip


def _populations(
    system: Codes, systems: list[str]
) -> Iterator[tuple[str | None, npt.NDArray[np.bool_] | None]]:
    """Yield all items, then those of each system."""
    yield None, None
    for code, name in enumerate(systems):
        yield name, system == code


BALANCE_ALPHA = 1e-4
"""Level, over all tests of a task, at which people's items are taken for no random sample."""
CHOSEN = (
    "people's items were not drawn at random (judges.people_items), and no selection_probability "
    "says how they were chosen"
)


@dataclass(frozen=True, eq=False)
class PeopleSample:
    """The sample of items that people judged.

    Parameters
    ----------
    probabilities
        ``(n_items,)`` with which each item was chosen; None: drawn at random, or not known.
    refusal
        Why it says nothing of other items; None: it does.
    """

    probabilities: Floats | None
    refusal: str | None

    @property
    def weights(self) -> Floats | None:
        """Return how many items each of people's items stands for; None: all count alike."""
        return None if self.probabilities is None else 1 / self.probabilities


def people_sample(
    answers: TaskAnswers,
    estimands: list[tuple[Estimand, int | None]],
    models: dict[str, Floats],
    people_items: Literal["random", "chosen"],
) -> PeopleSample:
    """Return how people's items were chosen, by what is stated, else by the models' answers."""
    probabilities, refusal = people_probabilities(answers, people_items)
    if refusal is None and probabilities is None:
        refusal = sample_imbalance(answers, estimands, models)
    return PeopleSample(probabilities, refusal)


def people_probabilities(
    answers: TaskAnswers, people_items: Literal["random", "chosen"]
) -> tuple[Floats | None, str | None]:
    """Return the probabilities of people's items if they are known, and why nothing can be said."""
    items = np.unique(answers.item[answers.by_people])
    is_known = ~np.isnan(answers.items.probability[items])
    if is_known.all():
        return answers.items.probability, None
    if is_known.any():
        n = int(is_known.sum())
        return None, (
            f"selection_probability is known for {n:,} of {items.size:,} items of people: list "
            "the others under items, from selection_probabilities.csv of the batch"
        )
    return None, CHOSEN if people_items == "chosen" else None


def sample_imbalance(
    answers: TaskAnswers, estimands: list[tuple[Estimand, int | None]], models: dict[str, Floats]
) -> str | None:
    """Return why people's items are no random sample by the models' answers; None: they may be."""
    tests = []
    for name, values in models.items():
        for estimand, label in estimands:
            own = estimand.of_models(values, label)
            is_asked = np.zeros(own.size, np.bool_)
            is_asked[estimand.unit_item] = True
            p_value = balance_p_value(own, is_asked, answers.items.cluster)
            if not np.isnan(p_value):
                means = [float(np.nanmean(own[part])) for part in (is_asked, ~is_asked)]
                tests.append((p_value, name, estimand, means))
    worst = min(tests, key=lambda test: test[0], default=None)
    if worst is None or worst[0] * len(tests) >= BALANCE_ALPHA:
        return None
    _, name, estimand, (of_people, elsewhere) = worst
    what = " ".join(filter(None, (estimand.quantity, estimand.system, estimand.label)))
    return (
        f"people's items are not a random sample: {what} by {name} is {of_people:.3f} on them and "
        f"{elsewhere:.3f} on the others; map selection_probability"
    )


UNCORRECTED = "not corrected by people: no interval says how far they differ"
LEAST_ANSWERS = 20
"""People's answers from which an interval is published, and a model is corrected: how far it counts
is fitted to them."""
FEW_ANSWERS = f"fewer than {LEAST_ANSWERS} answers of people: no interval"
TOO_FEW = (
    f"fewer than {LEAST_ANSWERS} answers of people on the model's items: too few to correct it"
)
ALL_ALIKE = "all of people's answers are equal: their spread is unknown"
ONE_CLUSTER = "all of people's items are of one document or segment: no interval"
OVER_ITEMS = "over items: several people judged some, so the interval holds for these people"
NO_PROBABILITIES = "Rogan-Gladen cannot use selection probabilities: see prediction_powered"
NO_COMMON_ITEM = "no item has answers of all models"
NOTHING_ELSEWHERE = "the model judged no other items than people did"


def estimate_rows(
    answers: TaskAnswers,
    estimands: list[tuple[Estimand, int | None]],
    models: dict[str, Floats],
    sample: PeopleSample,
) -> list[Row]:
    """Return the rows of a task.

    Parameters
    ----------
    answers
        Of people and models.
    estimands
        What is estimated, as `estimands.task_estimands` gives it.
    models
        As `estimands.model_answers` gives them.
    sample
        How the items that people judged were chosen.
    """
    rows = []
    for estimand, label in estimands:
        rows.append(_of_people(answers, estimand, sample))
        for name, values in models.items():
            own = estimand.of_models(values, label)
            of_model = HumanModelComparison.from_estimand(
                answers, estimand, own, sample.probabilities
            )
            has_labels = label is not None and len(values) == 1
            rows += _of_model(estimand, name, of_model, sample.refusal, has_labels)
    return [without_nan({"task": answers.task} | row) for row in rows]


@dataclass(frozen=True, eq=False)
class HumanModelComparison:
    """People's answers and a model's: on the same items, and the model's on all."""

    own: Floats
    human: Floats
    model: Floats
    elsewhere: Floats
    clusters: tuple[Codes, ...]
    clusters_elsewhere: Codes
    weights: Floats | None
    reasons: tuple[str, ...]
    items: Codes
    strata: Codes | None = None

    @classmethod
    def from_estimand(
        cls, answers: TaskAnswers, estimand: Estimand, own: Floats, probabilities: Floats | None
    ) -> HumanModelComparison:
        """Return those of an estimand; ``own`` are all zeros to have people alone."""
        is_shared = ~np.isnan(own[estimand.unit_item])
        item, judge = estimand.unit_item[is_shared], estimand.unit_judge[is_shared]
        n_units = np.bincount(item, minlength=own.size)
        weights = 1 / n_units[item]
        is_other = ~np.isnan(own)
        strata = None
        if probabilities is None:
            is_other &= n_units == 0
        else:
            strata, inverse = _strata(probabilities, is_other, item)
            weights = weights * inverse
        clusters, reasons = [answers.items.cluster[item]], []
        if (judge == NONE).any():
            reasons.append(OVER_ITEMS)
        elif np.unique(judge).size < FEW:
            reasons.append(THESE_PEOPLE)
        else:
            clusters.append(judge)
        n_missing = int((~is_shared).sum())
        if n_missing:
            n = is_shared.size
            reasons.append(
                f"rests on {n - n_missing:,} of people's {n:,} answers: those on items "
                "that the model judged too"
            )
        is_even = weights.size == 0 or np.ptp(weights) <= 1e-12 * weights[0]
        return cls(
            own, estimand.unit_value[is_shared], own[item], own[is_other], tuple(clusters),
            answers.items.cluster[is_other], None if is_even else weights, tuple(reasons), item,
            strata,
        )  # fmt: skip

    def estimate(self, power: float | None = None) -> PredictionPoweredMean:
        """Return the mean, corrected by people; with power 0 theirs alone."""
        return prediction_powered_mean(
            self.human, self.model, self.elsewhere, clusters=self.clusters,
            clusters_elsewhere=self.clusters_elsewhere, power=power, weights=self.weights,
            strata=None if self.weights is None else self.strata,
        )  # fmt: skip


def _strata(
    probabilities: Floats, is_population: npt.NDArray[np.bool_], item: Codes
) -> tuple[Codes | None, Floats]:
    """Return the stratum of each answer, and how many items each of its items stands for.

    Items of one probability are a stratum where the probability of all items is known; where it is
    that of people's items alone, or a stratum has fewer than two of these, there are no strata,
    and an item stands for 1 / its probability.
    """
    of_all, asked_items = probabilities[is_population], np.unique(item)
    values, of_asked = np.unique(probabilities[asked_items], return_inverse=True)
    n_asked = np.bincount(of_asked.reshape(-1), minlength=values.size)
    is_whole = np.isin(of_all, values).all()  # NaN is in none
    if not item.size or not is_whole or n_asked.min() < 2:
        return None, 1 / probabilities[item]
    n_items = np.bincount(np.searchsorted(values, of_all), minlength=values.size)
    strata = np.searchsorted(values, probabilities[item])
    return strata, (n_items / n_asked)[strata]


def _of_people(answers: TaskAnswers, estimand: Estimand, sample: PeopleSample) -> Row:
    """Return the row of people alone."""
    everywhere = np.where(estimand.in_population, 0.0, np.nan)
    people = HumanModelComparison.from_estimand(answers, estimand, everywhere, sample.probabilities)
    row = estimand.key | {"method": "people", "judge": None, "n_model": 0}
    row["n_human"] = int(people.human.size)
    if sample.refusal is not None or not people.human.size:
        return row | {"reason": sample.refusal or "no person judged any"}
    estimate = replace(people, elsewhere=np.zeros(0)).estimate(0.0)
    return (
        row
        | _ends(estimate, people, estimand.quantity)
        | {"effective_n_human": float(people.human.size)}
    )


def _of_model(
    estimand: Estimand,
    name: str,
    both: HumanModelComparison,
    refusal: str | None,
    has_labels: bool,
) -> Iterator[Row]:
    """Yield the rows of a model: alone, and corrected by people."""
    n_model = int((~np.isnan(both.own)).sum())
    key = estimand.key | {"judge": name, "n_human": int(both.human.size), "n_model": n_model}
    if not n_model:
        if name == ALL_MODELS:
            yield key | {"method": "prediction_powered", "reason": NO_COMMON_ITEM}
        return
    model_estimate = {"value": float(np.nanmean(both.own)), "reason": UNCORRECTED}
    yield key | {"method": "model"} | model_estimate
    reason = refusal or (None if both.human.size else NO_SHARED_ITEM)
    corrected = key | {"method": "prediction_powered"}
    if reason is not None:
        yield corrected | {"reason": reason}
    elif not both.elsewhere.size:
        yield corrected | {"reason": NOTHING_ELSEWHERE}
    elif both.human.size < LEAST_ANSWERS:
        yield corrected | {"reason": TOO_FEW}
    else:
        estimate = both.estimate()
        # people alone against both by items: few judges give noisy ratios
        effective = replace(both, clusters=both.clusters[:1]).estimate().effective_n_human
        yield (
            corrected
            | _ends(estimate, both, estimand.quantity)
            | {
                "effective_n_human": effective,
                "power": estimate.power,
            }
        )
    if has_labels and estimand.system is None:
        yield key | {"method": "rogan_gladen"} | _rogan_gladen(both, n_model, reason)


def _rogan_gladen(both: HumanModelComparison, n_model: int, reason: str | None) -> Row:
    if reason is None and both.weights is not None:
        reason = NO_PROBABILITIES
    if reason is not None:
        return {"reason": reason}
    has, model_positive = both.human == 1, both.model == 1
    corrected = rogan_gladen(
        int(np.nansum(both.own)), n_model, int((has & model_positive).sum()), int(has.sum()),
        int((~has & ~model_positive).sum()), int((~has).sum()),
    )  # fmt: skip
    if np.isnan(corrected.value):
        return {"reason": corrected.reason}
    return {
        "value": corrected.value, "ci_low": corrected.low,
        "ci_high": corrected.high, "reason": corrected.reason,
    }  # fmt: skip


def _ends(estimate: PredictionPoweredMean, both: HumanModelComparison, quantity: str) -> Row:
    """Return value, interval and reason; no interval where people's answers cannot tell it."""
    low, high = estimate.interval()
    reasons = both.reasons
    if both.human.size < LEAST_ANSWERS:
        low = high = np.nan
        reasons = (FEW_ANSWERS, *reasons)
    elif np.ptp(both.human) == 0:
        low = high = np.nan
        reasons = (ALL_ALIKE, *reasons)
    elif np.isnan(low):
        reasons = (ONE_CLUSTER,)
    elif quantity != "mean_score":  # shares
        low, high = max(low, 0.0), min(high, 1.0)
    return {
        "value": estimate.value, "ci_low": low, "ci_high": high,
        "reason": "; ".join(reasons) or None,
    }  # fmt: skip
