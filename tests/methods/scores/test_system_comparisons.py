import numpy as np
import pytest
import scipy.stats

from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.scores.system_comparisons import compare_systems


def example(n_systems: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    systems = rng.integers(n_systems, size=400)
    return systems, np.round(rng.normal(systems * 2.0, 10), 0)  # with ties


def test_every_pair_is_as_scipy_has_it():
    systems, scores = example()
    actual = compare_systems(systems, scores, n_systems=7)
    for a in range(6):
        for b in range(6):
            if a != b:
                x, y = scores[systems == a], scores[systems == b]
                p = scipy.stats.mannwhitneyu(
                    x, y, alternative="greater", method="asymptotic"
                ).pvalue
                assert actual.p_value[a, b] == pytest.approx(p, rel=1e-10)
                assert actual.difference[a, b] == pytest.approx(x.mean() - y.mean())
    assert np.isnan(actual.p_value.diagonal()).all()
    assert np.isnan(actual.p_value[6]).all()  # a system without segments
    assert np.isnan(actual.difference[:, 6]).all()


def test_many_pairs_in_small_groups_are_the_same():
    systems, scores = example()
    whole = compare_systems(systems, scores, n_systems=6)
    groups = compare_systems(systems, scores, n_systems=6, rows_at_once=100)
    np.testing.assert_array_equal(groups.p_value, whole.p_value)


def test_equal_systems_are_not_better_than_each_other():
    actual = compare_systems(np.array([0, 0, 1, 1]), np.full(4, 50.0), n_systems=2)
    assert actual.p_value[0, 1] == actual.p_value[1, 0] == 1
    assert actual.difference[0, 1] == 0


def test_one_system_and_none():
    assert compare_systems(np.zeros(3, int), np.arange(3.0), n_systems=1).p_value.shape == (1, 1)
    none = np.empty(0)
    assert compare_systems(none.astype(int), none, n_systems=0).p_value.shape == (0, 0)


def test_the_noise_of_a_sum_is_no_difference():
    noisy = np.array([0.1 + 0.2, 0.3])
    assert noisy[0] != noisy[1]
    assert comparable(noisy)[0] == comparable(noisy)[1]
