import numpy as np
import pytest

from annot_pipeline.methods.numerics import bootstrap_means
from annot_pipeline.methods.numerics.bootstrap_means import (
    SegmentScores,
    resample_judges,
    resample_segments,
)


def segments(rounds: int = 400, seed: int = 4) -> np.ndarray:
    rng = np.random.default_rng(8)
    systems, places = np.divmod(np.arange(200), 100)
    scores = rng.normal(50, 10, 200) + 3 * systems
    return resampled(systems, places, scores, n_segments=100, rounds=rounds, seed=seed)


def resampled(systems, places, scores, *, n_segments: int, rounds: int, seed: int) -> np.ndarray:
    """Of one method, two systems."""
    (found,) = resample_segments(
        [SegmentScores(systems, places, scores)], n_systems=2, n_segments=n_segments,
        rounds=rounds, rng=np.random.default_rng(seed),
    )  # fmt: skip
    return found


def test_the_spread_is_the_standard_error():
    rng = np.random.default_rng(8)
    scores = rng.normal(50, 10, 200)[:100]
    found = segments(4000)[:, 0]
    assert found.mean() == pytest.approx(scores.mean(), abs=0.1)
    assert found.std() == pytest.approx(scores.std() / 10, rel=0.05)


def test_the_seed_decides_and_pieces_do_not(monkeypatch):
    whole = segments()
    np.testing.assert_array_equal(whole, segments())
    assert (whole != segments(seed=5)).any()
    monkeypatch.setattr(bootstrap_means, "DRAWN_AT_ONCE", 700)
    np.testing.assert_array_equal(whole, segments())


def test_systems_share_the_segments_drawn():
    """A system that is better by 5 on every segment is so in every round."""
    systems, places = np.divmod(np.arange(40), 20)
    scores = np.arange(40.0) % 20 + 5 * systems
    found = resampled(systems, places, scores, n_segments=20, rounds=50, seed=1)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], 5)


def test_methods_share_the_segments_drawn(monkeypatch):
    """One whose scores are twice another's, and one that lacks a segment; drawn once, in pieces."""
    monkeypatch.setattr(bootstrap_means, "DRAWN_AT_ONCE", 100)
    systems, places = np.divmod(np.arange(40), 20)
    scores = np.arange(40.0) ** 2
    whole = SegmentScores(systems, places, scores)
    methods = [whole, SegmentScores(systems, places, 2 * scores)]
    methods.append(SegmentScores(systems[1:], places[1:], scores[1:]))
    one, twice, without = resample_segments(
        methods, n_systems=2, n_segments=20, rounds=50, rng=np.random.default_rng(1)
    )
    np.testing.assert_array_equal(twice, 2 * one)
    np.testing.assert_array_equal(without[:, 1], one[:, 1])
    assert (without[:, 0] != one[:, 0]).any()
    alone = resampled(systems, places, scores, n_segments=20, rounds=50, seed=1)
    np.testing.assert_array_equal(alone, one)


def test_a_round_without_any_segment_of_a_system_is_undefined():
    found = resampled(
        np.array([0, 1, 1, 1]), np.array([0, 0, 1, 2]), np.array([7.0, 1, 2, 3]),
        n_segments=3, rounds=100, seed=1,
    )  # fmt: skip
    drawn = ~np.isnan(found[:, 0])
    assert 40 < drawn.sum() < 95  # 1 - (2/3)^3 = .70
    assert (found[drawn, 0] == 7).all()
    assert not np.isnan(found[:, 1]).any()


def test_no_rounds():
    assert segments(0).shape == (0, 2)


def test_judges_are_drawn_whole():
    """One judge gives 0 throughout, one 100: a round has a mean of 0, 50 or 100."""
    cells = np.repeat(np.arange(10), 2)
    judges = np.tile([0, 1], 10)
    found = resample_judges(
        np.zeros(10, int), np.arange(10), cells, judges, judges * 100.0,
        n_systems=1, n_judges=2, rounds=200, rng=np.random.default_rng(2),
    )  # fmt: skip
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [0, 50, 100]
    assert counts[1] / 200 == pytest.approx(0.5, abs=0.1)


def test_a_cell_whose_judges_are_not_drawn_is_left_out_of_the_mean():
    """Cell 0 is judged by the first judge alone, cell 1 by both."""
    found = resample_judges(
        np.zeros(2, int), np.arange(2), np.array([0, 1, 1]), np.array([0, 0, 1]),
        np.array([10.0, 20.0, 40.0]),
        n_systems=1, n_judges=2, rounds=100, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert set(found.reshape(-1).tolist()) == {15.0, 20.0, 40.0}


def test_criteria_weigh_alike_within_a_cell():
    """Two judges who say the same: the first cell has two criteria (90, 70), the second one."""
    cells = np.array([0, 0, 1])
    parts, judges = np.tile([0, 1, 2], 2), np.repeat([0, 1], 3)
    found = resample_judges(
        np.zeros(2, int), cells, parts, judges, np.tile([90.0, 70.0, 10.0], 2),
        n_systems=1, n_judges=2, rounds=20, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert set(found.reshape(-1).tolist()) == {(80 + 10) / 2}
