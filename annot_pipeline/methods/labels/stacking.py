"""Stacking: probabilities of classes, averaged over dependences of judges, and over votes.

Judges who label the same items err together more than a label model assumes, so that its
probabilities are too sure. With dependence r, n judges tell as much as n / (1 + (n - 1) r)
independent ones (Kish 1965). Members of the average are the label model, fitted with each of the
dependences `DEPENDENCE`, a model of judges who err together on subtypes of items (item_subtypes)
where there are enough items, and smoothed votes.

Weights maximize the log probability of each label given the other judges' labels of the item
(stacking of predictive distributions, Yao et al. 2018, eq. 4, with leave-one-out predictions of
labels, held_out_labels). A Dirichlet prior of `PRIOR_LABELS` labels holds weights of small tasks
to `PRIOR`.

Where votes alone predict labels better than the average, beyond chance, they are published.

Labels cannot show mistakes that all judges share: `UNSEEN` is added to each dependence when
probabilities are published, and `UNSEEN_OF_MODELS` between two language models, which share more
of them. Classes without a vote are capped (unsupported).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.labels.e_step import design_effect, tempered_classes
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.held_out_labels import ModelLabels, Predictions, predict_labels
from annot_pipeline.methods.labels.hierarchical import borrowed_counts
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.item_subtypes import borrowed_by_subtype
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.votes import smoothed_votes
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive

DEPENDENCE = (0.0, 0.15, 0.4)
"""Dependences that the label model is fitted with, in the order of members."""
UNSEEN, UNSEEN_OF_MODELS = 0.45, 0.75
"""Dependence that labels cannot show, added where probabilities are published."""
PRIOR = np.array([0.2, 0.4, 0.3, 0.1])
"""Weights before any label is seen: of the dependences, and of votes."""
PRIOR_SUBTYPES = np.array([0.15, 0.3, 0.25, 0.2, 0.1])
"""The same with subtypes, before votes."""
PRIOR_LABELS = 30.0
"""Labels that the prior is worth."""
ENOUGH = 1_000
"""Labels from which a task weighs members by itself alone."""
SHARED_LABELS = 300.0
"""Labels that the weights which small tasks share are worth."""
TOLERANCE = 1e-10
MAX_ITERATIONS = 100


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
    unseen
        Dependence that is added to that of members, the mean over pairs of judges of an item.
    votes_alone
        Whether smoothed votes are published in place of the average.
    """

    weights: Floats
    shares: Floats
    unseen: float = UNSEEN
    votes_alone: bool = False

    @property
    def dependence(self) -> float:
        """Return the dependence of judges that is published, averaged over members."""
        weights = self.weights[:-1] / self.weights[:-1].sum()
        dependence = np.array([*DEPENDENCE, 0.0])[: weights.size]
        return float(weights @ published_dependence(dependence, self.unseen))


def published_dependence(dependence: Floats, unseen: float) -> Floats:
    """Return dependences with what labels cannot show."""
    return np.asarray(dependence + unseen * (1 - dependence))


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
        Of the label model ``hierarchical``, fitted with each of `DEPENDENCE`, and of subtypes, or
        without them.
    smoothing
        As the model was fitted with.
    shared
        Weights that tasks with few labels share, the prior of a task that has fewer than `ENOUGH`.
    """
    pairs, of_models = tasks.sum(_pairs_of_judges)
    unseen = UNSEEN + (UNSEEN_OF_MODELS - UNSEEN) * float(of_models / max(pairs, 1.0))
    predictions, shares = predict_labels(
        tasks,
        estimates,
        partial(_borrowed, smoothing=smoothing),
        [float(published_dependence(fitted.dependence, unseen)[0]) for fitted in estimates],
        smoothing,
    )
    if shared is not None and tasks.sum(attrgetter("labels.size")) < ENOUGH:
        weights = stacking_weights(predictions, shared, SHARED_LABELS)
    else:
        prior = PRIOR_SUBTYPES if len(estimates) > len(DEPENDENCE) else PRIOR
        weights = stacking_weights(predictions, prior)
    return StackedFit(weights, shares, unseen), predictions


def _pairs_of_judges(codes: LabelCodes) -> Floats:
    """Return the pairs of judges of an item, and those of two models, each twice, ``(2,)``."""
    labels = ItemLabels.from_codes(codes)
    of_models = np.zeros(codes.n_judges) if codes.models is None else codes.models
    weights = labels.weights * of_models[labels.judge]
    n_models = np.round(np.bincount(labels.item, weights, labels.n_items))
    return np.array([float(n @ np.maximum(n - 1, 0)) for n in (labels.n_judges, n_models)])


def _borrowed(cells: Floats, smoothing: float) -> Floats:
    """Return the labels that a judge borrows, of all judges' cells as [observed, true]."""
    if cells.shape[1] > len(cells):
        return borrowed_by_subtype(len(cells))
    return np.asarray(borrowed_counts(cells[None], smoothing)[0])


def stacked_posterior(codes: LabelCodes, estimates: Sequence[Estimates], fit: StackedFit) -> Floats:
    """Return the probabilities ``(n_items, K)`` of the items of a block, averaged over members.

    Parameters
    ----------
    codes
        Labels of a block of items.
    estimates, fit
        Of the whole task.
    """
    block = ModelLabels.from_codes(codes, estimates)
    votes, n = smoothed_votes(block.labels.votes, fit.shares), block.labels.n_judges
    if fit.votes_alone:
        return block.labels.unsupported.cap(votes)
    average = fit.weights[-1] * votes
    for weight, posterior, fitted in zip(
        fit.weights[:-1], block.posteriors, estimates, strict=True
    ):
        with np.errstate(divide="ignore"):  # a class of probability 0 stays one
            logs = np.log(posterior) * design_effect(n, fitted.dependence)[:, None]
        dependence = published_dependence(fitted.dependence, fit.unseen)
        by_subtype = tempered_classes(logs, n, dependence, votes.shape[1])
        n_subtypes = by_subtype.shape[1] // votes.shape[1]
        average += weight * by_subtype.reshape(*votes.shape, n_subtypes).sum(axis=2)
    average /= np.einsum("ik->i", average)[:, None]
    return block.labels.unsupported.cap(average)


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
