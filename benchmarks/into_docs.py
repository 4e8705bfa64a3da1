"""Copies the last results into the documentation: `python -m benchmarks.into_docs`.

Comparisons that were not measured again stay, if machine and packages are the same.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.run import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"


def with_results(page: str, results: str) -> str:
    """The page with these results between its marks."""
    before, _, rest = page.partition(START)
    old, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {START.strip()} and {END}")
    kept, measured = _by_comparison(old), _by_comparison(results)
    if kept[""] == measured[""]:
        measured = kept | measured
    told = "\n\n".join(measured.values())
    return f"{before}{START}{told}\n{END}{after}"


def _by_comparison(results: str) -> dict[str, str]:
    """What is told of each comparison by its name, the machine first."""
    machine, *parts = re.split(r"^(?=\*\*\w+\.\*\* )", results, flags=re.MULTILINE)
    return {"": machine.strip()} | {part.split(".")[0].strip("*"): part.strip() for part in parts}


def main() -> None:
    """Copy."""
    results = FOLDER / "results.md"
    if not results.exists():
        raise SystemExit(f"{results} is not there; make bench writes it")
    PAGE.write_text(with_results(PAGE.read_text(), results.read_text()))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
