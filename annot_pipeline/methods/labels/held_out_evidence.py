"""How well models predict labels that are held out: each from the item's other judges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.held_out_labels import Predictions
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.blocks import Blocks

CLEARLY, LEAST_GAIN = 2.0, 3.0
"""Standard errors, and nats over all labels, by which votes must predict better."""
Score = tuple[float, float]
"""Mean log probability, nats a label, and its standard error; NaN without labels."""


def is_clear(gain: Score, n_labels: float) -> bool:
    """Return whether a gain lies above 0, beyond chance."""
    mean, error = gain
    return bool(mean > CLEARLY * error and mean * n_labels > LEAST_GAIN)


@dataclass(frozen=True)
class Evidence:
    """Mean log probabilities of labels that are held out.

    Parameters
    ----------
    published, dawid_skene, votes
        Of the published model, Dawid-Skene, and smoothed votes.
    gain_of_votes
        How much better votes do than the model; where that is clear, votes are published.
    n_labels
        Labels that are predicted, those of one family on an item as one.
    """

    published: Score
    dawid_skene: Score
    votes: Score
    gain_of_votes: Score
    n_labels: int

    def mean_of(self, model: str) -> Score:
        """Return the score of a model by its name."""
        score: Score = getattr(self, model)
        return score

    @property
    def votes_predict_better(self) -> bool:
        """Return whether votes predict held-out labels better, beyond chance."""
        return is_clear(self.gain_of_votes, self.n_labels)


@dataclass(frozen=True)
class HeldOutScores(Additive):
    """Log probabilities of labels given the item's other families, as sums.

    Parameters
    ----------
    n_labels, squared_labels
        Labels, those of one family on an item as one; and the sum over items of their number
        squared.
    total, squares, products
        ``(n_scores,)`` sums over items of scores, of their squares, and of scores times labels.
    """

    n_labels: float
    squared_labels: float
    total: Floats
    squares: Floats
    products: Floats

    def mean(self, score: int) -> tuple[float, float]:
        """Return the mean of a score, nats a label, and its standard error over items.

        The mean is a ratio of sums over items; its error that of Cochran 1977, section 2.11.
        """
        if not self.n_labels:
            return np.nan, np.nan
        mean = float(self.total[score] / self.n_labels)
        variance = self.squares[score] - 2 * mean * self.products[score]
        variance += mean**2 * self.squared_labels
        return mean, float(np.sqrt(max(variance, 0.0)) / self.n_labels)


def stacked_scores(predictions: Blocks[Predictions], weights: Floats) -> HeldOutScores:
    """Return scores of labels: of the published average, of votes, and how much votes are better.

    The average is that of published dependences, which `weights` do not maximize.
    """
    return predictions.sum(_stacked_scores, weights)


def _stacked_scores(block: Predictions, weights: Floats) -> HeldOutScores:
    average, votes = np.log(block.published @ weights), np.log(block.published[:, -1])
    scores = np.stack([average, votes, votes - average], axis=1)
    return _scores_by_item(block.item, block.times, scores)


def _scores_by_item(item: Codes, times: Floats, scores: Floats) -> HeldOutScores:
    n_items = int(item.max(initial=-1)) + 1
    by_item = np.stack(
        [np.bincount(item, times * score, n_items) for score in scores.T], axis=1
    ).reshape(n_items, scores.shape[1])
    n = np.bincount(item, times, n_items)
    return HeldOutScores(
        float(n.sum()),
        float(n @ n),
        by_item.sum(axis=0),
        (by_item**2).sum(axis=0),
        np.asarray(n @ by_item, np.float64),
    )
