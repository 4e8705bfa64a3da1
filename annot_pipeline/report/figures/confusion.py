"""How judges confuse the classes of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import bold_columns_in, px_of, short
from annot_pipeline.report.figures.scales import Numbers, numbers
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, INK, MOST_POINTS, SMALL, SOFT, Color

KIND = "confusion"

MOST_LABELS, MOST_JUDGES = 60, 12
"""Classes and matrices that are drawn."""

NUMBERED = 9
"""Most classes whose cells show their numbers."""

SHADES, GAMMA = 50, 0.7
"""Shades between 0 and 1; less than 1, gamma makes small probabilities stand out."""

PAGE = 940
"""Width that a row of matrices may take, px."""

TOP, GAP = 92, 20
"""Above the first matrices, and between two, px."""


@dataclass(frozen=True)
class _Grid:
    """Sizes in px, and the names as they are written."""

    labels: Sequence[str]
    titles: Sequence[str]
    cell: int
    x_left: int
    foot: int
    across: int
    step: int
    upright: bool

    @property
    def size(self) -> int:
        """Return side of a matrix."""
        return self.cell * len(self.labels)

    def corner(self, position: int) -> tuple[int, int]:
        """Return left and top of a matrix, px."""
        return (
            self.x_left + position % self.across * self.step,
            TOP + position // self.across * (self.size + 36),
        )

    @property
    def every(self) -> int:
        """Return for how many names one is written, so that they do not touch."""
        return ceil(12 / self.cell)


def confusion_svg(
    labels: Sequence[object], confusions: npt.ArrayLike, titles: Sequence[object]
) -> str:
    """Draw confusion matrices of judges, side by side, on one scale from 0 to 1.

    Passonneau & Carpenter 2013, Fig. 1: a row is a true label, a column an observed one. A
    judge without errors has a full diagonal; a label that is overused shows as a column. Up to
    nine classes the cells show their numbers.

    Parameters
    ----------
    labels
        ``(n_labels,)`` in class order.
    confusions
        ``(n_judges, n_labels, n_labels)``, or ``(n_labels, n_labels)`` of one judge: the
        probability of each observed label (last axis) given each true label.
    titles
        ``(n_judges,)``, such as the judges' names.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    matrices = numbers(confusions)
    if matrices.ndim == 2:
        matrices = matrices[None]
    if matrices.size == 0:
        return nothing_svg(KIND, "no judge has a confusion matrix")
    if matrices.shape != (len(titles), len(labels), len(labels)):
        raise ValueError(
            f"confusions of shape {matrices.shape} for {len(titles)} titles, {len(labels)} labels"
        )
    k = min(len(labels), MOST_LABELS)
    n = min(len(titles), MOST_JUDGES, max(1, MOST_POINTS // k**2))
    notes = []
    if k < len(labels):
        notes.append(f"The first {k} of {len(labels):,} classes are drawn.")
    if n < len(titles):
        notes.append(f"The first {n} of {len(titles):,} judges are drawn.")
    matrices = matrices[:n, :k, :k]
    if np.isnan(matrices).any():
        notes.append("A dash marks cells without a value.")

    grid = _grid(labels[:k], titles[:n])
    bottom = grid.corner(n - 1)[1] + grid.size + grid.foot
    width = max(grid.x_left + min(n, grid.across) * grid.step, 480)
    description = f"Confusion matrices of {n} judges over {k} classes"
    with new_sheet(KIND, width, bottom + 24 + 16 * len(notes), description) as sheet:
        sheet.text(12, 20, "probability of each observed label (column) given the true label (row)")
        _scale(sheet, 12, 32)
        for position, matrix in enumerate(matrices):
            _draw(sheet, grid, position, np.clip(matrix, 0, 1))
        sheet.note(bottom + 20, notes)
        return sheet.svg()


def _grid(labels: Sequence[object], titles: Sequence[object]) -> _Grid:
    """Lay out matrices in whole pixels, so that edges are sharp; about as many across as down."""
    k, n = len(labels), len(titles)
    cell = 36 if k <= NUMBERED else max(8, min(28, (300 if n > 1 else 500) // k))
    names = [short(label, 24) for label in labels]
    longest = ceil(px_of(*names, size=SMALL))
    x_left = 40 + longest
    step = max(k * cell, 100) + GAP
    down = ceil(n / max(1, (PAGE - x_left) // step))
    across = ceil(n / down)
    room = bold_columns_in(PAGE - x_left if across == 1 else step - 8)
    heads = [short(title, min(40, room)) for title in titles]
    upright = longest > cell - 4
    foot = (longest if upright else 12) + 28
    return _Grid(names, heads, cell, x_left, foot, across, step, upright)


def _scale(sheet: Sheet, x_left: float, top: float) -> None:
    """Draw the colour scale from 0 to 1, with a mark at the half."""
    side, n = 16, 21
    sheet.rectangles([(x_left, top, n * side, 12)], "none", "ground")
    for position in range(1, n):
        box = (x_left + side * position, top, side, 12)
        sheet.rectangles([box], _color(position / (n - 1)), "scale")
    sheet.rectangles([(x_left, top, n * side, 12)], "none", "frame", edge=SOFT)
    for share, text in ((0, "0"), (0.5, ".5"), (1, "1")):
        x = x_left + side * (share * (n - 1) + 0.5)
        sheet.text(x, top + 25, text, size=SMALL, anchor="center", part="tick")


def _color(probability: float) -> tuple[str, float]:
    return BLUE, round(SHADES * probability**GAMMA) / SHADES


def _draw(sheet: Sheet, grid: _Grid, position: int, matrix: Numbers) -> None:
    (x_left, top), cell, size = grid.corner(position), grid.cell, grid.size
    sheet.text(x_left, top - 8, grid.titles[position], weight=700, part="title")
    sheet.rectangles([(x_left, top, size, size)], "none", "ground")
    cells: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {}
    missing = []
    for (row, column), probability in np.ndenumerate(matrix):
        x, y = x_left + cell * column, top + cell * row
        if np.isnan(probability):
            missing.append((x + 0.3 * cell, y + 0.5 * cell - 0.5, 0.4 * cell, 1.0))
        else:
            cells.setdefault(_color(float(probability)), []).append((x, y, cell, cell))
            if len(grid.labels) <= NUMBERED:
                _number(sheet, float(probability), x + cell / 2, y + cell / 2)
    cells.pop(_color(0), None)
    for color in sorted(cells):
        sheet.rectangles(cells[color], color, "cell")
    sheet.rectangles(missing, SOFT, "missing")
    sheet.rectangles([(x_left, top, size, size)], "none", "frame", edge=SOFT)
    if position % grid.across == 0:
        _row_names(sheet, grid, x_left, top)
    if position + grid.across >= len(grid.titles):
        _column_names(sheet, grid, x_left, top + size)


def _number(sheet: Sheet, probability: float, x: float, y: float) -> None:
    text = f"{probability:.2f}"
    text = {"0.00": "0", "1.00": "1"}.get(text, text[1:])
    color: Color = (INK, 0.5) if text == "0" else INK
    sheet.text(x, y + 4, text, size=SMALL, color=color, anchor="center", part="on-cell")


def _row_names(sheet: Sheet, grid: _Grid, x_left: float, top: float) -> None:
    sheet.text(20, top + grid.size / 2, "true label", anchor="center", upright=True, part="axis")
    for row in range(0, len(grid.labels), grid.every):
        y = top + grid.cell * (row + 0.5) + 4
        sheet.text(x_left - 8, y, grid.labels[row], size=SMALL, anchor="right", part="row")


def _column_names(sheet: Sheet, grid: _Grid, x_left: float, bottom: float) -> None:
    for column in range(0, len(grid.labels), grid.every):
        x, name = x_left + grid.cell * (column + 0.5), grid.labels[column]
        if grid.upright:
            sheet.text(
                x + 4, bottom + 8, name, size=SMALL, anchor="right", upright=True, part="column"
            )
        else:
            sheet.text(x, bottom + 16, name, size=SMALL, anchor="center", part="column")
    y = bottom + grid.foot - 4
    sheet.text(x_left + grid.size / 2, y, "observed label", anchor="center", part="axis")
