"""Two figures of what was measured: times of the peers in ours, and time against size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from annot_pipeline.report.figures.base import BLUE, INK, SERIES, VERMILLION, px_of
from annot_pipeline.report.figures.plot import (
    key_above,
    new_plot,
    nothing_svg,
    plain_log_ticks,
    row_plot,
    text_at_right,
)
from benchmarks.results import Result, Row, three_digits


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
    names = [name for name, *_ in rows]
    seconds = [result.ratio(row) for _, result, row in rows]
    memory = [_memory_ratio(result, row) for _, result, row in rows]
    description = "Seconds of peers over ours: " + ", ".join(
        f"{name} {three_digits(ratio)}" for name, ratio in zip(names, seconds, strict=True)
    )
    with row_plot("benchmark-ratios", names, description, pitch=22, right=70, top=36,
                  x_label="peer / ours", part="way") as plot:  # fmt: skip
        ax, places = plot.ax, range(len(rows))
        ax.set_xscale("log")
        ax.axvline(1, color=(INK, 0.4))
        ax.plot(memory, places, "o", color=VERMILLION, label="memory")
        ax.plot(seconds, places, "o", color=BLUE, label="seconds")
        for position, ratio in enumerate(seconds):
            text_at_right(ax, position, three_digits(ratio), "seconds")
        plain_log_ticks(ax.xaxis)
        key_above(ax, 2)
        return plot.svg()


def scaling_svg(results: Sequence[Result]) -> str:
    """Our seconds against size, a line for each comparison that tells its exponent."""
    measured = [result for result in results if result.exponent_from is not None and result.rows]
    if not measured:
        return nothing_svg("benchmark-scaling", "no time was measured against size")
    names = [_with_exponent(result) for result in measured]
    with new_plot("benchmark-scaling", 420, 300, ", ".join(names),
                  margins=(64, 24 + px_of(*names), 36, 52)) as plot:  # fmt: skip
        ax = plot.ax
        ax.set(xscale="log", yscale="log", xlabel="judgments", ylabel="seconds, ours")
        ax.grid(visible=True)
        for name, result, color in zip(names, measured, SERIES, strict=False):
            points = [(row.size, row.median("seconds")) for row in result.rows]
            ax.plot(*zip(*points, strict=True), "-o", color=color, linewidth=2)
            ax.annotate(name, points[-1], (12, 0), textcoords="offset pixels", va="center",
                        color=color, annotation_clip=False)  # fmt: skip
        for axis in (ax.xaxis, ax.yaxis):
            plain_log_ticks(axis)
        return plot.svg()


def _memory_ratio(result: Result, row: Row) -> float:
    """Memory over ours; below a megabyte both count as one."""
    own = result.first(row.size).median("megabytes")
    return max(row.median("megabytes"), 1.0) / max(own, 1.0)


def _with_exponent(result: Result) -> str:
    exponent = result.exponent()
    return f"{result.name}: size^{exponent[0]:.2f}" if exponent else result.name
