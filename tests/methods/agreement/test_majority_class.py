"""Majority classes: the paper's chance level, enumerated chances, plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.agreement.majority_class import majority_chance, majority_class


def measured(rows, *, rounds=0):
    items, judges, decisions = np.array(rows, np.int64).reshape(-1, 3).T
    return majority_class(items, judges, decisions, items, rounds=rounds, rng=1)


def test_nine_of_sixteen_by_chance():
    """Pighin et al. 2012, section 4.1: 15%; METHODS: .1499."""
    assert f"{float(majority_chance(16)):.4f}" == "0.1499"


@pytest.mark.parametrize("n", range(1, 9))
def test_chance_is_that_of_all_outcomes(n):
    throws = [max(Counter(thrown).values()) for thrown in product(range(3), repeat=n)]
    assert majority_chance(n) == Fraction(sum(2 * m > n for m in throws), len(throws))


def test_sixteen_judges_as_in_the_paper():
    """59 triplets: classes of 9 and more in 47, of 11 and more in 32; 12 without a majority."""
    sizes = [16] * 20 + [11] * 12 + [9] * 15 + [8] * 12
    rows = [
        (item, judge, 1 if judge < size else (judge % 2) - 1)
        for item, size in enumerate(sizes)
        for judge in range(16)
    ]
    actual = measured(rows, rounds=200)
    assert actual.agreement.value == pytest.approx(47 / 59)
    assert actual.agreement.ci_low < 47 / 59 < actual.agreement.ci_high
    n = actual.n_units
    assert f"{n[actual.largest >= 11].sum() / n.sum():.4f}" == "0.5424"
    assert f"{1 - actual.agreement.value:.4f}" == "0.2034"
    assert f"{actual.chance:.4f}" == "0.1499"
    assert actual.n_votes.tolist() == [16] * 4
    assert actual.largest.tolist() == [8, 9, 11, 16]
    assert actual.n_units.tolist() == [12, 15, 12, 20]
    assert (actual.n_items, actual.n_judges, actual.n_undecided) == (59, 16, 0)


def test_half_is_no_majority_and_chances_are_averaged():
    rows = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 2, 1), (2, 0, 1)]  # item 2: one judge
    actual = measured(rows)
    assert actual.agreement.value == 0.5
    assert actual.chance == pytest.approx((1 / 3 + 21 / 27) / 2)
    assert (actual.n_items, actual.n_judges) == (2, 3)


def test_a_judge_has_one_vote():
    twice = [(0, 0, 1), (0, 0, 1), (0, 0, 0), (0, 1, 0)]  # judge 0: better, most often
    assert measured(twice).agreement.value == 0
    torn = [(0, 0, 1), (0, 0, 0), (0, 1, 0), (0, 2, 0)]  # judge 0 has no vote
    actual = measured(torn)
    assert actual.agreement.value == 1
    assert (actual.n_votes.tolist(), actual.n_judges, actual.n_undecided) == ([2], 2, 1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-1, 1)), max_size=40))
def test_shares_are_those_of_a_loop(rows):
    given_ = defaultdict(lambda: defaultdict(Counter))
    for item, judge, decision in rows:
        given_[item][judge][decision] += 1
    majorities, chances, undecided = [], [], 0
    for of in given_.values():
        votes = []
        for counts in of.values():
            most = [d for d, n in counts.items() if n == max(counts.values())]
            votes += most if len(most) == 1 else []
            undecided += len(most) > 1
        if len(votes) > 1:
            majorities.append(2 * max(Counter(votes).values()) > len(votes))
            chances.append(float(majority_chance(len(votes))))
    actual = measured(rows)
    assert (actual.n_items, actual.n_undecided) == (len(majorities), undecided)
    if majorities:
        assert actual.agreement.value == pytest.approx(np.mean(majorities))
        assert actual.chance == pytest.approx(np.mean(chances))
    else:
        assert np.isnan([actual.agreement.value, actual.chance]).all()


def test_bad_input_is_refused():
    for bad in (([0], [0, 1], [0], [0]), ([0], [0], [2], [0]), ([0], [-1], [0], [0])):
        with pytest.raises(ValueError, match="must be"):
            majority_class(*bad, rounds=0, rng=1)
    with pytest.raises(ValueError, match="n is 0"):
        majority_chance(0)
