"""What a curve is, and how it is drawn: a line with a band, told apart by more than its colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import MOST_COLUMNS, counted, px_of, short
from annot_pipeline.report.figures.scales import Numbers, evenly, numbers, padded, steps, written
from annot_pipeline.report.figures.sheet import Sheet
from annot_pipeline.report.figures.theme import SERIES, SOFT, Color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 1_000
"""Points of a line; of more, evenly spread ones."""

EACH_MARKED, SOME_MARKED = 40, 10
"""Most points that each have a marker, and how many have one on longer lines."""

SAMPLE = 44
"""Length of a piece of line that explains it, px."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """One line of a figure, as the caller has it.

    Parameters
    ----------
    name
        Such as the method.
    x
        ``(n_points,)`` in any order.
    y
        ``(n_points,)``; what is missing is a gap in the line.
    low, high
        ``(n_points,)`` ends of the 95% band; None, all or some, where there is none.
    """

    name: object
    x: npt.ArrayLike
    y: npt.ArrayLike
    low: npt.ArrayLike | None = None
    high: npt.ArrayLike | None = None


@dataclass(frozen=True)
class Style:
    """Looks of a line. Dashes and gaps in widths of the line; none is solid."""

    color: Color
    dashes: tuple[float, ...]
    marker: str


STYLES = tuple(
    Style(color, dashes, marker)
    for color, dashes, marker in zip(
        SERIES,
        ((), (4, 1.5), (1.4, 1.2), (6, 1.5, 1.4, 1.5), (9, 2.5), (3, 1.5, 1.4, 1.5, 1.4, 1.5)),
        "os^Dv*",
        strict=True,
    )
)
"""By place; no two share a colour, dashes or a marker."""


@dataclass(frozen=True)
class Line:
    """A curve that can be drawn: x rises and none is NaN; y is NaN in gaps."""

    name: str
    style: Style
    x: Numbers
    y: Numbers
    low: Numbers
    high: Numbers
    n_points: int
    n_missing: int

    @property
    def is_drawn(self) -> npt.NDArray[np.bool_]:
        """Return points that have a place."""
        return ~np.isnan(self.y)

    @property
    def n_shown(self) -> int:
        """Return how many."""
        return int(self.is_drawn.sum())

    @property
    def banded(self) -> npt.NDArray[np.bool_]:
        """Return points that have a band as well."""
        return self.is_drawn & (self.low <= self.high)

    @property
    def last(self) -> float:
        """Return y at the end of the line."""
        return float(self.y[self.is_drawn][-1])


def lines_of(curves: Sequence[Curve], columns: float = MOST_COLUMNS) -> list[Line]:
    """Return the curves, each with the looks of its place; those without points too.

    Parameters
    ----------
    curves
        At most as many as there are looks.
    columns
        What a name may take.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    return [
        _line(curve, style, columns)
        for curve, style in zip(curves, STYLES[: len(curves)], strict=True)
    ]


def _line(curve: Curve, style: Style, columns: float) -> Line:
    x, y = numbers(curve.x), numbers(curve.y)
    low, high = (
        np.full(y.shape, np.nan) if v is None else numbers(v) for v in (curve.low, curve.high)
    )
    shapes = [array.shape for array in (x, y, low, high)]
    if len(set(shapes)) > 1 or y.ndim != 1:
        raise ValueError(
            f"curve {short(curve.name)}: x, y, low and high have the shapes {shapes}; "
            "one length is needed"
        )
    order = np.argsort(x, kind="stable")
    order = order[~np.isnan(x[order])]
    missing = np.isnan(y[order])
    points, gaps = np.flatnonzero(~missing), np.flatnonzero(missing)
    sizes = len(x), len(x) - len(points)
    order = order[np.union1d(points[evenly(len(points), MOST_POINTS)], gaps)]
    name = short(curve.name, columns)
    return Line(name, style, x[order], y[order], low[order], high[order], *sizes)


def notes_of(lines: Sequence[Line], inside: str = "") -> list[str]:
    """Return what is not drawn of these curves: all of the figure, or those of a panel."""
    notes = [
        f"Not drawn, without a value: {counted(line.n_missing, 'point')} of {line.name}{inside}."
        for line in lines
        if line.n_missing
    ]
    if any(line.n_shown < line.n_points - line.n_missing for line in lines):
        notes.append(f"At most {MOST_POINTS:,} points of a line are drawn, evenly spread{inside}.")
    return notes


def ends_of(lines: Sequence[Line], *more: float) -> tuple[Ends, Ends]:
    """Return ranges of x and of y that hold all lines and bands, and more y, with some room."""
    x = np.concatenate([line.x[line.is_drawn] for line in lines])
    y = np.concatenate(
        [more, *(line.y[line.is_drawn] for line in lines),
         *(ends[line.banded] for line in lines for ends in (line.low, line.high))]
    )  # fmt: skip
    return padded(float(x.min()), float(x.max()), 0.02), padded(float(y.min()), float(y.max()))


