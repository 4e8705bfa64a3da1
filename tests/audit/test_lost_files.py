"""What people lose, restore and leave lying: builds, verify and releases go on, and say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.cli import main
from annot_pipeline.commands.prune import list_pins, prune, set_pin
from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.files import TEMPORARY
from annot_pipeline.storage.pointer import read_pointer
from annot_pipeline.storage.release_log import LOG
from tests.audit.two_releases import EXPORT, build, flip
from tests.conftest import build_file

LAST = "item,judge,label\ni3,w9,a\n"


def quiet(_: str) -> None:
    pass


def finding_paths(campaign: Path) -> list[str]:
    return [row["file"] for row in verify(load_campaign(campaign), progress=quiet)["findings"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [pytest.param("gone", marks=pytest.mark.slow), "flipped and deleted"]
)
def test_a_lost_pointer_comes_back_with_pins_and_what_was_pruned(campaign, damage):
    build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    set_pin(load_campaign(campaign), "v0003", remove=False, why="the paper", progress=quiet)
    prune(load_campaign(campaign), 2, progress=quiet)
    path = campaign / "gold" / "latest.json"
    before = path.read_bytes()
    if damage != "gone":
        flip(path, 40)
    path.unlink()
    assert status(load_campaign(campaign))["unpointed"] == ["v0002", "v0003"]
    build_file(campaign)
    assert path.read_bytes() == before
    assert [p["why"] for p in list_pins(load_campaign(campaign))] == ["the paper"]
    assert read_pointer(campaign / "gold").pruned == ("v0001",)
    assert finding_paths(campaign) == []


@pytest.mark.slow
def test_an_older_log_tells_what_it_knows(campaign):
    log = campaign / "store" / LOG
    text = log.read_text()
    build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    log.write_text(text)
    (campaign / "gold" / "latest.json").unlink()
    shutil.rmtree(campaign / "gold" / "v0002")
    build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    assert read_pointer(campaign / "gold").version == "v0003"


@pytest.mark.slow
def test_what_a_killed_writer_of_the_log_left_is_tidied(campaign):
    left = campaign / "store" / f"{TEMPORARY}{LOG}-1-ab"
    left.write_text("{")
    build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    assert not left.exists()


@pytest.mark.slow
def test_a_release_that_will_not_come_back_can_be_struck_off(campaign):
    shutil.rmtree(campaign / "gold" / "v0001")
    [finding] = verify(load_campaign(campaign), progress=quiet)["findings"]
    assert Path(finding["file"]).name == "v0001"
    assert finding["do"].endswith(f"annot prune {load_campaign(campaign).typed} --keep 1 --gone")
    planned = prune(load_campaign(campaign), 5, gone=True, dry_run=True, progress=quiet)
    assert planned["struck_off"] == ["v0001"]
    assert len(finding_paths(campaign)) == 1
    assert main(["prune", str(campaign), "--keep", "5", "--gone"]) == 0
    assert finding_paths(campaign) == []


def test_what_lies_in_a_release_and_is_not_of_it_stops_a_build(campaign):
    (campaign / "gold" / "v0002" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds what was not published") as refused:
        build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    assert refused.value.problems[0].values == ("notes.txt",)
    assert status(load_campaign(campaign))["release"]["damaged"] == ["notes.txt"]


@pytest.mark.slow
def test_what_desktops_leave_in_a_release_stops_no_build_but_is_named(campaign):
    (campaign / "gold" / "v0002" / ".DS_Store").write_text("")
    build(campaign, {"a.csv": EXPORT, "c.csv": LAST})
    assert read_pointer(campaign / "gold").version == "v0003"
    assert [Path(w).name for w in finding_paths(campaign)] == [".DS_Store"]


def test_a_table_that_is_gone_is_called_missing(campaign):
    (campaign / "gold" / "v0002" / "judges.parquet").unlink()
    with pytest.raises(StoreError, match=r"half a release\n.*judges\.parquet is missing"):
        build(campaign, {"a.csv": EXPORT, "c.csv": LAST})


def test_one_damaged_release_does_not_hide_the_others(campaign, capsys):
    set_pin(load_campaign(campaign), "v0002", remove=False, why="", progress=quiet)
    flip(campaign / "gold" / "v0001" / "manifest.json", 200)
    first, second = list_releases(load_campaign(campaign))["releases"]
    assert "not the bytes that were published" in first["problem"]
    assert (second["version"], second["pinned"], second["problem"]) == ("v0002", True, None)
    assert main(["releases", str(campaign)]) == 1
    said = capsys.readouterr().out.splitlines()
    manifest = campaign / "gold" / "v0001" / "manifest.json"
    assert f"{manifest}: not the bytes that were published (the checksum differs" in said[2]
    assert said[2].endswith("  restore the release from a backup")
    assert said[3].startswith("  v0002       yes  ")


def test_a_build_mends_the_archive_from_the_export(campaign):
    kept = next(p for p in (campaign / "store" / "archive").glob("*/*"))
    before = kept.read_bytes()
    flip(kept, 20)
    assert finding_paths(campaign) != []
    build_file(campaign)
    assert kept.read_bytes() == before
    assert finding_paths(campaign) == []
