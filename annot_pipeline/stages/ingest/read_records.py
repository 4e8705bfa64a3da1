"""Raw rows become records: one per judgment cell, each a judgment or a reason why not.

What a record's kind of task demands (a label among the classes, a score on the scale) is
not known here; that is `sql/ingest/settle_judgments.sql`. A model with a version, a prompt and a
temperature is a judge of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import EachColumn, EachElement, EachOfCells, ItemSource, Source
from annot_pipeline.config.judges import prompt_hash
from annot_pipeline.contracts import CONTROLS, PREFERENCES, TEXT, TIME
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import shorten
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.stages.ingest.expressions import (
    RejectionError,
    Values,
    columns_used,
    evaluate,
    first_reason,
    for_each_value,
    parse_time,
    without_steps,
)
from annot_pipeline.stages.ingest.item_versions import add_text_digests
from annot_pipeline.stages.ingest.raw_names import CELLS, judge_cells
from annot_pipeline.stages.ingest.record_cells import (
    ANSWERS,
    RecordCells,
    cell_columns,
    combinations,
    is_blank,
    reason_where,
    record_cells,
)
from annot_pipeline.stages.ingest.row_fates import early_fates

TIE = "tie"
SIDES = (("a", "system_a", "item_a"), ("b", "system_b", "item_b"))


def derive_preference(
    fields: dict[str, pa.Array], cells: RecordCells, source: Source, path: str
) -> list[pa.Array | None]:
    """Set ``preference`` where ``winner`` or ``strength`` is mapped; return reasons against it.

    ``strength`` becomes how strongly a is preferred, from 0 (b) to 1 (a). ``winner`` is a name of
    one of both sides; any other text goes through ``match`` and ``map``, as words for ties.
    """
    if "winner" in fields:
        words = evaluate(source.fields["winner"], cells, path=path, field="winner")
        fields["preference"], reasons = _by_winner(fields, words)
        return [reasons]
    if source.strength is not None:
        fields["strength"], reasons = _in_unit_range(fields["strength"], *source.strength)
        fields["preference"] = _by_strength(fields["strength"])
        return [reasons]
    return []


def _by_winner(fields: dict[str, pa.Array], words: Values) -> tuple[pa.Array, pa.Array | None]:
    """Return the side whose system or item is the winner, or the preference that a word means."""
    winner = fields["winner"]
    won = {}
    for side, *names in SIDES:
        is_winner = pa.repeat(False, len(winner))
        for name in names:
            if name in fields:
                same = pc.fill_null(pc.equal(winner, fields[name]), False)
                is_winner = pc.or_(is_winner, same)
        won[side] = is_winner
    both = pc.and_(won["a"], won["b"])
    neither = pc.and_(pc.invert(pc.or_(won["a"], won["b"])), pc.is_valid(winner))
    nothing = pa.scalar(None, pa.string())
    side = pc.if_else(won["a"], pa.scalar("a"), pc.if_else(won["b"], pa.scalar("b"), nothing))
    by_word = pc.if_else(
        neither, pc.if_else(_is_preference(words.array), words.array, nothing), side
    )
    is_unknown = pc.and_(neither, pc.is_null(by_word))
    texts = for_each_value(winner, lambda value: f"winner is neither side: {shorten(value or '')}")
    unknown = pc.if_else(is_unknown, texts.array, nothing) if pc.any(is_unknown).as_py() else None
    reason = first_reason(reason_where(both, "winner is the name of both sides"), unknown)
    return pc.if_else(both, nothing, by_word), reason


def _is_preference(words: pa.Array) -> pa.Array:
    return pc.is_in(words, pa.array(PREFERENCES, pa.string()))


def _in_unit_range(
    strength: pa.Array, b_end: float, a_end: float
) -> tuple[pa.Array, pa.Array | None]:
    values = strength.to_numpy(zero_copy_only=False).astype(np.float64)
    share = (values - b_end) / (a_end - b_end)
    outside = ~np.isnan(values) & ((share < 0) | (share > 1))
    inside = pa.array(share, mask=np.isnan(share) | outside)
    if not outside.any():
        return inside, None
    allowed = f"{min(b_end, a_end):g} to {max(b_end, a_end):g}"
    reasons = [
        f"strength is outside {allowed}: {value:g}" if is_outside else None
        for value, is_outside in zip(values, outside, strict=True)
    ]
    return inside, pa.array(reasons, pa.string())


def _by_strength(share: pa.Array) -> pa.Array:
    side = pc.if_else(pc.greater(share, 0.5), pa.scalar("a"), pa.scalar("b"))
    return pc.if_else(pc.equal(share, 0.5), pa.scalar(TIE), side)


PARTS: Final = (
    ("judge_version", "version"), ("judge_prompt", "prompt"), ("judge_temperature", "temperature")
)  # fmt: skip
"""Fields of records, and what each is called in a name; as `config.judges.versioned_name`."""


def name_versions(fields: dict[str, pa.Array]) -> None:
    """Add version, prompt and temperature to the names of judges; of a prompt its hash is kept."""
    if "judge_prompt" in fields:
        fields["judge_prompt"] = _hashed(fields["judge_prompt"])
    if "judge_version" in fields:  # parentheses end a name
        version = pc.replace_substring(fields["judge_version"], "(", "[")
        fields["judge_version"] = pc.replace_substring(version, ")", "]")
    mapped = [(field, word) for field, word in PARTS if field in fields]
    if not mapped:
        return
    parts = [
        pc.binary_join_element_wise(pa.scalar(f", {word} "), _shown(fields[field]), "").fill_null(
            ""
        )
        for field, word in mapped
    ]
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*parts, ""), start=2)
    named = pc.binary_join_element_wise(
        fields["judge"], pa.scalar(" ("), joined, pa.scalar(")"), ""
    )
    fields["judge"] = pc.if_else(pc.equal(joined, ""), fields["judge"], named)


def _hashed(prompts: pa.Array) -> pa.Array:
    encoded = prompts.dictionary_encode()
    hashes = pa.array(map(prompt_hash, encoded.dictionary.to_pylist()), TEXT)
    return pc.take(hashes, encoded.indices)


def _shown(values: pa.Array) -> pa.Array:
    """Return values as text; a number as Python's ``:g`` has it."""
    if pa.types.is_string(values.type):
        return values
    encoded = values.dictionary_encode()
    texts = pa.array([f"{value:g}" for value in encoded.dictionary.to_pylist()], TEXT)
    return pc.take(texts, encoded.indices)


