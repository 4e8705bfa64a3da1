"""The coefficient of one column beside strengths of systems, of many judges at once.

Each judge has a model of her own, that of `adjusted_comparisons` for one judge and one coefficient:
Davidson 1970 with a prior N(0, 9) on strengths, and a sandwich by questions, whose scores grow by
their share of a system's comparisons. Judges with as many systems are fitted together by Newton's
method; none moves another's digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate
from annot_pipeline.methods.rankings.cluster_variance import share_growth
from annot_pipeline.methods.rankings.comparison_fit import (
    CELLS_AT_ONCE,
    LARGEST_STEP,
    MAX_ITERATIONS,
    STRENGTH_PRECISION,
    TOLERANCE,
    WEAK_PRECISION,
    expected_preferences,
)


@dataclass(frozen=True, eq=False)
class JudgeComparisons:
    """Comparisons of one judge, and the column whose coefficient is asked for.

    Parameters
    ----------
    first, second
        ``(n,)`` codes of systems, from 0 without gaps.
    preferences
        ``(n,)`` 1: the first is better, 0: the second, 0.5: a tie.
    questions
        ``(n,)`` codes of clusters, from 0 without gaps; at least 2.
    column
        ``(n,)`` of the first output less that of the second.
    may_tie
        ``(n,)`` whether a tie has a probability of its own; else it is half a win.
    weights
        ``(n,)`` how often each counts.
    """

    first: Codes
    second: Codes
    preferences: Floats
    questions: Codes
    column: Floats
    may_tie: Flags
    weights: Floats

    @property
    def n_systems(self) -> int:
        """Return how many systems are compared."""
        return int(max(self.first.max(), self.second.max())) + 1


def fit_judges(prepared: Sequence[JudgeComparisons | ClusteredEstimate]) -> list[ClusteredEstimate]:
    """Return the coefficient of each judge; what is an estimate already stays."""
    judges = [one for one in prepared if isinstance(one, JudgeComparisons)]
    fitted: dict[int, ClusteredEstimate] = {}
    for part in _parts(judges):
        fitted |= zip(map(id, part), _fit(part), strict=True)
    return [one if isinstance(one, ClusteredEstimate) else fitted[id(one)] for one in prepared]


def _parts(judges: Sequence[JudgeComparisons]) -> Iterator[list[JudgeComparisons]]:
    """Yield judges with as many systems, whose scores and information fit in memory together."""
    part: list[JudgeComparisons] = []
    cells = 0
    for judge in sorted(judges, key=lambda judge: judge.n_systems):
        size = judge.n_systems + 2
        own = (judge.first.size + size) * size
        if part and (cells + own > CELLS_AT_ONCE or judge.n_systems != part[0].n_systems):
            yield part
            part, cells = [], 0
        part.append(judge)
        cells += own
    if part:
        yield part


@dataclass(frozen=True, eq=False)
class _Rows:
    """Comparisons of judges with as many systems; ``groups`` are ``(n,)`` codes of judges.

    Parameters of a judge are strengths, the coefficient and the log of the frequency of ties.
    """

    groups: Codes
    first: Codes
    second: Codes
    preferences: Floats
    column: Floats
    may_tie: Flags
    weights: Floats
    n_systems: int

    def sums(self, values: Floats, groups: Codes, n_groups: int) -> Floats:
        """Return the design matrix, transposed, times values by group: ``(n_groups, K + 1)``."""
        cells, size = groups * self.n_systems, n_groups * self.n_systems
        strengths = np.bincount(cells + self.first, values, size)
        strengths -= np.bincount(cells + self.second, values, size)
        column = np.bincount(groups, values * self.column, n_groups)
        return np.hstack([strengths.reshape(n_groups, -1), column.reshape(n_groups, 1)])

    def counts(self, groups: Codes, n_groups: int) -> Floats:
        """Return comparisons of each group and system, ``(n_groups, K)``."""
        cells, size = groups * self.n_systems, n_groups * self.n_systems
        both = np.concatenate([cells + self.first, cells + self.second])
        return np.bincount(both, minlength=size).reshape(n_groups, -1).astype(np.float64)

    def expected(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return expected preferences, probabilities of ties and variances of preferences."""
        size = self.n_systems
        odds = parameters[self.groups, self.first] - parameters[self.groups, self.second]
        odds += parameters[self.groups, size] * self.column
        tie = np.where(self.may_tie, parameters[self.groups, size + 1], -np.inf)
        return expected_preferences(odds, tie)

    def scores(self, parameters: Floats, groups: Codes, n_groups: int) -> Floats:
        """Return gradients by group, ``(n_groups, K + 2)``."""
        preference, tie, _ = self.expected(parameters)
        is_tie = (self.preferences == 0.5) & self.may_tie
        ties = np.bincount(groups, self.weights * (is_tie - tie), n_groups)
        linear = self.sums(self.weights * (self.preferences - preference), groups, n_groups)
        return np.column_stack([linear, ties])

    def information(self, parameters: Floats) -> Floats:
        """Return the expected information, a matrix a judge."""
        (n, size), systems = parameters.shape, self.n_systems
        preference, tie, variance = self.expected(parameters)
        variance = self.weights * variance
        cells = (self.groups * systems + self.first) * systems + self.second
        pairs = np.bincount(cells, variance, n * systems**2).reshape(n, systems, systems)
        pairs = pairs + pairs.transpose(0, 2, 1)
        information = np.zeros((n, size, size))
        information[:, :systems, :systems] = -pairs
        information[:, range(systems), range(systems)] += pairs.sum(axis=2)
        columns = {systems: variance * self.column, -1: self.weights * tie * (0.5 - preference)}
        for column, values in columns.items():
            cross = self.sums(values, self.groups, n)
            information[:, :-1, column] = information[:, column, :-1] = cross
        information[:, -1, -1] = np.bincount(self.groups, self.weights * tie * (1 - tie), n)
        return information


