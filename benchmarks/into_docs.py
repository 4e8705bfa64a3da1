"""Copies the last results into the documentation: `python -m benchmarks.into_docs`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.run import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"


def with_results(page: str, results: str) -> str:
    """The page with these results between its marks."""
    before, _, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {START.strip()} and {END}")
    return f"{before}{START}{results}{END}{after}"


def main() -> None:
    """Copy."""
    results = FOLDER / "results.md"
    if not results.exists():
        raise SystemExit(f"{results} is not there; make bench writes it")
    PAGE.write_text(with_results(PAGE.read_text(), results.read_text()))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
