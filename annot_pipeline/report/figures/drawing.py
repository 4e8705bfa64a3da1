"""A figure of boxes, bands and texts, written as SVG at once: for what needs no axes.

Takes the text colour of the page as the other figures do; layout is in px from the top left.
"""

from __future__ import annotations

from math import ceil
from xml.etree.ElementTree import Element, SubElement, tostring

from annot_pipeline.report.figures.names import clean
from annot_pipeline.report.figures.svg_text import STANDALONE
from annot_pipeline.report.figures.theme import FONT_SIZE


class Drawing:
    """A figure in the making.

    Parameters
    ----------
    kind
        Of figure, for those who style or read it.
    width, height
        px.
    description
        The figure in a sentence, for those who do not see it.
    links
        Whether parts of it are links: it is then a group to screen readers, not one image.
    """

    def __init__(
        self, kind: str, width: float, height: float, description: str, *, links: bool = False
    ) -> None:
        self.root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {ceil(width)} {ceil(height)}",
                "width": str(ceil(width)),
                "height": str(ceil(height)),
                "style": "max-width:100%;height:auto",
                "role": "group" if links else "img",
                "aria-label": clean(description),
                "data-figure": kind,
                "font-family": "system-ui, sans-serif",
                "font-size": str(FONT_SIZE),
                "fill": "currentColor",
            },
        )
        SubElement(self.root, "style").text = STANDALONE

    def group(self, part: str, tip: str = "", link: str = "") -> Element:
        """Add a group with an optional tooltip and link, and return it."""
        element = SubElement(self.root, "a" if link else "g", {"data-part": part})
        if link:
            element.set("href", link)
        if tip:
            SubElement(element, "title").text = clean(tip)
        return element

    def box(
        self, onto: Element, x_left: float, top: float, width: float, height: float, **look: str
    ) -> None:
        """Add a rectangle; ``look`` are attributes, ``_`` for ``-``."""
        attributes = {"x": x_left, "y": top, "width": width, "height": height}
        self._add(onto, "rect", {name: _px(value) for name, value in attributes.items()}, look)

    def path(self, onto: Element, steps: str, **look: str) -> None:
        """Add a path by its steps."""
        self._add(onto, "path", {"d": steps}, look)

    def text(self, onto: Element, x_left: float, base: float, words: str, **look: str) -> None:
        """Add one line of text that begins at a point of its base line."""
        element = self._add(onto, "text", {"x": _px(x_left), "y": _px(base)}, look)
        element.text = clean(words)

    def _add(
        self, onto: Element, tag: str, attributes: dict[str, str], look: dict[str, str]
    ) -> Element:
        named = {name.replace("_", "-"): value for name, value in look.items()}
        return SubElement(onto, tag, attributes | named)

    def svg(self) -> str:
        """Return the figure as SVG text."""
        for element in self.root:
            element.tail = "\n"
        return tostring(self.root, encoding="unicode")


def _px(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"


def band(x: float, top: float, right: float, right_top: float, height: float) -> str:
    """Return steps of a band of one height between two places, level at both ends."""
    middle, bottom, right_bottom = (x + right) / 2, top + height, right_top + height
    points = [x, top, middle, top, middle, right_top, right, right_top]
    back = [right, right_bottom, middle, right_bottom, middle, bottom, x, bottom]
    first, upper_steps = _steps(points)
    start, home = _steps(back)
    return f"M{first}C{upper_steps}L{start}C{home}z"


def _steps(points: list[float]) -> tuple[str, str]:
    written = [_px(value) for value in points]
    return " ".join(written[:2]), " ".join(written[2:])
