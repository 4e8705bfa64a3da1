"""Text for a csv that becomes HTML on one side and may be opened as a spreadsheet on the other.

MTurk puts a cell into the worker's page as it is, so every cell is escaped as HTML. A
spreadsheet takes what starts with ``= + - @`` for a formula and, where the locale says so, also
splits at semicolons and tabs; so none of these can start anything, wherever a cell is split.
MTurk takes no characters of four bytes in UTF-8, such as emoji: they are entities too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
"""What XML cannot hold, and nobody can see."""

NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
NUMBERED = "'$=+@|\t\n\r\uff1d\uff0b\uff0d\uff20"
ENTITIES = str.maketrans(NAMED | {character: f"&#{ord(character)};" for character in NUMBERED})

MINUS = re.compile(r"(?<![A-Za-z0-9])-|-(?![A-Za-z0-9])")
"""One between ASCII letters or digits can start no cell, and stays."""

FOUR_BYTES = re.compile("[\U00010000-\U0010ffff]")

JSON_ESCAPED = re.compile(r'\\u[0-9a-f]{4}|\\.|(?!(?<=[0-9]e)-[0-9])[^A-Za-z0-9 _{}\[\]":,.]')
"""Of JSON in ASCII whose numbers are not negative: escapes, and what must become one. The sign of
an exponent, as in 1e-05, stays: between letters and digits it can start no cell.
"""

SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def html_cell(text: str) -> str:
    """Return a text as a cell that shows it in HTML (with ``white-space: pre-wrap``)."""
    text = NO_CHARACTER.sub("\ufffd", text).translate(ENTITIES)
    if "-" in text:
        text = MINUS.sub("&#45;", text)
    return text if text.isascii() else FOUR_BYTES.sub(_entity, text)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def json_cell(document: Mapping[str, Any]) -> str:
    """Return a JSON object as a cell.

    Strings hold letters, digits, blanks and brackets as they are; all else is ``\\uXXXX``.
    """
    return "{" + ",".join(f"{_json(key)}:{_json(value)}" for key, value in document.items()) + "}"


def _json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return JSON_ESCAPED.sub(_long_escape, text) if '"' in text else text  # else it is numbers


def _long_escape(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) == 6:
        return escape
    character = escape[-1]
    if len(escape) == 2:
        character = SHORT_ESCAPES.get(character, character)
    return f"\\u{ord(character):04x}"
