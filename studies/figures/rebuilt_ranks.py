"""How well ranks are rebuilt from some comparisons of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import (
    BLUE,
    GREEN,
    VERMILLION,
    beyond,
    numbers,
    px_of,
    short,
)
from annot_pipeline.report.figures.plot import (
    key_above,
    name_ticks,
    new_plot,
    nothing_svg,
    text_at_right,
)

BIN = 0.05
"""Width of a bin."""


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
        return nothing_svg("rebuilt-ranks", "no ranking has a correlation")
    words = [short(name, 30) for name in names]
    notes = ["Lines through the points: 95% intervals."] if words else []
    if missing := int(r.size - correlations.size):
        notes.append(f"Without a correlation, for they tie all: {missing:,} of {r.size:,} rebuilt.")
    description = (
        f"Correlations of {counted(correlations.size, 'ranking')} with rebuilt ones, mean "
        f"{correlations.mean():.3f}"
    )
    with new_plot("rebuilt-ranks", 320, 200, description, margins=(72, 60, 40, 52), across=2,
                  gaps=(40 + px_of("", *words), 0), notes=notes) as plot:  # fmt: skip
        histogram, ax = plot.panels[0]
        edges = np.round(np.linspace(-1, 1, round(2 / BIN) + 1), 9)
        counts = np.histogram(np.round(correlations, 9), edges)[0]
        start = min(int(np.flatnonzero(counts)[0]), len(counts) // 2)  # from 0, or the least
        histogram.bar(
            edges[start:-1], counts[start:] / r.size, 0.9 * BIN, align="edge", color=(BLUE, 0.6),
            gid="bins",
        )  # fmt: skip
        histogram.set(xlim=(edges[start], 1), xlabel="Pearson's r, original and rebuilt",
                 ylabel="share of rebuilt rankings")  # fmt: skip
        mean = float(correlations.mean())
        histogram.axvline(mean, color=GREEN, label=f"mean {mean:.3f}", gid="mean")
        if paper_pearson is not None:
            histogram.axvline(
                paper_pearson, color=VERMILLION, label=f"paper {paper_pearson:g}", gid="paper"
            )
        key_above(histogram, 2)
        rows, is_known = np.arange(len(words)), ~np.isnan(share)
        has_interval = is_known & (lows <= highs)
        ax.set(xlim=(0, 1), ylim=(max(len(words), 4) - 0.5, -0.5),
               xlabel="inferred relations that are right")  # fmt: skip
        ax.set_yticks(rows, words)
        name_ticks(ax, "y", "reading")
        ax.grid(visible=True, axis="x")
        ax.hlines(rows[has_interval], lows[has_interval], highs[has_interval], color=(BLUE, 0.6),
                  linewidth=3, gid="interval")  # fmt: skip
        ax.plot(share[is_known], rows[is_known], "o", color=BLUE, clip_on=False, gid="share")
        for row, value in enumerate(share.tolist()):
            text_at_right(ax, row, "\u2013" if np.isnan(value) else f"{100 * value:.1f}%", "value")
        if paper_right is not None:
            ax.axvline(
                paper_right, color=VERMILLION, label=f"paper {100 * paper_right:.1f}%", gid="paper"
            )
            key_above(ax, 1)
        return plot.svg()
