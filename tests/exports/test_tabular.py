"""Delimited text as it comes: other encodings, bytes that are no text, cells of any length."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Opening, csv_rows, tabular
from tests.exports.python_rows import rows_by_python
from tests.memory import peak_bytes

PYTHONS_LIMIT = 131_072
"""Characters of a field that Python's csv module takes unless told otherwise."""

Rows = dict[int, list[str | None] | str]
"""Row number to cells, or to the reason why the row is rejected."""


@pytest.fixture(autouse=True)
def _pythons_limit() -> Iterator[None]:
    """The limit of a fresh process, whatever ran in this one before."""
    limit = csv.field_size_limit(PYTHONS_LIMIT)
    yield
    csv.field_size_limit(limit)


def read(path: Path, format_: str = "csv", **options: Any) -> tuple[list[str], Rows]:
    export = READERS[format_](Opening(path, path.name, **options))
    rows: Rows = {}
    for chunk in export.chunks:
        cells = zip(*(column.to_pylist() for column in chunk.columns.values()), strict=True)
        for number, problem, row in zip(
            chunk.row.tolist(), chunk.problem.to_pylist(), cells, strict=True
        ):
            assert number not in rows
            rows[number] = problem or list(row)
    assert sorted(rows) == list(range(1, export.n_rows + 1)), "every row has a place"
    return export.columns, rows


