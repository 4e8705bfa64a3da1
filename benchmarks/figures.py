"""Two figures of what was measured: times of the peers in ours, and time against size."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.report.figures.names import px_of
from annot_pipeline.report.figures.scales import power_of_ten
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, SERIES, SMALL, SOFT, VERMILLION
from benchmarks.results import Result, Row, three_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, PITCH, TOP = 420.0, 22.0, 40.0
"""Of the plot, from line to line, and above the plot, px."""
HEIGHT = 300.0
"""Of the plot of time against size, px."""


def write_figures(results: Sequence[Result], folder: Path) -> None:
    """Write ratios.svg and scaling.svg."""
    (folder / "ratios.svg").write_text(ratios_svg(results))
    (folder / "scaling.svg").write_text(scaling_svg(results))


def ratios_svg(results: Sequence[Result]) -> str:
    """A line for each peer and size: its seconds over ours, and its memory over ours."""
    rows = [
        (f"{result.name}, {row.size:,}: {row.way}", result, row)
        for result in results
        for row in result.rows
        if result.yardstick is None and row is not result.first(row.size)
    ]
    if not rows:
        return nothing_svg("benchmark-ratios", "no peer was measured")
    seconds = [result.ratio(row) for _, result, row in rows]
    memory = [_memory_ratio(result, row) for _, result, row in rows]
    left, bottom = 24 + px_of(*(name for name, _, _ in rows)), TOP + PITCH * len(rows)
    says = "Seconds of peers over ours: " + ", ".join(
        f"{name} {three_digits(ratio)}" for (name, _, _), ratio in zip(rows, seconds, strict=True)
    )
    with new_sheet("benchmark-ratios", left + WIDTH + 70, bottom + 46, says) as sheet:
        ends = _decades([*seconds, *memory, 1.0])
        axes = sheet.axes(left, TOP, WIDTH, bottom - TOP, x=ends, y=(0, 1), log="x", lines="x")
        _ticks(sheet, axes, "x")
        sheet.key(left, 20, [("●", BLUE, "seconds"), ("●", VERMILLION, "memory")])
        sheet.text(left + WIDTH / 2, bottom + 38, "peer / ours", anchor="center", part="axis")
        one, _ = sheet.at(axes, 1, 0)
        sheet.line([one, one], [TOP, bottom], SOFT, "equal")
        for n, (name, _, _) in enumerate(rows):
            y = TOP + PITCH * (n + 0.5)
            sheet.text(left - 10, y + 4, name, anchor="right", size=SMALL, part="way")
            for ratio, color, part in ((memory[n], VERMILLION, "memory"), (seconds[n], BLUE, "s")):
                x, _ = sheet.at(axes, ratio, 0)
                sheet.points(np.array([x]), np.array([y]), color, part, size=8)
            sheet.text(left + WIDTH + 10, y + 4, three_digits(seconds[n]), size=SMALL, part="s")
        return sheet.svg()


def scaling_svg(results: Sequence[Result]) -> str:
    """Our seconds against size, a line for each comparison that tells its exponent."""
    drawn = [result for result in results if result.exponent_from is not None and result.rows]
    if not drawn:
        return nothing_svg("benchmark-scaling", "no time was measured against size")
    names = [_with_exponent(result) for result in drawn]
    points = [[(row.size, row.median("seconds")) for row in result.rows] for result in drawn]
    sizes, seconds = zip(*(point for line in points for point in line), strict=True)
    left, bottom = 60.0, TOP + HEIGHT
    width = left + WIDTH + 20 + px_of(*names)
    with new_sheet("benchmark-scaling", width, bottom + 50, ", ".join(names)) as sheet:
        axes = sheet.axes(
            left, TOP, WIDTH, HEIGHT, x=_decades(sizes), y=_decades(seconds), log="xy"
        )
        _ticks(sheet, axes, "x")
        _ticks(sheet, axes, "y")
        sheet.text(left, 20, "seconds, ours", part="axis")
        sheet.text(left + WIDTH / 2, bottom + 38, "judgments", anchor="center", part="axis")
        for name, line, color in zip(names, points, SERIES, strict=False):
            x, y = np.array([sheet.at(axes, *point) for point in line]).T
            sheet.line(x, y, color, "time", width=2)
            sheet.points(x, y, color, "measured", size=8)
            sheet.text(x[-1] + 12, y[-1] + 4, name, color=color, part="label")
        return sheet.svg()


def _memory_ratio(result: Result, row: Row) -> float:
    """Memory over ours; below a megabyte both count as one."""
    own = result.first(row.size).median("megabytes")
    return max(row.median("megabytes"), 1.0) / max(own, 1.0)


def _with_exponent(result: Result) -> str:
    exponent = result.exponent()
    return f"{result.name}: size^{exponent[0]:.2f}" if exponent else result.name


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten around all values."""
    low, high = floor(log10(min(values)) - 0.05), ceil(log10(max(values)) + 0.05)
    return 10.0**low, 10.0**high


def _ticks(sheet: Sheet, axes: Axes, side: str) -> None:
    low, high = axes.get_xlim() if side == "x" else axes.get_ylim()
    exponents = range(round(log10(low)), round(log10(high)) + 1)
    sheet.ticks(
        axes, side, [10.0**n for n in exponents], [power_of_ten(n) for n in exponents], grid=True
    )
