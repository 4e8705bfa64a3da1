"""The page around the sections: one file, nothing from elsewhere, its own script and no other."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from annot_pipeline.report.markup import Markup, label_text, text


def _resource(name: str) -> str:
    return files("annot_pipeline.report").joinpath(name).read_text(encoding="utf-8")


STYLE = _resource("style.css")
SCRIPT = _resource("script.js")


@dataclass(frozen=True)
class Part:
    """A section of the page, ready to stand in it."""

    anchor: str
    title: str
    content: str


def policy() -> str:
    """Return what the page may load: its own script, by its hash.

    Styles and images that it holds.
    """
    digest = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def page(title: str, header: str, parts: Sequence[Part], footer: str) -> str:
    """Return the whole document.

    Parameters
    ----------
    title
        Of the window; from outside.
    header, footer
        HTML.
    parts
        Sections in order; those without content are left out.
    """
    contents = [part for part in parts if part.content]
    links = "".join(f'<li><a href="#{p.anchor}">{text(p.title)}</a></li>' for p in contents)
    sections = "\n".join(
        f'<section id="{p.anchor}" aria-labelledby="{p.anchor}-title">'
        f'<h2 id="{p.anchor}-title">{text(p.title)}</h2>\n{p.content}</section>'
        for p in contents
    )
    return Markup(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>{label_text(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f"<header>{header}</header>\n"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n'
        f'<main id="main" tabindex="-1">\n{sections}\n</main>\n'
        f"<footer>{footer}</footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
