"""JSON that others may have written: how deep it may be, and how large its numbers, is bounded.

Every JSON text of a file or a cell is parsed here. Python's parser stops where the stack ends,
with an error that few callers expect, at a depth that differs from caller to caller; and a number
of a few characters, as 1e900000000, fills memory when its digits are written out. What does not
belong here: which file it is, how large it may be, and what to do about it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any

DEEPEST = 100
"""Levels of nesting: far more than our files and the exports of platforms have."""
LONGEST_NUMBER = 4_000
"""Characters of a number: Python converts up to 4,300 digits."""
LONGEST_EXPONENT = 3
"""Digits of an exponent: floats end at 308."""
LONGEST_LITERAL = 1 << 20
"""Characters of a list that Python wrote; its parser takes much memory."""
_LITERAL = re.compile(r"(?s)\s*(\(|[\[{](?=.*('|None|True|False)))")
"""Where JSON is wrong for another reason, its error is shown."""
_AMISS = re.compile(r"(?<!\\)(\\\\)*\\[^\\'\"abfnrtvxuUN0-7\n]|[eE][+-]?\d{4}")
"""Escapes of which Python warns, and exponents that it rounds to 0 or infinity."""
TOO_DEEP, TOO_LONG = "nested too deeply", f"a number of more than {LONGEST_NUMBER:,} characters"


class JsonError(ValueError):
    """A text is not JSON, or beyond the bounds; the message shows nothing of the text."""


def parse_bounded_json(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text; ``hooks`` are those of `json.loads`.

    Raises
    ------
    JsonError
        It is not JSON, or nested too deeply; or a hook refuses a value.
    """
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise JsonError(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} " if error.lineno > 1 else ""
        what = error.msg.removesuffix(" at")
        raise JsonError(f"{what} at {where}character {error.colno}") from None
    except UnicodeDecodeError:
        raise JsonError("not UTF-8") from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    refuse_deep(value)
    return value


def bounded_number(written: str) -> str:
    """Return a number as it is written, if its digits can be written out.

    Raises
    ------
    JsonError
        It is too long, or its exponent is.
    """
    if len(written) > LONGEST_NUMBER:
        raise JsonError(TOO_LONG)
    exponent = written.lower().partition("e")[2].lstrip("+-").lstrip("0")
    if len(exponent) > LONGEST_EXPONENT:
        raise JsonError(f"a number whose exponent has more than {LONGEST_EXPONENT} digits")
    return written


def refuse_deep(value: Any) -> None:
    """Make sure that a value is not nested so deeply that it cannot be walked or written.

    Raises
    ------
    JsonError
        It is.
    """
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise JsonError(TOO_DEEP)


def parse_cell(cell: str, parse: Callable[[str], Any] = parse_bounded_json) -> Any:
    """Return the value of a cell: JSON, or a list or dict as Python writes it.

    Raises
    ------
    ValueError
        As of ``parse``, which takes JSON.
    """
    try:
        return parse(cell)
    except ValueError:
        written = _json_of_literal(cell)
        if written is None:
            raise
        return parse(written)


def _json_of_literal(text: str) -> str | None:
    """Return as JSON what Python wrote, as pandas leaves lists and dicts in cells of csv.

    None where it is neither: other objects, a key given twice, or more than `LONGEST_LITERAL`.
    """
    if len(text) > LONGEST_LITERAL or not _LITERAL.match(text) or _AMISS.search(text):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                if len({*map(str, keys)}) < len(node.keys):
                    return None
        return json.dumps(ast.literal_eval(tree))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
