"""The store: results appear whole, are found again, and old ones go."""

from __future__ import annotations

import os
import time

import pyarrow as pa
import pytest

from annot_pipeline.errors import StoreError
from annot_pipeline.storage.store import KEPT_RUNS, UNUSED_AFTER, StageFingerprint, Store
from annot_pipeline.storage.tables import StoredTable, write_table

BASIS = StageFingerprint("1", "settings", {})


def make(store: Store, key: str, run: str = "r1"):
    with store.make("stage", key, BASIS, run) as unfinished:
        table = write_table(unfinished.folder / "t.parquet", pa.table({"a": [1, 2]}))
        unfinished.tables, unfinished.document = {"t": StoredTable((table,))}, {"n": 2}
    return store.stored("stage", key)


def test_a_result_is_found_by_its_key(tmp_path):
    store = Store(tmp_path)
    assert store.result("stage", "k") is None
    made = make(store, "k")
    actual = store.result("stage", "k")
    assert actual.tables["t"].sha256 == made.tables["t"].sha256
    assert actual.document == {"n": 2}
    assert actual.tables["t"].paths[0].exists()


def test_a_result_whose_facts_are_others_is_none(tmp_path):
    store = Store(tmp_path)
    make(store, "k")
    path = tmp_path / "stages" / "stage" / "k" / "stage.json"
    path.write_text(path.read_text().replace('"n": 2', '"n": 3'))
    assert store.result("stage", "k") is None


def make_half(store: Store) -> None:
    with store.make("stage", "k", BASIS, "r") as unfinished:
        (unfinished.folder / "t.parquet").write_text("half")
        raise RuntimeError("killed")


def test_a_failure_leaves_no_result(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(RuntimeError):
        make_half(store)
    assert store.result("stage", "k") is None
    assert not list(tmp_path.rglob("*.parquet"))
    assert make(store, "k")


def test_a_result_whose_file_is_gone_is_made_again(tmp_path):
    store = Store(tmp_path)
    make(store, "k").tables["t"].paths[0].unlink()
    assert store.result("stage", "k") is None
    assert make(store, "k").tables["t"].paths[0].exists()


def test_a_run_sees_its_own_results_first(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="has not run yet"):
        store.recorded("r1", "stage")
    store.record("r1", make(store, "one"))
    store.record("r2", make(store, "two"))
    assert store.recorded("r1", "stage").key == "one"
    assert store.recorded("r2", "stage").key == "two"
    assert store.recorded("r3", "stage").key == "two"  # the latest


def test_cleaning_keeps_what_kept_runs_use(tmp_path):
    store = Store(tmp_path)
    store.prepare()
    for number in range(KEPT_RUNS + 3):
        store.record(f"r{number:02d}", make(store, f"k{number}"))
        os.utime(tmp_path / "runs" / f"r{number:02d}", (number, number))
    old = time.time() - 2 * UNUSED_AFTER
    for folder in (tmp_path / "stages" / "stage").iterdir():
        os.utime(folder, (old, old))
    (tmp_path / ".tmp-left").mkdir()
    (tmp_path / "stages" / "stage" / ".tmp-left").mkdir()
    store.clean(store.root / "spill")
    kept = {path.name for path in (tmp_path / "stages" / "stage").iterdir()}
    assert kept == {f"k{number}" for number in range(3, KEPT_RUNS + 3)}
    assert not (tmp_path / ".tmp-left").exists()


def test_what_killed_builds_left_goes(tmp_path):
    """Jobs and tokens of Spark, tables that were written apart, where EM stood, half a stage."""
    store, old = Store(tmp_path), time.time() - 2 * UNUSED_AFTER
    store.prepare()
    left = [
        tmp_path / name
        for name in (
            ".tmp-jobs-0f/0", ".tmp-annot-x/stages/s/k/t.parquet", ".tmp-y/labels.parquet",
            "stages/stage/.tmp-k-1-ab/t.parquet", "checkpoints/done/em.npz",
            "checkpoints/fresh/.tmp-em.npz-1-ab", ".tmp-token-0f", "runs/r/.tmp-a.json-1-ab",
        )
    ]  # fmt: skip
    kept = tmp_path / "checkpoints/fresh/em.npz"
    for path in (*left, kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    os.utime(tmp_path / "checkpoints/done", (old, old))
    store.clean(store.root / "spill")
    assert not [path for path in left if path.exists()]
    assert kept.exists(), "a build goes on there"
    assert not [*tmp_path.rglob(".tmp-*")]
    assert not (tmp_path / "checkpoints/done").exists()


@pytest.mark.slow
def test_parsed_exports_that_no_kept_run_uses_go(build_campaign, tmp_path):
    export = "item,judge,label\n" + "".join(f"i{i},w{i},a\n" for i in range(4))
    first = build_campaign({"a.csv": export, "b.csv": export + "i9,w1,a\n"})
    store = Store(tmp_path / "campaign" / "store")
    old = time.time() - 2 * UNUSED_AFTER
    (store.records / f"{'0' * 32}.parquet").write_bytes(b"")
    for path in store.records.iterdir():
        os.utime(path, (old, old))
    store.clean(store.root / "spill")
    used = {r["filename"] for r in first.rows("record_files")}
    assert {p.name for p in store.records.glob("*.parquet")} == used


def test_tables_are_the_same_bytes_however_the_rows_came(tmp_path):
    table = pa.table({"a": list(range(1000)), "b": [str(i) for i in range(1000)]})
    whole = write_table(
        tmp_path / "a", pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    )
    pieces = [b for n in range(0, 1000, 7) for b in table.slice(n, 7).to_batches()]
    piecewise = write_table(tmp_path / "b", pa.RecordBatchReader.from_batches(table.schema, pieces))
    assert whole.sha256 == piecewise.sha256
    assert whole.rows == piecewise.rows == 1000
