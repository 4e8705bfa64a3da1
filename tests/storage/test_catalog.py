"""catalog.duckdb: views over the releases, for people."""

from __future__ import annotations

import shutil

import duckdb
import pytest

from annot_pipeline import load_gold
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import StoreError
from annot_pipeline.storage import catalog
from annot_pipeline.storage.catalog import write_catalog
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.tables import write_table

EXPORT = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(5) for j in range(3)
)
MORE = "item,judge,label\ni9,w7,a\n"


def rows(path, query: str) -> list[tuple]:
    connection = duckdb.connect(str(path), read_only=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.slow
def test_views_of_the_newest_and_of_every_release(build_campaign, start_campaign, tmp_path):
    start_campaign({"a.csv": EXPORT})
    build_campaign({"a.csv": EXPORT, "b.csv": MORE})
    store, gold = tmp_path / "campaign" / "store", tmp_path / "campaign" / "gold"
    path = write_catalog(store, Releases(gold))
    assert path == store / "catalog.duckdb"
    assert rows(path, "SELECT count(*) FROM labels") == [(6,)]
    assert rows(path, "SELECT count(*) FROM v0001.labels") == [(5,)]
    assert rows(path, "SELECT count(*) FROM v0002.labels") == [(6,)]
    for name in GOLD:
        table = load_gold(gold, name)
        actual = rows(path, f'SELECT * FROM "{name}"')
        assert actual == [tuple(row.values()) for row in table.to_pylist()], name
    views = dict(rows(path, "SELECT view_name, comment FROM duckdb_views() "
                            "WHERE schema_name = 'main' AND NOT internal"))  # fmt: skip
    assert views == {name: f"v0002: one row per {table.row}" for name, table in GOLD.items()}
    columns = rows(path, "SELECT column_name, comment FROM duckdb_columns() "
                         "WHERE table_name = 'labels' AND schema_name = 'main'")  # fmt: skip
    assert columns == [(c.name, c.description) for c in GOLD["labels"].columns]
    assert not list(store.glob(".tmp-*"))
    assert not list(store.glob("*.wal"))


@pytest.mark.slow
def test_paths_and_names_are_quoted(build_campaign, tmp_path):
    folder = tmp_path / "campaign"
    build_campaign({"a.csv": EXPORT}, "gold=it's [a]* {b}?/gold")
    store, gold = folder / "store", folder / "it's [a]* {b}?/gold"
    matched = shutil.copytree(gold, folder / "it's ab {b}c/gold")  # were the path a glob
    write_table(matched / "v0001" / "labels.parquet", GOLD["labels"].empty())
    path = write_catalog(store / "also 'so'", Releases(gold))
    assert rows(path, "SELECT count(*) FROM labels") == [(5,)]


@pytest.mark.slow
def test_a_folder_named_as_a_partition_replaces_no_column(build_campaign, tmp_path):
    build_campaign({"a.csv": EXPORT}, "gold=label=yes/gold")
    folder = tmp_path / "campaign"
    path = write_catalog(folder / "store", Releases(folder / "label=yes" / "gold"))
    assert rows(path, "SELECT DISTINCT label FROM labels ORDER BY 1") == [("a",), ("b",)]


@pytest.mark.slow
def test_a_reader_keeps_the_catalog_that_it_opened(build_campaign, start_campaign, tmp_path):
    start_campaign({"a.csv": EXPORT})
    store, gold = tmp_path / "campaign" / "store", tmp_path / "campaign" / "gold"
    path = write_catalog(store, Releases(gold))
    reader = duckdb.connect(str(path), read_only=True)
    build_campaign({"a.csv": EXPORT, "b.csv": MORE})
    write_catalog(store, Releases(gold))
    assert reader.execute("SELECT count(*) FROM labels").fetchall() == [(5,)]
    reader.close()
    assert rows(path, "SELECT count(*) FROM labels") == [(6,)]


@pytest.mark.slow
def test_a_release_that_cannot_be_read_is_left_out(build_campaign, start_campaign, tmp_path):
    start_campaign({"a.csv": EXPORT})
    build_campaign({"a.csv": EXPORT, "b.csv": MORE})
    store, gold = tmp_path / "campaign" / "store", tmp_path / "campaign" / "gold"
    (gold / "v0001" / "scores.parquet").unlink()
    path = write_catalog(store, Releases(gold))
    names = "SELECT DISTINCT schema_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"
    assert rows(path, names) == [("main",), ("v0002",)]


def test_a_failure_leaves_the_old_catalog(start_campaign, tmp_path, monkeypatch):
    store, gold = tmp_path / "campaign" / "store", tmp_path / "campaign" / "gold"
    with pytest.raises(StoreError, match="no release yet"):
        write_catalog(store, Releases(gold))
    start_campaign({"a.csv": EXPORT})
    path = write_catalog(store, Releases(gold))
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(catalog, "_add_release", full)
        with pytest.raises(StoreError, match="cannot be written"):
            write_catalog(store, Releases(gold))
    (gold / "v0001" / "labels.parquet").unlink()
    with pytest.raises(StoreError, match="cannot be written"):
        write_catalog(store, Releases(gold))
    assert path.read_bytes() == before
    assert not list(store.glob(".tmp-*"))


def test_older_duckdbs_can_read_it(start_campaign, tmp_path):
    """The storage version stands in the file's first block: 67 is that of v1.5.0."""
    start_campaign({"a.csv": EXPORT})
    path = write_catalog(tmp_path / "campaign" / "store", Releases(tmp_path / "campaign" / "gold"))
    head = path.read_bytes()[:20]
    assert head[8:12] == b"DUCK"
    assert int.from_bytes(head[12:20], "little") <= 68
