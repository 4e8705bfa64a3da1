"""What the control test of one judge compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import Numbers, evenly, numbers, padded, steps, written
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, INK, MOST_POINTS, SMALL, SOFT, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "judge-differences"

WIDTH, ROW, LEFT, TOP = 480, 84, 192, 36
"""Of the plot and of each of its rows, px."""

BAND = (34, 70)
"""Where the points of a row lie, px from its top."""

GOLDEN = 0.618_033_988_75
"""The fractional parts of its multiples fill a band evenly, however many there are."""


@dataclass(frozen=True)
class _Row:
    part: str
    name: str
    what: str
    color: str
    values: Numbers


def judge_differences_svg(
    ask_again: npt.ArrayLike, bad_reference: npt.ArrayLike, title: object
) -> str:
    """Return the two distributions that a judge's control test compares.

    Graham et al. 2013, Fig. 3. A point is a pair (its height within the row says nothing), the
    box holds the middle half and shows the median, the diamond is the mean. For a judge who
    works with care, d2 lies to the right of d1.

    Parameters
    ----------
    ask_again
        ``(n_repeats,)`` d1: distance between first and repeated score, points of the scale.
    bad_reference
        ``(n_copies,)`` d2: score of the output minus score of its degraded copy, points of the
        scale.
    title
        Of the figure, such as the judge.
    """
    d1, d2 = numbers(ask_again), numbers(bad_reference)
    rows = (
        _Row("ask_again", "d1", "|first − repeat|", BLUE, d1[~np.isnan(d1)]),  # noqa: RUF001
        _Row("bad_reference", "d2", "output − bad copy", VERMILLION, d2[~np.isnan(d2)]),  # noqa: RUF001
    )
    heading = short(title)
    everything = np.concatenate([row.values for row in rows])
    if not len(everything):
        return nothing_svg(KIND, f"no control pairs of {heading}")
    most = MOST_POINTS // 2
    notes = [
        f"{most:,} of {len(row.values):,} points of {row.name} drawn, evenly spread by value."
        for row in rows
        if len(row.values) > most
    ]
    ends = padded(min(everything.min(), 0.0), max(everything.max(), 0.0))
    bottom = TOP + 2 * ROW
    description = f"Differences of {heading}: " + ", ".join(
        f"{row.name} of {len(row.values):,} pairs" for row in rows
    )
    width = max(LEFT + WIDTH + 32, 24 + px_of(heading, size=15))
    with new_sheet(KIND, width, bottom + 52 + 16 * len(notes), description) as sheet:
        axes = sheet.axes(LEFT, TOP, WIDTH, 2 * ROW, x=ends, y=(2 * ROW, 0), lines="x")
        sheet.ticks(axes, "x", *steps(*ends), grid=True)
        zero, _ = sheet.at(axes, 0, 0)
        sheet.line([zero, zero], [TOP, bottom], SOFT, "zero")
        sheet.text(12, 22, heading, size=13, weight=700, part="title")
        for position, row in enumerate(rows):
            _draw(sheet, axes, row, position * ROW, most)
        sheet.text(
            LEFT + WIDTH / 2, bottom + 38, "difference of two scores, points of the scale",
            anchor="center",
        )  # fmt: skip
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _draw(sheet: Sheet, axes: Axes, row: _Row, top: float, most: int) -> None:
    """Draw points, box and mean of one row, which begins ``top`` px below the top of the plot."""
    first, last = top + BAND[0], top + BAND[1]
    middle = (first + last) / 2
    sheet.text(12, TOP + middle, row.name, weight=700, color=row.color)
    sheet.text(36, TOP + middle, row.what)
    sheet.text(36, TOP + middle + 16, f"n = {len(row.values):,}", size=SMALL, part="count")
    if not len(row.values):
        return
    ordered = np.sort(row.values)
    sample = ordered[evenly(len(ordered), most)]
    heights = first + 4 + (last - first - 8) * ((np.arange(len(sample)) + 0.5) * GOLDEN % 1)
    (points,) = axes.plot(
        sample, heights, linestyle="none", marker="o", markersize=5, markeredgewidth=0,
        color=(row.color, 0.75 if len(sample) <= 200 else 0.25), clip_on=False,
    )  # fmt: skip
    sheet.part(points, row.part)
    low, median, high = (
        sheet.at(axes, float(value), 0)[0] for value in np.percentile(ordered, (25, 50, 75))
    )
    sheet.rectangles([(low, TOP + first, high - low, last - first)], "none", "box", edge=(INK, 0.6))
    sheet.line([median, median], [TOP + first, TOP + last], (INK, 0.7), "median", width=2)
    mean = float(ordered.mean())
    (diamond,) = axes.plot(
        [mean], [middle], marker="D", markersize=9, color=row.color, markeredgecolor=INK,
        markeredgewidth=1.2, clip_on=False,
    )  # fmt: skip
    sheet.part(diamond, "mean")
    x, y = sheet.at(axes, mean, first)
    sheet.text(
        x,
        y - 7,
        f"mean {written(mean, '.4g')}",
        size=SMALL,
        anchor="center",
        part="mean-value",
    )
