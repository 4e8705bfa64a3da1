"""Exports that nobody meant: random cells, columns, types and bytes, in the formats there are."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

COLUMNS = ("item", "judge", "label", "score", "control", "submitted_at", "seconds", "hit")
ODD = (
    "", " ", "\0", "\ufeff", "\u202e", "\x1b[2J", '"', "'", "\\", "a,b", "a\nb", "\r", "=cmd()",
    "NaN", "inf", "-0", "1e400", "1e-400", "٣", "½", "9" * 40, "null", "None", "true", "[]", "{}",
    "2024-02-30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+99:99", "-1", "1,5", "🙂", "é",
    "e\u0301", "x" * 5000, "none", "bad_reference", "known_answer", "adjudication", "%s", "${x}",
)  # fmt: skip
CELLS = st.one_of(
    st.sampled_from(("i1", "i2", "j1", "j2", "good", "bad", "none", "50", "7.5")),
    st.sampled_from(ODD),
    st.text(max_size=12),
)
VALUES = st.recursive(
    st.one_of(CELLS, st.none(), st.booleans(), st.integers(), st.floats()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(CELLS, inner, max_size=2),
    max_leaves=4,
)
ENCODINGS = st.sampled_from(("utf-8",) * 4 + ("utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-7"))
PARQUET = st.sampled_from(
    (
        pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.uint8(), pa.float32(),
        pa.bool_(), pa.timestamp("us", "UTC"), pa.date32(), pa.decimal128(9, 2), pa.duration("s"),
        pa.list_(pa.string()), pa.struct([("a", pa.int8())]), pa.dictionary(pa.int8(), pa.string()),
        pa.null(), pa.time64("us"),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Export:
    """An export: its bytes, its format, and what a campaign says of it."""

    data: bytes
    format: str
    fields: dict[str, Any]
    options: dict[str, str]


@st.composite
def exports(draw: st.DrawFn) -> Export:
    """An export of some format; most fit their campaign, and some bytes are changed at the end."""
    kind = draw(st.sampled_from(sorted(MAKERS)))
    fields = FIELDS.get(kind)
    if fields is None:
        answer = draw(st.sampled_from(("label", "score")))
        more = draw(st.lists(st.sampled_from(COLUMNS[4:]), max_size=2))
        fields = {name: name for name in ("item", "judge", answer, *more)}
    options: dict[str, str] = {}
    data = MAKERS[kind](draw, options)
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 3)))):
        place = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from((0, 1, 5)))
        data = data[:place] + draw(st.binary(max_size=4)) + data[place + cut :]
    return Export(data, kind, fields, options)


def _encoded(draw: st.DrawFn, options: dict[str, str], text: str) -> bytes:
    """In some encoding, which may be declared."""
    encoding = draw(ENCODINGS)
    if encoding != "utf-8" and draw(st.booleans()):
        options["encoding"] = encoding
    return text.encode(encoding, errors="replace")


def _header(draw: st.DrawFn) -> list[str]:
    if draw(st.integers(0, 7)):
        return list(COLUMNS)
    return draw(st.lists(st.sampled_from(COLUMNS) | CELLS, max_size=9))


def _csv(draw: st.DrawFn, options: dict[str, str]) -> bytes:
    header = _header(draw)
    text = io.StringIO()
    delimiter = draw(st.sampled_from((",", ",", "\t", ";")))
    if delimiter != ",":
        options["delimiter"] = delimiter
    ends = draw(st.sampled_from(("\n", "\r\n")))
    writer = csv.writer(text, lineterminator=ends, delimiter=delimiter)
    writer.writerow(header)
    for _ in range(draw(st.integers(0, 6))):
        n_cells = draw(st.sampled_from([len(header)] * 5 + [len(header) + 1, 1]))
        writer.writerow([draw(CELLS) for _ in range(n_cells)])
    return _encoded(draw, options, text.getvalue())


def _jsonl(draw: st.DrawFn, options: dict[str, str]) -> bytes:
    names = _header(draw)

    def line() -> str:
        if draw(st.integers(0, 7)):
            return json.dumps({name: draw(VALUES) for name in names})
        return draw(CELLS)

    return _encoded(draw, options, "\n".join(line() for _ in range(draw(st.integers(0, 5)))))


def _parquet(draw: st.DrawFn, _: dict[str, str]) -> bytes:
    n_rows = draw(st.integers(0, 4))
    columns, names = [], []
    for name in _header(draw):
        kind = draw(st.sampled_from((pa.string(),)) | PARQUET)
        values = [draw(CELLS | st.none()) for _ in range(n_rows)]
        if not pa.types.is_string(kind):
            values = [draw(_fitting(kind)) for _ in range(n_rows)]
        columns.append(pa.array(values, kind))
        names.append(name)
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, names), file)
    return file.getvalue()


def _fitting(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that a column of a type may have."""
    if pa.types.is_binary(kind):
        return st.none() | st.binary(max_size=5)
    if pa.types.is_list(kind):
        return st.none() | st.lists(CELLS, max_size=2)
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({"a": st.integers(0, 9)})
    if pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return st.none() | CELLS
    if pa.types.is_null(kind):
        return st.none()
    if pa.types.is_timestamp(kind):
        return st.none() | st.datetimes()
    if pa.types.is_date(kind):
        return st.none() | st.dates()
    if pa.types.is_time(kind):
        return st.none() | st.times()
    if pa.types.is_duration(kind):
        return st.none() | st.timedeltas()
    if pa.types.is_boolean(kind):
        return st.none() | st.booleans()
    if pa.types.is_floating(kind):
        return st.none() | st.floats(width=32)
    if pa.types.is_decimal(kind):
        return st.none() | st.decimals(-999, 999, places=2)
    return st.none() | st.integers(0, 99)


