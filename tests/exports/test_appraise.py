"""Appraise CSV: with and without a header, all layouts, columns that are made of others.

The rows have the form of those that WMT published: wmt22-news-systems (segments, documents),
wmt24-news-systems (error spans), and Appraise's own regression tests (pairs with errors).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Export, Opening
from tests.conftest import stage_file

SEGMENT = "username,system,itemId,itemType,srcLang,trgLang,score,timeStart,timeEnd"
DOCUMENT = (
    "username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd"
)
MADE = ["seconds", "segment", "unit", "document"]

SEGMENT_ROWS = """\
engliv0d03,NiuTrans.liv.txt,239,TGT,eng,liv,0,1665744151.351,1665744158.765
engliv0d03,NiuTrans.liv.txt,239,BAD,eng,liv,33,1665744159.453,1665744170.069
engliv0d03,ref.A.liv.txt,80,REF,eng,liv,67,1665744170.748,1665744180.877
engliv0d04,NiuTrans.liv.txt,239,CHK,eng,liv,1,1665744181.493,1665744191.397
"""
DOCUMENT_ROWS = """\
engces1602,Online-G,1,TGT,eng,ces,75,t3_q8vmve#1-10,False,1662710595.106,1662710644.598
engces1602,Online-G,1,BAD,eng,ces,20,t3_q8vmve#1-10,False,1662710644.611,1662710674.401
engces1602,Online-G,10,TGT,eng,ces,81,t3_q8vmve#1-10,True,1662710674.416,1662710743.16
"""


def opened(path: Path, content: str | bytes, **options: object) -> Export:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return READERS["appraise"](Opening(path, path.name, **options))


def rows(export: Export) -> dict[int, dict[str, str | None] | str]:
    """Row number to its cells, or to the reason why it has none."""
    actual = {}
    for chunk in export.chunks:
        for place, number in enumerate(chunk.row.tolist()):
            cells = {name: column[place].as_py() for name, column in chunk.columns.items()}
            actual[number] = chunk.problem[place].as_py() or cells
    assert len(actual) == export.n_rows
    return actual


def made(export: Export, name: str) -> list[str | None]:
    return [row[name] for _, row in sorted(rows(export).items())]


def cells(
    *,
    doc: str = "d",
    item: str = "1",
    kind: str = "TGT",
    score: object = 50,
    is_doc: str = "False",
    start: str = "1662710595.106",
    end: str = "1662710644.598",
) -> str:
    """A row of the layout for documents."""
    return f"j1,s,{item},{kind},eng,ces,{score},{doc},{is_doc},{start},{end}\n"


@pytest.fixture
def error(tmp_path: Path):
    """The message about a file that is not an Appraise export."""

    def error(content: str | bytes, **options: object) -> str:
        with pytest.raises(InputError) as raised:
            rows(opened(tmp_path / "a.csv", content, **options))
        return str(raised.value)

    return error


# --- which columns there are ---------------------------------------------------------------


@pytest.mark.parametrize(("header", "text"), [(SEGMENT, SEGMENT_ROWS), (DOCUMENT, DOCUMENT_ROWS)])
@pytest.mark.parametrize("name", ["scores.csv", "scores.csv.gz"])
@pytest.mark.parametrize("with_header", [True, False])
def test_the_header_may_be_missing(tmp_path, header, text, name, with_header):
    raw = ((header + "\n" if with_header else "") + text).encode()
    export = opened(tmp_path / name, gzip.compress(raw) if name.endswith(".gz") else raw)
    assert export.columns == header.split(",") + MADE
    actual = rows(export)
    assert list(actual) == list(range(1, text.count("\n") + 1))
    for number, line in enumerate(text.splitlines(), start=1):
        assert [actual[number][name] for name in header.split(",")] == line.split(",")


SPANS = '"[{""start_i"":8,""end_i"":11,""severity"":""minor""}]"'
BEFORE, TIMES = "j1,s,7,TGT,eng,ces,50", "1662710595.106,1662710644.598"


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (f"{BEFORE},{TIMES}", {}),
        (f"{BEFORE},{TIMES},3,415", {"batchNo": "3", "item_id": "415"}),
        (f"{BEFORE},{TIMES},3,415,1", {"batchNo": "3", "item_id": "415", "target": "1"}),
        (f"{BEFORE},d,False,{TIMES}", {"docId": "d", "isDocScore": "False"}),
        (f"{BEFORE},1,True,{TIMES},3,415", {"docId": "1", "isDocScore": "True", "batchNo": "3"}),
        (f"{BEFORE},d,False,{TIMES},3,415,0", {"docId": "d", "item_id": "415", "target": "0"}),
        (f"{BEFORE},d,False,[],{TIMES}", {"docId": "d", "mqm": "[]"}),
        (f"{BEFORE},d,False,{SPANS},{TIMES},3,415", {"batchNo": "3", "item_id": "415"}),
        (f"{BEFORE},d,False,[],{TIMES},3,415,1", {"mqm": "[]", "target": "1"}),
        (f"{BEFORE},None,None,{TIMES}", {"errors": "None", "sourceErrors": "None"}),
        (f"{BEFORE},1,,{TIMES},3,415,0", {"errors": "1", "sourceErrors": "", "target": "0"}),
    ],
)
def test_every_layout_that_appraise_writes(tmp_path, line, more):
    export = opened(tmp_path / "a.csv", f"{line}\n{line}\n")
    actual = rows(export)
    assert actual[1] == actual[2]
    assert actual[1] == actual[1] | more
    assert (actual[1]["timeStart"], actual[1]["timeEnd"]) == tuple(TIMES.split(","))
    assert len(export.columns) == len(actual[1])
    assert set(more) >= {n for n in export.columns if n in ("errors", "mqm")} - (
        {"mqm"} if SPANS in line else set()
    )


def test_a_header_may_name_more_in_any_order(tmp_path):
    header = ",".join(["note", *reversed(SEGMENT.split(","))])
    line = "x,9.5,2,50,ces,eng,TGT,4,s,j1\n"
    actual = rows(opened(tmp_path / "a.csv", f"{header}\n{line}"))
    assert actual[1]["username"] == "j1"
    assert (actual[1]["note"], actual[1]["seconds"], actual[1]["segment"]) == ("x", "7.5", "4")


def test_named_columns_are_taken_as_they_are(tmp_path):
    text = "s;j1;4;50\n"
    columns = ("system", "username", "itemId", "score")
    export = opened(tmp_path / "a.csv", text, header=columns, delimiter=";")
    assert export.columns == [*columns, "unit"]  # what the others are made of is not there
    assert rows(export) == {1: {**dict(zip(columns, text[:-1].split(";"), strict=True)),
                                "unit": "segment"}}  # fmt: skip


def test_a_column_of_the_file_is_not_replaced(tmp_path):
    text = f"{SEGMENT},segment\n{SEGMENT_ROWS.splitlines()[0]},mine\n"
    export = opened(tmp_path / "a.csv", text)
    assert export.columns.count("segment") == 1
    assert made(export, "segment") == ["mine"]


def test_options_of_csv_apply(tmp_path):
    text = DOCUMENT_ROWS.replace(",", "\t").replace("t3_", '"é').encode("latin-1")
    export = opened(tmp_path / "a.csv", text, delimiter="\t", quote="", encoding="latin-1")
    assert {row["docId"] for row in rows(export).values()} == {'"éq8vmve#1-10'}


def test_only_wanted_columns_are_given(tmp_path):
    export = opened(tmp_path / "a.csv", DOCUMENT_ROWS, used_columns=frozenset({"score", "segment"}))
    assert set(rows(export)[1]) == {"score", "segment"}
    export = opened(tmp_path / "b.csv", DOCUMENT_ROWS, used_columns=frozenset({"score", "trgLang"}))
    assert set(rows(export)[1]) == {"score", "trgLang"}


@pytest.mark.parametrize("content", ["", "\n\n", SEGMENT, f"\ufeff{DOCUMENT}\n"])
def test_nothing_is_no_error(tmp_path, content):
    assert rows(opened(tmp_path / "a.csv", content)) == {}


# --- files that are something else ---------------------------------------------------------

ALLOWED = """
    allowed: a header with username, system, itemId, itemType, srcLang, trgLang, score, \
