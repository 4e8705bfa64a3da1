"""Parts and components of comparison graphs, held against paths found one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.connectivity import connectivity


def of(n_systems: int, *comparisons: tuple[int, int, int]):
    first, second, outcome = np.array(comparisons).reshape(-1, 3).T
    return connectivity(first, second, outcome, n_systems=n_systems)


def test_a_chain_has_one_order():
    actual = of(3, (2, 1, 1), (0, 1, -1))  # 2 > 1 > 0
    assert actual.component.tolist() == [2, 1, 0]
    assert actual.part.tolist() == [0, 0, 0]
    assert actual.total.tolist() == [True]
    assert actual.strong.tolist() == [False]


def test_two_losers_that_never_met_have_none():
    actual = of(3, (0, 1, 1), (0, 2, 1))
    assert actual.component.tolist() == [0, 1, 2]
    assert actual.total.tolist() == [False]


def test_two_winners_that_never_met_have_none():
    actual = of(3, (0, 2, 1), (1, 2, 1))
    assert actual.component.tolist() == [0, 1, 2]
    assert actual.total.tolist() == [False]


def test_ties_and_cycles_make_components():
    """0 = 1, both above the cycle 2 > 3 > 4 > 2; 5 and 6 are elsewhere; 7 is alone."""
    actual = of(8, (0, 1, 0), (1, 2, 1), (2, 3, 1), (3, 4, 1), (2, 4, -1), (6, 5, 1))
    assert actual.part.tolist() == [0, 0, 0, 0, 0, 1, 1, 2]
    assert actual.component.tolist() == [0, 0, 1, 1, 1, 3, 2, 4]
    assert actual.total.tolist() == [True, True, True]
    assert actual.strong.tolist() == [False, False, True]
    assert (actual.n_parts, actual.n_components) == (3, 5)


def test_none():
    actual = of(0)
    assert (actual.n_parts, actual.n_components) == (0, 0)
    assert actual.strong.size == 0


def test_a_system_against_itself_is_refused():
    with pytest.raises(ValueError, match="with itself"):
        of(2, (1, 1, 0))


GRAPHS = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(-1, 1)).filter(
                lambda c: c[0] != c[1]
            ),
            max_size=8,
        ),
    )
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(GRAPHS)
def test_as_by_paths(graph):
    n, comparisons = graph
    beats = np.eye(n, dtype=bool)
    for a, b, outcome in comparisons:
        beats[a, b] |= outcome >= 0
        beats[b, a] |= outcome <= 0
    reach, joined = beats.copy(), beats | beats.T
    for k in range(n):
        reach |= reach[:, [k]] & reach[[k], :]
        joined |= joined[:, [k]] & joined[[k], :]
    actual = of(n, *comparisons)
    same = actual.component[:, None] == actual.component
    assert (same == (reach & reach.T)).all()
    assert ((actual.part[:, None] == actual.part) == joined).all()
    up = actual.component[:, None] < actual.component
    assert not (reach & ~same & ~up).any()  # the better component comes first
    assert (actual.count_better() == (reach & ~reach.T).sum(axis=0)).all()
    for part in range(actual.n_parts):
        members = np.flatnonzero(actual.part == part)
        chains = sum(
            all(reach[x, y] or not reach[y, x] for x, y in itertools.combinations(order, 2))
            for order in itertools.permutations([m for m in members if (actual.component[:m] !=
                                                actual.component[m]).all()])
        )  # fmt: skip
        assert actual.total[part] == (chains == 1)
