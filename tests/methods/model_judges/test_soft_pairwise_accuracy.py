"""Soft pairwise accuracy: by hand, by enumeration, scipy's test, and its invariances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import permutation_test

from annot_pipeline.methods.model_judges.soft_pairwise_accuracy import soft_pairwise_accuracy


def scores(seed: int, n_segments: int = 200, n_systems: int = 5):
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n_systems)
    human = quality + rng.normal(0, 1, (n_segments, n_systems))
    return human, 0.5 * human + rng.normal(0, 1, human.shape)


def test_two_segments_by_hand():
    """People's differences 1 and 2: sums of swaps 3, 1, -1, -3: p = (1/2) / 4.

    The model's -1 and 2: sums 1, 3, -3, -1: one is more than 1, one equal: p = 1.5 / 4.
    """
    result = soft_pairwise_accuracy([[1, 0], [2, 0]], [[0, 1], [2, 0]])
    assert result.is_exact
    assert result.n_permutations == 4
    assert result.human_p_values[0, 1] == 0.125
    assert result.model_p_values[0, 1] == 0.375
    assert result.human_p_values[1, 0] == 0.875
    assert result.accuracy == 0.75


def test_few_segments_are_enumerated():
    human, model = scores(1, n_segments=8, n_systems=4)
    human[3, 2] = np.nan
    result = soft_pairwise_accuracy(human, model)
    gaps = []
    for first in range(4):
        for second in range(first + 1, 4):
            p = []
            for side in (human, model):
                common = ~np.isnan(human[:, first] - human[:, second])
                d = (side[:, first] - side[:, second])[common]
                sums = np.array([np.dot(signs, d) for signs in product((1, -1), repeat=d.size)])
                equal = np.isclose(sums, d.sum())
                p.append(((sums > d.sum()) & ~equal).mean() + equal.mean() / 2)
            assert result.human_p_values[first, second] == pytest.approx(p[0])
            gaps.append(abs(p[0] - p[1]))
    assert result.accuracy == pytest.approx(1 - np.mean(gaps))


def test_p_values_are_those_of_scipy():
    human, model = scores(2, n_segments=60, n_systems=3)
    result = soft_pairwise_accuracy(human, model, n_permutations=20_000)
    assert not result.is_exact
    for first, second in ((0, 1), (0, 2), (1, 2)):
        p = permutation_test(
            (human[:, first], human[:, second]), lambda x, y, axis: (x - y).mean(axis=axis),
            permutation_type="samples", alternative="greater", n_resamples=20_000,
            vectorized=True, rng=np.random.default_rng(0),
        ).pvalue  # fmt: skip
        assert result.human_p_values[first, second] == pytest.approx(p, abs=0.015)


@pytest.mark.parametrize(("seed", "accuracy"), [(1, 0.9185), (2, 0.9487), (3, 0.9731)])
def test_as_the_algorithm_of_the_authors(seed, accuracy):
    """compute_one_minus_pce of mt-metrics-eval (1b47eab), 100,000 permutations of its own seed."""
    result = soft_pairwise_accuracy(*scores(seed), n_permutations=40_000)
    assert result.accuracy == pytest.approx(accuracy, abs=0.003)


def test_neither_scale_nor_order_of_systems_count():
    human, model = scores(3)
    human[:50, 1] = np.nan
    first = soft_pairwise_accuracy(human, model)
    assert first.n_pairs == 10
    assert 0.5 < first.accuracy < 1
    shifted = soft_pairwise_accuracy(human * 40 + 7, model / 3 - 2)
    assert shifted.accuracy == first.accuracy
    by_segment = np.random.default_rng(1).normal(0, 1, (200, 1))
    assert soft_pairwise_accuracy(human + by_segment, model).accuracy == first.accuracy
    order = [3, 1, 4, 0, 2]
    permuted = soft_pairwise_accuracy(human[:, order], model[:, order])
    assert permuted.accuracy == pytest.approx(first.accuracy, abs=1e-12)
    np.testing.assert_array_equal(permuted.human_p_values, first.human_p_values[order][:, order])
    assert soft_pairwise_accuracy(model, human).accuracy == first.accuracy
    assert soft_pairwise_accuracy(human, human * 2).accuracy == 1
    assert soft_pairwise_accuracy(human, model, seed=1).accuracy != first.accuracy


def test_a_model_turned_round_has_the_opposite_p_values():
    human, model = scores(4)
    turned, straight = (soft_pairwise_accuracy(human, side) for side in (-model, model))
    np.testing.assert_allclose(turned.model_p_values, 1 - straight.model_p_values, atol=1e-12)


def test_chunks_of_permutations_are_those_of_one():
    human, model = scores(5)
    whole = soft_pairwise_accuracy(human, model)
    chunks = soft_pairwise_accuracy(human, model, signs_at_once=200 * 300)
    assert chunks.n_permutations == 1000
    assert chunks.accuracy == pytest.approx(whole.accuracy, abs=0.03)


def test_sums_that_should_be_equal_are():
    """Differences of .1, .2 and .3 sum to those of 1, 2 and 3, divided by ten."""
    rng = np.random.default_rng(7)
    human, model = rng.integers(0, 10, (2, 9, 4))
    whole = soft_pairwise_accuracy(human, model)
    for scale in (0.1, 0.7, 1e5 / 3):
        part = soft_pairwise_accuracy(human * scale, model * scale + 0.3)
        np.testing.assert_array_equal(part.human_p_values, whole.human_p_values)
        np.testing.assert_array_equal(part.model_p_values, whole.model_p_values)


def test_constant_scores_are_undecided():
    human, model = scores(6)
    result = soft_pairwise_accuracy(human, np.zeros_like(model))
    off = ~np.eye(5, dtype=bool)
    assert (result.model_p_values[off] == 0.5).all()
    assert np.isnan(np.diag(result.model_p_values)).all()


def test_without_pairs_there_is_no_accuracy():
    one = soft_pairwise_accuracy(np.ones((5, 1)), np.ones((5, 1)))
    assert np.isnan(one.accuracy)
    apart = np.array([[1, np.nan], [np.nan, 1]])
    assert np.isnan(soft_pairwise_accuracy(apart, apart).accuracy)
    assert np.isnan(soft_pairwise_accuracy(np.ones((0, 3)), np.ones((0, 3))).accuracy)
    with pytest.raises(ValueError, match="model scores"):
        soft_pairwise_accuracy(np.ones((5, 2)), np.ones((5, 3)))
    with pytest.raises(ValueError, match="1 or more"):
        soft_pairwise_accuracy(np.ones((5, 2)), np.ones((5, 2)), n_permutations=0)
