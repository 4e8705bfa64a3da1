"""Copies the last results into the documentation: `python -m benchmarks.into_docs`.

Comparisons that were not measured again stay, told with the machine they were measured on.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.run import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"
MACHINE = "<!-- machine -->\n"
"""Stands before each machine's results."""


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
    PAGE.write_text(with_results(PAGE.read_text(), results.read_text()))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
