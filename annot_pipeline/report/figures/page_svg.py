"""Makes what matplotlib wrote fit for a page: short, with ids of its own, no empty groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import groupby, product
from xml.etree import ElementTree

from annot_pipeline.report.figures.base import INK, clean

STANDALONE = "svg:root{color:#777}"
"""Holds where the figure is an image, not part of a page: no page gives a text colour then."""

NUMBERED = re.compile(r"[\w.]+_\d+")
REFERENCE = re.compile(r"#([\w.-]+)(?=\)|$)")
DECIMAL = re.compile(r"-?\d+\.\d+")
FONT = re.compile(r"font-family: [^;]*(; )?")

Element = ElementTree.Element


def page_svg(raw: str, kind: str, description: str) -> str:
    """Return what matplotlib wrote so that it can stand in a page.

    Its style for every element of the page is left out, ids stay only where something refers to
    them, with a prefix of the figure's own, and groups with a name become ``data-part``. Groups
    that say nothing are left out, and neighbours that look the same say so once.
    """
    body = raw[raw.index("</defs>") + len("</defs>") : raw.rindex("</svg>")]
    _, _, width, height = re.findall(r'viewBox="(.*?)"', raw)[0].split()
    svg = ElementTree.fromstring(f"<svg>{body.replace('xlink:', '')}</svg>")  # noqa: S314 - ours
    prefix = f"f{sha256((description + raw).encode()).hexdigest()[:8]}-"
    named = [e for e in svg.iter() if "id" in e.attrib and e.tag not in ("g", "image")]
    ids = {element.attrib["id"]: f"{prefix}{n}" for n, element in enumerate(named)}
    for element in svg.iter():
        _shorten(element, ids)
    style, definitions = Element("style"), Element("defs")
    style.text = STANDALONE
    definitions.extend([own for part in svg.iter("defs") for own in part])
    svg[:] = [style, *_alike(_flat(svg)), *[definitions][: len(definitions)]]
    svg.attrib = {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", "width": width,
        "height": height, "style": "max-width:100%;height:auto", "role": "img",
        "aria-label": clean(description), "data-figure": kind,
        "font-family": "system-ui, sans-serif", "fill": "currentColor", "stroke-linejoin": "round",
    }  # fmt: skip
    return ElementTree.tostring(svg, encoding="unicode").replace(" />", "/>")


def _shorten(element: Element, ids: Mapping[str, str]) -> None:
    """Write an element's attributes as they may stand in a page."""
    element.tail, element.text = None, element.text if element.tag == "text" else None
    for key, text in [*element.attrib.items()]:
        value = " ".join(text.split())
        if value.startswith("data:"):
            value = value.replace(" ", "")
        elif key != "id":
            value = DECIMAL.sub(lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), value)
            value = REFERENCE.sub(lambda match: f"#{ids.get(match[1], match[1])}", value)
            value = FONT.sub("", value).replace(INK, "currentColor")
            value = value.replace("; fill: currentColor", "") if element.tag == "text" else value
        element.set(key, re.sub(r" ?([A-Za-z]) ?", r"\1", value) if key == "d" else value)
    name = element.attrib.pop("id", "")
    if name.startswith("matplotlib.axis"):
        element.tag = "axis"
    elif name in ids or (element.tag == "g" and name and not NUMBERED.fullmatch(name)):
        element.set(*(("id", ids[name]) if name in ids else ("data-part", name)))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _flat(group: Element) -> list[Element]:
    """Return what a group draws, without groups inside it that say nothing."""
    drawn: list[Element] = []
    for element in group:
        if element.tag not in ("g", "axis"):
            is_drawn = element.tag != "defs" and element.get("style") != "fill: none"
            drawn += [element] * is_drawn
            continue
        children = _flat(element)
        if element.tag == "axis":  # a line, a mark and a number for each tick: in any order
            children.sort(key=_looks)
        children = _alike(children)
        if [*element.attrib] == ["data-part"] and len(children) == 1 and "data-part" not in (
            children[0].attrib
        ):  # fmt: skip
            children[0].set("data-part", element.attrib.pop("data-part"))
        element[:] = children
        drawn += [element] if element.attrib and children else children
    return drawn


def _alike(elements: Iterable[Element]) -> list[Element]:
    """Return elements; neighbours that look the same are in a group that says it once."""
    drawn: list[Element] = []
    for looks, neighbours in groupby(elements, _looks):
        run = [*neighbours]
        if looks and len(run) > 1:
            for element, (name, _) in product(run, looks):
                del element.attrib[name]
            group = Element("g", dict(looks))
            group[:] = [own for e in run for own in (e if e.tag == "g" and not e.attrib else [e])]
            run = [group]
        drawn += run
    return drawn


def _looks(element: Element) -> list[tuple[str, str]]:
    """Return the attributes of an element that a group around it may say instead."""
    if "transform" in element.attrib or re.search(r"(^| )opacity:", element.get("style", "")):
        return []
    names = ("style", "clip-path", *["data-part"] * (element.tag == "text"))
    return [(name, v) for name, v in element.attrib.items() if name in names]
