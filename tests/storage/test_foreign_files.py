"""Builds delete what builds wrote: never exports, sources or archives that a setting leads to."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.validate import validate
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.storage.marked_folder import STORE
from annot_pipeline.storage.store import KEPT_RUNS, Store
from tests.conftest import build_file
from tests.storage.s3_machines import KEY, machine, objects, publish

pytestmark = pytest.mark.slow

EXPORT = "item,judge,label\n" + "".join(f"i{i},w{j},a\n" for i in range(3) for j in range(3))
LONG_AGO = time.time() - 30 * 86_400


def campaign(folder: Path, exports: str = "exports", **settings: Any) -> Path:
    """Write a small campaign whose export lies in a folder."""
    (folder / exports).mkdir(parents=True)
    (folder / exports / "a.csv").write_text(EXPORT)
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": f"{exports}/*.csv", "format": "csv", "fields": fields}
    document = {"campaign": "small", "sources": [source], **settings}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def age(folder: Path) -> None:
    """Let everything in a folder be a month old."""
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("exports", ["records", "runs/en", "stages/en/first", "checkpoints/en"])
def test_a_store_with_the_users_files_is_refused_and_they_stay(tmp_path, exports):
    folder = campaign(tmp_path / "c", exports, store=".")
    age(folder)
    before = files(folder)
    for build in (build_file, lambda path: validate(load_campaign(path), lambda _: None)):
        with pytest.raises(ConfigError, match="cannot be used as store") as error:
            build(folder)
        assert "set store to an empty or new folder of its own" in str(error.value)
    with pytest.raises(ConfigError, match="cannot be used as store"):
        prune(load_campaign(folder, sets=["gold=elsewhere"]), 1, progress=lambda _: None)
    assert files(folder) == before


@pytest.mark.parametrize("name", ["release_log.jsonl", "catalog.duckdb", "last_build.json"])
def test_a_file_with_a_name_of_the_store_makes_no_store(tmp_path, name):
    folder, other = campaign(tmp_path / "c"), tmp_path / "other"
    other.mkdir()
    (other / name).write_text("mine")
    with pytest.raises(ConfigError, match="cannot be used as store"):
        build_file(folder, f"store={other}")
    assert (other / name).read_text() == "mine"
    assert files(other) == {name}


def test_a_key_that_was_restored_alone_makes_a_store(tmp_path, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY", raising=False)
    folder = campaign(tmp_path / "c")
    build_file(folder)
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    shutil.copy(folder / "store" / "judge.key", new)
    assert not build_file(folder, f"store={new}").publication.published


def test_a_store_of_an_earlier_version_is_recognized(tmp_path):
    folder = campaign(tmp_path / "c")
    assert build_file(folder).publication.published
    (folder / "store" / STORE.marker).unlink()
    assert not build_file(folder).publication.published
    assert (folder / "store" / STORE.marker).is_file()


def test_a_store_of_an_earlier_version_in_the_campaigns_folder_is_recognized(tmp_path):
    folder = campaign(tmp_path / "c")
    build_file(folder)
    (folder / "store" / STORE.marker).unlink()
    for path in (folder / "store").iterdir():
        shutil.move(path, folder / path.name)
    assert not build_file(folder, "store=.").publication.published
    (folder / STORE.marker).unlink()
    (folder / "records" / "notes.csv").write_text(EXPORT)
    with pytest.raises(ConfigError, match=r"records/notes\.csv"):
        build_file(folder, "store=.")


def test_in_a_store_only_what_has_the_names_of_results_is_deleted(tmp_path):
    folder = campaign(tmp_path / "c")
    build_file(folder)
    store = folder / "store"
    mine = [
        store / name
        for name in (
            "records/notes.csv", "records/judges.parquet", "stages/infer_labels/mine/a.csv",
            "runs/mine/a.csv", "checkpoints/mine/model.npy", "spill/mine/a.csv",
        )
    ]  # fmt: skip
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for number in range(2 * KEPT_RUNS):
        shutil.copytree(store / "runs" / "latest", store / "runs" / f"{number:032x}")
    age(store)
    Store(store).clean(store / "spill")
    assert [path for path in mine if not path.exists()] == []
    assert len(list((store / "runs").glob("0*"))) <= KEPT_RUNS


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["gold=store"], "is the store, or one of its folders"),
        (["gold=store/runs/gold"], "is the store, or one of its folders"),
        (["gold=store/x"], "is the store, or one of its folders"),
        (["gold=exports"], "holds exports"),
        (["gold=exports/gold"], "is in a folder of exports"),
        (["gold=.", "store=../store"], "holds exports"),
        (["gold=..", "store=../../store"], "holds exports"),
        (["store=gold/store"], "is in the gold folder"),
        (["store=gold"], "is the store, or one of its folders"),
        (["resources.spill=store"], "is the store, or one of its folders"),
        (["resources.spill=store/archive"], "is the store, or one of its folders"),
        (["resources.spill=gold/spill"], "is in the gold folder"),
    ],
)
def test_folders_within_each_other_are_refused(tmp_path, sets, says):
    folder = campaign(tmp_path / "c")
    with pytest.raises(ConfigError, match=says):
        build_file(folder, *sets)
    assert files(folder) == {"campaign.yaml", "exports", "exports/a.csv"}


def test_gold_that_a_link_leads_into_exports_is_refused(tmp_path):
    folder = campaign(tmp_path / "c")
    (folder / "gold").symlink_to("exports")
    with pytest.raises(ConfigError, match="holds exports"):
        build_file(folder)


@pytest.mark.parametrize("path", ["*.csv", "**/*.csv", "en/*/*.csv", "../c/en/*/*.csv"])
def test_gold_may_lie_below_the_folder_of_the_campaign(tmp_path, path):
    folder = campaign(tmp_path / "c", "en/exports")
    if path == "*.csv":
        shutil.move(folder / "en" / "exports" / "a.csv", folder)
    sets = (f"sources.0.path='{path}'", "gold=gold")
    assert build_file(folder, *sets).publication.published
    assert not build_file(folder, *sets).publication.published


def test_gold_among_the_folders_that_a_glob_matches_is_refused(tmp_path):
    folder = campaign(tmp_path / "c", "en/exports")
    with pytest.raises(ConfigError, match="holds exports"):
        build_file(folder, "sources.0.path='*/exports/*.csv'", "gold=en/exports")


def test_a_disk_with_other_files_is_no_spill_folder(tmp_path):
    """What builds did there: every folder annot-* went that was older than a day."""
    folder, disk = campaign(tmp_path / "c"), tmp_path / "big"
    for name in ("annot-archive/ab/abcd", "annot-pipeline/src/code.py"):
        (disk / name).parent.mkdir(parents=True)
        (disk / name).touch()
    age(disk)
    before = files(disk)
    with pytest.raises(ConfigError, match=r"cannot be used as resources\.spill"):
        build_file(folder, "resources.spill=../big")
    assert files(disk) == before
    build_file(folder, "resources.spill=../big/annot")
    assert before < files(disk)


@pytest.mark.parametrize("setting", ["store", "resources.spill"])
@pytest.mark.parametrize("name", [".git", ".cache", ".env", ".tmp-notes"])
def test_a_folder_of_hidden_files_is_not_empty(tmp_path, setting, name):
    folder, other = campaign(tmp_path / "c"), tmp_path / "dots"
    other.mkdir()
    (other / name).touch()
    before = files(tmp_path)
    with pytest.raises(ConfigError, match=rf"cannot be used as {setting}") as error:
        build_file(folder, f"{setting}=../dots")
    assert error.value.problems[0].values == (name,)
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["lost+found", ".snapshot", ".DS_Store"])
def test_what_file_systems_make_leaves_a_folder_empty(tmp_path, name):
    folder = campaign(tmp_path / "c")
    for setting in ("store", "spill"):
        (tmp_path / setting / name).mkdir(parents=True)
    sets = ("store=../store", "resources.spill=../spill")
    assert build_file(folder, *sets).publication.published
    assert (tmp_path / "store" / name).is_dir()


def test_a_folder_beside_the_exports_is_advised(tmp_path):
    folder = campaign(tmp_path / "c")
    for setting, advised in (("store", "store"), ("resources.spill", "spill")):
        with pytest.raises(ConfigError, match="cannot be used as") as error:
            build_file(folder, f"{setting}=exports")
        assert f"folder of its own, as {folder / advised} (in" in error.value.problems[0].do


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe"])
@pytest.mark.parametrize("setting", ["store", "resources.spill"])
def test_a_marker_is_a_regular_file(tmp_path, setting, kind):
    folder, disk, other = campaign(tmp_path / "c"), tmp_path / "big", tmp_path / "other"
    disk.mkdir()
    marker = disk / f".annot-{setting.rpartition('.')[2]}"
    if "link" in kind:
        marker.symlink_to(other)
    if kind == "link":
        other.write_text("precious")
    elif kind == "folder":
        marker.mkdir()
    elif kind == "pipe":
        os.mkfifo(marker)
    with pytest.raises(ConfigError, match=rf"big: cannot be used as {setting}") as error:
        build_file(folder, f"{setting}=../big")
    assert repr(marker.name) in str(error.value)
    assert [path.name for path in disk.iterdir()] == [marker.name]
    assert not other.exists() or other.read_text() == "precious"


def test_campaigns_share_a_spill_folder(tmp_path):
    for name in ("one", "other"):
        folder = campaign(tmp_path / name)
        assert build_file(folder, "resources.spill=../spill").publication.published
    assert files(tmp_path / "spill") == {".annot-spill"}


def test_gold_in_a_folder_with_other_files_leaves_them(tmp_path):
    folder = campaign(tmp_path / "c")
    mine = folder / "gold" / ".tmp-notes"
    left = folder / "gold" / ".tmp-v0001-123-0abc1234"
    for path in (mine, left):
        path.mkdir(parents=True)
    build_file(folder)
    assert mine.is_dir()
    assert not left.exists()


def test_folders_named_as_versions_that_no_build_uploaded_stay_in_a_bucket(s3, tmp_path):
    s3.pipe_file(f"{KEY}/v0001/train.jsonl", b"somebody's data")
    releases = machine(tmp_path)
    for text in ("first", "second", "third"):
        publish(releases, text)
    assert "v0001/train.jsonl" in objects(s3)
    assert releases.versions() == ["v0002", "v0003", "v0004"]
