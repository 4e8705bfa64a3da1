"""Camps of judges of labels: groups who agree among themselves, and not with each other.

With one truth behind all answers, agreement above chance factors: kappa of judges j and k is about
r_j r_k, r being a judge's correlation with the truth (the one-factor model of Spearman 1904 and of
Dawid & Skene 1979 for two classes). So the agreement between two groups, squared, is the product
of the agreements within them, however good either group is. Of judges who copy each other, or err
the same way, it is far less: a ratio near 0 where they have nothing to do with the others.

Groups are searched by spectral clustering (Ng, Jordan & Weiss 2001) of the judges' excess
agreement: by direction in the space of its two leading eigenvectors, and by the loading on the
first alone, which tells copies from the rest where others agree too little to have a direction. A
group that is chosen for its agreement agrees too well: ratios are measured on the half of the items
by which judges were not grouped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.moments import cell_sums

STEPS = 60
"""Of the power method, always all of them: no stopping rule decides. At most, of k-means."""
CELLS = 1 << 19
"""Most answers times classes that are searched; above this, every k-th item is used."""
ONE_SIDED = 1.645
"""Standard errors to an upper limit that holds with 95%."""


@dataclass(frozen=True)
class CampAgreement:
    """Agreement within and between two groups of judges; NaN without pairs of answers.

    Parameters
    ----------
    first, second, between
        Kappa of pairs of answers to the same items: of the first group, of the second, of one each.
    first_error, second_error, between_error
        Their standard errors over items.
    pairs
        Number of pairs of answers of the first, of the second, and of one each.
    """

    first: float
    second: float
    between: float
    first_error: float
    second_error: float
    between_error: float
    pairs: tuple[int, int, int]

    @property
    def ratio_high(self) -> float:
        """Return the upper limit (95%) of the ratio that is 1 with one truth; NaN without any."""
        within = self.first * self.second
        if not within > 0 or min(self.first, self.second) <= 0:
            return np.nan
        return max(self.between + ONE_SIDED * self.between_error, 0.0) ** 2 / within


def camp_agreement(
    items: Codes, judges: Codes, labels: Codes, second: Flags, *, n_items: int, n_labels: int
) -> CampAgreement:
    """Return the agreement within and between two groups of the judges of a task.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes of the answers.
    second
        ``(n_judges,)`` whether a judge is of the second group.
    n_items, n_labels
        How many there are of each.
    """
    group = second[judges].astype(np.int64)
    return agreement_of_counts(cell_sums(group, items, labels, shape=(2, n_items, n_labels)))


def agreement_of_counts(counts: Floats) -> CampAgreement:
    """Return the agreement within and between two groups.

    Parameters
    ----------
    counts
        ``(2, n_items, n_labels)`` answers of each group.
    """
    n = counts.sum(axis=2)
    kappas, errors, pairs = [], [], []
    for a, b in ((0, 0), (1, 1), (0, 1)):
        same = a == b
        n_pairs = n[a] * (n[b] - same)
        agreed = (counts[a] * (counts[b] - same)).sum(axis=1)
        total = n_pairs.sum()
        kappa = error = np.nan
        if total:
            shares = [
                (counts[x] * (n[y] - same)[:, None]).sum(axis=0) / total
                for x, y in ((a, b), (b, a))
            ]
            chance = float((shares[0] * shares[1]).sum())
            if chance < 1:
                observed = agreed.sum() / total
                kappa = (observed - chance) / (1 - chance)
                residual = (agreed - observed * n_pairs) / total / (1 - chance)
                error = float(np.sqrt((residual**2).sum()))
        kappas.append(float(kappa))
        errors.append(error)
        pairs.append(int(total) // (1 + same))
    return CampAgreement(
        kappas[0],
        kappas[1],
        kappas[2],
        errors[0],
        errors[1],
        errors[2],
        (pairs[0], pairs[1], pairs[2]),
    )


@dataclass(frozen=True)
class Camps:
    """Two groups of judges, and how they agree.

    Parameters
    ----------
    second
        ``(n_judges,)`` whether a judge is of the second group.
    agreement
        On all items by which judges were grouped.
    halves
        The same on each half of the items, with groups by the other half.
    """

    second: Flags
    agreement: CampAgreement
    halves: tuple[CampAgreement, CampAgreement]

    @property
    def ratio_high(self) -> float:
        """Return the upper limit (95%) of the ratio by both halves; NaN where either has none."""
        if not all(min(half.first, half.second) > 0 for half in self.halves):
            return np.nan
        between = sum(half.between for half in self.halves) / 2
        error = np.sqrt(sum(half.between_error**2 for half in self.halves)) / 2
        within = sum(half.first * half.second for half in self.halves) / 2
        return float(max(between + ONE_SIDED * error, 0.0) ** 2 / within)


def find_camps(
    items: Codes, judges: Codes, labels: Codes, *, n_items: int, n_judges: int, n_labels: int
) -> Camps:
    """Return the two groups of the judges of a task between whom they agree least.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes of the answers.
    n_items, n_judges, n_labels
        How many there are of each.
    """
    step = -(-labels.size * n_labels // CELLS)
    some = items % step == 0
    items, judges, labels = items[some] // step, judges[some], labels[some]
    n_items = -(-n_items // step)

    def places(chosen: Flags) -> Floats:
        return _places(items[chosen], judges[chosen], labels[chosen], n_items, n_judges, n_labels)

    def agreement(chosen: Flags, second: Flags) -> CampAgreement:
        item, judge, label = items[chosen], judges[chosen], labels[chosen]
        return camp_agreement(item, judge, label, second, n_items=n_items, n_labels=n_labels)

    everything, is_even = np.ones(items.size, np.bool_), items % 2 == 0
    whole, even, odd = places(everything), places(is_even), places(~is_even)
    splits = []
    for groups in (_by_direction, _by_loading):
        second = groups(whole)
        halves = agreement(~is_even, groups(even)), agreement(is_even, groups(odd))
        splits.append(Camps(second, agreement(everything, second), halves))
    return min(splits, key=lambda camps: np.nan_to_num(camps.ratio_high, nan=np.inf))


def _places(
    items: Codes, judges: Codes, labels: Codes, n_items: int, n_judges: int, n_labels: int
) -> Floats:
    """Return ``(n_judges, 2)`` coordinates of judges in the leading space of excess agreement."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import aslinearoperator

    frequency = cell_sums(judges, labels, shape=(n_judges, n_labels))
    frequency /= np.maximum(frequency.sum(axis=1, keepdims=True), 1)
    cells = -frequency[judges]
    cells[np.arange(judges.size), labels] += 1
    of_answer = (cells**2).sum(axis=1)
    norm = np.sqrt(np.bincount(judges, of_answer, n_judges))
    cells /= np.maximum(norm, 1e-9)[judges][:, None]
    rows = np.repeat(judges, n_labels)
    columns = (items[:, None] * n_labels + np.arange(n_labels)).ravel()
    answers = csr_array((cells.ravel(), (rows, columns)), shape=(n_judges, n_items * n_labels))
    turned = answers.T.tocsr()
    # of few judges the product is small, and each step with it
    excess = (
        answers @ turned
        if n_judges**2 <= answers.nnz
        else aslinearoperator(answers) @ aslinearoperator(turned)
    )
    space = np.random.default_rng(0).standard_normal((n_judges, 2))
    for _ in range(STEPS):
        space = _orthonormal(excess @ space)
    image = excess @ space
    a, b, c = ((space[:, i] * image[:, k]).sum() for i, k in ((0, 0), (0, 1), (1, 1)))
    middle, spread = (a + c) / 2, np.hypot((a - c) / 2, b)
    angle = np.arctan2(2 * b, a - c) / 2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    # every judge agrees with himself: 1 of each eigenvalue is no agreement with others
    values = np.maximum(np.array([middle + spread, middle - spread]) - 1, 0)
    return np.asarray((space @ turn) * np.sqrt(values))


