"""Ranges of ranks over rounds, and the clusters of systems whose ranges do not overlap.

The range of a system leaves out its 2.5% best and its 2.5% worst ranks (rounded up). In the
order of the scores a cluster ends where no system above has a range that meets a range below.

Source: eval/cluster.py of wmt-trueskill (Sakaguchi, Post & Van Durme 2014), which made the tables
of WMT15 (Bojar et al. 2015). It asks of system i alone whether its range lies above all below;
Reading: of all systems down to i. On WMT15's published ranges that is the same.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes

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
