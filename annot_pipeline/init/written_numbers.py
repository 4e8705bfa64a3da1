"""Numbers that stand in texts: 8/10, [[8]], 4 stars, 4 - Good."""

from __future__ import annotations

import re

import pyarrow as pa

from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.table import Sheet

NUMBER = r"(\d+(?:\.\d+)?)"
LONGEST = 20
"""Characters beside the number where these are all alike: sentences have more."""
_PARTS = re.compile(rf"(?s)(\D*){NUMBER}(\D.*)?")


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
    pattern = f"^{start}{NUMBER}{end}".replace("\\ ", " ")
    find = re.compile(pattern)
    parts = []
    for part in sheet.parts:
        cells = part.column(name).to_pylist()
        values = [m[1] if cell and (m := find.search(cell)) else cell for cell in cells]
        position = part.column_names.index(name)
        parts.append(part.set_column(position, name, pa.array(values, pa.string())))
    return Sheet(parts, sheet.expressions | {name: {"column": column.expression, "match": pattern}})