CODE_VERSION = "13"  # names and labels without blanks around them

LONGEST_VALUE = 100_000
"""Bytes; a longer one is no name, label or number but something gone wrong."""

NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
FIELD_TYPES: dict[str, pa.DataType] = {
    "votes": pa.int64(),
    "score": pa.float64(),
    "strength": pa.float64(),
    "rank": pa.int64(),
    "rank_a": pa.int64(),
    "rank_b": pa.int64(),
    "seconds": pa.float64(),
    "hit_seconds": pa.float64(),
    "judge_temperature": pa.float64(),
    "selection_probability": pa.float64(),
    "submitted_at": TIME,
}
"""Types of the fields that are not text."""

ALLOWED = {"control": CONTROLS, "preference": PREFERENCES}
T = TypeVar("T")
WHO = ("task", "judge")
PAIR = ("item_a", "item_b")


def columns_by_field(source: Source | ItemSource) -> dict[str, list[str]]:
    """Return raw columns that each field of a source's mapping reads, in order of first use.

    Columns that ``each`` makes of a row, and those that a pattern names, are not among them.
    """
    bindings = combinations(source) if isinstance(source, Source) else [{}]
    virtual = _virtual_columns(source)
    columns: dict[str, list[str]] = {}
    for field, expression in source.fields.items():
        names = (n for b in bindings for n in columns_used(expression, b))
        columns[field] = [n for n in dict.fromkeys(names) if not any(v in n for v in virtual)]
    if isinstance(source, Source):
        for key, conditions in (("where", source.where), ("failed_where", source.failed_where)):
            for number, condition in enumerate(conditions):
                names = (n for b in bindings for n in columns_used(condition.value, b))
                used = [n for n in dict.fromkeys(names) if not any(v in n for v in virtual)]
                columns[f"{key}.{number}"] = used
        before: set[str] = set()  # an element may hold a list or an object itself
        for name, each in source.each.items():
            if isinstance(each, EachOfCells):
                columns[f"each.{name}"] = [c for c in cell_columns(each) if c not in before]
                before |= {f"{{{name}}}", f"{{{name}.value}}"}
    return columns


