"""`annot review`: the upload file."""

from __future__ import annotations

import csv
import gzip
import io
import random
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config import Quality
from annot_pipeline.errors import AnnotError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.review.batches import Batch
from annot_pipeline.review.upload import Upload
from tests.review.batches import (
    CAREFUL,
    CARELESS,
    COLUMNS,
    FAILED,
    HEAD,
    ONE_PAIR,
    batch,
    reviewed,
    sheet,
    upload,
    work,
)

pytestmark = pytest.mark.slow


def test_the_batch_as_it_was_with_both_columns_filled(make):
    rows = [
        work("careful", CAREFUL, "Submitted", 'a "quoted" word, a comma\nand\r\n\nfour lines'),
        work("careless", CARELESS),
        work("once", ONE_PAIR),
        work("empty", ""),
        work("done", CAREFUL, "Approved"),
        work("gone", CARELESS, "Rejected"),
        work("unsaid", CAREFUL, ""),
        work("last", CAREFUL, " submitted "),
    ]
    text = batch(*rows).removesuffix("\n")
    lines = text.split("\n")
    text = "\n".join([*lines[:6], "", "\r", *lines[6:]])  # blank lines are no rows
    folder = make({"b.csv": text})
    document = reviewed(folder)
    filled = ['"x",""', f'"","{FAILED}"', *5 * ['"",""'], '"x",""']
    expected = [text.split("\n", 1)[0]]
    expected += [
        batch(row).split("\n", 1)[1].removesuffix("\n") + f",{cells}"
        for row, cells in zip(rows, filled, strict=True)
    ]
    expected[3:3] = ["", "\r"]
    assert upload(folder) == "\n".join(expected)
    (counts,) = document["uploads"]
    assert counts == {
        "path": str(folder / "review" / "upload-b.csv"), "export": "exports/b.csv", "rows": 8,
        "approve": 2, "reject": 1, "decide": 2, "decided": 3, "elsewhere": 0, "ragged": [],
        "ragged_lines": [], "left_out": [],
    }  # fmt: skip
    assert {k: document[k] for k in ("approve", "reject", "decide", "assignments")} == {
        "approve": 2, "reject": 1, "decide": 2, "assignments": 8,
    }  # fmt: skip
    actual = {row["worker"]: (row["verdict"], row["reason"]) for row in sheet(folder)}
    assert actual["careful"] == ("passed", "")
    assert actual["careless"] == ("failed", FAILED)
    assert actual["once"] == ("undetermined", "1 pair, 2 are needed")
    assert actual["empty"] == ("", "score is blank")


def test_cells_that_are_there_and_a_decision_of_a_person(make):
    rows = [
        work("careful", CAREFUL, "Submitted", 'not "fine",\r\nbut good', "", ""),
        work("careless", CARELESS, "Submitted", "fine", "", ""),
        work("pardoned", CARELESS, "Submitted", "fine", "X", ""),
        work("scolded", CAREFUL, "Submitted", "fine", "", "too fast"),
        work("once", ONE_PAIR, "Submitted", "fine", "", ""),
    ]
    folder = make({"b.csv": batch(*rows, end="\r\n")})
    (counts,) = reviewed(folder)["uploads"]
    rows[0][-2:], rows[1][-2:] = ["x", ""], ["", FAILED]
    assert upload(folder) == batch(*rows, end="\r\n")
    assert [counts[k] for k in ("approve", "reject", "decide", "decided")] == [1, 1, 1, 2]


def test_columns_that_the_header_lacks_are_appended(make):
    names = [name for name in HEAD if name not in ("AssignmentStatus", "Approve", "Reject")]

    def bare(*row: str) -> list[str]:
        cells = work(*row)
        return cells[:3] + cells[4:]

    rows = [bare("careful", CAREFUL), bare("careless", CARELESS), bare("once", ONE_PAIR)]
    rows += [["two", "short", "by", "cells"][: len(names) - 2]]
    folder = make({"b.csv": batch(*rows, head=names)})
    reviewed(folder)
    cells = (["x", ""], ["", FAILED], ["", ""], [])
    assert upload(folder) == batch(
        *(row + more for row, more in zip(rows, cells, strict=True)),
        head=[*names, "Approve", "Reject"],
    )


def test_columns_in_another_place(make):
    """A spreadsheet may have moved Reject to the front, and lost Approve."""
    head = ["Reject", *COLUMNS]
    rows = [["", *work("careful", CAREFUL)[:-1]], ["", *work("careless", CARELESS)[:-1]]]
    folder = make({"b.csv": batch(*rows, head=head)})
    reviewed(folder)
    rows = [[*rows[0], "x"], [FAILED, *rows[1][1:], ""]]
    assert upload(folder) == batch(*rows, head=[*head, "Approve"])


