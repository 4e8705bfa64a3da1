"""Copies the last results into the documentation: `python -m benchmarks.into_docs`.

Comparisons that were not measured again stay, with the machine they were measured on. The page has
the largest size of each comparison; build/bench/results.md has all sizes and columns.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.run import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "research" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"
MACHINE = "<!-- machine -->\n"
"""Stands before each machine's results."""


COLUMNS = (0, 1, 2, 3, 6)
"""Of a table of results: size, way, seconds, times ours, memory."""


def shortened(results: str) -> str:
    """Return results with the largest size of each comparison, and the largest with a peer.

    Comparisons of time against size keep all sizes.
    """
    machine, comparisons = _by_comparison(results)
    return "\n\n".join([machine, *map(_shortened, comparisons.values())])


def _shortened(comparison: str) -> str:
    lines = comparison.splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    sizes = [row[0] for row in rows[2:]]
    with_peer = [size for size in sizes if sizes.count(size) > 1]
    shown = {*sizes[-1:], *with_peer[-1:]}
    if comparison.startswith("**scaling_"):
        shown = {*sizes}
    kept = rows[:2] + [row for row in rows[2:] if row[0] in shown]
    table = ["|" + "|".join(row[n] for n in COLUMNS if n < len(row)) + "|" for row in kept]
    start = next((n for n, line in enumerate(lines) if line.startswith("|")), len(lines))
    rest = [line for line in lines[start:] if not line.startswith("|")]
    return "\n".join([*lines[:start], *table, *rest]).strip()


def with_results(page: str, results: str) -> str:
    """The page with these results between its marks."""
    before, _, rest = page.partition(START)
    old, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {START.strip()} and {END}")
    machines = dict(map(_by_comparison, filter(None, old.split(MACHINE))))
    machine, measured = _by_comparison(results)
    machines[machine] = machines.get(machine, {}) | measured
    blocks = []
    for name, found in machines.items():
        kept = {n: told for n, told in found.items() if name == machine or n not in measured}
        if kept:
            blocks.append(MACHINE + "\n\n".join([name, *kept.values()]) + "\n")
    return f"{before}{START}{chr(10).join(blocks)}{END}{after}"


def _by_comparison(results: str) -> tuple[str, dict[str, str]]:
    """The machine; and what is told of each comparison, by its name."""
    machine, *parts = re.split(r"^(?=\*\*\w+\.\*\* )", results, flags=re.MULTILINE)
    return machine.strip(), {part.split(".")[0].strip("*"): part.strip() for part in parts}


def main() -> None:
    """Copy."""
    results = FOLDER / "results.md"
    if not results.exists():
        raise SystemExit(f"{results} is not there; make bench writes it")
    PAGE.write_text(with_results(PAGE.read_text(), shortened(results.read_text())))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