timeStart, timeEnd, or rows of 9, 11, 12, 13, 14, 15 fields in which score and times are \
numbers and itemType is TGT, BAD, REF or CHK
    do:      name the columns in options.columns, or use format: csv"""


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("item,judge,label\n1,j1,yes\n", "a row has 3 fields"),
        (
            SEGMENT.replace("timeStart", "began").replace("score", "Score") + "\n" + SEGMENT_ROWS,
            "the header lacks score, timeStart",
        ),
        (
            "user,sys,id,type,from,to,points,start,end\n" + SEGMENT_ROWS,
            "the first line is neither a judgment nor a header with the names of Appraise",
        ),
        (
            SEGMENT_ROWS.replace("TGT", "yes").replace("BAD", "no").replace("1665", "at 1665"),
            "a row has 9 fields, but half of them or more hold something else in itemType, "
            "timeStart, timeEnd",
        ),
        (
            DOCUMENT_ROWS.replace("False,", "False,x").replace("True,", "True,x"),
            "a row has 11 fields, but half of them or more hold something else in timeStart",
        ),
        ("Service unavailable", "a row has 1 fields"),
    ],
)
def test_what_is_no_appraise_export_is_said(error, content, what):
    assert error(content) == f"a.csv: cannot be read\n  is not an Appraise export: {what}{ALLOWED}"


def test_the_message_names_no_judge(error):
    assert "engliv" not in error(SEGMENT_ROWS.replace("TGT", "x").replace("BAD", "x"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x1f\x8b" + b"x" * 20, "is a gzip file, but its name does not end in .gz"),
        (b"PK\x03\x04 ...", "is a zip or Excel file"),
        (b"<html><body>Service unavailable</body></html>", "is an HTML page, not an export"),
        (SEGMENT_ROWS.encode("utf-16"), "is text in UTF-16"),
        (SEGMENT_ROWS.encode("utf-16-le"), "the header holds NUL characters"),
    ],
)
def test_files_that_cannot_be_read_are_said_to_be_what_they_are(error, content, what):
    assert what in error(content)


def test_a_damaged_gzip(tmp_path):
    whole = gzip.compress((SEGMENT_ROWS * 50_000).encode(), mtime=0)
    with pytest.raises(InputError, match="damaged or cut short"):
        rows(opened(tmp_path / "a.csv.gz", whole[: len(whole) // 2]))


# --- rows that are something else ----------------------------------------------------------


def test_ragged_rows_are_said(tmp_path):
    mixed = DOCUMENT_ROWS + SEGMENT_ROWS.splitlines()[0] + "\n" + DOCUMENT_ROWS
    actual = rows(opened(tmp_path / "a.csv", mixed))
    assert actual[4] == "ragged row: 9 fields, the header has 11"
    assert [type(actual[n]) for n in (3, 5, 7)] == [dict] * 3


def test_a_first_row_that_is_ragged(tmp_path):
    cut = DOCUMENT_ROWS.splitlines()[0].rpartition(",")[0]
    actual = rows(opened(tmp_path / "a.csv", f"{cut}\n{DOCUMENT_ROWS}"))
    assert actual[1] == "ragged row: 10 fields, the header has 11"
    assert actual[4]["unit"] == "document"


def test_some_bad_values_do_not_hide_the_layout(tmp_path):
    text = cells(score="", start="", is_doc="?") + cells() * 3 + cells(kind="NEW", end="soon")
    actual = rows(opened(tmp_path / "a.csv", text))
    assert actual[1]["score"] == ""
    assert actual[5]["itemType"] == "NEW"


def test_blanks_around_numbers_do_not_hide_the_layout(tmp_path):
    text = SEGMENT_ROWS.replace(",1665", ", 1665")
    assert made(opened(tmp_path / "a.csv", text), "seconds")[0] == "7.414"


def test_most_rows_decide_between_layouts(tmp_path):
    seven = DOCUMENT_ROWS.splitlines()[0] + "\n" + SEGMENT_ROWS * 2
    actual = rows(opened(tmp_path / "a.csv", seven))
    assert actual[1] == "ragged row: 11 fields, the header has 9"
    assert len(actual) == 9


def test_hostile_cells_are_cells(tmp_path):
    nasty = ["\"=cmd|' /C calc'!A0\"", "<script>alert(1)</script>", '"a\n""b"""', "a\0b", "%2F/"]
    text = "".join(cells(doc=doc, item=f"{n}") for n, doc in enumerate(nasty))
    actual = rows(opened(tmp_path / "a.csv", text))
    assert [row["docId"] for row in actual.values()] == [
        "=cmd|' /C calc'!A0", "<script>alert(1)</script>", 'a\n"b"', "a\0b", "%2F/",
    ]  # fmt: skip
    assert actual[5]["segment"] == "%252F%2F/4"


