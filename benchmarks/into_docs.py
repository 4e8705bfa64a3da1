"""Copies the last results into the documentation: `python -m benchmarks.into_docs`.

Comparisons that were not measured again stay, with the machine they were measured on. The page has
the largest size of each comparison in one table; build/bench/results.md has all sizes and columns.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.run import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "research" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"
MACHINE = "<!-- machine -->\n"
"""Stands before each machine's results."""


HEAD = """\
| comparison | size | measured | seconds | MB | against it | times | MB |
|---|---|---|--:|--:|---|--:|--:|"""
"""Of the table of a machine. Measured are we, or what commands are compared with."""


def shortened(results: str) -> str:
    """Return results as one table: the largest size of each comparison, and that with a peer.

    Comparisons of time against size keep all sizes, and the sentence on how time grows.
    """
    machine, *parts = re.split(r"^(?=\*\*\w+\.\*\* )", results, flags=re.MULTILINE)
    return _block(machine.strip(), {_name(part): _lines(part) for part in parts})


def _name(comparison: str) -> str:
    return comparison.split(".")[0].strip("*")


def _lines(comparison: str) -> list[str]:
    """Return rows of the table for one comparison, and what is said below it."""
    name = _name(comparison)
    lines = comparison.splitlines()
    table = [line for line in lines if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    by_size: dict[str, list[list[str]]] = {}
    for row in rows:
        by_size.setdefault(row[0], []).append(row)
    with_peer = [size for size, ways in by_size.items() if len(ways) > 1]
    shown = {*[*by_size][-1:], *with_peer[-1:]}
    actual = []
    for size, (first, *others) in by_size.items():
        if size in shown or name.startswith("scaling_"):
            start = [f"`{name}`", f"{size} {head[0]}", first[1], first[2], first[6]]
            for other in others or [[""] * 7]:
                actual.append("| " + " | ".join([*start, other[1], other[3], other[6]]) + " |")
    said = [line for line in lines if line.startswith("Time grows")]
    return actual + [f"`{name}`: t{line[1:]}" for line in said]


def _block(machine: str, comparisons: dict[str, list[str]]) -> str:
    lines = [line for rows in comparisons.values() for line in rows]
    table = [HEAD, *(line for line in lines if line.startswith("|"))]
    said = [line for line in lines if not line.startswith("|")]
    return "\n\n".join([machine, "\n".join(table), *said])


def with_results(page: str, results: str) -> str:
    """Return the page with these results, as `shortened` gives them, between its marks."""
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
            blocks.append(f"{MACHINE}{_block(name, kept)}\n")
    return f"{before}{START}{chr(10).join(blocks)}{END}{after}"


def _by_comparison(block: str) -> tuple[str, dict[str, list[str]]]:
    """Return the machine of a block, and its lines by the name of the comparison."""
    machine, _, rest = block.partition("\n\n")
    lines: dict[str, list[str]] = {}
    for line in rest.splitlines():
        if named := re.match(r"(?:\| )?`(\w+)`", line):
            lines.setdefault(named[1], []).append(line)
    return machine.strip(), lines


def main() -> None:
    """Copy."""
    results = FOLDER / "results.md"
    if not results.exists():
        raise SystemExit(f"{results} is not there; make bench writes it")
    PAGE.write_text(with_results(PAGE.read_text(), shortened(results.read_text())))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
