"""Makes one text of a value, whichever format and tool wrote it: 1, 1.0, 1e0 are one answer.

Typed values (JSON, Parquet) become text by `value_text`. Text that holds an answer (cells of csv,
labels in settings) is compared by `answer_text`, which knows how programs write numbers, truth
values and JSON. Names (items, judges) in text formats stay as written: 007 is not 7.
"""

from __future__ import annotations

import ast
import json
import math
import re
from decimal import Context, Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

from annot_pipeline.bounded_json import bounded_number, parse_bounded_json

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
WRITTEN_BY_PROGRAMS = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.0)?|-?\d(?:\.\d*[1-9]|\.0)?[eE][+-]?\d{1,3}"
)
"""Whole numbers, with .0 or not, and numbers with an exponent. Not 1.10, which may be a name."""
TRUTH_VALUES = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
LONGEST_NUMBER = 400
PLAIN = range(-7, 40)
"""Exponents of the first digit of numbers that are written without an exponent."""
EXACT = Context(prec=LONGEST_NUMBER)
LONGEST_JSON = 1 << 16
PYTHONS_OWN = re.compile(r"'|\b(?:True|False|None)\b")
"""What lists hold as Python writes them, and not as JSON."""
CACHED = 200
"""Characters of answers that are remembered: longer ones hardly repeat."""


class Number:
    """A JSON number as it was written."""

    def __init__(self, written: str) -> None:
        self.written = bounded_number(written)


def number_text(written: str) -> str:
    """Return a number in one spelling: without a plus, zeros at the end, or needless exponents.

    Text that is no number, or has too many digits, is returned as it is.
    """
    if written.isdecimal() and written.isascii() and (written[0] != "0" or written == "0"):
        return written
    if len(written) > LONGEST_NUMBER or not NUMBER.fullmatch(written):
        return written
    number = Decimal(written).normalize(EXACT)
    exponent = number.adjusted()
    if not number:
        return "0"
    if exponent in PLAIN:
        return format(number, "f")
    if not -400 < exponent < 400:
        return written
    digits = "".join(map(str, number.as_tuple().digits))
    point = "." if len(digits) > 1 else ""
    return f"{'-' * number.is_signed()}{digits[0]}{point}{digits[1:]}e{exponent}"


def value_text(value: Any) -> str | None:
    """Return the text of a typed value; None of null.

    Lists and objects become JSON with a blank after commas and colons and with sorted keys.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list | tuple):
        return _json_text(value)
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if isinstance(value, Number):
        return number_text(value.written)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, int | float | Decimal):
        return number_text(str(value))
    return str(value)


def _json_text(value: Any) -> str:
    if isinstance(value, dict):
        pairs = sorted(((str(key), inner) for key, inner in value.items()), key=itemgetter(0))
        return "{" + ", ".join(f"{_quoted(key)}: {_json_text(v)}" for key, v in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool | int | float | Decimal | Number):
        return _scalar_text(value)
    return _quoted(str(value))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def answer_text(text: str) -> str:
    """Return the text of an answer that a cell of a text format holds, without blanks around it."""
    text = text.strip()
    return _short_answer(text) if len(text) <= CACHED else _answer(text)


def _answer(text: str) -> str:
    if text in TRUTH_VALUES:
        return TRUTH_VALUES[text]
    if WRITTEN_BY_PROGRAMS.fullmatch(text):
        return number_text(text)
    if text[:1] in ("[", "{") and len(text) <= LONGEST_JSON:
        for parse in (_parse_json, ast.literal_eval):  # pandas writes lists as Python does
            if parse is ast.literal_eval and not PYTHONS_OWN.search(text):
                break
            try:
                parsed = parse(text)
                if isinstance(parsed, list | dict):
                    written = _json_text(parsed)
                    written.encode()
                    return written
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return text


def _parse_json(text: str) -> Any:
    return parse_bounded_json(text, parse_int=Number, parse_float=Number)


_short_answer = lru_cache(maxsize=1 << 14)(_answer)