def test_a_first_row_with_nul_is_a_row(tmp_path):
    actual = rows(opened(tmp_path / "a.csv", cells(doc="a\0b") + cells() * 2))
    assert actual[1]["segment"] == "a\0b/1"
    assert actual[3]["segment"] == "d/1"


def test_bytes_that_are_no_text_make_a_row_unreadable(tmp_path):
    text = (cells() * 2 + cells(doc="é") + cells()).encode("latin-1")
    actual = rows(opened(tmp_path / "a.csv", text))
    assert actual[3] == "not UTF-8 in column 8; see options.encoding"
    assert actual[4]["segment"] == "d/1"


def test_a_cell_of_megabytes(tmp_path):
    long = "x" * (9 << 20)
    actual = rows(opened(tmp_path / "a.csv", cells() + cells(doc=long) + cells(start="9" * 9_000)))
    assert actual[2]["segment"] == f"{long}/1"
    assert actual[3]["seconds"] is None


def test_more_rows_than_a_block(tmp_path):
    n = 120_000
    text = "".join(
        f"j{i % 9},s,{i},TGT,eng,ces,50,1662710595.106,1662710596.25\n" for i in range(n)
    )
    export = opened(tmp_path / "a.csv", text)
    chunks = list(export.chunks)
    assert len(chunks) > 1
    assert sum(map(len, chunks)) == export.n_rows == n
    assert chunks[-1].columns["segment"][-1].as_py() == str(n - 1)
    assert {s for c in chunks for s in c.columns["seconds"].unique().to_pylist()} == {"1.144"}


