"""Whether families of judges help: do they predict the labels of others better than no families?

Each label is predicted from the labels of other families on the item, by fits of the label model
``hierarchical`` without the families and with them, and by votes. Families are worth using where
the best fit with them predicts best. Without a second family on any item nothing is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.e_step import e_step, expected_counts
from annot_pipeline.methods.labels.estimates import Estimates, smoothed_shares
from annot_pipeline.methods.labels.held_out_labels import (
    LEAST,
    held_out_predictions,
    held_out_votes,
)
from annot_pipeline.methods.labels.hierarchical import borrowed_counts
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.stacking import DEPENDENCE
from annot_pipeline.methods.numerics.blocks import Blocks


@dataclass(frozen=True)
class FamilyComparison:
    """Mean log probability of labels, each predicted from labels of other families.

    Parameters
    ----------
    without_families, with_families, votes
        By the best fit without the families found, by the best one with them, and by votes.
    """

    without_families: float
    with_families: float
    votes: float

    @property
    def families_help(self) -> bool:
        """Return whether labels are predicted best by a fit with these families."""
        return self.with_families > max(self.without_families, self.votes)


def compare_families(
    tasks: Blocks[LabelCodes],
    families: Codes,
    without_families: Sequence[Estimates],
    with_families: Sequence[Estimates],
    smoothing: float = 0.01,
) -> FamilyComparison:
    """Compare fits by the probability of labels, each given those of other families.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items, as ``without_families`` was fitted to them.
    families
        ``(n_judges,)`` families found.
    without_families, with_families
        Fits of ``hierarchical`` with each of `stacking.DEPENDENCE`, without and with them.
    smoothing
        As the model was fitted with.
    """
    related = tasks.keep(LabelCodes.with_families, families)
    scores = []
    for blocks, estimates in ((tasks, without_families), (related, with_families)):
        k = estimates[0].log_pi.shape[1]
        for fitted, dependence in zip(estimates, DEPENDENCE, strict=True):
            cells = blocks.sum(_cell_counts, fitted).reshape(-1, k, k)
            counts = cells + borrowed_counts(cells.sum(axis=0)[None], smoothing)[0]
            shared = (families, fitted, counts, dependence)
            scores.append(blocks.sum(_log_scores, *shared))
    n_observed = cells.sum(axis=(0, 2))  # of each label; the same by every fit
    shares = smoothed_shares(n_observed[None], smoothing)[0]
    log_score, weight = tasks.sum(_vote_scores, families, shares).tolist()
    by_fit = [float(score[0]) / max(weight, LEAST) for score in scores]
    n = len(without_families)
    return FamilyComparison(max(by_fit[:n]), max(by_fit[n:]), log_score / max(weight, LEAST))


def _cell_counts(codes: LabelCodes, fitted: Estimates) -> Floats:
    return expected_counts(LabelMatrix.from_tasks([0], [codes]), fitted).theta


def _log_scores(
    codes: LabelCodes, families: Codes, fitted: Estimates, counts: Floats, dependence: float
) -> Floats:
    """Return the log score of labels of a block by one fit; an array of one number."""
    posterior, _ = e_step(LabelMatrix.from_tasks([0], [codes]), fitted)
    labels = ItemLabels.from_codes(codes.with_families(families))
    [p] = held_out_predictions(labels, posterior, counts, fitted.log_pi[0], [dependence])
    return _sum_logs(labels, p)[:1]


def _vote_scores(codes: LabelCodes, families: Codes, shares: Floats) -> Floats:
    """Return the log score of labels of a block by votes, and the sum of weights."""
    labels = ItemLabels.from_codes(codes.with_families(families))
    return _sum_logs(labels, held_out_votes(labels, shares))


def _sum_logs(labels: ItemLabels, probability: Floats) -> Floats:
    some = labels.n_judges[labels.item] > 1
    weights = labels.weights[some]
    return np.array([weights @ np.log(np.maximum(probability[some], LEAST)), weights.sum()])
