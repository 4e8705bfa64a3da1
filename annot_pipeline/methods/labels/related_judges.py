"""Related judges: groups whose errors go together more than the truth of items explains.

Judges who err independently given the class agree, beyond chance, by the product of the skills of
the two: the matrix of their covariances has rank one but for its diagonal (Parisi et al. 2014,
"Ranking and combining multiple predictors without labeled data"; for K classes if judges copy the
class or guess). Pairs that share more than the class exceed the product (Jaffe et al. 2016,
"Unsupervised ensemble learning with dependent classifiers"). Neither gold is needed nor the
posterior of a label model, which a large family of judges may dominate.

1. Skills are fitted by least squares in which pairs far above the fit weigh less (Tukey's biweight,
   on one side), from three starts.
2. Judges are grouped by average linkage of the partial correlations of significant pairs.
3. Skills are fitted again to pairs of different groups, and so on until no group changes.
4. Of the three fits that one counts whose groups explain most pairs and join fewest judges.

Assumes that most pairs of judges are unrelated. Labels cannot tell a family who err together from
a few judges who alone know the truth: use the families only if `family_comparison` finds that
labels are predicted from those of other families better than by fits without these families, and
better than by votes.

Deterministic. Judges with most labels are tested, at most `MOST_JUDGES`, on items with at most
`MOST_PRODUCTS` pairs of labels. A pair with few common items is never related. With one judge, one
class or no label no pair is tested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.moments import Additive

MIN_ITEMS = 20
"""Common items of a pair at least."""
MIN_INFORMATION = 2.0
"""Common items times the variance of either judge's labels at least: pairs who hardly ever label
differently tell nothing."""
MIN_CORRELATION = 0.5
"""Partial correlation of related judges: two judges with .5 are worth 4/3 judges (Kish 1965)."""
FALSE_ALARMS = 0.05
"""Expected number of pairs of unrelated judges that are significant."""
MOST_JUDGES = 400
MOST_CELLS = 10_000_000
"""Pairs of judges times classes: fewer judges are looked at if there are many classes."""
MOST_PRODUCTS = 20_000_000
"""Pairs of labels of an item, over items: of more, items are thinned out evenly."""
LARGEST = 0.97
"""Bound of a skill: its square is the largest correlation that the class explains."""
RIDGE = 2.0
"""Items by which a skill is drawn to 0."""
OUTLYING = 3.0
"""Standard errors above the fit from which a pair has no weight."""
TOLERANCE, MOST_STEPS, MOST_ROUNDS = 1e-5, 200, 6
MISFIT, JOINED = 25.0, 6.0
"""Of the choice among starts: largest misfit of one pair, and the misfit that a join must save."""


@dataclass(frozen=True)
class RelatedJudges:
    """Families of judges, with those found, and pairs of related judges.

    Parameters
    ----------
    families
        ``(n_judges,)`` codes: the lowest code of a judge of the family.
    n_found
        Families that were found, or that a declared family grew into.
    n_pairs_tested
        Pairs of judges with enough common items.
    first, second
        ``(n_pairs,)`` related judges, of pairs that were tested within families found.
    n_items
        ``(n_pairs,)`` common items.
    observed, expected
        ``(n_pairs,)`` share of common items on which the pair agrees, and the share expected of
        unrelated judges.
    z
        ``(n_pairs,)`` standard errors between them.
    correlation
        ``(n_pairs,)`` of the pair's labels, given the class.
    """

    families: Codes
    n_found: int
    n_pairs_tested: int
    first: Codes
    second: Codes
    n_items: Codes
    observed: Floats
    expected: Floats
    z: Floats
    correlation: Floats


class _Sizes(NamedTuple):
    """Of a block: ``(n_judges,)`` labels of each judge, n_items, K, and declared families."""

    n: Codes
    n_items: int
    n_labels: int
    families: Codes | None


@dataclass(frozen=True)
class _PairSums(Additive):
    """Sums over the common items of pairs of judges.

    Parameters
    ----------
    n_items
        ``(J, J)``.
    agreement
        ``(J, J)`` of the probability that a label of each is the same.
    shares
        ``(K, J, J)`` of the shares of labels of the first.
    squares
        ``(J, J)`` of the sum over classes of these shares squared.
    """

    n_items: Floats
    agreement: Floats
    shares: Floats
    squares: Floats


class _Pairs(NamedTuple):
    """Figures of all pairs of the judges looked at, ``(J, J)`` each; 0 where not tested."""

    n_items: Floats
    agreement: Floats
    correlation: Floats
    scale: Floats
    is_tested: Flags


class _Fit(NamedTuple):
    """Skill ``(J,)`` and group ``(J,)`` of each judge, and residuals of pairs, ``(J, J)``."""

    skill: Floats
    group: Codes
    z: Floats
    partial: Floats


def related_judges(
    tasks: Blocks[LabelCodes],
    *,
    most_judges: int = MOST_JUDGES,
    most_products: int = MOST_PRODUCTS,
) -> RelatedJudges:
    """Return families of judges of one task, found and declared.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items; families that codes have are declared.
    most_judges
        Maximum number of judges to test: those with most labels.
    most_products
        Maximum number of pairs of labels of an item, over items: of more, items are thinned out.
    """
    sizes = tasks.map(_sizes)
    n = reduce(add, (size.n for size in sizes))
    declared = _first_members(sizes[0].families, n.size)
    judges = _judges_to_test(n, sizes[0].n_labels, most_judges)
    step = max(1, -(-sum(tasks.map(_n_products, judges)) // most_products))
    if step > 1:  # few labels remain: all fit into memory
        starts = np.cumsum([0, *(size.n_items for size in sizes)])[:-1].tolist()
        tasks = InMemoryBlocks(tasks.map(_thin_items, judges, step, each=starts))
    n_bytes = judges.size**2 * (sizes[0].n_labels + 3) * 8
    sums = tasks.sum(pair_sums, judges, n_bytes=n_bytes)
    pairs = _pairs(sums, declared[judges])
    fit = _fit_pairs(pairs)
    expected = pairs.agreement + (np.outer(fit.skill, fit.skill) - pairs.correlation) * pairs.scale
    first, second = np.nonzero(np.triu(_within(fit.group) & pairs.is_tested))
    families = _merge(declared, judges, fit.group)
    grown = np.bincount(fit.group, minlength=judges.size)[fit.group] > 1
    return RelatedJudges(
        families,
        np.unique(families[judges[grown]]).size,
        int(np.count_nonzero(pairs.is_tested)) // 2,
        judges[first],
        judges[second],
        pairs.n_items[first, second].astype(np.int64),
        *(table[first, second] for table in (pairs.agreement, expected, fit.z, fit.partial)),
    )


def _sizes(codes: LabelCodes) -> _Sizes:
    n = np.bincount(codes.judges, minlength=codes.n_judges)
    return _Sizes(n, codes.n_items, codes.n_labels, codes.families)


def _first_members(families: Codes | None, n_judges: int) -> Codes:
    """Return the lowest code of a judge of each judge's family, ``(n_judges,)``."""
    if families is None:
        return np.arange(n_judges)
    _, first, family = np.unique(families, return_index=True, return_inverse=True)
    return np.asarray(first[family.reshape(-1)], np.int64)


