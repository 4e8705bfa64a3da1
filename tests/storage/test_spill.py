"""What SQL puts aside while it runs, and what is left of it."""

import os
import subprocess
import sys
import time

import pyarrow as pa

from annot_pipeline.config import Resources
from annot_pipeline.storage.queries import Queries, clear_spill
from annot_pipeline.storage.spill import ABANDONED_AFTER, clean_spill, own_spill


def test_queries_that_spill_can_be_followed_by_cleaning_and_more_queries(tmp_path, monkeypatch):
    def sorting(name):
        assert name == "sorting"
        return (
            "SELECT * FROM (SELECT hash(i) AS h, repeat(chr(65 + (i % 26)::INT), 30) AS s "
            "FROM range(2500000) AS t(i), one) ORDER BY h, s"
        )

    monkeypatch.setattr("annot_pipeline.storage.queries.sql_text", sorting)
    queries = Queries(Resources(memory_limit="60MB", threads=1), tmp_path / "spill")
    for _ in range(2):
        with queries.run("sorting", {"one": pa.table({"one": [1]})}) as reader:
            reader.read_next_batch()
            assert own_spill(tmp_path / "spill").is_dir()
        clear_spill(tmp_path / "spill")
        assert not (tmp_path / "spill").exists()


def test_folders_of_dead_processes_go_and_those_of_living_ones_stay(tmp_path):
    spill = tmp_path
    prefix = own_spill(spill).name.removesuffix(str(os.getpid()))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, alive = spill / f"{prefix}{ended.pid}", spill / f"{prefix}{os.getppid()}"
    here, forgotten = spill / "annot-elsewhere-1", spill / "annot-elsewhere-2"
    for folder in (dead, alive, here, forgotten):
        folder.mkdir()
    (spill / "another program's").mkdir()
    old = time.time() - 2 * ABANDONED_AFTER
    os.utime(forgotten, (old, old))
    clean_spill(spill)
    assert {p.name for p in spill.iterdir()} == {alive.name, here.name, "another program's"}


def test_views_of_one_query_are_not_seen_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr("annot_pipeline.storage.queries.sql_text", lambda _: "SELECT * FROM given")
    queries = Queries(Resources(), tmp_path / "spill")
    one, two = pa.table({"a": [1]}), pa.table({"a": [2]})
    with queries.run("q", {"given": one}) as first, queries.run("q", {"given": two}) as second:
        assert second.read_all()["a"].to_pylist() == [2]
        assert first.read_all()["a"].to_pylist() == [1]