def written(tmp_path: Path, data: bytes, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


# --- encodings -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_any_encoding_gzipped_or_not(name: str, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "Prüfer,label\nzoë,good\nann,schön\n".encode(encoding), name)
    assert read(path, encoding=encoding) == (
        ["Prüfer", "label"],
        {1: ["zoë", "good"], 2: ["ann", "schön"]},
    )


def test_a_gzip_in_another_encoding_that_does_not_hold_it(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1,2\n\xff\xfe,4\n", "a.csv.gz")
    with pytest.raises(InputError) as caught:
        read(path, encoding="ascii")
    assert "is not text in ascii, line 3" in str(caught.value)


def find_third_line(path: Path) -> None:
    opening = Opening(path, path.name, encoding="ascii")
    assert tabular.first_undecodable(opening) == ", line 3"


@pytest.mark.slow
def test_a_file_that_is_one_long_line_is_searched_in_little_memory(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\r\n1,2\r\n" + b"x" * (64 << 20) + b"\xff", "a.csv")
    assert peak_bytes(find_third_line, path) < 16 << 20


# --- bytes that are not UTF-8 --------------------------------------------------------------

RAGGED = "ragged row: 3 fields, the header has 2"
UNKNOWN = "not UTF-8 in column {}; see options.encoding"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("block", [16, csv_rows.FIRST_READ])
@pytest.mark.filterwarnings("error")  # also what pyarrow prints when a handler fails
def test_ragged_rows_that_are_not_utf8_are_rejected_rows(
    name: str, block: int, tmp_path: Path
) -> None:
    data = b"a,b\nzo\xc3\xab,1\nzo\xeb,2,3\nx\ne\xeb,4\n\xc3\xab,\xff\n\xe2\x82\xac,6\n\xff\xff\xff"
    _, rows = read(written(tmp_path, data, name), block_bytes=block)
    assert rows == {
        1: ["zoë", "1"],
        2: RAGGED,
        3: "ragged row: 1 field, the header has 2",
        4: UNKNOWN.format(1),
        5: UNKNOWN.format(2),
        6: ["€", "6"],
        7: "ragged row: 1 field, the header has 2",
    }


def test_nothing_is_printed_for_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    read(written(tmp_path, b"a,b\n\xff,2,3\n1,2\n"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("header", [None, ("a", "b")])
def test_with_and_without_byte_order_mark_and_header(
    mark: bytes, header: tuple[str, ...] | None, tmp_path: Path
) -> None:
    data = mark + (b"" if header else b"a,b\n") + b"zo\xc3\xab,1\n\xff,2,3\n"
    names, rows = read(written(tmp_path, data), header=header)
    assert names == ["a", "b"]
    assert rows == {1: ["zoë", "1"], 2: RAGGED}


def test_a_header_that_is_not_utf8(tmp_path: Path) -> None:
    names, rows = read(written(tmp_path, b"pr\xfcfer,b\n1,2\n\xff,2,3\n"))
    assert names == ["pr\ufffdfer", "b"]
    assert rows == {1: ["1", "2"], 2: RAGGED}


def test_bytes_of_columns_that_nobody_maps_do_no_harm(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1,\xff\n\xff,2\n3,4,\xff\n5,6\n")
    assert read(path, used_columns=frozenset({"a"}))[1] == {
        1: ["1"],
        2: UNKNOWN.format(1),
        3: RAGGED,
        4: ["5"],
    }


def test_a_text_cut_inside_a_letter(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,zoë".encode()[:-1])
    assert read(path)[1] == {1: UNKNOWN.format(2)}


def test_an_unclosed_quote_among_other_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, b'a,b\n\xff,2,3\n1,"open\n2,3\n')
    assert read(path)[1] == {1: RAGGED, 2: csv_rows.UNCLOSED, 3: ["2", "3"]}


CELLS = [b"x", b"zo\xc3\xab", b"\xe2\x82\xac", b"\xff", b"\xc3", b'"\xff,\n"', b'"a""\xeb"', b"",
         b"\xf0\x9f\x99\x88", b"\xed\xa0\x80", b"\xc0\xaf", b'"\xc3\xab\r\n"']  # fmt: skip


@pytest.mark.parametrize("block", [64, csv_rows.FIRST_READ])
def test_any_bytes_are_read_as_python_reads_them(block: int, tmp_path: Path) -> None:
    """Ragged rows, bytes that are no text and letters of many bytes, over block boundaries."""
    chance = random.Random(17)
    for _ in range(300):
        lines = [
            b",".join(chance.choices(CELLS, k=chance.choice([2, 2, 2, 2, 3, 1])))
            for _ in range(chance.randint(0, 20))
        ]
        data = b"\n".join([b"a,b", *lines]) + b"\n" * chance.randint(0, 2)
        text = data.decode("utf-8", "surrogateescape").partition("\n")[2]
        expected: Rows = {}
        for number, row in rows_by_python(text, ["a", "b"], ragged=True).items():
            if isinstance(row, str):
                expected[number] = row
                continue
            lost = [any("\udc80" <= c <= "\udcff" for c in cell) for cell in row]
            fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
            if len(row) != 2:
                expected[number] = f"ragged row: {fields}, the header has 2"
            elif any(lost):
                expected[number] = UNKNOWN.format(max(i for i in (1, 2) if lost[i - 1]))
            else:
                expected[number] = list(row)
        rows = read(written(tmp_path, data), block_bytes=block)[1]
        for number, row in rows.items():
            if isinstance(row, str) and row.startswith("malformed quotes"):
                rows[number] = "malformed quotes"
        assert rows == expected, data


# --- long cells ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("length", [PYTHONS_LIMIT + 1, 3 * csv_rows.FIRST_READ])
@pytest.mark.parametrize("delimiter", [None, ";"])
def test_a_first_row_with_a_long_cell(length: int, delimiter: str | None, tmp_path: Path) -> None:
    long = "x" * length
    path = written(tmp_path, f"i1;{long};good\ni2;short;bad\n".encode())
    names, rows = read(path, header=("item", "text", "label"), delimiter=delimiter)
    assert names == ["item", "text", "label"]
    assert rows == {1: ["i1", long, "good"], 2: ["i2", "short", "bad"]}


def test_a_quoted_first_row_with_a_long_cell(tmp_path: Path) -> None:
    long = "a line, and\n" * 20_000
    path = written(tmp_path, f'"{long}",good\ni2,bad\n'.encode())
    assert read(path, header=("item", "label"))[1] == {1: [long, "good"], 2: ["i2", "bad"]}


@pytest.mark.parametrize("end", ["", ",,"])
def test_mturk_whose_first_row_has_a_long_cell(end: str, tmp_path: Path) -> None:
    long = "x" * (PYTHONS_LIMIT + 1)
    path = written(tmp_path, f"HITId,Input.text,Approve,Reject\nh1,{long}{end}\n".encode())
    names, rows = read(path, "mturk")
    assert names == ["HITId", "Input.text", "Approve", "Reject"][: 4 if end else 2]
    assert rows == {1: ["h1", long, "", ""][: 4 if end else 2]}


def test_a_header_with_a_long_name(tmp_path: Path) -> None:
    long = "x" * (PYTHONS_LIMIT + 1)
    path = written(tmp_path, f"item,{long}\n1,2\n".encode())
    assert read(path) == (["item", long], {1: ["1", "2"]})


@pytest.mark.parametrize("rows", [1, 3 * csv_rows.FIRST_READ // 4])
def test_a_header_with_an_unclosed_quote(rows: int, tmp_path: Path) -> None:
    path = written(tmp_path, b'item,"label\n' + b"1,2\n" * rows)
    with pytest.raises(InputError) as caught:
        read(path)
    assert "the header opens a quote that is never closed" in str(caught.value)


def test_a_first_line_that_tells_excel_the_delimiter_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffsep=;\na;b\n1;2\n", encoding="utf-8")
    assert read(path) == (["a", "b"], {1: ["1", "2"]})
    path.write_text("a;b\nsep=;\n1;2\n", encoding="utf-8")
    assert len(read(path)[1]) == 2


@pytest.mark.parametrize(
    "start", ["<!DOCTYPE html>", "\n <html lang='en'>", "\ufeff<!doctype HTML>"]
)
@pytest.mark.parametrize("format_", ["csv", "jsonl", "json"])
def test_an_html_page_is_called_so(tmp_path: Path, start: str, format_: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{start}<body>Log in</body>\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path, format_)
    assert caught.value.problems[0].what == "is an HTML page, not an export"
