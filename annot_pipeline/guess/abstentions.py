"""Words in a column of answers that say that nothing was answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.guess.columns import Column
from annot_pipeline.stages.ingest.read_records import NUMBER

WORDS = frozenset(
    {"n/a", "na", "n.a.", "#n/a", "nan", "null", "-", "--", "skip", "skipped", "no answer"}
)
AMONG_NUMBERS = WORDS | {"none", "?"}
"""Words that may be classes elsewhere."""

OPPOSITES = {"-": "+", "--": "++"}
"""Signs that are classes where their opposite is one, too."""


def abstentions(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the values of answers that are none, with their counts; {} if no other value is."""
    written = {value: _folded(value) for value in counts}
    values = [value for value, word in written.items() if word not in AMONG_NUMBERS]
    are_numbers = bool(values) and all(map(NUMBER.fullmatch, values))
    words = AMONG_NUMBERS if are_numbers else WORDS
    present = {*written.values()}
    matches = {
        value: counts[value]
        for value, word in written.items()
        if word in words and OPPOSITES.get(word) not in present
    }
    return matches if len(matches) < len(counts) else {}


def without_abstentions(column: Column) -> Column:
    """Return a column without the values that are no answers."""
    return without(column, abstentions(column.counts))


def without(column: Column, values: Collection[str]) -> Column:
    """Return a column without some values."""
    if not values:
        return column
    is_word = pc.is_in(column.filled, pa.array([*values], pa.string()))
    return Column(column.name, column.expression, column.filled.filter(pc.invert(is_word)))


def as_written(words: Mapping[str, int]) -> list[str]:
    """Return the words for ``abstain``: without the spaces around them, sorted."""
    return sorted({value.strip() for value in words})


def abstained_note(words: Mapping[str, int]) -> str:
    """Return the comment of ``abstain``."""
    text = ", ".join(f"{value.strip()} ({count:,})" for value, count in words.items())
    what = "it if it is an answer" if len(words) == 1 else "those that are answers"
    return f"no answers: {text}; remove {what}"


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())
