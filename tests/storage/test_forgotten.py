"""The list of forgotten people, where a kill comes between it and the log."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from annot_pipeline.errors import StoreError
from annot_pipeline.storage.forgotten import FORGOTTEN, Forgotten, read_forgotten, write_forgotten
from tests.survival.interruptions import Killed, Watch, watched

WHO = Forgotten("j12", "key", "2026-11-29T00:00:00+00:00", "ana", "asked to be left out")


def test_a_kill_at_any_step_leaves_a_list_that_can_be_read(tmp_path: Path) -> None:
    for step in range(1, 1000):
        store = tmp_path / f"at{step}" / "store"
        store.mkdir(parents=True)
        watch = Watch(store.parent, "kill", step, lambda: None)
        with watched(watch), suppress(Killed):
            write_forgotten(store, WHO)
        assert [who.digest for who in read_forgotten(store)] in ([], ["j12"])
        write_forgotten(store, WHO)
        assert [who.digest for who in read_forgotten(store)] == ["j12"]
        if not watch.happened:
            break
    assert 5 < step < 999


def test_a_list_that_is_lost_is_missed(tmp_path: Path) -> None:
    write_forgotten(tmp_path, WHO)
    (tmp_path / FORGOTTEN).unlink()
    with pytest.raises(StoreError, match="missing, and nobody knows"):
        read_forgotten(tmp_path)