def x_ticks(lines: Sequence[Line], ends: Ends, n: int) -> tuple[list[float], list[str]]:
    """Return ticks of the x axis, whole where every x is whole."""
    values, labels = steps(*ends, n)
    if all((line.x == np.round(line.x)).all() for line in lines):
        values = [value for value in values if value == round(value)]
        labels = [written(value, ",.0f") for value in values]
    return values, labels


def draw_zeros(sheet: Sheet, axes: Axes, sides: str) -> None:
    """Draw a line where x is 0, where y is, or both, if that is inside."""
    for side, draw_line, (low, high) in (
        ("x", axes.axvline, axes.get_xlim()),
        ("y", axes.axhline, axes.get_ylim()),
    ):
        if side in sides and low < 0 < high:
            sheet.part(draw_line(0, color=SOFT, linewidth=1, zorder=0.7, clip_on=False), "zero")


def draw_lines(sheet: Sheet, axes: Axes, lines: Sequence[Line]) -> None:
    """Draw all bands, then all lines over them, the first on top."""
    for line in reversed(lines):
        _band(sheet, axes, line, 0.16 if len(lines) <= 3 else 0.1)
    for position, line in reversed([*enumerate(lines)]):
        style = line.style
        (artist,) = axes.plot(
            line.x, line.y, color=style.color, linewidth=2, linestyle=_dashes(style), clip_on=False
        )
        sheet.part(artist, "curve", line.name)
        marked = _marked(line, position)
        larger = 1 if len(marked) == line.n_shown else 1.2
        (points,) = axes.plot(
            line.x[marked], line.y[marked], linestyle="none", marker=style.marker,
            markersize=larger * _size(style), color=style.color, markeredgewidth=0, clip_on=False,
        )  # fmt: skip
        sheet.part(points, "point", [_tip(line, n) for n in marked.tolist()])


def _band(sheet: Sheet, axes: Axes, line: Line, shade: float) -> None:
    """Draw the shaded band and its edges; where it has one point, a line from end to end."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    color, corners, codes = line.style.color, [], []
    for first, last in _runs(line.banded):
        x, low, high = (v[first:last] for v in (line.x, line.low, line.high))
        if last - first == 1:
            (bar,) = axes.plot(
                [x[0]] * 2, [low[0], high[0]], color=(color, 0.4), linewidth=4, clip_on=False
            )
            sheet.part(bar, "band-of-one")
            continue
        outline = np.column_stack([np.append(x, x[::-1]), np.append(low, high[::-1])])
        corners += [*outline, outline[0]]
        codes += [Path.MOVETO, *[Path.LINETO] * (len(outline) - 1), Path.CLOSEPOLY]
    if not corners:
        return
    band = PathPatch(
        Path(np.array(corners), codes), facecolor=(color, shade), linewidth=0, clip_on=False
    )
    axes.add_patch(band)
    sheet.part(band, "band")
    for ends in (line.low, line.high):
        (edge,) = axes.plot(
            line.x, np.where(line.banded, ends, np.nan), color=(color, 0.4), linewidth=0.75,
            clip_on=False,
        )  # fmt: skip
        sheet.part(edge, "band-edge")


def _runs(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Return first place, and place after the last, of each stretch that holds."""
    turns = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0)).tolist()
    return ((first, last) for first, last in list(pairwise(turns))[::2])


def _marked(line: Line, position: int) -> npt.NDArray[np.intp]:
    """Return points with a marker.

    All of a few, else some, elsewhere on each line, and lone ones.
    """
    points = np.flatnonzero(line.is_drawn)
    if len(points) <= EACH_MARKED:
        return points
    step = len(points) / SOME_MARKED
    some = ((np.arange(SOME_MARKED) + (position + 0.5) / len(STYLES)) * step).astype(np.intp)
    lone_points = [first for first, last in _runs(line.is_drawn) if last - first == 1]
    return np.union1d(points[some], np.array(lone_points, dtype=np.intp))


def _dashes(style: Style) -> Any:
    return (0, style.dashes) if style.dashes else "-"


def _size(style: Style) -> float:
    """Return the diameter of a marker, px, so that all look of one size."""
    return {"s": 6.5, "D": 6, "*": 11}.get(style.marker, 7.5)


def _tip(line: Line, n: int) -> str:
    band = f" [{line.low[n]:.4g}, {line.high[n]:.4g}]" if line.banded[n] else ""
    return f"{line.name} at {line.x[n]:.6g}: {line.y[n]:.4g}{band}"


def sample(sheet: Sheet, x: float, y: float, line: Line, part: str) -> None:
    """Draw a piece of the line and its name to the right, their middle at a height, px."""
    from matplotlib.lines import Line2D

    style = line.style
    piece = Line2D(
        [x, x + SAMPLE / 2, x + SAMPLE], [y] * 3, transform=sheet.px, color=style.color,
        linewidth=2, linestyle=_dashes(style), marker=style.marker,
        markersize=_size(style), markeredgewidth=0, markevery=[1],
    )  # fmt: skip
    sheet.figure.add_artist(piece)
    sheet.part(piece, "sample")
    sheet.text(x + SAMPLE + 8, y + 4, line.name, part=part)


def sample_width(line: Line) -> float:
    """Return what `sample` takes, px."""
    return SAMPLE + 8 + px_of(line.name)
