"""Coefficients of many judges at once are those of each judge's own model."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.clustered_estimate import unknown
from annot_pipeline.methods.model_judges.judge_coefficients import JudgeComparisons, fit_judges
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)


def judge(rng: np.random.Generator, n_systems: int, *, tie: float, has_ties: bool):
    """Return comparisons of a judge; ``tie``: the share of ties."""
    n = int(rng.integers(40, 120))
    first = np.concatenate([np.arange(n_systems), rng.integers(0, n_systems, n)])
    second = (first + rng.integers(1, n_systems, first.size)) % n_systems
    strengths = rng.normal(size=n_systems)
    column = rng.normal(size=first.size)
    odds = strengths[first] - strengths[second] + 0.5 * column
    wins = (rng.random(first.size) < 1 / (1 + np.exp(-odds))).astype(float)
    preferences = np.where(rng.random(first.size) < tie, 0.5, wins)
    questions = np.unique(rng.integers(0, 25, first.size), return_inverse=True)[1]
    ones = np.ones(first.size)
    may_tie = np.full(first.size, has_ties)
    return JudgeComparisons(first, second, preferences, questions, column, may_tie, ones)


def alone(one: JudgeComparisons):
    """Return coefficient and error by the model of rankings."""
    zeros = np.zeros(one.first.size, np.int64)
    block = ComparisonBlock(
        one.questions, zeros, one.first, one.second, one.preferences, zeros - 1,
        int(one.questions.max()) + 1, 1, one.n_systems, 0, covariates=one.column[:, None],
    )  # fmt: skip
    fit = adjusted_comparisons(InMemoryBlocks([block]), has_ties=bool(one.may_tie.all())).fit
    return fit.coefficients[0], fit.coefficient_errors[0], fit.effect_degrees_of_freedom


def test_each_judge_has_her_own_model():
    rng = np.random.default_rng(3)
    judges = [
        judge(rng, n_systems, tie=tie, has_ties=has_ties)
        for n_systems in (3, 5, 3, 8)
        for tie in (0.0, 0.3)
        for has_ties in (True, False)
    ]
    # one of a few comparisons whose strengths have no bounds but the prior's
    wins = np.ones(6)
    wins[0] = 0
    judges.append(
        JudgeComparisons(
            np.array([0, 1, 0, 0, 0, 0]),
            np.array([1, 0, 1, 1, 1, 2]),
            wins,
            np.arange(6),
            np.array([1.0, 1, 1, 1, -1, 1]),
            np.ones(6, bool),
            np.ones(6),
        )
    )
    for fitted, one in zip(fit_judges(judges), judges, strict=True):
        expected = alone(one)
        actual = fitted.value, fitted.standard_error, fitted.degrees_of_freedom
        assert actual == pytest.approx(expected, rel=1e-6)


def test_others_move_no_digit():
    rng = np.random.default_rng(4)
    judges = [judge(rng, 3 + n % 2, tie=0.2, has_ties=True) for n in range(7)]
    together = fit_judges(judges)
    assert [fit_judges([one])[0] for one in judges] == together
    assert fit_judges(judges[::-1])[::-1] == together


def test_an_estimate_stays_in_its_place():
    asked = judge(np.random.default_rng(5), 3, tie=0.2, has_ties=True)
    fitted = fit_judges([unknown("a"), asked, unknown("b"), asked])
    assert [one.reason for one in fitted] == ["a", None, "b", None]
    assert fitted[1] == fitted[3]
    assert fit_judges([]) == []
