"""The copy of latest.json in the store: for when that is lost, and never in the way."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.pipeline import STAGES, Build
from annot_pipeline.publish import publish as publish_build
from annot_pipeline.storage import files, releases, store
from annot_pipeline.storage.pins import pin, read_pins
from annot_pipeline.storage.releases import Releases
from tests.storage.test_releases import publish
from tests.survival.nights import write_campaign


def with_releases(folder: Path, n: int) -> Releases:
    found = Releases(folder / "gold", kept=folder / "store/pointers/gold.json")
    for number in range(n):
        publish(found, str(number))
    return found


def finish(found: Releases) -> list[str]:
    with found.publishing(lambda: None):
        return found.finish_interrupted()


def test_the_newest_release_is_lost_with_the_pointer(tmp_path):
    found = with_releases(tmp_path, 3)
    with found.publishing(lambda: None):
        pin(found, "v0001", "the paper")
    (tmp_path / "gold/latest.json").unlink()
    shutil.rmtree(tmp_path / "gold/v0003")
    assert finish(found) == []
    assert found.get().version == "v0002"
    assert list(read_pins(found)) == ["v0001"]
    assert found.gone() == ["v0003"]
    assert publish(found) == "v0004"


def test_a_release_of_another_digest_is_not_pointed_to(tmp_path):
    found = with_releases(tmp_path, 2)
    (tmp_path / "gold/latest.json").unlink()
    manifest = tmp_path / "gold/v0002/manifest.json"
    manifest.write_text(manifest.read_text().replace('"text": "1"', '"text": "2"'))
    assert finish(found) == ["v0002"]
    assert found.get().version == "v0001"


def test_no_number_is_given_twice_where_all_of_gold_is_lost(tmp_path):
    found = with_releases(tmp_path, 2)
    shutil.rmtree(tmp_path / "gold")
    assert finish(found) == []
    assert publish(found) == "v0003"


def no_space(path: Path, *_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


def ready_to_publish(folder: Path, said: list[str]) -> Build:
    build = Build(load_campaign(write_campaign(folder, days=1)), progress=said.append)
    for stage in STAGES:
        build.run_stage(stage)
    return build


def test_a_copy_that_cannot_be_written_is_told_and_mended(tmp_path, monkeypatch):
    said: list[str] = []
    build = ready_to_publish(tmp_path / "campaign", said)
    found = Releases.of(build.campaign)
    with monkeypatch.context() as patched:
        patched.setattr(releases, "write_json", no_space)
        publication = publish_build(build)
    assert (publication.published, publication.release.version) == (True, "v0001")
    assert said[-1] == f"{found.kept}: cannot be written; the next build writes it"
    assert found.kept
    assert not found.kept.exists()
    assert publish_build(build).published is False
    assert found.kept.read_bytes() == (build.campaign.gold / "latest.json").read_bytes()
    assert said[-1] == "nothing new: v0001 stands"


@pytest.mark.parametrize("module", [store, files], ids=["settings", "note of gold"])
def test_a_store_that_is_full_is_not_said_to_be_gold(tmp_path, monkeypatch, module):
    build = ready_to_publish(tmp_path / "campaign", [])
    replacing = files.replacing

    def full(target: Path, **options: Any) -> Any:
        if target.parent.name == "settings" or target.name == "gold.json":
            no_space(target)
        return replacing(target, **options)

    monkeypatch.setattr(module, "replacing", full)
    with pytest.raises(StoreError, match="store: cannot write store"):
        publish_build(build)
    assert Releases.of(build.campaign).versions() == []
