"""What was asked, from what is told of systems."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.comparison_counts import asked_comparisons


def asked(rows, n_items=9):
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return asked_comparisons(*columns, n_items=n_items)


def told(ranking, outputs):
    """All pairs of systems of a ranking of sets of items."""
    named = [(item, place) for place, items in enumerate(outputs) for item in items]
    return [
        (ranking, *sorted((a, b)), place == other)
        for (a, place), (b, other) in combinations(named, 2)
    ]


def test_by_hand():
    """Ranking 0 has {1, 3}, 0 and 2; in ranking 1 the same set; in ranking 2 one more shares."""
    rows = [*told(0, [[1, 3], [0], [2]]), *told(1, [[3, 1], [0]]), *told(2, [[1, 3, 4], [0]])]
    actual = asked(rows)
    triples = [(rows[r][0], a, b) for r, a, b in zip(actual.rows, actual.first, actual.second,
                                                    strict=True)]  # fmt: skip
    pair, triple = actual.second[0], actual.second[-1]
    assert sorted(triples) == sorted(
        [(0, 0, pair), (0, 2, pair), (0, 0, 2), (1, 0, pair), (2, 0, triple)]
    )
    assert len({0, 1, 2, 3, 4, pair, triple}) == 7
    assert min(pair, triple) >= 9
    said = {(rows[r][1], rows[r][2]): turned for r, turned in zip(actual.rows, actual.reversed_,
                                                                 strict=True)}  # fmt: skip
    assert not said[0, 2]
    assert said[1, 2]  # of {1, 3} and 2: 2 comes first now


def test_without_shared_outputs_nothing_changes():
    rows = told(0, [[4], [2], [7]]) + told(1, [[2], [4]])
    actual = asked(rows)
    assert actual.rows.tolist() == [0, 1, 2, 3]
    assert list(zip(actual.first, actual.second, strict=True)) == [r[1:3] for r in rows]
    assert not actual.reversed_.any()
    assert asked([]).rows.size == 0


partitions = st.lists(st.integers(0, 3), min_size=9, max_size=9)


@given(st.lists(partitions, max_size=5))
def test_sets_have_one_code_each(rankings):
    """A ranking is given by the output (0 to 3) of each of nine items."""
    rows, sets = [], []
    for ranking, outputs in enumerate(rankings):
        of = [[item for item in range(9) if outputs[item] == k] for k in range(4)]
        of = [items for items in of if items]
        rows += told(ranking, of)
        sets += [{(ranking, frozenset(a)), (ranking, frozenset(b))} for a, b in combinations(of, 2)]
    actual = asked(rows)
    names = {}
    seen = []
    for row, first, second, turned in zip(
        actual.rows, actual.first, actual.second, actual.reversed_, strict=True
    ):
        ranking, a, b, _ = rows[row]
        ends = []
        for item, code in zip((a, b), (second, first) if turned else (first, second), strict=True):
            of = frozenset(i for i in range(9) if rankings[ranking][i] == rankings[ranking][item])
            assert names.setdefault(of, code) == code
            ends.append((ranking, of))
        assert first < second
        seen.append(set(ends))
    assert len(set(names.values())) == len(names)
    assert all(code == min(of) for of, code in names.items() if len(of) == 1)
    plain = [sorted((r, sorted(of)) for r, of in ends) for ends in (*seen, *sets)]
    assert sorted(plain[: len(seen)]) == sorted(plain[len(seen) :])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one length"):
        asked_comparisons([0], [0, 1], [1], [False], n_items=2)
    with pytest.raises(ValueError, match="allowed are 0 to 1"):
        asked_comparisons([0], [0], [2], [False], n_items=2)
