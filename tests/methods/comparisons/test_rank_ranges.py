"""Ranges of ranks and clusters, by hand and against WMT15's own tables."""

from __future__ import annotations

import re

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.clusters import rank_clusters, rank_ranges


@pytest.mark.parametrize(("n_rounds", "left_out"), [(1000, 25), (100, 3), (200, 5), (1, 0), (2, 0)])
def test_one_in_forty_is_left_out_at_each_end(n_rounds, left_out):
    ranks = np.random.default_rng(1).permutation(np.arange(1, n_rounds + 1))[:, None]
    best, worst = rank_ranges(ranks)
    assert (best[0], worst[0]) == (1 + left_out, n_rounds - left_out)


def test_a_few_odd_rounds_move_no_range():
    ranks = np.tile([1, 2], (100, 1))
    ranks[:3] = [2, 1]
    assert [ends.tolist() for ends in rank_ranges(ranks)] == [[1, 2], [1, 2]]
    ranks[:4] = [2, 1]
    assert [ends.tolist() for ends in rank_ranges(ranks)] == [[1, 1], [2, 2]]


def test_no_rounds_are_refused():
    with pytest.raises(ValueError, match="no rounds"):
        rank_ranges(np.empty((0, 3), np.int64))


def test_clusters_by_hand():
    """The third overlaps the second, the fourth the third; a wide one holds all together."""
    best, worst = np.array([1, 2, 2, 3, 5]), np.array([1, 2, 3, 4, 5])
    assert rank_clusters(best, worst).tolist() == [1, 2, 2, 2, 3]
    assert rank_clusters(np.array([1, 2, 2]), np.array([3, 2, 3])).tolist() == [1, 1, 1]
    assert rank_clusters(np.array([1, 2, 1]), np.array([1, 2, 3])).tolist() == [1, 1, 1]
    assert rank_clusters(np.array([1, 1, 3]), np.array([3, 2, 3])).tolist() == [1, 1, 1]
    assert rank_clusters(np.array([1]), np.array([1])).tolist() == [1]
    assert rank_clusters(np.array([], int), np.array([], int)).tolist() == []


PAIRS = [
    f"{a}-{b}" for x in ("ces", "deu", "fin", "fre", "rus") for a, b in ((x, "eng"), ("eng", x))
]


@pytest.mark.parametrize("pair", PAIRS)
def test_wmt15_clusters_of_wmt15_ranges(shared_data, pair):
    """From the published ranges of ranks to the published lines between clusters."""
    lines = (shared_data / "wmt15-ranking" / "results" / f"wmt15.{pair}.txt").read_text()
    published, ranges, cluster = [], [], 1
    for line in lines.splitlines():
        if line.startswith("+"):
            cluster += 1
            continue
        published.append(cluster)
        ranges.append([float(end) for end in re.findall(r"\(([\d.]+), ([\d.]+)\)", line)[0]])
    best, worst = np.array(ranges).astype(np.int64).T
    assert rank_clusters(best, worst).tolist() == published