# --- columns that are made -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ("1665744151.351", "1665744158.765", "7.414"),
        ("1665744151", "1665744151", "0"),
        ("1711317347.693", "1711317347.694", "0.001"),
        (" 10.5 ", "12", "1.5"),
        ("", "1665744158.765", None),
        ("1665744151.351", "", None),
        ("soon", "1665744158.765", None),
        ("1665744151.351", "nan", None),
        ("1665744151.351", "inf", None),
        ("1665744151.351", "1e300", None),
        ("1665744158.765", "1665744151.351", None),
        ("-5", "5", None),
        ("1665744151.351", "1665744158.765x", None),
        ("٣", "٤", None),
    ],
)
def test_seconds(tmp_path, start, end, seconds):
    text = f"{DOCUMENT}\n{cells(start=start, end=end)}"
    [actual] = made(opened(tmp_path / "a.csv", text), "seconds")
    assert actual is None if seconds is None else float(actual) == float(seconds)


@pytest.mark.parametrize(
    ("is_doc", "unit", "segment"),
    [
        ("False", "segment", "doc/4"),
        ("True", "document", "doc"),
        ("TRUE", "document", "doc"),
        (" false", "segment", "doc/4"),
        ("", None, None),
        ("perhaps", None, None),
    ],
)
def test_unit_and_segment_of_documents(tmp_path, is_doc, unit, segment):
    text = f"{DOCUMENT}\n{cells(doc='doc', item='4', is_doc=is_doc)}"
    [row] = rows(opened(tmp_path / "a.csv", text)).values()
    assert (row["unit"], row["segment"], row["document"]) == (unit, segment, "doc")


@pytest.mark.parametrize(
    ("doc", "item", "is_doc", "segment"),
    [
        ("a/b", "1", "False", "a%2Fb/1"),
        ("a", "b/1", "False", "a/b%2F1"),
        ("a/b%", "1", "True", "a%2Fb%25"),
        ("", "1", "False", None),
        ("a", " ", "False", None),
        (" ", "1", "True", None),
    ],
)
def test_segments_of_documents_are_unique(tmp_path, doc, item, is_doc, segment):
    text = f"{DOCUMENT}\n{cells(doc=doc, item=item, is_doc=is_doc)}"
    assert made(opened(tmp_path / "a.csv", text), "segment") == [segment]


def test_segments_without_documents_are_as_written(tmp_path):
    text = SEGMENT_ROWS.replace(",239,", ",a/b%,")
    export = opened(tmp_path / "a.csv", text)
    actual = [(row["segment"], row["document"]) for row in rows(export).values()]
    assert actual == [("a/b%", None), ("a/b%", None), ("80", None), ("a/b%", None)]


