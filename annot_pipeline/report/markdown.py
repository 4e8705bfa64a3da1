"""Markdown that shows texts from exports as they are: nothing in them is markup."""

from __future__ import annotations

import html
import re
from typing import Any

from markupsafe import Markup

from annot_pipeline.errors import printable

MOST_CHARACTERS = 120
"""Shown of a text in a table; of a longer one the start, and its length."""
MOST_ROWS = 60
"""Rows shown of a table; the whole table is in the release."""


def escape(text: str) -> str:
    """Return the text from exports as it may stand in Markdown.

    No markup, no table, no link, one line.
    """
    flat = html.escape(printable(" ".join(text.split())), quote=False)
    marked = re.sub(r"([\\`*_{}\[\]|#!~])", r"\\\1", flat)
    unlinked = re.sub(r"(?i)://|\bwww\.", lambda m: f"&#{ord(m[0][0])};{m[0][1:]}", marked)
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", unlinked)  # no list, no heading


def paragraphs(text: str) -> list[str]:
    """Return the escaped paragraphs of a text, with blank lines between and after them."""
    escaped = [escape(part) for part in re.split(r"\r?\n\s*\n", text) if part.strip()]
    return [line for part in escaped for line in (part, "")]


class Marked(Markup):
    """Markdown of our own, not to be escaped."""

    __slots__ = ()


def written(value: Any) -> Markup:
    """Return what a template writes: markdown of our own as it is, all else escaped."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, int | float):
        text = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
    else:
        text = "" if value is None else escape(str(value))
    return Marked(text)


def cell(value: Any) -> Markup:
    """Return a value as a cell of a table; of a long text the start."""
    is_long = isinstance(value, str) and not isinstance(value, Markup)
    if is_long and len(value) > MOST_CHARACTERS:
        value = f"{value[:MOST_CHARACTERS]}… ({len(value):,} characters)"
    return written(value)
