"""The systems of a task in rank order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import BLUE, INK, numbers, short
from annot_pipeline.report.figures.plot import nothing_svg, row_plot, text_at_right
from annot_pipeline.report.figures.remembered import remembered

MOST_SYSTEMS = 200
"""Systems drawn, from the best on."""


@remembered
def ranking_svg(
    systems: Sequence[object],
    scores: npt.ArrayLike,
    ci_low: npt.ArrayLike | None,
    ci_high: npt.ArrayLike | None,
    clusters: npt.ArrayLike | None,
    method: object,
    *,
    why_no_intervals: object = None,
    tied: Sequence[bool] = (),
    unit: str = "",
) -> str:
    """Draw systems from best to worst with scores, 95% intervals and clusters.

    Horizontal lines part the clusters, whose numbers stand at the right. With `tied`, scores are
    differences to the first system.

    Parameters
    ----------
    systems
        ``(n_systems,)`` in rank order, the best first; the figure keeps the order.
    scores
        ``(n_systems,)`` in the unit of the method.
    ci_low, ci_high
        ``(n_systems,)`` ends of the 95% intervals; None, all or some, where there are none.
    clusters
        ``(n_systems,)`` from 1, the best; None if there are none.
    method
        Name of the method that the scores are of.
    why_no_intervals
        Said under the figure if none of the systems drawn has an interval.
    tied
        ``(n_systems,)`` whether a system is not shown to be worse than the first: it is shaded.
    unit
        Of the differences.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    n = len(systems)
    columns = [
        np.full(n, np.nan) if values is None else numbers(values)
        for values in (scores, ci_low, ci_high, clusters)
    ]
    if {n} != {*map(len, columns)}:
        raise ValueError(f"{n} systems, but columns of lengths {[*map(len, columns)]}")
    if np.isnan(columns[0]).all():
        return nothing_svg("ranking", f"no system has a score by {short(method)}")
    score, low, high, cluster = (column[:MOST_SYSTEMS] for column in columns)
    names = [short(system) for system in systems[:MOST_SYSTEMS]]
    is_scored, has_interval = ~np.isnan(score), low <= high  # not where one is NaN
    bare = is_scored & ~has_interval
    x_label = f"score by {short(method)}"
    notes = ["Lines: 95% intervals, the mean of the other systems held fixed."]
    if any(tied):
        x_label = f"{unit or 'difference'} to {short(systems[0], 20)}"
        notes = [f"Lines: 95% intervals. Shaded: not shown to be worse than {names[0]}."]
    if not has_interval.any():
        notes = [f"No intervals: {short(why_no_intervals, 300)}"] if why_no_intervals else [
            "Hollow points: no intervals are known."
        ]  # fmt: skip
    elif bare.any():
        notes.append(f"Hollow points: no interval for {counted(int(bare.sum()), 'system')}.")
    if not is_scored.all():
        notes.append(f"Without a score: {counted(int((~is_scored).sum()), 'system')}.")
    if len(names) < n:
        notes.append(f"The first {len(names)} of {n:,} systems are drawn.")
    has_clusters = not np.isnan(cluster).all()
    if has_clusters:
        notes.append("At the right: the cluster.")
    description = (
        f"{counted(n, 'system')} in rank order by {short(method)}, the best: {', '.join(names[:3])}"
    )
    with row_plot(
        "ranking", names, description, pitch=22 if len(names) <= 40 else 16, right=48,
        x_label=x_label, notes=notes, part="system",
    ) as plot:  # fmt: skip
        ax, rows = plot.ax, np.arange(len(names))
        for row in np.flatnonzero(tied[:MOST_SYSTEMS]).tolist():
            ax.axhspan(row - 0.5, row + 0.5, color=(BLUE, 0.12), linewidth=0, gid="tied")
        ax.hlines(
            rows[has_interval], low[has_interval], high[has_interval], color=(BLUE, 0.8),
            linewidth=3, gid="interval",
        )  # fmt: skip
        for which, fill in ((is_scored & has_interval, BLUE), (bare, "none")):
            ax.plot(
                score[which], rows[which], "o", color=BLUE, markerfacecolor=fill, clip_on=False,
                gid="score",
            )  # fmt: skip
        for row in np.flatnonzero(~np.isnan(cluster)).tolist():
            text_at_right(ax, row, f"{cluster[row]:g}", "cluster")
        begins = np.flatnonzero(~np.isnan(cluster[1:]) & (cluster[1:] != cluster[:-1])) + 1
        ax.hlines(
            begins - 0.5, 0, 1, transform=ax.get_yaxis_transform(), color=(INK, 0.4), linewidth=1,
            gid="cluster-line",
        )  # fmt: skip
        return plot.svg()
