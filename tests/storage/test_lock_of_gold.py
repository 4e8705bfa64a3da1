"""Who may only read gold cannot stop a build."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from annot_pipeline.errors import StoreError
from annot_pipeline.storage import locks
from annot_pipeline.storage.releases import Releases
from tests.storage.test_releases import publish


def readable(folder: Path) -> list[Path]:
    """All that another user can open, as its mode says."""
    return [p for p in (folder, *folder.rglob("*")) if p.stat().st_mode & stat.S_IROTH]


def test_a_reader_who_locks_all_that_it_can_open_stops_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "LONGEST_WAIT", 0.0)
    gold = tmp_path / "gold"
    gold.mkdir()
    gold.chmod(0o755)
    releases = Releases(gold)
    publish(releases, "first")
    held = [os.open(path, os.O_RDONLY) for path in readable(gold)]
    assert len(held) > 3
    try:
        for descriptor in held:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert publish(releases, "second") == "v0002"
    finally:
        for descriptor in held:
            os.close(descriptor)


@pytest.mark.parametrize(("folder", "lock"), [(0o755, 0o600), (0o775, 0o660), (0o777, 0o666)])
def test_the_lock_is_for_those_who_may_write_there(tmp_path, folder, lock):
    gold = tmp_path / "gold"
    gold.mkdir()
    gold.chmod(folder)
    (gold / locks.LOCK).touch(mode=0o644)
    publish(Releases(gold), "first")
    assert stat.S_IMODE((gold / locks.LOCK).stat().st_mode) == lock


def test_a_process_that_holds_it_for_too_long_is_named(tmp_path, monkeypatch):
    releases, waited = Releases(tmp_path / "gold"), []
    monkeypatch.setattr(locks, "LONGEST_WAIT", 0.0)
    with (
        releases.publishing(lambda: None),
        pytest.raises(StoreError, match="has held its lock") as error,
        Releases(tmp_path / "gold").publishing(lambda: waited.append(1)),
    ):
        pass
    assert waited == [1]
    assert "lsof" in str(error.value)
    assert error.value.may_pass
