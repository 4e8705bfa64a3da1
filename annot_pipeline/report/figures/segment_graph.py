"""A segment's graph of comparisons: as it was compared, and as it is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, pi, sin

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.drawn_graph import DrawnGraph, drawn_graph
from annot_pipeline.report.figures.graph_layout import Layout, Point, layered
from annot_pipeline.report.figures.names import counted, px_of, short
from annot_pipeline.report.figures.scales import written
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, INK, SMALL, SOFT, VERMILLION, Color

KIND = "segment-graph"

TOP, MARGIN, BETWEEN = 68.0, 16.0, 48.0
"""Above the pictures, at their sides, and between them, px."""

DISC, HEAD, ASIDE = 5.0, 8.0, 4.0
"""Half of a vertex's width and the length of an arrow's head; how far two edges of one pair stay
from the line between their ends, px."""

MEANING = "f: outputs dominated minus outputs that dominate, all judges pooled."

LINE, INSIDE, DOWN = 16.0, 8.0, 40.0
"""Height of a name, room around names in a box, and between layers, px."""


def segment_graph_svg(
    names: Sequence[object],
    edges: Sequence[tuple[int, int, int]],
    components: npt.ArrayLike,
    dominance: npt.ArrayLike,
    rank: npt.ArrayLike,
    *,
    segment: object = None,
) -> str:
    """Draw the graph of a segment before and after its components became vertices.

    Pighin et al. 2012, Fig. 1 (2) to (4). Left: an arrow leads from the better output to the
    worse one, a line without a head is a tie; what lies on a cycle with a preference is in the
    colour of contradictions. Right: components as boxes with their outputs, the dominant ones
    above, f and the rank beside each; an arrow that follows from others is left out. Parts that
    no comparison connects stand side by side, each with ranks of its own.

    Parameters
    ----------
    names
        ``(n_outputs,)``.
    edges
        Comparisons as (first, second, outcome): places in ``names``, and 1 where the first is
        better, -1 where the second is, 0 for a tie. Repeats are one edge, with their number.
    components
        ``(n_outputs,)`` strongly connected component of each, any numbers.
    dominance, rank
        ``(n_outputs,)`` f, and its rank from 1, the best.
    segment
        Its name, for the title.

    Raises
    ------
    ValueError
        If lengths differ, an edge is none, or components or ranks are not those of the edges.
    """
    graph, left_out = drawn_graph(names, edges, components, dominance, rank)
    if not graph.names:
        return nothing_svg(KIND, "the segment has no outputs")
    notes = [note for note in (MEANING, left_out or _note_on_parts(graph)) if note]
    layout, sides = _layout_after(graph)
    label = px_of(*graph.names, size=SMALL)
    radius = max(56.0, 11.0 * len(graph.names))
    before = 2 * (radius + label + 14)
    middle = MARGIN + before + BETWEEN
    height = max(2 * radius + 44, layout.height + 12)
    width = max(middle + layout.width + MARGIN, 24 + px_of(*notes, size=SMALL), 440)
    bottom = TOP + height
    title = "" if segment is None else short(segment, 60)
    with new_sheet(KIND, width, bottom + 12 + 16 * len(notes), _description(graph, title)) as sheet:
        sheet.text(12, 20, title, size=13, weight=700, part="title")
        _key(sheet, graph)
        centre = (MARGIN + before / 2, TOP + height / 2)
        _draw_before(sheet, graph, centre, radius)
        _draw_after(sheet, graph, layout, sides, (middle, TOP + (height - layout.height) / 2))
        sheet.note(bottom + 14, notes)
        return sheet.svg()


def _description(graph: DrawnGraph, title: str) -> str:
    about = f"of segment {title}" if title else "of a segment"
    order = ", ".join(f"{name} {rank}" for name, rank in zip(graph.names, graph.rank, strict=True))
    return f"Comparisons {about} and ranks by dominance: {order}"


def _note_on_parts(graph: DrawnGraph) -> str:
    """Return a sentence if comparisons do not connect all outputs; else an empty text."""
    part = list(range(len(graph.names)))
    for a, b, _ in graph.edges:
        part = [part[a] if own == part[b] else own for own in part]
    n = len(set(part))
    return f"No comparison connects the {n} parts: ranks hold within a part." if n > 1 else ""


def _key(sheet: Sheet, graph: DrawnGraph) -> None:
    x, y = 12.0, 44.0
    for words, tie, color in (
        ("better \u2192 worse", False, INK),
        ("tie", True, INK),
        ("contradiction", False, VERMILLION),
    ):
        if color == VERMILLION and not graph.contradicts:
            continue
        _arrow(sheet, [(x, y - 4), (x + 26, y - 4)], color, "key-edge", head=not tie)
        sheet.text(x + 33, y, words, part="key")
        x += 33 + px_of(words) + 14


# --- as compared -----------------------------------------------------------------------------


def _draw_before(sheet: Sheet, graph: DrawnGraph, centre: Point, radius: float) -> None:
    """Draw outputs on a circle, clockwise by rank: no edge crosses outputs it does not join."""
    n = len(graph.names)
    angles = [2 * pi * position / n - pi / 2 for position in range(n)]
    at = [(centre[0] + radius * cos(a), centre[1] + radius * sin(a)) for a in angles]
    if n == 1:
        at = [centre]
    for (a, b, tie), times in graph.edges.items():
        low, high = min(a, b), max(a, b)
        every = (low, high, False), (low, high, True), (high, low, False)
        kinds = [kind for kind in every if kind in graph.edges]
        offset = ASIDE * (2 * kinds.index((a, b, tie)) - len(kinds) + 1)
        offset = offset if a < b else -offset  # seen from the other end, the sides change
        relation = "ties with" if tie else "is better than"
        tip = f"{graph.names[a]} {relation} {graph.names[b]}"
        tip += f": {counted(times, 'comparison')}" if times > 1 else ""
        line = _offset_line(at[a], at[b], offset)
        part = "tie" if tie else "preference"
        _arrow(sheet, line, graph.color(a, b), part, head=not tie, tip=tip)
    color: Color
    for position, ((x, y), angle) in enumerate(zip(at, angles, strict=True)):
        color = VERMILLION if graph.component[position] in graph.contradicts else BLUE
        sheet.points(np.array([x]), np.array([y]), color, "output", size=2 * DISC)
        sideways, upright = cos(angle) * (n > 1), sin(angle)
        name = graph.names[position]
        if abs(sideways) < 0.2:
            dy = -10 if upright < 0 else 19
            sheet.text(x, y + dy, name, size=SMALL, anchor="center", part="name")
        else:
            anchor = "left" if sideways > 0 else "right"
            dx = 10 if sideways > 0 else -10
            sheet.text(x + dx, y + 4, name, size=SMALL, anchor=anchor, part="name")  # type: ignore[arg-type]


def _offset_line(start: Point, end: Point, offset: float) -> list[Point]:
    """Return the line from disc to disc, moved to its left by an offset, px."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy)
    ux, uy = dx / length, dy / length
    gap = DISC + 2
    return [
        (start[0] + gap * ux - offset * uy, start[1] + gap * uy + offset * ux),
        (end[0] - gap * ux - offset * uy, end[1] - gap * uy + offset * ux),
    ]


