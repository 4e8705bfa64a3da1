"""How long judging takes, by the length of the source text."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from textwrap import fill

import numpy as np
import numpy.typing as npt

from annot_pipeline.errors import counted
from annot_pipeline.report.figures import base
from annot_pipeline.report.figures.plot import key_above, new_plot, nothing_svg
from annot_pipeline.report.figures.remembered import remembered

NOTHING = "nothing was timed by the length of its text"
MOST_TICKS = 6
"""Lengths that are written with their counts."""


@remembered
def seconds_by_length_svg(
    words: npt.ArrayLike,
    names: Sequence[object],
    seconds: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    y_label: str = "mean seconds per word of the source",
) -> str:
    """Draw seconds per comparison and ranking, over texts of so many words or fewer.

    Pighin et al. 2012, Fig. 3, left axis. Lengths add up, so neighbouring points share most of
    their texts. Under each length stands how many of each series were timed.

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
    y_label
        Of the vertical axis.

    Raises
    ------
    ValueError
        If shapes do not fit, seconds are negative, or there are too many series.
    """
    x, y, n = (
        base.numbers(words),
        np.atleast_2d(base.numbers(seconds)),
        np.atleast_2d(base.numbers(counts)),
    )
    if not y.size:
        return nothing_svg("seconds-by-length", NOTHING)
    if {y.shape, n.shape} != {(len(names), x.size)} or len(names) > base.MOST_CURVES:
        raise ValueError(
            f"{len(names)} names, at most {base.MOST_CURVES}, and {x.size} lengths, but seconds of "
            f"shape {y.shape}, counts of {n.shape}"
        )
    if (y < 0).any():
        raise ValueError(f"negative seconds: {y[y < 0][:5].tolist()}")
    order = np.argsort(x, kind="stable")
    x, y, n = x[order], y[:, order], np.nan_to_num(n[:, order])
    curves = [(name, row) for name, row in zip(names, y, strict=True) if not np.isnan(row).all()]
    if not curves:
        return nothing_svg("seconds-by-length", NOTHING)
    ends = ", ".join(f"{base.short(name)} {row[~np.isnan(row)][-1]:.3g}" for name, row in curves)
    description = f"{base.short(y_label)} at {counted(x.size, 'length')} of text, over all: {ends}"
    notes = [
        "Each point: texts of so many words or fewer. Under it: how many were timed, of "
        f"{' and '.join(base.short(name, 30) for name in names)}."
    ]
    margins = 76, 24, 22 + 18 * ceil(len(curves) / 2), 58 + 15 * len(names)
    with new_plot("seconds-by-length", 254, 240, description, notes=notes, margins=margins) as plot:
        ax = plot.ax
        for (name, row), look, color in zip(curves, base.LOOKS, base.SERIES, strict=False):
            ax.plot(
                x, row, look, color=color, linewidth=2, markersize=6, markeredgewidth=0,
                clip_on=False, gid="curve", label=base.key_name(name),
            )  # fmt: skip
        ax.grid(visible=True, axis="y")
        ax.set_ylabel(fill(base.short(y_label, 60), 36), gid="axis")
        ax.set_ylim(bottom=0)
        ticked = base.evenly(x.size, MOST_TICKS).tolist()
        ax.set_xticks(x[ticked], [f"{v:,.6g}" for v in x[ticked]])
        for row in range(len(names)):
            down = -(34 + 15 * row)
            for at in ticked:
                ax.annotate(
                    _brief(n[row, at]), (x[at], 0), (0, down), xycoords=("data", "axes fraction"),
                    textcoords="offset pixels", ha="center", fontsize=10, gid="count",
                )  # fmt: skip
        ax.set_xlabel("words of the source, at most", labelpad=8 + 15 * len(names))
        key_above(ax, 2)
        return plot.svg()


def _brief(n: float) -> str:
    """Return a count in at most six characters, so that neighbours do not touch."""
    for size, unit, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if n >= size:
            return f"{n / unit:.3g}{letter}"
    return f"{n:.0f}"
