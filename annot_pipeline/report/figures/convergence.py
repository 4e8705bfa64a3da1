"""How the fits of the label model ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.names import key_name, px_of
from annot_pipeline.report.figures.plot import new_plot, nothing_svg, plain_log_ticks, whole_ticks
from annot_pipeline.report.figures.remembered import remembered
from annot_pipeline.report.figures.theme import BLUE, MOST_POINTS, SERIES, SMALL, VERMILLION, Color
from annot_pipeline.report.figures.values import Numbers, evenly, numbers

FLOOR = 1e-9
"""Smallest gap that is drawn, nats."""

FEW = 4
"""Tasks that each have a colour and a label."""

MOST_TASKS = 500
"""Lines that are drawn; of more tasks, those that took longest."""


@remembered
def convergence_svg(fits: Sequence[Mapping[str, Any]]) -> str:
    """Draw the gap of the log posterior to its final value by iteration, one line per task.

    Up to four tasks have a colour each and a label. Of more, the one that took longest is
    labelled, and up to four that did not converge.

    Parameters
    ----------
    fits
        Rows of ``label_fits``: ``task``, ``trace`` (log posterior by iteration, nats) and, if
        known, ``converged``.
    """
    curves = [(fit, gap) for fit in fits for gap in [_gap(fit)] if gap.size]
    if not curves:
        return nothing_svg("convergence", "no fit made an iteration")
    longest_first = sorted(range(len(curves)), key=lambda n: (-len(curves[n][1]), n))
    longest = longest_first[:MOST_TASKS]
    labelled: dict[int, Color] = dict(zip(range(len(curves)), SERIES, strict=False))
    if len(curves) > FEW:
        open_ = [n for n in longest_first if curves[n][0].get("converged") is False][:FEW]
        labelled = {longest_first[0]: BLUE, **dict.fromkeys(open_, VERMILLION)}
    names = {n: _label(*curves[n]) for n in labelled}
    most = max(2, MOST_POINTS // len(longest))
    notes = []
    if len(longest) < len(curves):
        notes.append(f"{len(longest):,} of {len(curves):,} tasks drawn, those that took longest.")
    if len(curves[longest[0]][1]) > most:
        notes.append(f"At most {most:,} iterations of a task are drawn, evenly spread.")
    n_iterations = len(curves[longest[0]][1])
    description = (
        "Gap of the log posterior to its final value by iteration: "
        f"{counted(len(curves), 'task')}, up to {counted(n_iterations, 'iteration')}"
    )
    margins = 76, 60 + px_of(*names.values(), size=SMALL), 16, 52
    with new_plot("convergence", 460, 260, description, margins=margins, notes=notes) as plot:
        ax = plot.ax
        ax.set(yscale="log", xlabel="iteration",
               ylabel="gap of the log posterior to\nits final value, nats")  # fmt: skip
        ax.grid(visible=True, axis="y")
        whole_ticks(ax)
        for n in sorted(longest, key=lambda n: (n in labelled, -n)):
            gap = curves[n][1]
            points = evenly(gap.size, most)
            ax.plot(
                points, gap[points], color=labelled.get(n, (BLUE, 0.5)), clip_on=False, gid="task",
                linewidth=2 if n in labelled else 1.2, marker="o" if gap.size == 1 else "",
                label=names.get(n, ""),
            )  # fmt: skip
        plain_log_ticks(ax.yaxis)
        ax.legend(loc="upper left", bbox_to_anchor=(1.03, 1), fontsize=SMALL)
        return plot.svg()


def _gap(fit: Mapping[str, Any]) -> Numbers:
    """Return the gap of each iteration but the last, nats."""
    values = fit.get("trace")
    trace = numbers([] if values is None else values)
    trace = trace[~np.isnan(trace)]
    return np.maximum(trace[-1:] - trace[:-1], FLOOR)


def _label(fit: Mapping[str, Any], gap: Numbers) -> str:
    ended = ", not converged" if fit.get("converged") is False else ""
    return f"{key_name(fit.get('task'), 24)}: {counted(gap.size, 'iteration')}{ended}"