def test_ragged_rows_stay_and_do_not_move_the_others(make):
    rows = [
        work("careful", CAREFUL),
        ["h1", "a-short", "short"],
        [*work("long", CARELESS), "x", "", "more"],
        work("one_more", CAREFUL, "Submitted", "fine", "x"),
        work("careless", CARELESS),
    ]
    folder = make({"b.csv": batch(*rows)})
    (counts,) = reviewed(folder)["uploads"]
    assert counts["ragged"] == [2, 3, 4]
    assert len(counts["ragged_lines"]) == 3
    rows[0] += ["x", ""]
    rows[4] += ["", FAILED]
    assert upload(folder) == batch(*rows)
    actual = {row["row"]: row for row in sheet(folder)}
    assert actual["2"]["reason"] == "ragged row: 3 fields, the header has 7"
    assert [actual[n]["recommendation"] for n in "12345"] == [
        "approve", "decide", "decide", "decide", "reject",
    ]  # fmt: skip
    assert [actual[n]["n_rejected_records"] for n in "12345"] == ["0", "6", "6", "6", "0"]


def test_rows_of_both_lengths(make):
    """The readers take one length; a row of the other is for a person to decide on."""
    rows = [work("careful", CAREFUL), work("full", CAREFUL, "Submitted", "fine", "", "")]
    folder = make({"b.csv": batch(*rows, work("done", CAREFUL, "Approved"))})
    (counts,) = reviewed(folder)["uploads"]
    assert (counts["approve"], counts["decide"], counts["ragged"]) == (1, 1, [])
    more = (["x", ""], [], ["", ""])
    rows = [*rows, work("done", CAREFUL, "Approved")]
    assert upload(folder) == batch(*(r + m for r, m in zip(rows, more, strict=True)))


@pytest.mark.parametrize(
    ("encoding", "option"),
    [("latin-1", "latin-1"), ("utf-16", "utf-16")]
    + [(e, o) for e in ("utf-8", "utf-8-sig") for o in ("utf-8", "utf-8-sig")],
)
def test_encodings(make, encoding, option):
    rows = [work("careful", CAREFUL, "Submitted", "é"), work("Zoë", CARELESS, "Submitted", "ÿ")]
    source = {"options": {"encoding": option}}
    folder = make({"b.csv": batch(*rows).encode(encoding)}, source=source)
    reviewed(folder)
    written = (folder / "review" / "upload-b.csv").read_bytes()
    rows = [[*rows[0], "x", ""], [*rows[1], "", FAILED]]
    assert written == batch(*rows).encode(encoding)
    assert {row["worker"] for row in sheet(folder)} == {"careful", "Zoë"}


def test_bytes_that_are_no_text_stay(make):
    rows = [work("careful", CAREFUL, "Submitted", "caf\udce9"), work("once", ONE_PAIR)]
    text = batch(*rows).encode(errors="surrogateescape")
    folder = make({"b.csv": text})
    reviewed(folder)
    lines = text.splitlines()
    assert (folder / "review" / "upload-b.csv").read_bytes().splitlines() == [
        lines[0], lines[1] + b',"x",""', lines[2] + b',"",""',
    ]  # fmt: skip


def test_other_dialects(make):
    """Semicolons, unquoted cells, a blank line and a byte order mark stay; gzip does not."""
    rows = [";".join(HEAD), ";".join(work("careful", CAREFUL, "Submitted", 'say "so"'))]
    rows += [";".join(work("careless", CARELESS))]
    text = "\ufeff\r\n" + "\r\n".join(rows)
    folder = make({"b.csv.gz": gzip.compress(text.encode())})
    reviewed(folder)
    rows[1] += ';"x";""'
    rows[2] += f';"";"{FAILED}"'
    assert upload(folder) == "\ufeff\r\n" + "\r\n".join(rows)


def test_unquoted_rows_that_have_the_cells(make):
    rows = [
        HEAD,
        *(work(w, a, "Submitted", "so", "", "") for w, a in (("a", CAREFUL), ("b", CARELESS))),
    ]
    folder = make({"b.csv": "".join(",".join(row) + "\n" for row in rows)})
    reviewed(folder)
    head, *_ = upload(folder).splitlines()
    assert head == ",".join(HEAD)
    rows[1][-2], rows[2][-1] = "x", FAILED
    assert list(csv.reader(io.StringIO(upload(folder)))) == rows


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_quotes_as_ordinary_characters(make, delimiter):
    rows = [work("careful", CAREFUL, "Submitted", '"odd'), work("careless", CARELESS)]
    text = "".join(delimiter.join(row) + "\n" for row in [HEAD, *rows])
    folder = make({"b.csv": text}, source={"options": {"quote": "", "delimiter": delimiter}})
    reviewed(folder)
    lines = text.splitlines()
    lines[1] += delimiter.join(["", "x", ""])
    lines[2] += delimiter.join(["", "", FAILED.replace(delimiter, " ")])
    assert upload(folder).splitlines() == lines


