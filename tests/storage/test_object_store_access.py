"""Object stores that cannot be reached say so in one block, and nothing else happens."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec.core  # noqa: F401 - loads its registry
import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.errors import AnnotError, StoreError
from annot_pipeline.storage.gold_bucket import Bucket, first_line
from tests.storage.s3_machines import KEY, URL, machine, publish


@pytest.fixture
def fresh_clients(s3: Any) -> Iterator[None]:
    """Connections that take the environment as it is now."""
    s3.clear_instance_cache()
    yield
    s3.clear_instance_cache()


def told(url: str = URL) -> str:
    with pytest.raises(AnnotError) as error:
        load_gold(url, "labels")
    return str(error.value)


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_not_there(tmp_path, capsys):
    text = told("s3://nobodys/gold")
    assert text.startswith("s3://nobodys/gold/latest.json: cannot be reached\n")
    assert "there is no bucket nobodys" in text
    assert "do:      make it, or correct gold" in text
    (tmp_path / "a.csv").write_text("item,judge,label\ni,j,x\n")
    (tmp_path / "campaign.yaml").write_text(
        "campaign: small\nsources: [{path: a.csv, format: csv, "
        "fields: {item: item, judge: judge, label: label}}]\n"
    )
    command = ["status", str(tmp_path), "--set", "gold=s3://nobodys/gold"]
    assert main(command) == 1
    shown = capsys.readouterr().err
    assert "there is no bucket nobodys" in shown
    assert "Traceback" not in shown


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_clients")
def test_an_endpoint_where_nobody_listens(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv(
            "AWS_ENDPOINT_URL", f"http://me:secret@127.0.0.1:{free.getsockname()[1]}"
        )
    text = told()
    assert text.startswith(f"{URL}/latest.json: cannot be reached\n")
    assert "check the network and the endpoint, then try again; the last release stands" in text
    assert "secret" not in text


@pytest.mark.parametrize("password", ["secret", "se@cret", "@@cret", "a:b@cret"])
def test_a_password_is_not_told_whatever_it_holds(password):
    error = OSError(f"no answer of https://me:{password}@host:9000/a@b, nor of http://host/c@d e@f")
    told = "no answer of https://***@host:9000/a@b, nor of http://host/c@d e@f"
    assert first_line(error) == told


@pytest.mark.usefixtures("fresh_clients")
def test_without_credentials(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    text = told()
    assert "access is refused" in text
    assert "AWS_PROFILE" in text


def test_without_permission(s3, monkeypatch):
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(s3, "cat_file", refuses)
    assert "access is refused: Access Denied" in told()


@pytest.mark.parametrize(
    ("module", "url", "install"),
    [
        ("s3fs", URL, "pip install 'annot-pipeline[s3]'"),
        ("gcsfs", "gs://bucket/gold", "pip install 'gcsfs'"),
        ("adlfs", "az://bucket/gold", "pip install 'adlfs'"),
    ],
)
def test_without_the_package(monkeypatch, module, url, install):
    monkeypatch.setitem(sys.modules, module, None)
    loaded = sys.modules["fsspec.registry"]._registry
    monkeypatch.delitem(loaded, url.partition(":")[0], raising=False)
    assert install in told(url)


@pytest.mark.parametrize("url", ["s3://me:secret@bucket/gold", "ftp://host/gold"])
def test_urls_that_are_none(url):
    text = told(url)
    assert "secret" not in text
    assert "gold" in text


@pytest.mark.slow
def test_the_network_fails_while_a_release_goes_up(s3, tmp_path, monkeypatch):
    releases = machine(tmp_path)
    publish(releases, "first")

    def fails(*_: object, **__: object) -> None:
        raise TimeoutError("the server did not answer")

    with monkeypatch.context() as patched:
        patched.setattr(s3, "put_file", fails)
        with pytest.raises(StoreError, match="TimeoutError: the server did not answer"):
            publish(releases, "second")
    assert releases.versions() == ["v0001"]
    assert publish(releases, "second") == "v0002"


def test_a_full_disk_is_not_the_network(s3, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(s3, "get_file", full)
    with pytest.raises(OSError, match="No space left"):
        Bucket(URL).fetch("a.txt", tmp_path / "a.txt")


@pytest.mark.usefixtures("s3")
def test_an_answer_that_is_lost_was_a_yes(tmp_path: Path):
    bucket, file = Bucket(URL), tmp_path / "a.txt"
    file.write_bytes(b"one")
    assert bucket.create("a.txt", file)
    assert bucket.create("a.txt", file)  # the same bytes, sent again
    file.write_bytes(b"two")
    assert not bucket.create("a.txt", file)
    assert bucket.read("a.txt") == b"one"
    assert bucket.swap("latest.json", None, b"one")
    assert not bucket.swap("latest.json", None, b"two")
    assert bucket.swap("latest.json", b"one", b"two")
    assert not bucket.swap("latest.json", b"one", b"three")
    assert not bucket.swap("other.json", b"one", b"two")
    assert bucket.read("latest.json") == b"two"


def test_what_another_writes_at_the_last_moment_stays(s3, monkeypatch):
    bucket, read = Bucket(URL), Bucket.read
    assert bucket.swap("latest.json", None, b"one")

    def reads_slowly(self: Bucket, name: str) -> bytes | None:
        data = read(self, name)
        s3.pipe_file(f"{KEY}/latest.json", b"theirs")
        return data

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "read", reads_slowly)
        assert not bucket.swap("latest.json", b"one", b"ours")
    assert bucket.read("latest.json") == b"theirs"
