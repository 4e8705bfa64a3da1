"""Stacking: probabilities of classes, averaged over dependences of judges, and over votes.

Judges who label the same items err together more than a label model assumes, so that its
probabilities are too sure. With dependence r, n judges tell as much as n / (1 + (n - 1) r)
independent ones (Kish 1965). Members of the average are the label model, fitted with each of the
dependences `DEPENDENCE`, and smoothed votes.

Weights maximize the log probability of each label given the other judges' labels of the item
(stacking of predictive distributions, Yao et al. 2018, eq. 4, with leave-one-out predictions of
labels). The predictions leave a label out of its judge's confusion as well, from expected counts:
no fold and no seed is drawn. A Dirichlet prior of `PRIOR_LABELS` labels holds weights of small
tasks to `PRIOR`.

Where votes alone predict labels better than the average, beyond chance, they are published.

Labels cannot show mistakes that all judges share: `UNSEEN` is added to each dependence when
probabilities are published. All classes without a vote on an item have together at most
1 / (max(n, d) + 2), n judges and d classes with votes, so that none of them is the label.

Judges of one family count as one judge: a family's m labels of an item are 1/m of a vote each, and
a label is predicted from the labels of other families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.e_step import design_effect, e_step, largest_of_rows
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.hierarchical import borrowed_counts, label_shares
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.blocks import Blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

DEPENDENCE = (0.0, 0.15, 0.4)
"""Dependences that the label model is fitted with, in the order of members."""
UNSEEN = 0.15
"""Dependence that labels cannot show, added where probabilities are published."""
PRIOR = np.array([0.2, 0.4, 0.3, 0.1])
"""Weights before any label is seen: of the dependences, and of votes."""
PRIOR_LABELS = 30.0
"""Labels that the prior is worth."""
ENOUGH = 1_000
"""Labels from which a task weighs members by itself alone."""
SHARED_LABELS = 300.0
"""Labels that the weights which small tasks share are worth."""
VOTES = 1.0
"""Votes, distributed as all labels are, that are added to an item's votes."""
LEAST = 1e-12
"""Probability of a label at least, where counts without it leave nothing."""
TOLERANCE = 1e-10
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class ItemLabels:
    """Labels of a block of items of one task, each (item, judge, label) once.

    Parameters
    ----------
    item, judge, label, times
        ``(n_cells,)``, sorted by item and judge; ``times`` a judge gave the label.
    pair
        ``(n_cells,)`` code of (item, judge), from 0.
    voter
        ``(n_cells,)`` place of (item, family) among `voter_item`; without families that of
        (item, judge).
    voter_item
        ``(n_voters,)``.
    n_votes
        ``(n_voters,)`` labels that share one vote; 1 without families.
    n_items, n_labels
        Sizes; n_labels is K.
    """

    item: Codes
    judge: Codes
    label: Codes
    times: Floats
    pair: Codes
    voter: Codes
    voter_item: Codes
    n_votes: Floats
    n_items: int
    n_labels: int

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> ItemLabels:
        """Return labels in this layout."""
        j, k = codes.n_judges, codes.n_labels
        cells, times = np.unique(
            (codes.items * j + codes.judges) * k + codes.labels, return_counts=True
        )
        item, judge, times = cells // k // j, cells // k % j, times.astype(np.float64)
        is_first = np.append(True, np.diff(cells // k) > 0)[: cells.size]  # cells are sorted
        pairs, pair = (cells // k)[is_first], np.cumsum(is_first) - 1
        voters, voter, n_votes = pairs, pair, np.ones(pairs.size)
        if codes.families is not None:
            if (codes.families != np.arange(j)).any():
                voters, voter = np.unique(item * j + codes.families[judge], return_inverse=True)
                voter = voter.reshape(-1)
            n_votes = np.asarray(np.bincount(voter, times, voters.size), np.float64)
        return cls(
            item,
            judge,
            cells % k,
            times,
            pair,
            voter,
            voters // j,
            n_votes,
            codes.n_items,
            k,
        )

    @cached_property
    def n_judges(self) -> Codes:
        """Judges of each item, ``(n_items,)``; those of one family are one."""
        return np.bincount(self.voter_item, minlength=self.n_items)

    @cached_property
    def votes(self) -> Floats:
        """Votes on each item by class, ``(n_items, K)``; above 0 where there is a label."""
        cells = self.item * self.n_labels + self.label
        votes = np.bincount(cells, weights=self.weights, minlength=self.n_items * self.n_labels)
        return np.asarray(votes.reshape(self.n_items, self.n_labels), np.float64)

    @cached_property
    def weights(self) -> Floats:
        """Votes that each label has with its repeats, ``(n_cells,)``."""
        return np.asarray(self.times / self.n_votes[self.voter])

    @cached_property
    def votes_of_others(self) -> Floats:
        """Votes on an item by other judges or families, ``(n_voters, K)``."""
        own = self.sum_by_voter(np.eye(self.n_labels)[self.label])
        # exactly 0 where no other judge has a vote: then the sum is that of one number and zeros
        return np.asarray(self.sum_by_item(own)[self.voter_item] - own)

    def sum_by_pair(self, values: Floats) -> Floats:
        """Return sums of ``(n_cells, ...)`` values, each times its label's times, by pair."""
        n_pairs = int(self.pair.max(initial=-1)) + 1
        return np.asarray(self._by(self.pair, n_pairs, self.times) @ values)

    def sum_by_voter(self, values: Floats) -> Floats:
        """Return sums of ``(n_cells, ...)`` values, each times its label's votes, by voter."""
        return np.asarray(self._by(self.voter, self.voter_item.size, self.weights) @ values)

    def sum_by_item(self, values: Floats) -> Floats:
        """Return sums of ``(n_voters, ...)`` values by item."""
        ones = np.ones(self.voter_item.size)
        return np.asarray(self._by(self.voter_item, self.n_items, ones) @ values)

    def _by(self, group: Codes, n_groups: int, weights: Floats) -> csr_array:
        from scipy.sparse import csr_array

        places = (group, np.arange(group.size))
        return csr_array((weights, places), shape=(n_groups, group.size))


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

    def keep_first(self, most: int) -> Predictions:
        """Return the first rows, ``most`` at most."""
        return Predictions(*(array[:most] for array in vars(self).values()))


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


@dataclass(frozen=True)
class _Objective(Additive):
    """The log probability of labels under some weights, its gradient and observed information."""

    value: Floats
    gradient: Floats
    information: Floats


@dataclass(frozen=True)
class StackedFit:
    """What averages the probabilities of a task.

    Parameters
    ----------
    weights
        ``(n_members,)``, those of votes last.
    shares
        ``(K,)`` of labels.
    votes_alone
        Whether smoothed votes are published in place of the average.
    """

    weights: Floats
    shares: Floats
    votes_alone: bool = False

    @property
    def dependence(self) -> float:
        """Return the dependence of judges that is published, averaged over members."""
        weights = self.weights[:-1] / self.weights[:-1].sum()
        return float(weights @ published_dependence(np.array(DEPENDENCE)))


def published_dependence(dependence: Floats) -> Floats:
    """Return dependences with what labels cannot show."""
    return np.asarray(dependence + UNSEEN * (1 - dependence))


def fit_stacking(
    tasks: Blocks[LabelCodes],
    estimates: Sequence[Estimates],
    *,
    smoothing: float = 0.01,
    shared: Floats | None = None,
) -> tuple[StackedFit, Blocks[Predictions]]:
    """Return the weights of members that predict the labels of a task best, and the predictions.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items.
    estimates
        Of the label model ``hierarchical``, fitted with each of `DEPENDENCE`.
    smoothing
        As the model was fitted with.
    shared
        Weights that tasks with few labels share, the prior of a task that has fewer than `ENOUGH`.
    """
    predictions, shares = predict_labels(
        tasks,
        estimates,
        partial(borrowed_counts, smoothing=smoothing),
        published_dependence(np.array(DEPENDENCE)).tolist(),
        smoothing,
    )
    if shared is not None and tasks.sum(_n_labels) < ENOUGH:
        weights = stacking_weights(predictions, shared, SHARED_LABELS)
    else:
        weights = stacking_weights(predictions)
    return StackedFit(weights, shares), predictions


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
        Of label models, each a member; votes are the last one.
    added
        Counts that a model adds to each judge's, from those of all judges, ``(n_tasks, K, K)`` as
        [task, observed, true].
    published
        Dependence that each member is published with.
    smoothing
        Count added to each class of the shares.
    """
    blocks = tasks.keep(_ModelLabels.from_codes, estimates)
    k = estimates[0].log_pi.shape[1]
    counts = []
    for member in range(len(estimates)):
        cells = blocks.sum(_cell_counts, member).reshape(-1, k, k)
        counts.append(cells + added(cells.sum(axis=0)[None])[0])
    shares = label_shares(cells.sum(axis=(0, 2))[None], smoothing)[0]
    return blocks.keep(_predict, counts, estimates, published, shares), shares


def pool_predictions(predictions: Sequence[Predictions]) -> Predictions:
    """Return predictions of several tasks as one; items lose their meaning."""
    columns = zip(*(vars(task).values() for task in predictions), strict=True)
    return Predictions(*(np.concatenate(column) for column in columns))


def _n_labels(labels: LabelCodes) -> int:
    return labels.items.size


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


def stacked_posterior(codes: LabelCodes, estimates: Sequence[Estimates], fit: StackedFit) -> Floats:
    """Return the probabilities ``(n_items, K)`` of the items of a block, averaged over members.

    Parameters
    ----------
    codes
        Labels of a block of items.
    estimates, fit
        Of the whole task.
    """
    block = _ModelLabels.from_codes(codes, estimates)
    votes, n = block.labels.votes, block.labels.n_judges
    if fit.votes_alone:
        return cap_unsupported(smoothed_votes(votes, fit.shares), votes, n)
    average = fit.weights[-1] * smoothed_votes(votes, fit.shares)
    for weight, posterior, dependence in zip(
        fit.weights[:-1], block.posteriors, DEPENDENCE, strict=True
    ):
        with np.errstate(divide="ignore"):  # a class of probability 0 stays one
            logs = np.log(posterior) * design_effect(n, dependence)[:, None]
        average += weight * tempered(logs, n, float(published_dependence(np.array(dependence))))
    return cap_unsupported(average, votes, n)


@dataclass(frozen=True)
class _ModelLabels:
    """Labels of a block, with the posterior and the expected counts of each fit."""

    labels: ItemLabels
    posteriors: Sequence[Floats]
    counts: Sequence[Counts]

    @classmethod
    def from_codes(cls, codes: LabelCodes, estimates: Sequence[Estimates]) -> _ModelLabels:
        matrix = LabelMatrix.from_tasks([0], [codes])
        expected = [e_step(matrix, fitted) for fitted in estimates]
        return cls(ItemLabels.from_codes(codes), *zip(*expected, strict=True))


def _cell_counts(block: _ModelLabels, member: int) -> Floats:
    return block.counts[member].theta


def _predict(
    block: _ModelLabels,
    counts: Sequence[Floats],
    estimates: Sequence[Estimates],
    published_dependences: Sequence[float],
    shares: Floats,
) -> Predictions:
    labels, members, published = block.labels, [], []
    for posterior, cells, fitted, shown in zip(
        block.posteriors, counts, estimates, published_dependences, strict=True
    ):
        both = [float(fitted.dependence[0]), shown]
        predicted = held_out_predictions(labels, posterior, cells, fitted.log_pi[0], both)
        members.append(predicted[0])
        published.append(predicted[1])
    votes = held_out_votes(labels, shares)
    some = labels.n_judges[labels.item] > 1
    by_member, by_published = (
        np.maximum(np.stack([*predicted, votes], axis=1)[some], LEAST)
        for predicted in (members, published)
    )
    return Predictions(by_member, by_published, labels.item[some], labels.weights[some])


def stacking_weights(
    predictions: Blocks[Predictions], prior: Floats = PRIOR, prior_labels: float = PRIOR_LABELS
) -> Floats:
    """Return the weights of members, ``(n_members,)``, that predict labels best.

    Newton's method on a concave function over the simplex; the prior keeps weights above 0.

    Parameters
    ----------
    predictions
        Of all items of a task.
    prior, prior_labels
        Weights before any label is seen, and the number of labels that they are worth.
    """
    weights = prior / prior.sum()
    counts = prior_labels * weights
    at = predictions.sum(_objective, weights)
    value = float(at.value) + counts @ np.log(weights)
    for _ in range(MAX_ITERATIONS):
        gradient = at.gradient + counts / weights
        information = at.information + np.diag(counts / weights**2)
        step = _constrained_step(gradient, information)
        gain = float(gradient @ step)  # twice what the step promises
        if gain <= TOLERANCE * max(1.0, abs(value)):
            break
        shrinking = step < 0
        size = min(1.0, 0.95 * float((-weights[shrinking] / step[shrinking]).min(initial=np.inf)))
        while True:
            tried = weights + size * step
            tried /= tried.sum()
            at_tried = predictions.sum(_objective, tried)
            new = float(at_tried.value) + counts @ np.log(tried)
            if new >= value + 0.25 * size * gain * 0.5 or size < TOLERANCE:
                break
            size /= 2
        weights, at, value = tried, at_tried, new
    return np.asarray(weights)


def _constrained_step(gradient: Floats, information: Floats) -> Floats:
    """Return the Newton step that leaves the sum of weights as it is."""
    both = np.linalg.solve(information, np.stack([gradient, np.ones_like(gradient)], axis=1))
    return np.asarray(both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum()))


def _objective(block: Predictions, weights: Floats) -> _Objective:
    p = block.members @ weights
    scaled = block.members / p[:, None]
    return _Objective(
        np.asarray(block.times @ np.log(p)),
        scaled.T @ block.times,
        (scaled * block.times[:, None]).T @ scaled,
    )


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
    others = labels.sum_by_item(evidence)[labels.voter_item] - evidence
    n = labels.n_judges[labels.voter_item] - 1
    votes = labels.votes_of_others
    predicted = []
    for dependence in dependences:
        p = cap_unsupported(tempered(others + log_pi, n, dependence), votes, n)
        predicted.append(np.einsum("ck,ck->c", p[labels.voter], chance))
    return predicted


def held_out_votes(labels: ItemLabels, shares: Floats) -> Floats:
    """Return the probability of each label by the smoothed votes of others, ``(n_cells,)``."""
    votes = smoothed_votes(labels.votes_of_others, shares)
    return np.asarray(votes[labels.voter, labels.label])


def smoothed_votes(votes: Floats, shares: Floats) -> Floats:
    """Return the shares of votes by class, with `VOTES` votes distributed as all labels are."""
    return np.asarray((votes + VOTES * shares) / (votes.sum(axis=1, keepdims=True) + VOTES))


def tempered(log_posterior: Floats, n_judges: Codes, dependence: float) -> Floats:
    """Return the posterior of n judges of whom each repeats others by ``dependence``."""
    logs = log_posterior / design_effect(n_judges, dependence)[:, None]
    logs -= largest_of_rows(logs)
    p = np.exp(logs, out=logs)
    p /= np.einsum("ik->i", p)[:, None]
    return np.asarray(p)


def cap_unsupported(posterior: Floats, votes: Floats, n_judges: Codes) -> Floats:
    """Return probabilities in which classes without a vote have 1 / (max(n, d) + 2) at most.

    Parameters
    ----------
    posterior, votes
        ``(n_items, K)``.
    n_judges
        ``(n_items,)``; items without judges stay as they are.
    """
    without = (votes == 0) & (n_judges > 0)[:, None]
    n_classes = np.einsum("ik->i", (votes > 0).astype(np.int64))  # sum over few columns is slow
    most = 1 / (np.maximum(n_judges, n_classes) + 2)
    mass = np.einsum("ik,ik->i", posterior, without)
    high = np.flatnonzero(mass > most)
    capped = posterior.copy()
    # by votes where the classes that have some are left no probability
    rest = np.where(without[high], 0.0, posterior[high])
    total = rest.sum(axis=1)
    is_empty = total < LEAST
    rest[is_empty] = votes[high][is_empty]
    total[is_empty] = rest[is_empty].sum(axis=1)
    down, up = most[high] / mass[high], (1 - most[high]) / total
    capped[high] = np.where(without[high], posterior[high] * down[:, None], rest * up[:, None])
    return capped
