from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.numerics.bootstrap import ItemResamples, weighted_cells


def drawn(resamples: ItemResamples, width: int) -> np.ndarray:
    return np.concatenate(list(resamples.counts(width)), axis=1)


@pytest.mark.parametrize(("n_items", "rounds"), [(1, 3), (7, 50), (7, 0), (1000, 5), (70_000, 2)])
def test_a_round_counts_items_drawn_one_by_one(n_items, rounds):
    resamples = ItemResamples.draw(n_items, rounds, 3)
    rng = np.random.default_rng(resamples.seed)
    plain = [
        np.bincount(rng.integers(n_items, size=n_items), minlength=n_items) for _ in range(rounds)
    ]
    np.testing.assert_array_equal(drawn(resamples, 4), np.stack([np.ones(n_items), *plain], axis=1))


@pytest.mark.parametrize("most_kept", [0, 10**9])
@pytest.mark.parametrize("at_once", [1, 25, 10**6])
def test_rounds_are_the_same_kept_or_drawn_anew(most_kept, at_once):
    whole = drawn(ItemResamples.draw(9, 40, 3), 40)
    resamples = replace(ItemResamples.draw(9, 40, 3), most_kept=most_kept, drawn_at_once=at_once)
    for width in (1, 7, 40):  # more than once: each reads the same rounds
        np.testing.assert_array_equal(drawn(resamples, width), whole)
        weights = np.concatenate(list(resamples.chunks(width)), axis=1)
        np.testing.assert_array_equal(weights, whole)
        assert weights.dtype == np.float64


def test_of_no_items_there_is_the_data_only():
    assert drawn(ItemResamples.draw(0, 5, 3), 4).shape == (0, 1)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_steps_change_no_digit(scaled, rounds):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(5_000, rounds))
    weights = rng.integers(0, 4, (5_000, rounds)).astype(float)
    scale = rng.random(5_000) if scaled else None
    how = ("ir,ir,i->r", scale) if scaled else ("ir,ir->r",)
    whole = np.einsum(how[0], weights, values, *how[1:])
    for cells in (1, 100, 10**9):
        total = weighted_cells(
            lambda items: values[items].copy(), weights, scale, cells_at_once=cells
        )
        np.testing.assert_array_equal(total, whole)


def test_resamples_that_are_split_are_resamples_of_all_items():
    """Each draws as many items as there are; counts have the multinomial's mean and covariance."""
    n, rounds, sizes = 12, 40_000, [3, 0, 8, 1]
    split = ItemResamples.draw(n, rounds, 3).split(sizes)
    blocks = [np.concatenate([*of.counts(1000)], axis=1) for of in split if of.n_items]
    times = np.concatenate(blocks)
    assert (times[:, 0] == 1).all()
    drawn = times[:, 1:].astype(np.float64)
    assert (drawn.sum(axis=0) == n).all()
    assert drawn.mean(axis=1) == pytest.approx(np.ones(n), abs=0.02)
    covariance = np.cov(drawn)
    expected = np.eye(n) - 1 / n
    assert covariance == pytest.approx(expected, abs=0.04)
    again = ItemResamples.draw(n, rounds, 3).split(sizes)
    assert (np.concatenate([*again[2].counts(32)], axis=1) == blocks[1]).all()
