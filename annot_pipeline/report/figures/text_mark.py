"""A text on a sheet, written as SVG without being measured.

matplotlib's own text asks a font for the extents of each line, twice; here every text stands for
another that `svg_text` puts in, whose extents no font of this machine tells.
"""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex, to_rgba

from annot_pipeline.report.figures.theme import Color

ANCHORS = {"left": "start", "center": "middle", "right": "end"}


class TextMark(Artist):
    """One line of text, px from the top left; its place in the order is that of matplotlib's text.

    Parameters
    ----------
    x, y
        Where it is anchored on its base line.
    key
        What is written.
    color, size, weight
        Of the letters.
    anchor
        left, center or right.
    upright
        Reads from bottom to top.
    """

    zorder = 3

    def __init__(
        self,
        x: float,
        y: float,
        key: str,
        *,
        color: Color,
        size: float,
        weight: int,
        anchor: str,
        upright: bool,
    ) -> None:
        super().__init__()
        style = {"font-weight": f"{weight}"} if weight != 400 else {}
        style |= {
            "font-size": f"{size:g}px", "text-anchor": ANCHORS[anchor], "fill": to_hex(color)
        }  # fmt: skip
        opacity = to_rgba(color)[3]
        if opacity != 1:
            style["opacity"] = f"{opacity:g}"
        self._key = key
        self._attributes = {
            "style": "; ".join(f"{name}: {value}" for name, value in style.items()),
            "x": f"{x:.6f}",
            "y": f"{y:.6f}",
        }
        if upright:
            self._attributes["transform"] = f"rotate(-90 {x:.6f} {y:.6f})"

    def draw(self, renderer: RendererBase) -> None:
        """Write it."""
        to: Any = renderer  # of SVG, as all figures of this package are
        to.open_group("text", gid=self.get_gid())
        to.writer.element("text", self._key, attrib=self._attributes)
        to.close_group("text")
