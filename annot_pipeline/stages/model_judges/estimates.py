"""Rows of ``estimates``: means over all items, from few answers of people and many of models.

People's items must be a random sample, or the probabilities with which they were chosen known;
where they are neither, no corrected estimate is published, and its reason says so. What does not
belong here: the estimators (methods.model_judges).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import ALL_MODELS
from annot_pipeline.methods.model_judges.prediction_powered import (
    PredictionPoweredMean,
    prediction_powered_mean,
)
from annot_pipeline.methods.model_judges.rogan_gladen import rogan_gladen
from annot_pipeline.methods.rankings.inference import FEW
from annot_pipeline.stages.model_judges.answers import NONE, TaskAnswers
from annot_pipeline.stages.model_judges.estimands import Estimand, PeopleSample
from annot_pipeline.stages.model_judges.validation import NO_SHARED_ITEM, THESE_PEOPLE
from annot_pipeline.stages.shared.columns import without_nan

Row = dict[str, Any]

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
