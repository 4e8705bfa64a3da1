"""Names of judges and systems that stand for nobody: tests, practice rounds, missing values."""

from __future__ import annotations

import re
from dataclasses import replace

from annot_pipeline.guess.columns import Sheet
from annot_pipeline.guess.document import flow
from annot_pipeline.guess.drafts import by_length
from annot_pipeline.guess.samples import sheet_of
from annot_pipeline.guess.sources import SourceGuess

JUDGES = {
    "none": "a missing name", "nan": "a missing name", "null": "a missing name",
    "test": "a test", "tester": "a test", "admin": "an administrator",
}  # fmt: skip
SYSTEMS = {
    "practice": "practice", "tutorial": "a tutorial", "training": "training",
    "warmup": "a warm-up", "example": "an example",
}  # fmt: skip
"""Word to what a value that is this word, or this word and a number, looks like."""

FIELDS = {"judge": JUDGES, "system": SYSTEMS, "system_a": SYSTEMS, "system_b": SYSTEMS}
_WORD = re.compile(r"([a-z]+)\d*")


def with_placeholder_notes(source: SourceGuess) -> SourceGuess:
    """Return a source with notes on judges and systems whose names stand for nobody."""
    mapping, sheet = source.mapping, sheet_of(source.group.samples)
    notes = [
        note
        for name, expression, _ in mapping.lines
        if name in FIELDS and isinstance(expression, str) and expression in sheet.names
        for note in _notes(sheet, expression, FIELDS[name], has_where=bool(mapping.where))
    ]
    return replace(source, mapping=replace(mapping, notes=[*mapping.notes, *notes]))


def _notes(sheet: Sheet, column: str, words: dict[str, str], *, has_where: bool) -> list[str]:
    """Return a note on the values of a column that are such words; none if all values are."""
    counts = sheet[column].counts
    looks = {value: words[word] for value in counts if (word := _word(value)) in words}
    if not looks or len(looks) == len(counts):
        return []
    texts = [f"{value} ({_rows(counts[value])}) looks like {why}" for value, why in looks.items()]
    condition = flow({"column": column, "not": sorted(looks)})
    line = f"{condition} in where" if has_where else f"where: [{condition}]"
    rows = "this row" if sum(counts[value] for value in looks) == 1 else "these rows"
    return [f"{by_length(texts)}: {line} leaves {rows} out"]


def _word(value: str) -> str:
    """Return the word of a value that is one word, or a word and a number; else nothing."""
    match = _WORD.fullmatch("".join(re.split(r"[\s_-]+", value.casefold().strip())))
    return match[1] if match else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
