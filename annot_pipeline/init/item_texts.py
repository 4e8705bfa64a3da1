"""The text of the item, as each judgment carries it: it tells when an item's text has changed."""

from __future__ import annotations

from collections.abc import Sequence

from annot_pipeline.config.sources import NOT_OF_ONE_TEXT
from annot_pipeline.init import names
from annot_pipeline.init.objects import nearly_fixes
from annot_pipeline.init.reading import Reading
from annot_pipeline.init.table import Choice, Column, Sheet

FEWEST_REPEATED = 0.5
"""Further rows for each item at least, else nothing tells an item's text from a judge's."""
TEXT_LENGTH = 20
"""Characters that a text has on average where the name of its column may mean an answer, too."""


def with_item_text(reading: Reading, choice: Choice, *, is_whole: bool = False) -> Reading:
    """Return a reading with the text of the item, if a column that is left holds it.

    ``is_whole``: a row holds all judgments of an item, so that its text can be no judge's comment.
    """
    named = {line[0] for line in reading.lines}
    if reading.kind not in ("categorical", "scalar") or named & (NOT_OF_ONE_TEXT | {"text"}):
        return reading
    fields = ("item",) if "item" in named else ("segment", "system")
    things = [reading.column(choice.sheet, field) for field in fields]
    item = [column.name for column in things if column is not None]
    if len(item) < len(fields):
        return reading
    columns = _candidates(choice, has_system="system" in named)
    segment = reading.column(choice.sheet, "segment")
    if fields == ("item",) and "system" not in named and segment is not None:
        columns += [segment] * ("source" in names.roles(segment.name))
    column = _text_of(choice.sheet, item, columns, is_whole=is_whole)
    if column is None:
        return reading
    if column is not segment:
        choice.claim(column)
    evidence = f"{column.n_distinct:,} different; an item whose text changes is judged again"
    return reading.with_lines(("text", column.expression, evidence))


def _candidates(choice: Choice, *, has_system: bool) -> list[Column]:
    """Return columns that may hold the text, likeliest first.

    Of outputs of systems, the source and the prompt are no text.
    """
    long_answers = [c for c in choice.with_role("answer") if c.mean_length >= TEXT_LENGTH]
    sources = [] if has_system else choice.with_role("source")
    return [*choice.with_role("text"), *long_answers, *sources]


def _text_of(
    sheet: Sheet, item: Sequence[str], columns: Sequence[Column], *, is_whole: bool = False
) -> Column | None:
    """Return the first column that nearly always is the same for an item, and seldom for two.

    ``is_whole``: a row holds all judgments of an item, so that its text can be no judge's comment.
    """
    for column in columns:
        rows = sheet.table.select([*item, column.name]).drop_null()
        n_items = Sheet([rows]).combinations(*item)
        is_repeated = rows.num_rows - n_items >= FEWEST_REPEATED * n_items
        is_known = is_repeated or (is_whole and "comment" not in names.words(column.name))
        if is_known and nearly_fixes(sheet, item, column.name):
            return column
    return None
