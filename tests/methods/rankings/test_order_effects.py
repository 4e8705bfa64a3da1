"""Which order effects can be estimated: only those of judges who saw a pair in both orders."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.rankings.comparison_fit import confounded_pairs, estimable_orders


def counts(*groups: dict[tuple[int, int], int]) -> np.ndarray:
    """Return comparisons by order group, first and second of three systems; none without order."""
    n = np.zeros((len(groups) + 1, 3, 3))
    for group, pairs in enumerate(groups, start=1):
        for pair, number in pairs.items():
            n[(group, *pair)] = number
    return n


CYCLE = {(0, 1): 30, (1, 2): 30, (2, 0): 30}
IN_LINE = {(0, 1): 30, (1, 2): 30, (0, 2): 30}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([{(0, 1): 10, (1, 0): 10}], [True]),
        ([{(0, 1): 20}], [False]),
        ([CYCLE], [False]),
        ([IN_LINE], [False]),
        ([IN_LINE | {(2, 0): 3}], [True]),
        ([{(0, 1): 20}, {(1, 0): 20}], [False, False]),
        ([{(0, 1): 20, (1, 0): 20}, {(0, 1): 20}], [True, False]),
        ([{}, {(0, 1): 5, (1, 0): 5}], [False, True]),
    ],
)
def test_an_order_effect_takes_a_pair_that_its_judges_saw_in_both_orders(groups, expected):
    assert estimable_orders(counts(*groups)).tolist() == expected


@pytest.mark.parametrize(("pairs", "is_confounded"), [(CYCLE, False), (IN_LINE, True)])
def test_pairs_that_a_preference_for_the_first_would_move_are_confounded(pairs, is_confounded):
    n = counts(pairs)
    confounded = confounded_pairs(n, estimable_orders(n))
    assert confounded[0, 2] == is_confounded
    assert not np.diag(confounded).any()