def _label_studio(draw: st.DrawFn, options: dict[str, str]) -> bytes:
    """Tasks as Label Studio writes them; one value in eight is another."""

    def odd(value: Any) -> Any:
        return value if draw(st.integers(0, 7)) else draw(VALUES)

    def answer() -> Any:
        choices = odd([draw(CELLS)])
        value = odd({"choices": choices})
        return odd({"from_name": "q", "to_name": "t", "type": odd("choices"), "value": value})

    def annotation(number: int) -> Any:
        actual = {"id": odd(number), "completed_by": odd(number), "result": odd([answer()])}
        return odd(actual | {"created_at": draw(CELLS), "lead_time": odd(1.5)})

    tasks = [
        odd({"id": odd(n), "data": odd({"id": draw(CELLS)}), "annotations": odd([annotation(n)])})
        for n in range(draw(st.integers(0, 4)))
    ]
    return _encoded(draw, options, json.dumps(odd(tasks)))


def _wmt_ranking(draw: st.DrawFn, options: dict[str, str]) -> bytes:
    cell = CELLS.map(lambda text: text.replace('"', "").replace("<", "").replace("&", "")[:50])
    judge, rank = draw(cell), draw(st.sampled_from(("1", "2", "-1", "")) | cell)
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<results><HIT hit-id="h{draw(cell)}" source-language="eng" target-language="{draw(cell)}">
<ranking-task id="{draw(cell)}"><ranking-result duration="{draw(cell)}" user="{judge}">
<translation system="{draw(cell)}" rank="{rank}"/><translation system="b" rank="1"/>
</ranking-result></ranking-task></HIT></results>"""
    return _encoded(draw, options, text)


MAKERS = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "label_studio": _label_studio,
    "wmt_ranking": _wmt_ranking,
}
FIELDS = {
    "label_studio": {
        "item": "data.id",
        "judge": "completed_by",
        "label": "choice",
        "submitted_at": "created_at",
        "seconds": "lead_time",
    },
    "wmt_ranking": {
        "task": "target_language",
        "judge": "user",
        "ranking": "ranking",
        "segment": "segment",
        "position": "position",
        "system": "system",
        "rank": "rank",
        "seconds": "duration",
        "hit": "hit_id",
    },
}
"""Of formats that offer columns of their own."""
