"""Times our methods against named peers, in the same run: ``make bench``.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

ROUNDS = 5
ITERATIONS = 20
CLASSES, JUDGES, LABELS_PER_ITEM = 5, 200, 10


@dataclass(frozen=True)
class Comparison:
    """What is compared: at which sizes, ours first, then the peer; each gives its seconds."""

    title: str
    unit: str
    sizes: tuple[int, ...]
    peers: Mapping[str, Callable[[int], float]]


# --- Dawid-Skene ---------------------------------------------------------------------------


def draw_labels(n_labels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items, judges and labels of simulated judges, 70% of whose answers are right."""
    rng = np.random.default_rng(17)
    n_items = n_labels // LABELS_PER_ITEM
    truth = rng.integers(CLASSES, size=n_items)
    items = np.repeat(np.arange(n_items), LABELS_PER_ITEM)
    judges = rng.integers(JUDGES, size=n_labels)
    right = rng.random(n_labels) < 0.7
    labels = np.where(right, truth[items], rng.integers(CLASSES, size=n_labels))
    return items, judges, labels


def our_dawid_skene(n_labels: int) -> float:
    """Seconds of a fit."""
    from annot_pipeline.methods.dawid_skene import DawidSkeneParams, dawid_skene

    items, judges, labels = draw_labels(n_labels)
    started = time.perf_counter()
    dawid_skene(
        items, judges, labels,
        n_items=int(items.max()) + 1, n_judges=JUDGES, n_labels=CLASSES,
        params=DawidSkeneParams(start="votes", tolerance=0, max_iterations=ITERATIONS),
    )  # fmt: skip
    return time.perf_counter() - started


def crowd_kit_dawid_skene(n_labels: int) -> float:
    """Seconds of a fit."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    items, judges, labels = draw_labels(n_labels)
    table = pd.DataFrame({"task": items, "worker": judges, "label": labels})
    started = time.perf_counter()
    DawidSkene(n_iter=ITERATIONS, tol=0).fit(table)
    return time.perf_counter() - started


# --- direct assessment ---------------------------------------------------------------------


def draw_scores(n_judgments: int) -> dict[str, np.ndarray]:
    """Judgments of 12 systems in HITs of 100, one language pair; codes and scores."""
    from annot_pipeline.simulate.scores import KINDS, ScoreSimulation, simulate_scores

    n_hits = n_judgments // 100
    simulated = simulate_scores(
        ScoreSimulation(
            language_pairs=("cs-en",), n_systems=12, n_hits=n_hits,
            n_segments=max(200, n_hits // 3), n_judges=max(10, n_hits // 20), repeat_share=0,
        )
    )  # fmt: skip
    rows = simulated.rows
    kinds = {kind: rows.kind == code for code, kind in enumerate(KINDS)}
    return {
        "judge": rows.judge,
        "output": (rows.hit * 100 + rows.system) * 10**6 + rows.segment,
        "system": rows.system,
        "segment": rows.segment,
        "score": rows.score.astype(np.float64),
        "ordinary": kinds["ordinary"],
        "shown": kinds["ordinary"] | kinds["ask_again"],
        "degraded": kinds["bad_reference"],
    }


def our_direct_assessment(n_judgments: int) -> float:
    """Seconds for judge control, z-scores, segment means and all pairs of systems."""
    from annot_pipeline.methods.cell_means import cell_means
    from annot_pipeline.methods.grouped_tests import paired_t
    from annot_pipeline.methods.system_comparisons import compare_systems
    from annot_pipeline.methods.zscores import z_scores

    rows = draw_scores(n_judgments)
    started = time.perf_counter()
    n_judges = int(rows["judge"].max()) + 1
    outputs, ordinary = (rows[name][rows["ordinary"]] for name in ("output", "score"))
    order = np.argsort(outputs)
    place = order[np.searchsorted(outputs, rows["output"][rows["degraded"]], sorter=order)]
    differences = ordinary[place] - rows["score"][rows["degraded"]]
    passed = (
        paired_t(rows["judge"][rows["degraded"]], differences, n_groups=n_judges).p_value < 0.05
    )
    z = z_scores(rows["judge"], rows["score"], n_judges=n_judges).z
    kept = rows["shown"] & passed[rows["judge"]]
    width = int(rows["segment"].max()) + 1
    cells, codes = np.unique(
        rows["system"][kept] * width + rows["segment"][kept], return_inverse=True
    )
    means = cell_means(codes, z[kept], n_cells=cells.size).mean
    known = ~np.isnan(means)
    compare_systems(cells[known] // width, means[known], n_systems=int(rows["system"].max()) + 1)
    return time.perf_counter() - started


def pandas_direct_assessment(n_judgments: int) -> float:
    """Seconds for the same as it is done in notebooks, with pandas and scipy.stats."""
    import pandas as pd
    import scipy.stats

    table = pd.DataFrame(draw_scores(n_judgments))
    started = time.perf_counter()
    pairs = table[table.ordinary].merge(table[table.degraded], on=["judge", "output"])
    passed = {
        judge
        for judge, of in pairs.groupby("judge")
        if scipy.stats.ttest_rel(of.score_x, of.score_y, alternative="greater").pvalue < 0.05
    }
    by_judge = table.groupby("judge").score
    table["z"] = (table.score - by_judge.transform("mean")) / by_judge.transform("std")
    kept = table[table.shown & table.judge.isin(passed)]
    segments = kept.groupby(["system", "segment"]).z.mean().dropna()
    by_system = {system: of.to_numpy() for system, of in segments.groupby("system")}
    for a, first in by_system.items():
        for b, second in by_system.items():
            if a != b:
                scipy.stats.mannwhitneyu(first, second, alternative="greater", method="asymptotic")
    return time.perf_counter() - started


# --- next HITs -----------------------------------------------------------------------------


def draw_states(n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Beta parameters of items with 1 to 5 judgments each."""
    rng = np.random.default_rng(17)
    n, mean = rng.integers(1, 6, n_items), rng.beta(2, 2, n_items)
    return 1 + n * mean, 1 + n * (1 - mean)


