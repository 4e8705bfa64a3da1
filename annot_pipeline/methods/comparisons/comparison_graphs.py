"""Outputs of a segment as a graph of comparisons: who dominates whom, and where judges contradict.

A preference is an edge from the better output to the worse one, a tie is an edge both ways.
Strongly connected components are vertices: that merges ties and resolves cycles. An output
dominates all that its component reaches; f is the number of outputs it dominates minus the
number that dominate it, and gives the rank. Many graphs are taken at once.

Source: Pighin, Formiga & Marquez 2012, section 3.1 (eq. 1) and 4.1. Readings, all ours:

- f is counted over outputs, members of one component not against each other (the paper's
  Figure 1 agrees). So f sums to zero over a graph.
- A component that holds a strict preference is a contradiction. Ties alone never are one.
- The consistency measure is the share of outputs outside of any contradiction.

A graph need not be connected: what is not connected is not counted, and `part` tells. An output
without comparisons has f = 0. Memory: some 100 bytes a comparison, and sets of outputs of at
most three times ``WORDS`` words of eight bytes, however large a graph is.

What a vertex of an acyclic graph reaches is a set of bits. A vertex reaches what its successors are
and what they reach. Vertices are taken wave by wave, sinks first, so that all successors of a
vertex are done before it; a wave is one step on arrays. Many small graphs side by side have few
waves, a chain has as many as vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.waves import winners_first
from annot_pipeline.methods.numerics.distinct import is_new, places_within, ranges
from annot_pipeline.methods.numerics.ranks import dense_ranks

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
        reached = ends[ranges(first_end[free], n_ends[free])]
        vertices, times = np.unique(reached, return_counts=True)
        waiting[vertices] -= times
        number, free = number + 1, vertices[waiting[vertices] == 0]
    if (level < 0).any():
        raise ValueError("the graph has a cycle")
    return level


def _waves(source: Codes, target: Codes, turn: Codes) -> tuple[_Wave, ...]:
    """Return edges by the turn of their source."""
    order = np.lexsort((target, source, turn[source]))
    source, target = source[order], target[order]
    new = np.flatnonzero(is_new(source))
    bounds = np.append(new, source.size)
    cuts = np.flatnonzero(is_new(turn[source[new]]))
    return tuple(
        _Wave(source[new[a:b]], new[a:b] - bounds[a], target[bounds[a] : bounds[b]])
        for a, b in pairwise([*cuts.tolist(), new.size])
    )


WORDS = 2**22
"""Words of 64 outputs held at once."""


@dataclass(frozen=True, eq=False)
class ComparisonGraphs:
    """Arrays are ``(n_items,)``.

    Parameters
    ----------
    component
        Strongly connected component; numbered over all graphs, by graph, then least item.
    part
        Weakly connected part, numbered likewise.
    in_contradiction
        Whether the component holds a strict preference.
    n_dominates, n_dominated_by
        Outputs reached, and outputs that reach it, outside of its own component.
    dominance
        f, their difference.
    rank
        Dense rank in the graph, 1 for the highest f; equal f, equal rank.
    """

    component: Codes
    part: Codes
    in_contradiction: Flags
    n_dominates: Codes
    n_dominated_by: Codes
    dominance: Codes
    rank: Codes
    _reach: Reachability = field(repr=False)

    def dominated_by_any(self, marked: npt.ArrayLike) -> Flags:
        """Return ``(n_items,)`` the items that some marked item, ``(n_items,)``, dominates."""
        return self._touched(marked, against=True)

    def dominates_any(self, marked: npt.ArrayLike) -> Flags:
        """Return ``(n_items,)`` the items that dominate some marked item, ``(n_items,)``."""
        return self._touched(marked, against=False)

    def _touched(self, marked: npt.ArrayLike, *, against: bool) -> Flags:
        marked = np.asarray(marked, np.bool_)
        if marked.shape != self.component.shape:
            raise ValueError(f"marked is of shape {marked.shape}, not {self.component.shape}")
        own = np.zeros((self._reach.n_vertices, 1), np.uint64)
        own[self.component[marked]] = 1
        return np.asarray(self._reach.reached(own, against=against)[self.component, 0] != 0)


@dataclass(frozen=True, eq=False)
class GraphConsistency:
    """Arrays are ``(n_graphs,)``.

    Parameters
    ----------
    graph
        Codes of the graphs that hold items, ascending.
    n_items, n_components, n_parts
        Outputs, strongly connected components (vertices), weakly connected parts.
    n_in_contradiction
        Outputs whose component holds a strict preference.
    """

    graph: Codes
    n_items: Codes
    n_components: Codes
    n_parts: Codes
    n_in_contradiction: Codes

    @property
    def consistency(self) -> Floats:
        """Return ``(n_graphs,)`` share of outputs outside of any contradiction."""
        return np.asarray(1 - self.n_in_contradiction / self.n_items)


def comparison_graphs(
    graph: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    words_at_once: int = WORDS,
) -> ComparisonGraphs:
    """Return components, dominance and ranks of all graphs.

    Neither the order of comparisons matters, nor how often one is repeated.

    Parameters
    ----------
    graph
        ``(n_items,)`` code of the graph (segment) that each item belongs to.
    first, second
        ``(n_comparisons,)`` codes of items, from 0.
    outcome
        ``(n_comparisons,)``: 1 the first is better, 0 tie, -1 the second is better. Each one is
        an edge; for a decision by pair see `majority_outcomes`.
    words_at_once
        Words of 64 outputs held at once.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, an item against itself, items of two graphs.
    """
    graph = np.asarray(graph, np.int64)
    n_items = graph.size
    pairs, tie = winners_first(first, second, outcome, n_items=n_items)
    _one_graph_each(graph, pairs)
    source, target = np.concatenate([pairs, pairs[::-1, tie]], axis=1)
    component, part = (
        _numbered(_connected(source, target, n_items, strong=strong), graph)
        for strong in (True, False)
    )
    n_components = int(component.max(initial=-1)) + 1
    strict = component[pairs[:, ~tie]]
    contradicts = np.zeros(n_components, np.bool_)
    contradicts[strict[0, strict[0] == strict[1]]] = True
    reach = _condensed(component[source], component[target], n_components)
    n_dominates, n_dominated_by = _counts(reach, graph, component, words_at_once)
    dominance = n_dominates - n_dominated_by
    return ComparisonGraphs(
        component=component,
        part=part,
        in_contradiction=contradicts[component],
        n_dominates=n_dominates,
        n_dominated_by=n_dominated_by,
        dominance=dominance,
        rank=dense_ranks(graph, dominance),
        _reach=reach,
    )


def majority_outcomes(
    graph: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike
) -> tuple[Codes, Codes, Codes]:
    """Pool the comparisons of each pair of items into one decision.

    Reading, ours (the paper has one judge a segment): a is better than b if a won more often
    than b, and no less often than they tied. If both won equally often, at least once, and no
    less often than they tied, judges contradict each other: both preferences are returned, so
    that the component is a contradiction. All else is a tie.

    Parameters
    ----------
    graph, first, second, outcome
        As `comparison_graphs`.

    Returns
    -------
    first, second, outcome
        One row a pair, or two if contradicted, the lesser item first; sorted by pair.

    Raises
    ------
    ValueError
        As `comparison_graphs`.
    """
    graph = np.asarray(graph, np.int64)
    (winner, loser), tie = winners_first(first, second, outcome, n_items=graph.size)
    _one_graph_each(graph, np.stack([winner, loser]))
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    keys, pair = np.unique(low * graph.size + high, return_inverse=True)
    wins_low, wins_high, ties = (
        np.bincount(pair[which], minlength=keys.size)
        for which in (~tie & (winner == low), ~tie & (winner == high), tie)
    )
    decided = np.maximum(wins_low, wins_high) >= np.maximum(ties, 1)
    contradicted = decided & (wins_low == wins_high)
    decision = np.where(decided, np.sign(wins_low - wins_high), 0)
    decision[contradicted] = 1
    rows = np.repeat(np.arange(keys.size), 1 + contradicted)
    pooled = decision[rows]
    pooled[np.flatnonzero(contradicted[rows])[1::2]] = -1
    return *np.divmod(keys[rows], max(graph.size, 1)), pooled


def graph_consistency(graph: npt.ArrayLike, graphs: ComparisonGraphs) -> GraphConsistency:
    """Count vertices and contradictions graph by graph (section 4.1).

    Parameters
    ----------
    graph
        ``(n_items,)`` as `comparison_graphs` got it.
    graphs
        What it gave.
    """
    codes, graph_code = np.unique(np.asarray(graph, np.int64), return_inverse=True)
    n_components, n_parts = (
        np.bincount(graph_code[np.unique(group, return_index=True)[1]], minlength=codes.size)
        for group in (graphs.component, graphs.part)
    )
    return GraphConsistency(
        graph=codes,
        n_items=np.bincount(graph_code, minlength=codes.size),
        n_components=n_components,
        n_parts=n_parts,
        n_in_contradiction=np.bincount(graph_code[graphs.in_contradiction], minlength=codes.size),
    )


def _one_graph_each(graph: Codes, pairs: Codes) -> None:
    across = np.flatnonzero(graph[pairs[0]] != graph[pairs[1]])
    if across.size:
        items = pairs[:, across[:5]].T.tolist()
        raise ValueError(f"{across.size} comparisons of items of two graphs: items {items}")


def _connected(source: Codes, target: Codes, n_items: int, *, strong: bool) -> Codes:
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(source.size), (source, target)), (n_items, n_items))
    labels = connected_components(
        matrix.tocsr(), directed=True, connection="strong" if strong else "weak"
    )[1]
    return np.asarray(labels, np.int64)


def _numbered(labels: Codes, graph: Codes) -> Codes:
    """Return the same groups of items, numbered by graph, then by least item."""
    _, least, group = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(least.size, np.int64)
    number[np.lexsort((least, graph[least]))] = np.arange(least.size)
    return np.asarray(number[group])


def _condensed(source: Codes, target: Codes, n_components: int) -> Reachability:
    """Return the edges between components, each once; they have no cycle by construction."""
    between = source != target
    edges = np.unique(source[between] * n_components + target[between])
    return Reachability.from_edges(*np.divmod(edges, max(n_components, 1)), n_vertices=n_components)


def _counts(
    reach: Reachability, graph: Codes, component: Codes, words_at_once: int
) -> tuple[Codes, Codes]:
    """Return outputs that each item reaches and that reach it, one block of outputs at a time."""
    positions = _place_in_graph(graph)
    word, bit = positions >> 6, np.uint64(1) << (positions & 63).astype(np.uint64)
    n_words = int(word.max(initial=-1)) + 1
    width = max(1, words_at_once // max(1, reach.n_vertices, reach.widest))
    counts = np.zeros((2, reach.n_vertices), np.int64)
    for start in range(0, n_words, width):
        inside = np.flatnonzero((word >= start) & (word < start + width))
        own = np.zeros((reach.n_vertices, min(width, n_words - start)), np.uint64)
        np.bitwise_or.at(own, (component[inside], word[inside] - start), bit[inside])
        for count, against in zip(counts, (False, True), strict=True):
            beyond = reach.reached(own, against=against)
            count += np.bitwise_count(beyond).sum(axis=1, dtype=np.int64)
    return counts[0, component], counts[1, component]


def _place_in_graph(graph: Codes) -> Codes:
    """Return places 0, 1, ... of the items of each graph, in the order of items."""
    order = np.argsort(graph, kind="stable")
    positions = np.empty_like(order)
    positions[order] = places_within(graph[order])
    return np.asarray(positions)
