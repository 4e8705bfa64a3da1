"""Labels that are held out: the probability of each from the item's other judges, and evidence.

A label is left out of its judge's confusion as well, from expected counts: no fold and no seed is
drawn. Labels of its family on the item are left out with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.e_step import e_step, tempered_classes
from annot_pipeline.methods.labels.estimates import Estimates, smoothed_shares
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.votes import smoothed_votes
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive

LEAST = 1e-12
"""Probability of a label at least, where counts without it leave nothing."""


@dataclass(frozen=True)
class Predictions:
    """Probability of each label of a block, given the item's other families, by each member.

    Parameters
    ----------
    members
        ``(n_rows, n_members)``; no rows of items with one judge, or one family.
    published
        ``(n_rows, n_members)`` the same at the dependences that are published.
    item
        ``(n_rows,)`` code of the item in its block.
    times
        ``(n_rows,)`` how often the label was given, as a share of its family's labels of the item.
    """

    members: Floats
    published: Floats
    item: Codes
    times: Floats


def predict_labels(
    tasks: Blocks[LabelCodes],
    estimates: Sequence[Estimates],
    added: Callable[[Floats], Floats],
    published: Sequence[float],
    smoothing: float,
) -> tuple[Blocks[Predictions], Floats]:
    """Return predictions of each label from the item's other families, and shares of labels.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items.
    estimates
        Of label models, each a member; votes are the last one. Of all but the first, classes may
        have subtypes.
    added
        Counts that a model adds to each judge's, from those of all judges, as [observed, true].
    published
        Dependence that each member is published with.
    smoothing
        Count added to each class of the shares.
    """
    blocks = tasks.keep(ModelLabels.from_codes, estimates)
    k = estimates[0].log_pi.shape[1]
    counts = []
    for member, fitted in enumerate(estimates):
        cells = blocks.sum(_cell_counts, member).reshape(-1, k, fitted.log_pi.shape[1])
        counts.append(cells + added(cells.sum(axis=0)))
    shares = smoothed_shares(cells.sum(axis=(0, 2))[None], smoothing)[0]
    return blocks.keep(predict, counts, estimates, published, shares), shares


def pool_predictions(predictions: Sequence[Predictions]) -> Predictions:
    """Return predictions of several tasks as one; items lose their meaning."""
    columns = zip(*(vars(task).values() for task in predictions), strict=True)
    return Predictions(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True)
class ModelLabels:
    """Labels of a block, with the posterior of each fit and the labels it expects by class."""

    labels: ItemLabels
    posteriors: Sequence[Floats]
    cells: Sequence[Floats]

    @classmethod
    def from_codes(cls, codes: LabelCodes, estimates: Sequence[Estimates]) -> ModelLabels:
        """Return the labels with what fits of the whole task say of them."""
        matrix = LabelMatrix.from_tasks([0], [codes])
        posteriors = [e_step(matrix, fitted)[0] for fitted in estimates]
        cells = [matrix.votes_by_judge @ posterior for posterior in posteriors]
        return cls(ItemLabels.from_codes(codes), posteriors, cells)


def _cell_counts(block: ModelLabels, member: int) -> Floats:
    return block.cells[member]


def predict(
    block: ModelLabels,
    counts: Sequence[Floats],
    estimates: Sequence[Estimates],
    published_dependences: Sequence[float],
    shares: Floats,
) -> Predictions:
    """Return what the members of the stack predict of the labels of a block that are held out."""
    labels, members = block.labels, zip(block.posteriors, counts, estimates, strict=True)
    predicted = [
        held_out_predictions(labels, p, cells, fit.log_pi[0], [float(fit.dependence[0]), value])
        for (p, cells, fit), value in zip(members, published_dependences, strict=True)
    ]
    votes = held_out_votes(labels, shares)
    some = labels.n_judges[labels.item] > 1
    by_member, by_published = (
        np.maximum(np.stack([*probabilities, votes], axis=1)[some], LEAST)
        for probabilities in zip(*predicted, strict=True)
    )
    return Predictions(by_member, by_published, labels.item[some], labels.weights[some])


def held_out_predictions(
    labels: ItemLabels,
    posterior: Floats,
    counts: Floats,
    log_pi: Floats,
    dependences: Sequence[float],
) -> list[Floats]:
    """Return the probability of each label without its family's labels, ``(n_cells,)``, by one fit.

    Parameters
    ----------
    labels
        Of a block of items.
    posterior
        ``(n_items, K)`` of the fit.
    counts
        ``(n_judges, K, K)`` expected counts of the task as [judge, observed, true], with those of
        the prior.
    log_pi
        ``(K,)``.
    dependences
        For each of which there is an array.
    """
    own = posterior[labels.item]
    of_pair = labels.sum_by_pair(np.ones((labels.pair.size, 1)))[labels.pair]
    others_counts = np.maximum(
        counts[labels.judge, labels.label] - labels.times[:, None] * own, LEAST
    )
    chance = others_counts / np.maximum(counts.sum(axis=1)[labels.judge] - of_pair * own, LEAST)
    evidence = labels.sum_by_voter(np.log(chance))
    rest = labels.sum_by_item(evidence)[labels.voter_item] - evidence
    logs, predicted = rest + log_pi, {}
    for dependence in set(dependences):
        p = tempered_classes(logs, labels.n_others, dependence, labels.n_labels)
        p = labels.unsupported_by_others.cap(p)
        predicted[dependence] = np.einsum("ck,ck->c", p[labels.voter], chance)
    return [predicted[dependence] for dependence in dependences]


def held_out_votes(labels: ItemLabels, shares: Floats) -> Floats:
    """Return the probability of each label by the smoothed votes of others, ``(n_cells,)``."""
    votes = smoothed_votes(labels.votes_of_others, shares)
    return np.asarray(votes[labels.voter, labels.label])


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