def _fit(judges: Sequence[JudgeComparisons]) -> list[ClusteredEstimate]:
    """Return the coefficients of judges with as many systems."""
    n, systems = len(judges), judges[0].n_systems
    groups = np.repeat(np.arange(n), [judge.first.size for judge in judges])
    first, second, preferences, column, may_tie, weights = (
        np.concatenate([getattr(judge, name) for judge in judges])
        for name in ("first", "second", "preferences", "column", "may_tie", "weights")
    )
    n_ties = np.bincount(groups, (preferences == 0.5) & may_tie, n)
    has_ties = (n_ties > 0) & (n_ties < np.bincount(groups, may_tie, n))
    may_tie &= has_ties[groups]
    rows = _Rows(groups, first, second, preferences, column, may_tie, weights, systems)
    precision = np.full((n, systems + 2), WEAK_PRECISION)
    precision[:, :systems] = STRENGTH_PRECISION
    precision[~has_ties, -1] = 1.0  # has no data, and stays 0
    parameters, is_open = np.zeros((n, systems + 2)), np.ones(n, bool)
    priors = precision[:, :, None] * np.eye(systems + 2)
    for _ in range(MAX_ITERATIONS):
        gradient = rows.scores(parameters, groups, n) - precision * parameters
        step = np.linalg.solve(rows.information(parameters) + priors, gradient[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        step *= (is_open * np.minimum(1.0, LARGEST_STEP / np.maximum(largest, TOLERANCE)))[:, None]
        parameters += step
        is_open &= np.abs(step).max(axis=1) >= TOLERANCE
        if not is_open.any():
            break
    inverse = np.asarray(np.linalg.inv(rows.information(parameters) + priors), np.float64)
    n_questions = np.array([int(judge.questions.max()) + 1 for judge in judges])
    variance = _variances(rows, parameters, inverse, [judge.questions for judge in judges])
    errors = np.sqrt(variance * n_questions / (n_questions - 1))
    return [
        ClusteredEstimate(value, error, n - 1.0, by_judge=False, reason=None)
        for value, error, n in zip(
            parameters[:, systems].tolist(), errors.tolist(), n_questions.tolist(), strict=True
        )
    ]  # fmt: skip


def _variances(
    rows: _Rows, parameters: Floats, inverse: Floats, questions: Sequence[Codes]
) -> Floats:
    """Return sums over questions of squared influence on each judge's coefficient."""
    n, systems = len(parameters), rows.n_systems
    sizes = [int(codes.max()) + 1 for codes in questions]
    owner, starts = np.repeat(np.arange(n), sizes), np.cumsum([0, *sizes])
    clusters = np.concatenate(questions) + starts[rows.groups]
    scores = rows.scores(parameters, clusters, owner.size)
    growth = share_growth(rows.counts(clusters, owner.size), rows.counts(rows.groups, n)[owner])
    scores[:, :systems] = scores[:, :systems] * growth
    influence = (scores * inverse[owner, systems]).sum(axis=1)
    return np.asarray(np.bincount(owner, influence**2, n), np.float64)
