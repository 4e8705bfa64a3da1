"""What a Parquet export decodes to is bounded, however few bytes stand for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.config import Limits
from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.parquet import read_parquet
from annot_pipeline.exports.raw_rows import RawRows

MB = 1 << 20
VALUE = "x" * MB


def written(path: Path, columns: dict[str, pa.Array], **options: object) -> Path:
    table = pa.Table.from_arrays([*columns.values()], names=[name.strip() for name in columns])
    pq.write_table(table, path, compression="zstd", store_schema=False, **options)
    return path


def chunks(path: Path, **limits: int) -> list[RawRows]:
    opening = Opening(path, "a.parquet", limits=Limits(**limits))
    return [*READERS["parquet"](opening).chunks]


def small_chunks(path: Path) -> list[RawRows]:
    opening = Opening(path, "a.parquet")
    return [*read_parquet(opening, batch_bytes=1 << 12, large_value=16).chunks]


def repeated(n: int) -> pa.Array:
    """Return a column of one value of 1 MB."""
    return pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), pa.array([VALUE]))


def lists(array: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(array) + 1), pa.int32()), array)


def texts() -> pa.Array:
    return repeated(300).dictionary_decode()


BOMBS: dict[str, Callable[[], dict[str, pa.Array]]] = {
    "dictionary": lambda: {"a": repeated(3000)},
    "null_first": lambda: {"a": null_first(repeated(2999))},
    "binary": lambda: {"a": texts().cast(pa.binary())},
    "fixed_binary": lambda: {"a": texts().cast(pa.binary(MB))},
    "list": lambda: {"a": lists(texts())},
    "list_null_first": lambda: {"a": null_first(lists(texts()))},
    "equal_names": lambda: {"a": repeated(400), "a ": repeated(400)},
    "prefixes": lambda: {"a": texts()},
    "nulls": lambda: {"a": pa.nulls(80 * MB, pa.string())},
}


def null_first(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([pa.nulls(1, array.type), array])


@pytest.fixture
def pool():
    """Arrow's memory, counted from none."""
    default, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(default)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_of_much_is_refused_in_little_memory(tmp_path, pool, kind):
    options = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    path = tmp_path / "a.parquet"
    pa.set_memory_pool(pa.system_memory_pool())
    written(path, BOMBS[kind](), **(options if kind == "prefixes" else {}))
    pa.set_memory_pool(pool)
    assert path.stat().st_size < MB
    with pytest.raises(InputError, match=r"a\.parquet.*\n.*250 times its size") as raised:
        chunks(path)
    assert "raise limits.unpacked_ratio" in str(raised.value)
    assert pool.max_memory() < 400 * MB


def test_rows_and_decoded_bytes_are_bounded(tmp_path):
    path = written(tmp_path / "a.parquet", {"a": repeated(60)})
    assert sum(map(len, chunks(path))) == 60
    with pytest.raises(InputError, match="unpacks to more than 8,000,000 bytes"):
        chunks(path, unpacked_bytes=8_000_000)
    with pytest.raises(InputError, match=r"row 1 is longer than 1,000,000 bytes"):
        chunks(path, row_bytes=1_000_000)
    plain = written(tmp_path / "b.parquet", {"a": pa.array(["", VALUE])}, use_dictionary=False)
    with pytest.raises(InputError, match=r"row 2 is longer than 1,000,000 bytes"):
        chunks(plain, row_bytes=1_000_000)


@pytest.mark.slow
def test_a_row_that_nests_much_is_refused(tmp_path, pool):
    """One row, a list of 1,900 values of 1 MB, in some hundred bytes."""
    array = pa.ListArray.from_arrays([0, 1900], pa.array([VALUE]).take(np.zeros(1900, np.int32)))
    path = written(tmp_path / "a.parquet", {"a": array})
    del array
    pool_before = pool.bytes_allocated()
    with pytest.raises(InputError, match=r"unpacks|row 1 is longer than"):
        chunks(path)
    assert pool.bytes_allocated() <= pool_before


@pytest.mark.sampled
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", None])
def test_small_batches_hold_the_same_rows(tmp_path, encoding):
    n = 3000
    texts = pa.array([None if k % 7 == 0 else f"{k % 11}" * (k % 11) for k in range(n)])
    columns = {
        "text": texts,
        "list": lists(texts),
        "struct": pa.StructArray.from_arrays([texts, pa.array(range(n))], ["s", "n"]),
        "map": pa.array([[(f"{k % 3}", k)] for k in range(n)], pa.map_(pa.string(), pa.int64())),
        "number": pa.array([k / 4 for k in range(n)]),
        "x.y": pa.array([f"{k}" for k in range(n)]),
    }
    options = {"use_dictionary": encoding is None, "row_group_size": 700}
    if encoding:
        options["column_encoding"] = {"text": encoding}
    read = small_chunks(written(tmp_path / "a.parquet", columns, **options))
    assert len(read) > 2 * -(-n // 700), "more than row groups"
    assert [row for chunk in read for row in chunk.row] == [*range(1, n + 1)]
    joined = {name: [v for c in read for v in c.columns[name].to_pylist()] for name in columns}
    for name, values in columns.items():
        plain = [v.as_py() for v in values]
        if pa.types.is_nested(values.type):
            plain = [dict(v) for v in plain] if name == "map" else plain
            plain = [json.dumps(v, ensure_ascii=False, sort_keys=True) for v in plain]
        if name == "number":
            plain = [f"{v:g}" for v in plain]
        assert joined[name] == [None if v is None else str(v) for v in plain]
    equal = written(tmp_path / "b.parquet", {"a": texts, "a ": texts}, row_group_size=700)
    second = [v for chunk in small_chunks(equal) for v in chunk.columns["a#2"].to_pylist()]
    assert second == texts.to_pylist()
