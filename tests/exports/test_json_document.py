"""JSON documents: records at a path, with their place, and what is wrong with others."""

from __future__ import annotations

import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config import Limits
from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.json_document import NAMES, JsonBytes
from tests.conftest import load_campaign, write_small_campaign


def read(
    tmp_path: Path, text: str | bytes, records: str | None = None, **options: Any
) -> list[tuple[int, str, dict[str, str | None], str | None]]:
    """Row, place, cells and problem of each record."""
    path = tmp_path / "e.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    export = READERS["json"](Opening(path, "e.json", records=records, **options))
    rows = []
    for chunk in export.chunks:
        for n in range(len(chunk)):
            cells = {name: column[n].as_py() for name, column in chunk.columns.items()}
            assert chunk.cell is not None
            rows.append((int(chunk.row[n]), chunk.cell[n].as_py(), cells, chunk.problem[n].as_py()))
    assert export.n_rows == len(rows)
    return rows


def plain(rows: list[Any]) -> list[tuple[str, dict[str, str | None]]]:
    return [(place, cells) for _, place, cells, problem in rows if problem is None]


DOCUMENT = {
    "meta": {"n": 2},
    "runs": {"samples": [{"id": 1, "v": [1, 2.50]}, {"id": 2, "v": None, "ok": True}]},
    "by id": {"x/1": {"label": "a"}, "y": {"label": "b"}},
    "nested": [{"who": "p", "all": [{"l": 1}, {"l": 2}]}, {"who": "q", "all": []}],
}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ("runs.samples", [("/runs/samples/0", {"id": "1", "v": "[1, 2.5]", "ok": None}),
                          ("/runs/samples/1", {"id": "2", "v": None, "ok": "true"})]),
        ("by id.*", [("/by id/x~11", {"@key": "x/1", "label": "a"}),
                     ("/by id/y", {"@key": "y", "label": "b"})]),
        ("nested.0.all", [("/nested/0/all/0", {"l": "1"}), ("/nested/0/all/1", {"l": "2"})]),
        ("nested.*.all", [("/nested/0/all/0", {"@key": "0", "l": "1"}),
                          ("/nested/0/all/1", {"@key": "0", "l": "2"})]),
        ("meta", [("/meta", {"n": "2"})]),
    ],
)  # fmt: skip
def test_records_at_a_path(tmp_path, records, expected):
    assert plain(read(tmp_path, json.dumps(DOCUMENT).replace("2.5", "2.50"), records)) == expected


def test_a_list_and_an_object_are_documents(tmp_path):
    assert plain(read(tmp_path, '[{"a": 1}, {"b": "x"}]')) == [
        ("/0", {"a": "1", "b": None}), ("/1", {"a": None, "b": "x"}),
    ]  # fmt: skip
    assert plain(read(tmp_path, '{"a": 1.0}')) == [("", {"a": "1"})]
    assert plain(read(tmp_path, "[[1, null], [3]]")) == [
        ("/0", {"0": "1", "1": None}), ("/1", {"0": "3", "1": None}),
    ]  # fmt: skip
    assert read(tmp_path, "[]") == []


def test_keys_that_may_name_judges_are_told_by_number(tmp_path):
    text = json.dumps({"ann": [{"l": 1}], "bob": [{"l": 2}]})
    rows = read(tmp_path, text, "*", hides_keys=True)
    assert [place for _, place, _, _ in rows] == ["/#0/0", "/#1/0"]
    assert [cells["@key"] for _, _, cells, _ in rows] == ["ann", "bob"]


@pytest.mark.parametrize("order", [1, -1])
def test_values_of_the_document_are_columns_of_its_records(tmp_path, order):
    parts = {"eval": {"model": "m1", "n": [{"k": 7}], "args": {}}, "rows": [{"a": 1}, {"a": 2}]}
    text = json.dumps(dict([*parts.items()][::order]))
    wanted = ("eval.model", "eval.n.0.k", "eval.args", "eval.none")
    shared = {"eval.model": "m1", "eval.n.0.k": "7", "eval.args": None, "eval.none": None}
    assert plain(read(tmp_path, text, "rows", document_fields=wanted)) == [
        ("/rows/0", {"a": "1", **shared}), ("/rows/1", {"a": "2", **shared}),
    ]  # fmt: skip


def test_values_of_a_document_that_is_no_object_are_null(tmp_path):
    assert plain(read(tmp_path, '[{"a": 1}]', document_fields=("b",))) == [
        ("/0", {"a": "1", "b": None})
    ]


def test_other_encodings_and_marks(tmp_path):
    text = '[{"a": "\u00e9"}]'
    assert plain(read(tmp_path, text.encode("utf-8-sig"))) == [("/0", {"a": "é"})]
    assert plain(read(tmp_path, '[{"a": "é"}]'.encode("utf-16"), encoding="utf-16")) == [
        ("/0", {"a": "é"})
    ]


def test_gzip(tmp_path):
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(b'[{"a": 1}]'))
    export = READERS["json"](Opening(tmp_path / "e.json.gz", "e.json.gz"))
    assert sum(map(len, export.chunks)) == 1


