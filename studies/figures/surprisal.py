"""How much an outcome changes what is believed: small plots side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from annot_pipeline.report.figures.curves import (
    SAMPLE,
    STYLES,
    Curve,
    Line,
    Style,
    draw_lines,
    draw_zeros,
    ends_of,
    lines_of,
    notes_of,
    sample,
    sample_width,
    x_ticks,
)
from annot_pipeline.report.figures.names import MOST_COLUMNS, bold_columns_in, px_of, short
from annot_pipeline.report.figures.scales import steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import SMALL, SOFT

KIND = "surprisal"

MOST_PANELS = 12

PAGE, LEFT, GAP, HEIGHT = 960, 52, 28, 190
"""Width of a row, left of each plot, between two panels, and height of a plot, px."""

ROW = 20
"""Of the names of lines, px."""


@dataclass(frozen=True)
class _Panel:
    title: str
    x_label: str
    lines: Sequence[Line]
    notes: Sequence[str]

    @property
    def names(self) -> list[tuple[str, Style]]:
        return [(line.name, line.style) for line in self.lines]


class _Key:
    """Names of lines beside each other, in as many rows as a width asks for."""

    def __init__(self, lines: Sequence[Line], width: float) -> None:
        self.entries: list[tuple[float, int, Line]] = []
        x, row = 0.0, 0
        for line in lines:
            if x and x + sample_width(line) > width:
                x, row = 0.0, row + 1
            self.entries.append((x, row, line))
            x += sample_width(line) + 18
        self.n_rows = row + 1

    def draw(self, sheet: Sheet, x_left: float, top: float) -> None:
        for x, row, line in self.entries:
            sample(sheet, x_left + x, top + ROW * row, line, "key")


def surprisal_svg(panels: Sequence[tuple[object, object, Sequence[Curve]]]) -> str:
    """Draw the surprisal of an outcome, in a grid of small plots.

    Sakaguchi & Van Durme 2018: Fig. 2, v and w of a win and of a tie against t; Fig. 3, 1 - p
    of a win and of a tie against the difference D. Each panel has a y axis of its own, with 0,
    where nothing is learned, on it. Where all panels have the same curves, they are named once.

    Parameters
    ----------
    panels
        Title, label of the x axis, and up to six curves, such as one for each epsilon.

    Raises
    ------
    ValueError
        If lengths of a curve differ.
    """
    across = max(1, min(len(panels), 2 if len(panels) <= 4 else 3))
    width = PAGE // max(across, 2) - LEFT - GAP
    laid_out = [_panel(*panel, width) for panel in panels]
    if not any(panel.lines for panel in laid_out):
        return nothing_svg(KIND, "no curve has a point")
    grid = laid_out[:MOST_PANELS]
    notes = [note for panel in grid for note in panel.notes]
    if len(grid) < len(laid_out):
        notes.append(f"The first {len(grid)} of {len(laid_out)} panels are drawn.")

    whole = across * (LEFT + width + GAP)
    once = all(panel.names == grid[0].names for panel in grid)
    keys = [_Key(panel.lines, whole - LEFT if once else width) for panel in grid]
    top = ROW * keys[0].n_rows + 16 if once else 8
    head = 24 + (0 if once else ROW * max(key.n_rows for key in keys))
    pitch = head + HEIGHT + 64
    bottom = top + ceil(len(grid) / across) * pitch
    description = "Surprisal of outcomes: " + ", ".join(panel.title for panel in grid)
    room = max(whole, 24 + px_of("", *notes, size=SMALL))
    with new_sheet(KIND, room, bottom + 16 * len(notes), description) as sheet:
        if once:
            keys[0].draw(sheet, LEFT, 18)
        for position, (panel, key) in enumerate(zip(grid, keys, strict=True)):
            x_left = LEFT + position % across * (LEFT + width + GAP)
            y = top + position // across * pitch
            sheet.text(x_left, y + 14, panel.title, weight=700, part="panel")
            if not once:
                key.draw(sheet, x_left, y + 32)
            _draw(sheet, panel, x_left, y + head, width)
        sheet.note(bottom + 4, notes)
        return sheet.svg()


def _panel(title: object, x_label: object, curves: Sequence[Curve], width: float) -> _Panel:
    name, first_curves = (
        short(title, min(MOST_COLUMNS, bold_columns_in(width))),
        curves[: len(STYLES)],
    )
    lines = lines_of(first_curves, min(MOST_COLUMNS, bold_columns_in(width - SAMPLE - 8)))
    notes = notes_of(lines, f" in {name}")
    if len(first_curves) < len(curves):
        notes.append(
            f"The first {len(first_curves)} of {len(curves):,} curves are drawn in {name}."
        )
    return _Panel(
        name,
        short(x_label, bold_columns_in(width)),
        [line for line in lines if line.is_drawn.any()],
        notes,
    )


def _draw(sheet: Sheet, panel: _Panel, x_left: float, top: float, width: float) -> None:
    sheet.text(x_left + width / 2, top + HEIGHT + 38, panel.x_label, anchor="center", part="axis")
    if not panel.lines:
        sheet.axes(x_left, top, width, HEIGHT, x=(0, 1), y=(0, 1))
        sheet.text(x_left + width / 2, top + HEIGHT / 2, "no values", color=SOFT, anchor="center")
        return
    x_ends, y_ends = ends_of(panel.lines, 0)
    axes = sheet.axes(x_left, top, width, HEIGHT, x=x_ends, y=y_ends)
    sheet.ticks(axes, "y", *steps(*y_ends), grid=True)
    sheet.ticks(axes, "x", *x_ticks(panel.lines, x_ends, 7), grid=False)
    draw_zeros(sheet, axes, "xy")
    draw_lines(sheet, axes, panel.lines)
