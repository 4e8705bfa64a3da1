"""How long judging takes, by the length of the source text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.curves import (
    STYLES,
    Curve,
    Line,
    draw_lines,
    ends_of,
    lines_of,
    sample,
    sample_width,
)
from annot_pipeline.report.figures.names import counted, short
from annot_pipeline.report.figures.scales import Numbers, evenly, numbers, steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import SMALL

KIND = "seconds-by-length"

WIDTH, HEIGHT, LEFT, TOP = 460, 260, 64, 38
"""Of the plot, px."""

MOST_TICKS, PITCH = 10, 18
"""Lengths that are written with their counts, and from one row of these to the next, px."""


def seconds_by_length_svg(
    words: npt.ArrayLike,
    names: Sequence[object],
    seconds: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
    y_label: str = "mean seconds per word of the source",
) -> str:
    """Draw seconds per comparison and ranking, over texts of so many words or fewer.

    Pighin et al. 2012, Fig. 3, left axis. Lengths add up, so neighbouring points share most of
    their texts. Under the axis stands how many were timed.

    Parameters
    ----------
    words
        ``(n_points,)`` most words of the source text.
    names
        ``(n_series,)`` what was timed, such as "one comparison"; up to six.
    seconds
        ``(n_series, n_points)`` in the unit of ``y_label``; what is missing is a gap.
    counts
        ``(n_series, n_points)`` how many each point is the mean of.
    low, high
        ``(n_series, n_points)`` ends of the 95% intervals; None, all or some, where there are none.
    y_label
        Of the vertical axis.

    Raises
    ------
    ValueError
        If shapes do not fit, seconds are negative, or there are too many series.
    """
    x, y, n = numbers(words), np.atleast_2d(numbers(seconds)), np.atleast_2d(numbers(counts))
    none = np.full(y.shape, np.nan)
    ends = [none if e is None else np.atleast_2d(numbers(e)) for e in (low, high)]
    if y.size == 0:
        return nothing_svg(KIND, "nothing was timed by the length of its text")
    if {y.shape, n.shape, *(e.shape for e in ends)} != {(len(names), x.size)}:
        raise ValueError(
            f"{len(names)} names and {x.size} lengths, but seconds of shape {y.shape}, counts "
            f"of {n.shape}, intervals of {ends[0].shape} and {ends[1].shape}"
        )
    if len(names) > len(STYLES):
        raise ValueError(f"{len(names)} series, more than {len(STYLES)}")
    if (y < 0).any():
        raise ValueError(f"negative seconds: {y[y < 0][:5].tolist()}")
    order = np.argsort(x, kind="stable")
    order = order[~np.isnan(x[order])]
    x, y, n = x[order], y[:, order], n[:, order]
    curves = [
        Curve(name, x, row, lo[order], hi[order])
        for name, row, lo, hi in zip(names, y, *ends, strict=True)
    ]
    lines = lines_of(curves)
    if not any(line.is_drawn.any() for line in lines):
        return nothing_svg(KIND, "nothing was timed by the length of its text")
    return _draw_svg(lines, x, n, y_label)


def _draw_svg(lines: Sequence[Line], x: Numbers, counts: Numbers, y_label: str) -> str:
    notes = ["Each point: texts of so many words or fewer."]
    if any(line.banded.any() for line in lines):
        notes.append("Shaded: 95% intervals.")
    curves = [line for line in lines if line.is_drawn.any()]
    x_ends, (_, most) = ends_of(curves)
    bottom = TOP + HEIGHT
    rows = bottom + 62
    width = LEFT + WIDTH + 20 + max(map(sample_width, lines)) + 12
    foot = rows + PITCH * len(lines) + 6
    with new_sheet(KIND, width, foot + 16 * len(notes), _description(lines, x, y_label)) as sheet:
        axes = sheet.axes(LEFT, TOP, WIDTH, HEIGHT, x=x_ends, y=(0.0, max(most, 1e-9)))
        sheet.ticks(axes, "y", *steps(*axes.get_ylim(), 8), grid=True)
        ticked = evenly(x.size, MOST_TICKS)
        labels = [f"{value:,.6g}" for value in x[ticked].tolist()]
        sheet.ticks(axes, "x", x[ticked].tolist(), labels, grid=False)
        sheet.text(12, 20, short(y_label, 60), part="axis")
        sheet.text(LEFT + WIDTH / 2, bottom + 38, "words of the source, at most", anchor="center")
        draw_lines(sheet, axes, curves)
        sheet.text(LEFT - 8, rows + 4, "n", size=SMALL, anchor="right", part="axis")
        for row, line in enumerate(lines):
            y = rows + PITCH * row
            for position in ticked.tolist():
                at, _ = sheet.at(axes, x[position], 0.0)
                n = counts[row, position]
                text = "0" if np.isnan(n) else _brief(n)
                sheet.text(at, y + 4, text, size=10, anchor="center", part="count")
            sample(sheet, LEFT + WIDTH + 20, y, line, "label")
        sheet.note(foot + 6, notes)
        return sheet.svg()


def _brief(n: float) -> str:
    """Return a count in at most six characters, so that neighbours do not touch."""
    for size, letter in ((1e6, "M"), (1e4, "k")):
        if n >= size:
            return f"{n / (1e3 if letter == 'k' else 1e6):.3g}{letter}"
    return f"{n:.0f}"


def _description(lines: Sequence[Line], x: Numbers, y_label: str) -> str:
    ends = ", ".join(f"{line.name} {line.last:.3g}" for line in lines if line.is_drawn.any())
    return f"{short(y_label)} at {counted(x.size, 'length')} of text, over all: {ends}"
