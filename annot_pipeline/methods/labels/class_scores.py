"""Precision, recall and F1 of each class, against gold's label and against its distribution.

Against the distribution an item counts for a class by gold's probability of it: of gold p and the
predicted class c, true positives are sum_i p_i[c] over items predicted as c, what there was to
find is sum_i p_i[c] over all items. Where gold is certain both are the same. F1 is the harmonic
mean, 2 tp / (n_predicted + n_gold). Intervals: Wilson's for precision and recall against the
label, which are shares of items, else percentiles of a bootstrap over items.

Degenerate input: precision of a class that is never predicted, recall of one that gold does not
have, and F1 of one that neither has are NaN; the mean over classes is over those with an F1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples, ratios, replicate
from annot_pipeline.methods.numerics.shares import wilson_interval


@dataclass(frozen=True)
class ClassScores:
    """Figures of each class; all are of length ``n_labels``.

    Parameters
    ----------
    n_gold, n_predicted
        Items whose gold label it is, and that were predicted as it.
    mass
        Items that gold expects of the class: the sum of its probabilities.
    precision, recall, f1
        Against gold's label.
    expected_precision, expected_recall, expected_f1
        Against gold's distribution.
    mean_f1, mean_expected_f1
        Over classes ("macro").
    """

    n_gold: Codes
    n_predicted: Codes
    mass: Floats
    precision: tuple[Estimate, ...]
    recall: tuple[Estimate, ...]
    f1: tuple[Estimate, ...]
    expected_precision: tuple[Estimate, ...]
    expected_recall: tuple[Estimate, ...]
    expected_f1: tuple[Estimate, ...]
    mean_f1: Estimate
    mean_expected_f1: Estimate


def class_scores(
    gold: npt.ArrayLike, labels: npt.ArrayLike, predicted: npt.ArrayLike, resamples: ItemResamples
) -> ClassScores:
    """Score each class.

    Parameters
    ----------
    gold
        ``(n_items, n_labels)`` gold's probability of each class.
    labels, predicted
        ``(n_items,)`` codes of gold's label and of the class predicted; -1 where that is none.
    resamples
        Of the same items.

    Raises
    ------
    ValueError
        Arrays that are not about the same items, codes that are not of the classes.
    """
    p = np.asarray(gold, np.float64)
    label, code = np.asarray(labels, np.int64), np.asarray(predicted, np.int64)
    n_items, n_labels = p.shape
    if not label.shape == code.shape == (n_items,) == (resamples.n_items,):
        raise ValueError("gold, labels, predicted and resamples must be about the same items")
    if label.min(initial=0) < 0 or max(label.max(initial=0), code.max(initial=0)) >= n_labels:
        raise ValueError("codes of labels must be from 0 to n_labels - 1")
    sums = _sums(p, label, code, resamples)
    right, n_gold, n_predicted, soft_right, mass = sums
    soft_estimates = [
        ratios(soft_right, n_predicted),
        ratios(soft_right, mass),
        ratios(2 * soft_right, n_predicted + mass),
    ]
    f1 = ratios(2 * right, n_predicted + n_gold)
    counted = [values[:, 0].astype(np.int64) for values in (right, n_gold, n_predicted)]
    return ClassScores(
        n_gold=counted[1],
        n_predicted=counted[2],
        mass=mass[:, 0],
        precision=_shares(counted[0], counted[2]),
        recall=_shares(counted[0], counted[1]),
        f1=_estimates(f1),
        expected_precision=_estimates(soft_estimates[0]),
        expected_recall=_estimates(soft_estimates[1]),
        expected_f1=_estimates(soft_estimates[2]),
        mean_f1=Estimate.from_replicates(_mean_defined(f1)),
        mean_expected_f1=Estimate.from_replicates(_mean_defined(soft_estimates[2])),
    )


def _sums(p: Floats, label: Codes, code: Codes, resamples: ItemResamples) -> Floats:
    """Sum right, gold, predicted, right by gold's mass, mass: ``(5, n_labels, 1 + rounds)``."""
    n_items, n_labels = p.shape
    items = np.arange(n_items)
    named = code >= 0
    right = label == code

    def class_matrix(classes: Codes, which: npt.NDArray[np.bool_], values: Floats) -> csr_matrix:
        cells = (values[which], (classes[which], items[which]))
        return csr_matrix(cells, (n_labels, n_items))

    one, every = np.ones(n_items), np.ones(n_items, np.bool_)
    matrices = [
        class_matrix(code, right, one),
        class_matrix(label, every, one),
        class_matrix(code, named, one),
        class_matrix(code, named, p[items, code]),
        csr_matrix(p.T),
    ]

    def statistics(weights: Floats) -> Floats:
        return np.concatenate([np.asarray(matrix @ weights) for matrix in matrices])

    sums = replicate(statistics, resamples, floats_per_round=n_items)
    return sums.reshape(len(matrices), n_labels, -1)


def _estimates(replicates: Floats) -> tuple[Estimate, ...]:
    return tuple(Estimate.from_replicates(row) for row in replicates)


def _mean_defined(values: Floats) -> Floats:
    """Return the mean over classes of what is defined, in each round."""
    defined = ~np.isnan(values)
    return ratios(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def _shares(part: Codes, whole: Codes) -> tuple[Estimate, ...]:
    low, high = wilson_interval(part, whole)
    share = ratios(part.astype(np.float64), whole.astype(np.float64))
    return tuple(map(Estimate, share.tolist(), low.tolist(), high.tolist()))
