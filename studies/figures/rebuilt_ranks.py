"""How well ranks are rebuilt from some comparisons of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import counted, px_of, short
from annot_pipeline.report.figures.scales import Numbers, beyond, numbers, round_up, steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, GREEN, SMALL, VERMILLION

KIND = "rebuilt-ranks"

WIDTH, HEIGHT, LEFT, TOP, GAP = 320.0, 200.0, 52.0, 52.0, 40.0
"""Of a plot, left of the first, above both, and between them, px."""

BIN, PITCH = 0.05, 40.0
"""Width of a bin, and from one share to the next, px."""


def rebuilt_ranks_svg(
    pearson: npt.ArrayLike,
    names: Sequence[object],
    right: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    paper_pearson: float | None = None,
    paper_right: float | None = None,
) -> str:
    """Draw a histogram of correlations, and the shares of inferred relations that are right.

    Parameters
    ----------
    pearson
        ``(n_rankings,)`` correlation of each ranking with the rebuilt one, in [-1, 1]; a value on
        an inner edge is in the bin above it, 1 in the last. What is missing counts in none.
    names
        ``(n_readings,)`` what is counted as a relation.
    right, low, high
        ``(n_readings,)`` shares in [0, 1], with 95% intervals.
    paper_pearson, paper_right
        Published values, drawn as lines.

    Raises
    ------
    ValueError
        If lengths differ, or a value lies outside its range.
    """
    r = numbers(pearson).ravel()
    share, lows, highs = numbers(right), numbers(low), numbers(high)
    if not len(names) == len(share) == len(lows) == len(highs):
        raise ValueError(f"{len(names)} names, {len(share)} shares, {len(lows)} intervals")
    if wrong := [*beyond(r, -1, 1)[:5], *beyond(share, 0, 1)[:5]]:
        raise ValueError(f"no correlations or shares: {wrong}")
    correlations = r[~np.isnan(r)]
    if not correlations.size:
        return nothing_svg(KIND, "no ranking has a correlation")
    words = [short(name, 30) for name in names]
    notes = ["Lines through the points: 95% intervals."] if len(names) else []
    if missing := int(r.size - correlations.size):
        notes.append(f"Without a correlation, for they tie all: {missing:,} of {r.size:,} rebuilt.")
    if paper_pearson is not None or paper_right is not None:
        notes.append("Upright lines: published values.")
    second = LEFT + WIDTH + GAP + px_of("", *words)
    bottom = TOP + HEIGHT
    description = (
        f"Correlations of {counted(correlations.size, 'ranking')} with rebuilt ones, mean "
        f"{correlations.mean():.3f}"
    )
    with new_sheet(KIND, second + WIDTH + 56, bottom + 52 + 16 * len(notes), description) as sheet:
        _histogram(sheet, correlations, paper_pearson)
        _shares(sheet, second, words, share, lows, highs, paper_right)
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _histogram(sheet: Sheet, r: Numbers, paper: float | None) -> None:
    n_bins = round(2 / BIN)
    edges = np.round(np.linspace(-1, 1, n_bins + 1), 9)
    counts = np.histogram(np.round(r, 9), edges)[0]
    start = min(int(np.flatnonzero(counts)[0]), n_bins // 2)  # from 0, or from the least
    shares = counts / r.size
    top = round_up(float(shares.max()))
    axes = sheet.axes(LEFT, TOP, WIDTH, HEIGHT, x=(float(edges[start]), 1.0), y=(0.0, top))
    sheet.ticks(axes, "y", *steps(0, top), grid=True)
    sheet.ticks(axes, "x", *steps(float(edges[start]), 1.0), grid=False)
    for position in range(start, n_bins):
        if counts[position]:
            x_left, up = sheet.at(axes, float(edges[position]), float(shares[position]))
            right, down = sheet.at(axes, float(edges[position + 1]), 0.0)
            tip = (
                f"{edges[position]:.2f} to {edges[position + 1]:.2f}: {100 * shares[position]:.1f}%"
            )
            box = (x_left + 0.5, up, right - x_left - 1, down - up)
            sheet.rectangles([box], (BLUE, 0.6), "bin", tip=tip)
    for value, color, part in ((float(r.mean()), GREEN, "mean"), (paper, VERMILLION, "paper")):
        if value is not None and edges[start] <= value <= 1:
            x, y = sheet.at(axes, value, 0.0)
            sheet.line([x, x], [TOP, y], color, part, width=1.5)
    sheet.text(12, 20, "share of rebuilt rankings", part="axis")
    mean = ("\u2758", GREEN, f"mean {r.mean():.3f}")
    sheet.key(12, 40, [mean, *([("\u2758", VERMILLION, f"paper {paper:g}")] if paper else [])])
    sheet.text(
        LEFT + WIDTH / 2, TOP + HEIGHT + 38, "Pearson's r, original and rebuilt", anchor="center"
    )


def _shares(
    sheet: Sheet, x_left: float, names: Sequence[str], share: Numbers, low: Numbers, high: Numbers,
    paper: float | None,
) -> None:  # fmt: skip
    axes = sheet.axes(x_left, TOP, WIDTH, HEIGHT, x=(0.0, 1.0), y=(HEIGHT, 0.0), lines="x")
    sheet.ticks(axes, "x", *steps(0, 1), grid=True)
    if paper is not None:
        x, _ = sheet.at(axes, paper, 0.0)
        sheet.line([x, x], [TOP, TOP + HEIGHT], VERMILLION, "paper", width=1.5)
        sheet.text(x, TOP - 6, f"paper {100 * paper:.1f}%", size=SMALL, anchor="center")
    pitch = min(PITCH, HEIGHT / max(len(names), 1))
    for row, name in enumerate(names):
        y = TOP + pitch * (row + 0.5)
        sheet.text(x_left - 10, y + 4, name, anchor="right", part="reading")
        if np.isnan(share[row]):
            sheet.text(x_left + 6, y + 4, "\u2013", size=SMALL, part="value")
            continue
        x, _ = sheet.at(axes, float(share[row]), 0.0)
        ends = [x, x]
        if low[row] <= high[row]:
            ends = [sheet.at(axes, float(end), 0.0)[0] for end in (low[row], high[row])]
            sheet.line(ends, [y, y], (BLUE, 0.6), "interval", width=3)
        sheet.points(np.array([x]), np.array([y]), BLUE, "share", size=8)
        text = f"{100 * share[row]:.1f}%"
        sheet.text(max(ends[1], x) + 8, y + 4, text, size=SMALL, part="value")
    sheet.text(
        x_left + WIDTH / 2, TOP + HEIGHT + 38, "inferred relations that are right", anchor="center"
    )
