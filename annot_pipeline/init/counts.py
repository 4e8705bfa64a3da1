"""Rows that count the answers of judges whom nobody names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from annot_pipeline.init import names
from annot_pipeline.init.questions import Line, Reading
from annot_pipeline.init.table import Sheet
from annot_pipeline.init.views import parsed
from annot_pipeline.stages.ingest.read_records import LARGEST

COUNT_WORDS = names.WORDS["counts"]
"""A word at either end of a name that says that the column counts."""
WHOLES = names.WORDS["totals"]
"""What a column counts that is no class: all answers of an item."""
FEWEST = 2
MOST_COLUMNS = 60
MOST_VOTES = LARGEST["votes"]


def vote_counts(sheet: Sheet) -> Reading | None:
    """Map counts of labels without judges: a column a label, a row a label, or an object."""
    judges = (n for n in sheet.names if "judge" in names.roles(n) and sheet[n].counts)
    if len(sheet.names) > MOST_COLUMNS or any(judges):
        return None
    return _by_key(sheet) or _by_column(sheet) or _by_total(sheet) or _by_row(sheet)


def _by_key(sheet: Sheet) -> Reading | None:
    """Map a column of objects that hold a count for each label."""
    counted = [name for name in sheet.names if COUNT_WORDS & {*names.words(name)}]
    columns = [name for name in counted if _are_objects(sheet, name)]
    item = item_ids(sheet, columns)
    if len(columns) != 1 or item is None:
        return None
    return _draft(item, "{k.value}", {"k": {"keys": columns[0]}})


def _are_objects(sheet: Sheet, name: str) -> bool:
    cells = [parsed(cell) for cell in sheet[name].filled[:5000].to_pylist()]
    values = [value for cell in cells if isinstance(cell, dict) for value in cell.values()]
    is_all = all(isinstance(cell, dict) for cell in cells)
    return is_all and bool(values) and all(type(v) is int and v >= 0 for v in values)


def _by_column(sheet: Sheet) -> Reading | None:
    """Map columns whose names say that they count, and which label: n_yes, n_no."""
    families: dict[tuple[str, str], list[str]] = {}
    for name in sheet.names:
        for before, after in _affixes(name):
            label = name[len(before) : len(name) - len(after)]
            if label and not {*names.words(label)} <= WHOLES:
                families.setdefault((before, after), []).append(label)
    several = [family for family in families.items() if len(family[1]) >= FEWEST]
    if len(several) != 1:
        return None
    [((before, after), labels)] = several
    columns = [before + label + after for label in labels]
    few = [n for n in sheet.names if 2 * sheet[n].n_distinct <= len(sheet)]
    rest = [n for n in few if not (n in columns or sheet[n].n_blank or sheet[n].numeric_share)]
    both = (p for p in combinations(rest, 2) if sheet.combinations(*p) == len(sheet))
    item: Any = item_ids(sheet, columns) or next(({"join": [*p], "sep": ":"} for p in both), None)
    if item is None or not all(_is_count(sheet, n) for n in columns):
        return None
    if len({*np.argmax([sheet.numbers(n) for n in columns], axis=0)}) < FEWEST:
        return None  # of votes for one label: such as characters and words of texts
    return _draft(item, f"{before}{{k}}{after}", {"k": labels})


def _affixes(name: str) -> list[tuple[str, str]]:
    """Return the starts and ends of a name, with what stands between, that say that it counts."""
    affixes = []
    for mark in filter(name.__contains__, "_. -"):
        first, last = name.partition(mark)[0], name.rpartition(mark)[2]
        affixes += [(first + mark, "")] * (first.strip().lower() in COUNT_WORDS)
        affixes += [("", mark + last)] * (last.lower() in COUNT_WORDS)
    return affixes


def _by_total(sheet: Sheet) -> Reading | None:
    """Map columns beside one that counts all answers, and is their sum in every row."""
    totals = [name for name in sheet.names if _may_be_total(name) and _is_count(sheet, name)]
    if len(totals) != 1:
        return None
    offered = [name if name != totals[0] and _is_count(sheet, name) else "" for name in sheet.names]
    numbers = [sheet.numbers(name) if name else np.zeros(len(sheet)) for name in offered]
    sums = np.cumsum([np.zeros(len(sheet)), *numbers], axis=0)
    total = sheet.numbers(totals[0])
    runs = [
        offered[start:end]
        for start in range(len(offered))
        for end in range(start + FEWEST, len(offered) + 1)
        if all(offered[start:end]) and np.array_equal(sums[end] - sums[start], total)
    ]
    item = item_ids(sheet, [*totals, *runs[0]]) if runs else None
    if runs and _are_parts(totals[0], runs[0]):
        return None
    if len(runs) != 1 or item is None:  # of several, nobody knows which are labels
        return None
    is_counted = COUNT_WORDS & {*names.words(totals[0])}
    if not is_counted and not _has_majorities(sheet, runs[0]):  # such as points of school subjects
        return None
    draft = _draft(item, "{k}", {"k": runs[0]})
    draft.notes.append(f"{totals[0]} is their sum in every row")
    return draft


def _may_be_total(name: str) -> bool:
    """Return whether a name says that a column counts, or is a total of nothing but answers."""
    words = {*names.words(name)}
    return bool(COUNT_WORDS & words) or ("total" in words and words <= WHOLES)


def _has_majorities(sheet: Sheet, labels: Sequence[str]) -> bool:
    """Return whether a column names one of the labels in each row, as that of most votes."""
    values = (sheet[name].counts for name in sheet.names if name not in labels)
    return any(counts and counts.keys() <= {*labels} for counts in values)


def _are_parts(total: str, columns: Sequence[str]) -> bool:
    """Return whether columns are numbered parts of a total that does not say that it counts.

    So are the points for each question of a test.
    """
    is_counted = COUNT_WORDS & {*names.words(total)}
    return not is_counted and any(column[-1:].isdigit() for column in columns)


def _by_row(sheet: Sheet) -> Reading | None:
    """Map rows that name an item, a label and how many gave it."""
    counted = [name for name in sheet.names if COUNT_WORDS & {*names.words(name)}]
    counted = [name for name in counted if {*names.words(name)} <= COUNT_WORDS | WHOLES]
    counts = [name for name in counted if _is_count(sheet, name)]
    answers = [n for n in sheet.names if n not in counts and "answer" in names.roles(n)]
    labels = [n for n in answers if 0 < sheet[n].n_distinct <= 50 and sheet[n].mean_length <= 60]
    if len(counts) != 1 or len(labels) != 1:
        return None
    rest = [name for name in sheet.names if name not in (*counts, *labels)]
    things = [n for n in rest if names_items(n) and sheet[n].n_distinct < len(sheet)]
    things = [name for name in things if not sheet[name].n_blank]
    items = [name for name in things if sheet.combinations(name, labels[0]) == len(sheet)]
    if len(items) != 1:  # a row an item: the count may be of all its answers
        return None
    return _draft(items[0], counts[0], {}, labels[0])


def _draft(item: Any, votes: str, each: dict[str, object], label: object = None) -> Reading:
    lines: list[Line] = [
        ("item", item, ""),
        ("label", {"value": "{k}"} if label is None else label, ""),
        ("votes", votes, "how many gave the label"),
    ]
    return Reading("counts of votes", lines, each=each, notes=[names.TEXTS["counts"]])


def _is_count(sheet: Sheet, name: str) -> bool:
    """Return whether a column holds whole numbers that can be counts, and no blank."""
    column = sheet[name]
    return column.n_blank == 0 and column.is_whole and 0 <= column.low <= column.high <= MOST_VOTES


def item_ids(sheet: Sheet, besides: Sequence[str]) -> str | None:
    """Return the first column of ids of items, which no two rows share."""
    rest = (name for name in sheet.names if name not in besides and sheet.is_unique(name))
    return next((n for n in rest if names_items(n) or names.plain(n) == "uid"), None)


def names_items(name: str) -> bool:
    """Return whether a column's name may be that of ids of items."""
    return bool({"item", "text", "native_id", "segment"} & names.roles(name).keys())
