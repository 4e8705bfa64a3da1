"""Numbers that stand in texts: 8/10, [[8]], 4 stars, 4 - Good, 3,5 and 80 %."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.table import Column, Sheet

_DIGITS = r"(\d+(?:\.\d+)?)"
LONGEST = 20
"""Characters beside the number where these are all alike: sentences have more."""
NUMBER = re.compile(r"\s*[-+]?(\d+)(?:,(\d+)|\.\d+)?\s*+(%?)\s*")
MOST_PAIRS, THOUSANDS = 20, 3
_PARTS = re.compile(rf"(?s)(\D*){_DIGITS}(\D.*)?")


def with_numbers(sheet: Sheet, name: str) -> Sheet:
    """Return rows with the numbers that stand in the texts of a column; the same if none do.

    The texts are alike but for the number, and an s, or start with it and each number has its own.
    Those without any digit, in half of the rows at most, stay: they are failed answers.
    """
    column = without_abstentions(sheet[name])
    counts = {v: n for v, n in column.counts.items() if any(map(str.isdecimal, v))}
    matches = [_PARTS.fullmatch(value) for value in counts]
    if not matches or not isinstance(column.expression, str) or column.numeric_share:
        return sheet
    if not all(matches) or 2 * sum(counts.values()) < len(column.filled):
        return sheet
    before, numbers, after = zip(*(m.groups("") for m in matches if m), strict=True)
    start, ends = re.escape(before[0]), {end.removesuffix("s") for end in after}
    is_worded = not any(before) and len({*numbers}) == len(numbers) == len(ends)
    is_alike = len(ends) == 1 and len(before[0] + after[0]) <= LONGEST
    if len({*before}) > 1 or not (is_alike or is_worded) or len(counts) < 2:
        return sheet
    plural = "s?" * any(end.endswith("s") for end in after)
    end = r"\D" if not is_alike else f"{re.escape(ends.pop())}{plural}$"
    pattern = f"^{start}{_DIGITS}{end}".replace("\\ ", " ")
    find = re.compile(pattern)
    parts = []
    for part in sheet.parts:
        cells = part.column(name).to_pylist()
        values = [m[1] if cell and (m := find.search(cell)) else cell for cell in cells]
        position = part.column_names.index(name)
        parts.append(part.set_column(position, name, pa.array(values, pa.string())))
    return Sheet(parts, sheet.expressions | {name: {"column": column.expression, "match": pattern}})


def number_in(column: Column) -> dict[str, Any]:
    """Return the expression of numbers with a decimal comma or a percent sign; {} for others.

    Few different ones with a comma may be lists of two, in order: 3,0 is none.
    """
    matches = [NUMBER.fullmatch(value) for value in column.counts]
    pairs = [(int(m[1]), m[2]) for m in matches if m and m[2]]
    is_list = len(pairs) <= MOST_PAIRS and all(n < int(decimals) for n, decimals in pairs)
    are_thousands = pairs and all(len(decimals) == THOUSANDS for _, decimals in pairs)
    if not all(matches) or are_thousands or (pairs and is_list):
        return {}
    whole = {"column": column.name, "match": r"[^,%\s]+"}
    decimals = {"column": column.name, "match": r"(?<=,)\d+|$"}
    if pairs:
        return {column.name: {"join": [whole, decimals], "sep": "."}}
    is_percent = any(m and m[3] for m in matches)
    return {column.name: whole} if is_percent else {}