def _judges_to_test(n: Codes, n_labels: int, most_judges: int) -> Codes:
    """Return the judges who can have enough common items with others, those with most if many."""
    most = min(most_judges, int(np.sqrt(MOST_CELLS / n_labels)))
    order = np.lexsort((np.arange(n.size), -n))[:most]
    return np.sort(order[n[order] >= MIN_ITEMS])


def _columns(codes: LabelCodes, judges: Codes) -> Codes:
    """Return the column of each judge among those to test, ``(n_judges,)``; -1 if none."""
    columns = np.full(codes.n_judges, -1)
    columns[judges] = np.arange(judges.size)
    return columns


def _n_products(codes: LabelCodes, judges: Codes) -> int:
    some = _columns(codes, judges)[codes.judges] >= 0
    return int((np.bincount(codes.items[some], minlength=codes.n_items) ** 2).sum())


def _thin_items(codes: LabelCodes, start: int, judges: Codes, step: int) -> LabelCodes:
    """Return the labels by some judges of each ``step``-th item of the task.

    ``start``: place of the block's first item in the task.
    """
    some = (_columns(codes, judges)[codes.judges] >= 0) & ((codes.items + start) % step == 0)
    numbers, items = np.unique(codes.items[some], return_inverse=True)
    return replace(
        codes,
        items=items.reshape(-1),
        judges=codes.judges[some],
        labels=codes.labels[some],
        n_items=numbers.size,
    )


