"""Makes what matplotlib writes fit to stand in a page: small, without global styles or clashes.

matplotlib writes a document of its own: with a prolog, a style for every element of the page,
and ids (``axes_1``) that each figure has again. Here the texts are put in, groups become
``data-part``, and ids stay only where something refers to them, prefixed by the kind of figure
and a hash of all it shows: two elements of a page share an id only if they are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from xml.etree.ElementTree import Element, fromstring, tostring

from annot_pipeline.report.figures.theme import FONT_SIZE, INK

STANDALONE = (
    "svg:root{color:#777}"
    "svg:root [data-part=ground] path{fill:#fff}"
    "svg:root [data-part=on-cell]{color:#222}"
)
"""Holds where the figure is an image, not part of a page: no page gives a text colour then."""

HREF = "{http://www.w3.org/1999/xlink}href"
DECIMAL = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"^(?:url\()?#(.+?)\)?$")
BLANKS = re.compile(r"\s+(?=[MLQCz]|$)|(?<=[MLQC])\s+")
RECTANGLE = re.compile(r"M([^ML]+) ([^ML]+)L([^ML]+) \2L\3 ([^ML]+)L\1 \4(?:L\1 \2)?z")


@dataclass(frozen=True)
class Part:
    """A group of a figure: its name, and what is said when the mouse rests on it.

    Parameters
    ----------
    name
        Becomes ``data-part``.
    tips
        None, one text for the whole group, or a text for each marker in it.
    image
        Attributes of the image that stands in place of what matplotlib drew, if one does.
    """

    name: str
    tips: str | Sequence[str] | None = None
    image: Mapping[str, str] | None = None


def page_svg(
    raw: str, *, kind: str, description: str, texts: Mapping[str, str], parts: Mapping[str, Part]
) -> str:
    """Return the figure as text for a page.

    Parameters
    ----------
    raw
        What matplotlib wrote.
    kind
        Of figure; begins the ids.
    description
        The figure in a sentence, for those who do not see it.
    texts
        What each text of ``raw`` stands for.
    parts
        By their ids in ``raw``.
    """
    document = fromstring(raw)  # noqa: S314 - matplotlib wrote it, without texts from exports
    _, _, width, height = document.attrib["viewBox"].split()
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "style": "max-width:100%;height:auto",
            "role": "img",
            "aria-label": description,
            "font-family": "system-ui, sans-serif",
            "font-size": str(FONT_SIZE),
            "fill": "currentColor",
            "stroke-linejoin": "round",
            "overflow": "visible",
        },
    )
    svg.append(_with_text("style", STANDALONE))
    targets = {ref for element in document.iter() for ref in _references(element)}
    for child in document:
        svg.extend(_converted(child, texts, parts, targets))
    _number_ids(svg, kind)
    for element in svg:
        element.tail = "\n"
    return tostring(svg, encoding="unicode")


def _converted(
    element: Element, texts: Mapping[str, str], parts: Mapping[str, Part], targets: set[str]
) -> list[Element]:
    """Return the element as this module writes it; of a group without attributes, its content."""
    tag = element.tag.rpartition("}")[2]
    if tag == "style":
        return []
    copy = Element(tag, dict(_attributes(element)))
    part = parts.get(element.get("id", ""))
    if element.get("id") in targets:
        copy.set("id", element.attrib["id"])
    if part is not None:
        copy.set("data-part", part.name)
    if tag == "text":
        copy.text = texts[(element.text or "").strip()]
    if part is not None and part.image is not None:
        copy.append(Element("image", dict(part.image)))
    else:
        for child in element:
            copy.extend(_converted(child, texts, parts, targets))
    if tag == "g" and not copy.attrib:
        return list(copy)
    if part is not None and part.tips is not None:
        _add_tips(copy, part.tips)
    return [copy]


def _add_tips(group: Element, tips: str | Sequence[str]) -> None:
    if isinstance(tips, str):
        group.insert(0, _with_text("title", tips))
        return
    for marker, tip in zip(group.iter("use"), tips, strict=True):
        marker.append(_with_text("title", tip))


def _attributes(element: Element) -> Iterator[tuple[str, str]]:
    """Yield attributes without namespaces, styles among them, lengths to a hundredth of a pixel."""
    for name, value in element.attrib.items():
        if name == HREF:
            yield "href", value
        elif name == "style":
            for style in filter(None, value.split("; ")):
                key, _, setting = style.partition(": ")
                yield from _style(key, setting)
        elif name == "d":
            packed = BLANKS.sub("", _rounded(value))
            yield name, RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", packed)
        elif name == "transform":
            if not value.startswith("rotate(-0 "):
                yield name, _rounded(value)
        elif name in ("x", "y", "width", "height"):
            yield name, _rounded(value)
        elif name != "id":
            yield name, value


def _style(key: str, setting: str) -> Iterator[tuple[str, str]]:
    if key == "font-family" or (key, setting) == ("text-anchor", "start"):
        return
    if key == "font-size":
        setting = setting.removesuffix("px")
        if setting == str(FONT_SIZE):
            return
    if setting == INK:
        if key == "fill":
            return  # as all of the figure
        setting = "currentColor"
    yield key, _rounded(setting)


def _rounded(text: str) -> str:
    return DECIMAL.sub(lambda match: f"{round(float(match[0]), 2) + 0.0:g}", text)


def _references(element: Element) -> Iterator[str]:
    for value in (element.get(HREF), element.get("clip-path")):
        if value and (match := REFERENCE.match(value)):
            yield match[1]


def _number_ids(svg: Element, kind: str) -> None:
    digest = sha256(tostring(svg)).hexdigest()[:12]
    old = [element.attrib["id"] for element in svg.iter() if "id" in element.attrib]
    new = {name: f"{kind}-{digest}-{position}" for position, name in enumerate(old)}
    for element in svg.iter():
        if "id" in element.attrib:
            element.set("id", new[element.attrib["id"]])
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{new[element.attrib['href'][1:]]}")
        if "clip-path" in element.attrib:
            element.set("clip-path", f"url(#{new[element.attrib['clip-path'][5:-1]]})")


def _with_text(tag: str, text: str) -> Element:
    element = Element(tag)
    element.text = text
    return element