def _arrow(
    sheet: Sheet, points: Sequence[Point], color: Color, part: str, *, head: bool,
    tip: str | None = None,
) -> None:  # fmt: skip
    """Draw a line through points, with a head at its end or without."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    (x0, y0), (x1, y1) = points[-2:]
    angle = atan2(y1 - y0, x1 - x0)
    shaft = list(points)
    if head:  # the line ends inside of the head, not at its tip
        shaft[-1] = (x1 - 0.7 * HEAD * cos(angle), y1 - 0.7 * HEAD * sin(angle))
    line = Line2D(*zip(*shaft, strict=True), transform=sheet.px, color=color, linewidth=1.4)
    sheet.figure.add_artist(line)
    sheet.part(line, part, tip)
    if head:
        back = [
            (x1 - HEAD * cos(angle + turn), y1 - HEAD * sin(angle + turn)) for turn in (0.42, -0.42)
        ]
        shape = Polygon([(x1, y1), *back], transform=sheet.px, facecolor=color, linewidth=0)
        sheet.figure.add_artist(shape)
        sheet.part(shape, "head")


# --- as ranked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sides:
    """Widths of each component's box and of what is beside it, px, and what is written."""

    box: list[float]
    labels: list[str]
    members: list[list[str]]


def _layout_after(graph: DrawnGraph) -> tuple[Layout, _Sides]:
    """Lay out the components in layers by rank, with the texts in and next to their boxes."""
    members: list[list[int]] = [[] for _ in range(max(graph.component) + 1)]
    for output, own in enumerate(graph.component):
        members[own].append(output)
    listed = [[graph.names[output] for output in outputs] for outputs in members]
    firsts = [outputs[0] for outputs in members]
    labels = [f"f {written(graph.dominance[v], 'd')}, rank {graph.rank[v]}" for v in firsts]
    box = [px_of(*names, size=SMALL) + 2 * INSIDE for names in listed]
    # as much room at the left of a box as at its right: edges lead to the middle of boxes
    sizes = [
        (own + 2 * (px_of(text, size=SMALL) + 8), LINE * len(names) + INSIDE)
        for own, text, names in zip(box, labels, listed, strict=True)
    ]
    levels = {rank: at for at, rank in enumerate(sorted(set(graph.rank)))}
    layers = [levels[graph.rank[v]] for v in firsts]
    layout = layered(layers, sizes, list(_compared_components(graph)), across=4.0, down=DOWN)
    return layout, _Sides(box, labels, listed)


