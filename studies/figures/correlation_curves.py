"""How well scores correlate with the oracle, by what was spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from annot_pipeline.report.figures.curves import (
    STYLES,
    Curve,
    Line,
    draw_lines,
    draw_zeros,
    ends_of,
    lines_of,
    notes_of,
    sample,
    sample_width,
    x_ticks,
)
from annot_pipeline.report.figures.names import counted, short
from annot_pipeline.report.figures.scales import beyond, steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg

KIND = "correlation-curves"

WIDTH, HEIGHT, LEFT = 460, 280, 56
"""Of the plot, px."""

LABEL, PITCH = 14, 20
"""From the plot to its labels, and from one label to the next, px."""


def correlation_curves_svg(
    curves: Sequence[Curve], *, x_label: str, y_label: str, title: object = None
) -> str:
    """Draw correlation with the oracle against judgments or iterations, one line per method.

    Sakaguchi & Van Durme 2018, Figs. 6, 9 and 11. The bands are 95% intervals. Lines differ in
    colour, dashes and markers, and are named at the right, in the order in which they end.

    Parameters
    ----------
    curves
        Up to six are drawn: x in the unit of ``x_label``, y a correlation. Band ends beyond
        -1 and 1 are drawn at -1 and 1.
    x_label, y_label
        Of the axes, such as "judgments per item" and "Spearman's rho".
    title
        Of the figure.

    Raises
    ------
    ValueError
        If lengths differ, or a y lies beyond [-1, 1].
    """
    for curve in curves:
        if wrong := beyond(curve.y, -1, 1):
            raise ValueError(
                f"curve {short(curve.name)}: {len(wrong)} values beyond [-1, 1] are no "
                f"correlations: {wrong[:5]}"
            )
    first = curves[: len(STYLES)]
    lines = [
        replace(line, low=np.clip(line.low, -1, 1), high=np.clip(line.high, -1, 1))
        for line in lines_of(first)
    ]
    notes = notes_of(lines)
    lines = [line for line in lines if line.is_drawn.any()]
    if not lines:
        return nothing_svg(KIND, "no method has a correlation")
    if any(line.banded.any() for line in lines):
        notes.insert(0, "Shaded: 95% intervals.")
    if len(first) < len(curves):
        notes.append(f"The first {len(first)} of {len(curves):,} methods are drawn.")

    heading = "" if title is None else short(title, 60)
    top = 60 if heading else 38
    bottom = top + HEIGHT
    x_ends, (least, most) = ends_of(lines)
    width = LEFT + WIDTH + LABEL + max(map(sample_width, lines)) + 12
    with new_sheet(
        KIND, width, bottom + 52 + 16 * len(notes), _description(lines, y_label)
    ) as sheet:
        axes = sheet.axes(LEFT, top, WIDTH, HEIGHT, x=x_ends, y=(max(least, -1.0), min(most, 1.0)))
        sheet.ticks(axes, "y", *steps(*axes.get_ylim(), 8), grid=True)
        sheet.ticks(axes, "x", *x_ticks(lines, x_ends, 10), grid=False)
        sheet.text(12, 20, heading, size=13, weight=700, part="title")
        sheet.text(12, top - 18, short(y_label, 60), part="axis")
        sheet.text(LEFT + WIDTH / 2, bottom + 38, short(x_label, 60), anchor="center", part="axis")
        draw_zeros(sheet, axes, "y")
        draw_lines(sheet, axes, lines)
        ends = [sheet.at(axes, 0, line.last)[1] for line in lines]
        for n, y in _spread_heights(ends, top, bottom):
            sample(sheet, LEFT + WIDTH + LABEL, y, lines[n], "label")
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _description(lines: Sequence[Line], y_label: str) -> str:
    ends = ", ".join(f"{line.name} {line.last:.2f}" for line in lines)
    return f"{short(y_label)} of {counted(len(lines), 'method')}, at the end: {ends}"


def _spread_heights(heights: Sequence[float], top: float, bottom: float) -> list[tuple[int, float]]:
    """Return each place, highest first, with the nearest height that overlaps no other, px.

    Those too near to each other are moved apart evenly, and none leaves the plot.
    """
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    groups: list[list[int]] = []
    middles: list[float] = []

    def inside(middle: float, n: int) -> float:
        half = PITCH * (n - 1) / 2
        return min(max(middle, top + half), bottom - half)

    for n in order:
        group, middle = [n], inside(heights[n], 1)
        while groups and middle - middles[-1] < PITCH * (len(group) + len(groups[-1])) / 2:
            group, _ = groups.pop() + group, middles.pop()
            middle = inside(sum(heights[m] for m in group) / len(group), len(group))
        groups.append(group)
        middles.append(middle)
    return [
        (n, middle + PITCH * (position - (len(group) - 1) / 2))
        for group, middle in zip(groups, middles, strict=True)
        for position, n in enumerate(group)
    ]
