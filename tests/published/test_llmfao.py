"""llmfao: 8,931 crowd preferences over 59 models, 39% of them ties (CC BY 4.0, D. Ustalov).

No scores were published with the data here, so Bradley-Terry is held against a general optimiser
on the likelihood, comparison by comparison.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from annot_pipeline.methods.comparisons.bradley_terry import BradleyTerryParams, bradley_terry
from scipy.optimize import minimize

from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.comparison_counts import count_comparisons
from annot_pipeline.stages.comparisons.comparison_scores import count_scores
from annot_pipeline.stages.comparisons.ranking_rows import ranked_rows
from annot_pipeline.stages.comparisons.task_comparisons import TaskComparisons

OUTCOMES = {"left": 1, "tie": 0, "right": -1}


def read(*paths: Path):
    rows = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    names = sorted({row[side] for row in rows for side in ("left", "right")})
    codes = {name: code for code, name in enumerate(names)}
    first, second = (np.array([codes[row[side]] for row in rows]) for side in ("left", "right"))
    return names, first, second, np.array([OUTCOMES[row["winner"]] for row in rows])


@pytest.fixture(scope="module")
def comparisons(shared_data):
    return read(shared_data / "llmfao" / "crowd-comparisons.csv")


def test_counts_are_those_of_the_data(comparisons):
    names, first, _, outcome = comparisons
    assert (len(names), first.size) == (59, 8_931)
    assert Counter(outcome.tolist())[0] == 3_471


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_as_an_optimiser_finds_it(comparisons, ties):
    names, first, second, outcome = comparisons
    n = len(names)
    counted = count_comparisons(first, second, outcome, np.arange(first.size), n_systems=n)
    pairs, counts = (counted.first, counted.second), counted.counts
    found = bradley_terry(
        *pairs, counts.wins[0], counts.ties[0], counts.losses[0], n_systems=n,
        params=BradleyTerryParams(ties=ties),
    )  # fmt: skip
    assert found.connectivity.strong.tolist() == [True]
    assert found.converged

    def loss(x):
        """Minus the log-likelihood with its gradient, comparison by comparison."""
        theta, delta = x[:n], x[n] if ties == "davidson" else -np.inf
        half = (theta[first] - theta[second]) / 2
        ways = np.stack([half, np.full(half.size, delta), -half])
        total = np.logaddexp.reduce(ways, axis=0)
        chance = np.exp(ways - total)
        tied = outcome == 0
        seen = np.where(tied & (ties == "davidson"), ways[1], half * outcome)
        push = outcome / 2 - (chance[0] - chance[2]) / 2
        slope = np.bincount(first, push, n) - np.bincount(second, push, n)
        return -(seen - total).sum(), -np.append(
            slope, (tied - chance[1]).sum() * np.isfinite(delta)
        )

    # a score of all of them at once is free: L-BFGS leaves it at its start
    best = minimize(loss, np.zeros(n + 1), jac=True, method="L-BFGS-B", options={
        "gtol": 1e-9, "ftol": 0, "maxiter": 10_000, "maxfun": 20_000})  # fmt: skip
    np.testing.assert_allclose(found.score, best.x[:n] - best.x[:n].mean(), atol=1e-6)
    if ties == "davidson":
        assert found.tie_parameter == pytest.approx(np.exp(best.x[n]), rel=1e-6)


def test_all_systems_but_the_least_compared_have_intervals(shared_data):
    """With GPT-4's: 70 systems, of which some have 12 comparisons and lose them all in rounds.

    The curvature of the likelihood gives nearly the same intervals where there are comparisons
    enough; both are of scores whose sum over the systems with intervals is fixed.
    """
    folder = shared_data / "llmfao"
    names, first, second, outcome = read(
        folder / "crowd-comparisons.csv", folder / "gpt4-comparisons.csv"
    )
    alone = np.arange(first.size)
    task = TaskComparisons(
        names=names, first=first, second=second, outcome=outcome, ranking=alone, unit=alone,
        segment=alone, dominance=None, units="rankings", seed=[1],
    )  # fmt: skip
    settings = Ranking(bootstrap=1000, online_rounds=0)
    found = count_scores(task, settings)[0][0]
    rows = ranked_rows("helpful", names, found, settings)[0].to_pylist()
    given = np.array([row["ci_low"] is not None for row in rows])
    assert len(names) == 70
    assert 62 <= given.sum() < 70
    for row, of in zip(rows, task.n_comparisons, strict=True):
        assert (row["ci_low"] is None) == (row["ci_high"] is None) == (row["reason"] is not None)
        if row["ci_low"] is None:
            assert of <= 20
            assert "of 1,000 rounds have no finite estimate of it" in row["reason"]
        else:
            assert row["ci_low"] < row["score"] < row["ci_high"]
    counted = task.counted
    fit = bradley_terry(
        counted.first, counted.second, *(c[0] for c in (
            counted.counts.wins, counted.counts.ties, counted.counts.losses)), n_systems=70,
    )  # fmt: skip
    centred = np.eye(70) - given / given.sum()
    sd = np.sqrt((centred @ fit.covariance @ centred.T).diagonal())
    many = task.n_comparisons >= 150
    width = [row["ci_high"] - row["ci_low"] for row in rows if many[names.index(row["system"])]]
    ratio = np.array(width) / (2 * 1.96 * sd[many])
    assert many.sum() >= 55
    assert np.median(ratio) == pytest.approx(1, abs=0.05)
    assert np.mean(abs(ratio - 1) < 0.15) > 0.9
    assert abs(ratio - 1).max() < 0.25
