"""Planned HITs as MTurk gives them back: batch results, a row an assignment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts.answer_text import value_text
from annot_pipeline.exports.hit_bookkeeping import (
    ANSWER,
    NAME,
    TEXT,
    Answer,
    DamagedError,
    HandedIn,
    Hit,
    Results,
    by_name,
    check_texts,
    filled,
    no_hits,
)
from annot_pipeline.exports.json_lines import parse_json
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows
from annot_pipeline.exports.tabular import read_mturk

SHARED = {
    "judge": "WorkerId", "native_id": "AssignmentId", "status": "AssignmentStatus",
    "submitted_at": "SubmitTime", "hit_seconds": "WorkTimeInSeconds",
}  # fmt: skip

BOOKKEEPING = f"Input.{NAME}"
TASK_ANSWERS = "Answer.taskAnswers"
"""Where MTurk puts all answers of a form as JSON, unless the form says otherwise."""

ANSWERED = re.compile(rf"Answer\.(?P<name>{ANSWER.pattern})(?:\.(?P<choice>.*))?", re.DOTALL)
"""An answer's column: of a number it holds what was given, of radio buttons each has a column of
its own, ``Answer.preference_3.tie``, which is true where that one was chosen.
"""

Given = tuple[str, str | None, str]
"""The name of an answer, which of its radio buttons, and what the cell holds."""


def mturk_results(opening: Opening) -> Results:
    """Open batch results.

    Raises
    ------
    InputError
        They are not of planned HITs.
    """
    columns = read_mturk(replace(opening, used_columns=frozenset())).columns
    if not columns:
        return Results(iter(()), [], Export(iter(()), []))
    if NAME in columns:
        what = f"its column is {NAME}, so it is the file to upload"
        raise opening.broken(what, "give the batch results that MTurk offers to download")
    if BOOKKEEPING not in columns:
        raise no_hits(opening, "mturk", f"no column {BOOKKEEPING}")
    own = {*columns} if opening.used_columns is None else {*columns} & opening.used_columns
    used = {BOOKKEEPING, TASK_ANSWERS, *SHARED.values()} & {*columns}
    used |= {column for column in columns if ANSWERED.fullmatch(column) or _text_number(column)}
    inner = read_mturk(replace(opening, used_columns=frozenset(used | own)))
    rows = (row for chunk in inner.chunks for row in _assignments(chunk, own))
    return Results(rows, columns, inner)


def _text_number(column: str) -> int:
    """Return 3 for ``Input.text_3``; 0 for any other column."""
    match = re.fullmatch(rf"Input\.{TEXT.pattern}", column)
    return int(match[1]) if match else 0


def _assignments(chunk: RawRows, own: set[str]) -> Iterator[HandedIn]:
    texts = {_text_number(name): column for name, column in chunk.columns.items()}
    del texts[0]  # the other columns
    last_filled = _last_filled(texts, len(chunk))
    values = {
        name: column.to_pylist()
        for name, column in chunk.columns.items()
        if name in own or not _text_number(name)
    }
    answered = [
        (match["name"], match["choice"], values[match[0]])
        for match in map(ANSWERED.fullmatch, values)
        if match
    ]
    blank: list[str | None] = [None] * len(chunk)
    packed = values.get(TASK_ANSWERS, blank)
    for position, (row, problem) in enumerate(
        zip(chunk.row.tolist(), chunk.problem.to_pylist(), strict=True)
    ):
        cells_of_row = [
            (name, choice, cell)
            for name, choice, cells in answered
            if (cell := cells[position]) is not None and filled(cell)
        ]
        shared = {field: values.get(name, blank)[position] for field, name in SHARED.items()}
        shared["submitted_at"] = iso_time(shared["submitted_at"])
        yield HandedIn(
            row,
            values[BOOKKEEPING][position],
            shared,
            {name: values[name][position] for name in own},
            partial(
                _answers,
                cells_of_row,
                packed[position],
                max(texts, default=0),
                last_filled[position],
            ),
            problem=problem,
        )


def _last_filled(texts: Mapping[int, pa.Array], n_rows: int) -> list[int]:
    """Return by row the number of the last text that is not blank; 0 where all are."""
    last = pa.repeat(pa.scalar(0, pa.int64()), n_rows)
    for number, column in sorted(texts.items()):
        is_blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True)
        last = pc.if_else(is_blank, last, pa.scalar(number, pa.int64()))
    numbers: list[int] = last.to_pylist()
    return numbers


def _answers(
    cells: Sequence[Given], packed: str | None, n_named: int, last_filled: int, hit: Hit
) -> list[Answer]:
    check_texts(n_named, last_filled, hit)
    if packed is not None and filled(packed) and not cells:
        return by_name(_answers_by_name(_unpacked(packed)), f"{TASK_ANSWERS}#{{}}".format, hit)
    return by_name(_answers_by_name(cells), "Answer.{}".format, hit)


def _answers_by_name(cells: Iterable[Given]) -> dict[str, str]:
    """Return the answers by name; of radio buttons, the chosen one."""
    answers: dict[str, str] = {}
    for name, choice, cell in cells:
        if choice is not None and cell.strip().lower() != "true":
            continue
        if name in answers:
            raise DamagedError(f"{name} is answered twice")
        answers[name] = cell if choice is None else choice
    return answers


def _unpacked(text: str) -> Iterator[Given]:
    """Yield the answers of ``[{"score_1": "55", "label_2": {"1": true, "2": false}, ...}]``.

    Forms without flat answers are given back so.
    """
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise DamagedError(f"{TASK_ANSWERS} is not JSON: {error}") from None
    form = parsed[0] if isinstance(parsed, list) and len(parsed) == 1 else parsed
    if not isinstance(form, dict):
        raise DamagedError(f"{TASK_ANSWERS} is not a form's answers")
    for name, value in form.items():
        if not ANSWER.fullmatch(name):
            continue
        if isinstance(value, dict):
            yield from ((name, choice, str(value_text(chosen))) for choice, chosen in value.items())
        elif filled(value_text(value)):
            yield name, None, str(value_text(value))


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HOURS = {
    "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7,
}  # fmt: skip
MTURK_TIME = re.compile(
    rf"\w{{3}} ({'|'.join(MONTHS)}) (\d\d?) (\d\d:\d\d:\d\d) ({'|'.join(HOURS)}) (\d{{4}})",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def iso_time(value: str | None) -> str | None:
    """Return ``Sat Nov 21 04:45:23 PST 2026`` as ISO 8601; anything else as it is."""
    match = MTURK_TIME.fullmatch(" ".join((value or "").split()))
    if match is None:
        return value
    month, day, time, zone, year = match.groups()
    date = f"{year}-{MONTHS.index(month) + 1:02d}-{int(day):02d}"
    return f"{date}T{time}{HOURS[zone]:+03d}:00"