def test_a_twin_in_a_document_named_bad_has_the_segment_of_the_original(tmp_path):
    """WMT24: ``...#bad`` and ``...#incomplete#bad``; elsewhere ``#bad7``."""
    docs = {
        ("TGT", "news_1"): "news_1/1", ("BAD", "news_1#bad"): "news_1/1",
        ("BAD", "news_1#incomplete#bad"): "news_1#incomplete/1", ("BAD", "n#bad7"): "n/1",
        ("TGT", "news_1#bad"): "news_1#bad/1", ("BAD", "news#bad_1"): "news#bad_1/1",
    }  # fmt: skip
    text = "".join(cells(kind=kind, doc=doc) for kind, doc in docs)
    export = opened(tmp_path / "a.csv", text)
    actual = rows(export)
    assert [row["segment"] for row in actual.values()] == list(docs.values())
    documents = [segment.removesuffix("/1") for segment in docs.values()]
    assert [row["document"] for row in actual.values()] == documents
    assert [row["docId"] for row in actual.values()] == [doc for _, doc in docs]


# --- in a campaign -------------------------------------------------------------------------

FIELDS = {
    "task": {"join": ["srcLang", "trgLang", "unit"], "sep": "-"},
    "judge": "username", "system": "system", "segment": "segment", "score": "score",
    "control": {
        "column": "itemType",
        "map": {"TGT": "none", "BAD": "bad_reference", "REF": "good_reference", "CHK": "ask_again"},
    },
    "submitted_at": "timeEnd", "seconds": "seconds",
}  # fmt: skip


def test_a_campaign_of_both_levels(tmp_path):
    (tmp_path / "a.csv").write_text(f"{SEGMENT}\n{SEGMENT_ROWS}")
    bad = cells(kind="NEW") + cells(is_doc="?") + cells(start="1662710644.599") + "j1,s,1\n"
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((DOCUMENT_ROWS + bad).encode()))
    campaign = {
        "campaign": "wmt",
        "sources": [{"path": "*.csv*", "format": "appraise", "fields": FIELDS}],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "gates": {"rejected_share": {"error": 1}},
    }
    (tmp_path / "campaign.yaml").write_text(json.dumps(campaign))
    built = stage_file(tmp_path)
    lineage = built.rows("lineage")
    reasons = {
        (r["source_file"], r["source_row"]): r["reason"] for r in lineage if r["fate"] == "rejected"
    }
    assert reasons.pop(("b.csv.gz", 7)) == "ragged row: 3 fields, the header has 11"
    assert reasons == {
        ("b.csv.gz", 4): "control has no match: 'NEW'",
        ("b.csv.gz", 5): "task is blank",
    }
    settled = {(r["task"], r["segment"], r["control"]): r for r in built.rows("settled")
               if r["fate"] != "rejected"}  # fmt: skip
    assert {key: row["score"] for key, row in settled.items()} == {
        ("eng-liv-segment", "239", "none"): 0,
        ("eng-liv-segment", "239", "bad_reference"): 33,
        ("eng-liv-segment", "80", "good_reference"): 67,
        ("eng-liv-segment", "239", "ask_again"): 1,
        ("eng-ces-segment", "t3_q8vmve#1-10/1", "none"): 75,
        ("eng-ces-segment", "t3_q8vmve#1-10/1", "bad_reference"): 20,
        ("eng-ces-document", "t3_q8vmve#1-10", "none"): 81,
        ("eng-ces-segment", "d/1", "none"): 50,
    }
    backwards = settled["eng-ces-segment", "d/1", "none"]
    assert backwards["seconds"] is None
    assert settled["eng-ces-document", "t3_q8vmve#1-10", "none"]["seconds"] == 68.744


def test_an_item_table_can_be_read_too(tmp_path):
    (tmp_path / "a.csv").write_text(SEGMENT_ROWS)
    items = {"path": "a.csv", "format": "appraise", "fields": {"item": "segment"}}
    campaign = {
        "campaign": "wmt",
        "sources": [{"path": "a.csv", "format": "appraise", "fields": FIELDS}],
        "items": [items],
    }
    (tmp_path / "campaign.yaml").write_text(json.dumps(campaign))
    assert stage_file(tmp_path).metrics("read_records")["unread_items"] == []