def our_next_hits(n_items: int) -> float:
    """Seconds of a round of n_items / 5 HITs."""
    from annot_pipeline.methods.next_hits import next_hits

    alpha, beta = draw_states(n_items)
    started = time.perf_counter()
    judged = np.ones(n_items, np.bool_)
    next_hits(alpha, beta, judged=judged, rng=np.random.default_rng(17))
    return time.perf_counter() - started


def numpy_next_hits(n_items: int) -> float:
    """Seconds of the same as Algorithm 1 is written: match quality of all pairs, then choice."""
    alpha, beta = draw_states(n_items)
    started = time.perf_counter()
    rng = np.random.default_rng(17)
    total = alpha + beta
    mode, variance = (alpha - 1) / (total - 2), alpha * beta / (total**2 * (total + 1))
    order = np.argsort(-variance)
    seeds, others = order[: n_items // 5], order[n_items // 5 :]
    spread = 0.02 + variance[seeds, None] + variance[others]
    apart = mode[seeds, None] - mode[others]
    quality = np.sqrt(0.02 / spread) * np.exp(-(apart**2) / (2 * spread))
    for row in quality:
        rng.choice(others, 4, replace=False, p=row / row.sum())
    return time.perf_counter() - started


COMPARISONS = {
    "dawid_skene": Comparison(
        f"Dawid-Skene, {CLASSES} classes, {ITERATIONS} iterations", "labels", (100_000, 1_000_000),
        {"annot-pipeline": our_dawid_skene, "crowd-kit": crowd_kit_dawid_skene},
    ),
    "direct_assessment": Comparison(
        "Direct assessment: judge control, z-scores, segment means, all pairs of 12 systems",
        "judgments", (100_000, 1_000_000),
        {"annot-pipeline": our_direct_assessment, "pandas and scipy": pandas_direct_assessment},
    ),
    "next_hits": Comparison(
        "The next HITs of EASL: a round of a fifth as many HITs as items",
        "items", (1_000, 10_000),
        {"annot-pipeline": our_next_hits, "numpy, all pairs": numpy_next_hits},
    ),
}  # fmt: skip


def measure(comparison: str, peer: str, size: int) -> dict[str, float]:
    """One run in a process of its own."""
    done = subprocess.run(  # noqa: S603  our own code, our own arguments
        [sys.executable, "-m", "benchmarks.run", comparison, peer, str(size)],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure everything and print a table for each comparison."""
    names = ("annot-pipeline", "crowd-kit", "numpy", "scipy", "pandas")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {version(name)}" for name in names))  # fmt: skip
    for name, comparison in COMPARISONS.items():
        ours, peer = comparison.peers
        print(f"\n{comparison.title}; medians of {ROUNDS}, ours and {peer}")
        print(f"{comparison.unit:>10} {'ours, s':>9} {'peer, s':>9} {'ratio':>7} {'ours, MB':>9} "
              f"{'peer, MB':>9}")  # fmt: skip
        for size in comparison.sizes:
            rounds: dict[str, list[dict[str, float]]] = {who: [] for who in comparison.peers}
            for _ in range(ROUNDS):
                for who in comparison.peers:
                    rounds[who].append(measure(name, who, size))
            seconds, peak = (
                {who: statistics.median(r[key] for r in rounds[who]) for who in rounds}
                for key in ("seconds", "megabytes")
            )
            print(f"{size:>10,} {seconds[ours]:>9.3f} {seconds[peer]:>9.3f} "
                  f"{seconds[peer] / seconds[ours]:>7.1f} {peak[ours]:>9.0f} {peak[peer]:>9.0f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 4:
        taken = COMPARISONS[sys.argv[1]].peers[sys.argv[2]](int(sys.argv[3]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": taken, "megabytes": peak}))
    else:
        main()
