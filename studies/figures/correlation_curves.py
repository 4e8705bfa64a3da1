"""How well scores correlate with the oracle, by what was spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import MOST_CURVES, SMALL, beyond, numbers, px_of, short
from annot_pipeline.report.figures.plot import new_plot, nothing_svg
from studies.figures.curve_notes import draw_zero, notes_on
from studies.figures.curves import Curve, draw_curves


def correlation_curves_svg(
    curves: Sequence[Curve], *, x_label: str, y_label: str, title: object = None
) -> str:
    """Draw correlation with the oracle against judgments or iterations, one line per method.

    Sakaguchi & Van Durme 2018, Figs. 6, 9 and 11. The bands are 95% intervals. Lines differ in
    colour, dashes and markers, and are named at the right, in the order in which they end.

    Parameters
    ----------
    curves
        Up to six are drawn: x in the unit of ``x_label``, y a correlation. Band ends beyond
        -1 and 1 are drawn at -1 and 1.
    x_label, y_label
        Of the axes, such as "judgments per item" and "Spearman's rho".
    title
        Of the figure.

    Raises
    ------
    ValueError
        If lengths differ, or a y lies beyond [-1, 1].
    """
    for curve in curves:
        if wrong := beyond(curve.y, -1, 1):
            raise ValueError(
                f"curve {short(curve.name)}: {len(wrong)} values beyond [-1, 1] are no "
                f"correlations: {wrong[:5]}"
            )
    first = curves[:MOST_CURVES]
    notes = [*notes_on(first)]
    lines = sorted((_clipped(c) for c in first if c.is_drawn), key=lambda c: -c.last)
    if not lines:
        return nothing_svg("correlation-curves", "no method has a correlation")
    if any(np.less_equal(low, high).any() for _, _, low, high in (c.points() for c in lines)):
        notes.insert(0, "Shaded: 95% intervals.")
    if len(first) < len(curves):
        notes.append(f"The first {len(first)} of {len(curves):,} methods are drawn.")
    ends = ", ".join(f"{short(line.name)} {line.last:.2f}" for line in lines)
    description = f"{short(y_label)} of {counted(len(lines), 'method')}, at the end: {ends}"
    margins = 64, 90 + px_of(*(short(line.name) for line in lines)), 36, 52
    with new_plot("correlation-curves", 460, 280, description, margins=margins,
                  notes=notes) as plot:  # fmt: skip
        ax = plot.ax
        draw_curves(ax, lines)
        draw_zero(ax)
        ax.set(xlabel=short(x_label, 60), ylabel=short(y_label, 48))
        ax.set_title("" if title is None else short(title, 60), gid="title")
        ax.legend(loc="upper left", bbox_to_anchor=(1.03, 1), fontsize=SMALL, handlelength=3.5)
        return plot.svg()


def _clipped(curve: Curve) -> Curve:
    ends = (None if v is None else np.clip(numbers(v), -1, 1) for v in (curve.low, curve.high))
    return replace(curve, low=next(ends), high=next(ends))
