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

Labels cannot show mistakes that all judges share: `UNSEEN` is added to each dependence when
probabilities are published. All classes without a vote on an item have together at most
1 / (max(n, d) + 2), n judges and d classes with votes, so that none of them is the label.

Experimental: no stage publishes these probabilities yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.e_step import design_effect, e_step
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
        ``(n_cells,)`` place of (item, judge) among `pair_item`.
    pair_item
        ``(n_pairs,)``.
    n_items, n_labels
        Sizes; n_labels is K.
    """

    item: Codes
    judge: Codes
    label: Codes
    times: Floats
    pair: Codes
    pair_item: Codes
    n_items: int
    n_labels: int

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> ItemLabels:
        """Return labels in this layout."""
        j, k = codes.n_judges, codes.n_labels
        cells, times = np.unique(
            (codes.items * j + codes.judges) * k + codes.labels, return_counts=True
        )
        pairs, pair = np.unique(cells // k, return_inverse=True)
        return cls(
            cells // k // j,
            cells // k % j,
            cells % k,
            times.astype(np.float64),
            pair.reshape(-1),
            pairs // j,
            codes.n_items,
            k,
        )

    @property
    def n_judges(self) -> Codes:
        """Judges of each item, ``(n_items,)``."""
        return np.bincount(self.pair_item, minlength=self.n_items)

    @property
    def votes(self) -> Floats:
        """Labels of each item by class, ``(n_items, K)``."""
        cells = self.item * self.n_labels + self.label
        size = self.n_items * self.n_labels
        votes = np.bincount(cells, weights=self.times, minlength=size)
        return np.asarray(votes.reshape(self.n_items, self.n_labels), np.float64)

    def sum_by_pair(self, values: Floats) -> Floats:
        """Return sums of ``(n_cells, ...)`` values, each times its label's times, by pair."""
        return np.asarray(self._by(self.pair, self.pair_item.size, self.times) @ values)

    def sum_by_item(self, values: Floats) -> Floats:
        """Return sums of ``(n_pairs, ...)`` values by item."""
        ones = np.ones(self.pair_item.size)
        return np.asarray(self._by(self.pair_item, self.n_items, ones) @ values)

    def _by(self, group: Codes, n_groups: int, weights: Floats) -> csr_array:
        from scipy.sparse import csr_array

        places = (group, np.arange(group.size))
        return csr_array((weights, places), shape=(n_groups, group.size))


@dataclass(frozen=True)
class Predictions:
    """Probability of each label of a block, given the item's other judges, by each member.

    Parameters
    ----------
    members
        ``(n_rows, n_members)``; no rows of items with one judge.
    times
        ``(n_rows,)`` how often the label was given.
    """

    members: Floats
    times: Floats


@dataclass(frozen=True)
class _Objective(Additive):
    """The log probability of labels under some weights, its gradient and observed information."""

    value: Floats
    gradient: Floats
    information: Floats


@dataclass(frozen=True)
class StackedFit:
    """What averages the probabilities of a task: ``weights`` of members, ``shares`` of labels."""

    weights: Floats
    shares: Floats


