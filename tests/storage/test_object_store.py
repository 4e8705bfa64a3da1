"""Releases in a bucket: several machines, uploads that are killed, what lies there half."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import StoreError
from annot_pipeline.storage.gold_bucket import Bucket
from annot_pipeline.storage.pins import pin, read_pins
from tests.storage.s3_machines import KEY, URL, machine, objects, publish, text_of

WHOLE = ["a.txt", "b.txt", "manifest.json"]


class Killed(BaseException):
    """A process ends here."""


def test_releases_go_up_and_another_machine_goes_on_from_them(s3, tmp_path):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    assert one.versions() == []
    assert one.latest() is None
    assert publish(one, "first") == "v0001"
    assert objects(s3) == ["latest.json", *(f"v0001/{name}" for name in WHOLE)]
    assert publish(one, "second") == "v0002"
    assert text_of(other) == "second"
    assert text_of(other, "v0001") == "first"
    assert publish(other, "third") == "v0003"
    assert one.versions() == ["v0001", "v0002", "v0003"]
    assert one.get().manifest["parent"]["version"] == "v0002"
    pointer = json.loads(s3.cat_file(f"{KEY}/latest.json"))
    assert pointer["manifests"] == {v: one.get(v).manifest_sha256 for v in one.versions()}


@pytest.mark.usefixtures("s3")
def test_copies_can_be_deleted_and_damaged_ones_are_fetched_again(tmp_path):
    releases = machine(tmp_path)
    publish(releases, "first")
    copy = releases.get().file("a.txt")
    copy.write_text("damaged on this disk")
    (copy.parent / "manifest.json").write_text("damaged too")
    assert text_of(releases) == "first"
    shutil.rmtree(tmp_path / "store")
    assert text_of(releases) == "first"


@pytest.mark.sampled
@pytest.mark.parametrize(
    "made",
    [0, pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow), 4],
)
def test_an_upload_that_is_killed_between_any_two_objects(s3, tmp_path, monkeypatch, made):
    releases = machine(tmp_path)
    publish(releases, "first")
    with monkeypatch.context() as patched:
        kill_after(patched, made)
        with pytest.raises(Killed):
            publish(releases, "second")
    for reader in (releases, machine(tmp_path / "reader")):
        assert text_of(reader) == ("second" if made == 4 else "first")
    expected = "v0003" if made else "v0002"
    assert publish(releases, "next") == expected
    assert text_of(machine(tmp_path / "reader")) == "next"
    finished = ["v0002"] if made >= 3 else []  # its manifest was there
    assert releases.versions() == ["v0001", *finished, expected]
    publish(releases, "the one after")  # nothing of the killed upload is left now
    names = [f"{v}/{name}" for v in releases.versions() for name in WHOLE]
    assert objects(s3) == ["latest.json", *names]
    assert not list((tmp_path / "store").rglob(".tmp-*"))


def kill_after(patched: pytest.MonkeyPatch, made: int) -> None:
    """End this process when it has made some objects of a release: two files, manifest, pointer."""
    done = []

    def killing(method: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if len(done) == made:
                raise Killed
            done.append(method(*arguments))
            if len(done) == 4:
                raise Killed
            return done[-1]

        return call

    for name in ("create", "swap"):
        patched.setattr(Bucket, name, killing(getattr(Bucket, name)))


def test_a_process_that_dies_leaves_the_last_release(s3, tmp_path):
    publish(machine(tmp_path), "first")
    script = (
        "import os, sys; from pathlib import Path\n"
        "from annot_pipeline.storage.gold_bucket import Bucket\n"
        "from tests.storage.s3_machines import machine, publish\n"
        "create = Bucket.create\n"
        "def dies(self, name, source):\n"
        "    create(self, name, source)\n"
        "    os._exit(9)\n"
        "Bucket.create = dies\n"
        "publish(machine(Path(sys.argv[1])), 'second')\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=Path(__file__).parents[2], env=os.environ, timeout=60, check=False,
    )  # fmt: skip
    assert died.returncode == 9
    assert "v0002/a.txt" in objects(s3)
    assert text_of(machine(tmp_path)) == "first"
    assert publish(machine(tmp_path), "third") == "v0003"
    assert publish(machine(tmp_path), "fourth") == "v0004"
    assert not [name for name in objects(s3) if name.startswith("v0002")]
    assert not list((tmp_path / "store").rglob(".tmp-*"))


@pytest.mark.slow
@pytest.mark.usefixtures("s3")
def test_of_two_machines_that_build_at_once_one_publishes(tmp_path):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    publish(one, "first")
    with pytest.raises(StoreError, match="not published") as error:
        publish(one, "slow", meanwhile=lambda: publish(other, "fast"))
    assert "build again" in str(error.value)
    assert one.versions() == ["v0001", "v0002"]
    assert text_of(one) == "fast"
    assert publish(one, "again") == "v0003"
    assert one.get().manifest["parent"]["version"] == "v0002"


@pytest.mark.slow
def test_who_was_taken_for_killed_publishes_nothing(s3, tmp_path, monkeypatch):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    publish(one, "first")
    create, others = Bucket.create, []

    def slow(self: Bucket, name: str, source: Path) -> bool:
        done = create(self, name, source)
        if not others and name == "v0002/a.txt":  # half of it is there
            others.append("began")
            assert publish(other, "fast") == "v0003"
        return done

    monkeypatch.setattr(Bucket, "create", slow)
    with pytest.raises(StoreError, match="not published"):
        publish(one, "slow")
    assert one.versions() == ["v0001", "v0003"]
    assert not [name for name in objects(s3) if name.startswith("v0002")]


@pytest.mark.slow
@pytest.mark.usefixtures("s3")
def test_who_was_finished_by_another_has_published(tmp_path, monkeypatch):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    publish(one, "first")
    swap, others = Bucket.swap, []

    def slow(self: Bucket, name: str, old: bytes | None, new: bytes) -> bool:
        if not others:
            others.append("began")
            assert publish(other, "fast") == "v0003"  # after it has pointed to v0002
        return swap(self, name, old, new)

    monkeypatch.setattr(Bucket, "swap", slow)
    assert publish(one, "slow") == "v0002"
    assert one.versions() == ["v0001", "v0002", "v0003"]
    assert text_of(one, "v0002") == "slow"


@pytest.mark.slow
@pytest.mark.usefixtures("s3")
def test_a_pin_of_another_machine_is_not_lost(tmp_path):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    publish(one, "first")

    def pinned() -> None:
        with other.publishing(lambda: None):
            pin(other, "v0001", "a paper")

    with pytest.raises(StoreError, match="not published"):
        publish(one, "second", meanwhile=pinned)
    assert publish(one, "third") == "v0003"  # and the next build has finished v0002
    assert one.versions() == ["v0001", "v0002", "v0003"]
    assert read_pins(one)["v0001"].why == "a paper"


@pytest.mark.slow
def test_removed_releases_are_gone_everywhere(s3, tmp_path, monkeypatch):
    one, other = machine(tmp_path / "one"), machine(tmp_path / "other")
    for text in ("first", "second", "third"):
        publish(one, text)
    assert text_of(other, "v0001") == "first"
    remove, removed = Bucket.remove, []

    def killed(self: Bucket, names: list[str]) -> None:
        remove(self, names[:2])
        removed.extend(names[:2])
        raise Killed

    with monkeypatch.context() as patched, one.publishing(lambda: None):
        patched.setattr(Bucket, "remove", killed)
        with pytest.raises(Killed):
            one.remove(["v0001", "v0002"])
    assert removed[0] == "v0001/manifest.json"
    assert one.versions() == ["v0002", "v0003"]  # each is whole or gone
    assert text_of(one, "v0002") == "second"
    with pytest.raises(StoreError, match="annot prune or forget removed it"):
        other.get("v0001")
    with other.publishing(lambda: None):
        other.remove(["v0002"])
    names = [f"v0003/{name}" for name in WHOLE]
    assert objects(s3) == ["latest.json", *names]
    assert not (tmp_path / "other" / "store" / "releases" / "copies" / "v0001").exists()
    assert publish(other, "fourth") == "v0004"


def test_a_lost_pointer_is_written_again(s3, tmp_path):
    releases = machine(tmp_path)
    for text in ("first", "second"):
        publish(releases, text)
    before = s3.cat_file(f"{KEY}/latest.json")
    s3.rm_file(f"{KEY}/latest.json")
    with pytest.raises(StoreError, match="no release latest") as error:
        releases.get()
    assert "latest.json does not" in str(error.value)
    with releases.publishing(lambda: None):
        assert releases.finish_interrupted() == []
    assert s3.cat_file(f"{KEY}/latest.json") == before


@pytest.mark.slow
def test_a_folder_that_is_copied_there_half_is_no_release(s3, tmp_path):
    releases = machine(tmp_path)
    publish(releases, "first")
    before = s3.cat_file(f"{KEY}/latest.json")
    publish(releases, "second")
    s3.pipe_file(f"{KEY}/latest.json", before)
    s3.rm_file(f"{KEY}/v0002/b.txt")
    with releases.publishing(lambda: None):
        assert releases.finish_interrupted() == ["v0002"]
    assert text_of(releases) == "first"


def test_changed_and_missing_objects_are_not_read(s3, tmp_path):
    publish(machine(tmp_path / "one"), "first")
    s3.pipe_file(f"{KEY}/v0001/a.txt", b"a.txt: Xirst")
    s3.rm_file(f"{KEY}/v0001/b.txt")
    release = machine(tmp_path / "other").get()
    with pytest.raises(StoreError) as error:
        release.file("a.txt")
    assert str(error.value).startswith(f"{URL}/v0001/a.txt: not the bytes that were published")
    with pytest.raises(StoreError, match=r"v0001: half a release\n *b.txt is missing"):
        release.file("b.txt")
    assert release.damaged() == ["a.txt", "b.txt"]
    s3.pipe_file(f"{KEY}/v0001/manifest.json", b"{}")
    with pytest.raises(StoreError, match=f"{URL}/v0001/manifest.json: not the bytes"):
        machine(tmp_path / "third").get()


@pytest.mark.usefixtures("s3")
def test_two_campaigns_on_one_url_are_refused(tmp_path):
    publish(machine(tmp_path / "one", "small"), "first")
    with pytest.raises(StoreError, match="holds releases of another campaign"):
        publish(machine(tmp_path / "other", "large"), "first")
