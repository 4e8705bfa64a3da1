"""How the scores of each method are spread, beside those of the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import bold_columns_in, counted, px_of, short
from annot_pipeline.report.figures.scales import Numbers, beyond, numbers, round_up, steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import GREY, INK, SERIES, SMALL, SOFT, Color

KIND = "score-histograms"

MOST_PANELS, MOST_BINS = 12, 100

ACROSS, WIDTH, HEIGHT = 4, 186, 170
"""Panels in a row, and the plot of a panel, px."""

LEFT, GAP, FOOT = 52, 40, 34
"""Left of a row, between two panels, and below a plot, px."""


@dataclass(frozen=True)
class _Histogram:
    name: str
    counts: npt.NDArray[np.int64]  # (bins,)
    n_missing: int

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def shares(self) -> Numbers:
        return self.counts / max(self.n, 1)


def score_histograms_svg(
    histograms: Sequence[tuple[object, npt.ArrayLike]],
    *,
    bins: int = 5,
    x_label: str,
    title: object = None,
) -> str:
    """Draw histograms of scores on one scale, one panel per method.

    Sakaguchi & Van Durme 2018, Figs. 7 and 10. The first one, the oracle, is grey, and its
    outline is in every other panel: a method that finds only part of the range shows at once.

    Parameters
    ----------
    histograms
        Name and ``(n_items,)`` scores in [0, 1], the oracle's first; what is missing counts
        in no bin.
    bins
        Of equal width. A score on an inner edge is in the bin above it, 1 in the last.
    x_label
        Such as "score".
    title
        Of the figure.

    Raises
    ------
    ValueError
        If a score lies outside [0, 1], or ``bins`` outside 1 to 100.
    """
    if not 1 <= bins <= MOST_BINS:
        raise ValueError(f"{bins} bins: 1 to {MOST_BINS} can be drawn")
    panels = [_histogram(name, values, bins) for name, values in histograms]
    if not any(histogram.n for histogram in panels):
        return nothing_svg(KIND, "no method has a score")
    plots = panels[:MOST_PANELS]
    notes = [
        f"Without a score: {counted(histogram.n_missing, 'item')} of {histogram.name}."
        for histogram in plots
        if histogram.n_missing
    ]
    if len(plots) < len(panels):
        notes.append(f"The first {len(plots)} of {len(panels)} methods are drawn.")

    oracle = plots[0] if plots[0].n and len(plots) > 1 else None
    heading = "" if title is None else short(title, 60)
    head = 24 if heading else 0
    first_top = head + 72
    down, across = ceil(len(plots) / ACROSS), min(len(plots), ACROSS)
    pitch = HEIGHT + FOOT + 52
    bottom = first_top + (down - 1) * pitch + HEIGHT + FOOT
    end = round_up(max(float(histogram.shares.max()) for histogram in plots))
    width = max(LEFT + across * (WIDTH + GAP), 480, 24 + px_of("", *notes, size=SMALL))
    description = f"Histograms of {short(x_label)} in {counted(bins, 'bin')}: " + ", ".join(
        histogram.name for histogram in plots
    )
    with new_sheet(KIND, width, bottom + 20 + 16 * len(notes), description) as sheet:
        sheet.text(12, 20, heading, size=13, weight=700, part="title")
        sheet.text(12, head + 20, "share of items, %", part="axis")
        if oracle is not None:
            _key(sheet, LEFT + 110, head + 16, oracle.name)
        for position, histogram in enumerate(plots):
            x_left = LEFT + position % ACROSS * (WIDTH + GAP)
            top = first_top + position // ACROSS * pitch
            color = SERIES[(position - 1) % len(SERIES)] if position else GREY
            _draw(sheet, (x_left, top), end, histogram, color, oracle if position else None)
        middle = LEFT + (across * (WIDTH + GAP) - GAP) / 2
        sheet.text(middle, bottom + 6, short(x_label, 60), anchor="center", part="axis")
        sheet.note(bottom + 28, notes)
        return sheet.svg()


def _histogram(name: object, values: npt.ArrayLike, bins: int) -> _Histogram:
    if wrong := beyond(values, 0, 1):
        raise ValueError(
            f"histogram {short(name)}: {len(wrong)} scores outside [0, 1]: {wrong[:5]}"
        )
    score = numbers(values).ravel()
    defined = score[~np.isnan(score)]
    codes = np.floor((defined * bins).round(9)).astype(np.int64)  # .29 * 100 is 28.999...
    counts = np.bincount(np.clip(codes, 0, bins - 1), minlength=bins)
    return _Histogram(short(name), counts, len(score) - len(defined))


def _draw(
    sheet: Sheet,
    corner: tuple[float, float],
    end: float,
    histogram: _Histogram,
    color: Color,
    oracle: _Histogram | None,
) -> None:
    x_left, top = corner
    bins = len(histogram.counts)
    axes = sheet.axes(x_left, top, WIDTH, HEIGHT, x=(0, 1), y=(0, end), lines="x")
    levels, _ = steps(0, end, 5)
    percents = [f"{100 * level:g}" for level in levels] if x_left == LEFT else [""] * len(levels)
    sheet.ticks(axes, "y", levels, percents, grid=True)
    sheet.ticks(axes, "x", *steps(0, 1, 5), grid=False)
    name = short(histogram.name, bold_columns_in(WIDTH))
    sheet.text(x_left, top - 24, name, weight=700, part="panel")
    sheet.text(x_left, top - 9, f"n = {histogram.n:,}", size=SMALL, part="count")
    gap = 2 if bins <= 25 else 0
    for position, (count, share) in enumerate(
        zip(histogram.counts.tolist(), histogram.shares.tolist(), strict=True)
    ):
        x, y = sheet.at(axes, position / bins, share)
        if count:
            box = (x + gap / 2, y, WIDTH / bins - gap, top + HEIGHT - y)
            ends = f"{position / bins:.3g} to {(position + 1) / bins:.3g}"
            tip = f"{name}, {ends}: {100 * share:.1f}%, n = {count:,}"
            sheet.rectangles([box], color, "bar", tip=tip)
    if not histogram.n:
        sheet.text(x_left + WIDTH / 2, top + HEIGHT / 2, "no scores", color=SOFT, anchor="center")
    if oracle is not None:
        right = np.repeat(np.arange(bins + 1) / bins, 2)
        up = np.concatenate([[0.0], np.repeat(oracle.shares, 2), [0.0]])
        xs, ys = zip(
            *(sheet.at(axes, *point) for point in zip(right, up, strict=True)), strict=True
        )
        sheet.line(xs, ys, INK, "outline", width=1.5)


def _key(sheet: Sheet, x: float, y: float, name: str) -> None:
    right = [x, x, x + 7, x + 7, x + 14, x + 14, x + 21, x + 21]
    down = [y + 5, y, y, y - 6, y - 6, y - 2, y - 2, y + 5]
    sheet.line(right, down, INK, "key-line", width=1.5)
    sheet.text(x + 29, y + 4, f"outline: {name}", part="key")
