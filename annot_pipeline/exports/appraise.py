"""Appraise CSV, as its command ExportSystemScoresToCSV writes it: with or without a header line.

Appraise writes no header; whoever publishes an export may add one. So the columns are told by
the names in the first line or, without them, by how many fields the first rows have and what
these hold. Files of several campaigns differ: ``docId`` and ``isDocScore`` stand in those on
documents, ``mqm`` in those with error spans (ESA, MQM), ``errors`` and ``sourceErrors`` in
those that compare sentences, and the last columns where ``--batch-info`` was asked for.

Beside these columns mappings get some that no mapping could make: see `MADE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.errors import InputError, Problem
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows
from annot_pipeline.exports.tabular import read_csv

HEAD = ("username", "system", "itemId", "itemType", "srcLang", "trgLang", "score")
TIMES = ("timeStart", "timeEnd")
DOCUMENT = ("docId", "isDocScore")
ERRORS = ("errors", "sourceErrors")
BATCH = ("batchNo", "item_id")
NAMED = frozenset({*HEAD, *TIMES})
"""What a header must name."""

LAYOUTS: tuple[tuple[str, ...], ...] = (
    (*HEAD, *DOCUMENT, *TIMES),
    (*HEAD, *DOCUMENT, *TIMES, *BATCH),
    (*HEAD, *DOCUMENT, *TIMES, *BATCH, "target"),
    (*HEAD, *TIMES),
    (*HEAD, *TIMES, *BATCH),
    (*HEAD, *TIMES, *BATCH, "target"),
    (*HEAD, *DOCUMENT, "mqm", *TIMES),
    (*HEAD, *DOCUMENT, "mqm", *TIMES, *BATCH),
    (*HEAD, *DOCUMENT, "mqm", *TIMES, *BATCH, "target"),
    (*HEAD, *ERRORS, *TIMES),
    (*HEAD, *ERRORS, *TIMES, *BATCH, "target"),
)
"""Columns of files without a header. Of equally many, those that hold free text come last: of
several layouts that rows fit, the first is meant.
"""

ROWS_LOOKED_AT = 20
NUMBER = r"[0-9]{1,15}(\.[0-9]{0,20})?"
FITS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("score", *TIMES, *BATCH, "target"), re.compile(NUMBER)),
    "itemType": re.compile("TGT|BAD|REF|CHK|SRC"),
    "isDocScore": re.compile("true|false", re.IGNORECASE),
}
"""What tells columns apart; the others hold anything."""

Columns = Mapping[str, pa.Array]


def read_appraise(opening: Opening) -> Export:
    """Open an Appraise export; see `raw_rows.Export`.

    Raises
    ------
    InputError
        The file has neither the header nor the rows of an Appraise export.
    """
    header = opening.header or missing_header(opening)
    inputs = (MADE[name][0] for name in MADE.keys() & (opening.used_columns or ()))
    used_columns = None if opening.used_columns is None else opening.used_columns.union(*inputs)
    table = read_csv(replace(opening, header=header, used_columns=used_columns))
    derived = [
        name
        for name, (sources, _) in MADE.items()
        if name not in table.columns and sources <= {*table.columns, *DOCUMENT}
    ]
    export = Export(iter(()), [*table.columns, *derived], table.ignored)
    export.chunks = _chunks(opening, table, derived, export)
    return export


def _chunks(
    opening: Opening, table: Export, derived: Sequence[str], export: Export
) -> Iterator[RawRows]:
    used_columns = {*export.columns} if opening.used_columns is None else opening.used_columns
    for chunk in table.chunks:
        columns = {name: column for name, column in chunk.columns.items() if name in used_columns}
        columns |= {name: MADE[name][1](chunk.columns) for name in derived if name in used_columns}
        yield replace(chunk, columns=columns)
    export.n_rows, export.lines = table.n_rows, table.lines


# --- which columns there are ---------------------------------------------------------------

FirstRows = Sequence[Sequence[str | None] | None]
"""The first rows as cells; None for those of another number of fields."""


def missing_header(opening: Opening) -> tuple[str, ...] | None:
    """Return the columns of a file without a header; None if it has one or is empty."""
    first: list[str] = []
    error: InputError | None = None
    try:
        first = read_csv(opening).columns
        if not first or NAMED.issubset(first):
            return None
    except InputError as unreadable:  # as a row of judgments it may be one to reject
        error = unreadable
    tried: dict[int, FirstRows] = {}
    for n_fields in sorted({*map(len, LAYOUTS)}, key=lambda n: (n != len(first), n)):
        rows = tried[n_fields] = _first_rows(opening, n_fields)
        for layout in _layouts(n_fields):
            unfit = [_unfit(layout, row) for row in rows]
            if 2 * sum(not names for names in unfit) > len(rows) and unfit[
                0
            ] != _distinctive_columns(layout):
                return layout
    raise error or _no_export(opening, first, tried.get(len(first), ()))


def _layouts(n_fields: int) -> list[tuple[str, ...]]:
    return [layout for layout in LAYOUTS if len(layout) == n_fields]


def _first_rows(opening: Opening, n_fields: int) -> FirstRows:
    rows: dict[int, list[str | None] | None] = {}
    numbered = tuple(str(position) for position in range(n_fields))
    for chunk in read_csv(replace(opening, header=numbered, used_columns=None)).chunks:
        for position, number in enumerate(chunk.row[:ROWS_LOOKED_AT].tolist()):
            whole = not chunk.problem[position].is_valid
            cells = [column[position].as_py() for column in chunk.columns.values()]
            rows[number] = cells if whole else None
        if len(rows) >= ROWS_LOOKED_AT:
            break
    return [rows[number] for number in sorted(rows)]


def _unfit(layout: Sequence[str], row: Sequence[str | None] | None) -> set[str]:
    """Return the columns of a layout that a row does not fit."""
    if row is None:
        return {"the number of fields"}
    cells = dict(zip(layout, row, strict=True))
    return {
        name
        for name in _distinctive_columns(layout)
        if not FITS[name].fullmatch((cells[name] or "").strip())
    }


def _distinctive_columns(layout: Sequence[str]) -> set[str]:
    """Return the columns of a layout that not every value fits."""
    return FITS.keys() & {*layout}


def _no_export(opening: Opening, first: Sequence[str], rows: FirstRows) -> InputError:
    numbers = ", ".join(str(n) for n in sorted({*map(len, LAYOUTS)}))
    what = f"is not an Appraise export: {_what_is_wrong(first, rows)}"
    allowed = (
        f"a header with {', '.join((*HEAD, *TIMES))}, or rows of {numbers} fields "
        "in which score and times are numbers and itemType is TGT, BAD, REF or CHK"
    )
    do = "name the columns in options.columns, or use format: csv"
    return InputError(f"{opening.name}: cannot be read", [Problem("", what, allowed, do)])


def _what_is_wrong(first: Sequence[str], rows: FirstRows) -> str:
    """Return what is wrong, without any value: it may tell who judged."""
    if NAMED & {*first}:
        return f"the header lacks {', '.join(n for n in (*HEAD, *TIMES) if n not in first)}"
    text = f"a row has {len(first)} fields"
    if not rows:
        return text
    unfit = [
        [name for name in layout if 2 * sum(name in _unfit(layout, r) for r in rows) >= len(rows)]
        for layout in _layouts(len(first))
    ]
    least = min(unfit, key=len)
    if not least:
        return "the first line is neither a judgment nor a header with the names of Appraise"
    return f"{text}, but half of them or more hold something else in {', '.join(least)}"


# --- columns that are made -----------------------------------------------------------------


def _seconds(columns: Columns) -> pa.Array:
    """Return ``timeEnd`` - ``timeStart``; null where they are no numbers or in the wrong order."""
    start, end = (_numbers(columns[name]) for name in TIMES)
    took = pc.round(pc.subtract(end, start), 6)  # epoch seconds as doubles hold no more
    return _where(pc.greater_equal(took, 0), pc.cast(took, pa.string()))


def _numbers(texts: pa.Array) -> pa.Array:
    texts = pc.utf8_trim_whitespace(texts)
    are = pc.match_substring_regex(texts, f"^(?:{NUMBER})$")
    return pc.cast(_where(are, texts), pa.float64())


def _unit(columns: Columns) -> pa.Array:
    """Return ``document`` or ``segment``: what the score is of; null if that is not said."""
    if "isDocScore" not in columns:
        return pa.repeat("segment", len(columns["itemId"]))
    document_flag = pc.utf8_lower(pc.utf8_trim_whitespace(columns["isDocScore"]))
    return pc.if_else(
        pc.equal(document_flag, "true"),
        "document",
        _where(pc.equal(document_flag, "false"), "segment"),
    )


def _segment(columns: Columns) -> pa.Array:
    """Return ``itemId``, in documents ``docId/itemId``.

    Each part is percent-encoded; a document's score has the ``docId`` alone. A degraded twin is a
    twin although ``#bad`` ends its ``docId``.
    """
    item = columns["itemId"]
    if "docId" not in columns:
        return item
    document = _encoded(_document(columns))
    within = pc.binary_join_element_wise(document, _encoded(item), "/")
    return pc.if_else(pc.equal(_unit(columns), "document"), document, within)


def _document(columns: Columns) -> pa.Array:
    """Return ``docId``, of a degraded twin without the ``#bad`` at its end.

    Null where there is none.
    """
    if "docId" not in columns:
        return pa.nulls(len(columns["itemId"]), pa.string())
    document = columns["docId"]
    without = pc.replace_substring_regex(document, r"#bad\d*$", "")
    return pc.if_else(pc.equal(columns["itemType"], "BAD"), without, document)


def _encoded(texts: pa.Array) -> pa.Array:
    texts = _where(pc.not_equal(pc.utf8_trim_whitespace(texts), ""), texts)
    return pc.replace_substring(pc.replace_substring(texts, "%", "%25"), "/", "%2F")


def _where(mask: pa.Array, values: pa.Array | str) -> pa.Array:
    """Return the values where the mask holds, null elsewhere."""
    return pc.if_else(mask, values, pa.scalar(None, pa.string()))


MADE: dict[str, tuple[frozenset[str], Callable[[Columns], pa.Array]]] = {
    "seconds": (frozenset(TIMES), _seconds),
    "segment": (frozenset({"itemId", "itemType", *DOCUMENT}), _segment),
    "unit": (frozenset({"itemId", *DOCUMENT}), _unit),
    "document": (frozenset({"itemId", "itemType", *DOCUMENT}), _document),
}
"""Columns made of others, and how; a column of the file itself is never replaced."""
