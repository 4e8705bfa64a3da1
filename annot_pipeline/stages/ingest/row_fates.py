"""Records that are no judgments and no errors: filtered rows, questions without a valid answer.

Filtered: the rows that ``options.skip_rows`` and ``where`` leave out. Not asked: a blank cell or a
list that ends where ``each`` expects an answer, a blank row, an answer that ``abstain`` names.
Unscored: an answer that ``failed`` names, a row that ``failed_where`` marks, NaN of a typed format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import (
    ColumnExpression,
    Condition,
    Expression,
    FieldName,
    JoinExpression,
    Source,
)
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import shorten
from annot_pipeline.stages.ingest.expressions import (
    compile_pattern,
    evaluate,
    first_reason,
    for_each_value,
    without_steps,
)
from annot_pipeline.stages.ingest.record_cells import ANSWERS, RecordCells, is_blank, reason_where

FILTERED, NOT_ASKED, UNSCORED = "filtered", "not_asked", "unscored"
TYPED_FORMATS = ("json", "jsonl", "parquet")
NAN = frozenset({"NaN", "nan"})
"""A number that is none, as readers of `TYPED_FORMATS` and programs write it."""


@dataclass(frozen=True)
class EarlyFates:
    """Fates that are known before any value is looked at, ``(n,)``; null: none.

    Parameters
    ----------
    fate
        ``filtered``, ``not_asked`` or ``unscored``.
    reason
        Why; None: nowhere.
    """

    fate: pa.Array
    reason: pa.Array | None


def early_fates(
    cells: RecordCells, source: Source, fields: Mapping[str, pa.Array], path: str
) -> EarlyFates:
    """Return which records are filtered, were not asked, or have an answer that failed.

    Parameters
    ----------
    cells
        The cells.
    source
        Its mapping.
    fields
        Mapped fields; an answer that ``map`` makes an abstention or a failure counts too.
    path
        The export relative to the campaign.
    """
    n = len(cells.rows)
    filtered = first_reason(
        _skipped(cells, source.options.skip_rows),
        *(
            reason_where(pc.invert(_holds(condition, cells, path)), f"where.{n} does not hold")
            for n, condition in enumerate(source.where)
        ),
    )
    written = _Written(cells, source, path)
    not_asked = first_reason(
        cells.not_asked, cells.rows.not_asked, _blank_row(written, fields),
        *([_unanswered(written, fields)] if source.each else []), _abstained(written, fields),
    )  # fmt: skip
    unscored = first_reason(
        *(
            reason_where(_holds(condition, cells, path), f"failed_where.{n} holds")
            for n, condition in enumerate(source.failed_where)
        ),
        _failed(written, fields),
    )
    can_be_read = pc.is_null(cells.rows.problem)
    nothing = pa.nulls(n, pa.string())
    fate = nothing
    for name, reasons in ((UNSCORED, unscored), (NOT_ASKED, not_asked), (FILTERED, filtered)):
        if reasons is not None:
            applies = pc.and_(pc.is_valid(reasons), can_be_read)
            fate = pc.if_else(applies, pa.scalar(name), fate)
    return EarlyFates(fate, first_reason(filtered, not_asked, unscored))


def _skipped(cells: RecordCells, skip_rows: int) -> pa.Array | None:
    if not skip_rows:
        return None
    is_header = pa.array(np.asarray(cells.rows.row) <= skip_rows)
    return reason_where(is_header, f"one of the first {skip_rows} rows (options.skip_rows)")


def _holds(condition: Condition, cells: RecordCells, path: str) -> pa.Array:
    """Return where a condition holds."""
    values = evaluate(condition.value, cells, path=path, field="where")
    text = values.array.fill_null("")
    answers = for_each_value(text, lambda value: answer_text(value or "")).array
    fails = pa.repeat(False, len(text))
    if values.reasons is not None:
        fails = pc.is_valid(values.reasons)
    elif condition.value.match is not None:
        fails = pc.is_null(values.array)
    if condition.among is not None:
        fails = pc.or_(fails, pc.invert(_is_any(answers, condition.among)))
    if condition.not_among is not None:
        fails = pc.or_(fails, _is_any(answers, condition.not_among))
    return pc.invert(fails)


def _is_any(answers: pa.Array, words: Sequence[str]) -> pa.Array:
    return pc.is_in(answers, pa.array(map(answer_text, words), pa.string()))


@dataclass(frozen=True)
class _Written:
    """What the export has where fields come from, before it is matched or mapped."""

    cells: RecordCells
    source: Source
    path: str

    @property
    def answers(self) -> list[FieldName]:
        """Return the mapped fields that hold an answer."""
        return [name for names in ANSWERS for name in names if name in self.source.fields]

    @property
    def columns(self) -> list[FieldName]:
        """Return the fields that read a column, except the text, which is no part of an answer."""
        return [
            name
            for name, expression in self.source.fields.items()
            if name != "text" and _reads(expression)
        ]

    def text(self, name: FieldName) -> pa.Array:
        """Return the text of a field, ``(n,)``."""
        return self._text(self.source.fields[name], name)

    def _text(self, expression: Expression, name: str) -> pa.Array:
        plain = without_steps(expression)
        if isinstance(plain, JoinExpression):
            parts = [self._text(part, name).fill_null("") for part in plain.join]
            return pc.binary_join_element_wise(*parts, "")
        values = evaluate(plain, self.cells, path=self.path, field=name)
        if values.reasons is None:
            return values.array
        return pc.coalesce(values.array, values.reasons)  # text that is no JSON is not blank


def _blank_row(written: _Written, fields: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return a reason where all that a row maps is blank."""
    return _all_blank(written, fields, written.columns, "the row is blank")