def _orthonormal(space: Floats) -> Floats:
    first = space[:, 0] / max(np.sqrt((space[:, 0] ** 2).sum()), 1e-300)
    rest = space[:, 1] - (space[:, 1] * first).sum() * first
    return np.column_stack([first, rest / max(np.sqrt((rest**2).sum()), 1e-300)])


def _by_loading(places: Floats) -> Flags:
    """Return whether a judge's first coordinate is in the upper of two groups (k-means, exact)."""
    loading = places[:, 0] * np.sign(places[:, 0].sum() or 1.0)
    order = np.argsort(loading, kind="stable")
    ordered = loading[order]
    n = np.arange(1, ordered.size)
    below = np.cumsum(ordered)[:-1]
    between = (
        (below / n - (ordered.sum() - below) / (ordered.size - n)) ** 2 * n * (ordered.size - n)
    )
    is_second = np.zeros(loading.size, np.bool_)
    if between.size:
        is_second[order[np.argmax(between) + 1 :]] = True
    return is_second


def _by_direction(places: Floats) -> Flags:
    """Return whether a judge's direction is nearer to the second of two; the longest is the first.

    Directions are means of directions, weighted by the square of the length (spherical k-means).
    """
    length = np.sqrt((places**2).sum(axis=1))
    unit = places / np.maximum(length, 1e-12)[:, None]
    first = unit[np.argmax(length)]
    is_long = length > np.median(length) / 4
    second = unit[np.argmin(np.where(is_long, unit @ first, 2.0))]
    is_second = np.zeros(length.size, np.bool_)
    for _ in range(STEPS):
        before, is_second = is_second, unit @ second > unit @ first
        if np.array_equal(before, is_second):
            break
        first, second = (
            _unit((places[chosen] * length[chosen, None]).sum(axis=0))
            for chosen in (~is_second, is_second)
        )
    return is_second


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / max(np.sqrt((vector**2).sum()), 1e-12)
    return unit
