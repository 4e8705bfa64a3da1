"""An S3 server on loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.storage.s3_machines import BUCKET


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Where an S3 server listens."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The files of an object store with one empty bucket, as s3fs shows them."""
    import s3fs

    environment = {
        "AWS_ENDPOINT_URL": s3_endpoint,
        "AWS_ACCESS_KEY_ID": "a key for tests",
        "AWS_SECRET_ACCESS_KEY": "a secret for tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_MAX_ATTEMPTS": "1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    files = s3fs.S3FileSystem(use_listings_cache=False)
    files.mkdir(BUCKET)
    yield files
    files.rm(BUCKET, recursive=True)
