"""How often labels are right, by the probability that models give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annot_pipeline.methods.labels.reliability import Reliability
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.report.figures.base import INK, SERIES, key_name, short
from annot_pipeline.report.figures.plot import key_above, new_plot, nothing_svg
from annot_pipeline.report.figures.remembered import remembered


@remembered
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
        return nothing_svg("reliability", "no label whose truth is known")
    description = "Share of labels that are right by their probability: " + ", ".join(
        f"{short(name)} is off by {curve.label_error:.3f} on average"
        for name, curve in zip(names, curves, strict=True)
    )
    notes = ["Lines: 95% intervals. Larger points: more labels."]
    with new_plot("reliability", 266, 260, description, notes=notes) as plot:
        ax = plot.ax
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="mean probability", ylabel="share right")
        ax.grid(visible=True)
        ax.plot([0, 1], [0, 1], color=(INK, 0.4), linewidth=1, linestyle="--")
        for name, curve, color in zip(names, curves, SERIES, strict=False):
            used = curve.n_items > 0
            n, x, y = curve.n_items[used], curve.confidence[used], curve.accuracy[used]
            low, high = wilson_interval((y * n).round(), n)
            ax.vlines(x, low, high, color=color, gid="interval")
            ax.scatter(
                x, y, (4 + 9 * np.sqrt(n / n.sum())) ** 2, color=color, linewidth=0, zorder=3,
                clip_on=False, label=key_name(name), gid="bin",
            )  # fmt: skip
        key_above(ax, len(names))
        return plot.svg()
