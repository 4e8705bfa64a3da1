"""A clock that was set back, and a store that another version wrote."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.commands import release_manifest
from annot_pipeline.errors import StoreError
from annot_pipeline.storage import store
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.pointer import pointer_digest
from annot_pipeline.storage.releases import Releases
from tests.conftest import build_file
from tests.survival.nights import add_export, newest, tables, unfinished, write_campaign

YEARS = (20, -20, 0)
"""How far the clock is off at each build."""


def set_clock(years: float, patched: pytest.MonkeyPatch) -> None:
    off = timedelta(days=365 * years)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + off

    now = time.time
    patched.setattr(release_manifest, "datetime", Clock)
    patched.setattr(store, "datetime", Clock)
    patched.setattr("annot_pipeline.storage.store.time.time", lambda: now() + off.total_seconds())


@pytest.mark.slow
def test_a_clock_that_jumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Order is that of versions; nothing that a build needs is taken for old."""
    folder = write_campaign(tmp_path / "campaign", days=1)
    for number, years in enumerate(YEARS, start=1):
        add_export(folder, number)
        with pytest.MonkeyPatch.context() as patched:
            set_clock(years, patched)
            release = build_file(folder).publication.release
            assert release.version == f"v{number:04d}"
            same = build_file(folder)
        assert not same.publication.published
        assert same.metrics("read_records")["parsed"] == 0
        assert same.runs["infer_labels"].result.reused
        for run in (folder / "store/runs").iterdir():  # files have that time too
            moment = time.time() + 365 * 86_400 * years
            os.utime(run, (moment, moment))
    releases = Releases(folder / "gold")
    times = [releases.get(v).manifest["created_at"] for v in releases.versions()]
    assert times != sorted(times)
    for command in (["status"], ["releases"], ["verify", "--rebuild"], ["prune", "--keep", "2"]):
        assert main([command[0], str(folder), *command[1:]]) == 0, capsys.readouterr()
    assert releases.versions() == ["v0002", "v0003"]
    assert unfinished(folder) == []


@pytest.mark.slow
def test_runs_of_the_future_do_not_push_out_this_one(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    later = time.time() + 86_400 * 365
    for number in range(store.KEPT_RUNS + 5):
        run = folder / f"store/runs/later{number}"
        run.mkdir()
        os.utime(run, (later, later))
    add_export(folder, 2)
    assert build_file(folder).publication.release.version == "v0002"
    assert build_file(folder).runs["infer_labels"].result.reused


def more(document: Any) -> Any:
    """What a newer version may add."""
    if isinstance(document, dict):
        return {name: more(value) for name, value in document.items()} | {"of_a_newer_version": 1}
    return document


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "more keys": lambda data: canonical_json(more(json.loads(data))),
    "a list": lambda _: b'["of a newer version"]',
    "half": lambda data: data[: len(data) // 2],
}


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    "change", ["more keys", pytest.param("a list", marks=pytest.mark.slow), "half"]
)
def test_a_store_of_another_version(change: str, tmp_path: Path) -> None:
    """What a build does not understand it makes again, and the tables are the same."""
    folder = write_campaign(tmp_path / "campaign", days=1)
    before = tables(build_file(folder).publication.release)
    notes = [p for p in (folder / "store").rglob("*.json") if p.parent.name != "settings"]
    assert {p.parent.parent.name for p in notes} > {"runs", "campaign"}
    for path in notes:
        path.write_bytes(CHANGES[change](path.read_bytes()))
    assert main(["status", str(folder)]) == 0
    built = build_file(folder)
    assert not built.publication.published
    assert tables(newest(folder)) == before
    add_export(folder, 2)
    assert build_file(folder).publication.release.version == "v0002"


def test_a_pointer_of_a_newer_version_is_not_called_damaged(first_day: Path) -> None:
    """Its advice is to upgrade, not to delete it."""
    folder = first_day
    path = folder / "gold/latest.json"
    document = json.loads(path.read_bytes())
    said = {name: value for name, value in document.items() if name != "sha256"} | {"more": 1}
    path.write_bytes(canonical_json(said | {"sha256": pointer_digest(said)}))
    before = path.read_bytes()
    for read in (lambda: build_file(folder), lambda: load_gold(folder / "gold", "labels")):
        with pytest.raises(StoreError, match=r"latest\.json: written by a newer annot-pipeline"):
            read()
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b'"more": 1', b'"more": 2'))
    with pytest.raises(StoreError, match=r"latest\.json: damaged"):
        load_gold(folder / "gold", "labels")
