"""Machines that publish to one bucket at the same moment, while others read it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import StoreError
from annot_pipeline.storage.gold_bucket import Bucket
from tests.storage.s3_machines import KEY, machine, objects, publish, text_of

ROUNDS = 20 if "SOAK" in os.environ else 3
READERS = 20 if "SOAK" in os.environ else 2


@pytest.mark.slow
def test_who_took_the_next_number_and_was_overtaken_leaves_nothing(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(machine(tmp_path / "one"), "first")
    uploaded, published = threading.Event(), threading.Event()
    refused: list[str] = []

    def builds_too() -> None:
        try:
            publish(machine(tmp_path / "other"), "late")
        except StoreError as error:
            refused.append(str(error))

    other = threading.Thread(target=builds_too)
    create, swap = Bucket.create, Bucket.swap

    def creates(self: Bucket, name: str, source: Path) -> bool:
        done = create(self, name, source)
        if name == "v0002/a.txt":  # the other sees half of it, and takes the next number
            other.start()
            assert uploaded.wait(60)
        return done

    def swaps(self: Bucket, name: str, old: bytes | None, new: bytes) -> bool:
        if json.loads(new)["version"] == "v0003":
            uploaded.set()
            assert published.wait(60)
        return swap(self, name, old, new)

    monkeypatch.setattr(Bucket, "create", creates)
    monkeypatch.setattr(Bucket, "swap", swaps)
    assert publish(machine(tmp_path / "one"), "second") == "v0002"
    assert "v0003/manifest.json" in objects(s3)
    published.set()
    other.join()
    assert "not published" in refused[0]
    assert not [name for name in objects(s3) if name.startswith("v0003")]


@pytest.mark.slow
def test_who_was_overtaken_and_killed_at_once_is_cleared_away(s3: Any, tmp_path: Path) -> None:
    one = machine(tmp_path / "one")
    publish(one, "first")
    for path in s3.find(f"{KEY}/v0001"):  # an upload that is whole, and was never pointed to
        s3.pipe_file(path.replace("v0001", "v0002"), s3.cat_file(path))
    s3.pipe_file(f"{KEY}/.annot-uploads/v0002", b"")  # as each upload announces itself
    assert publish(one, "second") == "v0003"
    assert list(one.gold.strangers(one.gold.pointer())) == ["v0002"]
    assert publish(one, "third") == "v0004"
    assert one.versions() == ["v0001", "v0003", "v0004"]
    assert not [name for name in objects(s3) if name.startswith("v0002")]


@pytest.mark.slow
def test_each_release_is_whole_and_follows_the_one_before(s3: Any, tmp_path: Path) -> None:
    publish(machine(tmp_path / "first"), "0")
    barrier, done = threading.Barrier(2), threading.Event()
    published: list[str] = []
    refused: list[str] = []
    broken: list[str] = []

    def builds(name: str) -> None:
        for n in range(ROUNDS):
            barrier.wait()
            try:
                published.append(publish(machine(tmp_path / name), f"{name} {n}"))
            except StoreError as error:
                refused.append(str(error))

    def reads(name: str) -> None:
        while not done.is_set():
            try:
                text_of(machine(tmp_path / name))
            except (StoreError, AssertionError) as error:
                broken.append(str(error))

    builders = [threading.Thread(target=builds, args=(name,)) for name in ("one", "other")]
    readers = [threading.Thread(target=reads, args=(f"r{n}",)) for n in range(READERS)]
    for thread in (*readers, *builders):
        thread.start()
    for thread in builders:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not broken
    assert all("not published" in text for text in refused)
    assert len(published) + len(refused) == 2 * ROUNDS

    releases = machine(tmp_path / "last")
    publish(releases, "last")
    publish(releases, "the one after")  # uploads that were given up are gone now
    versions = releases.versions()
    assert {*published} <= {*versions}
    for before, version in zip(["", *versions], versions, strict=False):
        parent = releases.get(version).manifest["parent"]
        assert (parent["version"] if parent else "") == before
        text_of(releases, version)
    assert len(objects(s3)) == 1 + 3 * len(versions)