def test_long_cells(make):
    limit = csv.field_size_limit()
    row = work("careful", CAREFUL, "Submitted", "long " * 100_000)
    folder = make({"b.csv": batch(row)})
    reviewed(folder)
    assert upload(folder) == batch([*row, "x", ""])
    assert csv.field_size_limit() == limit


def test_an_empty_batch(make):
    rows = batch(work("careful", CAREFUL))
    folder = make({"b.csv": rows, "c.csv": "", "d.csv": batch()})
    document = reviewed(folder)
    assert [u["rows"] for u in document["uploads"]] == [1, 0, 0]
    assert (upload(folder, "upload-c.csv"), upload(folder, "upload-d.csv")) == ("", batch())


def test_rows_are_split_as_the_readers_split_them(tmp_path):
    """Whatever stands in the file: numbers of rows, cells, and where Approve and Reject are.

    Where a row that does not fit the header holds a quote, only the number of cells of the header
    tells whether it goes on in the next line: of the wider upload nothing is said there.
    """
    draw = random.Random(7)
    path, n_read, n_read_again = tmp_path / "b.csv", 0, 0
    nothing = {"counted": 0, "rejected": 1, "records": 1, "reason": "", "judge": None}
    nothing |= {"hit": None, "native_id": None, "status": None}
    for _ in range(1_000):
        head = draw.choice(['"A","B",Approve,Reject', '"A\nA",B', "Approve,A,B"])
        body = "".join(draw.choices('a,"\n\ré ;"",,', k=draw.randint(0, 25)))
        path.write_bytes(f"{head}\n{body}".encode())
        opening = Opening(path, "b.csv", delimiter=",")
        try:
            before = read_all(opening)
        except AnnotError:  # a quote that is never closed
            continue
        n_read += 1
        of_batch = Batch(opening, before[1], None, "upload-b.csv")
        written = Upload(of_batch, lambda _: [nothing], {}, Quality())
        target = io.StringIO(newline="")
        assert len(list(written.write(target))) == before[1]
        if '"' in body and any(isinstance(cells, str) for cells in before[0].values()):
            continue
        n_read_again += 1
        path.write_bytes(target.getvalue().encode())
        after = read_all(Opening(path, "b.csv", delimiter=","))
        assert after[1] == before[1]
        for number, cells in before[0].items():
            assert after[0][number][: len(cells)] == cells or isinstance(cells, str)
    assert n_read > 500
    assert n_read_again > 100


def read_all(opening: Opening) -> tuple[dict[int, Any], int]:
    export = READERS["mturk"](opening)
    rows: dict[int, Any] = {}
    for chunk in export.chunks:
        for place, number in enumerate(chunk.row.tolist()):
            problem = chunk.problem[place].as_py()
            rows[number] = problem or [c[place].as_py() for c in chunk.columns.values()]
    return rows, export.n_rows


FORMULAS = ("=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", " =1", "A;=1")


def test_workers_whose_ids_are_formulas_are_left_out_and_named(make, capsys):
    rows = [work("careful", CAREFUL), *(work(w, CAREFUL) for w in FORMULAS), work("last", CAREFUL)]
    folder = make({"b.csv": batch(*rows)})
    before = [line for line in batch(*rows).splitlines() if "careful" in line or "last" in line]
    assert main(["review", str(folder)]) == 0
    out = capsys.readouterr().out
    text = (folder / "review" / "upload-b.csv").read_text()
    assert len(text.splitlines()) == 1 + len(before)
    assert not any(worker.strip() in text for worker in FORMULAS)
    rows_left = list(csv.DictReader(io.StringIO(upload(folder))))
    assert [row["WorkerId"] for row in rows_left] == ["careful", "last"]
    assert "7 rows left out, whose worker ids start as formulas do: row 2 (line 3) of" in out
    assert "as text" in out
    assert {row["worker"] for row in sheet(folder)} >= {"careful", "last", "'+1"}
    [counts] = reviewed(folder)["uploads"]
    assert [row["row"] for row in counts["left_out"]] == [*range(2, 9)]
    assert (counts["rows"], counts["approve"]) == (9, 2)
