"""Makes a figure and writes it as SVG that fits into a page: plain matplotlib, fixed settings.

matplotlib's settings belong to the whole process. Figures of this package hold a lock and start
from matplotlib's own defaults, not the user's; other threads that draw with matplotlib at
the same moment see our settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from math import ceil
from textwrap import wrap
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.report.figures.base import SETTINGS, SMALL, clean, px_of, short
from annot_pipeline.report.figures.page_svg import page_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Margins = tuple[float, float, float, float]
"""At the left, at the right, above and below, px."""

NOTE = 16
"""From one line of small print to the next, px."""

NARROWEST, LEAST = 354, 120
"""Of a figure that a phone shows whole, and of the axes of one with long names, px."""

_LOCK = RLock()


@dataclass(frozen=True)
class Plot:
    """A figure in the making.

    Parameters
    ----------
    kind
        Of figure; begins the ids inside the SVG.
    description
        The figure in a sentence, for those who do not see it.
    figure
        Of matplotlib.
    panels
        ``(down, across)`` its axes.
    """

    kind: str
    description: str
    figure: Figure
    panels: npt.NDArray[Any]

    @property
    def ax(self) -> Axes:
        """Return the first axes."""
        ax: Axes = self.panels[0, 0]
        return ax

    def svg(self) -> str:
        """Return the figure as SVG text."""
        raw = StringIO()
        nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(raw, format="svg", transparent=True, metadata=nothing)
        return page_svg(raw.getvalue(), self.kind, self.description)


@contextmanager
def new_plot(
    kind: str,
    width: float,
    height: float,
    description: str,
    *,
    margins: Margins = (64, 24, 36, 52),
    across: int = 1,
    down: int = 1,
    gaps: tuple[float, float] = (48, 64),
    notes: Sequence[str] = (),
) -> Iterator[Plot]:
    """Yield panels of one size to draw on, under the settings of this package.

    Parameters
    ----------
    kind
        Of figure; begins the ids inside the SVG.
    width, height
        Of a panel, px.
    description
        The figure in a sentence, for those who do not see it.
    margins
        Around all panels.
    across, down
        How many panels there are.
    gaps
        Between panels, to the right and down, px.
    notes
        Small print under the figure.
    """
    import matplotlib
    from matplotlib.figure import Figure

    x_left, right, top, bottom = margins
    if notes:
        right = max(right, NARROWEST - x_left - across * (width + gaps[0]))
    inner = across * width + (across - 1) * gaps[0], down * height + (down - 1) * gaps[1]
    whole = ceil(x_left + inner[0] + right)
    columns = max(int((whole - 24) / px_of("x", size=SMALL)), 20)
    lines = [line for note in notes for line in wrap(note, columns)]
    foot = bottom + NOTE * len(lines)
    tall = ceil(top + inner[1] + foot)
    defaults = matplotlib.rcParamsDefault
    settings = {key: defaults[key] for key in defaults if key != "backend"} | SETTINGS
    with _LOCK, matplotlib.rc_context(settings), warnings.catch_warnings():
        # layout alone uses this font: the page may have the glyphs that it lacks
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        figure = Figure((whole / 72, tall / 72), 72)
        panels = figure.subplots(down, across, squeeze=False, gridspec_kw={
            "left": x_left / whole, "right": 1 - right / whole, "top": 1 - top / tall,
            "bottom": foot / tall, "wspace": gaps[0] / width, "hspace": gaps[1] / height,
        })  # fmt: skip
        for n, line in enumerate(lines, 1):
            y = (6 + NOTE * (len(lines) - n)) / tall
            figure.text(12 / whole, y, line, fontsize=SMALL, gid="note")
        yield Plot(kind, description, figure, panels)


@contextmanager
def row_plot(
    kind: str,
    names: Sequence[str],
    description: str,
    *,
    pitch: float = 24,
    right: float = 24,
    top: float = 16,
    x_label: str = "",
    notes: Sequence[str] = (),
    part: str = "row",
) -> Iterator[Plot]:
    """Yield axes with a row for each name, the first above, at heights 0, 1 and so on.

    Parameters
    ----------
    names
        Written at the left, shortened until a phone has room.
    pitch, right, top
        From row to row, and margins, px.
    x_label
        Of the horizontal axis.
    part
        What a row is, as the SVG names it.

    The others are those of `new_plot`.
    """
    bottom = 28 + 20 * bool(x_label)
    names = [short(name, (NARROWEST - LEAST - 24 - right) / px_of("x")) for name in names]
    left = 24 + px_of("", *names)
    width = NARROWEST - left - right
    height, margins = pitch * max(len(names), 1), (left, right, top, bottom)
    with new_plot(kind, width, height, description, margins=margins, notes=notes) as plot:
        ax = plot.ax
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_yticks([])
        for y, name in enumerate(names):  # labels of ticks would take three times as long
            text_beside(ax, y, name, part, 12, side="left")
        ax.spines["left"].set_visible(False)
        ax.grid(visible=True, axis="x")
        ax.locator_params(axis="x", nbins=4)  # more would stand on each other
        ax.set_xlabel(x_label)
        yield plot


def name_ticks(ax: Axes, side: str, part: str) -> None:
    """Say in the SVG what the labels of one side are."""
    for label in (ax.get_xticklabels if side == "x" else ax.get_yticklabels)():
        label.set_gid(part)


def plain_log_ticks(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis as they are, without mathematics."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 1e4 else (1,), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def text_at_right(ax: Axes, y: float, words: str, part: str) -> None:
    """Write words to the right of the axes at a height of the data."""
    text_beside(ax, y, words, part, SMALL, side="right")


def text_beside(
    ax: Axes, y: float, words: str, part: str, size: float, *, side: Literal["left", "right"]
) -> None:
    """Write words on one side of the axes at a height of the data."""
    from matplotlib.transforms import offset_copy

    x, other = (1, "left") if side == "right" else (0, "right")
    transform = offset_copy(ax.get_yaxis_transform(), x=8 if side == "right" else -8, units="dots")
    ax.text(x, y, words, transform=transform, ha=other, va="center", fontsize=size, gid=part)


def key_above(ax: Axes, across: int) -> None:
    """Explain colours above the axes, so many beside each other, from the figure's left."""
    from matplotlib.transforms import blended_transform_factory

    figure = ax.figure.figure
    ax.legend(
        loc="lower left", bbox_to_anchor=(12 / (72 * figure.get_figwidth()), 1.02), ncols=across,
        bbox_transform=blended_transform_factory(figure.transFigure, ax.transAxes), fontsize=SMALL,
        handlelength=1.2, handletextpad=0.5, columnspacing=1.2, numpoints=1, scatterpoints=1,
    )  # fmt: skip


