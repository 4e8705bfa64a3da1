"""Kappas of ternary decisions, held against worked examples and plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.agreement.ternary_agreement import (
    most_prolific_kappa,
    ternary_agreement,
)

# item, judge, decision; items 0 and 1 are of segment 0, item 2 of segment 1
EXAMPLE = [
    (0, 0, 1), (0, 1, 1), (0, 2, 0),  # 3 pairs, 1 agrees
    (1, 0, -1), (1, 0, -1), (1, 1, 1),  # judge 0 twice, alike; 2 pairs of two judges, 0 agree
    (2, 1, 0), (2, 2, 0),  # 1 pair, agrees
]  # fmt: skip


def measured(rows, pairs, *, rounds=0, rng=1):
    items, judges, decisions = np.array(rows, np.int64).reshape(-1, 3).T
    return ternary_agreement(
        items, judges, decisions, items // 2, pairs=pairs, rounds=rounds, rng=rng
    )


def test_inter_by_hand():
    actual = measured(EXAMPLE, "inter")
    assert (actual.agree, actual.comparable, actual.ties, actual.total) == (2, 6, 3, 8)
    chance = (3 / 8) ** 2 + 2 * (5 / 16) ** 2
    assert actual.chance == pytest.approx(chance)
    assert actual.percent_agreement.value == pytest.approx(1 / 3)
    assert actual.kappa.value == pytest.approx((1 / 3 - chance) / (1 - chance))
    assert (actual.n_items, actual.n_judges) == (3, 3)


def test_intra_by_hand():
    """Chance is that of judge 0 in segment 0, who alone decided a pair twice."""
    actual = measured(EXAMPLE, "intra")
    assert (actual.agree, actual.comparable, actual.ties, actual.total) == (1, 1, 0, 3)
    assert actual.chance == pytest.approx(0.5)
    assert actual.kappa.value == pytest.approx(1)
    assert (actual.n_items, actual.n_judges) == (1, 1)


def test_the_published_chance():
    """English-Czech: 44,356 ties of 136,855 give .333."""
    n = 136_855
    decisions = np.r_[np.zeros(44_356, int), np.ones(n - 44_356, int)]
    zeros = np.zeros(n, int)
    actual = ternary_agreement(
        np.arange(n), zeros, decisions, zeros, pairs="inter", rounds=0, rng=1
    )
    assert f"{actual.chance:.3f}" == "0.333"
    assert np.isnan(actual.kappa.value)


rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-1, 1)), min_size=1, max_size=40
)


@given(rows)
def test_counts_are_those_of_a_loop(rows):
    by_item = defaultdict(list)
    for item, judge, decision in rows:
        by_item[item].append((judge, decision))
    pairs = [(i, a, b) for i, of in by_item.items() for a, b in combinations(of, 2)]
    own = [p for p in pairs if p[1][0] == p[2][0]]
    repeaters = {(i // 2, a[0]) for i, a, _ in own}
    for kind, chosen, counted in (
        ("all", pairs, rows),
        ("inter", [p for p in pairs if p[1][0] != p[2][0]], rows),
        ("intra", own, [r for r in rows if (r[0] // 2, r[1]) in repeaters]),
    ):
        actual = measured(rows, kind)
        assert actual.comparable == len(chosen)
        assert actual.agree == sum(a[1] == b[1] for _, a, b in chosen)
        assert (actual.ties, actual.total) == (sum(r[2] == 0 for r in counted), len(counted))
        assert actual.n_items == len({p[0] for p in chosen})
        assert actual.n_judges == len({j for _, a, b in chosen for j in (a[0], b[0])})


@given(rows, st.permutations(range(4)), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_names_order_and_sides_change_nothing(rows, judges, random):
    """Judges renamed, rows shuffled, and the sides of some items swapped."""
    swapped = [(i, judges[j], -d if i % 3 else d) for i, j, d in rows]
    random.shuffle(swapped)
    for kind in ("inter", "intra"):
        ours, theirs = (measured(of, kind, rounds=20) for of in (rows, swapped))
        np.testing.assert_equal(asdict(ours), asdict(theirs))


def test_ties_only_and_nothing():
    actual = measured([(0, 0, 0), (0, 1, 0)], "inter")
    assert actual.percent_agreement.value == 1
    assert np.isnan(actual.kappa.value)
    actual = measured([], "inter", rounds=9)
    assert (actual.comparable, actual.n_items, actual.n_judges) == (0, 0, 0)
    assert np.isnan([actual.kappa.value, actual.chance, actual.kappa.ci_low]).all()


def test_the_interval_is_that_of_segments_drawn_anew():
    rng = np.random.default_rng(2)
    truth = rng.integers(-1, 2, 60)
    rows = [
        (item, judge, int(truth[item]) if rng.random() < 0.6 else int(rng.integers(-1, 2)))
        for item, judge in product(range(60), range(3))
    ]
    actual = measured(rows, "inter", rounds=3000)
    by_segment = defaultdict(list)
    for row in rows:
        by_segment[row[0] // 2].append(row)
    kappas = []
    for _ in range(300):
        drawn = [
            (2 * copy + item % 2, judge, decision)
            for copy, segment in enumerate(rng.integers(0, 30, 30).tolist())
            for item, judge, decision in by_segment[segment]
        ]
        kappas.append(measured(drawn, "inter").kappa.value)
    low, high = np.percentile(kappas, [2.5, 97.5])
    assert actual.kappa.ci_low == pytest.approx(low, abs=0.03)
    assert actual.kappa.ci_high == pytest.approx(high, abs=0.03)


def test_cohen_by_hand():
    """Judges 2 and 0 decide most; of judge 1 nothing counts."""
    first, second = [1, 1, 0, -1, 1], [1, 0, 0, -1, -1]
    rows = [(i, 2, d) for i, d in enumerate(first)] + [(9, 2, 1)]
    rows += [(i, 0, d) for i, d in enumerate(second)] + [(0, 1, -1)]
    items, judges, decisions = np.array(rows).T
    actual = most_prolific_kappa(items, judges, decisions, items, rounds=100, rng=1)
    chance = (3 * 1 + 1 * 2 + 1 * 2) / 25
    assert actual.kappa.value == pytest.approx((3 / 5 - chance) / (1 - chance))
    assert actual.judges == (2, 0)
    assert (actual.n_items, actual.n_pairs) == (5, 5)
    assert actual.kappa.ci_low < actual.kappa.value < actual.kappa.ci_high


@given(rows)
def test_cohen_is_that_of_a_loop(rows):
    n = Counter(judge for _, judge, _ in rows)
    items, judges, decisions = np.array(rows).T
    actual = most_prolific_kappa(items, judges, decisions, items // 2, rounds=0, rng=1)
    if len(n) < 2:
        assert actual.judges is None
        return
    one, other = sorted(n, key=lambda judge: (-n[judge], judge))[:2]
    pairs = [(a[2], b[2]) for a in rows for b in rows if (a[0], a[1], b[1]) == (b[0], one, other)]
    assert actual.judges == (one, other)
    assert actual.n_pairs == len(pairs)
    if not pairs:
        assert np.isnan(actual.kappa.value)
        return
    share = np.mean([a == b for a, b in pairs])
    chance = sum(np.mean([a == d for a, _ in pairs]) * np.mean([b == d for _, b in pairs])
                 for d in (-1, 0, 1))  # fmt: skip
    expected = np.nan if chance == 1 else (share - chance) / (1 - chance)
    assert actual.kappa.value == pytest.approx(expected, nan_ok=True)


def test_bad_input_is_refused():
    for bad in (
        ([0], [0, 1], [0], [0]),
        ([0], [0], [2], [0]),
        ([-1], [0], [1], [0]),
        ([0, 0], [0, 1], [1, 1], [0, 1]),  # an item of two segments
    ):
        with pytest.raises(ValueError, match=r"must be|two segments"):
            ternary_agreement(*bad, pairs="inter", rounds=0, rng=1)
    with pytest.raises(ValueError, match="rounds is -1"):
        ternary_agreement([0], [0], [1], [0], pairs="inter", rounds=-1, rng=1)
