"""What an export may hold at most: beyond, it is refused by name, and not read on."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.config import Limits
from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Opening, raw_rows
from tests.memory import peak_bytes

MB = 1 << 20


def refused(path: Path, format_: str, setting: str, **limits: int) -> None:
    opening = Opening(path, path.name, limits=Limits(**limits))
    with pytest.raises(InputError, match=f"raise limits.{setting}") as error:
        for _ in READERS[format_](opening).chunks:
            pass
    assert path.name in str(error.value)


def gzipped(path: Path, size: int) -> Path:
    """Write a small gzip of so many bytes, which are one row."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(b"item,judge\n")
        for _ in range(size // MB):
            file.write(b"a" * MB)
    return path


def refuse_by_ratio(path: Path, format_: str) -> None:
    """Meet no limit but the ratio of unpacked to packed bytes; in a process of its own."""
    raw_rows.RATIO_FROM = MB
    refused(path, format_, "unpacked_ratio", row_bytes=1 << 30, document_bytes=1 << 40)


@pytest.mark.sampled
@pytest.mark.parametrize("format_", ["csv", "jsonl", "label_studio", "parquet"])
def test_a_small_gzip_of_much_is_refused_in_little_memory(tmp_path, format_):
    path = gzipped(tmp_path / "bomb.csv.gz", 100 * MB)
    assert path.stat().st_size < MB // 4
    assert peak_bytes(refuse_by_ratio, path, format_) < 80 * MB


def test_a_bomb_is_refused_before_it_is_kept(build_campaign, tmp_path):
    good = "item,judge,label\n" + "".join(f"i{i},w{i},a\n" for i in range(4))
    build_campaign({"a.csv": good})
    folder = tmp_path / "campaign"
    gzipped(folder / "exports" / "b.csv.gz", 100 * MB)
    document = json.loads((folder / "campaign.yaml").read_text())
    document["sources"].append(document["sources"][0] | {"path": "exports/*.gz"})
    (folder / "campaign.yaml").write_text(json.dumps(document))
    before = {path.name for path in (folder / "store" / "archive").glob("*/*")}
    from tests.conftest import build_file

    with pytest.raises(InputError, match="unpacks to more than 250 times its size"):
        build_file(folder)
    with pytest.raises(InputError, match=r"unpacks to more than 1,000 bytes"):
        build_file(folder, "limits.unpacked_bytes=1000")
    assert {path.name for path in (folder / "store" / "archive").glob("*/*")} == before


@pytest.mark.slow
def test_to_raise_a_limit_publishes_nothing(build_campaign):
    good = "item,judge,label\n" + "".join(f"i{i},w{i},a\n" for i in range(4))
    build_campaign({"a.csv": good})
    assert not build_campaign({"a.csv": good}, "limits.columns=30").publication.published


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_a_long_row_is_refused(tmp_path, format_, ending):
    text = {"csv": 'a,b\n"x","' + "y" * 5 * MB + '"\n', "jsonl": f'{{"a": "{"y" * 5 * MB}"}}\n'}
    path = tmp_path / f"long.{format_}{ending}"
    path.write_bytes(gzip.compress(text[format_].encode()) if ending else text[format_].encode())
    refused(path, format_, "row_bytes", row_bytes=2 * MB)
    opening = Opening(path, path.name)
    assert sum(map(len, READERS[format_](opening).chunks)) == 1


@pytest.mark.parametrize("before", [0, 1, 700])
@pytest.mark.parametrize("format_", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "kind", ["plain", "column that is not read", "ragged", "latin-1", "utf-16", "invalid UTF-8"]
)
def test_a_row_is_refused_at_a_byte_beyond_the_limit(tmp_path, format_, kind, before):
    """Wherever blocks end, and whatever a row is made of."""
    limit = 4 * 1024
    if format_ == "jsonl" and kind != "plain":
        pytest.skip("lines are read as such")
    for n_bytes in (limit, limit + 1, 2 * limit - 10):
        if format_ == "jsonl":
            text = '{"a": "x"}\n' * before + json.dumps({"a": "y" * (n_bytes - 10)}) + "\n"
        else:
            row = {"ragged": "x,x,x,", "column that is not read": "x,"}.get(kind, "x,")
            letter = {"latin-1": "\u00e9", "invalid UTF-8": "\u00e9"}.get(kind, "y")
            text = "a,b\n" + "x,y\n" * before + row + letter * (n_bytes - len(row)) + "\nx,y\n"
        encoding = {"latin-1": "latin-1", "invalid UTF-8": "latin-1", "utf-16": "utf-16"}
        path = tmp_path / f"a.{format_}"
        path.write_bytes(text.encode(encoding.get(kind, "utf-8")))
        opening = Opening(
            path, path.name, limits=Limits(row_bytes=limit),
            encoding={"utf-16": "utf-16"}.get(kind, "utf-8"),
            used_columns={"a"} if kind == "column that is not read" else None,
        )  # fmt: skip
        if n_bytes <= limit:
            n = sum(map(len, READERS[format_](opening).chunks))
            assert n == before + 1 + (format_ == "csv")
        else:
            with pytest.raises(InputError, match=r"limits\.row_bytes"):
                [*READERS[format_](opening).chunks]


def test_a_line_of_a_piece_or_in_utf_16_is_bounded_too(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"a": "' + b"y" * 3 * MB + b'"}\n')
    limits = Limits(row_bytes=MB)
    with pytest.raises(InputError, match=r"row 1 is longer than"):
        [*READERS["jsonl"](Opening(path, "a", piece=(0, 4 * MB), limits=limits)).chunks]
    path.write_text('{"a": "' + "y" * 3 * MB + '"}\n', encoding="utf-16")
    with pytest.raises(InputError, match=r"row 1 is longer than"):
        [*READERS["jsonl"](Opening(path, "a", encoding="utf-16", limits=limits)).chunks]


def test_a_wide_table_is_refused(tmp_path):
    names = [f"c{n}" for n in range(30)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n")
    (tmp_path / "wide.jsonl").write_text("".join(f'{{"{name}": 1}}\n' for name in names))
    pq.write_table(pa.table({name: [1] for name in names}), tmp_path / "wide.parquet")
    for format_ in ("csv", "jsonl", "parquet"):
        refused(tmp_path / f"wide.{format_}", format_, "columns", columns=20)


def test_a_document_is_bounded(tmp_path):
    (tmp_path / "studio.json").write_text(json.dumps([{"annotations": []}] * 99))
    refused(tmp_path / "studio.json", "label_studio", "document_bytes", document_bytes=100)
    target = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), target)
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(target.getvalue()))
    refused(tmp_path / "a.parquet.gz", "parquet", "document_bytes", document_bytes=100)
