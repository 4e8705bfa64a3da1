"""Coverage of intervals from many model and few human judgments, over draws of people's items.

Estimates of one quantity stand side by side: people alone, the model alone, the prediction-powered
mean and, of the prevalence of a class, that of Rogan & Gladen (methods.model_judges). What does not
belong here: which items people judge, and what is true (recorded_model_judges,
simulated_model_judges).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.prediction_powered import (
    Population,
    prediction_powered_mean,
)
from annot_pipeline.methods.model_judges.rogan_gladen import rogan_gladen

LABELS, COMPARISONS = "labels", "comparisons"
HUMAN, MODEL, PREDICTION_POWERED = "human", "model", "prediction_powered"
ROGAN_GLADEN = "rogan_gladen"
METHODS = {
    LABELS: (HUMAN, MODEL, PREDICTION_POWERED, ROGAN_GLADEN),
    COMPARISONS: (HUMAN, MODEL, PREDICTION_POWERED),
}
"""By kind of judgments."""
UNKNOWN = (math.nan, math.nan, math.nan, math.nan)
NORMAL = 1.959963984540054
"""Quantile of the 95% interval of a model alone, whose items are many."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Judgments on one quantity in one draw, as numbers such as 1 for a win.

    Parameters
    ----------
    human, model
        ``(n,)`` people's answers, and the model's on the same items.
    elsewhere
        ``(N,)`` the model's answers on items without people's.
    model_everywhere
        The model's answers on all items, each item once.
    truth
        Of the quantity.
    clusters
        ``(n,)`` codes of answers that err together, such as items and judges.
    population
        Whether the truth is that of these items alone (``finite``), or of all like them.
    """

    human: Floats
    model: Floats
    elsewhere: Floats
    model_everywhere: Floats
    truth: float
    clusters: Sequence[Codes] = ()
    population: Population = "infinite"


@dataclass(frozen=True)
class Question:
    """Which quantity is estimated with the help of which model.

    Parameters
    ----------
    kind
        One of `METHODS`.
    judge
        The model.
    quantity
        Such as the win rate of a system.
    """

    kind: str
    judge: str
    quantity: str


_Estimate = tuple[float, float, float, float]
"""Value, ends of its interval, and effective human answers for each real one."""
Draw = Callable[[np.random.Generator], Iterable[tuple[Question, Sample]]]
"""Draws people's items anew; the questions are the same in each draw."""


@dataclass(frozen=True)
class IntervalCoverage:
    """How far the 95% intervals of one method hold for one question, over draws.

    Parameters
    ----------
    question, method
        What is estimated, and by which of `METHODS`.
    truth
        Mean over draws.
    coverage
        Share of intervals that contain the truth, of those that there are; NaN without any.
    has_interval
        Share of draws with an interval.
    width
        Mean width of the intervals.
    bias
        Mean of the estimate less the truth.
    effective_ratio
        Human answers alone that would have this standard error, for each real one; the mean.
    squared_error, human_squared_error
        Mean squared errors of this method, and of people alone.
    """

    question: Question
    method: str
    truth: float
    coverage: float
    has_interval: float
    width: float
    bias: float
    effective_ratio: float
    squared_error: float
    human_squared_error: float


def measure_coverage(
    draw: Draw, repeats: int, rng: np.random.Generator, on_draw: Callable[[], None]
) -> list[IntervalCoverage]:
    """Return the coverage of each question and method; ``on_draw`` is called after each draw."""
    estimates: dict[Question, list[list[_Estimate]]] = {}
    truths: dict[Question, list[float]] = {}
    for _ in range(repeats):
        for question, sample in draw(rng):
            estimates.setdefault(question, []).append(_estimate(question.kind, sample))
            truths.setdefault(question, []).append(sample.truth)
        on_draw()
    return [
        one
        for question, rows in estimates.items()
        for one in _summarise(question, np.array(rows), np.array(truths[question]))
    ]


def _estimate(kind: str, sample: Sample) -> list[_Estimate]:
    """Return the estimates of the methods of a kind, in their order."""
    everywhere = sample.model_everywhere
    mean = float(everywhere.mean())
    half = NORMAL * float(everywhere.std()) / math.sqrt(everywhere.size)
    of_model = (mean, mean - half, mean + half, math.nan)
    if not sample.human.size:
        return [of_model if method == MODEL else UNKNOWN for method in METHODS[kind]]
    powered = prediction_powered_mean(
        sample.human, sample.model, sample.elsewhere,
        clusters=sample.clusters, population=sample.population,
    )  # fmt: skip
    human = dataclasses.replace(
        powered, value=powered.human_value, standard_error=powered.human_standard_error
    )
    ratio = powered.effective_n_human / powered.n_human
    estimates = [
        (human.value, *human.interval(), 1.0),
        of_model,
        (powered.value, *powered.interval(), ratio),
    ]
    return [*estimates, _rogan_gladen(sample)] if kind == LABELS else estimates


def _rogan_gladen(sample: Sample) -> _Estimate:
    has_class, says_class = sample.human == 1, sample.model == 1
    one = rogan_gladen(
        int(sample.model_everywhere.sum()), sample.model_everywhere.size,
        int((has_class & says_class).sum()), int(has_class.sum()),
        int((~has_class & ~says_class).sum()), int((~has_class).sum()),
    )  # fmt: skip
    return one.value, one.low, one.high, math.nan


def _summarise(question: Question, rows: Floats, truth: Floats) -> Iterable[IntervalCoverage]:
    """Yield the coverage of each method from estimates ``(draws, n_methods, 4)``."""
    methods = METHODS[question.kind]
    squared = [_mean((rows[:, method_code, 0] - truth) ** 2) for method_code in range(len(methods))]
    for method_code, method in enumerate(methods):
        value, low, high, ratio = rows[:, method_code].T
        has_interval = ~np.isnan(low)
        covered = ((low <= truth) & (truth <= high))[has_interval]
        yield IntervalCoverage(
            question, method, _mean(truth), _mean(covered.astype(np.float64)),
            float(has_interval.mean()), _mean(high - low), _mean(value - truth), _mean(ratio),
            squared[method_code], squared[0],
        )  # fmt: skip


def _mean(values: Floats) -> float:
    """Return the mean of what is not NaN; NaN of nothing."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else float("nan")
