import numpy as np
import pytest

from annot_pipeline.methods.numerics.bootstrap import SegmentScores, resample_segments


def segments(rounds: int = 400, seed: int = 4, **sizes: int) -> np.ndarray:
    rng = np.random.default_rng(8)
    systems, numbers = np.divmod(np.arange(200), 100)
    scores = rng.normal(50, 10, 200) + 3 * systems
    return resampled(systems, numbers, scores, n_segments=100, rounds=rounds, seed=seed, **sizes)


def resampled(
    systems, numbers, scores, *, n_segments: int, rounds: int, seed: int, **sizes: int
) -> np.ndarray:
    """Of one method, two systems."""
    (replicates,) = resample_segments(
        [SegmentScores(systems, numbers, scores)], n_systems=2, n_segments=n_segments,
        rounds=rounds, rng=np.random.default_rng(seed), **sizes,
    )  # fmt: skip
    return replicates


def test_the_spread_is_the_standard_error():
    rng = np.random.default_rng(8)
    scores = rng.normal(50, 10, 200)[:100]
    actual = segments(4000)[:, 0]
    assert actual.mean() == pytest.approx(scores.mean(), abs=0.1)
    assert actual.std() == pytest.approx(scores.std() / 10, rel=0.05)


def test_the_seed_decides_and_pieces_do_not():
    whole = segments()
    np.testing.assert_array_equal(whole, segments())
    assert (whole != segments(seed=5)).any()
    np.testing.assert_array_equal(whole, segments(drawn_at_once=700))


def test_systems_share_the_segments_drawn():
    """A system that is better by 5 on every segment is so in every round."""
    systems, numbers = np.divmod(np.arange(40), 20)
    scores = np.arange(40.0) % 20 + 5 * systems
    replicates = resampled(systems, numbers, scores, n_segments=20, rounds=50, seed=1)
    np.testing.assert_allclose(replicates[:, 1] - replicates[:, 0], 5)


def test_methods_share_the_segments_drawn():
    """One whose scores are twice another's, and one that lacks a segment; drawn once, in pieces."""
    systems, numbers = np.divmod(np.arange(40), 20)
    scores = np.arange(40.0) ** 2
    whole = SegmentScores(systems, numbers, scores)
    methods = [whole, SegmentScores(systems, numbers, 2 * scores)]
    methods.append(SegmentScores(systems[1:], numbers[1:], scores[1:]))
    one, twice, without = resample_segments(
        methods, n_systems=2, n_segments=20, rounds=50, rng=np.random.default_rng(1),
        drawn_at_once=100,
    )  # fmt: skip
    np.testing.assert_array_equal(twice, 2 * one)
    np.testing.assert_array_equal(without[:, 1], one[:, 1])
    assert (without[:, 0] != one[:, 0]).any()
    alone = resampled(systems, numbers, scores, n_segments=20, rounds=50, seed=1)
    np.testing.assert_array_equal(alone, one)


def test_a_round_without_any_segment_of_a_system_is_undefined():
    actual = resampled(
        np.array([0, 1, 1, 1]), np.array([0, 0, 1, 2]), np.array([7.0, 1, 2, 3]),
        n_segments=3, rounds=100, seed=1,
    )  # fmt: skip
    drawn = ~np.isnan(actual[:, 0])
    assert 40 < drawn.sum() < 95  # 1 - (2/3)^3 = .70
    assert (actual[drawn, 0] == 7).all()
    assert not np.isnan(actual[:, 1]).any()


def test_no_rounds():
    assert segments(0).shape == (0, 2)
