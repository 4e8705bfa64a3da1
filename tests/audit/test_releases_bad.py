"""Gold that is not as it was published: a clear refusal for each case, and nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.manifest import parse_manifest
from annot_pipeline.storage.pointer import Pointer, write_pointer
from annot_pipeline.storage.releases import Releases
from tests.audit.two_releases import flip, manifest_of, rewrite


@pytest.fixture
def gold(campaign) -> Path:
    return campaign / "gold"


def refused(gold: Path | str, version: str = "latest", table: str = "labels") -> str:
    with pytest.raises(StoreError) as error:
        load_gold(gold, table, version)
    return str(error.value)


def tree(folder: Path) -> dict[str, bytes]:
    actual = sorted(p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in actual}


def test_gold_is_text_or_a_path(gold):
    assert load_gold(str(gold), "labels").equals(load_gold(gold, "labels", "v0002"))


def test_gold_is_a_file(gold):
    for path in (gold / "latest.json", gold / "v0001" / "labels.parquet"):
        text = refused(path)
        assert "this is a file, not a folder of releases" in text
        assert f"releases are in {gold}" in text
    assert f"releases are in {gold}" in refused(gold / "v0001")
    assert f"releases are in {gold}" in refused(gold.parent)
    with (
        pytest.raises(StoreError, match="this is a file"),
        Releases(gold / "latest.json").publishing(lambda: None),
    ):
        pass


def test_a_release_without_manifest(gold):
    (gold / "v0002" / "manifest.json").unlink()
    text = refused(gold)
    assert f"{gold / 'v0002'}: half a release" in text
    assert "manifest.json is missing" in text
    assert load_gold(gold, "labels", "v0001").num_rows == 5


def test_a_release_copied_half(gold):
    (gold / "v0002" / "labels.parquet").unlink()
    text = refused(gold)
    assert "half a release" in text
    assert "labels.parquet is missing" in text
    assert "copy the whole folder again" in text
    assert load_gold(gold, "items").num_rows == 6
    (gold / "latest.json").unlink()
    assert "v0001, v0002 lie there, but latest.json does not" in refused(gold)
    shutil.rmtree(gold / "v0002")
    (gold / "v0002").write_text("a file")
    write_pointer(gold, Pointer("v0002", {"v0002": "0" * 64}))
    assert "cannot be read" in refused(gold)


def test_a_manifest_that_is_none(gold):
    path = gold / "v0002" / "manifest.json"
    good = path.read_bytes()
    for bad in (b"", b"[]", b'"v0002"', b"{}", b"\xff", good[:-9], b'{"schema_version": "1"}'):
        with pytest.raises(StoreError, match=r"manifest\.json: damaged") as error:
            parse_manifest(bad, path)
        assert "restore the release from a backup" in str(error.value)
        path.write_bytes(bad)
        assert "not the bytes that were published" in refused(gold)


@pytest.mark.parametrize(
    "key", ["version", "campaign", "tables", "files", "sources", "facts", "changes", "runs"]
)
def test_a_manifest_without_a_key(campaign, gold, key):
    manifest = manifest_of(campaign, "v0002")
    del manifest[key]
    with pytest.raises(StoreError, match=f"{key}: is missing"):
        parse_manifest(canonical_json(manifest), gold / "v0002" / "manifest.json")


@pytest.mark.parametrize(
    "name", ["../v0001/labels.parquet", "/etc/passwd", "..", ".", "", "a\\b", "sub/labels.parquet"]
)
def test_a_manifest_that_points_outside_its_folder(campaign, gold, name):
    def outside(manifest: dict[str, Any]) -> None:
        manifest["tables"][0]["file"] = name

    rewrite(campaign, "v0002", outside)
    text = refused(gold)
    assert "tables.0.file" in text
    assert "no plain file name" in text

    def outside_files(manifest: dict[str, Any]) -> None:
        manifest["tables"][0]["file"] = "labels.parquet"
        manifest["files"][name] = "0" * 64

    rewrite(campaign, "v0002", outside_files)
    said = refused(gold)
    assert "no plain file name" in said or "in the folder of no table" in said


def test_a_manifest_that_was_edited(gold):
    path = gold / "v0002" / "manifest.json"
    path.write_bytes(path.read_bytes() + b"\n")
    assert "the checksum differs from that in latest.json" in refused(gold)
    flip(gold / "latest.json", 30)
    text = refused(gold)
    assert "latest.json: damaged" in text
    assert "restore it from a backup" in text


def test_a_newer_schema(campaign, gold):
    def newer(manifest: dict[str, Any]) -> None:
        manifest["schema_version"] = 99
        manifest["tables"] = {"of": "another shape"}

    rewrite(campaign, "v0002", newer)
    text = refused(gold)
    assert "written by a newer annot-pipeline" in text
    assert "it has schema 99" in text
    assert "upgrade" in text


def test_a_folder_under_another_name(gold):
    shutil.copytree(gold / "v0001", gold / "v0003")
    assert "no release v0003" in refused(gold, "v0003")
    shutil.rmtree(gold / "v0001")
    (gold / "v0003").rename(gold / "v0001")
    shutil.copy(gold / "v0002" / "manifest.json", gold / "v0001" / "manifest.json")
    assert "not the bytes that were published" in refused(gold, "v0001")


def test_a_table_that_is_no_parquet_though_its_checksum_is_right(campaign, gold):
    path = gold / "v0002" / "labels.parquet"
    path.write_bytes(b"no parquet")

    def agree(manifest: dict[str, Any]) -> None:
        import hashlib

        sha256 = hashlib.sha256(b"no parquet").hexdigest()
        [entry] = [t for t in manifest["tables"] if t["name"] == "labels"]
        entry["sha256"] = manifest["files"]["labels.parquet"] = sha256

    rewrite(campaign, "v0002", agree)
    assert "cannot be read as Parquet" in refused(gold)


def test_two_campaigns_on_one_gold_folder(campaign, gold):
    other = load_campaign(campaign, sets=["campaign=other"])
    before = tree(gold)
    releases = Releases.for_campaign(other)
    with (
        pytest.raises(StoreError, match="holds releases of another campaign") as error,
        releases.publishing(lambda: None),
    ):
        pass
    assert "they are those of 'small'; this campaign is 'other'" in str(error.value)
    assert "a gold folder of its own" in str(error.value)
    for read in (releases.get, releases.latest, lambda: releases.get("v0001")):
        with pytest.raises(StoreError, match="holds releases of another campaign"):
            read()
    assert tree(gold) == before
    assert Releases.for_campaign(load_campaign(campaign)).get().version == "v0002"
    (campaign / "elsewhere").mkdir()
    Releases(campaign / "elsewhere", "other").refuse_another()  # empty is nobody's
