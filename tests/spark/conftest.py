"""Real Spark: local, and a standalone master with two workers on loopback; for ``make spark``."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HOST = "127.0.0.1"


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
    monkeypatch.setenv("ANNOT_KEY", "0" * 64)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master with two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        cluster.stop()


class Cluster:
    """Spark's own master and workers, as processes."""

    def __init__(self, folder: Path, port: int = 0, workers: int = 2) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        ports = ("--port", str(port), "--webui-port", "0")
        log = self._start("master", "master.Master", "--host", HOST, *ports)
        self.url = self._said(log, r"Starting Spark master at (spark://\S+)")
        self.page = self._said(log, r"started at http://\S+:(\d+)")
        for n in range(workers):
            self.add_worker(f"worker{n}")

    def add_worker(self, name: str) -> None:
        """A worker of one core and a gigabyte."""
        options = ("--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0")
        work = ("--work-dir", str(self.folder / name))
        log = self._start(name, "worker.Worker", *options, *work, self.url)
        self._said(log, r"(Successfully registered) with master")

    def _start(self, name: str, of: str, *arguments: str) -> Path:
        import pyspark

        home = Path(pyspark.__file__).parent
        log = self.folder / f"{name}.log"
        environment = os.environ | {
            "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_DIR": str(self.folder / "work"),
        }  # fmt: skip
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{of}", *arguments]
        with log.open("wb") as out:
            self.processes.append(
                subprocess.Popen(command, stdout=out, stderr=out, env=environment)
            )
        return log

    def _said(self, log: Path, pattern: str) -> str:
        for _ in range(600):
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            time.sleep(0.1)
        raise AssertionError(log.read_text(errors="replace"))

    def stop(self) -> None:
        """End all."""
        for process in self.processes:
            process.kill()
            process.wait()
