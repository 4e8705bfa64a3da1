import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.comparisons.waves import waves, waves_side_by_side, winners_first


@st.composite
def comparisons(draw):
    n_items = draw(st.integers(2, 8))
    item = st.integers(0, n_items - 1)
    pairs = draw(st.lists(st.tuples(item, item).filter(lambda p: p[0] != p[1]), max_size=40))
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    return first, second, n_items


def test_waves_by_hand():
    """0-1 and 2-3 go together; 1-2 waits for both; 0-4 only for the first."""
    actual = waves([0, 2, 1, 0], [1, 3, 2, 4], n_items=6)
    assert [wave.tolist() for wave in actual] == [[0, 1], [2, 3]]
    assert [w.tolist() for w in waves([0, 0, 0], [1, 1, 1], n_items=2)] == [[0], [1], [2]]
    assert waves([], [], n_items=3) == []


@given(comparisons())
def test_the_wave_is_one_more_than_the_last_of_both_items(table):
    first, second, n_items = table
    number = {
        int(at): w for w, wave in enumerate(waves(*table[:2], n_items=n_items)) for at in wave
    }
    assert sorted(number) == list(range(first.size))
    for at in range(first.size):
        mine = {first[at], second[at]}
        before = [number[k] for k in range(at) if mine & {first[k], second[k]}]
        assert number[at] == max(before, default=-1) + 1


@given(comparisons())
def test_waves_equal_a_loop_to_the_last_bit(table):
    """An update that rounds, does not commute, and tells first from second."""

    def update(a, b):
        return a / 3 + b * b / 5, b / 7 - a

    first, second, n_items = table
    by_loop = np.linspace(0.1, 0.9, n_items)
    by_wave = by_loop.copy()
    for a, b in zip(first, second, strict=True):
        by_loop[a], by_loop[b] = update(by_loop[a], by_loop[b])
    for wave in waves(first, second, n_items=n_items):
        a, b = first[wave], second[wave]
        assert np.unique([a, b]).size == 2 * wave.size  # no item twice
        assert (np.diff(wave) > 0).all()
        by_wave[a], by_wave[b] = update(by_wave[a], by_wave[b])
    assert by_wave.tolist() == by_loop.tolist()


@given(st.lists(comparisons(), min_size=1, max_size=4), st.randoms())
def test_orders_side_by_side_have_the_waves_that_each_has_alone(tables, random):
    """As many of each order's comparisons as the shortest has; ties go with their pair."""
    n = min(first.size for first, *_ in tables)
    shift = np.arange(len(tables)) * 8
    pairs = np.stack([[first[:n], second[:n]] for first, second, _ in tables], axis=-1) + shift
    ties = [[random.random() < 0.5 for _ in tables] for _ in range(n)]
    tie = np.array(ties, bool).reshape(n, len(tables))
    expected: list[list[tuple[int, int, bool]]] = []
    for r in range(len(tables)):
        for w, at in enumerate(waves(*pairs[:, :, r], n_items=8 * len(tables))):
            expected += [[] for _ in range(w + 1 - len(expected))]
            expected[w] += zip(*pairs[:, at, r].tolist(), tie[at, r].tolist(), strict=True)
    actual = waves_side_by_side(pairs, tie, n_items=8 * len(tables))
    assert [sorted(zip(*pair.tolist(), tied.tolist(), strict=True)) for pair, tied in actual] == [
        sorted(wave) for wave in expected
    ]


def test_places_ascend_in_long_waves():
    first = np.arange(20_000) % 10_000 * 2
    actual = waves(first, first + 1, n_items=20_000)
    assert [wave.tolist() for wave in actual] == [[*range(10_000)], [*range(10_000, 20_000)]]


def test_the_winner_comes_first():
    pairs, tie = winners_first([0, 1, 2], [1, 2, 0], [1, 0, -1], n_items=3)
    assert pairs.tolist() == [[0, 1, 0], [1, 2, 2]]
    assert tie.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "check", [waves, lambda a, b, n_items: winners_first(a, b, a, n_items=n_items)]
)
def test_bad_codes(check):
    with pytest.raises(ValueError, match=r"2 comparisons of an item with itself: items \[1, 0\]"):
        check(np.array([0, 1, 0]), np.array([1, 1, 0]), n_items=2)
    for bad in (-1, 2):
        with pytest.raises(ValueError, match=rf"items not in 0\.\.1: \[{bad}\]"):
            check(np.array([0, 1]), np.array([1, bad]), n_items=2)
        with pytest.raises(ValueError, match=rf"items not in 0\.\.1: \[{bad}\]"):
            check(np.array([0, bad]), np.array([1, 0]), n_items=2)
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        check(np.array([0, 1]), np.array([1]), n_items=2)


def test_bad_outcomes():
    with pytest.raises(ValueError, match=r"outcome must be 1, 0 or -1, not \[2, -3\]"):
        winners_first([0, 0, 0], [1, 1, 1], [2, 1, -3], n_items=2)
    with pytest.raises(ValueError, match="1 outcomes of 2 comparisons"):
        winners_first([0, 0], [1, 1], [1], n_items=2)