@pytest.mark.parametrize(
    ("text", "records", "what"),
    [
        ('{"a": 1}', "b", "records: b: the document has no b"),
        ('{"a": {"c": 1}}', "a.b", "records: a.b: /a has no b"),
        ('{"a": 1}', "a", "/a is neither a list nor an object"),
        ('{"a": 1}', "a.b", "records: a.b: /a is neither a list nor an object"),
        ("3", None, "the document is neither a list nor an object"),
        ("[1, ", None, "is not JSON"),
        ("", None, "is not JSON"),
        ('{"a": 1}\n{"a": 2}', None, "is not JSON"),
        ('[{"a": 1, "a": 2}]', None, "an object has a key twice"),
        ("<html>", None, "is an HTML page, not an export"),
        (b'[{"a": "\xe9"}]', None, "is not text in utf-8"),
    ],
)
def test_what_cannot_be_read_says_what_and_where(tmp_path, text, records, what):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, records)
    assert what in caught.value.problems[0].what
    assert caught.value.problems[0].do


NAN = '{"bits": [NaN, {"x": -Infinity}], "text": "NaN, \\" Infinity", "n": Infinity, "l": [1.5]}'


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_numbers_that_json_lacks_are_read_as_python_writes_them(block):
    """However the bytes are cut into blocks; within strings the words stay text."""
    source = JsonBytes(io.BytesIO(NAN.encode()), "utf-8")
    text = b"".join(iter(lambda: source.read(block), b"")).decode()
    assert json.loads(text, parse_float=lambda w: NAMES.get(str(Decimal(w)), w)) == {
        "bits": ["NaN", {"x": "-Infinity"}], "text": 'NaN, " Infinity', "n": "Infinity",
        "l": ["1.5"],
    }  # fmt: skip


def test_cells_of_numbers_that_json_lacks(tmp_path):
    text = json.dumps(
        {
            "stats": [{"mean": float("nan")}],
            "rows": [{"a": float("nan"), "b": "NaN"}, {"a": [float("-inf")], "b": 1}],
        }
    )
    assert plain(read(tmp_path, text, "rows")) == [
        ("/rows/0", {"a": "NaN", "b": "NaN"}), ("/rows/1", {"a": "[-Infinity]", "b": "1"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[{"a": 1},\n {"a": NAN}]', 2, 8),
        ('[{"a": NaN, "b": -NaN}]', 1, 18),
        ('{"a": {NaN: 1}}', 1, 8),
        ('[{"é": 1} {"a": 2}]', 1, 11),
        ('[{"a": 1},\n', 2, 1),
        ("[" + '{"a": "' + "x" * 70_000 + '"},\n' + '{"a": nul}]', 2, 7),
    ],
)  # fmt: skip
def test_what_is_no_json_says_where(tmp_path, text, line, column):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    position = f"line {line} " * (line > 1) + f"character {column}"
    assert caught.value.problems[0].what.endswith(f" at {position})")


def test_a_record_is_bounded(tmp_path):
    with pytest.raises(InputError, match="cannot be read") as caught:
        read(tmp_path, json.dumps([{"a": "x" * 5000}]), limits=Limits(row_bytes=1024))
    assert "limits.row_bytes" in caught.value.problems[0].do


def test_deep_nesting_and_half_characters_are_problems_of_their_record(tmp_path):
    deep = "[" * 5000 + "]" * 5000
    rows = read(tmp_path, f'[{{"a": {deep}}}, {{"a": 1}}]')
    assert [problem for *_, problem in rows] == ["malformed JSON: nested too deeply", None]


def test_records_in_memory_are_few(tmp_path):
    """A chunk is given before the rest is read."""
    path = tmp_path / "e.json"
    path.write_text('[{"a": 1}, {"a": 2}, {"a": 3}, broken')
    export = READERS["json"](Opening(path, "e.json", chunk_records=2))
    assert len(next(export.chunks)) == 2
    with pytest.raises(InputError):
        next(export.chunks)


def test_a_campaign_of_a_json_document(stage_campaign):
    document = {"results": [{"id": 1, "by": [{"who": "ann", "l": "x"}, {"who": "bob", "l": "y"}]}]}
    fields = {
        "item": "id", "judge": {"column": "{a.value}", "json": "who"},
        "label": {"column": "{a.value}", "json": "l"},
    }  # fmt: skip
    source = {
        "path": "exports/*.json", "format": "json", "records": "results", "fields": fields,
        "each": {"a": {"list": "by"}},
    }  # fmt: skip
    staged = stage_campaign({"a.json": json.dumps(document)}, sources=[source])
    rows = staged.rows("controlled")
    assert sorted((r["item"], r["judge"], r["label"], r["cell"]) for r in rows) == [
        ("1", "ann", "x", "/results/0#a=0"), ("1", "bob", "y", "/results/0#a=1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "setting", [{"records": "a"}, {"options": {"document_fields": ["a"]}}], ids=str
)
def test_settings_of_documents_belong_to_json(tmp_path, setting):
    source = setting | {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "label": "label"},
    }  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        load_campaign(write_small_campaign(tmp_path, {}, sources=[source]))
    assert "belongs to format: json, not csv" in caught.value.problems[0].what
