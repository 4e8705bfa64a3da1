"""Equal values have one hash however they lie in memory; other values have another."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from annot_pipeline.runtime.hash_values import hash_values

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
COLUMNS = {
    "text": (pa.string(), ["a", None, "bc", ""]),
    "whole": (pa.int64(), [1, None, -3, 0]),
    "small": (pa.int8(), [1, 0, -1, 1]),
    "real": (pa.float64(), [0.5, None, -1.0, 2.0]),
    "flag": (pa.bool_(), [True, None, False, True]),
    "time": (pa.timestamp("us", "UTC"), [NOON, None, NOON, NOON]),
    "texts": (pa.list_(pa.string()), [["a"], None, [], ["b", "c"]]),
    "nothing": (pa.float64(), [None] * 4),
}


def table(**others):
    values = {name: others.get(name, values) for name, (_, values) in COLUMNS.items()}
    return pa.table({name: pa.array(v, COLUMNS[name][0]) for name, v in values.items()})


def other_values():
    for name, (_, values) in COLUMNS.items():
        yield name, [values[-1], *values[1:-1], values[0]] if values[0] != values[-1] else [
            *values[2:], *values[:2]
        ]  # fmt: skip
    yield "text", ["a", "", "bc", None]
    yield "text", ["ab", None, "c", ""]
    yield "whole", [1, 0, -3, None]
    yield "real", [0.5, 0.0, -1.0, 2.0]


def test_how_values_lie_in_memory_does_not_matter():
    whole = hash_values([table()])
    rows = table()
    longer = pa.concat_tables([rows, rows.slice(1), rows])
    assert hash_values([longer.slice(7)]) == whole
    assert hash_values([pa.concat_tables([rows.slice(0, 1), rows.slice(1)])]) == whole
    names = pa.DictionaryArray.from_arrays(pa.array([2, None, 1, 0]), ["", "bc", "a", "unused"])
    assert hash_values([rows.set_column(0, "text", names)]) == whole


def test_what_lies_under_a_null_does_not_matter():
    hidden = pa.array([1, 99, -3, 0])
    valid = pa.py_buffer(bytes([0b1101]))
    masked = pa.Array.from_buffers(pa.int64(), 4, [valid, hidden.buffers()[1]])
    assert hash_values([table().set_column(1, "whole", masked)]) == hash_values([table()])


@pytest.mark.parametrize(
    ("name", "values"), [of for of in other_values() if of[1] != COLUMNS[of[0]][1]]
)
def test_other_values_have_another_hash(name, values):
    assert hash_values([table(**{name: values})]) != hash_values([table()])


def test_tables_and_rows_have_their_places():
    rows = table()
    assert hash_values([rows, rows.slice(0, 0)]) != hash_values([rows.slice(0, 0), rows])
    assert hash_values([rows.slice(0, 2), rows.slice(2)]) != hash_values([rows, rows.slice(0, 0)])
    assert hash_values([rows.slice(0, 0)]) == hash_values([table().slice(4)])
