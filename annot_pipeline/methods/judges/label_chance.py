"""Whether a judge of labels agrees with the other judges better than chance, without known answers.

For judge j and item i let s_i(c) be the share of class c among the answers of the other judges. The
statistic T is the sum of s_i(a_i) over the judge's answers a_i. Under the hypothesis that the answers
have nothing to do with the items, every order of the judge's own answers over the judge's items is
equally likely: T has the mean and variance of a linear permutation statistic (Hoeffding 1951, Annals
of Mathematical Statistics 22, 558-566), and is nearly normal. A judge who always gives one answer
has T equal to its mean: nothing supports that the judge looks at items.

Assumes that the others' answers to an item are worth something on average: judges who copy each
other vouch for each other. ``groups`` of related judges are left out together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
CELLS = 1 << 22
"""Items times classes that are looked at at once."""


@dataclass(frozen=True)
class LabelChance:
    """Agreement of each judge with the others, as sums over answers; arrays are ``(n_judges,)``.

    Parameters
    ----------
    n
        Answers to items that other judges answered too.
    agreement
        Sum of the shares of others who gave the judge's answer.
    expected, variance
        Mean and variance of this sum over all orders of the judge's answers.
    best
        The sum of a judge who always gives the most frequent answer of the others.
    """

    n: Codes
    agreement: Floats
    expected: Floats
    variance: Floats
    best: Floats

    def __add__(self, other: LabelChance) -> LabelChance:
        """Return the sums over both: tasks are independent."""
        return LabelChance(
            self.n + other.n,
            self.agreement + other.agreement,
            self.expected + other.expected,
            self.variance + other.variance,
            self.best + other.best,
        )

    @property
    def z(self) -> Floats:
        """Return the standardised statistic; 0 where it cannot vary."""
        sd = np.sqrt(self.variance)
        return np.divide(self.agreement - self.expected, sd, out=np.zeros_like(sd), where=sd > 0)

    @property
    def p_value(self) -> Floats:
        """Return the chance of so much agreement or more, by the normal; NaN without answers."""
        from scipy.special import ndtr

        return np.where(self.n > 1, ndtr(-self.z), np.nan)

    @property
    def skill(self) -> Floats:
        """Return the agreement beyond chance as a share of the largest possible; NaN if none is."""
        room = self.best - self.expected
        out = np.full(room.shape, np.nan)
        return np.divide(self.agreement - self.expected, room, out=out, where=room > 1e-9)


def label_chance(
    items: Codes,
    judges: Codes,
    labels: Codes,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    groups: Codes | None = None,
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
    """
    group = np.arange(n_judges) if groups is None else groups
    counts = np.zeros((n_items, n_labels))
    np.add.at(counts, (items, labels), 1)
    own_keys = group[judges] * np.int64(n_items) + items
    keys, at = np.unique(own_keys, return_inverse=True)
    own = np.zeros((keys.size, n_labels))
    np.add.at(own, (at, labels), 1)
    others = counts[keys % n_items] - own
    total = others.sum(axis=1)
    shares = np.divide(others, total[:, None], out=others, where=total[:, None] > 0)
    is_shared = total[at] > 0
    at, judges, labels = at[is_shared], judges[is_shared], labels[is_shared]
    n = np.bincount(judges, minlength=n_judges)
    of_judge = np.zeros((n_judges, n_labels))
    np.add.at(of_judge, (judges, labels), 1)
    frequency = of_judge / np.maximum(n, 1)[:, None]
    mean_share = np.zeros((n_judges, n_labels))
    agreement, best = np.zeros(n_judges), np.zeros(n_judges)
    chunks = [slice(k, k + max(1, CELLS // n_labels)) for k in range(0, at.size, max(1, CELLS // n_labels))]
    for chunk in chunks:
        rows, judge = shares[at[chunk]], judges[chunk]
        np.add.at(mean_share, judge, rows)
        agreement += np.bincount(judge, rows[np.arange(judge.size), labels[chunk]], n_judges)
        best += np.bincount(judge, rows.max(axis=1), n_judges)
    mean_share /= np.maximum(n, 1)[:, None]
    overall = (frequency * mean_share).sum(axis=1)
    spread = np.zeros(n_judges)
    for chunk in chunks:
        rows, judge = shares[at[chunk]], judges[chunk]
        row_mean = (rows * frequency[judge]).sum(axis=1)
        centred = rows - row_mean[:, None] - mean_share[judge] + overall[judge][:, None]
        spread += np.bincount(judge, (of_judge[judge] * centred**2).sum(axis=1), n_judges)
    variance = spread / np.maximum(n - 1, 1)
    return LabelChance(n, agreement, n * overall, np.where(n > 1, variance, 0.0), best)
