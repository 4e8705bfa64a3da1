"""The same campaign on each engine: `make bench-spark`.

`python -m benchmarks.engines [--labels N] [--scores N] [--tasks N] [WAY ...]` builds a simulated
campaign by each way, one after the other, and prints how long it took and the most memory that one
process of each kind had. It fails if gold differs by a byte. Needs Java, the extra `spark`, and
Linux's /proc.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.cluster import HOST, Cluster, with_descendants
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign
from benchmarks.machine import description

KEY = "a key of benchmarks, which is long enough"
FOLDER = Path("build/bench")
LOOK = 0.2
"""Seconds between looks at memory."""
SMALL = "resources.memory_limit=400MB"
"""Of a query on workers and driver, as docs/spark.md has it."""
WAYS: dict[str, tuple[int, tuple[str, ...]]] = {
    "local": (0, ()),
    "local[2]": (0, ("engine.kind=spark", "engine.master=local[2]", SMALL)),
    "one-worker": (1, ("engine.kind=spark", SMALL)),
    "two-workers": (2, ("engine.kind=spark", SMALL)),
}
"""Workers of a master that is started for it, and settings."""
KINDS = {
    "driver": "annot_pipeline.cli build",
    "worker": "pyspark.daemon",
    "executor's Java": "CoarseGrainedExecutorBackend",
    "driver's Java": "SparkSubmit",
}
"""What command lines have; a worker is a process of Python on an executor."""


@dataclass(frozen=True)
class Built:
    """What a build took: seconds, the most bytes of one process by kind; and hash of its gold."""

    way: str
    seconds: float
    peaks: dict[str, int]
    gold: str


def build(campaign: Path, way: str, folder: Path) -> Built:
    """`annot build` from nothing.

    Raises
    ------
    RuntimeError
        It failed; the message is what it said.
    """
    workers, given = WAYS[way]
    with _cluster(folder / "cluster", workers) as (url, roots):
        sets = [f"store={folder}/store", f"gold={folder}/gold", *given]
        sets += [f"engine.master={url}"] if workers else []
        words = ["-m", "annot_pipeline.cli", "build", str(campaign)]
        words += [word for one in sets for word in ("--set", one)]
        same_key = {
            "ANNOT_KEY": KEY,
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
        }
        started = time.perf_counter()
        with (folder / "said").open("w+") as said:
            running = subprocess.Popen(  # noqa: S603  our own code, our own arguments
                [sys.executable, *words], stdout=said, stderr=said, env=os.environ | same_key
            )
            peaks = _peaks(running, roots)
            seconds = time.perf_counter() - started
            if running.returncode:
                said.seek(0)
                raise RuntimeError(f"{way}:\n{said.read()}")
    return Built(way, seconds, peaks, _hash(folder / "gold"))


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """Address of a master with so many workers, and all their processes; none for no workers."""
    if not workers:
        yield "", []
        return
    cluster = Cluster(folder, workers=workers)
    try:
        yield cluster.url, [process.pid for process in cluster.processes]
    finally:
        cluster.stop()


def _peaks(running: subprocess.Popen[bytes], roots: list[int]) -> dict[str, int]:
    peaks = dict.fromkeys(KINDS, 0)
    while running.poll() is None:
        for pid in with_descendants([running.pid, *roots]):
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:  # it has just ended
                continue
            held = re.search(r"VmRSS:\s+(\d+) kB", status)
            kind = next((kind for kind, has in KINDS.items() if has in line), None)
            if held and kind:
                peaks[kind] = max(peaks[kind], int(held[1]) * 1024)
        time.sleep(LOOK)
    return peaks


def _hash(gold: Path) -> str:
    """Of names and bytes of all tables."""
    found = hashlib.sha256()
    tables = gold.glob("v*/**/*.parquet")  # a large one is a folder of files
    for file in sorted(path for path in tables if path.is_file()):
        found.update(f"{file.relative_to(gold)}\0".encode())
        with file.open("rb") as data:
            found.update(hashlib.file_digest(data, "sha256").digest())
    return found.hexdigest()


def table(shape: Shape, built: list[Built]) -> str:
    """Lines of Markdown; times against the first way."""
    n = shape.labels + shape.scores + shape.comparisons
    kinds = [f"{kind}, GB" for kind in KINDS]
    rows = [["judgments", "engine", "seconds", f"x {built[0].way}", *kinds, "gold"]]
    rows.append(["---"] * len(rows[0]))
    for of in built:
        peaks = [f"{of.peaks[kind] / 1e9:.2f}" if of.peaks[kind] else "" for kind in KINDS]
        times = f"{of.seconds / built[0].seconds:.2f}"
        rows.append([f"{n:,}", of.way, f"{of.seconds:.0f}", times, *peaks, of.gold[:8]])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Build by all ways asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", help=", ".join(WAYS))
    for kind, default in (("labels", 2_500_000), ("scores", 2_500_000), ("tasks", 50)):
        parser.add_argument(f"--{kind}", type=int, default=default, help=f"default {default:,}")
    asked = vars(parser.parse_args())
    ways = asked.pop("ways") or list(WAYS)
    unknown = set(ways) - set(WAYS)
    if unknown:
        parser.error(f"no way {', '.join(sorted(unknown))}; there are: {', '.join(WAYS)}")
    shape = Shape(**asked, comparisons=0)
    campaign = kept_campaign(shape)
    machine = f"{description()} With pyspark {version('pyspark')}."
    print(machine, flush=True)
    built: list[Built] = []
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="engines-", dir=FOLDER) as folder:
            built.append(build(campaign, way, Path(folder).resolve()))
        print(f"{way}: {built[-1].seconds:.0f} s", flush=True)
    told = table(shape, built)
    (FOLDER / "engines.md").write_text(f"{machine}\n\n{told}")
    print(f"\n{told}\nwritten: {FOLDER / 'engines.md'}")
    if len({of.gold for of in built}) > 1:
        raise SystemExit("gold differs")


if __name__ == "__main__":
    main()