def fit_stacking(
    tasks: Blocks[LabelCodes], estimates: Sequence[Estimates], smoothing: float = 0.01
) -> StackedFit:
    """Return the weights of members that predict the labels of a task best.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items.
    estimates
        Of the label model ``hierarchical``, fitted with each of `DEPENDENCE`.
    smoothing
        As the model was fitted with.
    """
    blocks = tasks.keep(_ModelLabels.from_codes, estimates)
    k = estimates[0].log_pi.shape[1]
    counts = []
    for member in range(len(estimates)):
        cells = blocks.sum(_cell_counts, member).reshape(-1, k, k)
        counts.append(cells + borrowed_counts(cells.sum(axis=0), smoothing))
    shares = label_shares(cells.sum(axis=(0, 2))[None], smoothing)[0]
    log_pi = [fitted.log_pi[0] for fitted in estimates]
    predictions = blocks.keep(_predict, counts, log_pi, shares)
    return StackedFit(stacking_weights(predictions), shares)


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
    average = fit.weights[-1] * smoothed_votes(votes, fit.shares)
    for weight, posterior, dependence in zip(
        fit.weights[:-1], block.posteriors, DEPENDENCE, strict=True
    ):
        with np.errstate(divide="ignore"):  # a class of probability 0 stays one
            logs = np.log(posterior) * design_effect(n, dependence)[:, None]
        average += weight * tempered(logs, n, dependence + UNSEEN * (1 - dependence))
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
    block: _ModelLabels, counts: Sequence[Floats], log_pi: Sequence[Floats], shares: Floats
) -> Predictions:
    fits = zip(block.posteriors, counts, log_pi, DEPENDENCE, strict=True)
    members = [held_out_predictions(block.labels, *fit) for fit in fits]
    members.append(held_out_votes(block.labels, shares))
    labels = block.labels
    some = labels.n_judges[labels.item] > 1
    return Predictions(np.maximum(np.stack(members, axis=1)[some], LEAST), labels.times[some])


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
    labels: ItemLabels, posterior: Floats, counts: Floats, log_pi: Floats, dependence: float
) -> Floats:
    """Return the probability of each label without itself, ``(n_cells,)``, by one fit.

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
    dependence
        That the model was fitted with.
    """
    own = posterior[labels.item]
    of_pair = labels.sum_by_pair(np.ones((labels.pair.size, 1)))[labels.pair]
    others_counts = np.maximum(
        counts[labels.judge, labels.label] - labels.times[:, None] * own, LEAST
    )
    chance = others_counts / np.maximum(counts.sum(axis=1)[labels.judge] - of_pair * own, LEAST)
    evidence = labels.sum_by_pair(np.log(chance))  # of a judge on an item
    others = labels.sum_by_item(evidence)[labels.pair_item] - evidence
    n = labels.n_judges[labels.pair_item] - 1
    p = cap_unsupported(tempered(others + log_pi, n, dependence), _votes_of_others(labels), n)
    return np.asarray((p[labels.pair] * chance).sum(axis=1))


def held_out_votes(labels: ItemLabels, shares: Floats) -> Floats:
    """Return the probability of each label by the smoothed votes of others, ``(n_cells,)``."""
    votes = smoothed_votes(_votes_of_others(labels), shares)
    return np.asarray(votes[labels.pair, labels.label])


def _votes_of_others(labels: ItemLabels) -> Floats:
    """Return the votes on an item by other judges, ``(n_pairs, K)``."""
    own = labels.sum_by_pair(np.eye(labels.n_labels)[labels.label])
    return np.asarray(labels.votes[labels.pair_item] - own)


def smoothed_votes(votes: Floats, shares: Floats) -> Floats:
    """Return the shares of votes by class, with `VOTES` votes distributed as all labels are."""
    return np.asarray((votes + VOTES * shares) / (votes.sum(axis=1, keepdims=True) + VOTES))


def tempered(log_posterior: Floats, n_judges: Codes, dependence: float) -> Floats:
    """Return the posterior of n judges of whom each repeats others by ``dependence``."""
    logs = log_posterior / design_effect(n_judges, dependence)[:, None]
    logs = logs - logs.max(axis=1, keepdims=True)
    p = np.exp(logs)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


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
    n_classes = (votes > 0).sum(axis=1)
    most = 1 / (np.maximum(n_judges, n_classes) + 2)
    mass = (posterior * without).sum(axis=1)
    is_high = mass > most
    down = np.where(is_high, most / np.where(is_high, mass, 1), 1)
    # by votes where the classes that have some are left no probability
    with_votes = np.where(without, 0.0, posterior)
    total = with_votes.sum(axis=1)
    is_empty = is_high & (total < LEAST)
    with_votes[is_empty] = votes[is_empty]
    total[is_empty] = votes[is_empty].sum(axis=1)
    up = np.where(is_high, (1 - most) / np.where(is_high, total, 1), 1)
    return np.asarray(np.where(without, posterior * down[:, None], with_votes * up[:, None]))
