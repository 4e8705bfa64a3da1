"""How the fits of the label model ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from annot_pipeline.report.figures.names import counted, px_of, short
from annot_pipeline.report.figures.scales import Numbers, evenly, numbers, power_of_ten, steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, MOST_POINTS, SERIES, VERMILLION, Color

FLOOR = 1e-9
"""Smallest gap that is drawn, nats."""

FEW = 4
"""Tasks that each have a colour and a label."""

MOST_TASKS = 500
"""Lines that are drawn; of more tasks, those that took longest."""

KIND = "convergence"


@dataclass(frozen=True)
class _Curve:
    task: object
    converged: bool
    gap: Numbers  # (iterations,), nats

    @property
    def label(self) -> str:
        ended = "" if self.converged else ", not converged"
        return f"{short(self.task)}: {counted(len(self.gap), 'iteration')}{ended}"


def convergence_svg(fits: Sequence[Mapping[str, Any]]) -> str:
    """Draw the gap of the log posterior to its final value by iteration, one line per task.

    Up to four tasks have a colour each and a label. Of more, the one that took longest is
    labelled, and up to four that did not converge.

    Parameters
    ----------
    fits
        Rows of ``label_fits``: ``task``, ``trace`` (log posterior by iteration, nats) and, if
        known, ``converged``.
    """
    curves = [curve for fit in fits if len((curve := _curve(fit)).gap)]
    if not curves:
        return nothing_svg(KIND, "no fit made an iteration")
    longest_first = sorted(range(len(curves)), key=lambda n: (-len(curves[n].gap), n))
    rows = sorted(longest_first[:MOST_TASKS])
    longest = len(curves[longest_first[0]].gap)
    labelled = _labelled(curves, longest_first)

    notes = []
    if len(rows) < len(curves):
        notes.append(f"{len(rows):,} of {len(curves):,} tasks drawn, those that took longest.")
    most = max(2, MOST_POINTS // len(rows))
    if longest > most:
        notes.append(f"At most {most:,} iterations of a task are drawn, evenly spread.")
    gaps = np.concatenate([curves[n].gap for n in rows])
    top, bottom = ceil(log10(gaps.max())), floor(log10(gaps.min()))
    bottom = min(bottom, top - 1)
    x_left, plot_width, plot_height = 56, 460, 260
    right = max(
        x_left + plot_width * len(curves[n].gap) / longest + px_of(curves[n].label)
        for n in labelled
    )
    description = (
        "Gap of the log posterior to its final value by iteration: "
        f"{counted(len(curves), 'task')}, up to {counted(longest, 'iteration')}"
    )
    height = plot_height + 84 + 16 * len(notes)
    with new_sheet(KIND, max(right, x_left + plot_width) + 24, height, description) as sheet:
        axes = sheet.axes(
            x_left, 36, plot_width, plot_height,
            x=(0, max(longest - 1, 1)), y=(10.0**bottom, 10.0**top), log="y",
        )  # fmt: skip
        decades = range(bottom, top + 1, ceil((top - bottom) / 7))
        sheet.ticks(
            axes, "y", [10.0**d for d in decades], [power_of_ten(d) for d in decades], grid=True
        )
        whole = [v for v in steps(0, max(longest - 1, 1), 8)[0] if v == int(v)]
        sheet.ticks(axes, "x", whole, [f"{int(v):,}" for v in whole], grid=False)
        sheet.text(12, 20, "gap of the log posterior to its final value, nats (log scale)")
        sheet.text(x_left + plot_width / 2, plot_height + 72, "iteration", anchor="center")
        lines = []
        for n in sorted(rows, key=lambda n: (n in labelled, n)):
            gap, color = curves[n].gap, labelled.get(n, (BLUE, 0.5))
            points = evenly(len(gap), most)
            (line,) = axes.plot(
                points, gap[points], color=color, linewidth=2 if n in labelled else 1.2,
                marker="o" if len(gap) == 1 else "", markersize=5, clip_on=False,
            )  # fmt: skip
            sheet.part(line, "task", curves[n].label)
            if n in labelled:
                path = [
                    sheet.at(axes, position, float(gap[position])) for position in points.tolist()
                ]
                lines.append((path, curves[n].label, labelled[n]))
        _label(sheet, lines, plot_height + 32)
        sheet.note(plot_height + 96, notes)
        return sheet.svg()


def _curve(fit: Mapping[str, Any]) -> _Curve:
    values = fit.get("trace")
    trace = numbers([] if values is None else values)
    trace = trace[~np.isnan(trace)]
    gap = np.maximum(trace[-1:] - trace[:-1], FLOOR)
    return _Curve(fit.get("task"), fit.get("converged") is not False, gap)


def _labelled(curves: Sequence[_Curve], longest_first: Sequence[int]) -> dict[int, Color]:
    """Return the tasks that are labelled, and their colours."""
    if len(curves) <= FEW:
        return dict(zip(range(len(curves)), SERIES, strict=False))
    unfinished = [n for n in longest_first if not curves[n].converged][:FEW]
    colors: dict[int, Color] = {longest_first[0]: BLUE}
    return colors | dict.fromkeys(unfinished, VERMILLION)


def _label(
    sheet: Sheet, lines: Sequence[tuple[Sequence[tuple[float, float]], str, Color]], lowest: float
) -> None:
    """Write labels to the right of the ends of lines, moved where they would overlap.

    Parameters
    ----------
    lines
        Points, px, label and colour of each.
    lowest
        Where the middle of a label may lie, px.
    """
    points = [point for path, *_ in lines for point in _dense(path)]
    placed: list[tuple[float, float, float]] = []
    for path, text, color in sorted(lines, key=lambda line: -line[0][-1][0]):
        (x, y), start, end = path[-1], path[-1][0] + 8, path[-1][0] + 8 + px_of(text)
        moves = (y + 16 * move for move in (0, 1, 2, 3, 4, 5, -1, -2, -3, -4, -5))
        free = [
            middle
            for middle in moves
            if 36 <= middle <= lowest
            and not any(start < px < end and abs(py - middle) < 8 for px, py in points)
            and not any(
                placed_start < end and start < placed_end and abs(other - middle) < 15
                for placed_start, placed_end, other in placed
            )
        ]
        middle = free[0] if free else y
        if middle != y:
            sheet.line([x + 1, start - 2], [y, middle], color, "leader")
        sheet.text(start, middle + 4, text, part="label")
        placed.append((start, end, middle))


def _dense(path: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield points of a line, px, so many that none is further than a few pixels from the next."""
    for (x, y), (right, down) in pairwise(path):
        n = 1 + int(max(abs(right - x), abs(down - y)) / 6)
        for step in range(n):
            yield x + (right - x) * step / n, y + (down - y) * step / n
