"""Whether a judge of labels agrees with other judges better than chance, without known answers.

For judge j and item i let s_i(c) be the share of class c among the answers of the other judges. The
statistic T is the sum of s_i(a_i) over the judge's answers a_i. Under the hypothesis that the
answers have nothing to do with the items, every order of the judge's own answers over the judge's
items is equally likely: T has the mean and the variance of a linear permutation statistic
(Hoeffding 1951, Annals of Mathematical Statistics 22, 558-566) and is nearly normal. A judge who
always gives one answer has T equal to its mean: nothing supports that the judge looks at items.

Assumes that the answers of the others to an item are worth something on average: judges who copy
each other vouch for each other. Related judges (``groups``) are left out together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.moments import cell_sums

CELLS = 1 << 22
"""Answers times classes that are looked at at once."""


@dataclass(frozen=True)
class LabelChance:
    """Agreement of each judge with the others, as sums over answers; arrays are ``(n_judges,)``.

    Parameters
    ----------
    n
        Answers to items that other judges of the reference answered too.
    agreement
        Sum of the shares of the others who gave the judge's answer.
    expected, variance
        Mean and variance of this sum over all orders of the judge's answers.
    best
        The sum of a judge who always gives the most frequent answer of the others.
    log_constant
        Natural logarithm of the chance that the others would have given the judge's one answer to
        all of these items, their shares smoothed by one vote; NaN where answers differ.
    """

    n: Codes
    agreement: Floats
    expected: Floats
    variance: Floats
    best: Floats
    log_constant: Floats

    @property
    def z(self) -> Floats:
        """Return the standardised statistic; 0 where it cannot vary."""
        sd = np.sqrt(self.variance)
        z: Floats = np.zeros_like(sd)
        np.divide(self.agreement - self.expected, sd, out=z, where=sd > 0)
        return z

    @property
    def p_value(self) -> Floats:
        """Return the chance of so much agreement or more, by the normal; NaN without answers."""
        from scipy.special import ndtr

        p_value: Floats = np.where(self.n > 1, ndtr(-self.z), np.nan)
        return p_value

    @property
    def room(self) -> Floats:
        """Return how far the best agreement is above chance."""
        return self.best - self.expected

    @property
    def skill(self) -> Floats:
        """Return the agreement above chance as a share of `room`; NaN where there is none."""
        excess = self.agreement - self.expected
        skill: Floats = np.full(excess.shape, np.nan)
        np.divide(excess, self.room, out=skill, where=self.room > 1e-9)
        return skill

    def _shift(self, skill: float) -> Floats:
        """Return the mean of `z` of judges of some skill; 0 where their answers never vary."""
        sd = np.sqrt(self.variance)
        return np.divide(skill * self.room, sd, out=np.zeros_like(sd), where=sd > 0)

    def power(self, skill: float, alpha: float | Floats) -> Floats:
        """Return the chance that judges of some skill have p below alpha; NaN without a skill."""
        from scipy.special import ndtr, ndtri

        # answers that never vary do not pass at any skill; a judge who looks would have varied
        spread = np.sqrt(np.maximum(self.n, 1)) / 2
        still = np.minimum(skill * self.room / spread, np.inf)
        return np.asarray(
            ndtr(np.where(self.variance > 0, self._shift(skill), still) + ndtri(alpha))
        )

    def log_odds_of_chance(self, skill: float) -> Floats:
        """Return how much better chance explains `z` than some skill: the log of a ratio.

        Infinite for answers that never vary: none of them follows the item.
        """
        shift = self._shift(skill)
        return np.where(self.variance > 0, shift * (shift / 2 - self.z), np.inf)

    def by_unit(self, unit: Codes, n_units: int) -> LabelChance:
        """Return the sums over the rows of each unit: tasks are independent.

        Parameters
        ----------
        unit
            ``(n_judges,)`` code of the unit of each row.
        n_units
            How many there are.
        """

        def total(values: npt.ArrayLike) -> Floats:
            return np.bincount(unit, np.asarray(values, np.float64), minlength=n_units).astype(
                np.float64
            )

        n = np.rint(total(self.n)).astype(np.int64)
        answered = np.where(self.n > 0, self.log_constant, 0.0)
        return LabelChance(
            n, total(self.agreement), total(self.expected), total(self.variance),
            total(self.best), np.where(n > 0, total(answered), np.nan),
        )  # fmt: skip


def label_chance(
    items: Codes,
    judges: Codes,
    labels: Codes,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    groups: Codes | None = None,
    reference: Flags | None = None,
) -> LabelChance:
    """Return how far the judges of a task agree with each other.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes of the answers.
    n_items, n_judges, n_labels
        How many there are of each.
    groups
        ``(n_judges,)`` code of the group of each judge, whose answers are left out with the
        judge's own; None: each is alone.
    reference
        ``(n_judges,)`` whether a judge is one of those whom judges are compared with; None: all.
    """
    group = np.arange(n_judges) if groups is None else groups
    counted = np.ones(items.size) if reference is None else reference[judges].astype(np.float64)
    counts = cell_sums(items, labels, shape=(n_items, n_labels), weights=counted)
    keys, at = np.unique(group[judges] * np.int64(n_items) + items, return_inverse=True)
    other_counts = counts[keys % n_items] if keys.size else np.zeros((0, n_labels))
    other_counts -= cell_sums(at, labels, shape=other_counts.shape, weights=counted)
    total = other_counts.sum(axis=1)
    is_shared = total[at] > 0
    at, judges, labels = at[is_shared], judges[is_shared], labels[is_shared]
    # one vote more, split by the class shares of the task: an even split would make constant
    # answers of the common class look improbable where other classes are rare
    prior = (counts.sum(axis=0) + 1 / n_labels) / (counts.sum() + 1)
    smooth = (other_counts + prior) / (total[:, None] + 1)
    shares = np.divide(other_counts, total[:, None], out=other_counts, where=total[:, None] > 0)
    n = np.bincount(judges, minlength=n_judges)
    answers = cell_sums(judges, labels, shape=(n_judges, n_labels))
    frequency = answers / np.maximum(n, 1)[:, None]
    mean_share = np.zeros((n_judges, n_labels))
    agreement, best = np.zeros(n_judges), np.zeros(n_judges)
    for rows, judge, label in _chunks(shares, at, judges, labels):
        mean_share += np.column_stack(
            [np.bincount(judge, of_label, n_judges) for of_label in rows.T]
        )
        agreement += np.bincount(judge, rows[np.arange(judge.size), label], n_judges)
        best += np.bincount(judge, rows.max(axis=1), n_judges)
    mean_share /= np.maximum(n, 1)[:, None]
    overall = (frequency * mean_share).sum(axis=1)
    spread = np.zeros(n_judges)
    for rows, judge, _ in _chunks(shares, at, judges, labels):
        row_mean = (rows * frequency[judge]).sum(axis=1)
        centred = rows - row_mean[:, None] - mean_share[judge] + overall[judge][:, None]
        spread += np.bincount(judge, (answers[judge] * centred**2).sum(axis=1), n_judges)
    is_constant = (answers > 0).sum(axis=1) == 1
    logs = np.bincount(judges, np.log(smooth[at, labels]), n_judges)
    variance = np.where((n > 1) & ~is_constant, spread / np.maximum(n - 1, 1), 0.0)
    constant = np.where(is_constant, logs, np.nan)
    return LabelChance(n, agreement, n * overall, variance, best, constant)


def _chunks(
    shares: Floats, at: Codes, judges: Codes, labels: Codes
) -> Iterator[tuple[Floats, Codes, Codes]]:
    """Yield shares of others by answer, with judges and labels, some at a time."""
    size = max(1, CELLS // max(shares.shape[1], 1))
    for start in range(0, at.size, size):
        some = slice(start, start + size)
        yield shares[at[some]], judges[some], labels[some]
