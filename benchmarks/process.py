"""One run in a process of its own: `python -m benchmarks.process NAME WAY SIZE`.

Without a way it only draws the input, and does what a comparison wants done with it first, so that
files which are kept are there before the clock.

Memory is what the run added: the process's high-water mark (VmHWM, set back just before) less what
it held then, with interpreter, libraries and input. Where work is a command of its own, memory is
all that the command took. Needs Linux's /proc; elsewhere the whole process's peak stands
instead.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.comparison import Way, Work
from benchmarks.comparisons import COMPARISONS

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of ru_maxrss."""


@dataclass(frozen=True)
class Run:
    """What one run took.

    Parameters
    ----------
    seconds
        From start to end.
    cpu_seconds
        Of all cores, user and system; on a shared machine the steadier figure.
    megabytes
        Memory at the peak, 10^6 bytes.
    """

    seconds: float
    cpu_seconds: float
    megabytes: float


def measured(work: Work) -> Run:
    """Run the work here."""
    children = _largest_child()
    before = _start_of_peak()
    cpu, started = _cpu_seconds(), time.perf_counter()
    work()
    seconds, cpu = time.perf_counter() - started, _cpu_seconds() - cpu
    added = _peak() - before
    if _largest_child() > children:
        added = max(added, _largest_child())
    return Run(seconds, cpu, added / 1e6)


def in_new_process(name: str, size: int, way: Way | None = None) -> Run | None:
    """Run a way (or, without one, only draw its input) in a new process, and clean up behind it.

    Raises
    ------
    subprocess.CalledProcessError
        It failed, and has said why on stderr.
    """
    words = [name, str(size)] + ([way.name] if way else [])
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        done = subprocess.run(  # noqa: S603  our own code, our own arguments
            [sys.executable, "-m", "benchmarks.process", *words],
            check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": folder},
        )  # fmt: skip
    return Run(**json.loads(done.stdout.splitlines()[-1])) if way else None


def _start_of_peak() -> int:
    """Set the high-water mark back to what is held now; give that, in bytes."""
    gc.collect()
    if not CLEAR.exists():
        return 0
    ctypes.CDLL(None).malloc_trim(0)  # else pages freed by drawing the input would be used again
    CLEAR.write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    if CLEAR.exists():
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def _largest_child() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * UNIT


def _status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def main() -> None:
    """Draw the input, and where a way is named, run it and print what it took."""
    name, size, *way = sys.argv[1:]
    comparison = COMPARISONS[name]
    drawn = comparison.draw(int(size))
    if way:
        print(json.dumps(asdict(measured(comparison.way(way[0]).prepare(drawn)))))
    elif comparison.keep:
        comparison.keep(drawn)


if __name__ == "__main__":
    main()
