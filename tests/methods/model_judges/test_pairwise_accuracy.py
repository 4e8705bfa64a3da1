"""Pairwise accuracy with ties: by hand, by a loop over pairs, and for many items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from annot_pipeline.methods.model_judges.pairwise_accuracy import (
    PairwiseAccuracy,
    pairwise_accuracy,
)


def by_loop(first, second, groups) -> PairwiseAccuracy:
    counts = dict.fromkeys(PairwiseAccuracy.__dataclass_fields__, 0)
    for one, other in combinations(range(len(first)), 2):
        if groups[one] != groups[other]:
            continue
        x, y = np.sign(first[one] - first[other]), np.sign(second[one] - second[other])
        name = (
            ("tied_in_both" if y == 0 else "tied_in_first")
            if x == 0
            else "tied_in_second" if y == 0
            else "concordant" if x == y
            else "discordant"
        )  # fmt: skip
        counts[name] += 1
    return PairwiseAccuracy(**counts)


def test_four_items_by_hand():
    """People: 1, 1, 2, 3; the model: 5, 5, 9, 7. 12 tied in both; 13, 14, 23, 24 alike; 34 not."""
    result = pairwise_accuracy([1, 1, 2, 3], [5, 5, 9, 7])
    assert result == PairwiseAccuracy(4, 1, 1, 0, 0)
    assert result.accuracy == pytest.approx(5 / 6)
    assert pairwise_accuracy([1, 1, 2], [5, 6, 6]) == PairwiseAccuracy(1, 0, 0, 1, 1)


def test_as_the_package_of_the_authors():
    """mt-metrics-eval, tau_optimization_test.py: acc_23 at threshold 0, a mean over rows."""
    assert pairwise_accuracy([1, 2, 3, 4], [0, 2, 6, 8]).accuracy == 1
    assert pairwise_accuracy([1, 1, 1, 4], [0, 2, 6, 8]).accuracy == 0.5
    model = [[0, 5, 2, 3, 2], [2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 1]]
    human = [[1, 5, 2, 1, 1], [2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, 3, 2]]
    by_row = [pairwise_accuracy(*row).accuracy for row in zip(human, model, strict=True)]
    assert np.mean(by_row) == pytest.approx(0.4666666666666667)


@pytest.mark.parametrize("seed", range(20))
def test_as_a_loop_counts(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    first, second = rng.integers(0, 6, n) / 3, rng.integers(-4, 5, n) / 7
    groups = rng.integers(0, 1 + seed % 5, n)
    result = pairwise_accuracy(first, second, groups)
    assert result == by_loop(first, second, groups)
    order = rng.permutation(n)
    assert result == pairwise_accuracy(first[order], second[order], groups[order] * 7 + 3)
    turned = pairwise_accuracy(first, -second, groups)
    assert (turned.concordant, turned.discordant) == (result.discordant, result.concordant)
    swapped = pairwise_accuracy(second, first, groups)
    assert swapped.accuracy == pytest.approx(result.accuracy, nan_ok=True)
    assert swapped.tied_in_first == result.tied_in_second


def test_many_items_have_the_tau_of_scipy():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 1000, 100_000)
    second = np.round(first / 50 + rng.normal(0, 3, first.size), 1)
    result = pairwise_accuracy(first, second)
    assert result.n_pairs == 100_000 * 99_999 // 2
    untied = result.concordant + result.discordant
    tau = (result.concordant - result.discordant) / np.sqrt(
        float(untied + result.tied_in_first) * float(untied + result.tied_in_second)
    )
    assert tau == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)


def test_without_pairs_there_is_no_accuracy():
    for result in (
        pairwise_accuracy([], []),
        pairwise_accuracy([1], [2]),
        pairwise_accuracy([1, 2], [1, 2], [0, 1]),
    ):
        assert result.n_pairs == 0
        assert np.isnan(result.accuracy)


def test_missing_scores_are_refused():
    with pytest.raises(ValueError, match="numbers"):
        pairwise_accuracy([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="groups"):
        pairwise_accuracy([1, 2], [1, 2], [0])
