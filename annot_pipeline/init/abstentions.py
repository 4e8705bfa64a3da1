"""Words in a column of answers that say that nothing was answered, or that the answer failed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.init import names
from annot_pipeline.init.table import Column
from annot_pipeline.stages.ingest.read_records import NUMBER
from annot_pipeline.stages.ingest.row_fates import NAN, TYPED_FORMATS

WORDS = frozenset(names.VOCABULARY["abstentions"])
AMONG_NUMBERS = WORDS | {*names.VOCABULARY["abstentions_among_numbers"]}
"""Words that may be classes elsewhere."""

CODES = frozenset(names.VOCABULARY["codes_of_no_answer"])
"""Numbers that say it where the other numbers are a scale far from them."""
FARTHEST, LEAST_HIGH = 5, 4
"""A code is so many times the highest number; beside -1 stand numbers from 0 to so much or more."""

OPPOSITES = {"-": "+", "--": "++"}
"""Signs that are classes where their opposite is one, too."""


_MARKS = r"(?:error|exception|traceback|time[- ]?d?[- ]?out|fail(?:ed|ure)|unpars)"
FAILED_AMONG_NUMBERS = re.compile(rf"\W*(?:\w+[ _-])?{_MARKS}|\W*\w+(?:Error|Exception)\b", re.I)
"""Start of the text of a failed answer where other answers are numbers."""
FAILED = re.compile(rf"\W*\[{_MARKS}|(?:\w*error|\w*exception)\s*[:(]|traceback\b", re.I)
"""The same where other answers may be any text: error alone may be a class."""
MOST_FAILED = 0.5
"""Share of answers; beyond it texts that begin alike are classes."""
MOST_TEXTS = 5
"""Texts of failed answers that are listed; for more, a pattern of their start."""


def failures(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the values that are texts of failed answers, with their counts."""
    texts = {value: n for value, n in counts.items() if FAILED_AMONG_NUMBERS.match(value)}
    rest = [v for v in counts if v not in texts and _folded(v) not in AMONG_NUMBERS]
    if not rest or not all(map(NUMBER.fullmatch, rest)):
        texts = {value: n for value, n in texts.items() if FAILED.match(value)}
    if len(texts) == len(counts):  # all failed: a class may be called error, not [ERROR] timeout
        return {value: n for value, n in texts.items() if FAILED.match(value)}
    is_minority = sum(texts.values()) <= MOST_FAILED * sum(counts.values())
    return texts if is_minority else {}


def failed_entries(texts: Mapping[str, int]) -> list[str]:
    """Return the entries of ``failed``: texts, or patterns."""
    written = sorted(map(str.strip, texts))
    if len(written) <= MOST_TEXTS:
        return written
    starts = (FAILED_AMONG_NUMBERS.match(text) for text in written)
    return sorted({f"~^{re.escape(start[0])}" for start in starts if start})


def abstentions(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the values of answers that are none, with their counts; {} if no other value is."""
    failed = failures(counts)
    counts = {value: n for value, n in counts.items() if value not in failed}
    written = {value: _folded(value) for value in counts}
    values = [value for value, word in written.items() if word not in AMONG_NUMBERS]
    are_numbers = bool(values) and all(map(NUMBER.fullmatch, values))
    words = AMONG_NUMBERS if are_numbers else WORDS
    codes = _codes(values) if are_numbers else ()
    present = {*written.values()}
    matches = {
        value: counts[value]
        for value, word in written.items()
        if value in codes or (word in words and OPPOSITES.get(word) not in present)
    }
    return matches if len(matches) < len(counts) else {}


def _codes(values: Collection[str]) -> list[str]:
    """Return the numbers that mean no answer, such as 999 beside 0 to 100."""
    numbers = {value: float(value) for value in values}
    others = [number for number in numbers.values() if number not in CODES]
    if not others or min(others) < 0 or max(others) == 0:
        return []
    least, high = FARTHEST * max(others), max(others) >= LEAST_HIGH
    codes = {value: number for value, number in numbers.items() if number in CODES}
    return [value for value, number in codes.items() if number >= least or (number < 0 and high)]


def without_nan(words: Mapping[str, int], format_: str) -> dict[str, int]:
    """Return words without those of NaN, which typed formats have for failed answers."""
    is_typed = format_ in TYPED_FORMATS
    return {word: n for word, n in words.items() if not (is_typed and word in NAN)}


def without_abstentions(column: Column) -> Column:
    """Return a column without the values that are no answers, or failed ones."""
    return without(column, [*abstentions(column.counts), *failures(column.counts)])


def without(column: Column, values: Collection[str]) -> Column:
    """Return a column without some values."""
    if not values:
        return column
    is_word = pc.is_in(column.filled, pa.array([*values], pa.string()))
    return Column(column.name, column.expression, column.filled.filter(pc.invert(is_word)))


def abstained_note(words: Mapping[str, int]) -> str:
    """Return the comment of ``abstain``."""
    text = ", ".join(f"{value} ({count:,})" for value, count in words.items())
    what = "it if it is an answer" if len(words) == 1 else "those that are answers"
    return f"no answers: {text}; remove {what}"


def failed_note(texts: Mapping[str, int]) -> str:
    """Return the comment of ``failed``."""
    in_order = sorted(texts.items(), key=lambda pair: (-pair[1], pair[0]))
    text = ", ".join(f"{value} ({count:,})" for value, count in in_order[:MOST_TEXTS])
    more = f" and {len(texts) - MOST_TEXTS:,} more" if len(texts) > MOST_TEXTS else ""
    return f"failed answers: {text}{more}; remove what is an answer"


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())
