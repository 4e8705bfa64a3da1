"""MTurk batch results: rows end before the columns that the requester fills in."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.exports import READERS, Opening

HEAD = '"HITId","WorkerId","Answer.Q1","Approve","Reject"\n'


def read(path: Path, text: str, format_: str = "mturk"):
    path.write_text(text)
    export = READERS[format_](Opening(path, path.name))
    rows = {}
    for chunk in export.chunks:
        for place, number in enumerate(chunk.row.tolist()):
            problem = chunk.problem[place].as_py()
            rows[number] = problem or [c[place].as_py() for c in chunk.columns.values()]
    return export.columns, rows


def test_rows_without_the_requesters_columns(tmp_path):
    columns, rows = read(tmp_path / "b.csv", HEAD + '"h1","w1","a, b"\n"h1","w2","x\ny"\n"h2"\n')
    assert columns == ["HITId", "WorkerId", "Answer.Q1"]
    assert rows[1] == ["h1", "w1", "a, b"]
    assert rows[2] == ["h1", "w2", "x\ny"]
    assert rows[3].startswith("ragged row: 1 field")


def test_rows_with_them(tmp_path):
    columns, rows = read(tmp_path / "b.csv", HEAD + '"h1","w1","a","x",""\n')
    assert columns[-2:] == ["Approve", "Reject"]
    assert rows[1] == ["h1", "w1", "a", "x", ""]


def test_plain_csv_does_not_forgive_short_rows(tmp_path):
    _, rows = read(tmp_path / "b.csv", HEAD + '"h1","w1","a"\n', "csv")
    assert rows[1].startswith("ragged row: 3 fields")


@pytest.mark.parametrize(("name", "rows"), [("1234", 29), ("1959533", 2)])
def test_real_batches(shared_data, name, rows):
    path = shared_data / "graham-mturk-da" / f"Batch_{name}_batch_results.csv"
    export = READERS["mturk"](Opening(path, path.name))
    chunks = list(export.chunks)
    assert sum(len(chunk) for chunk in chunks) == rows
    assert all(chunk.problem.null_count == len(chunk) for chunk in chunks)
    assert "Answer.Q1" in export.columns
