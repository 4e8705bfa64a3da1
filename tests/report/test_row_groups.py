"""Tables of several row groups, each with its own dictionary of names, make the same pages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.storage import tables
from annot_pipeline.storage.tables import read_table, write_table
from tests.conftest import build_file
from tests.full_campaign import write_full_campaign
from tests.report.report_pages import with_all_shown


def test_names_of_several_row_groups_are_grouped(tmp_path):
    path = tmp_path / "t.parquet"
    rows = pa.table({"task": ["b", "a", "c", "b", "a"], "n": [1, 2, 3, 4, 5]})
    write_table(path, rows, group_rows=2)
    for tasks in (None, ["a", "b", "c"]):
        read = read_table(path, tasks=tasks)
        assert read["task"].num_chunks == 3
        sums = read.group_by("task").aggregate([("n", "sum")]).to_pylist()
        assert {row["task"]: row["n_sum"] for row in sums} == {"a": 7, "b": 5, "c": 3}
        assert read["task"].unique().to_pylist() == ["b", "a", "c"]


@pytest.mark.slow
def test_a_release_of_tables_of_several_row_groups(tmp_path, monkeypatch):
    pages = []
    for name, rows in (("one", tables.ROW_GROUP), ("several", 3)):
        monkeypatch.setattr(tables, "ROW_GROUP", rows)
        folder = write_full_campaign(tmp_path / name, privacy={"pseudonymize": False})
        release = build_file(folder).publication.release
        pages.append(with_all_shown((release.folder / "report.html").read_text()))
    figures, tables_ = ([page.count(tag) for page in pages] for tag in ("<svg", "<table"))
    assert figures[0] == figures[1] > 10
    assert tables_[0] == tables_[1] > 10
