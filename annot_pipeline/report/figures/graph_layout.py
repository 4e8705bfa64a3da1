"""Places for the vertices of a graph without cycles, in layers from top to bottom.

After Sugiyama: a vertex stands in the layer that is given, an edge that crosses layers gets a
stand-in for a vertex in each, so that it passes between vertices, and layers are ordered by the
mean place of their neighbours. Small graphs; nothing is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 8
"""Times that the layers are put in order, down and up by turns."""

STAND_IN = 14.0
"""Width that an edge takes where it crosses a layer, px."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Places in px, from the top left.

    Parameters
    ----------
    middle
        ``(n_vertices,)`` the middle of each vertex.
    routes
        ``(n_edges,)`` the points of each edge, from the foot of its first vertex to the head of
        its second.
    width, height
        Of the whole.
    """

    middle: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def layered(
    layer: Sequence[int],
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    *,
    across: float,
    down: float,
) -> Layout:
    """Place vertices, all middles of a layer at one height.

    Parameters
    ----------
    layer
        ``(n_vertices,)`` from 0, the top; every edge leads down.
    sizes
        ``(n_vertices,)`` width and height of each, px.
    edges
        Pairs of vertices.
    across, down
        Between two neighbours of a layer, and between two layers, px.

    Raises
    ------
    ValueError
        If an edge does not lead down.
    """
    if up := [edge for edge in edges if layer[edge[0]] >= layer[edge[1]]]:
        raise ValueError(f"edges that do not lead down: {up[:5]}")
    n_layers = max(layer, default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(n_layers)]
    for vertex, at in enumerate(layer):
        rows[at].append(vertex)
    sizes, paths = list(sizes), []
    for first, last in edges:
        between = []
        for at in range(layer[first] + 1, layer[last]):
            between.append(len(sizes))
            rows[at].append(len(sizes))
            sizes.append((STAND_IN, 0.0))
        paths.append([first, *between, last])
    _put_in_order(rows, paths, len(sizes))
    heights = [max((sizes[v][1] for v in row), default=0.0) for row in rows]
    widths = [sum(sizes[v][0] for v in row) + across * (len(row) - 1) for row in rows]
    width = max(widths, default=0.0)
    middle: list[Point] = [(0.0, 0.0)] * len(sizes)
    top, tops = 0.0, []
    for row, height, own in zip(rows, heights, widths, strict=True):
        x = (width - own) / 2
        for vertex in row:
            middle[vertex] = (x + sizes[vertex][0] / 2, top + height / 2)
            x += sizes[vertex][0] + across
        tops.append(top)
        top += height + down
    at_layer = {vertex: at for at, row in enumerate(rows) for vertex in row}
    routes = [
        [
            (middle[v][0], y)
            for position, v in enumerate(path)
            for y in _heights(position, len(path), v, at_layer, tops, heights, sizes, middle)
        ]
        for path in paths
    ]
    return Layout(middle[: len(layer)], routes, width, max(top - down, 0.0))


def _put_in_order(rows: list[list[int]], paths: list[list[int]], n: int) -> None:
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for path in paths:
        for upper, lower in pairwise(path):
            below[upper].append(lower)
            above[lower].append(upper)
    for sweep in range(SWEEPS):
        near, order = (above, rows[1:]) if sweep % 2 == 0 else (below, rows[-2::-1])
        positions = _places(rows)
        for row in order:
            row.sort(
                key=lambda v: (_mean([positions[u] for u in near[v]], positions[v]), positions[v])
            )
            positions |= _places([row])


def _places(rows: list[list[int]]) -> dict[int, float]:
    """Return where each vertex stands in its layer, from -1/2 to 1/2: layers are centred."""
    return {
        vertex: (position + 0.5) / len(row) - 0.5
        for row in rows
        for position, vertex in enumerate(row)
    }


def _mean(places: list[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


def _heights(
    position: int, n: int, vertex: int, at_layer: dict[int, int], tops: list[float],
    heights: list[float], sizes: Sequence[Point], middle: Sequence[Point],
) -> list[float]:  # fmt: skip
    """Return where an edge bends at a vertex of its path: it is upright inside of layers."""
    at = at_layer[vertex]
    top, foot, half = tops[at], tops[at] + heights[at], sizes[vertex][1] / 2
    if position == 0:
        return [middle[vertex][1] + half, foot]
    if position == n - 1:
        return [top, middle[vertex][1] - half]
    return [top, foot]
