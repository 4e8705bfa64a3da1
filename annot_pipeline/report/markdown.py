"""Markdown that shows texts from exports as they are: nothing in them is markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

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


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], whole: str) -> list[str]:
    """Return lines of a table and a blank one; none without rows.

    ``whole`` says where the rows are that are too many to be shown. Cells are escaped but for
    those that are `Marked`.
    """
    listed = list(rows)
    if not listed:
        return []
    more = len(listed) - MOST_ROWS
    note = [f"{more:,} more rows: {whole}.", ""] if more > 0 else []
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(_cell, row)) + " |" for row in listed[:MOST_ROWS]),
        "",
        *note,
    ]


class Marked(str):
    """Markdown of our own, not to be escaped."""


def _cell(value: Any) -> str:
    if isinstance(value, Marked):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    if len(value) > MOST_CHARACTERS:
        return escape(f"{value[:MOST_CHARACTERS]}… ({len(value):,} characters)")
    return escape(value)
