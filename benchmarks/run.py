"""Times Dawid-Skene against crowd-kit's, in the same run: ``make bench``.

Each measurement is a fresh process; ours and the peer take turns, so a drift of the machine
hits both. Reported are medians of `ROUNDS` and their ratio; nothing fails on a number.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np

ROUNDS = 5
ITERATIONS = 20
CLASSES, JUDGES, LABELS_PER_ITEM = 5, 200, 10
SIZES = (100_000, 1_000_000)


def draw(n_labels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items, judges and labels of simulated judges, 70% of whose answers are right."""
    rng = np.random.default_rng(17)
    n_items = n_labels // LABELS_PER_ITEM
    truth = rng.integers(CLASSES, size=n_items)
    items = np.repeat(np.arange(n_items), LABELS_PER_ITEM)
    judges = rng.integers(JUDGES, size=n_labels)
    right = rng.random(n_labels) < 0.7
    labels = np.where(right, truth[items], rng.integers(CLASSES, size=n_labels))
    return items, judges, labels


def ours(n_labels: int) -> float:
    """Seconds of a fit."""
    from annot_pipeline.methods.dawid_skene import DawidSkeneParams, dawid_skene

    items, judges, labels = draw(n_labels)
    started = time.perf_counter()
    dawid_skene(
        items, judges, labels,
        n_items=int(items.max()) + 1, n_judges=JUDGES, n_labels=CLASSES,
        params=DawidSkeneParams(start="votes", tolerance=0, max_iterations=ITERATIONS),
    )  # fmt: skip
    return time.perf_counter() - started


def crowd_kit(n_labels: int) -> float:
    """Seconds of a fit."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    items, judges, labels = draw(n_labels)
    table = pd.DataFrame({"task": items, "worker": judges, "label": labels})
    started = time.perf_counter()
    DawidSkene(n_iter=ITERATIONS, tol=0).fit(table)
    return time.perf_counter() - started


PEERS = {"annot-pipeline": ours, "crowd-kit": crowd_kit}


def measure(peer: str, n_labels: int) -> dict[str, float]:
    """One fit in a process of its own."""
    done = subprocess.run(  # noqa: S603  our own code, our own arguments
        [sys.executable, "-m", "benchmarks.run", peer, str(n_labels)],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure all sizes and print a table."""
    names = ("annot-pipeline", "crowd-kit", "numpy", "scipy", "pandas")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {version(name)}" for name in names))  # fmt: skip
    print(f"Dawid-Skene, {CLASSES} classes, {ITERATIONS} iterations, medians of {ROUNDS}")
    print(f"{'labels':>10} {'ours, s':>9} {'crowd-kit, s':>13} {'ratio':>7} {'ours, MB':>9} "
          f"{'crowd-kit, MB':>14}")  # fmt: skip
    for size in SIZES:
        rounds: dict[str, list[dict[str, float]]] = {peer: [] for peer in PEERS}
        for _ in range(ROUNDS):
            for peer in PEERS:
                rounds[peer].append(measure(peer, size))
        seconds, peak = (
            {p: statistics.median(r[key] for r in rounds[p]) for p in PEERS}
            for key in ("seconds", "megabytes")
        )
        mine, theirs = PEERS
        print(f"{size:>10,} {seconds[mine]:>9.3f} {seconds[theirs]:>13.3f} "
              f"{seconds[theirs] / seconds[mine]:>7.1f} {peak[mine]:>9.0f} {peak[theirs]:>14.0f}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 3:
        taken = PEERS[sys.argv[1]](int(sys.argv[2]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": taken, "megabytes": peak}))
    else:
        main()
