"""Names of two systems of WMT22 swapped at random: how often tests reject what is no difference."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.swapped_labels import draw, size, swapped, tasks_of


def test_swaps_are_by_block_and_leave_other_systems():
    systems = np.array([0, 1, 2, 0, 1, 2])
    blocks = np.array([0, 0, 0, 1, 1, 1])
    drawn = swapped(systems, blocks, (0, 2), np.array([True, False]))
    assert drawn.tolist() == [2, 1, 0, 0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("column", ["WorkerId", "HITId"])
def test_tests_reject_as_often_as_they_say(shared_data, column):
    path = shared_data / "wmt22-da-toen" / "derived" / "recovered-raw-good-workers.tsv.gz"
    rng = np.random.default_rng(5)
    actual = [draw(task, column, rng) for task in tasks_of(path) for _ in range(40)]
    rank_sum, adjusted, holm = size(np.array(actual))
    assert rank_sum > 0.12
    assert 0.02 < adjusted < 0.08
    assert holm < 0.02
