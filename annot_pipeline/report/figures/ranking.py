"""The systems of a task in rank order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import counted, px_of, short, width_of
from annot_pipeline.report.figures.scales import Numbers, numbers, padded, steps
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, SMALL, SOFT

KIND = "ranking"

MOST_SYSTEMS = 200
"""Systems drawn, from the best on."""

WIDTH, TOP = 440.0, 30.0
"""Of the plot, and above it, px."""


def ranking_svg(
    systems: Sequence[object],
    scores: npt.ArrayLike,
    ci_low: npt.ArrayLike | None,
    ci_high: npt.ArrayLike | None,
    clusters: npt.ArrayLike | None,
    method: object,
    *,
    why_no_intervals: object = None,
) -> str:
    """Draw systems from best to worst with scores, 95% intervals and clusters.

    Horizontal lines part the clusters, whose numbers stand at the right.

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

    Raises
    ------
    ValueError
        If lengths differ.
    """
    n = len(systems)
    score = numbers(scores)
    none = np.full(n, np.nan)
    low = none if ci_low is None else numbers(ci_low)
    high = none if ci_high is None else numbers(ci_high)
    cluster = none if clusters is None else numbers(clusters)
    if not n == len(score) == len(low) == len(high) == len(cluster):
        raise ValueError(
            f"{n} systems, {len(score)} scores, {len(low)} and {len(high)} ends of intervals, "
            f"{len(cluster)} clusters"
        )
    if np.isnan(score).all():
        return nothing_svg(KIND, f"no system has a score by {short(method)}")
    n_rows = min(n, MOST_SYSTEMS)
    has_interval = low[:n_rows] <= high[:n_rows]  # not where one is NaN
    names = [short(system) for system in systems[:n_rows]]
    x_left = 24 + px_of(*names)
    width = x_left + WIDTH + 84
    notes = ["Lines: 95% intervals, the mean of the other systems held fixed."]
    is_scored = ~np.isnan(score[:n_rows])
    bare = int((is_scored & ~has_interval).sum())
    if not has_interval.any():
        notes = _no_intervals(why_no_intervals, width - 24)
    elif bare:
        notes.append(f"Hollow points: no interval for {counted(bare, 'system')}.")
    if missing := int(np.isnan(score[:n_rows]).sum()):
        notes.append(f"Without a score: {counted(missing, 'system')}.")
    if n_rows < n:
        notes.append(f"The first {n_rows} of {n:,} systems are drawn.")

    pitch = 22.0 if n_rows <= 40 else 16.0
    bottom = TOP + pitch * n_rows + 4
    values = np.concatenate(
        [score[:n_rows], low[:n_rows][has_interval], high[:n_rows][has_interval]]
    )
    ends = padded(float(np.nanmin(values)), float(np.nanmax(values)))
    description = (
        f"{counted(n, 'system')} in rank order by {short(method)}, the best: {', '.join(names[:3])}"
    )
    with new_sheet(KIND, width, bottom + 52 + 16 * len(notes), description) as sheet:
        axes = sheet.axes(x_left, TOP, WIDTH, bottom - TOP, x=ends, y=(bottom - TOP, 0), lines="x")
        sheet.ticks(axes, "x", *steps(*ends), grid=True)
        middles = pitch * (np.arange(n_rows) + 0.5)
        for row, name in enumerate(names):
            sheet.text(x_left - 10, TOP + middles[row] + 4, name, anchor="right", part="system")
        for row in np.flatnonzero(has_interval).tolist():
            (interval,) = axes.plot(
                [low[row], high[row]], [middles[row]] * 2, color=(BLUE, 0.6), linewidth=3,
                clip_on=False,
            )  # fmt: skip
            sheet.part(interval, "interval")
        for rows in _runs_alike(is_scored, has_interval):
            is_filled = bool(has_interval[rows[0]])
            (points,) = axes.plot(
                score[rows], middles[rows], linestyle="none", marker="o", color=BLUE, markersize=8,
                markerfacecolor=BLUE if is_filled else "none",
                markeredgewidth=0 if is_filled else 1.5, clip_on=False,
            )  # fmt: skip
            tips = [_tip(names[n], score[n], low[n], high[n], cluster[n]) for n in rows]
            sheet.part(points, "system-score", tips)
        _clusters(sheet, cluster[:n_rows], x_left, pitch)
        sheet.text(x_left + WIDTH / 2, bottom + 38, f"score by {short(method)}", anchor="center")
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _runs_alike(
    is_scored: npt.NDArray[np.bool_], has_interval: npt.NDArray[np.bool_]
) -> list[npt.NDArray[np.int64]]:
    """Return rows with a score, parted where the next one has an interval and this one has not."""
    rows = np.flatnonzero(is_scored)
    ends = np.flatnonzero(np.diff(has_interval[rows].astype(np.int8))) + 1
    return [run for run in np.split(rows, ends) if run.size]


def _no_intervals(why: object, px: float) -> list[str]:
    """Say that there are none, and why, in a few lines of at most this width."""
    if not why:
        return ["Hollow points: no intervals are known."]
    columns = px / px_of("x", size=SMALL)
    lines = ["No intervals:"]
    for word in short(why, 2.5 * columns).split():
        cut = short(word, columns)
        if width_of(f"{lines[-1]} {cut}") <= columns:
            lines[-1] += f" {cut}"
        else:
            lines.append(cut)
    return lines


def _clusters(sheet: Sheet, cluster: Numbers, x_left: float, pitch: float) -> None:
    """Write its cluster beside each system, and draw a line above each cluster but the first."""
    if np.isnan(cluster).all():
        return
    right = x_left + WIDTH + 72
    sheet.text(right, TOP - 8, "cluster", size=SMALL, anchor="right", part="axis")
    for row, own in enumerate(cluster.tolist()):
        before = cluster[row - 1] if row else np.nan
        if np.isnan(own):
            continue
        y = TOP + pitch * row
        if row and own != before:
            sheet.line([12, right], [y, y], SOFT, "cluster-line")
        sheet.text(right, y + pitch / 2 + 4, f"{own:g}", anchor="right", part="cluster")


def _tip(name: str, score: float, low: float, high: float, cluster: float) -> str:
    interval = f" [{low:.4g}, {high:.4g}]" if low <= high else ", no interval"
    return f"{name}: {score:.4g}{interval}" + (
        "" if np.isnan(cluster) else f", cluster {cluster:g}"
    )
