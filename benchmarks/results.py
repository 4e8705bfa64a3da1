"""What was measured: medians, ratios, exponents; kept as JSON, told as Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.comparison import Comparison
from benchmarks.process import Run


@dataclass
class Row:
    """The runs of one way at one size."""

    size: int
    way: str
    runs: list[Run]

    def median(self, figure: str) -> float:
        """Median of ``seconds``, ``cpu_seconds`` or ``megabytes``."""
        return float(statistics.median(getattr(run, figure) for run in self.runs))


@dataclass
class Result:
    """All rows of one comparison; ours, or the yardstick, first at each size."""

    name: str
    title: str
    unit: str
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    exponent_from: int | None = None
    yardstick: str | None = None

    @classmethod
    def of(cls, name: str, comparison: Comparison) -> Result:
        """Nothing measured so far."""
        return cls(
            name, comparison.title, comparison.unit,
            exponent_from=comparison.exponent_from, yardstick=comparison.yardstick,
        )  # fmt: skip

    def first(self, size: int) -> Row:
        """The row of a size that others are told in: ours, or the yardstick."""
        return next(row for row in self.rows if row.size == size)

    def ratio(self, row: Row, figure: str = "seconds") -> float:
        """How many times the first a row took."""
        return row.median(figure) / self.first(row.size).median(figure)

    def exponent(self) -> tuple[float, int, int] | None:
        """Exponent of our seconds against size by least squares of logarithms, and its range."""
        if self.exponent_from is None:
            return None
        rows = [row for row in self.rows if row.size >= self.exponent_from]
        if len(rows) < 2:
            return None
        sizes, seconds = [row.size for row in rows], [row.median("seconds") for row in rows]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        return slope, min(sizes), max(sizes)


@dataclass
class Results:
    """Results of one machine."""

    machine: str
    results: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, machine: str) -> Results:
        """Those of earlier runs, if they are of the same machine and packages."""
        if not path.exists():
            return cls(machine)
        document = json.loads(path.read_text())
        if document["machine"] != machine:
            return cls(machine)
        found = cls(machine)
        for name, of in document["results"].items():
            rows = [Row(r["size"], r["way"], [Run(**run) for run in r["runs"]]) for r in of["rows"]]
            found.results[name] = Result(**of | {"rows": rows})
        return found

    def in_order(self, names: Iterable[str]) -> list[Result]:
        """Results that there are, in an order of names."""
        return [self.results[name] for name in names if name in self.results]

    def write(self, path: Path) -> None:
        """Keep every run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def markdown(machine: str, results: Iterable[Result]) -> str:
    """A table a comparison."""
    parts = [machine]
    for result in results:
        parts += [f"**{result.name}.** {result.title}.", _table(result)]
        if exponent := result.exponent():
            slope, low, high = exponent
            parts.append(f"Time grows as size^{slope:.2f} from {low:,} to {high:,}.")
        parts += result.skipped
    return "\n\n".join(parts) + "\n"


def _table(result: Result) -> str:
    times = f"times {result.yardstick or 'ours'}"
    lines = [
        f"| {result.unit} | way | seconds | {times} | CPU seconds | {times} "
        "| memory, MB | bytes each | rounds |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in result.rows:
        megabytes = row.median("megabytes")
        cells = [f"{row.size:,}", row.way]
        for figure in ("seconds", "cpu_seconds"):
            ratio = "" if row is result.first(row.size) else three_digits(result.ratio(row, figure))
            cells += [three_digits(row.median(figure)), ratio]
        cells += [f"{megabytes:,.0f}", f"{megabytes * 1e6 / row.size:,.0f}", str(len(row.runs))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def three_digits(value: float) -> str:
    """Such as 0.0123, 1.23, 123 and 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    decimals = 2 - int(np.floor(np.log10(value))) if value > 0 else 0
    return f"{value:.{decimals}f}"
