"""The sheet that every figure is drawn on: theme, texts, axes, and the way out as SVG.

matplotlib draws shapes and scales. It is given a placeholder for each text, and `svg_text` puts
the texts in afterwards: so no name is parsed as mathematics, none needs a font that is not
there, and no width depends on the fonts of the machine. Layout is in pixels from the top left.

matplotlib's settings belong to the whole process. Figures of this package hold a lock and start
from matplotlib's own defaults, not the user's; other threads that draw with matplotlib at
the same moment see our settings.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from math import ceil
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from annot_pipeline.report.figures.names import clean, px_of
from annot_pipeline.report.figures.scales import Numbers
from annot_pipeline.report.figures.svg_text import Part, page_svg
from annot_pipeline.report.figures.theme import (
    FAINT,
    INK,
    SETTINGS,
    SMALL,
    Color,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOCK = RLock()


@contextmanager
def new_sheet(kind: str, width: float, height: float, description: str) -> Iterator[Sheet]:
    """Yield a sheet to draw on, under the settings of this package.

    Parameters
    ----------
    kind
        Of figure; begins the ids inside the SVG.
    width, height
        px.
    description
        The figure in a sentence, for those who do not see it.
    """
    import matplotlib

    with _LOCK:
        defaults = matplotlib.rcParamsDefault
        settings = {key: defaults[key] for key in defaults if key != "backend"}
        with matplotlib.rc_context(settings | SETTINGS):
            yield Sheet(kind, width, height, description)


def nothing_svg(kind: str, why: str) -> str:
    """Return a small figure that says why there is none."""
    sentence = f"nothing to draw: {clean(why)}"
    with new_sheet(kind, 24 + px_of(sentence), 36, sentence) as sheet:
        sheet.text(12, 23, sentence)
        return sheet.svg()


class Sheet:
    """A figure in the making; made by `new_sheet`."""

    def __init__(self, kind: str, width: float, height: float, description: str) -> None:
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.kind, self.description = kind, description
        self.width, self.height = ceil(width), ceil(height)
        self.figure: Figure = Figure((self.width / 72, self.height / 72), 72, frameon=False)
        self.px = Affine2D().scale(1, -1).translate(0, self.height)
        self._texts: dict[str, str] = {}
        self._parts: dict[str, Part] = {}

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        color: Color = INK,
        size: float = 12,
        anchor: Literal["left", "center", "right"] = "left",
        upright: bool = False,
        weight: int = 400,
        part: str | None = None,
        tip: str | None = None,
    ) -> None:
        """Write one line that begins, has its centre or ends at a point of the base line, px.

        ``upright`` texts read from bottom to top.
        """
        from annot_pipeline.report.figures.text_mark import TextMark

        if not text:
            return
        key = f"t{len(self._texts)}"
        self._texts[key] = clean(text)
        mark = TextMark(
            x, y, key, color=color, size=size, weight=weight, anchor=anchor, upright=upright
        )
        self.figure.add_artist(mark)
        if part or tip:
            self.part(mark, part or "text", tip)

    def part(
        self,
        artist: Artist,
        name: str,
        tips: str | Sequence[str] | None = None,
        image: Mapping[str, str] | None = None,
    ) -> None:
        """Name an artist in the SVG, and say what is shown when the mouse rests on it.

        An ``image``, as attributes, takes its place.
        """
        gid = f"part-{len(self._parts)}"
        if tips is not None:
            tips = clean(tips) if isinstance(tips, str) else [clean(tip) for tip in tips]
        self._parts[gid] = Part(name, tips, image)
        artist.set_gid(gid)

    def axes(
        self,
        x_left: float,
        top: float,
        width: float,
        height: float,
        *,
        x: tuple[float, float],
        y: tuple[float, float],
        log: str = "",
        lines: str = "xy",
    ) -> Axes:
        """Add axes at a place, px, over these ranges, and return them.

        ``log`` names the axes that are logarithmic, ``lines`` those that are drawn.
        """
        from matplotlib.ticker import NullFormatter, NullLocator

        bottom = self.height - top - height
        axes = self.figure.add_axes(
            (x_left / self.width, bottom / self.height, width / self.width, height / self.height)
        )
        for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if side in log:
                axes.set(**{f"{side}scale": "log"})
            axis.set_major_locator(NullLocator())
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(NullFormatter())
            axis.set_minor_formatter(NullFormatter())
            axes.spines["bottom" if side == "x" else "left"].set_visible(side in lines)
        axes.set_xlim(x)
        axes.set_ylim(y)
        axes.patch.set_visible(False)
        return axes

    def at(self, axes: Axes, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the data lies, px."""
        right, up = axes.transData.transform((x, y))
        return float(right), float(self.height - up)

    def ticks(
        self, axes: Axes, side: str, values: Sequence[float], labels: Sequence[str], *, grid: bool
    ) -> None:
        """Draw the ticks of one side, with labels; with a grid, lines across instead of ticks."""
        from matplotlib.ticker import FixedLocator

        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_major_locator(FixedLocator(values))
        if grid:
            axis.grid(True, color=FAINT, linewidth=1)
            axis.set_tick_params(length=0)
        box = axes.get_position()
        x_left, bottom = box.x0 * self.width, (1 - box.y0) * self.height
        for value, label in zip(values, labels, strict=True):
            if side == "x":
                x, _ = self.at(axes, value, axes.get_ylim()[0])
                self.text(x, bottom + 18, label, size=SMALL, anchor="center", part="tick")
            else:
                _, y = self.at(axes, axes.get_xlim()[0], value)
                self.text(x_left - 8, y + 4, label, size=SMALL, anchor="right", part="tick")

    def key(self, x: float, y: float, entries: Sequence[tuple[str, Color, str]]) -> None:
        """Draw the legend: a sign in its colour and words, one after the other."""
        for sign, color, words in entries:
            if sign == "■":
                self.rectangles([(x, y - 10, 11, 11)], "none", "ground")
                self.rectangles([(x, y - 10, 11, 11)], color, "key-color")
            else:
                self.text(x, y, sign, color=color)
            self.text(x + 15, y, words, part="key")
            x += 15 + px_of(words) + 10

    def rectangles(
        self,
        boxes: Sequence[tuple[float, float, float, float]] | Numbers,
        color: Color,
        part: str,
        *,
        edge: Color | None = None,
        tip: str | None = None,
    ) -> None:
        """Fill rectangles (left, top, width, height), px, as one shape."""
        if len(boxes) > 0:
            self.part(self._filled(boxes, color, edge), part, tip)

    def _filled(
        self,
        boxes: Sequence[tuple[float, float, float, float]] | Numbers,
        color: Color,
        edge: Color | None = None,
    ) -> Artist:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        x_left, top, width, height = np.asarray(boxes, dtype=np.float64).T
        x = np.stack([x_left, x_left + width, x_left + width, x_left, x_left], axis=1)
        y = np.stack([top, top, top + height, top + height, top], axis=1)
        codes = np.tile(np.array([1, 2, 2, 2, 79], dtype=np.uint8), len(x_left))
        path = Path(np.stack([x.ravel(), y.ravel()], axis=1), codes)
        patch = PathPatch(
            path, transform=self.px, facecolor=color, linewidth=1 if edge else 0, edgecolor=edge
        )
        return self.figure.add_artist(patch)

    def image(
        self,
        box: tuple[float, float, float, float],
        png: bytes,
        part: str,
        *,
        sharp: bool,
        tip: str | None = None,
    ) -> None:
        """Fit an image into a rectangle (left, top, width, height), px.

        ``sharp`` shows its pixels as squares, else they flow into each other.
        """
        image = dict(zip(("x", "y", "width", "height"), (f"{v:g}" for v in box), strict=True))
        image["preserveAspectRatio"] = "none"
        if sharp:
            image["image-rendering"] = "pixelated"
        image["href"] = f"data:image/png;base64,{b64encode(png).decode()}"
        self.part(self._filled([box], INK), part, tip, image)

    def line(
        self, x: Sequence[float], y: Sequence[float], color: Color, part: str, width: float = 1
    ) -> None:
        """Draw a line through points, px."""
        from matplotlib.lines import Line2D

        line = Line2D(x, y, transform=self.px, color=color, linewidth=width)
        self.figure.add_artist(line)
        self.part(line, part)

    def points(
        self, x: Numbers, y: Numbers, color: Color, part: str, *, size: float, hollow: bool = False
    ) -> None:
        """Draw discs of this diameter, px, or their outlines."""
        from matplotlib.lines import Line2D

        points = Line2D(
            x, y, transform=self.px, color=color, linestyle="none", marker="o", markersize=size,
            markerfacecolor="none" if hollow else color, markeredgewidth=1.5 if hollow else 0,
        )  # fmt: skip
        self.figure.add_artist(points)
        self.part(points, part)

    def note(self, y: float, sentences: Sequence[str], x: float = 12) -> None:
        """Add small print: what is not drawn, and what the eye may miss."""
        for position, sentence in enumerate(sentences):
            self.text(x, y + 16 * position, sentence, size=SMALL, part="note")

    def svg(self) -> str:
        """Return the figure as SVG text."""
        raw = StringIO()
        nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(raw, format="svg", transparent=True, metadata=nothing)
        return page_svg(
            raw.getvalue(), kind=self.kind, description=clean(self.description), texts=self._texts,
            parts=self._parts,
        )  # fmt: skip
