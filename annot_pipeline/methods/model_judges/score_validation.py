"""Scores of a model judge held against people's: bias, error and correlation.

bias = mean over items of (the model's score - the mean of people's); error = root of the mean of
these differences squared; correlations (Pearson 1895, Spearman 1904) are of the model's scores with
the means of people's, over items. The human ceiling holds each person against the mean of the
other people of the item.

Errors come from influence values (Hampel 1974) in clusters of items and of judges. That of an item
on the correlation r is u v - r (u^2 + v^2) / 2 with standard scores u of the model and v of people;
that of an answer adds how the item's mean moves with it. The interval of the correlation is on
Fisher's scale (1921), artanh.

Where items were chosen with known unequal probabilities, an item counts by 1 / its own in means,
correlations and ranks (Hajek 1971), but not in the human ceiling.

Assumes one answer of a judge on an item, and scores of one scale for bias and error; correlations
need no common scale. **Reading**: a person is held against one judge fewer than the model, so that
the ceiling lies somewhat low where people of an item are few.

Degenerate input, each with a reason: no item with both scores; fewer than `FEWEST_ITEMS` items, or
constant scores of either side, have no correlation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges import clustered_estimate as clustered
from annot_pipeline.methods.numerics.rounding import comparable

FEWEST_ITEMS = 3
"""Items below which there is no correlation: that of two items is 1 or -1."""
CONSTANT = 1e-12
"""Standard deviation, as a share of the largest score, that is none."""
NO_SHARED_ITEM = "no item has a score of the model and of people"
NO_CORRELATION = "fewer than 3 items, or constant scores, have no correlation"


@dataclass(frozen=True)
class HumanScores:
    """Each person's scores held against the mean of the others; arrays are ``(n_judges,)``.

    Parameters
    ----------
    bias, root_mean_square, pearson, spearman
        NaN for judges without an item that another judge scored, or without a correlation.
    n_items
        Items of the judge with another judge's score.
    """

    bias: Floats
    root_mean_square: Floats
    pearson: Floats
    spearman: Floats
    n_items: Codes


@dataclass(frozen=True)
class ScoreValidation:
    """How well a model's scores agree with people's.

    Parameters
    ----------
    bias, root_mean_square
        With their errors.
    pearson
        With its error; `pearson_interval` has its interval.
    spearman
        NaN where there is none.
    human
        The same figures of each person, the human ceiling, on the same items.
    n_items, n_judges
        Items with both scores, and people who scored them.
    """

    bias: clustered.ClusteredEstimate
    root_mean_square: clustered.ClusteredEstimate
    pearson: clustered.ClusteredEstimate
    spearman: float
    human: HumanScores
    n_items: int
    n_judges: int


def score_validation(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    scores: npt.ArrayLike,
    model_scores: npt.ArrayLike,
    *,
    documents: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> ScoreValidation:
    """Hold a model's scores against people's.

    Parameters
    ----------
    items, judges
        ``(n,)`` codes from 0 of people's answers; one answer of a judge on an item.
    scores
        ``(n,)`` people's scores.
    model_scores
        ``(n_items,)`` the model's, by code of item; NaN where it has none.
    documents
        ``(n_items,)`` codes: items of one document are one cluster. None: each item is one.
    weights
        ``(n_items,)`` how many items each item that people judged stands for: 1 / the probability
        with which it was chosen. None: all count alike.

    Raises
    ------
    ValueError
        Arrays of different lengths, scores of people that are NaN, or two answers of one judge on
        an item.
    """
    item, judge = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    score, model = np.asarray(scores, np.float64), np.asarray(model_scores, np.float64)
    clustered.check_answers(item, judge, score)
    if np.isnan(score).any():
        raise ValueError("scores of people must be numbers")
    n_judges = int(judge.max(initial=-1)) + 1
    is_shared = ~np.isnan(model[item])
    item, judge, score = item[is_shared], judge[is_shared], score[is_shared]
    human = _human(item, judge, score, n_judges)
    if not item.size:
        missing = clustered.unknown(NO_SHARED_ITEM)
        return ScoreValidation(missing, missing, missing, float("nan"), human, 0, 0)
    document = np.arange(model.size) if documents is None else np.asarray(documents, np.int64)
    shared, code, sizes = np.unique(item, return_inverse=True, return_counts=True)
    means = np.bincount(code, score) / sizes
    model, document = model[shared], document[shared]
    weight = np.ones(shared.size) if weights is None else np.asarray(weights, np.float64)[shared]
    weight = weight / weight.mean()
    answers = _Answers(code, judge, score - means[code], sizes, document, weight)
    difference = model - means
    bias, squares = _mean(difference, weight), difference**2
    mean_square = _mean(squares, weight)
    error = float(np.sqrt(mean_square))
    twice = 2 * error if error > 0 else 1.0
    return ScoreValidation(
        answers.estimate(bias, difference - bias, np.full(shared.size, -1.0)),
        answers.estimate(error, (squares - mean_square) / twice, -2 * difference / twice),
        _correlation(model, means, answers),
        _pearson(_ranks(model, weight), _ranks(means, weight), weight),
        human, int(shared.size), int(np.unique(judge).size),
    )  # fmt: skip


@dataclass(frozen=True)
class _Answers:
    """People's answers: codes of item and judge, deviation from the item's mean, ``(n,)``.

    Answers of each item, its document and its weight are ``(n_items,)``; weights have the mean 1.
    """

    items: Codes
    judges: Codes
    deviations: Floats
    sizes: Codes
    documents: Codes
    weights: Floats

    def estimate(
        self, value: float, influence: Floats, slope: Floats
    ) -> clustered.ClusteredEstimate:
        """Return an estimate with its error.

        From influence values of items, and by how much they grow with the mean of people's scores.
        """
        weight = self.items.size / self.sizes.size / self.sizes[self.items]
        of_answer = influence[self.items] + slope[self.items] * self.deviations
        weighed = self.weights[self.items] * weight * of_answer
        documents = self.documents[self.items]
        return clustered.clustered_estimate(value, weighed, documents, self.judges)


def _human(items: Codes, judges: Codes, scores: Floats, n_judges: int) -> HumanScores:
    """Return the figures of each judge against the mean of the others."""
    n_rest = np.bincount(items)[items] - 1
    has_others = n_rest > 0
    totals = np.bincount(items, scores)[items] - scores
    judge, own = judges[has_others], scores[has_others]
    rest = totals[has_others] / n_rest[has_others]
    figures = np.full((4, n_judges), np.nan)
    for code in np.unique(judge).tolist():
        x, y = own[judge == code], rest[judge == code]
        figures[:, code] = (
            (x - y).mean(), np.sqrt(((x - y) ** 2).mean()), _pearson(x, y),
            _pearson(_ranks(x), _ranks(y)),
        )  # fmt: skip
    return HumanScores(
        figures[0], figures[1], figures[2], figures[3], np.bincount(judge, minlength=n_judges)
    )


def _correlation(x: Floats, y: Floats, answers: _Answers) -> clustered.ClusteredEstimate:
    """Return Pearson's correlation of the model's scores and people's means, with its error."""
    weight = answers.weights
    r = _pearson(x, y, weight)
    if np.isnan(r):
        return clustered.unknown(NO_CORRELATION)
    deviations = [values - _mean(values, weight) for values in (x, y)]
    spreads = [float(np.sqrt(_mean(values**2, weight))) for values in deviations]
    u, v = (values / spread for values, spread in zip(deviations, spreads, strict=True))
    return answers.estimate(r, u * v - r * (u**2 + v**2) / 2, (u - r * v) / spreads[1])


def _mean(values: Floats, weight: Floats) -> float:
    """Return a mean by weights whose own mean is 1."""
    return float((weight * values).mean())


def _pearson(x: Floats, y: Floats, weight: Floats | None = None) -> float:
    """Return Pearson's correlation; NaN for few or constant values."""
    if x.size < FEWEST_ITEMS or _is_constant(x) or _is_constant(y):
        return float("nan")
    weight = np.ones(x.size) if weight is None else weight
    x, y = x - _mean(x, weight), y - _mean(y, weight)
    wx = weight * x
    return float(np.clip((wx @ y) / np.sqrt((wx @ x) * ((weight * y) @ y)), -1, 1))


def _is_constant(values: Floats) -> bool:
    return bool(values.std() <= CONSTANT * np.abs(values).max())


def _ranks(values: Floats, weight: Floats | None = None) -> Floats:
    """Return average ranks, those of equal values equal; means that should be equal are.

    With weights, an item counts for as many.
    """
    codes = np.unique(comparable(values), return_inverse=True)[1].reshape(-1)
    counts = np.bincount(codes, weight)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[codes], np.float64)
