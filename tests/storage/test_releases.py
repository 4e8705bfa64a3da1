"""Releases: whole or not there, whatever happens in between."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.files import canonical_json, file_sha256
from annot_pipeline.storage.releases import Releases

EXPORT = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(5) for j in range(3)
)


def publish(releases: Releases, text: str = "x") -> str:
    with releases.publishing(lambda: None):
        version, parent = releases.next_version(), releases.latest()

        def fill(folder: Path):
            (folder / "a.txt").write_text(text)
            return least_manifest(version) | {
                "text": text,
                "files": {"a.txt": file_sha256(folder / "a.txt")},
                "parent": parent and {"version": parent.version, "manifest_sha256": "0" * 64},
            }

        releases.publish(version, fill)
    return version


def least_manifest(version: str) -> dict[str, Any]:
    """A manifest of a release without tables."""
    empty: dict[str, Any] = {"code": {}, "packages": {}, "settings": {}, "files": {}}
    names = (
        "fates kinds adjudications anonymous_votes verdicts label_verdicts careless_judges "
        "failed_judges certain_share"
    )
    by_name: dict[str, Any] = {name: {} for name in names.split()}
    facts = by_name | {"records": 0, "rejections": [], "suspected_judges": []}
    lists: dict[str, Any] = {name: [] for name in ("sources", "tables", "checks", "runs", "trend")}
    return empty | lists | {"facts": facts} | {
        "campaign": "small", "version": version, "parent": None, "changes": None,
        "created_at": "2030-01-31T00:00:00+00:00", "schema_version": 1,
        "content_sha256": "0" * 64, "settings_hash": "0" * 64, "signature": "",
    }  # fmt: skip


def test_versions_count_up_and_the_pointer_follows(tmp_path):
    releases = Releases(tmp_path / "gold")
    assert releases.versions() == []
    assert releases.latest() is None
    assert [publish(releases) for _ in range(3)] == ["v0001", "v0002", "v0003"]
    pointer = json.loads((tmp_path / "gold" / "latest.json").read_bytes())
    latest = releases.get()
    assert (pointer["version"], pointer["manifest_sha256"]) == ("v0003", latest.manifest_sha256)
    assert pointer["manifests"] == {v: releases.get(v).manifest_sha256 for v in releases.versions()}
    assert pointer["pruned"] == []
    assert sorted(p.name for p in (tmp_path / "gold").iterdir()) == [
        ".annot-lock", "latest.json", "v0001", "v0002", "v0003",
    ]  # fmt: skip


def test_a_failure_while_writing_leaves_nothing(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases)

    def fill(folder: Path):
        (folder / "half").write_text("half")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError), releases.publishing(lambda: None):
        releases.publish("v0002", fill)
    assert releases.versions() == ["v0001"]
    names = sorted(p.name for p in (tmp_path / "gold").iterdir())
    assert names == [".annot-lock", "latest.json", "v0001"]


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases)
    (tmp_path / "gold" / ".tmp-v0002-123-abc").mkdir()
    (tmp_path / "gold" / ".tmp-v0002-123-abc" / "labels.parquet").write_text("half")
    assert releases.versions() == ["v0001"]
    assert publish(releases) == "v0002"
    assert not list((tmp_path / "gold").glob(".tmp-*"))


def test_a_build_killed_between_rename_and_pointer_is_finished_by_the_next(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases, "one")
    before = (tmp_path / "gold" / "latest.json").read_bytes()
    publish(releases, "two")
    (tmp_path / "gold" / "latest.json").write_bytes(before)  # as if killed before the pointer
    assert releases.get().version == "v0001"  # readers see the old release, whole
    with releases.publishing(lambda: None):
        assert releases.finish_interrupted() == []
        assert releases.get().version == "v0002"
        assert releases.next_version() == "v0003"


@pytest.mark.parametrize("harm", ["file missing", "file changed", "no child of the newest"])
def test_a_folder_that_is_no_whole_release_is_never_pointed_to(tmp_path, harm):
    releases = Releases(tmp_path / "gold")
    publish(releases, "one")
    before = (tmp_path / "gold" / "latest.json").read_bytes()
    publish(releases, "two")
    (tmp_path / "gold" / "latest.json").write_bytes(before)
    folder = tmp_path / "gold" / "v0002"
    if harm == "no child of the newest":
        manifest = json.loads((folder / "manifest.json").read_bytes())
        manifest["parent"] = {"version": "v0000", "manifest_sha256": "0" * 64}
        (folder / "manifest.json").write_bytes(canonical_json(manifest))
    else:
        file = folder / "a.txt"
        file.unlink() if harm == "file missing" else file.write_bytes(b"other")
    with releases.publishing(lambda: None):
        assert releases.finish_interrupted() == ["v0002"]
        assert releases.get().version == "v0001"
        assert releases.next_version() == "v0003"
    assert (tmp_path / "gold" / "latest.json").read_bytes() == before


def test_where_the_pointer_is_lost_all_whole_releases_are_known_again(tmp_path):
    releases = Releases(tmp_path / "gold")
    for what in ("one", "two", "three"):
        publish(releases, what)
    before = (tmp_path / "gold" / "latest.json").read_bytes()
    (tmp_path / "gold" / "latest.json").unlink()
    with releases.publishing(lambda: None):
        assert releases.finish_interrupted() == []
    assert (tmp_path / "gold" / "latest.json").read_bytes() == before


def test_a_deleted_version_is_not_used_again(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases)
    publish(releases)
    shutil.rmtree(tmp_path / "gold" / "v0002")
    with pytest.raises(
        StoreError, match="its folder does not exist"
    ):  # never an older one in silence
        releases.get()
    assert releases.latest().version == "v0001"  # builds go on
    assert publish(releases) == "v0003"


def test_where_all_releases_are_gone_a_build_is_named(tmp_path):
    """It said: name, and no release."""
    releases = Releases(tmp_path / "gold")
    publish(releases)
    with releases.publishing(lambda: None):
        releases.remove(["v0001"])
    with pytest.raises(StoreError, match="no release v0001") as error:
        releases.get("v0001")
    assert error.value.problems[0].do.startswith("annot build ")


def test_a_folder_that_was_never_published_is_no_release(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases)
    stray = tmp_path / "gold/v0005"
    shutil.copytree(tmp_path / "gold/v0001", stray)
    assert publish(releases) == "v0006"
    assert releases.versions() == ["v0001", "v0006"]
    assert not releases.unpointed()
    with pytest.raises(StoreError, match="there are v0001, v0006"):
        releases.get("v0005")
    assert list(releases.gold.strangers(releases.gold.pointer())) == ["v0005"]


def test_a_damaged_pointer_is_said(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases)
    (tmp_path / "gold" / "latest.json").write_text("")
    with pytest.raises(StoreError, match="damaged"):
        releases.get()


def test_an_unknown_version_names_those_that_there_are(tmp_path):
    releases = Releases(tmp_path / "gold")
    with pytest.raises(StoreError, match="no release yet") as error:
        releases.get()
    assert "publishes one" in str(error.value)
    publish(releases)
    with pytest.raises(StoreError) as error:
        releases.get("v0009")
    assert "there are v0001" in str(error.value)


def test_load_gold_verifies_checksums(build_campaign):
    built = build_campaign({"a.csv": EXPORT})
    folder = built.publication.release.folder
    labels = load_gold(folder.parent, "labels")
    assert labels.num_rows == 5
    assert load_gold(str(folder.parent), "labels", version="v0001").equals(labels)
    with pytest.raises(StoreError, match="no table lables"):
        load_gold(folder.parent, "lables")
    path = folder / "labels.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="not the bytes that were published"):
        load_gold(folder.parent, "labels")


@pytest.mark.slow
def test_a_table_of_the_store_that_is_damaged_meanwhile_is_not_published(
    build_campaign, tmp_path, monkeypatch
):
    gold = build_campaign({"a.csv": EXPORT}).publication.release.folder.parent

    def flip_labels(*_):
        for path in (tmp_path / "campaign" / "store" / "stages").rglob("labels-*.parquet"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        return {}

    monkeypatch.setattr(
        "annot_pipeline.stages.labels.check_calibration.truths_of_no_class", flip_labels
    )
    with pytest.raises(StoreError, match=r"labels-.*\.parquet: not the bytes that were written"):
        build_campaign({"a.csv": EXPORT + "late,w1,a\n"})
    assert Releases(gold).versions() == ["v0001"]


def _publish_some(gold: Path, count: int) -> None:
    for _ in range(count):
        publish(Releases(gold))


@pytest.mark.slow
def test_two_processes_publish_one_after_the_other(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_publish_some, args=(tmp_path / "gold", 5)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert Releases(tmp_path / "gold").versions() == [f"v{n:04d}" for n in range(1, 11)]


def test_readers_always_see_a_whole_release(tmp_path):
    releases = Releases(tmp_path / "gold")
    publish(releases, "0")
    stop = threading.Event()
    seen: list[bool] = []

    def read() -> None:
        while not stop.is_set():
            release = Releases(tmp_path / "gold").get()
            seen.append((release.folder / "a.txt").read_text() == release.manifest["text"])

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 6):
        publish(releases, str(number))
    stop.set()
    reader.join()
    assert seen
    assert all(seen)
