"""Ranks: whether a column holds them, and of what they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.guess.answers import Answer, answer_in
from annot_pipeline.guess.columns import Choice, Column, Sheet

NOT_RANKED = -1
MOST_RANKS = 100
RANKED_SHARE = 0.8
"""Share of the groups of rows in which no rank may be above the group's size, for them to be
rankings. (That a group has a rank 1 is not asked for: judges leave places out.)"""


def long_ranking(
    sheet: Sheet, choice: Choice, judge: Column
) -> tuple[Answer, Column | None] | None:
    """The ranks in rows of one ranked output each, and the column that says which belong together.

    None if no column holds ranks; the second is None if only judge and segment say it.
    """
    column = next(filter(_can_be_ranks, choice.of("rank")), None)
    others = [c for c in choice.of("answer") if column and c.name != column.name]
    if column is None or any(answer_in(other, None) for other in others):
        return None
    told = [
        c
        for role in ("ranking", "hit", "native_id")
        for c in choice.of(role)
        if c.name != column.name and sheet.determines(c.name, judge.name)
    ]
    together = next((c for c in told if _are_rankings(sheet, [c.name], column)), None)
    shared = [*choice.of("segment"), *choice.of("item")]
    if together or any(_are_rankings(sheet, [judge.name, c.name], column) for c in shared):
        return rank_answer(column, [column.name]), together
    return None


def rank_answer(column: Column, columns: list[str]) -> Answer:
    """An answer of ranks."""
    seen = f"{column.n_distinct:,} different, {column.low:g} to {column.high:g}; 1 is best"
    if NOT_RANKED in column.numbers:
        seen += f"; {NOT_RANKED} is not ranked and will be rejected"
    return Answer("ranking", [("rank", column.expression, seen)], columns)


def ranks_in_rows(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether the numbers of each row, over some columns, are ranks."""
    ranks = np.stack([_numbers(table.column(name)) for name in columns])
    highest = np.where(ranks >= 1, ranks, 0).max(axis=0, initial=0)
    several = (ranks >= 1).sum(axis=0) > 1
    fit = several & (highest <= len(columns))
    return bool(several.any() and fit.sum() >= RANKED_SHARE * several.sum())


def _can_be_ranks(column: Column) -> bool:
    return (
        column.is_whole
        and 1 < column.n_distinct <= MOST_RANKS
        and column.low in (NOT_RANKED, 1)
        and 0 not in column.numbers
    )


def _are_rankings(sheet: Sheet, group: Sequence[str], column: Column) -> bool:
    """Whether rows that share some values rank what they hold."""
    ranks = pa.chunked_array([pa.array(_numbers(sheet.table.column(column.name)))])
    rows = sheet.table.select(list(group)).append_column("#rank", ranks)
    rows = rows.filter(pc.greater_equal(rows["#rank"], 1))
    found = rows.group_by(list(group)).aggregate([("#rank", "max"), ("#rank", "count")])
    found = found.filter(pc.greater(found["#rank_count"], 1))
    fit = pc.less_equal(found["#rank_max"], found["#rank_count"])
    return bool(found.num_rows and (pc.sum(fit).as_py() or 0) >= RANKED_SHARE * found.num_rows)


def _numbers(texts: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """As numbers; NaN where a cell holds none."""
    return np.array([_number(value) for value in texts.to_pylist()], np.float64)


def _number(value: str | None) -> float:
    try:
        return float(value or "nan")
    except ValueError:
        return np.nan
