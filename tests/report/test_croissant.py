"""croissant.json: what mlcroissant says of it, and the records that are read through it."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

import pytest

import annot_pipeline
from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.files import file_sha256

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the packages that it imports, not of ours
    import mlcroissant
    from absl import logging as absl_logging

# mlcroissant logs with absl, which closes the stream that pytest captures with when Dagster sets
# up logging; it never closes this one
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__


# what mlcroissant does with rdflib and pandas
pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]


@pytest.fixture(scope="module")
def document(full_release) -> dict[str, Any]:
    actual: dict[str, Any] = json.loads((full_release.folder / "croissant.json").read_text("utf-8"))
    return actual


@pytest.fixture(scope="module")
def dataset(full_release) -> Any:
    return mlcroissant.Dataset(jsonld=full_release.folder / "croissant.json")


@pytest.mark.slow
def test_mlcroissant_finds_nothing_wrong(full_release, caplog):
    with caplog.at_level(logging.WARNING):
        actual = mlcroissant.Dataset(jsonld=full_release.folder / "croissant.json")
    assert not actual.metadata.ctx.issues.errors
    assert not actual.metadata.ctx.issues.warnings
    assert not caplog.records  # a context that is not the standard one is logged only


@pytest.mark.slow
def test_the_rai_vocabulary_says_how_the_data_was_annotated(full_release, document):
    n_items = full_release.table("items").num_rows
    assert "http://mlcommons.org/croissant/RAI/1.0" in document["conformsTo"]
    assert f"judgments of {n_items} items" in document["rai:annotationsPerItem"]
    assert "used" in document["rai:dataPreprocessingProtocol"]
    assert "pseudonyms" in document["rai:personalSensitiveInformation"]


@pytest.mark.slow
def test_without_a_word_about_it_only_the_licence_is_missing(build_campaign):
    """A licence cannot be made up."""
    built = build_campaign({"a.csv": "item,judge,label\ni,w,x\n"})
    actual = mlcroissant.Dataset(jsonld=built.publication.release.folder / "croissant.json")
    assert not actual.metadata.ctx.issues.errors
    (missing,) = actual.metadata.ctx.issues.warnings
    assert "license" in missing


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("table", GOLD)
def test_records_are_those_of_the_table(table, full_release, dataset):
    wanted = annot_pipeline.load_gold(full_release.folder.parent, table).to_pylist()
    records = [
        {k: v.decode() if isinstance(v, bytes) else v for k, v in record.items()}  # its text
        for record in dataset.records(table)
    ]
    assert wanted
    assert records == [{f"{table}/{k}": v for k, v in row.items()} for row in wanted]


def test_it_says_what_the_settings_say(document, full_release):
    about = full_release.manifest["settings"]["about"]
    assert document["name"] == about["title"]
    assert document["description"] == about["description"]
    assert document["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert document["url"] == about["url"]
    assert document["keywords"] == about["keywords"]
    assert document["inLanguage"] == about["languages"]
    assert [creator["name"] for creator in document["creator"]] == about["creators"]
    assert full_release.manifest["content_sha256"] in document["citeAs"]
    assert document["isLiveDataset"] is False


def test_every_file_has_its_checksum_and_size(document, full_release):
    for item in document["distribution"]:
        path = full_release.folder / item["contentUrl"]
        assert item["sha256"] == file_sha256(path)
        assert item["contentSize"] == f"{path.stat().st_size} B"
    assert [item["@id"] for item in document["distribution"]] == [f"{n}.parquet" for n in GOLD]


def test_keys_are_said_where_they_tell_rows_apart(document):
    keys = {r["name"]: [k["@id"] for k in r.get("key", [])] for r in document["recordSet"]}
    assert keys["labels"] == ["labels/task", "labels/item"]
    assert keys["items"] == ["items/item"]
    assert keys["lineage"] == []  # one file under two names gives equal keys