def _virtual_columns(source: Source | ItemSource) -> list[str]:
    """Return the names that stand for columns which ``each`` makes or matches."""
    if not isinstance(source, Source):
        return []
    return [
        f"{{{name}{part}}}"
        for name, each in source.each.items()
        if not isinstance(each, tuple)
        for part in ("", ".index", ".value")
    ]


def columns_of(source: Source | ItemSource) -> list[str]:
    """Return all raw columns that a source's mapping names, in order of first use."""
    return list(dict.fromkeys(n for names in columns_by_field(source).values() for n in names))


def reads_all_columns(source: Source | ItemSource) -> bool:
    """Return whether a pattern says which columns are read."""
    return isinstance(source, Source) and any(
        isinstance(each, EachColumn) for each in source.each.values()
    )


def read_records(rows: RawRows, source: Source, *, path: str, campaign: str) -> pa.Table:
    """Return the records of some raw rows.

    Parameters
    ----------
    rows
        As a reader yields them.
    source
        The mapping.
    path
        The export relative to the campaign.
    campaign
        Name of the campaign: the task where none is mapped.

    Returns
    -------
    pyarrow.Table
        ``row``, ``cell``, ``early_fate`` (filtered, not_asked, unscored, or null), ``reason``
        (null: a judgment), then the mapped fields, with ``task`` and ``item`` (or ``item_a`` and
        ``item_b``) always there.
    """
    return pa.concat_tables(
        _records(cells, source, path, campaign) for cells in record_cells(rows, source)
    )


def _records(cells: RecordCells, source: Source, path: str, campaign: str) -> pa.Table:
    rows = cells.rows
    fields, reasons = _fields(cells, source, path)
    reasons += derive_preference(fields, cells, source, path)
    if "task" not in fields:
        fields["task"] = pa.repeat(campaign, len(rows))
    _derive_items(fields)
    early = early_fates(cells, source, fields, path)
    reason = first_reason(rows.problem, early.reason, *reasons, *_demands(fields))
    names = judge_cells(cells, source, path)
    if names is not None:
        fields[CELLS] = names
    name_versions(fields)
    add_text_digests(fields)
    if source.options.skip_rows:  # the first rows hold no data, and so name nobody
        is_data = pa.array(np.asarray(rows.row) > source.options.skip_rows)
        for name in {"judge", CELLS} & fields.keys():
            fields[name] = pc.if_else(is_data, fields[name], pa.scalar(None, TEXT))
    return pa.table(
        {
            "row": pa.array(rows.row),
            "cell": _cell(cells, source),
            "early_fate": early.fate,
            "reason": reason,
            **fields,
        }
    )


def read_items(rows: RawRows, source: ItemSource, *, path: str) -> pa.Table:
    """Return the items of some raw rows: ``row``, ``reason``, ``item`` and mapped fields."""
    fields, reasons = _fields(RecordCells(rows, {}), source, path)
    _derive_items(fields)
    reason = first_reason(rows.problem, *reasons, _blank(fields["item"], "item"))
    return pa.table({"row": pa.array(rows.row), "reason": reason, **fields})


def _fields(
    cells: RecordCells, source: Source | ItemSource, path: str
) -> tuple[dict[str, pa.Array], list[pa.Array | None]]:
    """Return mapped fields, typed, and the reasons that their values give."""
    fields: dict[str, pa.Array] = {}
    reasons: list[pa.Array | None] = []
    for name, expression in source.fields.items():
        of_name = without_steps(expression) if name == "winner" else expression
        values = evaluate(of_name, cells, path=path, field=name)
        longest = None if name == "text" and isinstance(source, Source) else LONGEST_VALUE
        unfit = _unfit(name, values.array, longest)
        fit = values.array
        if unfit is not None:
            fit = pc.if_else(pc.is_valid(unfit), pa.scalar(None, pa.string()), fit)
        typed = _typed(name, fit)
        fields[name] = typed.array
        reasons += [values.reasons, unfit, typed.reasons]
    return fields, reasons


