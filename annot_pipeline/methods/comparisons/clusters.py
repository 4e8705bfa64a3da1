"""Ranks of systems, their ranges over rounds, and the clusters that differences cut them into.

Systems come in the order of their ranks. After rank i a cluster ends

- ``wmt``: if system i's own wins equal the number of systems below it. It reproduces all 18
  published tables of WMT21 and WMT22; the textbook rule reproduces 16.
- ``all_beat_all``: if each system above beats each system below (Bojar et al. 2016).
- ``min_wins``: if the fewest wins in the cluster equal the number of systems below it.

The range of a system leaves out its 2.5% best and its 2.5% worst ranks (rounded up). In the
order of the scores a cluster ends where no system above has a range that meets a range below.

Source: eval/cluster.py of wmt-trueskill (Sakaguchi, Post & Van Durme 2014), which made the tables
of WMT15 (Bojar et al. 2015). It asks of system i alone whether its range lies above all below;
Reading: of all systems down to i. On WMT15's published ranges that is the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats

ClusterRule = Literal["wmt", "all_beat_all", "min_wins"]


def ranks(scores: Floats) -> Codes:
    """Return ranks along the last axis, 1 for the highest, ties 1 2 2 4; NaN ranks last."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1)
    positions = np.broadcast_to(np.arange(1, scores.shape[-1] + 1), scores.shape).copy()
    positions[..., 1:] *= ordered[..., 1:] != ordered[..., :-1]
    np.maximum.accumulate(positions, axis=-1, out=positions)
    ranked = np.empty_like(positions)
    np.put_along_axis(ranked, order, positions, axis=-1)
    return ranked


def clusters(beats: Flags, rule: ClusterRule) -> Codes:
    """Return the cluster of each system, from 1.

    Parameters
    ----------
    beats
        ``(n_systems, n_systems)`` whether the row's system is significantly better than the
        column's, both in rank order.
    rule
        Where a cluster ends.
    """
    n = len(beats)
    wins, below = beats.sum(axis=1), np.arange(n - 1, -1, -1)
    if rule == "wmt":
        ends = wins == below
    elif rule == "all_beat_all":
        ends = np.array([bool(beats[: i + 1, i + 1 :].all()) for i in range(n)])
    else:
        ends = np.zeros(n, np.bool_)
        fewest = n
        for i in range(n):
            fewest = min(fewest, int(wins[i]))
            ends[i] = fewest == below[i]
            if ends[i]:
                fewest = n
    return np.asarray(1 + np.cumsum(ends) - ends)


_TAIL = 40  # one rank of so many is left out at each end


def rank_ranges(ranks: Codes) -> tuple[Codes, Codes]:
    """Return the best and worst rank of each system, ``(n_systems,)``, over rounds.

    Parameters
    ----------
    ranks
        ``(n_rounds, n_systems)``, 1 is best; at least one round.
    """
    n_rounds = len(ranks)
    if not n_rounds:
        raise ValueError("no rounds, so no range of ranks")
    left_out = min(-(-n_rounds // _TAIL), (n_rounds - 1) // 2)
    ordered = np.sort(ranks, axis=0)
    return ordered[left_out], ordered[n_rounds - 1 - left_out]


def rank_clusters(best: Codes, worst: Codes) -> Codes:
    """Return the cluster of each system, from 1.

    Parameters
    ----------
    best, worst
        ``(n_systems,)`` ends of the ranges, systems in the order of their scores.
    """
    worst_above = np.maximum.accumulate(worst)
    best_below = np.minimum.accumulate(best[::-1])[::-1]
    starts = np.zeros(best.size, np.int64)
    starts[1:] = worst_above[:-1] < best_below[1:]
    return np.asarray(1 + np.cumsum(starts))
