"""What every vertex of an acyclic graph reaches, as sets of bits.

A vertex reaches what its successors are and what they reach. Vertices are taken wave by wave,
sinks first, so that all successors of a vertex are done before it; a wave is one step on
arrays. Many small graphs side by side have few waves, a chain has as many as vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class _Wave:
    """Vertices without an edge among them, and where their edges lead, vertex by vertex."""

    vertices: Codes
    starts: Codes  # of each vertex's edges in ends
    ends: Codes


@dataclass(frozen=True, eq=False)
class Reachability:
    """The edges of an acyclic graph, in the order in which sets spread along them.

    Parameters
    ----------
    n_vertices
        Size of the code range.
    widest
        Largest number of edges in one step: a step holds as many sets at once.
    """

    n_vertices: int
    widest: int
    _along: tuple[_Wave, ...]
    _against: tuple[_Wave, ...]

    @classmethod
    def from_edges(cls, source: Codes, target: Codes, *, n_vertices: int) -> Reachability:
        """Sort the edges of an acyclic graph so that they can be followed in waves.

        Parameters
        ----------
        source, target
            ``(n_edges,)`` vertices from 0; repeats are allowed.
        n_vertices
            Size of the code range.

        Raises
        ------
        ValueError
            The graph has a cycle.
        """
        level = _levels(source, target, n_vertices)
        along = _waves(source, target, -level)
        against = _waves(target, source, level)
        widest = max((wave.ends.size for wave in along + against), default=0)
        return cls(n_vertices, widest, along, against)

    def reached(self, own: Words, *, against: bool = False) -> Words:
        """Return the union of the sets of all vertices that each vertex reaches, without its own.

        Parameters
        ----------
        own
            ``(n_vertices, n_words)`` a set of bits for each vertex.
        against
            Whether to follow edges from target to source.
        """
        beyond = np.zeros_like(own)
        sets = own.copy()
        for wave in self._against if against else self._along:
            union = np.bitwise_or.reduceat(sets[wave.ends], wave.starts, axis=0)
            beyond[wave.vertices] = union
            sets[wave.vertices] |= union
        return beyond


def _levels(source: Codes, target: Codes, n_vertices: int) -> Codes:
    """Return the length of the longest path to each vertex: an edge leads to a higher level."""
    ends = target[np.argsort(source, kind="stable")]
    n_ends = np.bincount(source, minlength=n_vertices)
    first_end = np.cumsum(n_ends) - n_ends
    waiting = np.bincount(target, minlength=n_vertices)
    level = np.full(n_vertices, -1, np.int64)
    number, free = 0, np.flatnonzero(waiting == 0)
    while free.size:
        level[free] = number
        many = n_ends[free]
        offset = np.repeat(first_end[free] - (np.cumsum(many) - many), many)
        vertices, times = np.unique(ends[offset + np.arange(offset.size)], return_counts=True)
        waiting[vertices] -= times
        number, free = number + 1, vertices[waiting[vertices] == 0]
    if (level < 0).any():
        raise ValueError("the graph has a cycle")
    return level


def _waves(source: Codes, target: Codes, turn: Codes) -> tuple[_Wave, ...]:
    """Return edges by the turn of their source."""
    order = np.lexsort((target, source, turn[source]))
    source, target = source[order], target[order]
    new = np.flatnonzero(np.append(True, source[1:] != source[:-1])[: source.size])
    bounds = np.append(new, source.size)
    turns = turn[source[new]]
    cuts = np.flatnonzero(np.append(True, turns[1:] != turns[:-1])[: turns.size])
    return tuple(
        _Wave(source[new[a:b]], new[a:b] - bounds[a], target[bounds[a] : bounds[b]])
        for a, b in pairwise([*cuts.tolist(), new.size])
    )
