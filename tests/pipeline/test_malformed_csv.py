"""No row of a csv is lost in silence: stray quotes, escapes, headers in between, cut files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.scoring.predictions import read_predictions
from tests.pipeline.exported import fates

HEAD = "item,judge,label,comment\n"
FIELDS = {"item": "item", "judge": "judge", "label": "label"}


def rows_of(text: str | bytes, tmp_path: Path, format_: str = "csv", **options: Any) -> Any:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    export = READERS[format_](Opening(path, path.name, **options))
    rows: dict[int, Any] = {}
    for chunk in export.chunks:
        cells = zip(*(column.to_pylist() for column in chunk.columns.values()), strict=True)
        for number, problem, row in zip(
            chunk.row.tolist(), chunk.problem.to_pylist(), cells, strict=True
        ):
            rows[number] = problem or list(row)
    return dict(sorted(rows.items())), export


def lines(n: int, **comments: str) -> list[str]:
    rows = [f"i{k // 5},w{k % 5},{'yes' if k % 3 else 'no'}," for k in range(n)]
    return [row + comments.get(f"row_{k}", "fine") for k, row in enumerate(rows, start=1)]


# --- quotes --------------------------------------------------------------------------------


def test_a_comment_with_a_stray_quote_costs_its_own_row_alone(stage_campaign) -> None:
    """1,400 of 2,000 rows were within one quoted cell, and nobody said so."""
    rows = lines(2_000, row_600='"not sure', row_1200='he said "no"')
    built = stage_campaign({"a.csv": HEAD + "\n".join(rows) + "\n"}, "quality.test=none")
    assert fates(built) == {"used": 1_999, "rejected": 1}
    lineage = built.rows("lineage")
    assert sorted(row["source_row"] for row in lineage) == list(range(1, 2_001))
    assert [(r["source_row"], r["reason"]) for r in lineage if r["reason"]] == [
        (600, "malformed quotes: a quote opens a cell and is not closed")
    ]
    (rejection,) = built.metrics("settle_judgments")["rejections"]
    assert (rejection["source_row"], rejection["line"]) == (600, 601)


def test_a_quote_that_happens_to_be_closed_fails_a_gate(stage_campaign) -> None:
    """The grammar allows it; lines that look like rows within a cell do not pass the gate."""
    rows = lines(200, row_60='"not sure', row_120='5"')
    built = stage_campaign({"a.csv": HEAD + "\n".join(rows) + "\n"})
    [gate] = [g for g in built.runs["read_records"].gates if g.name == "swallowed_rows"]
    assert gate.level == "error"
    assert "60 lines in exports/a.csv row 60 (line 61)" in gate.detail


@pytest.mark.parametrize("format_", ["csv", "mturk", "appraise"])
def test_all_readers_of_csv_read_strictly(format_: str, tmp_path: Path) -> None:
    names = "username,system,itemId,itemType,srcLang,trgLang,score,timeStart,timeEnd"
    row = "j,s,{},TGT,a,b,{},1,2\n"
    text = names + "\n" + row.format(1, 50) + row.format('"2"x', 50) + row.format('"3', 50)
    rows, export = rows_of(text + row.format(4, 50), tmp_path, format_)
    assert [row[2] for row in (rows[1], rows[4])] == ["1", "4"]
    assert rows[2] == "malformed quotes: text follows the quote that closes a cell"
    assert rows[3] == "malformed quotes: a quote opens a cell and is not closed"
    assert export.n_rows == 4


def test_the_end_of_a_text_is_no_row_of_it(tmp_path: Path) -> None:
    """A row that held the reader's own end mark hid all rows after it."""
    rows, _ = rows_of("a,b\n1,2\nend-of-export-8a1f6c0e,,\n3,4\n", tmp_path)
    assert rows == {1: ["1", "2"], 2: "ragged row: 3 fields, the header has 2", 3: ["3", "4"]}


def test_item_tables_and_predictions_are_read_strictly(stage_campaign, tmp_path: Path) -> None:
    items = 'item,text\ni0,fine\ni1,"open\ni2,fine\ni3,5" tall\n'
    source = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text(items)
    built = stage_campaign({"a.csv": HEAD + "\n".join(lines(20)) + "\n"}, items=[source])
    assert [row["text"] for row in built.rows("items")] == ["fine", None, "fine", '5" tall']
    (unread,) = built.metrics("read_records")["unread_items"]
    assert "row 2 (line 3)" in unread
    assert "malformed quotes" in unread
    predictions = "item,label,why\n" + "".join(
        f"i{n},yes,{chr(34) if n == 15 else ''}fine\n" for n in range(100)
    )
    (tmp_path / "predictions.csv").write_text(predictions)
    with pytest.raises(InputError) as error:
        read_predictions(tmp_path / "predictions.csv")
    assert "row 16" in str(error.value)


