"""The page around the sections: one file, nothing from elsewhere, its own script and no other."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from annot_pipeline.contracts import fates_text
from annot_pipeline.report.render import render_html


def _resource(name: str) -> str:
    return files("annot_pipeline.report").joinpath(name).read_text(encoding="utf-8")


STYLE = _resource("style.css")
SCRIPT = _resource("script.js")


@dataclass(frozen=True)
class Section:
    """A section of the page as HTML; one without content is left out."""

    anchor: str
    title: str
    content: str


def page(
    manifest: Mapping[str, Any],
    header: str,
    sections: Sequence[Section],
    details: Sequence[Section] = (),
) -> str:
    """Return the whole document, which may load its own script, by its hash, and nothing else.

    Parameters
    ----------
    manifest
        Of the release.
    header
        HTML.
    sections, details
        In order; the latter are closed until they are asked for.
    """
    facts = {
        "title": f"{manifest['campaign']} {manifest['version']}",
        "manifest": manifest,
        "fates": fates_text(manifest["facts"]["fates"]),
        "header": header,
        "sections": [section for section in sections if section.content],
        "details": [section for section in details if section.content],
        "style": STYLE,
        "script": SCRIPT,
        "script_hash": b64encode(sha256(SCRIPT.encode()).digest()).decode(),
    }
    return render_html("page.html", facts) + "\n"
