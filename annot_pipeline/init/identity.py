"""Whether a judge answers an item once, and which column is missing where not."""

from __future__ import annotations

from dataclasses import replace

from annot_pipeline.init import names
from annot_pipeline.init.answers import NoJudgmentsError
from annot_pipeline.init.columns import Column, Sheet
from annot_pipeline.init.fields import Mapping

NEARLY, RARELY = 0.97, 0.5
"""Shares of rows that differ in judge, item and task: enough, and too few to be repeats."""

REPEATS = frozenset(
    {"repeat", "repetition", "replicate", "reading", "session", "attempt", "pass", "round"}
)
"""Words of columns that number the answers of one judge to one item."""

PARTS = frozenset({"trial", "turn", "page", "clip", "block", "step", "part", "hit", "unit"})
NO_PART = frozenset(
    {"judge", "truth", "native_id", "status", "reward", "submitted_at", "seconds", "position",
     "control", "answer", "preference"}
)  # fmt: skip


def check_identity(sheet: Sheet, mapping: Mapping) -> Mapping:
    """Return a mapping in which judges rarely answer an item twice, as far as columns can say.

    Raises
    ------
    NoJudgmentsError
        Judges would answer one item again and again, and no column tells the answers apart.
    """
    if mapping.answer.kind == "pairwise":
        return _whole_segment(sheet, mapping)
    if mapping.answer.kind not in ("categorical", "scalar") or mapping.each:
        return mapping
    if mapping.has("control") or mapping.without_judge or not mapping.judge.name:
        return mapping
    fields = [mapping.column(sheet, name) for name in ("task", "item", "system", "segment")]
    field_names = [column.name for column in fields if column is not None]
    item = mapping.column(sheet, "item")
    if item is None and not {"system", "segment"} <= {line[0] for line in mapping.lines}:
        return mapping
    judge = mapping.judge.name
    share = sheet.combinations(judge, *field_names) / max(len(sheet), 1)
    n_things = sheet.combinations(*field_names) if field_names else 0
    is_one = n_things == 1 and len(sheet) > mapping.judge.n_distinct
    if share >= NEARLY and not is_one:
        return mapping
    columns = [c for c in _others(sheet, mapping) if c.name not in field_names and c.name != judge]
    if item is not None and (better := _missing_part(sheet, judge, item, columns)):
        return _with_item(mapping, item, better, sheet, judge)
    explained = [c for c in columns if REPEATS & {*names.words(c.name)}]
    if explained and not is_one:
        return mapping
    if is_one or share < RARELY:
        text = ", ".join(field_names)
        near = [
            c.name for c in columns if sheet.combinations(judge, *field_names, c.name) == len(sheet)
        ]
        nearest = f" {', '.join(near[:3])} would make rows different: is it part of the item?"
        raise NoJudgmentsError(
            f"nearest candidate: judge {judge}, item {text}; but judges would answer one item "
            f"{1 / share:.1f} times on average. Which column is the id of the item?"
            + (nearest if near else "")
        )
    return mapping


def _whole_segment(sheet: Sheet, mapping: Mapping) -> Mapping:
    """Return comparisons whose segment is whole: of a conversation, question and turn."""
    sides = [mapping.column(sheet, f"{n}_{s}") for n in ("system", "item") for s in "ab"]
    segment = mapping.column(sheet, "segment")
    field_names = [column.name for column in sides if column is not None]
    if segment is None or not mapping.judge.name or len(field_names) < 2:
        return mapping
    field_names += [mapping.judge.name, segment.name]
    n_once = sheet.combinations(*field_names)
    for column in _others(sheet, mapping):
        is_part = PARTS & {*names.words(column.name)} and column.name not in field_names
        if is_part and sheet.combinations(*field_names, column.name) > 1.1 * n_once:
            joined = {"join": [segment.expression, column.expression], "sep": ":"}
            why = f"a judge compares one {segment.name} at each {column.name}"
            return mapping.with_lines(("segment", joined, why))
    return mapping


def choose_repeats(sheet: Sheet, mapping: Mapping) -> Mapping:
    """Return the mapping with ``repeats: last`` where judges answer again and times are known."""
    if mapping.answer.kind not in ("categorical", "scalar") or mapping.has("control"):
        return mapping
    mapped_columns = [
        mapping.column(sheet, name) for name in ("task", "judge", "item", "system", "segment")
    ]
    columns = [column.name for column in mapped_columns if column is not None]
    item = mapping.column(sheet, "item") or mapping.column(sheet, "segment")
    if item is None or mapping.each or not mapping.has("submitted_at"):
        return mapping
    numbered = [name for name in sheet.names if REPEATS & {*names.words(name)}]
    n_rows = sheet.table.select(columns).drop_null().num_rows
    if numbered or sheet.combinations(*columns) == n_rows:
        return mapping
    return replace(mapping, repeats="last")


def _others(sheet: Sheet, mapping: Mapping) -> list[Column]:
    used = {*mapping.answer.columns}
    return [
        sheet[name]
        for name in sheet.names
        if name not in used
        and not NO_PART & names.roles(name).keys()
        and sheet[name].n_distinct > 1
    ]


def _missing_part(sheet: Sheet, judge: str, item: Column, columns: list[Column]) -> Column | None:
    """Return the column that is the item, or a part of it, which several judges met."""
    for column in columns:
        if REPEATS & {*names.words(column.name)} or column.is_unique or column.n_blank:
            continue
        roles = {"item", "segment", "hit"} & names.roles(column.name).keys()
        if not roles and not PARTS & {*names.words(column.name)}:
            continue
        both = sheet.combinations(judge, item.name, column.name)
        if both >= NEARLY * len(sheet) > sheet.combinations(item.name, column.name):
            return column
    return None


def _with_item(mapping: Mapping, item: Column, other: Column, sheet: Sheet, judge: str) -> Mapping:
    """Return the mapping with a column for the item, or joined to it."""
    is_unique = sheet.combinations(judge, other.name) >= NEARLY * len(sheet)
    if is_unique and (item.n_distinct == 1 or sheet.determines(other.name, item.name)):
        line = ("item", other.expression, f"{other.n_distinct:,} different")
        return replace(mapping.with_lines(line), item=other)
    joined = {"join": [item.expression, other.expression], "sep": ":"}
    why = f"{item.name} alone would repeat: a judge meets each {other.name} of it"
    return replace(mapping.with_lines(("item", joined, why)), item=None)
