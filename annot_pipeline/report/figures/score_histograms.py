"""How the scores of each method are spread, beside those of the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import GREY, INK, SERIES, SMALL, beyond, numbers, short
from annot_pipeline.report.figures.plot import new_plot, nothing_svg
from annot_pipeline.report.figures.remembered import remembered

MOST_PANELS, MOST_BINS, ACROSS = 12, 100, 2


@remembered
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
    names = [short(name, 16) for name, _ in histograms]
    counts, missing = [], []
    for name, (_, values) in zip(names, histograms, strict=True):
        if wrong := beyond(values, 0, 1):
            raise ValueError(f"histogram {name}: {len(wrong)} scores outside [0, 1]: {wrong[:5]}")
        score = numbers(values).ravel()
        codes = np.floor((score[~np.isnan(score)] * bins).round(9))  # .29 * 100 is 28.999...
        counts.append(np.bincount(codes.clip(0, bins - 1).astype(int), minlength=bins))
        missing.append(int(np.isnan(score).sum()))
    if not any(count.sum() for count in counts):
        return nothing_svg("score-histograms", "no method has a score")
    n = min(len(names), MOST_PANELS)
    notes = [
        f"Without a score: {counted(without, 'item')} of {name}."
        for name, without in zip(names[:n], missing, strict=False)
        if without
    ]
    outline = f" Outline: {names[0]}." if n > 1 else ""
    notes.insert(0, f"From left to right: {short(x_label)}.{outline}")
    if n < len(names):
        notes.append(f"The first {n} of {len(names)} methods are drawn.")
    description = f"Histograms of {short(x_label)} in {counted(bins, 'bin')}: "
    with new_plot(
        "score-histograms", 266 if n == 1 else 117, 150, description + ", ".join(names[:n]),
        notes=notes, margins=(64, 24, 76 if title else 50, 52),
        across=min(n, ACROSS), down=ceil(n / ACROSS), gaps=(32, 92),
    ) as plot:  # fmt: skip
        if title is not None:
            plot.figure.suptitle(short(title, 60), x=0.02, ha="left", fontsize=13, gid="title")
        tallest = max((count / max(count.sum(), 1)).max() for count in counts[:n])
        edges = np.arange(bins + 1) / bins
        for position, ax in enumerate(plot.panels.flat):
            if position >= n:
                ax.set_axis_off()
                continue
            share = counts[position] / max(counts[position].sum(), 1)
            color = SERIES[(position - 1) % len(SERIES)] if position else GREY
            ax.bar(edges[:-1], 100 * share, 0.95 / bins, color=color, align="edge", gid="bars")
            if position and counts[0].any():
                ax.stairs(100 * counts[0] / counts[0].sum(), edges, color=INK, gid="outline")
            ax.set(xlim=(0, 1), ylim=(0, 105 * tallest))
            ax.grid(visible=True, axis="y")
            ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
            ax.set_title(names[position], pad=18, gid="panel")
            ax.text(0, 1.03, f"n = {counts[position].sum():,}", transform=ax.transAxes,
                    fontsize=SMALL, gid="count")  # fmt: skip
            if position % ACROSS == 0:
                ax.set_ylabel("share of items, %")
        return plot.svg()
