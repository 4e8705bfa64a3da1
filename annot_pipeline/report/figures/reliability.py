"""How often labels are right, by the probability that models give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annot_pipeline.methods.labels.reliability import Reliability
from annot_pipeline.methods.numerics.wilson import wilson_interval
from annot_pipeline.report.figures.names import short
from annot_pipeline.report.figures.scales import steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import SERIES, SOFT, Color

KIND = "reliability"

SIDE, LEFT, TOP = 300.0, 62.0, 40.0
"""Of the square, and what is left and above, px."""
LARGEST, SMALLEST = 13.0, 4.0
"""Diameter of points, by the share of items in the bin, px."""


def reliability_svg(names: Sequence[object], curves: Sequence[Reliability]) -> str:
    """Draw the share of labels that are right against their mean probability, in bins.

    On the diagonal probabilities are frequencies; below it they are too high. Vertical lines are
    95% intervals, and points are larger where there are more items.

    Parameters
    ----------
    names, curves
        ``(n_models,)`` at most six.

    Raises
    ------
    ValueError
        Lengths differ, or too many models.
    """
    if len(names) != len(curves) or len(names) > len(SERIES):
        raise ValueError(f"{len(names)} names, {len(curves)} models, at most {len(SERIES)}")
    if not any(curve.n_items.sum() for curve in curves):
        return nothing_svg(KIND, "no label whose truth is known")
    description = "Share of labels that are right by their probability: " + ", ".join(
        f"{short(name)} is off by {curve.label_error:.3f} on average"
        for name, curve in zip(names, curves, strict=True)
    )
    with new_sheet(KIND, LEFT + SIDE + 30, TOP + SIDE + 74, description) as sheet:
        axes = sheet.axes(LEFT, TOP, SIDE, SIDE, x=(0, 1), y=(0, 1))
        for side in ("x", "y"):
            sheet.ticks(axes, side, *steps(0, 1), grid=True)
        (diagonal,) = axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle="--")
        sheet.part(diagonal, "diagonal")
        entries: list[tuple[str, Color, str]] = []
        for name, curve, color in zip(names, curves, SERIES, strict=False):
            entries.append(("●", color, short(name)))
            right = np.where(curve.n_items > 0, curve.accuracy * curve.n_items, 0).round()
            low, high = wilson_interval(right, curve.n_items)
            share = curve.n_items / curve.n_items.sum()
            for position in (curve.n_items > 0).nonzero()[0].tolist():
                x, y = curve.confidence[position], curve.accuracy[position]
                (interval,) = axes.plot(
                    [x, x], [low[position], high[position]], color=(color, 0.5), linewidth=1.5
                )
                sheet.part(interval, "interval")
                (point,) = axes.plot(
                    [x], [y], linestyle="none", marker="o", color=color, markeredgewidth=0,
                    markersize=SMALLEST + (LARGEST - SMALLEST) * share[position] ** 0.5,
                    clip_on=False,
                )  # fmt: skip
                n = int(curve.n_items[position])
                tip = f"{short(name)}: {n:,} labels of probability {x:.3f}, {y:.3f} right"
                sheet.part(point, "bin", tip)
        sheet.key(LEFT, TOP - 16, entries)
        sheet.text(LEFT + SIDE / 2, TOP + SIDE + 38, "mean probability", anchor="center")
        sheet.text(16, TOP + SIDE / 2, "share right", anchor="center", upright=True)
        sheet.note(TOP + SIDE + 60, ["Lines: 95% intervals. Larger points: more labels."])
        return sheet.svg()
