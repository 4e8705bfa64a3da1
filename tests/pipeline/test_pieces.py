"""Large exports are read in pieces side by side: the same records, rejected rows and errors."""

from __future__ import annotations

import gzip
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.exports import PIECES, Opening
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import Build, stages_for
from annot_pipeline.stages.ingest import opened_exports, parsed_exports
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.tables import read_table
from tests.conftest import engine

FIELDS = {"item": "item", "judge": "judge", "label": "label"}
ROWS = [
    {"item": f"i{n // 3}", "judge": f"j{n % 3} ü🙂", "label": "xy"[n % 5 > 2]} for n in range(60)
]
LATE = [*ROWS[:40], *({**row, "at": "2026-01-01T00:00:00Z"} for row in ROWS[40:])]
"""A column that only later lines have."""

LINES = [
    "\ufeff" + json.dumps(ROWS[0]),
    *(json.dumps(row, ensure_ascii=False) for row in ROWS[1:20]),
    "",
    "not JSON",
    "[1, 2]",
    json.dumps({"item": "long", "judge": "j", "label": "x", "text": "é" * 3000}),
    "   ",
    "\ufeff" + json.dumps(ROWS[20]),  # a mark that starts no file is no JSON
    *(json.dumps(row) + "\r" for row in ROWS[21:40]),
    json.dumps({"judge": "j", "label": "x"}),
    *(json.dumps(row) for row in ROWS[40:]),
]
BYTES = "\n".join(LINES).encode() + b'\n{"item": "\xff", "judge": "j", "label": "x"}'


@pytest.fixture
def whole_and_pieces(tmp_path, monkeypatch):
    """Reads an export with one job, then in pieces of some bytes: what is known of its records."""
    pieces = []

    def pieces_of(*export):
        pieces.append(opened_exports.pieces_of(*export))
        return pieces[-1]

    monkeypatch.setattr(parsed_exports, "pieces_of", pieces_of)

    def read(name, bytes_, format_, *piece_bytes, fields=FIELDS):
        (tmp_path / name).write_bytes(bytes_)
        source = {"path": name, "format": format_, "fields": fields}
        (tmp_path / "campaign.yaml").write_text(json.dumps({"campaign": "c", "sources": [source]}))
        results = []
        for size in (len(bytes_), *piece_bytes):
            shutil.rmtree(tmp_path / "store", ignore_errors=True)
            try:
                results.append(_records(tmp_path, JobSizes(export_bytes=size)))
            except AnnotError as error:
                results.append(str(error))
            assert (len(pieces.pop()) > 1) == (size < len(bytes_))
        return results

    return read


def _records(folder, sizes):
    build = Build(load_campaign(folder, sets=engine()), sizes=sizes)
    runs = {stage.name: build.run_stage(stage) for stage in stages_for(["record_files"])}
    table = runs["read_records"].result.tables["record_files"]
    assert not (table.paths[0].parent / "pieces").exists()
    [record_file] = read_table(table).to_pylist()
    path = folder / "store" / "records" / record_file["filename"]
    records = read_table(path)
    assert records["record"].to_pylist() == [*range(len(records))]
    rows = records.drop_columns("record").sort_by("row")  # what holds no object comes last
    note = json.loads(path.with_suffix(".json").read_text())
    assert note.pop("records_sha256") == record_file.pop("records_sha256") == file_sha256(path)
    del note["sha256"]  # the digest of the note itself
    return record_file, note, rows.to_pylist()


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n \n"])
def test_lines_of_json(whole_and_pieces, end):
    whole, *others = whole_and_pieces("a.jsonl", BYTES + end, "jsonl", 1, 80, 400, 3000)
    assert whole[0]["rows"] == len(LINES) - 2 + 1
    assert whole[0]["records"] == whole[0]["rows"]
    for other in others:
        assert other == whole


def test_a_column_that_only_later_pieces_have(whole_and_pieces):
    bytes_ = "\n".join(map(json.dumps, LATE)).encode()
    fields = FIELDS | {"submitted_at": "at"}
    whole, *others = whole_and_pieces("a.jsonl", bytes_, "jsonl", 100, 1000, fields=fields)
    assert "at" in whole[1]["columns"]
    for other in others:
        assert other == whole


def test_a_file_without_any_object_is_refused_in_the_same_words(whole_and_pieces):
    actual = whole_and_pieces("a.jsonl", b"\n".join([b"[1]", b"nothing"] * 20), "jsonl", 10, 50)
    assert "no line holds a JSON object (not a JSON object: a list)" in actual[0]
    assert len(set(actual)) == 1


def test_a_piece_without_any_object_is_rows_to_reject(whole_and_pieces):
    bytes_ = b"nothing\n" * 50 + "\n".join(map(json.dumps, ROWS)).encode()
    whole, *others = whole_and_pieces("a.jsonl", bytes_, "jsonl", 20, 200)
    assert whole[0]["rows"] == 50 + len(ROWS)
    for other in others:
        assert other == whole


def test_row_groups_of_parquet(whole_and_pieces):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(LATE), sink, row_group_size=7)
    whole, *others = whole_and_pieces("a.parquet", sink.getvalue().to_pybytes(), "parquet", 1, 300)
    assert whole[0]["rows"] == len(LATE)
    for other in others:
        assert other == whole


@pytest.mark.parametrize(
    ("format_", "name", "bytes_", "options"),
    [
        ("jsonl", "a.jsonl.gz", gzip.compress(BYTES), {}),
        ("jsonl", "a.jsonl", "\n".join(LINES).encode("utf-16"), {"encoding": "utf-16"}),
        ("jsonl", "a.jsonl", b"", {}),
        ("parquet", "a.parquet", b"no Parquet", {}),
    ],
)
def test_what_must_be_read_from_its_start_is(tmp_path, format_, name, bytes_, options):
    (tmp_path / name).write_bytes(bytes_)
    assert PIECES[format_](Opening(tmp_path / name, name, **options), 1) == []
