"""llmfao: 8,931 crowd preferences over 59 models, 39% of them ties (CC BY 4.0, D. Ustalov).

No scores were published with the data here, so Bradley-Terry is held against a general optimiser
on the likelihood, comparison by comparison.
"""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.bradley_terry import BradleyTerryParams, bradley_terry
from annot_pipeline.methods.comparison_counts import count_comparisons

OUTCOMES = {"left": 1, "tie": 0, "right": -1}


@pytest.fixture(scope="module")
def comparisons(shared_data):
    path = shared_data / "llmfao" / "crowd-comparisons.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = sorted({row[side] for row in rows for side in ("left", "right")})
    codes = {name: code for code, name in enumerate(names)}
    first, second = (np.array([codes[row[side]] for row in rows]) for side in ("left", "right"))
    return names, first, second, np.array([OUTCOMES[row["winner"]] for row in rows])


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
