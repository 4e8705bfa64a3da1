"""Intraclass correlations against Shrout & Fleiss 1979, table 2, and simulated judges."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.agreement.intraclass import intraclass
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.score_block import ScoreBlock

SHROUT_FLEISS = np.array([
    [9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7],
], float)  # fmt: skip
"""Six targets by four judges."""


def blocks_of(scores: np.ndarray, pieces: int = 1, keep: np.ndarray | None = None):
    n, k = scores.shape
    items, judges = (part.reshape(-1) for part in np.indices((n, k)))
    mask = np.ones(n * k, bool) if keep is None else keep
    blocks = []
    for piece in range(pieces):
        mine = mask & (items % pieces == piece)
        _, codes = np.unique(items[mine], return_inverse=True)
        sizes = (int(codes.max()) + 1, k, 1)
        blocks.append(ScoreBlock.from_rows(
            codes, judges[mine], np.zeros(mine.sum(), int), scores.reshape(-1)[mine], sizes
        ))  # fmt: skip
    return InMemoryBlocks(blocks)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("center", [0.0, 5.0])
def test_the_published_example(pieces, center):
    """Values of the paper; intervals as R's psych 2.4 prints them."""
    _, result = intraclass(blocks_of(SHROUT_FLEISS, pieces), center)
    assert (result.n_items, result.n_judges) == (6, 4)
    for one, value, low, high in (
        (result.icc_1, 0.166, -0.133, 0.72), (result.icc_2_1, 0.290, 0.019, 0.76),
        (result.icc_k, 0.620, 0.071, 0.93),
    ):  # fmt: skip
        assert one.value == pytest.approx(value, abs=5e-4)
        assert one.low == pytest.approx(low, abs=5e-4)
        assert one.high == pytest.approx(high, abs=5e-3)


def test_where_judges_do_not_cross_items_there_are_sums_only():
    keep = np.ones(24, bool)
    keep[3] = False
    sums, result = intraclass(blocks_of(SHROUT_FLEISS, keep=keep), 0.0)
    assert result is None
    assert not sums.is_crossed
    assert sums.per_item == pytest.approx(6 / (5 / 4 + 1 / 3))


def test_scores_that_do_not_vary_have_no_correlation():
    assert intraclass(blocks_of(np.full((4, 3), 50.0)), 50.0)[1] is None


def test_judges_who_agree_fully():
    _, result = intraclass(blocks_of(np.repeat([[1.0], [2.0], [4.0]], 3, axis=1)), 2.0)
    assert result.icc_2_1.value == result.icc_k.value == result.icc_1.value == 1


def test_intervals_hold():
    """Items sd 2, judges sd 1, rest sd 2: ICC(2,1) = 4/9."""
    rng = np.random.default_rng(4)
    inside = []
    for _ in range(300):
        scores = rng.normal(0, 2, (30, 1)) + rng.normal(0, 1, (1, 8)) + rng.normal(0, 2, (30, 8))
        _, result = intraclass(blocks_of(scores), 0.0)
        inside.append(
            [
                result.icc_2_1.low <= 4 / 9 <= result.icc_2_1.high,
                result.icc_k.low <= 4 / (4 + 5 / 8) <= result.icc_k.high,
            ]
        )
    share = np.mean(inside, axis=0)
    assert (share > 0.91).all()
    assert (share < 0.99).all()
