"""Queries read the inputs that they name, and of these the tasks that are asked for."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.config import Resources
from annot_pipeline.storage import queries as module
from annot_pipeline.storage.queries import Queries, Tasks
from annot_pipeline.storage.tables import write_table


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a query of ``sql/`` with another text."""
    queries = Queries(Resources(), tmp_path / "spill")

    def run(text, inputs, **how):
        monkeypatch.setattr(module, "sql_text", lambda _: text)
        return queries.table("any", inputs, **how).to_pylist()

    return run


def test_a_file_that_a_query_does_not_name_is_not_opened(run, tmp_path):
    rows = pa.table({"n": [1, 2]})
    assert run("SELECT n FROM numbers", {"numbers": rows, "others": tmp_path / "none"}) == [
        {"n": 1}, {"n": 2},
    ]  # fmt: skip


def test_tasks_among_those_between_two(run, tmp_path):
    path = tmp_path / "rows.parquet"
    names = ["a", "b", "it's", "z", None]
    write_table(path, pa.table({"task": pa.array(names)}))
    tasks = Tasks("a", "it's", none=False, among=["a", "it's"])
    rows = run("SELECT task FROM r", {"r": path}, tasks=tasks, filtered=("r",))
    assert [row["task"] for row in rows] == ["a", "it's"]
