"""Columns that flag the rows whose answer failed: conditions of ``failed_where``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.guess import names
from annot_pipeline.guess.abstentions import without_abstentions
from annot_pipeline.guess.answers import Answer, answer_as
from annot_pipeline.guess.columns import Choice, Column

YES, NO = frozenset({"true", "1", "yes", "y", "t"}), frozenset({"false", "0", "no", "n", "f"})
FAILURE = frozenset({"error", "errors", "failed", "failure", "fail", "invalid"})
UNSCORED = frozenset({"unscored", "timeout", "unparsed", "unparsable", "unparseable"})
SUCCESS = frozenset({"valid", "parsed", "success", "succeeded"})
CALLS = frozenset({"parse", "parsing", "json", "api", "request", "call", "llm", "judge", "scoring"})
"""With a word of `FAILURE`: of how the answer was got, and no question about the item."""
FEWEST_MARKED = 3
"""Rows that tell that one answer stands for a failure."""


def with_failure_flags(choice: Choice, answer: Answer) -> tuple[Answer, list[dict[str, Any]]]:
    """Return the answer without the rows of failed ones, and a condition for each flag column.

    A flag column is claimed. Its name says what it is; where the name may be a question about the
    item (has_error), the answers do: in all rows that it marks they are blank, or one value that
    stands in hardly another row.
    """
    conditions = []
    table, name = choice.sheet.table, next(iter(answer.columns), "")
    if name not in table.column_names:
        return answer, []
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
    rest = Column(name, answer.fields[0][1], table[name].filter(pc.invert(failed)))
    if not conditions or answer.kind not in ("scalar", "categorical") or not rest.counts:
        return answer, conditions
    if answer.kind == "scalar" and not without_abstentions(rest).numbers:
        return answer, conditions
    return replace(answer_as(rest, answer.kind), notes=answer.notes), conditions


def _is_one_answer(answers: pa.ChunkedArray, is_marked: pa.ChunkedArray) -> bool:
    """Return whether marked rows have no answer, or one that other rows hardly have."""
    marked = answers.filter(is_marked).drop_null()
    if len(pc.unique(marked)) > 1:
        return False
    if not len(marked):
        return True
    n_others = pc.sum(pc.equal(answers, marked[0])).as_py() - len(marked)
    return bool(len(marked) >= FEWEST_MARKED and n_others * FEWEST_MARKED <= len(marked))