def _typed(name: str, array: pa.Array) -> Values:
    """Return the text as the field's type; blank is null."""
    if name == "submitted_at":
        plain = read_plain_times(array)
        if plain is not None:
            return Values(plain)
        return for_each_value(array, _optional(lambda v: parse_time(v, name)), TIME)
    if name in FIELD_TYPES:
        whole = pa.types.is_integer(FIELD_TYPES[name])
        return for_each_value(
            array, _optional(lambda v: _number(v, name, whole)), FIELD_TYPES[name]
        )
    if name in ANSWER_TEXTS:
        array = for_each_value(array, _optional(answer_text)).array
    if name in ALLOWED:
        return for_each_value(array, _optional(lambda v: _one_of(v, name, ALLOWED[name])))
    if array.null_count == len(array):
        return Values(array)
    text = array if name in TEXTS else pc.utf8_trim_whitespace(array)
    return Values(pc.if_else(is_blank(array), pa.scalar(None, pa.string()), text))


ANSWER_TEXTS = ("label", "truth")
"""Fields that hold an answer as text."""
TEXTS = ("text", "source", "reference", "judge_prompt", "why")
"""Fields that stay as they are; of names, blanks around them are no part."""

PLAIN_TIME = r"^[1-9]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?$"


def read_plain_times(array: pa.Array) -> pa.Array | None:
    """Return times that are all written as most tools do, in UTC; None where one is not.

    They are as many as rows, so that to read each in Python would take longer than all else.
    """
    if not pc.all(pc.match_substring_regex(array, PLAIN_TIME)).as_py():
        return None
    try:
        parsed = pc.utf8_rtrim(array, "Z").cast(pa.timestamp(TIME.unit))
    except pa.ArrowInvalid:  # a day that no month has: told by value
        return None
    return pc.assume_timezone(parsed, "UTC").cast(TIME)


LARGEST = {
    "votes": 2**31 - 1, "score": 1e15, "strength": 1e15, "rank": 1e15, "rank_a": 1e15,
    "rank_b": 1e15, "seconds": 1e9, "hit_seconds": 1e9, "judge_temperature": 100.0,
    "selection_probability": 1.0,
}  # fmt: skip
"""Numbers beyond are no such thing, and could not be summed exactly."""

NOT_NEGATIVE = ("seconds", "hit_seconds", "judge_temperature")
NOT_RANKED = -1
"""What tools write as the rank of an output that was not ranked."""


def _optional(function: Callable[[str], T]) -> Callable[[str | None], T | None]:
    return lambda value: None if value is None or not value.strip() else function(value)


def _number(value: str, field: str, whole: bool) -> float | int:
    if not NUMBER.fullmatch(value):
        raise RejectionError(f"{field} is not a number: {shorten(value)}")
    number = float(value.strip())
    if whole and not number.is_integer():
        raise RejectionError(f"{field} is not a whole number: {shorten(value)}")
    if not abs(number) <= LARGEST[field]:
        raise RejectionError(f"{field} is too large: {shorten(value)}")
    if field.startswith("rank") and number == NOT_RANKED:
        raise RejectionError(f"{field} is -1: not ranked")
    if (whole or field in NOT_NEGATIVE) and number < 0:
        raise RejectionError(f"{field} is negative: {shorten(value)}")
    if field == "selection_probability" and number <= 0:
        raise RejectionError(f"{field} is not above 0: {shorten(value)}")
    return int(number) if whole else number


