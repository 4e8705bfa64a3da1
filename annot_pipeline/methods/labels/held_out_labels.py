"""Labels held out in turn, and how probable models find them that were fitted to the others.

Of each item's labels a quarter at a time is held out; all labels that a judge gave an item are
held out together, as one would tell the other. The log score of a label l by judge j of item i
is log sum_k q[i, k] theta[j, k, l]: proper, so no model does better on average than the true one
(Gneiting & Raftery 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.e_step import largest_of_rows
from annot_pipeline.methods.labels.label_matrix import LabelCodes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

FOLDS = 4
MOST_CELLS = 2_000_000
"""Cells of confusions, judges x classes x classes, that fits hold at once, about: some 100 MB."""
TINY = 1e-300
"""Stands for a probability of 0, so that every log is finite."""


@dataclass(frozen=True)
class Fold:
    """Labels that a model is fitted to, and those held out.

    Parameters
    ----------
    training
        Labels to fit to. Codes of items and judges are those of all folds.
    n
        ``(n_items,)`` judges whose labels are among them.
    items, judges, labels
        ``(n_held_out,)`` what is to be predicted.
    """

    training: LabelCodes
    n: Codes
    items: Codes
    judges: Codes
    labels: Codes


@dataclass(frozen=True)
class HeldOutLabels:
    """All folds of a task, or of some of its items."""

    folds: Sequence[Fold]
    n_items: int
    n_labels: int

    @classmethod
    def draw(cls, task: LabelCodes, rng: np.random.Generator, *, most: int) -> HeldOutLabels:
        """Hold out the labels of a task, or of items drawn that have about ``most`` labels."""
        n = np.bincount(task.items, minlength=task.n_items)
        return cls.from_labels(task.of_items(drawn_items(n, rng, most)), rng)

    @classmethod
    def from_labels(cls, task: LabelCodes, rng: np.random.Generator) -> HeldOutLabels:
        """Hold out all labels.

        Of an item with one judge nothing else says anything, so its labels are given in every
        fold. No fold depends on the order of the labels.
        """
        rows = np.lexsort((task.labels, task.judges, task.items))
        items, judges, labels = task.items[rows], task.judges[rows], task.labels[rows]
        item_codes, items = np.unique(items, return_inverse=True)
        judge_codes, judges = np.unique(judges, return_inverse=True)
        n_items, n_judges = item_codes.size, judge_codes.size
        fold = _folds(items, judges, rng)
        folds = []
        for held in (fold == place for place in range(FOLDS if items.size else 0)):
            training = LabelCodes(
                items[~held], judges[~held], labels[~held], n_items, n_judges, task.n_labels
            )
            folds.append(
                Fold(training, n_judges_of(training), items[held], judges[held], labels[held])
            )
        return cls(folds, n_items, int((fold >= 0).sum()))

    def arrays(self) -> Iterator[Codes]:
        """Yield all arrays that it holds, sizes too."""
        for fold in self.folds:
            training = fold.training
            yield np.array([training.n_items, training.n_judges, training.n_labels])
            yield from (
                training.items,
                training.judges,
                training.labels,
                fold.items,
                fold.judges,
                fold.labels,
            )


def drawn_items(n: Codes, rng: np.random.Generator, most: int) -> npt.NDArray[np.bool_]:
    """Which items take part: in an order that is drawn, until they have enough labels.

    Parameters
    ----------
    n
        ``(n_items,)`` labels of each.
    rng, most
        Draws, and how many labels are enough.
    """
    order = rng.permutation(n.size)
    some = np.zeros(n.size, np.bool_)
    some[order] = np.cumsum(n[order]) - n[order] < most
    return some


def _folds(items: Codes, judges: Codes, rng: np.random.Generator) -> Codes:
    """The fold of each label; an item's judges are dealt out evenly, in an order that is drawn.

    -1: in none.
    """
    starts = np.append(True, (np.diff(items) > 0) | (np.diff(judges) > 0))[: items.size]
    answer = np.cumsum(starts) - 1  # of one judge to one item
    item_of = items[starts]
    order = np.lexsort((rng.random(item_of.size), item_of))
    first = np.searchsorted(item_of, item_of)  # items rise
    place = np.empty(item_of.size, np.int64)
    place[order] = np.arange(item_of.size)
    offset = rng.integers(FOLDS, size=int(items.max(initial=-1)) + 1)
    fold = (place - first + offset[item_of]) % FOLDS
    alone = np.bincount(item_of, minlength=offset.size)[item_of] == 1
    return np.asarray(np.where(alone, -1, fold)[answer])


def fits_in_turn(
    tasks: Sequence[LabelCodes],
    *,
    params: DawidSkeneParams,
    priors: Sequence[Floats] | None = None,
) -> Iterator[DawidSkeneResult]:
    """Fits of many tasks, one after the other, made so many at a time as memory is to hold.

    A fit does not depend on those beside it, so the parts change no digit.
    """
    cells = np.cumsum([task.n_judges * task.n_labels**2 for task in tasks])
    part = cells // MOST_CELLS
    for some in np.split(np.arange(len(tasks)), np.flatnonzero(np.diff(part)) + 1):
        yield from dawid_skene_batch(
            [tasks[t] for t in some],
            params=params,
            priors=None if priors is None else [priors[t] for t in some],
        )


def n_judges_of(task: LabelCodes) -> Codes:
    """Judges of each item, ``(n_items,)``: repeats of a judge say nothing of other judges."""
    pairs = np.unique(task.items * max(task.n_judges, 1) + task.judges)
    return np.bincount(pairs // max(task.n_judges, 1), minlength=task.n_items)


def n_predictable(task: LabelCodes) -> int:
    """Labels of items that have others, of other judges."""
    return int((n_judges_of(task) > 1)[task.items].sum())


def tempered(posterior: Floats, power: Floats) -> Floats:
    """Raise probabilities ``(n_items, n_labels)`` to powers ``(n_items,)``, scaled to sum to 1."""
    logs = np.log(np.maximum(posterior, TINY)) * power[:, None]
    logs -= largest_of_rows(logs)
    scaled = np.where(posterior > 0, np.exp(logs), 0.0)
    scaled /= np.einsum("ik->i", scaled)[:, None]  # sum over few columns is slow
    return np.where(power[:, None] == 1, posterior, scaled)


def log_scores(fold: Fold, fit: DawidSkeneResult, powers: Floats) -> Floats:
    """Return log scores of the labels held out, summed by item, under each of some powers.

    Parameters
    ----------
    fold, fit
        The labels, and the model fitted to those that are given.
    powers
        ``(n_powers, n_items)``, in (0, 1], that posteriors are raised to.

    Returns
    -------
    ``(n_powers, n_items)``.
    """
    with np.errstate(divide="ignore"):  # a class that cannot be stays so: exp(-inf) is 0
        logs = np.log(fit.posterior)
    logs -= largest_of_rows(logs)  # 0, whatever the power
    chance = fit.confusion[fold.judges, :, fold.labels]
    scores = np.empty(powers.shape)
    some = max(1, MOST_CELLS // max(logs.size, 1))
    for first in range(0, len(powers), some):
        part = slice(first, first + some)
        shares = np.exp(powers[part, :, None] * logs)
        total = np.einsum("pik->pi", shares)  # sum over few columns is slow
        right = np.einsum("pnk,nk->pn", shares[:, fold.items], chance) / total[:, fold.items]
        scores[part] = [_by_item(fold, of_power) for of_power in right]
    return scores


def log_scores_of_votes(fold: Fold) -> Floats:
    """Return log scores by the item's votes, with one more vote distributed as all votes are."""
    k = fold.training.n_labels
    of_all = np.bincount(fold.training.labels, minlength=k) + 1.0
    votes = np.zeros(fold.n.size * k)
    np.add.at(votes, fold.training.items * k + fold.training.labels, 1.0)
    shares = votes.reshape(-1, k) + of_all / of_all.sum()
    shares /= shares.sum(axis=1, keepdims=True)
    return _by_item(fold, shares[fold.items, fold.labels])


def _by_item(fold: Fold, probability: Floats) -> Floats:
    logs = np.log(np.maximum(probability, TINY))
    return np.asarray(np.bincount(fold.items, weights=logs, minlength=fold.n.size), np.float64)
