"""Who needs the store waits for a day at most, is told for whom, and then what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from annot_pipeline.commands.prune import prune
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage import locks
from annot_pipeline.storage.store import Store
from tests.audit.two_releases import EXPORT

HOLD = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, int(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold():
    """Hold a lock of a file in another process; returns its number."""
    processes = []

    def held(path: Path, kind: int) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, path, str(kind)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        processes.append(process)
        assert process.stdout.readline() == b"held\n"
        return process.pid

    yield held
    for process in processes:
        process.communicate()


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.setattr(locks, "LONGEST_STAGE", 0.0)
    store = Store(tmp_path / "store")
    store.prepare()
    return store


def test_prune_ends_with_an_error_where_a_stage_never_does(store, hold):
    process, waited = hold(store.root / ".lock", 1), []
    with (
        pytest.raises(StoreError, match="another process has held its lock") as error,
        store.exclusive_lock(lambda: waited.append(store.users())),
    ):
        pass
    assert error.value.may_pass
    assert str(store.root) in error.value.title
    assert f"lsof {store.root / '.lock'}" in error.value.problems[0].do
    assert f"(process {process} on {socket.gethostname()})" in error.value.problems[0].what
    assert waited == [f" (process {process} on {socket.gethostname()})"]
    with store.shared_lock():  # stages run side by side
        pass


def test_a_stage_ends_with_an_error_where_prune_never_does(store, hold):
    process, waited = hold(store.root / ".lock", 2), []
    with (
        pytest.raises(StoreError, match=f"process {process} on"),
        store.shared_lock(lambda: waited.append(1)),
    ):
        pass
    assert waited == [1]


@pytest.mark.slow
def test_builds_and_prune_say_for_whom_they_wait(build_campaign, tmp_path, monkeypatch, hold):
    monkeypatch.setattr(locks, "LONGEST_STAGE", 0.5)
    build_campaign({"a.csv": EXPORT})
    folder, said = tmp_path / "campaign", []
    process = hold(folder / "store" / ".lock", 1)
    with pytest.raises(StoreError, match="has held its lock"):
        prune(load_campaign(folder), 1, progress=said.append)
    assert said == [
        f"a build or a check uses the store; waiting (process {process} on {socket.gethostname()})"
    ]


def test_who_waits_is_told_again_and_goes_on_when_the_lock_is_free(store, hold, monkeypatch):
    monkeypatch.setattr(locks, "LONGEST_STAGE", 60.0)
    monkeypatch.setattr(locks, "SAID_AGAIN", 0.0)
    monkeypatch.setattr(locks, "PAUSE", 0.01)
    process, waited = hold(store.root / ".lock", 1), []

    def waits() -> None:
        waited.append(1)
        if len(waited) == 3:
            os.kill(process, 9)

    with store.exclusive_lock(waits):
        assert len(waited) >= 3


def test_a_machine_that_lists_no_locks_names_nobody(store, hold, monkeypatch, tmp_path):
    monkeypatch.setattr(locks, "PROC_LOCKS", tmp_path / "none")
    hold(store.root / ".lock", 1)
    assert store.users() == ""