def test_rows_within_a_quoted_cell_of_item_tables_and_predictions(
    stage_campaign, tmp_path: Path
) -> None:
    """A quote that another row closes by chance: an item had the truth of another row."""
    quoted = {2: 'i2,"open quote,no', 20: 'i20,text",no'}
    rows = [quoted.get(n, f"i{n},text {n},yes") for n in range(30)]
    table = "# a list\nitem,text,truth\n" + "\n".join(rows) + "\n"
    fields = {"item": "item", "text": "text", "truth": "truth"}
    source = {"path": "items.csv", "format": "csv", "fields": fields}
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text(table)
    built = stage_campaign({"a.csv": HEAD + "\n".join(lines(20)) + "\n"}, items=[source])
    first_row = "items.csv row 3 (line 5)"
    assert built.metrics("read_records")["swallowed_rows"] == {first_row: 18}
    (tmp_path / "predictions.csv").write_text(table.replace("truth", "label"))
    with pytest.raises(InputError) as error:
        read_predictions(tmp_path / "predictions.csv")
    assert "row 3 (line 5): a quoted cell holds 18 lines that look like rows" in str(error.value)


def test_a_table_of_judges_is_read_strictly(build_campaign, tmp_path: Path) -> None:
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "judges.csv").write_text('judge,kind\nw1,human\n"w2,model\nw3,human\n')
    with pytest.raises(ConfigError, match=r"judges\.table"):
        build_campaign(
            {"a.csv": HEAD + "\n".join(lines(20)) + "\n"}, judges={"table": "judges.csv"}
        )


def test_escapes_as_spark_and_as_python_write_them(tmp_path: Path) -> None:
    text = 'a,b\n"say \\"yes\\"",C:\\dora\n"x\\\\y","5,""6"""\n\\"bare\\",p\\,q\n'
    rows, _ = rows_of(text, tmp_path, escape="\\")
    assert rows == {
        1: ['say "yes"', "C:\\dora"],
        2: ["x\\y", '5,"6"'],
        3: ['"bare"', "p,q"],
    }
    unset, _ = rows_of(text, tmp_path)
    assert unset[1].startswith("malformed quotes")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"escape": '"'}, "are different characters"),
        ({"escape": ",", "delimiter": ","}, "are different characters"),
        ({"escape": "\n"}, "a line end"),
        ({"escape": "é"}, "not ASCII"),
    ],
)
def test_an_escape_that_cannot_be(build_campaign, options, problem) -> None:
    source = {"path": "exports/*.csv", "format": "csv", "options": options, "fields": FIELDS}
    with pytest.raises(ConfigError, match=problem):
        build_campaign({"a.csv": HEAD}, sources=[source])


def test_lines_within_cells_are_counted_and_shown(stage_campaign) -> None:
    rows = lines(40, row_3='"two\nlines"', row_9='"three\n\nlines"')
    built = stage_campaign({"a.csv": HEAD + "\n".join(rows) + "\n"})
    (file,) = built.rows("record_files")
    assert file["ignored"] == '{"lines within quoted cells": 3}'
    assert (file["rows"], file["unaccounted_lines"]) == (40, 0)
    assert built.metrics("read_records")["swallowed_rows"] == {}


def test_lines_are_counted_apart_from_rows(stage_campaign, monkeypatch) -> None:
    """A reader that loses a line does not pass the gate ``accounting``."""
    from annot_pipeline.exports import csv_rows

    split = csv_rows.CsvRows._runs

    def lossy(self, data, *, is_last):
        for run in split(self, data, is_last=is_last):
            yield run
            self.n_lines -= run.kind == "rows"

    monkeypatch.setattr(csv_rows.CsvRows, "_runs", lossy)
    built = stage_campaign({"a.csv": HEAD + "\n".join(lines(20)) + "\n"})
    assert built.metrics("settle_judgments")["files"][0]["adds_up"] is False


def test_quotes_that_were_letters_are_looked_at_in_later_files(stage_campaign) -> None:
    source = {
        "path": "exports/*.csv", "format": "csv", "options": {"quote": ""}, "fields": FIELDS,
    }  # fmt: skip
    letters = HEAD + "\n".join(lines(20, row_3='"open')) + "\n"
    quoted = HEAD + "\n".join(f'"i{n}","w{n % 2}","yes","fine"' for n in range(20)) + "\n"
    built = stage_campaign({"a.csv": letters, "b.csv": quoted}, sources=[source])
    assert built.metrics("read_records")["doubtful_quotes"] == ["exports/b.csv"]


