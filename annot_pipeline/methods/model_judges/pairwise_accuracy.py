"""Pairwise accuracy with ties: how often two scores order two items alike, or tie both.

accuracy = (concordant + tied in both) / all pairs of items of a group.

Source: Deutsch, Foster & Freitag 2023, "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise
Accuracy and Tie Calibration" (EMNLP), acc_eq in section 4. Pairs are counted by sorting, in
O(n log^2 n), as whole numbers.

**Reading**: pairs of all groups count alike. The paper's group-by-item figure is the mean of the
accuracies of groups; both are the same where groups have equally many items.

Assumes that scores that should be equal are equal to the last bit.

Degenerate input: without a pair the accuracy is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes


@dataclass(frozen=True)
class PairwiseAccuracy:
    """Counts of pairs of items, by how two scores order them.

    Parameters
    ----------
    concordant, discordant
        Both scores differ, and order the two items alike, or not.
    tied_in_both, tied_in_first, tied_in_second
        Pairs that both scores tie, and those that one alone ties.
    """

    concordant: int
    discordant: int
    tied_in_both: int
    tied_in_first: int
    tied_in_second: int

    @property
    def n_pairs(self) -> int:
        """Return the number of pairs."""
        ties = self.tied_in_both + self.tied_in_first + self.tied_in_second
        return self.concordant + self.discordant + ties

    @property
    def accuracy(self) -> float:
        """Return the share of pairs that both scores order alike or both tie; NaN without pairs."""
        if not self.n_pairs:
            return float("nan")
        return (self.concordant + self.tied_in_both) / self.n_pairs


def pairwise_accuracy(
    first: npt.ArrayLike, second: npt.ArrayLike, groups: npt.ArrayLike | None = None
) -> PairwiseAccuracy:
    """Count the pairs of items that two scores order alike.

    Parameters
    ----------
    first, second
        ``(n,)`` two scores of each item.
    groups
        ``(n,)`` codes: pairs are of items of one group, such as the outputs of a segment. None: all
        items are one group.

    Raises
    ------
    ValueError
        Arrays of different lengths, or scores that are NaN.
    """
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    group = np.zeros(x.size, np.int64) if groups is None else np.asarray(groups, np.int64)
    if x.ndim != 1 or not x.shape == y.shape == group.shape:
        raise ValueError(f"{x.shape} first scores, {y.shape} second scores, {group.shape} groups")
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("scores must be numbers: leave out items without either score")
    codes = np.stack([np.unique(values, return_inverse=True)[1] for values in (group, x, y)])
    in_group, of_first, of_second = codes[:, np.lexsort(codes[::-1])]
    all_pairs = _pairs_of_equals(in_group)
    in_first = _pairs_of_equals(in_group, of_first)
    in_second = _pairs_of_equals(in_group, of_second)
    in_both = _pairs_of_equals(in_group, of_first, of_second)
    # groups lie one after the other, so that no pair of two groups is an inversion
    discordant = _inversions(in_group * (int(of_second.max(initial=0)) + 1) + of_second)
    return PairwiseAccuracy(
        concordant=all_pairs - in_first - in_second + in_both - discordant,
        discordant=discordant,
        tied_in_both=in_both,
        tied_in_first=in_first - in_both,
        tied_in_second=in_second - in_both,
    )


def _pairs_of_equals(*keys: Codes) -> int:
    """Return how many pairs of rows have equal keys."""
    sizes = np.unique(np.stack(keys), axis=1, return_counts=True)[1].astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(values: Codes) -> int:
    """Return how many pairs of values stand in falling order.

    Two values differ in a highest bit: among values with equal bits above it, the pairs are counted
    of which the earlier has the bit.
    """
    ranks = np.unique(values, return_inverse=True)[1].reshape(-1)
    total = 0
    for bit in range(int(ranks.max(initial=0)).bit_length()):
        above = ranks >> (bit + 1)
        order = np.argsort(above, kind="stable")
        above, has_bit = above[order], (ranks[order] >> bit) & 1
        before = np.cumsum(has_bit) - has_bit
        starts = np.searchsorted(above, above)
        total += int(((before - before[starts]) * (1 - has_bit)).sum())
    return total
