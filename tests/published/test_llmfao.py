"""llmfao: 8,931 crowd preferences over 59 models, 39% of them ties (CC BY 4.0, D. Ustalov).

No scores were published with the data here, so strengths are held against a general optimiser on
the likelihood, comparison by comparison; effects of the order against an independent fit.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.comparison_fit import STRENGTH_PRECISION

OUTCOMES = {"left": 1, "tie": 0, "right": -1}


def read(*paths: Path):
    rows = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    names = sorted({row[side] for row in rows for side in ("left", "right")})
    codes = {name: code for code, name in enumerate(names)}
    first, second = (np.array([codes[row[side]] for row in rows]) for side in ("left", "right"))
    judges = np.unique([row.get("worker", "model") for row in rows], return_inverse=True)[1]
    prompts = np.unique([row["prompt"] for row in rows], return_inverse=True)[1]
    outcome = np.array([OUTCOMES[row["winner"]] for row in rows])
    return names, first, second, outcome, judges, prompts


def block_of(comparisons, *, has_order: bool) -> ComparisonBlock:
    """What stands left was shown first; as by one judge, so that each comparison counts once."""
    names, first, second, outcome, judges, prompts = comparisons
    judges = np.zeros_like(judges)
    return ComparisonBlock(
        prompts, judges, first, second, (1 + outcome) / 2,
        np.full(first.size, 0 if has_order else -1), int(prompts.max()) + 1,
        int(judges.max()) + 1, len(names), 1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def comparisons(shared_data):
    return read(shared_data / "llmfao" / "crowd-comparisons.csv")


def test_counts_are_those_of_the_data(comparisons):
    names, first, _, outcome, _, _ = comparisons
    assert (len(names), first.size) == (59, 8_931)
    assert Counter(outcome.tolist())[0] == 3_471


@pytest.mark.parametrize("ties", ["davidson", "half"])
@pytest.mark.parametrize("has_order", [False, True])
def test_as_an_optimiser_finds_it(comparisons, ties, has_order):
    names, first, second, outcome, _, _ = comparisons
    n = len(names)
    block = block_of(comparisons, has_order=has_order)
    actual = adjusted_comparisons(InMemoryBlocks([block]), has_ties=ties == "davidson").fit

    def loss(x):
        """Minus the log posterior with its gradient, comparison by comparison."""
        theta, delta = x[:n], x[n] if ties == "davidson" else -np.inf
        half = (theta[first] - theta[second] + x[n + 1] * has_order) / 2
        ways = np.stack([half, np.full(half.size, delta), -half])
        total = np.logaddexp.reduce(ways, axis=0)
        chance = np.exp(ways - total)
        tied = outcome == 0
        seen = np.where(tied & (ties == "davidson"), ways[1], half * outcome)
        push = outcome / 2 - (chance[0] - chance[2]) / 2
        slope = (
            np.bincount(first, push, n) - np.bincount(second, push, n) - STRENGTH_PRECISION * theta
        )
        others = (tied - chance[1]).sum() * np.isfinite(delta), push.sum() * has_order
        value = -(seen - total).sum() + STRENGTH_PRECISION / 2 * (theta**2).sum()
        return value, -np.append(slope, others)

    best = minimize(loss, np.zeros(n + 2), jac=True, method="L-BFGS-B", options={
        "gtol": 1e-9, "ftol": 0, "maxiter": 10_000, "maxfun": 20_000})  # fmt: skip
    np.testing.assert_allclose(
        actual.strengths - actual.strengths.mean(), best.x[:n] - best.x[:n].mean(), atol=1e-6
    )
    assert actual.order_effects[0] == pytest.approx(best.x[n + 1], abs=1e-6)
    if ties == "davidson":
        assert actual.tie == pytest.approx(best.x[n], abs=1e-6)


@pytest.mark.parametrize(("judges", "effect"), [("gpt4", -0.395), ("gpt3", 0.877), ("crowd", 0.16)])
def test_effects_of_the_order(shared_data, judges, effect):
    """GPT-4 prefers what is shown last, GPT-3 what is shown first, people hardly either."""
    data = read(shared_data / "llmfao" / f"{judges}-comparisons.csv")
    fit = adjusted_comparisons(InMemoryBlocks([block_of(data, has_order=True)])).fit
    assert fit.order_effects[0] == pytest.approx(effect, abs=0.0051 if effect == 0.16 else 6e-4)
