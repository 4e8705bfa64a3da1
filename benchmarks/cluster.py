"""A cluster of Spark on this machine, from Spark's own package: a standalone master and workers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HOST = "127.0.0.1"


class Cluster:
    """A master and workers, as processes that write to log files of a folder.

    Parameters
    ----------
    folder
        For logs, and for what executors leave behind.
    port
        Of the master; 0: any.
    workers
        How many.

    Raises
    ------
    RuntimeError
        One of them did not start within a minute; the message is its log.
    """

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
        import pyspark  # tests that run without it import this module

        home = Path(pyspark.__file__).parent
        log = self.folder / f"{name}.log"
        environment = os.environ | {
            "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_DIR": str(self.folder / "work"),
        }  # fmt: skip
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{of}", *arguments]
        with log.open("wb") as out:
            self.processes.append(
                subprocess.Popen(  # noqa: S603  Spark's own command
                    command, stdout=out, stderr=out, env=environment
                )
            )
        return log

    def _said(self, log: Path, pattern: str) -> str:
        for _ in range(600):
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            time.sleep(0.1)
        raise RuntimeError(log.read_text(errors="replace"))

    def executors(self, of: int | None = None) -> list[int]:
        """Processes of Java that run tasks, of all workers or of one; no other cluster's."""
        processes = self.processes[1:] if of is None else [self.processes[1 + of]]
        found = []
        for pid in with_descendants([process.pid for process in processes]):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:  # it has just ended
                continue
            if b"CoarseGrainedExecutorBackend" in words:
                found.append(pid)
        return found

    def stop(self) -> None:
        """End all."""
        for process in self.processes:
            process.kill()
            process.wait()


def with_descendants(pids: Iterable[int]) -> Iterator[int]:
    """Processes, and all that they started, by Linux's /proc."""
    for pid in pids:
        yield pid
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                yield from with_descendants([int(word) for word in children.read_text().split()])
            except OSError:  # it has just ended
                continue
