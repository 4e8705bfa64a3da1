"""Labels that are held out: the probability of each, given the item's other families of judges.

A label is left out of its judge's confusion as well, from expected counts: no fold and no seed is
drawn. Labels of its family on the item are left out with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.e_step import e_step, tempered_classes
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.hierarchical import label_shares
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.votes import smoothed_votes
from annot_pipeline.methods.numerics.blocks import Blocks

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

    def keep_first(self, most: int) -> Predictions:
        """Return the first rows, ``most`` at most."""
        return Predictions(*(array[:most] for array in vars(self).values()))


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
    shares = label_shares(cells.sum(axis=(0, 2))[None], smoothing)[0]
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
    labels, members, published = block.labels, [], []
    for posterior, cells, fitted, value in zip(
        block.posteriors, counts, estimates, published_dependences, strict=True
    ):
        both = [float(fitted.dependence[0]), value]
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
