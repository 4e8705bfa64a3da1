"""Times our methods and builds against named peers: `make bench`, `make bench-quick`.

`python -m benchmarks.run [NAME ...] [--quick] [--rounds N]` runs the comparisons named, or all.
Each run is a process of its own, and the ways of a comparison take turns, so that a drift of the
machine hits all. A way that takes over a minute is not asked again. Results of all rounds go
to results.json, medians to results.md, and two figures beside; comparisons that were measured
before on the same machine stay. Nothing fails on a number.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.comparison import Comparison
from benchmarks.comparisons import COMPARISONS
from benchmarks.figures import write_figures
from benchmarks.machine import description
from benchmarks.process import Run, in_new_process
from benchmarks.results import Result, Results, Row, markdown, three_digits

ROUNDS = 5
LONG = 60
"""Seconds of a run after which a way is not asked again at this size."""
FOLDER = Path("build/bench")
QUICK = FOLDER / "quick"


def compare(name: str, comparison: Comparison, sizes: tuple[int, ...], rounds: int) -> Result:
    """Measure all ways at all sizes, and tell on the way."""
    result = Result.of(name, comparison)
    missing = [way for way in comparison.ways if not way.is_installed()]
    result.skipped = [f"{way.name}: not installed (the extra `bench`)." for way in missing]
    print(f"\n{name}: {comparison.title}", *result.skipped, sep="\n", flush=True)
    times = f"x {result.yardstick or 'ours'}"
    for size in sizes:
        in_new_process(name, size)
        ways = [way for way in comparison.ways if way not in missing and way.takes(size)]
        runs: dict[str, list[Run]] = {way.name: [] for way in ways}
        for _ in range(rounds):
            for way in ways:
                if any(run.seconds > LONG for run in runs[way.name]):
                    continue
                run = in_new_process(name, size, way)
                assert run is not None
                runs[way.name].append(run)
        for way in ways:
            row = Row(size, way.name, runs[way.name])
            result.rows.append(row)
            seconds, memory = row.median("seconds"), row.median("megabytes")
            print(f"{size:>12,} {way.name:<36} {three_digits(seconds):>9} s {memory:>8,.0f} MB "
                  f"{three_digits(result.ratio(row)):>8} {times}, rounds: {len(row.runs)}",
                  flush=True)  # fmt: skip
    return result


def write(results: Results, folder: Path) -> None:
    """Write all results: JSON, Markdown, figures."""
    results.write(folder / "results.json")
    shown = results.in_order(COMPARISONS)
    (folder / "results.md").write_text(markdown(results.machine, shown))
    write_figures(shown, folder)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMPARISONS))
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--rounds", type=int, help=f"runs of each way (default {ROUNDS})")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(COMPARISONS)
    if unknown:
        parser.error(f"no comparison {', '.join(sorted(unknown))}; there are: "
                     f"{', '.join(COMPARISONS)}")  # fmt: skip
    rounds = asked.rounds or (1 if asked.quick else ROUNDS)
    folder = QUICK if asked.quick else FOLDER
    machine = description()
    print(machine)
    results = Results.read(folder / "results.json", machine)
    for name in asked.names or COMPARISONS:
        comparison = COMPARISONS[name]
        sizes = comparison.quick if asked.quick else comparison.sizes
        results.results[name] = compare(name, comparison, sizes, rounds)
        write(results, folder)
    print(f"\nwritten: {folder / 'results.md'}, results.json, ratios.svg, scaling.svg")


if __name__ == "__main__":
    main()
