"""Two builds that forget and make the same result: neither takes away what the other has made."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat

import pytest

from annot_pipeline.storage.store import Store
from tests.storage.test_store import make


def test_a_result_can_be_forgotten_twice(tmp_path):
    store = Store(tmp_path)
    made = make(store, "k")
    store.discard(made)
    store.discard(made)
    assert store.result("stage", "k") is None
    assert not list(tmp_path.rglob("*.parquet"))


def test_what_another_build_made_in_its_place_is_not_forgotten(tmp_path):
    store = Store(tmp_path)
    actual = make(store, "k")
    store.discard(actual)
    newer = make(store, "k", run="r2")
    store.discard(actual)
    assert store.result("stage", "k") == newer


@pytest.mark.parametrize(("module", "act"), [(shutil, "rmtree"), (fcntl, "flock")])
def test_a_damaged_result_that_another_build_made_again_stays(tmp_path, monkeypatch, module, act):
    store, again = Store(tmp_path), []
    make(store, "k").tables["t"].paths[0].unlink()
    plain = getattr(module, act)

    def acts(*args, **options):
        """The other build finds the damage too, as this one is about to act on it."""
        monkeypatch.undo()
        again.append(make(Store(tmp_path), "k", run="r2"))
        return plain(*args, **options)

    monkeypatch.setattr(module, act, acts)
    mine = make(store, "k", run="r1")
    assert again == [mine]
    assert mine.tables["t"].paths[0].exists()
    assert [path.name for path in (tmp_path / "stages/stage").iterdir()] == ["k"]


def test_machines_that_share_a_store_lock_files_open_for_writing(tmp_path, monkeypatch):
    """On NFS a lock of a folder is of one machine; that of a file, if it can be written, of all."""
    plain, locked = fcntl.flock, []

    def noted(descriptor, kind):
        status = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        locked.append((stat.S_ISREG(os.fstat(descriptor).st_mode), status & os.O_ACCMODE))
        return plain(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", noted)
    store = Store(tmp_path)
    store.prepare()
    with store.shared_lock():
        made = make(store, "k")
    store.discard(made)
    store.clean(tmp_path / "spill")
    with store.exclusive_lock(lambda: None):
        pass
    assert locked == [(True, os.O_RDWR)] * 4


def test_nobody_cleans_while_a_stage_runs(tmp_path):
    """Nor after a build that died and left the file of the lock, which stays."""
    store, waited = Store(tmp_path), []
    store.prepare()
    (tmp_path / ".lock").touch()
    held = (tmp_path / ".lock").stat().st_ino
    (tmp_path / ".tmp-of-a-build").mkdir()
    with store.shared_lock(), Store(tmp_path).shared_lock():
        Store(tmp_path).clean(tmp_path / "spill")
        assert (tmp_path / ".tmp-of-a-build").exists()
    with store.exclusive_lock(lambda: waited.append(1)):
        Store(tmp_path).clean(tmp_path / "spill")
        assert (tmp_path / ".tmp-of-a-build").exists()
    assert not waited
    store.clean(tmp_path / "spill")
    assert not (tmp_path / ".tmp-of-a-build").exists()
    assert (tmp_path / ".lock").stat().st_ino == held


def test_who_may_only_read_locks_what_is_there(tmp_path, monkeypatch):
    opened = os.open

    def read_only(path, flags, *mode):
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError
        return opened(path, flags, *mode)

    Store(tmp_path).prepare()
    monkeypatch.setattr(os, "open", read_only)
    (tmp_path / ".tmp-of-a-build").mkdir()
    with Store(tmp_path).shared_lock():
        Store(tmp_path).clean(tmp_path / "spill")
    assert (tmp_path / ".tmp-of-a-build").is_dir()
    assert not (tmp_path / ".lock").exists()
