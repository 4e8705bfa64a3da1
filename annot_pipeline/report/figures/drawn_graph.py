"""Which part of a segment's graph a figure draws, and whether it is a graph at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes
from annot_pipeline.report.figures.names import counted, short
from annot_pipeline.report.figures.theme import INK, VERMILLION, Color

MOST_OUTPUTS = 16
"""Outputs drawn, those of the largest components."""

COLUMNS = 24
"""Of a name; there is one on each side of a picture."""


@dataclass(frozen=True)
class DrawnGraph:
    """What is drawn, by place of the output.

    Parameters
    ----------
    names
        Short ones, in rank order.
    component, dominance, rank
        By output; components numbered from 0 in order of rank.
    edges
        How often each (better, worse, tie) was found; a tie from the lesser place to the other.
    contradicts
        Components that hold a preference.
    """

    names: list[str]
    component: list[int]
    dominance: list[int]
    rank: list[int]
    edges: dict[tuple[int, int, bool], int]
    contradicts: frozenset[int]

    def color(self, first: int, second: int) -> Color:
        """Return the colour of an edge."""
        own = self.component[first]
        inside = own == self.component[second] and own in self.contradicts
        return VERMILLION if inside else INK


def drawn_graph(
    names: Sequence[object], edges: Sequence[tuple[int, int, int]], components: npt.ArrayLike,
    dominance: npt.ArrayLike, rank: npt.ArrayLike,
) -> tuple[DrawnGraph, str]:  # fmt: skip
    """Return the largest components, and a sentence on what is left out."""
    n = len(names)
    component, f, ranks = (np.asarray(v, np.int64) for v in (components, dominance, rank))
    if not n == component.size == f.size == ranks.size:
        sizes = f"{component.size} components, {f.size} dominances, {ranks.size} ranks"
        raise ValueError(f"{n} names, {sizes}")
    wrong = [
        edge for edge in edges
        if not (0 <= edge[0] < n and 0 <= edge[1] < n and edge[0] != edge[1])
        or edge[2] not in (-1, 0, 1)
    ]  # fmt: skip
    if wrong:
        raise ValueError(f"edges of {n} outputs with outcomes 1, 0, -1; got {wrong[:5]}")
    chosen = _largest(component, ranks)
    position = {output: at for at, output in enumerate(chosen)}
    numbered: dict[int, int] = {}
    for output in chosen:
        numbered.setdefault(int(component[output]), len(numbered))
    own = [numbered[int(component[output])] for output in chosen]
    counted_edges = _edges(edges, position)
    graph = DrawnGraph(
        [short(names[output], COLUMNS) for output in chosen],
        own,
        f[chosen].tolist(),
        ranks[chosen].tolist(),
        counted_edges,
        frozenset(own[a] for a, b, tie in counted_edges if not tie and own[a] == own[b]),
    )
    _check(graph)
    return graph, _left_out(component, chosen)


def _left_out(component: Codes, chosen: Sequence[int]) -> str:
    """Return a sentence on outputs that are not drawn; empty if all are."""
    omitted = np.delete(component, chosen)
    of_drawn = int(np.isin(omitted, component[chosen]).sum())
    more = np.setdiff1d(omitted, component[chosen]).size
    parts = []
    if of_drawn:
        parts.append(f"{counted(of_drawn, 'output')} of the largest component")
    if more:
        text = counted(omitted.size - of_drawn, "output")
        parts.append(f"{text} in {counted(more, 'smaller component')}")
    return f"Left out: {' and '.join(parts)}; f and ranks count all outputs." if parts else ""


def _largest(component: Codes, rank: Codes) -> list[int]:
    """Return outputs that are drawn, in rank order: whole components, the largest first."""
    every = np.unique(component)
    members = {int(c): np.flatnonzero(component == c).tolist() for c in every}
    order = sorted(members, key=lambda c: (-len(members[c]), rank[members[c][0]], members[c]))
    chosen: list[int] = []
    for one in order:
        room = MOST_OUTPUTS - len(chosen)
        if len(members[one]) <= room or not chosen:
            chosen += members[one][:room]
    return sorted(chosen, key=lambda v: (rank[v], members[int(component[v])][0], v))


def _edges(
    edges: Sequence[tuple[int, int, int]], positions: Mapping[int, int]
) -> dict[tuple[int, int, bool], int]:
    n_compared: Counter[tuple[int, int, bool]] = Counter()
    for first, second, outcome in edges:
        if first in positions and second in positions:
            a, b = positions[first], positions[second]
            if outcome < 0 or (outcome == 0 and b < a):
                a, b = b, a
            n_compared[a, b, outcome == 0] += 1
    return dict(sorted(n_compared.items()))


def _check(graph: DrawnGraph) -> None:
    """Check that edges between components lead to a worse rank.

    Raises
    ------
    ValueError
        Components and ranks do not follow from the edges.
    """
    for a, b, tie in graph.edges:
        is_between = graph.component[a] != graph.component[b]
        if is_between and (tie or graph.rank[a] >= graph.rank[b]):
            raise ValueError(
                f"{graph.names[a]} and {graph.names[b]} are compared, but components and ranks "
                "do not follow from it"
            )
