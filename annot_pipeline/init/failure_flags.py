"""Columns that say that an answer failed, as parse_error: their rows are no scores."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.init import names
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.answers import answer_as
from annot_pipeline.init.reading import Reading
from annot_pipeline.init.table import Choice, Column

YES, NO = frozenset({"true", "1", "yes", "y", "t"}), frozenset({"false", "0", "no", "n", "f"})
FAILURE = frozenset({"error", "errors", "failed", "failure", "fail", "invalid"})
UNSCORED = frozenset({"unscored", "timeout", "unparsed", "unparsable", "unparseable"})
SUCCESS = frozenset({"valid", "parsed", "success", "succeeded"})
CALLS = frozenset({"parse", "parsing", "json", "api", "request", "call", "llm", "judge", "scoring"})
"""With a word of `FAILURE`: of how the answer was got, and no question about the item."""
FEWEST_MARKED = 3
"""Rows that tell that one answer stands for a failure."""


def with_failure_flags(choice: Choice, reading: Reading) -> Reading:
    """Return the reading without the rows of failed answers, with a condition for each flag column.

    A flag column is claimed. Its name says what it is; where the name may be a question about the
    item (has_error), the answers do: in all rows that it marks they are blank, or one value that
    stands in hardly another row.
    """
    conditions = []
    table, name = choice.sheet.table, next(iter(reading.columns), "")
    if name not in table.column_names:
        return reading
    failed = pa.repeat(False, len(table))
    for column in list(choice.offered()):
        words = {*names.words(column.name)}
        marks = NO if words & SUCCESS else YES if words & (FAILURE | UNSCORED) else frozenset()
        flags = {answer_text(value).lower() for value in column.counts}
        marked = [value for value in column.counts if answer_text(value).lower() in marks]
        if not marked or not flags <= YES | NO or len(flags) > 2:
            continue
        is_marked = pc.fill_null(pc.is_in(table[column.name], pa.array(marked, pa.string())), False)
        is_sure = bool(words & UNSCORED or (words & FAILURE and words & CALLS))
        if is_sure or _is_one_answer(table[name], is_marked):
            choice.claim(column)
            failed = pc.or_(failed, is_marked)
            expression = column.expression
            value = expression if isinstance(expression, dict) else {"column": expression}
            conditions.append(value | {"in": sorted({answer_text(text) for text in marked})})
    reading = replace(reading, failed_where=conditions)
    rest = Column(name, choice.sheet[name].expression, table[name].filter(pc.invert(failed)))
    if not conditions or reading.kind not in ("scalar", "categorical") or not rest.counts:
        return reading
    if reading.kind == "scalar" and not without_abstentions(rest).numbers:
        return reading
    answer = answer_as(rest, reading.kind)
    reading = replace(
        reading, scale=answer.scale, labels=answer.labels, abstained=answer.abstained,
        failed=answer.failed,
    )  # fmt: skip
    return reading.with_lines(*answer.fields)


def _is_one_answer(answers: pa.ChunkedArray, is_marked: pa.ChunkedArray) -> bool:
    """Return whether marked rows have no answer, or one that other rows hardly have."""
    marked = answers.filter(is_marked).drop_null()
    if len(pc.unique(marked)) > 1:
        return False
    if not len(marked):
        return True
    n_others = pc.sum(pc.equal(answers, marked[0])).as_py() - len(marked)
    return bool(len(marked) >= FEWEST_MARKED and n_others * FEWEST_MARKED <= len(marked))