def _compared_components(graph: DrawnGraph) -> Iterator[tuple[int, int]]:
    """Yield pairs of compared components, the better one first, except implied ones.

    Components are numbered by rank, so one is worse than all that lead to it.
    """
    own = graph.component
    pairs = sorted({(own[a], own[b]) for a, b, _ in graph.edges if own[a] != own[b]})
    beyond: dict[int, set[int]] = {}
    for better, worse in reversed(pairs):
        beyond.setdefault(better, set()).update({worse}, beyond.get(worse, ()))
    for better, worse in pairs:
        through = (middle for first, middle in pairs if first == better)
        if not any(worse in beyond.get(middle, ()) for middle in through):
            yield better, worse


def _draw_after(sheet: Sheet, graph: DrawnGraph, layout: Layout, sides: _Sides, at: Point) -> None:
    for route in layout.routes:
        points = [(at[0] + x, at[1] + y) for x, y in route]
        bends = [p for p, before in zip(points, [None, *points], strict=False) if p != before]
        _arrow(sheet, bends, INK, "dominates", head=True)
    for own, (x, y) in enumerate(layout.middle):
        names, width = sides.members[own], sides.box[own]
        height = LINE * len(names) + INSIDE
        x_left, top = at[0] + x - width / 2, at[1] + y - height / 2
        contradicts = own in graph.contradicts
        color, edge = (VERMILLION, VERMILLION) if contradicts else (BLUE, SOFT)
        tip = f"{', '.join(names)}: {sides.labels[own]}"
        tip += ", a contradiction" if contradicts else ""
        sheet.rectangles(
            [(x_left, top, width, height)], (color, 0.14), "component", edge=edge, tip=tip
        )
        for line, name in enumerate(names):
            sheet.text(
                at[0] + x, top + LINE * (line + 1), name, size=SMALL, anchor="center", part="member"
            )
        sheet.text(
            x_left + width + 8, at[1] + y + 4, sides.labels[own], size=SMALL, part="dominance"
        )