def _one_of(value: str, field: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise RejectionError(f"{field} is not one of {', '.join(allowed)}: {shorten(value)}")
    return value


def _derive_items(fields: dict[str, pa.Array]) -> None:
    """Set the item to ``segment/system`` where none is mapped; for pairs on both sides.

    Where no segment is mapped either, the systems of a pair are compared as such.
    """
    for item, system in (("item", "system"), ("item_a", "system_a"), ("item_b", "system_b")):
        if item in fields or system not in fields:
            continue
        if "segment" in fields:
            fields[item] = pc.binary_join_element_wise(
                _escaped(fields["segment"]), _escaped(fields[system]), "/"
            )
        elif item != "item":
            fields[item] = fields[system]


def _escaped(array: pa.Array) -> pa.Array:
    """Percent-encode ``%`` and ``/``, so that segment and system can be separated again."""
    array = pc.if_else(is_blank(array), pa.scalar(None, pa.string()), array)
    return pc.replace_substring(pc.replace_substring(array, "%", "%25"), "/", "%2F")


def _demands(fields: dict[str, pa.Array]) -> list[pa.Array | None]:
    """Return reasons where judge, votes, item or any answer is missing."""
    reasons = [_blank(fields[name], name) for name in (*WHO, "votes") if name in fields]
    mapped = [names for names in ANSWERS if names[0] in fields]
    if {"winner", "strength"} & fields.keys():  # the preference follows from them
        mapped = [names for names in mapped if names != ("preference",)]
    incomplete = [reduce(pc.or_, (is_blank(fields[n]) for n in names)) for names in mapped]
    unanswered = reduce(pc.and_, incomplete)
    field_names = " and ".join(name for names in mapped for name in names)
    verb = "is" if len(mapped) == len(mapped[0]) == 1 else "are"
    return [*reasons, *_what(fields), reason_where(unanswered, f"{field_names} {verb} blank")]


def _what(fields: dict[str, pa.Array]) -> list[pa.Array | None]:
    """Return reasons where no item is named, or a pair is not of two different ones."""
    if "item_a" not in fields:
        return [_blank(fields["item"], "item")] if "item" in fields else []
    blank = [is_blank(fields[name]) for name in PAIR]
    if "item" in fields:  # single items and pairs in one export: either will do
        single = pc.invert(is_blank(fields["item"]))
        none = pc.and_(is_blank(fields["item"]), pc.and_(*blank))
        reasons = [reason_where(none, "item, item_a and item_b are blank")]
        blank = [pc.and_(one, pc.invert(pc.or_(single, none))) for one in blank]
    else:
        reasons = []
    reasons += [reason_where(b, f"{n} is blank") for b, n in zip(blank, PAIR, strict=True)]
    same = pc.fill_null(pc.equal(fields["item_a"], fields["item_b"]), False)
    return [*reasons, reason_where(same, "item_a and item_b are the same")]


def _blank(array: pa.Array, field: str) -> pa.Array | None:
    return reason_where(is_blank(array), f"{field} is blank")


def _unfit(name: str, array: pa.Array, longest: int | None) -> pa.Array | None:
    """Return reasons for values that no field can hold: NUL characters, or too long."""
    if array.null_count == len(array):
        return None
    nul = pc.fill_null(pc.match_substring(array, "\0"), False)
    has_nul = reason_where(nul, f"{name} holds a NUL character")
    if longest is None:
        return has_nul
    too_long = pc.fill_null(pc.greater(pc.binary_length(array), longest), False)
    return first_reason(reason_where(too_long, f"{name} is longer than {longest:,} bytes"), has_nul)


def _cell(cells: RecordCells, source: Source) -> pa.Array:
    """Return the record's place in the raw row; null if a row is one record.

    What tells who judged is named by its place: cells are published.
    """
    rows = cells.rows
    if not source.each:
        return rows.cell if rows.cell is not None else pa.nulls(len(rows), pa.string())
    who = source.fields["judge"].model_dump_json() if "judge" in source.fields else ""
    parts = []
    for name, each in source.each.items():
        is_name = f"{{{name}}}" in who or f"{{{name}.index}}" in who or f"{{{name}.value}}" in who
        column = f"{{{name}.index}}" if is_name else f"{{{name}}}"
        label = f"{name}.index=" if is_name and not isinstance(each, EachElement) else f"{name}="
        if name in cells.varying:
            value = rows.columns[column].fill_null("")
        else:
            value = pa.repeat(cells.bindings[column], len(rows))
        parts.append(pc.binary_join_element_wise(pa.scalar(label), value, ""))
    each_cell = pc.binary_join_element_wise(*parts, ",")
    return (
        each_cell if rows.cell is None else pc.binary_join_element_wise(rows.cell, each_cell, "#")
    )