def draw_cells(
    ax: Axes, shares: Floats, palette: str, write: Callable[[float], str] | None = None
) -> None:
    """Draw a matrix of shares, 0 to 1, as cells in colours of a palette; NaN stays empty.

    ``write`` gives the text of a cell. Cells are opaque, so both stand out in the dark too.
    """
    image = ax.imshow(shares, cmap=palette, vmin=0, vmax=1, interpolation="none", aspect="auto")
    ax.spines[:].set_visible(True)
    ax.tick_params(length=0)
    if write is None:
        return
    is_dark = image.cmap(shares)[..., :3] @ (0.3, 0.6, 0.1) < 0.5
    cells = np.argwhere(~np.isnan(shares)).tolist()
    for row, column in sorted(cells, key=lambda cell: is_dark[*cell]):  # a colour is said once
        share = float(shares[row, column])
        ax.text(
            column, row, write(share), ha="center", va="center", fontsize=SMALL, gid="cell",
            color="#ffffff" if is_dark[row, column] else "#222222",
        )  # fmt: skip


@contextmanager
def matrix_plot(
    kind: str,
    names: Sequence[str],
    description: str,
    shares: Floats,
    palette: str,
    notes: Sequence[str],
    write: Callable[[float], str] | None = None,
) -> Iterator[Plot]:
    """Yield axes with a matrix: names with numbers at the left, the numbers above.

    It is as wide as a phone: cells of many systems are narrower than their names are high.
    """
    n = len(names)
    numbered = [f"{position}. {short(name, 14)}" for position, name in enumerate(names, 1)]
    size = 12 if n <= 14 else 8
    left = 24 + px_of(*numbered, size=size)
    cell = min(32.0, (NARROWEST - left - 40) / n)
    sides = cell * n, max(7.0, cell) * n
    margins = left, 40, 28, 16
    with new_plot(kind, *sides, description, margins=margins, notes=notes) as plot:
        draw_cells(plot.ax, shares, palette, write)
        plot.ax.set_yticks(range(n), numbered, fontsize=size)
        every = 1 if cell >= 14 else 5 if cell >= 4 else 10
        plot.ax.set_xticks(range(0, n, every), [str(c + 1) for c in range(0, n, every)])
        plot.ax.xaxis.tick_top()
        name_ticks(plot.ax, "y", "row")
        yield plot


def nothing_svg(kind: str, why: str) -> str:
    """Return a small figure that says why there is none."""
    sentence = f"nothing to draw: {clean(why)}"
    with new_plot(
        kind, NARROWEST - 24, 2, sentence, margins=(12, 12, 6, 6), notes=[sentence]
    ) as plot:
        plot.ax.set_axis_off()
        return plot.svg()
