"""Every table of a release, read with the tools that people have: the same values everywhere."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

import annot_pipeline
from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.releases import Release

Rows = list[dict[str, Any]]


def same(actual: Rows, wanted: Rows) -> bool:
    """Equal row by row; a null may be any reader's kind of nothing."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in actual]
    return plain == wanted


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.fixture(params=GOLD)
def table(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(full_release: Release, table: str) -> Path:
    return full_release.folder / f"{table}.parquet"


@pytest.fixture
def gold(full_release: Release, table: str) -> Rows:
    actual = annot_pipeline.load_gold(full_release.folder.parent, table).to_pylist()
    assert actual, "the campaign of the tests must fill every table"
    return actual


def test_pyarrow(file, gold):
    assert pq.read_table(file).to_pylist() == gold
    assert pyarrow.dataset.dataset(file).to_table().to_pylist() == gold


def test_pandas(file, gold):
    frame = pd.read_parquet(file)
    assert same(frame.astype(object).to_dict("records"), gold)
    typed = pd.read_parquet(file, dtype_backend="numpy_nullable")
    assert same(typed.astype(object).to_dict("records"), gold)


def test_duckdb(file, gold):
    with duckdb.connect() as connection:
        assert connection.read_parquet(str(file)).to_arrow_table().to_pylist() == gold
        query = f"SELECT count(*) FROM '{file}'"
        assert connection.sql(query).fetchall() == [(len(gold),)]


def test_polars(file, gold):
    assert pl.read_parquet(file).to_dicts() == gold
    assert pl.scan_parquet(file).collect().to_dicts() == gold


# --- Hugging Face datasets -----------------------------------------------------------------


@pytest.fixture(scope="session")
def hugging_face(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """`datasets`, imported where it neither finds a network nor writes to the home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hugging_face")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the packages that it imports, not of ours
            import datasets
        datasets.disable_progress_bars()
        yield datasets


def test_hugging_face_datasets(full_release, table, gold, hugging_face, tmp_path):
    loaded = hugging_face.load_dataset(
        str(full_release.folder), table, split="train", cache_dir=str(tmp_path)
    )
    assert same(loaded.to_list(), gold)


def test_hugging_face_takes_labels_where_no_table_is_named(full_release, hugging_face, tmp_path):
    loaded = hugging_face.load_dataset(str(full_release.folder), cache_dir=str(tmp_path))
    assert loaded["train"].column_names == [c.name for c in GOLD["labels"].columns]


def test_the_front_matter_is_yaml_whatever_the_names(full_release):
    card = (full_release.folder / "README.md").read_text(encoding="utf-8")
    fence, text, _ = card.split("---\n", 2)
    said = YAML(typ="safe", pure=True).load(text)
    about = full_release.manifest["settings"]["about"]
    assert fence == ""
    assert said["pretty_name"] == f"{about['title']} v0001"
    assert said["tags"][-3:] == about["keywords"]
    assert (said["license"], said["language"]) == ("cc-by-4.0", ["en", "he"])
    assert said["size_categories"] == ["n<1K"]
    assert said["configs"][0]["config_name"] == "labels"
    assert {c["config_name"]: c["data_files"] for c in said["configs"]} == {
        name: f"{name}.parquet" for name in GOLD
    }
    assert [c.get("default") for c in said["configs"]] == [True] + [None] * (len(GOLD) - 1)
