"""What a graph of comparisons connects: parts, strongly connected components, and their order.

Systems are vertices, a win is an edge from the better to the worse, a tie is an edge both ways.
Scores can be compared only within a part (weakly connected), and scores of maximum likelihood
are finite only within a component (strongly connected), for nothing says how far a system that
never lost to another lies above it (Ford 1957; Hunter 2004, assumption 1).

The components of a part have a partial order: those that won come before those that lost. It
is total if each two neighbours in it are joined by a win; then it is the only one possible.
Without a total order, a system is still better than all systems of other components that a
chain of wins leads to.
A strict chain a > b > c is three components in a total order. Repeats change nothing, nor does
the order of the comparisons.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.methods.comparisons.waves import winners_first
from annot_pipeline.methods.numerics.distinct import numbered_by_first


@dataclass(frozen=True, eq=False)
class Connectivity:
    """Parts and components, both numbered from 0.

    Parameters
    ----------
    part
        ``(n_systems,)`` weakly connected part, numbered by least member. A system without
        comparisons is a part of its own.
    component
        ``(n_systems,)`` strongly connected component, numbered part by part and within a part in
        an order that no win contradicts; where that leaves a choice, by least member.
    total
        ``(n_parts,)`` whether that order is the only possible one.
    wins
        ``(2, n_edges)`` pairs of components of which the first won, each once.
    """

    part: Codes
    component: Codes
    total: Flags
    wins: Codes

    @property
    def n_parts(self) -> int:
        """Return parts."""
        return int(self.total.size)

    @property
    def n_components(self) -> int:
        """Return components of all parts."""
        return int(self.component.max(initial=-1)) + 1

    @property
    def strong(self) -> Flags:
        """Return ``(n_parts,)`` whether a part is one component."""
        n_components = np.zeros(self.n_parts, np.int64)
        np.maximum.at(n_components, self.part, self.component)
        least = np.full(self.n_parts, self.component.size)
        np.minimum.at(least, self.part, self.component)
        return np.asarray(n_components == least)

    def count_better(self) -> Codes:
        """Return ``(n_systems,)`` how many systems are known to be better.

        These are the systems of other components from which a chain of wins leads here; it takes
        a matrix of components.
        """
        n = self.n_components
        is_better = np.zeros((n, n), np.bool_)  # the column's component is better than the row's
        for above, below in self.wins[:, np.argsort(self.wins[0], kind="stable")].T.tolist():
            is_better[below] |= is_better[above]
            is_better[below, above] = True
        sizes = np.bincount(self.component, minlength=n)
        return np.asarray((is_better @ sizes)[self.component])


def connectivity(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike, *, n_systems: int
) -> Connectivity:
    """Find parts, components and their order.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of systems from 0.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    n_systems
        Size of the code range.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, a system against itself.
    """
    from scipy.sparse.csgraph import connected_components

    pairs, tie = winners_first(first, second, outcome, n_items=n_systems)
    winner, loser = np.concatenate([pairs, pairs[::-1, tie]], axis=1)
    edges = coo_array(
        (np.ones(winner.size, np.int8), (winner, loser)), (n_systems, n_systems)
    ).tocsr()
    part = numbered_by_first(connected_components(edges, connection="weak")[1])
    component = numbered_by_first(connected_components(edges, connection="strong")[1])
    wins = _distinct_wins(component[winner], component[loser])
    positions, total = _ordered(part, component, wins)
    return Connectivity(part, positions[component], total, positions[wins])


def _distinct_wins(above: Codes, below: Codes) -> Codes:
    """Return ``(2, n_edges)`` wins between two components, each once, sorted."""
    wins = np.stack([above, below])[:, above != below]
    return np.asarray(np.unique(wins, axis=1))


def _ordered(part: Codes, component: Codes, wins: Codes) -> tuple[Codes, Flags]:
    """Return the place of each component, and whether each part has one order only (Kahn 1962)."""
    n_components = int(component.max(initial=-1)) + 1
    part_of = np.zeros(n_components, np.int64)
    part_of[component] = part
    above, below = wins
    edges = np.searchsorted(above, np.arange(n_components + 1))
    waits_for = np.bincount(below, minlength=n_components)
    free = [(int(part_of[c]), int(c)) for c in np.flatnonzero(waits_for == 0)]
    heapq.heapify(free)
    positions, total = np.empty(n_components, np.int64), np.ones(part.max(initial=-1) + 1, np.bool_)
    for n in range(n_components):
        own_part, chosen = heapq.heappop(free)
        if free and free[0][0] == own_part:  # another one could come here as well
            total[own_part] = False
        positions[chosen] = n
        for lower in below[edges[chosen] : edges[chosen + 1]].tolist():
            waits_for[lower] -= 1
            if not waits_for[lower]:
                heapq.heappush(free, (own_part, lower))
    return positions, total
