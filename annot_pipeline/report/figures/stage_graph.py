"""The stages of a build: what each made, and from what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from annot_pipeline.report.figures.drawing import Drawing
from annot_pipeline.report.figures.graph_layout import Layout, layered
from annot_pipeline.report.figures.names import BOLD, px_of, short
from annot_pipeline.report.figures.sheet import nothing_svg
from annot_pipeline.report.figures.theme import SMALL

KIND = "stage-graph"

ACROSS, DOWN, PAD, LINE = 18.0, 40.0, 9.0, 15.0
"""Between two stages of a layer, between two layers, inside of a box, and a line of text, px."""


@dataclass(frozen=True)
class StageNode:
    """A stage to draw.

    Parameters
    ----------
    name
        Of the stage.
    reads, makes
        Names of tables.
    gold
        Those of ``makes`` that are released.
    tip
        Said when the mouse rests on it.
    link
        Where it leads.
    """

    name: str
    reads: Sequence[str]
    makes: Sequence[str]
    gold: Sequence[str]
    tip: str
    link: str


def stage_graph_svg(stages: Sequence[StageNode]) -> str:
    """Draw stages from top to bottom, with the gold tables that they make.

    An arrow leads from a stage to those that read what it makes; arrows that a chain of others
    implies are left out.

    Parameters
    ----------
    stages
        In an order in which each reads what those before it make.
    """
    if not stages:
        return nothing_svg(KIND, "no stage is recorded")
    edges = implied_left_out(stages)
    layer = [0] * len(stages)
    for first, last in sorted(edges, key=lambda edge: edge[1]):
        layer[last] = max(layer[last], layer[first] + 1)
    lines = [_lines(stage) for stage in stages]
    sizes = [
        (
            2 * PAD + max(px_of(text[0]), px_of(*text, size=BOLD * SMALL)),
            2 * PAD + LINE * len(text) - 3,
        )
        for text in lines
    ]
    layout = layered(layer, sizes, edges, across=ACROSS, down=DOWN)
    description = (
        f"How the release was made, in {len(stages)} stages, each a link to its row below: "
    )
    description += ", ".join(stage.name.replace("_", " ") for stage in stages)
    drawing = Drawing(KIND, layout.width + 16, layout.height + 16, description, links=True)
    _arrows(drawing, layout)
    for stage, text, (width, height), (x, y) in zip(
        stages, lines, sizes, layout.middle, strict=True
    ):
        group = drawing.group("stage", stage.tip, stage.link)
        x_left, top = 8 + x - width / 2, 8 + y - height / 2
        look = {"fill": "var(--paper, none)", "stroke": "currentColor", "stroke_opacity": "0.5"}
        drawing.box(group, x_left, top, width, height, rx="5", **look)
        drawing.text(group, x_left + PAD, top + PAD + 10, text[0], data_part="name")
        for position, line in enumerate(text[1:], 1):
            drawing.text(
                group, x_left + PAD, top + PAD + 10 + LINE * position, line,
                data_part="gold", font_size=str(SMALL), font_weight="600",
            )  # fmt: skip
    return drawing.svg()


def implied_left_out(stages: Sequence[StageNode]) -> list[tuple[int, int]]:
    """Return which stage reads of which, without pairs that a chain of others connects."""
    maker: Mapping[str, int] = {t: n for n, stage in enumerate(stages) for t in stage.makes}
    above: list[set[int]] = []
    edges = []
    for position, stage in enumerate(stages):
        direct = {maker[table] for table in stage.reads if maker.get(table, position) < position}
        implied = set().union(*(above[n] for n in direct)) if direct else set()
        above.append(direct | implied)
        edges += [(n, position) for n in sorted(direct - implied)]
    return edges


def _lines(stage: StageNode) -> list[str]:
    """Return the name, and the gold tables two a line."""
    gold = [short(table) for table in stage.gold]
    pairs = [" · ".join(gold[n : n + 2]) for n in range(0, len(gold), 2)]
    return [short(stage.name.replace("_", " ")), *pairs]


def _arrows(drawing: Drawing, layout: Layout) -> None:
    group = drawing.group("arrows")
    for route in layout.routes:
        points = [(8 + x, 8 + y) for x, y in route]
        steps = f"M{points[0][0]:.5g} {points[0][1]:.5g}"
        for (x1, y1), (x2, y2) in pairwise(points):
            bend = (y1 + y2) / 2
            steps += (
                f"L{x2:.5g} {y2:.5g}"
                if x1 == x2
                else f"C{x1:.5g} {bend:.5g} {x2:.5g} {bend:.5g} {x2:.5g} {y2:.5g}"
            )
        x, y = points[-1]
        drawing.path(
            group, steps, fill="none", stroke="currentColor", stroke_opacity="0.45",
        )  # fmt: skip
        drawing.path(
            group, f"M{x:.5g} {y:.5g}l-4 -7h8z", fill_opacity="0.6",
        )  # fmt: skip
