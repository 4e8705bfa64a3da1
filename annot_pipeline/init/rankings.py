"""Ranks: whether a column holds them, and of what they are.

A column that is named as a rank holds ranks if most of it can be, whatever stands beside: what
is no rank is rejected row by row, where a score would turn the ranking upside down unseen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from annot_pipeline.errors import shorten
from annot_pipeline.init import names
from annot_pipeline.init.answers import answer_in
from annot_pipeline.init.questions import Line, Reading
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.stages.ingest.read_records import NUMBER

NOT_RANKED = -1
MOST_RANKS = 100
MOSTLY_RANKS = 0.75
"""Share of the values that must be whole or half numbers from 0, or `NOT_RANKED`."""

RANKED_SHARE = 0.8
"""Share of the groups of rows in which no rank may be above the group's size, for them to be
rankings without a doubt. (That a group has a rank 1 is not asked for: judges leave places out.)"""

SHOWN = 5


def long_ranks(sheet: Sheet, choice: Choice, judge: Column) -> tuple[Reading, Column | None] | None:
    """Return the ranks of rows with one output each, and the column that identifies a ranking.

    None if no column holds ranks; the second is None if only judge and segment identify it.
    """
    named = choice.with_role("rank")  # `ranking` is the rank only where nothing else is
    named = [c for c in named if "ranking" not in names.roles(c.name)] or named
    column = next(filter(may_be_ranks, named), None)
    form = re.sub(r"[0-9]+", "#", column.name) if column else ""
    several = sum(re.sub(r"[0-9]+", "#", name) == form for name in sheet.names) > 1
    if column is None or (several and form != column.name):  # a row holds several outputs
        return None
    start = "Answer." * column.name.startswith("Answer.")  # of a batch, no other column answers
    rivals = [c for c in choice.with_role("answer") if c.name.startswith(start)]
    if any(answer_in(other, None) for other in rivals if other.name != column.name):
        return None
    keys = [c for role in ("ranking", "hit", "native_id") for c in choice.with_role(role)]
    keys = [c for c in keys if c is not column and sheet.determines(c.name, judge.name)]
    key = next((c for c in keys if _are_rankings(sheet, [c.name], column)), None)
    if key:
        return rank_answer(column, [column.name]), key
    gaps = [*rank_notes(column), beyond(column.name)]
    things = [c for role in ("system", "item") for c in choice.with_role(role)]
    for c in keys:
        if "ranking" in names.roles(c.name) and _several(sheet, [c.name], column, things):
            return rank_answer(column, [column.name], gaps), c
    segments = [*choice.with_role("segment"), *choice.with_role("item")]
    shared = [[judge.name, c.name] for c in segments]
    others = [[judge.name, c.name] for c in choice.offered() if c.name != column.name]
    whole = [g for g in others if sheet.combinations(*g, column.name) > 0.9 * len(sheet)]
    if any(_are_rankings(sheet, group, column) for group in (*shared, *whole)):
        return rank_answer(column, [column.name]), None
    if any(_several(sheet, group, column, things) for group in shared):
        return rank_answer(column, [column.name], gaps), None
    return None


def may_be_ranks(column: Column) -> bool:
    """Return whether most values can be ranks.

    Half ranks can, though no such record can be read.
    """
    fit = [number for number in column.numbers if (2 * number).is_integer()]
    fit = [number for number in fit if number >= 0 or number == NOT_RANKED]
    n_fit = sum(column.numbers[number] for number in fit)
    return 1 < len(fit) <= MOST_RANKS and n_fit >= MOSTLY_RANKS * len(column.filled)


def rank_answer(column: Column, columns: list[str], notes: Sequence[str] | None = None) -> Reading:
    """Return an answer of ranks; ``notes`` are those of `rank_notes` unless given."""
    line: Line = ("rank", column.expression, ranks_seen(column))
    notes = rank_notes(column) if notes is None else notes
    return Reading(lines=[line], kind="ranking", columns=columns, notes=[*notes])


def are_ranks_of_rows(sheet: Sheet, names_: Sequence[str]) -> bool:
    """Return whether in nearly every row the cells of some columns are the ranks 1, 2 and so on."""
    values = np.stack([sheet.numbers(name) for name in names_])
    values = values[:, ~np.isnan(values).any(axis=0)]
    expected = np.arange(1.0, len(names_) + 1)[:, None]
    are_ranks = (np.sort(values, axis=0) == expected).all(axis=0)
    return int(are_ranks.sum()) >= MOSTLY_RANKS * len(sheet)


def ranks_seen(column: Column) -> str:
    """Return which ranks there are, and how many values are none."""
    ranks = [number for number in column.numbers if number.is_integer() and number >= 0]
    summary = f"{len(ranks):,} different"
    if ranks:
        summary += f", {min(ranks):g} to {max(ranks):g}; lower is better"
    fit = {v for v in column.counts if NUMBER.fullmatch(v) and float(v) in ranks}
    wrong = {v: n for v, n in column.counts.items() if v not in fit}
    if wrong:
        text = ", ".join(f"{shorten(v)} ({n:,})" for v, n in list(wrong.items())[:SHOWN])
        more = f" and {len(wrong) - SHOWN:,} more" if len(wrong) > SHOWN else ""
        summary += f"; {sum(wrong.values()):,} are no whole numbers >= 0 and will be rejected: "
        summary += text + more
    return summary


def rank_notes(column: Column) -> list[str]:
    """Return what people should do about ranks that cannot be read."""
    if any(not number.is_integer() and (2 * number).is_integer() for number in column.numbers):
        return [names.TEXTS["half_ranks"].format(column.name)]
    return []


def beyond(name: str) -> str:
    """Return what to know about numbers that are larger than rankings are long."""
    return names.TEXTS["beyond_ranks"].format(name)


def rank_doubts(sheet: Sheet, reading: Reading) -> list[str]:
    """Return what to know about columns that are named as ranks but were not taken for ranks."""
    if reading.kind in ("ranking", "pairwise"):
        return []
    notes = []
    for name in dict.fromkeys([*reading.columns, *sheet.names]):
        roles = names.roles(name)
        is_number = name not in sheet.names or sheet[name].numbers
        if "rank" not in roles or "ranking" in roles or not is_number:
            continue
        fields = "fields rank and system, and ranking or segment"
        note = f"{name}: if 1 is best, kind: ranking ({fields})"
        if name in reading.columns:
            field = "score" if reading.kind == "scalar" else "label"
            note += f"; as {field} it says something else"
        notes.append(note)
    return notes


def _are_rankings(sheet: Sheet, group: Sequence[str], column: Column) -> bool:
    """Return whether rows that share some values are certainly rankings."""
    groups, ranks = sheet.codes(*group), sheet.numbers(column.name)
    is_ranked = (groups >= 0) & (ranks >= 0)
    n_outputs = np.bincount(groups[is_ranked])
    last = np.zeros(len(n_outputs))
    np.maximum.at(last, groups[is_ranked], ranks[is_ranked])
    are_several = n_outputs > 1
    n_fit = int((are_several & (last <= n_outputs)).sum())
    return bool(are_several.any()) and n_fit >= RANKED_SHARE * int(are_several.sum())


def _several(sheet: Sheet, group: Sequence[str], column: Column, things: Sequence[Column]) -> bool:
    """Return whether rows that share some values give several things several numbers."""
    n_groups = sheet.combinations(*group)
    return n_groups < sheet.combinations(*group, column.name) and any(
        2 * n_groups <= sheet.combinations(*group, thing.name)
        for thing in things
        if thing.name not in (*group, column.name)
    )
