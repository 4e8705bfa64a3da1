"""A mean from few human and many model answers: prediction-powered inference, power-tuned.

The model's mean over all items is corrected by what people say of its errors where both answered.
How far the model counts is chosen so that the variance is least: a model that tells nothing of
people's answers gets no weight and costs nothing.

value = mean(human - power x model) + power x mean(model elsewhere)

Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", section
6 (power tuning of a mean). **Reading**: variances of clustered answers are those of sums over
clusters times C / (C - 1), and intervals are Student's; the paper has independent answers and
normal ones, to which these converge.

Valid where people's items are a random sample of the items: `human` and `elsewhere` must differ by
chance alone. What does not belong here: how items were chosen.

The mean is that of all items like these, or (`population="finite"`) of these items alone, whose
answers by the model are all known: the same value, with the variance of Cochran 1977, "Sampling
Techniques", section 7.3 (regression estimates with a preassigned slope),
(1 - f) var(human - slope x model) / n, with f the share of items that people judged and
slope = power / (1 - f).

Degenerate input: fewer than two human answers (or clusters) have no standard error. A model that
always says the same has power 0. The mean of a finite population that people judged whole has the
standard error 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.intervals import variance_of_mean

Population: TypeAlias = Literal["infinite", "finite"]


@dataclass(frozen=True)
class PredictionPoweredMean:
    """A mean with its error, beside that of people alone.

    Parameters
    ----------
    value, standard_error
        Of the mean; the error is NaN where it cannot be known.
    degrees_of_freedom
        Of its interval.
    power
        How far the model counts, in [0, 1].
    human_value, human_standard_error
        Of people's answers alone.
    n_human, n_model
        People's answers, and the model's elsewhere.
    """

    value: float
    standard_error: float
    degrees_of_freedom: float
    power: float
    human_value: float
    human_standard_error: float
    n_human: int
    n_model: int

    @property
    def effective_n_human(self) -> float:
        """Return how many human answers alone would have this error; NaN without errors."""
        if not self.standard_error > 0:
            return float("nan")
        return self.n_human * (self.human_standard_error / self.standard_error) ** 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval; NaN without an error."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees_of_freedom, 0.5 + level / 2)) * self.standard_error
        return self.value - half, self.value + half


def prediction_powered_mean(
    human: Floats,
    model: Floats,
    elsewhere: Floats,
    *,
    clusters: Sequence[Codes] = (),
    clusters_elsewhere: Codes | None = None,
    power: float | None = None,
    weights: Floats | None = None,
    strata: Codes | None = None,
    population: Population = "infinite",
) -> PredictionPoweredMean:
    """Return the mean of people's answers, with the help of a model's.

    Parameters
    ----------
    human, model
        ``(n,)`` people's answers, and the model's on the same items.
    elsewhere
        ``(N,)`` the model's answers on the other items.
    clusters
        One or two ``(n,)`` codes, such as items and judges, of answers that err together.
    clusters_elsewhere
        ``(N,)`` codes of items elsewhere that err together.
    power
        How far the model counts; None: what has the least variance.
    weights
        ``(n,)`` of people's answers: 1 / the probability with which the item was chosen, shared by
        its answers (Hajek 1971). ``elsewhere`` are then the model's answers on all items. None:
        all count alike.
    strata
        ``(n,)`` codes: items of one were drawn with one probability, and weights add up to the
        number of all its items. Differences between strata are an error of these items alone, not
        of people's (Cochran 1977, section 5.3). Each has two answers at least.
    population
        What the mean is of: all items like these, or ``finite``: these items alone.

    Raises
    ------
    ValueError
        Arrays of different lengths, no human answer, more than two kinds of clusters, or clusters
        or weights in a finite population.
    """
    human, model = np.asarray(human, np.float64), np.asarray(model, np.float64)
    elsewhere = np.asarray(elsewhere, np.float64)
    if not human.size or human.size != model.size:
        raise ValueError(f"{human.size} human and {model.size} model answers on the same items")
    if len(clusters) > 2 or any(codes.size != human.size for codes in clusters):
        raise ValueError("clusters: one or two codes for each human answer")
    if population == "finite" and (
        clusters or clusters_elsewhere is not None or weights is not None
    ):
        raise ValueError("a finite population has one answer for each item, no clusters or weights")
    weight = np.ones(human.size) if weights is None else np.asarray(weights, np.float64)
    if weight.size != human.size or not (weight > 0).all():
        raise ValueError("weights: one for each human answer, above 0")
    weight_of_items = weight
    weight = weight / weight.mean()
    human_value, model_value = float((weight * human).mean()), float((weight * model).mean())
    codes = np.zeros(human.size, np.int64) if strata is None else np.asarray(strata, np.int64)
    of_human, of_model = (_deviations(x, weight, codes) for x in (human, model))
    if power is None:
        power = best_power(human, model, elsewhere)
        if weights is not None:
            power = _power_of(of_human, of_model, elsewhere)
    value = human_value - power * model_value + (power * float(elsewhere.mean()) if power else 0.0)
    variance, n_clusters = variance_of_mean(of_human - power * of_model, clusters)
    human_variance, _ = variance_of_mean(of_human, clusters)
    if strata is not None:
        variance += _between_strata(human - power * model, weight_of_items, codes)
        human_variance += _between_strata(human, weight_of_items, codes)
    if power:
        of_others = [] if clusters_elsewhere is None else [clusters_elsewhere]
        variance += power**2 * variance_of_mean(elsewhere, of_others)[0]
    if population == "finite":
        unjudged = elsewhere.size / (human.size + elsewhere.size)
        slope = power / unjudged if power else 0.0
        variance = unjudged * variance_of_mean(human - slope * model, ())[0]
        human_variance *= unjudged
    return PredictionPoweredMean(
        value, float(np.sqrt(variance)), float(n_clusters - 1), power, human_value,
        float(np.sqrt(human_variance)), human.size, elsewhere.size,
    )  # fmt: skip


def _deviations(values: Floats, weight: Floats, strata: Codes) -> Floats:
    """Return weighted deviations from the means of strata, ``(n,)``.

    Several strata are corrected for the means that were taken, as `variance_of_mean` corrects one.

    Raises
    ------
    ValueError
        A stratum has one answer.
    """
    n = np.bincount(strata)
    with np.errstate(invalid="ignore"):
        means = np.bincount(strata, weight * values) / np.bincount(strata, weight)
    deviations = weight * (values - means[strata])
    if n.size == 1:
        return deviations
    if (n == 1).any():
        raise ValueError("strata: each needs two answers")
    return np.asarray(deviations * np.sqrt(n / np.maximum(n - 1, 1))[strata])


def _between_strata(values: Floats, weight: Floats, strata: Codes) -> float:
    """Return the variance that the shares of strata have as those of a sample of all items."""
    sizes = np.bincount(strata, weight)
    means = np.bincount(strata, weight * values) / sizes
    n_items = float(sizes.sum())
    overall = float(sizes @ means) / n_items
    return float(sizes @ (means - overall) ** 2) / n_items**2


def best_power(human: Floats, model: Floats, elsewhere: Floats) -> float:
    """Return how far the model should count, in [0, 1].

    cov(human, model) / ((1 + n / N) var(model)), the variance over all items.
    """
    if not elsewhere.size:
        return 0.0
    n, n_elsewhere = human.size, elsewhere.size
    all_answers = np.concatenate([model, elsewhere])
    variance = float(all_answers.var(ddof=1)) if all_answers.size > 1 else 0.0
    if variance <= 0:
        return 0.0
    covariance = float((human - human.mean()) @ (model - model.mean())) / n
    return float(np.clip(covariance / ((1 + n / n_elsewhere) * variance), 0, 1))


def _power_of(of_human: Floats, of_model: Floats, elsewhere: Floats) -> float:
    """Return `best_power` of weighted deviations, whose variance is that of people's items."""
    if not elsewhere.size:
        return 0.0
    n = of_human.size
    variance = float(of_model @ of_model) / n + n / elsewhere.size * float(elsewhere.var())
    if variance <= 0:
        return 0.0
    return float(np.clip(float(of_human @ of_model) / n / variance, 0, 1))
