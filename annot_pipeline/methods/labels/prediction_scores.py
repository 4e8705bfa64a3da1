r"""A model's predictions against gold that is uncertain: every item weighs by what gold knows.

Gold of item i is a distribution p_i over classes, the prediction a class or a distribution q_i.
Expected accuracy is p_i[predicted]; log loss is the cross entropy H(p_i, q_i) = -sum_k p_ik log
q_ik; KL(p_i || q_i) = H(p_i, q_i) - H(p_i); the Brier score is expected over p_i,
sum_k p_ik |e_k - q_i|^2 = sum_k q_ik^2 - 2 sum_k p_ik q_ik + 1, from 0 to 2. Where gold is certain
these are accuracy, log loss and Brier's score as everybody knows them. Log loss and Brier score
are proper: no prediction does better, on average over p_i, than p_i itself, whose log loss is the
entropy of gold.

Sources: Brier 1950; Gneiting & Raftery 2007 (proper scores). Intervals are percentiles of a
bootstrap over items (`methods.numerics.bootstrap`).

**Reading**: a predicted probability below the floor is raised to it, or to gold's where that is
lower still, so that log loss is finite and the KL of gold against itself is 0; nothing is taken
from the other classes. **Reading**: of equally probable classes the first is predicted.

Degenerate input: figures that need probabilities are NaN for predictions that are classes; a
group without items is NaN, its interval too below two items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import rel_entr, xlogy

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples, ratios, replicate
from annot_pipeline.methods.numerics.shares import wilson_interval

FIGURES = (
    "accuracy", "expected_accuracy", "log_loss", "kl", "brier", "log_loss_label", "entropy"
)  # fmt: skip
"""What an item is given; log losses, KL and entropy in nats."""
NEED_PROBABILITIES = ("log_loss", "kl", "log_loss_label")
NO_CLASS = -1
"""Code of a prediction that is none of the classes: wrong, whatever gold is."""


@dataclass(frozen=True)
class ItemScores:
    """What each item is given.

    Parameters
    ----------
    values
        ``(n_items, n_figures)`` in the order of `FIGURES`.
    floored
        ``(n_items,)`` whether the floor was needed for a class whose probability in gold is
        not below the floor itself.
    floor
        What probabilities were raised to.
    """

    values: Floats
    floored: Flags
    floor: float


@dataclass(frozen=True)
class ScoreSums:
    """Sums over the items of each group, of the data and of every resample.

    Parameters
    ----------
    values
        ``(n_groups, n_figures, 1 + rounds)``, the data itself first.
    counts
        ``(n_groups, 1 + rounds)`` items drawn.
    """

    values: Floats
    counts: Floats

    @property
    def n_items(self) -> Codes:
        """Return ``(n_groups,)`` items of the data."""
        return self.counts[:, 0].astype(np.int64)

    def all_groups(self) -> ScoreSums:
        """Return all items as one group."""
        return ScoreSums(self.values.sum(axis=0)[None], self.counts.sum(axis=0)[None])

    def estimates(self, group: int = 0) -> dict[str, Estimate]:
        """Return the mean of each figure over a group's items; accuracy has Wilson's interval."""
        n = int(self.n_items[group])
        estimates = _estimates(ratios(self.values[group], self.counts[group]), n)
        if n:
            right = self.values[group, FIGURES.index("accuracy"), 0]
            low, high = wilson_interval(right, n)
            estimates["accuracy"] = Estimate(right / n, float(low), float(high))
        return estimates


def score_items(
    gold: npt.ArrayLike,
    labels: npt.ArrayLike,
    predicted: npt.ArrayLike,
    probabilities: npt.ArrayLike | None = None,
    *,
    floor: float = 1e-9,
) -> ItemScores:
    """Give every item its figures.

    Parameters
    ----------
    gold
        ``(n_items, n_labels)`` gold's probability of each class; rows sum to 1.
    labels
        ``(n_items,)`` code of gold's label.
    predicted
        ``(n_items,)`` code of the class predicted, or `NO_CLASS`.
    probabilities
        ``(n_items, n_labels)`` probability predicted for each class; what a row lacks to 1 is
        on none of the classes. None where classes alone were predicted.
    floor
        What a predicted probability is at least, in (0, 1).

    Raises
    ------
    ValueError
        Arrays that do not fit together, codes or probabilities outside their range.
    """
    p, label, code = np.asarray(gold, np.float64), *map(_codes, (labels, predicted))
    n_items, n_labels = p.shape
    if label.shape != (n_items,) or code.shape != (n_items,):
        raise ValueError("gold, labels and predicted must be about the same items")
    if not 0 < floor < 1:
        raise ValueError(f"floor is {floor}, allowed is more than 0 and less than 1")
    if label.min(initial=0) < 0 or max(label.max(initial=0), code.max(initial=0)) >= n_labels:
        raise ValueError("codes of labels must be from 0 to n_labels - 1")
    rows = np.arange(n_items)
    named = code != NO_CLASS
    if probabilities is None:
        q = np.zeros_like(p)
        q[rows[named], code[named]] = 1.0
    else:
        q = np.asarray(probabilities, np.float64)
        if q.shape != p.shape or not ((q >= 0) & (q <= 1 + 1e-6)).all():
            raise ValueError("probabilities must be as many as gold's, from 0 to 1")
    raised = np.maximum(q, np.minimum(floor, p))
    entropy = -xlogy(p, p).sum(axis=1)
    divergence = rel_entr(p, raised).sum(axis=1)
    rest = np.maximum(1.0 - q.sum(axis=1), 0.0)
    values = np.column_stack(
        [
            code == label,
            np.where(named, p[rows, code], 0.0),
            entropy + divergence,
            divergence,
            (q**2).sum(axis=1) - 2 * (p * q).sum(axis=1) + 1.0 + rest**2,
            -np.log(np.maximum(q[rows, label], floor)),
            entropy,
        ]
    ).astype(np.float64)
    floored: Flags = np.any((p >= floor) & (q < floor), axis=1)
    if probabilities is None:
        values[:, [FIGURES.index(name) for name in NEED_PROBABILITIES]] = np.nan
        floored = np.zeros(n_items, np.bool_)
    return ItemScores(values, floored, floor)


def resample_scores(
    scores: Sequence[ItemScores],
    groups: npt.ArrayLike,
    resamples: ItemResamples,
    *,
    n_groups: int,
) -> list[ScoreSums]:
    """Sum the items' figures by group, in the data and in every resample.

    Parameters
    ----------
    scores
        Of several predictions of the same ``n_items`` items, which share the resamples.
    groups
        ``(n_items,)`` code of each item's group.
    resamples
        Of the same items.
    n_groups
        Size of the code range.

    Raises
    ------
    ValueError
        Groups and resamples are not about these items.
    """
    group = _codes(groups)
    n_items = resamples.n_items
    if group.shape != (n_items,) or any(
        len(item_scores.values) != n_items for item_scores in scores
    ):
        raise ValueError("scores, groups and resamples must be about the same items")
    # a row a group and figure, and one a group that counts; products add in the order of items
    columns = np.column_stack([*(item_scores.values for item_scores in scores), np.ones(n_items)])
    width = columns.shape[1]
    places = group[:, None] * width + np.arange(width)
    members = np.repeat(np.arange(n_items), width)
    matrix = csr_matrix((columns.ravel(), (places.ravel(), members)), (n_groups * width, n_items))
    sums = replicate(
        lambda weights: np.asarray(matrix @ weights), resamples, floats_per_round=n_items
    ).reshape(n_groups, width, -1)
    n = len(FIGURES)
    return [ScoreSums(sums[:, at * n : (at + 1) * n], sums[:, -1]) for at in range(len(scores))]


def pool(tasks: Sequence[ScoreSums]) -> ScoreSums:
    """Return tasks as one: every item weighs the same. Their resamples are of one number."""
    return ScoreSums(sum_of([t.values for t in tasks]), sum_of([t.counts for t in tasks]))


def mean_over_tasks(tasks: Sequence[ScoreSums]) -> dict[str, Estimate]:
    """Return the mean of each figure over tasks; every task weighs the same."""
    wholes = [task.all_groups() for task in tasks]
    means = [ratios(whole.values[0], whole.counts[0]) for whole in wholes]
    return _estimates(sum_of(means) / len(means), sum(int(w.n_items[0]) for w in wholes))


def sum_of(arrays: Sequence[Floats]) -> Floats:
    """Return the sum of arrays of one shape, in their order."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def _codes(values: npt.ArrayLike) -> Codes:
    return np.asarray(values, np.int64)


def _estimates(replicates: Floats, n_items: int) -> dict[str, Estimate]:
    """Estimate each figure of ``(n_figures, 1 + rounds)``; one item has no interval."""
    nan = float("nan")
    estimates = {
        name: Estimate.from_replicates(row) for name, row in zip(FIGURES, replicates, strict=True)
    }
    if n_items >= 2:
        return estimates
    return {name: Estimate(estimate.value, nan, nan) for name, estimate in estimates.items()}