def pair_sums(codes: LabelCodes, judges: Codes) -> _PairSums:
    """Return the sums over the items of a block."""
    from scipy.sparse import csr_array

    column_of_judge = _columns(codes, judges)
    some = column_of_judge[codes.judges] >= 0
    items, labels = codes.items[some], codes.labels[some]
    columns = column_of_judge[codes.judges[some]]
    shape = (codes.n_items, judges.size)
    present = csr_array((np.ones(items.size), (items, columns)), shape=shape)
    weights, is_repeated = np.ones(items.size), present.nnz < items.size
    if is_repeated:
        pair = items * judges.size + columns
        _, pair, repeats = np.unique(pair, return_inverse=True, return_counts=True)
        weights = 1 / repeats[pair.reshape(-1)]
        present.data[:] = 1
    agreement, squares = np.zeros((2, judges.size, judges.size))
    shares = np.zeros((codes.n_labels, judges.size, judges.size))
    for label in np.flatnonzero(np.bincount(labels)).tolist():
        mine = labels == label
        label_weights = csr_array((weights[mine], (items[mine], columns[mine])), shape=shape)
        by_judge = label_weights.T.tocsr()
        agreement += (by_judge @ label_weights).toarray()
        shares[label] = (by_judge @ present).toarray()
        if is_repeated:
            squares += (by_judge.multiply(by_judge) @ present).toarray()
    n_items = (present.T @ present).toarray() if is_repeated else shares.sum(axis=0)
    return _PairSums(n_items, agreement, shares, squares if is_repeated else n_items)


def _pairs(sums: _PairSums, families: Codes) -> _Pairs:
    """Return the correlations of labels of pairs on their common items.

    The covariance is that of indicators of classes, summed over classes.
    """
    n = np.maximum(sums.n_items, 1)
    chance = (sums.shares * sums.shares.transpose(0, 2, 1)).sum(axis=0) / n**2
    variance = np.maximum(sums.squares / n - (sums.shares**2).sum(axis=0) / n**2, 0)
    is_tested = (sums.n_items >= MIN_ITEMS) & ~_within(families)
    is_tested &= sums.n_items * variance * variance.T >= MIN_INFORMATION
    scale = np.where(is_tested, np.sqrt(variance * variance.T), 0)
    covariance = np.where(is_tested, sums.agreement / n - chance, 0)
    correlation = covariance / np.where(is_tested, scale, 1)
    return _Pairs(sums.n_items, sums.agreement / n, correlation, scale, is_tested)


def _within(groups: Codes) -> Flags:
    """Return whether two judges are of one group, ``(J, J)``; each judge is with itself."""
    return np.asarray(groups[:, None] == groups)


def _fit_pairs(pairs: _Pairs) -> _Fit:
    """Return the best of the fits from three starts."""
    n_judges = len(pairs.n_items)
    if not pairs.is_tested.any():
        nothing = np.zeros((n_judges, n_judges))
        return _Fit(np.zeros(n_judges), np.arange(n_judges), nothing, nothing)
    typical = np.sqrt(max(float(np.median(pairs.correlation[pairs.is_tested])), 0.01))
    weight = np.where(pairs.is_tested, pairs.n_items, 0)
    mean = (weight * pairs.correlation).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)
    own = np.clip(mean / np.sqrt(max(float(mean.mean()), 0.01)), -LARGEST, LARGEST)
    least_squares = _fit_skill(pairs, own, pairs.is_tested, np.inf)
    gradual = least_squares
    for outlying in (20.0, 10.0, 6.0):
        gradual = _fit_skill(pairs, gradual, pairs.is_tested, outlying)
    starts = (np.full(n_judges, typical), least_squares, gradual)
    fits = [_fit_groups(pairs, _fit_skill(pairs, start, pairs.is_tested)) for start in starts]
    return min(fits, key=lambda fit: _misfit(pairs, fit))


