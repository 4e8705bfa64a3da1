"""What the control test of one judge compares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import BLUE, INK, SMALL, VERMILLION, evenly, numbers, short
from annot_pipeline.report.figures.plot import nothing_svg, row_plot
from annot_pipeline.report.figures.remembered import remembered

MOST_PAIRS = 80
"""Points of each distribution that are drawn: each is an element of the page."""

GOLDEN = 0.618_033_988_75
"""The fractional parts of its multiples fill a band evenly, however many there are."""


@remembered
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
    heading, most = short(title), MOST_PAIRS
    d1, d2 = (np.round(v[~np.isnan(v)], 9) for v in map(numbers, (ask_again, bad_reference)))
    if not d1.size + d2.size:
        return nothing_svg("judge-differences", f"no control pairs of {heading}")
    notes = [
        f"{most:,} of {values.size:,} points of {name} drawn, evenly spread by value."
        for name, values in (("d1", d1), ("d2", d2))
        if values.size > most
    ]
    notes.insert(0, "d1: distance of first and repeat. d2: output less its bad copy.")
    with row_plot(
        "judge-differences", [f"d1, n = {d1.size:,}", f"d2, n = {d2.size:,}"],
        f"Differences of {heading}: d1 of {d1.size:,} pairs, d2 of {d2.size:,} pairs",
        pitch=84, top=36,
        x_label="difference of two scores, points", notes=notes, part="count",
    ) as plot:  # fmt: skip
        ax = plot.ax
        ax.use_sticky_edges = False
        ax.set_title(heading, gid="title")
        ax.axvline(0, color=(INK, 0.4), linewidth=1)
        for row, (values, color) in enumerate(((d1, BLUE), (d2, VERMILLION))):
            if not values.size:
                continue
            points = np.sort(values)[evenly(values.size, most)]
            heights = row - 0.2 + 0.5 * (np.arange(points.size) * GOLDEN % 1)
            pale = (color, 0.75)
            ax.plot(points, heights, "o", color=pale, markersize=5, markeredgewidth=0, gid="pair")
            low, median, high = np.percentile(values, (25, 50, 75))
            ax.barh(row + 0.05, high - low, 0.5, low, color="none", edgecolor=(INK, 0.6))
            ax.vlines(median, row - 0.2, row + 0.3, color=(INK, 0.7), linewidth=2)
            mean = float(values.mean())
            ax.plot([mean], [row + 0.05], "D", color=color, markeredgecolor=INK, gid="mean")
            words = f"mean {mean:.4g}".replace("-", "\u2212")
            ax.text(mean, row - 0.26, words, ha="center", fontsize=SMALL, gid="mean-value")
        if not (d1.any() or d2.any()):
            ax.set_xlim(-1, 1)  # or steps of the axis would be of rounding
        return plot.svg()