# --- files that were put together or cut ---------------------------------------------------


def test_a_header_among_the_rows_is_no_judgment(stage_campaign) -> None:
    part = HEAD + "\n".join(lines(20)) + "\n"
    built = stage_campaign({"a.csv": part + part.replace("w", "v")})
    assert fates(built) == {"used": 40, "rejected": 1}
    assert {r["source_row"]: r["reason"] for r in built.rows("lineage") if r["reason"]} == {
        21: "repeated_header: the row repeats the header"
    }
    assert "item" not in {row["item"] for row in built.rows("labels")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    ["ITEM,JUDGE,LABEL,COMMENT", ' item , judge,"label",comment ', "Item,judge,label,comment"],
)
def test_a_header_in_other_case_or_with_blanks_is_no_judgment(stage_campaign, header) -> None:
    part = "\n".join(lines(20)) + "\n"
    built = stage_campaign({"a.csv": HEAD + part + header + "\n" + part.replace("w", "v")})
    assert fates(built) == {"used": 40, "rejected": 1}


def test_a_header_with_other_columns_refuses_the_file(stage_campaign) -> None:
    other = "judge,item,label,comment\nw1,i1,yes,fine\n"
    with pytest.raises(InputError) as error:
        stage_campaign({"a.csv": HEAD + "\n".join(lines(20)) + "\n" + other}).rows("labels")
    assert "row 21 is a header with the columns in another order" in str(error.value)


def test_a_label_that_is_named_as_its_column_is_no_header(stage_campaign) -> None:
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"item": {"value": "one"}, "judge": "judge", "label": "label"},
    }  # fmt: skip
    rows = ["i1,judge,label,fine", "i1,w1,yes,fine", "i1,w2,label,fine"]
    built = stage_campaign({"a.csv": HEAD + "\n".join(rows) + "\n"}, sources=[source])
    assert fates(built) == {"used": 3}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_cut_file_is_warned_of_with_its_row(stage_campaign, end: str) -> None:
    whole = HEAD + "\n".join(lines(20)) + "\n"
    exports = {
        "a.csv": whole.replace("\n", end),
        "b.csv": whole.replace("w", "v").rstrip("\n").replace("\n", end)[:-2],
        "c.csv": whole.replace("w", "u").replace("\n", end),
    }
    built = stage_campaign(exports)
    assert built.metrics("read_records")["cut_exports"] == ["exports/b.csv row 20 (line 21)"]


def test_files_that_never_end_their_last_line_are_no_cut_files(stage_campaign) -> None:
    whole = HEAD + "\n".join(lines(20))
    built = stage_campaign({"a.csv": whole, "b.csv": whole.replace("w", "v")})
    assert built.metrics("read_records")["cut_exports"] == []


def test_a_file_that_ends_in_a_row_is_cut(stage_campaign) -> None:
    built = stage_campaign({"a.csv": HEAD + "\n".join(lines(20)) + "\ni9,w1"})
    assert built.metrics("read_records")["cut_exports"] == ["exports/a.csv row 21 (line 22)"]


def test_comments_before_the_header_are_skipped_and_said(stage_campaign) -> None:
    comments = "# made by a tool, v2\n\n# copied by hand\n"
    built = stage_campaign({"a.csv": comments + HEAD + "\n".join(lines(20)) + "\n"})
    assert fates(built) == {"used": 20}
    (file,) = built.rows("record_files")
    assert file["ignored"] == '{"comment lines": 2}'


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("#item,judge\n1,2\n", ["#item", "judge"]),
        ("# a comment\n#item,judge\n1,2\n", ["#item", "judge"]),
        ("# a, b, c\nitem,judge\n1,2\n", ["item", "judge"]),
        ("#,judge\n1,2\n", ["#", "judge"]),
        ("sep=;\n# a comment\nitem;judge\n1;2\n", ["item", "judge"]),
    ],
)
def test_a_header_may_start_as_comments_do(text: str, columns: list[str], tmp_path: Path) -> None:
    rows, export = rows_of(text, tmp_path)
    assert export.columns == columns
    assert rows == {1: ["1", "2"]}
    assert export.lines.other == 0


def test_quotes_that_are_malformed_throughout(tmp_path: Path) -> None:
    """Lines that open a quote, and lines with pairs of quotes that a quote before them takes."""
    text = "a,b\n" + '"x,""\n' * 3_000 + '1,""\n' * 200_000
    rows, export = rows_of(text, tmp_path, block_bytes=4_096)
    assert export.n_rows == 203_000
    assert [n for n, row in rows.items() if isinstance(row, str)] == [*range(1, 3_001)]