def _fit_groups(pairs: _Pairs, skill: Floats) -> _Fit:
    """Return groups, and the skills that pairs of different groups follow, fitted in turn."""
    n_pairs = np.count_nonzero(pairs.is_tested) / 2
    from scipy.special import ndtri

    least = float(ndtri(1 - FALSE_ALARMS / n_pairs))
    fit = _residuals(pairs, skill, np.arange(skill.size))
    for _ in range(MOST_ROUNDS):
        group = _link(pairs, fit, least)
        if (group == fit.group).all():
            break
        skill = _fit_skill(pairs, skill, pairs.is_tested & ~_within(group), 2 * OUTLYING)
        fit = _residuals(pairs, skill, group)
    return fit


def _fit_skill(pairs: _Pairs, skill: Floats, is_used: Flags, outlying: float = OUTLYING) -> Floats:
    """Return skills whose products are the correlations, by reweighted least squares."""
    for _ in range(MOST_STEPS):
        weight = np.where(is_used, pairs.n_items, 0)
        if outlying < np.inf:
            z = np.maximum(_standardized(pairs, skill), 0)
            weight = weight * np.clip(1 - (z / outlying) ** 2, 0, 1) ** 2
        fitted = ((weight * pairs.correlation) @ skill) / (weight @ skill**2 + RIDGE)
        fitted = np.clip(fitted, -LARGEST, LARGEST)
        change = np.abs(fitted - skill).max()
        skill = (skill + fitted) / 2
        if change < TOLERANCE:
            break
    return skill


def _standardized(pairs: _Pairs, skill: Floats) -> Floats:
    """Return standard errors between correlations and products of skills, ``(J, J)``."""
    product = np.outer(skill, skill)
    error = np.sqrt(np.maximum(1 - product**2, 0.1) / np.maximum(pairs.n_items, 1))
    return np.where(pairs.is_tested, (pairs.correlation - product) / error, 0)


def _residuals(pairs: _Pairs, skill: Floats, group: Codes) -> _Fit:
    unexplained = np.sqrt(1 - skill**2)
    partial = (pairs.correlation - np.outer(skill, skill)) / np.outer(unexplained, unexplained)
    z = _standardized(pairs, skill)
    return _Fit(skill, group, z, np.where(pairs.is_tested, partial, 0))


def _link(pairs: _Pairs, fit: _Fit, least: float) -> Codes:
    """Group judges by average linkage of partial correlations, the strongest link first.

    Two groups are joined if one of their pairs at least is significant and their mean partial
    correlation, weighted by common items, is `MIN_CORRELATION` or more.
    """
    group = np.arange(fit.skill.size)
    is_strong = (fit.z > least) & (fit.partial > MIN_CORRELATION)
    members = np.flatnonzero(is_strong.any(axis=1))
    some = np.ix_(members, members)
    weight = np.where(pairs.is_tested, pairs.n_items, 0)[some]
    total, z = weight * fit.partial[some], fit.z[some].copy()
    alive = np.ones(members.size, np.bool_)
    while np.count_nonzero(alive) > 1:
        can_join = (weight > 0) & (z > least) & alive[:, None] & alive
        np.fill_diagonal(can_join, False)
        mean = np.where(can_join, total / np.where(weight > 0, weight, 1), -1)
        a, b = sorted(divmod(int(mean.argmax()), members.size))
        if mean[a, b] < MIN_CORRELATION:
            break
        group[group == group[members[b]]] = group[members[a]]
        for table, join in ((weight, np.add), (total, np.add), (z, np.maximum)):
            table[a] = join(table[a], table[b])
            table[:, a] = join(table[:, a], table[:, b])
        alive[b] = False
    return group


def _misfit(pairs: _Pairs, fit: _Fit) -> float:
    """Return what a fit leaves unexplained, and what its groups cost."""
    within = _within(fit.group)
    between = pairs.is_tested & ~within
    unexplained = float(np.minimum(fit.z[between] ** 2, MISFIT).sum()) / 2
    explained = np.count_nonzero(pairs.is_tested & within) / 2
    return unexplained + explained + JOINED * (fit.group.size - np.unique(fit.group).size)


def _merge(declared: Codes, judges: Codes, group: Codes) -> Codes:
    """Return declared families ``(n_judges,)``, joined where judges of them are of one group."""
    families = declared.copy()
    for member in range(judges.size):
        one, other = families[judges[member]], families[judges[group[member]]]
        families[families == max(one, other)] = min(one, other)
    return families
