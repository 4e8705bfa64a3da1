"""Real Spark: local, and a standalone master with two workers on loopback; for ``make spark``."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.cluster import HOST, Cluster
from tests.conftest import KEY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, saying so, where Spark or Java is missing."""
    missing = [
        what
        for what, there in (
            ("pyspark", importlib.util.find_spec("pyspark")),
            ("Java", shutil.which("java")),
        )
        if not there
    ]
    if missing:
        skip = pytest.mark.skip(reason=f"no {' and no '.join(missing)}: make spark")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine alone, this Python, one key for all stores."""
    monkeypatch.setenv("SPARK_LOCAL_IP", HOST)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("ANNOT_KEY", KEY)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master with two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        cluster.stop()