def _unanswered(written: _Written, fields: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return a reason where a cell of ``each`` has no answer."""
    answers: list[FieldName] = ["votes"] if "votes" in fields else written.answers
    verb = "is" if len(answers) == 1 else "are"
    return _all_blank(written, fields, answers, f"{' and '.join(answers)} {verb} blank")


def _all_blank(
    written: _Written, fields: Mapping[str, pa.Array], names: Sequence[FieldName], reason: str
) -> pa.Array | None:
    """Return a reason where some fields are blank in the export.

    A field is blank too where its text is rejected; so the text is read only where all are.
    """
    if not names or not pc.any(reduce(pc.and_, (is_blank(fields[n]) for n in names))).as_py():
        return None
    return reason_where(reduce(pc.and_, (is_blank(written.text(n)) for n in names)), reason)


def _reads(expression: Expression) -> bool:
    """Return whether an expression reads a column."""
    if isinstance(expression, JoinExpression):
        return any(_reads(part) for part in expression.join)
    return isinstance(expression, ColumnExpression)


def _abstained(written: _Written, fields: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return a reason where each answer is a word of ``abstain``, as written or as mapped."""
    abstain = written.source.abstain
    if not abstain:
        return None
    words = frozenset(map(answer_text, abstain))
    reason = f"the judge abstained ({', '.join(map(shorten, abstain))})"
    return _answers_among(written, fields, words.__contains__, reason)


def _failed(written: _Written, fields: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return a reason where each answer is one of ``failed``, as written or as mapped, or NaN."""
    failed = written.source.failed
    words = frozenset(answer_text(text) for text in failed if not text.startswith("~"))
    patterns = [compile_pattern(text[1:]) for text in failed if text.startswith("~")]

    def is_failure(text: str) -> bool:
        return text in words or any(pattern.search(text) for pattern in patterns)

    return first_reason(
        _answers_among(written, fields, is_failure, "the answer is one of failed")
        if failed
        else None,
        _answers_among(written, fields, NAN.__contains__, "the answer is NaN")
        if _may_be_nan(written, fields)
        else None,
    )


def _may_be_nan(written: _Written, fields: Mapping[str, pa.Array]) -> bool:
    """Return whether any answer may be NaN, without reading it once more."""
    if written.source.format not in TYPED_FORMATS:
        return False
    names = pa.array(sorted(NAN), pa.string())
    return any(
        written.source.fields[name].has_steps
        or fields[name].null_count
        or (pa.types.is_string(fields[name].type) and pc.any(pc.is_in(fields[name], names)).as_py())
        for name in written.answers
    )


def _answers_among(
    written: _Written, fields: Mapping[str, pa.Array], includes: Callable[[str], bool], reason: str
) -> pa.Array | None:
    """Return a reason where a test holds of an answer, and others are blank or fulfil it too."""
    is_included, is_included_or_blank = [], []
    for name in written.answers:
        text = written.text(name)
        included = for_each_value(
            text, lambda value: includes(answer_text(value or "")), pa.bool_()
        ).array
        if pa.types.is_string(fields[name].type):
            mapped = for_each_value(
                fields[name], lambda value: value is not None and includes(value), pa.bool_()
            )
            included = pc.or_(included, mapped.array)
        is_included.append(included)
        is_included_or_blank.append(pc.or_(included, is_blank(text)))
    applies = pc.and_(reduce(pc.and_, is_included_or_blank), reduce(pc.or_, is_included))
    return reason_where(applies, reason)
