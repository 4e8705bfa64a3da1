"""Line numbers of rows are those of an editor, and rows are numbered as the readers number them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from annot_pipeline.errors import row_and_line
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.line_numbers import row_lines

HEAD = "item,judge,label\n"


def numbers(path: Path, format_: str, **options) -> tuple[dict[int, int], dict[int, str | None]]:
    """Return the lines of the rows, and the first cell of each by the format's reader."""
    opening = Opening(path, path.name, **options)
    cells: dict[int, str | None] = {}
    for chunk in READERS[format_](opening).chunks:
        column = next(iter(chunk.columns.values())).to_pylist()
        cells |= dict(zip(chunk.row.tolist(), column, strict=True))
    return row_lines(opening, format_, cells), cells


def check_lines(path: Path, text: str, format_: str = "csv", **options) -> None:
    """Every row starts on the line that holds its first cell."""
    lines, cells = numbers(path, format_, **options)
    assert lines.keys() == cells.keys(), (lines, cells)
    of_editor = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for row, cell in cells.items():
        if cell is not None:
            assert cell.partition("\n")[0] in of_editor[lines[row] - 1], (row, lines[row])


TEXTS = {
    "plain": HEAD + "".join(f"i{n},j,a\n" for n in range(1, 400)),
    "several_lines": HEAD + 'i1,"x\ny\n""z""\n",a\ni2,j,a\n"i3",j,"\n\n"\ni4,j,b',
    "blank_lines": "\n \n" + HEAD + "\n\ni1,j,a\n\ni2,j,a\n\n\ni3,j,a",
    "ragged": HEAD + "i1,j,a\ni2\ni3,j,a,b,c\ni4,j,a\n",
    "quote_within": HEAD + 'i1,5" tall,a\ni2,"6"" x"y",a\ni3,j,a\n',
    "header_of_two_lines": '"item\nid",judge,label\ni1,j,a\ni2,j,a\n',
    "semicolons": HEAD.replace(",", ";") + 'i1;"x\n;y";a\ni2;j;a\n',
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_csv(tmp_path, name, end):
    text = TEXTS[name].replace("\n", end)
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    check_lines(path, text)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_encodings_and_gzip(tmp_path, encoding):
    text = HEAD + 'i1,"é\nü",a\r\ni2,j,a\r\n'
    for name, pack in (("a.csv", bytes), ("a.csv.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack(text.encode(encoding)))
        check_lines(path, text, encoding=encoding)


def test_a_mark_before_a_quoted_header(tmp_path):
    path = tmp_path / "a.csv"
    text = '"item\nid",judge,label\ni1,j,a\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    check_lines(path, text)


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(HEAD.encode() + b'i1,"\xff\n\xc3",a\ni2,j,a\n')
    assert row_lines(Opening(path, "a.csv"), "csv", [1, 2]) == {1: 2, 2: 4}


def test_without_header_and_without_quotes(tmp_path):
    path, text = tmp_path / "a.tsv", 'i1\t"j\ta\ni2\tj\ta\n'
    path.write_text(text)
    columns = ("item", "judge", "label")
    check_lines(path, text, delimiter="\t", quote="", header=columns)
    assert row_lines(Opening(path, "a.tsv", header=columns, quote=""), "csv", [2]) == {2: 2}


def test_json_lines_count_blank_lines(tmp_path):
    text = '\n{"item": "i1"}\n\n[]\n{"item": "i3"}\n'
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "a.jsonl").write_bytes(text.encode(encoding))
        opening = Opening(tmp_path / "a.jsonl", "a.jsonl", encoding=encoding)
        assert row_lines(opening, "jsonl", [1, 2, 3]) == {1: 2, 2: 4, 3: 5}


def test_mturk_and_what_has_no_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("HITId,WorkerId,Answer.x,Approve,Reject\nh1,w,a\nh2,w,a\n")
    assert row_lines(Opening(path, "a.csv"), "mturk", [1, 2]) == {1: 2, 2: 3}
    document = tmp_path / "a.json"
    document.write_text(json.dumps([{"id": 1, "annotations": []}]))
    for format_ in ("label_studio", "parquet", "wmt_ranking"):
        assert row_lines(Opening(document, "a.json"), format_, [1]) == {}
    assert row_lines(Opening(document, "a.json"), "hits", [1]) == {}


def test_damaged_and_missing_files_have_no_lines(tmp_path):
    cut = tmp_path / "a.csv.gz"
    cut.write_bytes(gzip.compress(HEAD.encode() * 9)[:20])
    assert row_lines(Opening(cut, "a.csv.gz"), "csv", [5]) == {}
    assert row_lines(Opening(tmp_path / "none.csv", "none.csv"), "csv", [1]) == {}
    assert row_lines(Opening(cut, "a.csv.gz"), "csv", []) == {}


def test_words():
    assert row_and_line(333, 334) == "row 333 (line 334)"
    assert row_and_line(333, None) == "row 333"
    assert row_and_line(1234, 1236) == "row 1,234 (line 1,236)"
