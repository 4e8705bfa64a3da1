"""How much an outcome changes what is believed: small plots side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from annot_pipeline.report.figures.base import MOST_CURVES, SMALL, short
from annot_pipeline.report.figures.plot import new_plot, nothing_svg
from studies.figures.curve_notes import draw_zero, notes_on
from studies.figures.curves import Curve, draw_curves

MOST_PANELS = 12


def surprisal_svg(panels: Sequence[tuple[object, object, Sequence[Curve]]]) -> str:
    """Draw the surprisal of an outcome, in a grid of small plots.

    Sakaguchi & Van Durme 2018: Fig. 2, v and w of a win and of a tie against t; Fig. 3, 1 - p
    of a win and of a tie against the difference D. Each panel has a y axis of its own, with 0,
    where nothing is learned, on it.

    Parameters
    ----------
    panels
        Title, label of the x axis, and up to six curves, such as one for each epsilon.

    Raises
    ------
    ValueError
        If lengths of a curve differ.
    """
    grid = [
        (short(title, 36), short(x_label, 40), [c for c in curves[:MOST_CURVES] if c.is_drawn])
        for title, x_label, curves in panels[:MOST_PANELS]
    ]
    if not any(curves for *_, curves in grid):
        return nothing_svg("surprisal", "no curve has a point")
    notes: list[str] = []
    for (name, *_), (*_, curves) in zip(grid, panels, strict=False):
        notes += notes_on(curves[:MOST_CURVES], f" in {name}")
        if len(curves) > MOST_CURVES:
            notes.append(f"The first {MOST_CURVES} of {len(curves):,} curves are drawn in {name}.")
    if len(grid) < len(panels):
        notes.append(f"The first {len(grid)} of {len(panels)} panels are drawn.")
    across = min(len(grid), 2 if len(grid) <= 4 else 3)
    description = "Surprisal of outcomes: " + ", ".join(name for name, *_ in grid)
    with new_plot(
        "surprisal", 780 / max(across, 2), 190, description, margins=(64, 24, 32, 52),
        across=across, down=ceil(len(grid) / across), gaps=(60, 84), notes=notes,
    ) as plot:  # fmt: skip
        for ax in plot.panels.flat[len(grid) :]:
            ax.set_axis_off()
        for (name, x_label, curves), ax in zip(grid, plot.panels.flat, strict=False):
            ax.set_title(name, gid="panel")
            ax.set_xlabel(x_label)
            if not curves:
                ax.text(0.5, 0.5, "no values", ha="center", transform=ax.transAxes)
                continue
            draw_curves(ax, curves)
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, 0), max(high, 0))
            draw_zero(ax)
            ax.legend(loc="best", fontsize=SMALL)
        return plot.svg()
