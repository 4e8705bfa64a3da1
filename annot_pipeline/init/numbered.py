"""Rows that hold several judgments in numbered columns: sys1 ... sys5, quality1 ... quality5."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pyarrow as pa

from annot_pipeline.init import names
from annot_pipeline.init.answers import Answer, answer_in
from annot_pipeline.init.columns import Choice, Column, Sheet
from annot_pipeline.init.rankings import (
    beyond,
    may_be_ranks,
    rank_answer,
    rank_notes,
    ranks_in_rows,
)

_NUMBERED = re.compile(r"(\D|.*\D)(\d{1,3})")
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class NumberedRow:
    """How a row's judgments are named: ``each``, what was judged, the answer.

    Parameters
    ----------
    each
        The ``each`` section of the source.
    field, things
        ``system`` or ``item``, and the columns that name them.
    answer
        With an expression that holds ``{i}``.
    columns
        Names of all columns used.
    """

    each: dict[str, str]
    field: str
    things: Column
    answer: Answer
    columns: list[str]


def numbered_row(sheet: Sheet, choice: Choice) -> NumberedRow | None:
    """Return numbered columns of which one family names things and another holds answers."""
    families: dict[str, list[int]] = {}
    for name in choice.remaining:
        match = _NUMBERED.fullmatch(name)
        if match and match[2] == str(int(match[2])):
            families.setdefault(match[1], []).append(int(match[2]))
    named_families = [
        (field, stem)
        for field in ("system", "item")
        for stem in families
        if field in names.roles(stem) and len(families[stem]) > 1
    ]
    for field, stem in named_families:
        numbers = tuple(sorted(families[stem]))
        if numbers != tuple(range(numbers[0], numbers[-1] + 1)):
            continue
        stems = [s for s, n in families.items() if s != stem and tuple(sorted(n)) == numbers]
        answer = _answer(sheet, stems, numbers)
        if answer:
            used = [f"{s}{i}" for s in (stem, answer.columns[0]) for i in numbers]
            return NumberedRow(
                {"i": f"{numbers[0]}..{numbers[-1]}"}, field, _family(sheet, stem, numbers),
                answer, used,
            )  # fmt: skip
    return None


def _answer(sheet: Sheet, stems: list[str], numbers: Numbers) -> Answer | None:
    """Return the family of answers: of ranks, else so named, else scores, else labels."""
    if ranks := _ranks(sheet, stems, numbers):
        return ranks
    ranked: list[tuple[bool, bool, int]] = []
    answers: list[Answer] = []
    for stem in stems:
        column = _family(sheet, stem, numbers)
        answer = answer_in(column, None) if len(column.filled) > column.n_blank else None
        if answer and column.n_distinct > 1 and "truth" not in names.roles(stem):
            ranked.append(("answer" not in names.roles(stem), answer.kind != "scalar", len(ranked)))
            answers.append(replace(answer, columns=[stem]))
    return answers[min(ranked)[2]] if ranked else None


def _ranks(sheet: Sheet, stems: list[str], numbers: Numbers) -> Answer | None:
    """Return the family that ranks.

    A family that goes beyond their number ranks only where none is an answer.
    """
    families = {
        stem: column
        for stem in stems
        if "rank" in names.roles(stem) and may_be_ranks(column := _family(sheet, stem, numbers))
    }
    for stem, column in families.items():
        if ranks_in_rows(sheet.table, [f"{stem}{i}" for i in numbers]):
            return rank_answer(column, [stem])
    if any("answer" in names.roles(stem) for stem in stems):
        return None
    for stem, column in families.items():
        return rank_answer(column, [stem], [*rank_notes(column), beyond(column.name)])
    return None


def _family(sheet: Sheet, stem: str, numbers: Numbers) -> Column:
    """Return the values of all columns of a family as one column."""
    chunks = [c for i in numbers for c in sheet.table.column(f"{stem}{i}").chunks]
    name = stem + "{i}"
    return Column(name, name, pa.chunked_array(chunks, pa.string()))
