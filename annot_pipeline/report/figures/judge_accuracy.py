"""How often judges are right, against how much they judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.errors import counted
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.report.figures.base import GREY, INK, SMALL, evenly, short
from annot_pipeline.report.figures.judge_control import SIGNS
from annot_pipeline.report.figures.plot import key_above, new_plot, plain_log_ticks
from annot_pipeline.report.figures.remembered import remembered

MOST_JUDGES, LOWEST = 600, 50
"""Judges that are drawn; of these, the lowest in any case."""
MOST_NAMED = 6
"""Judges who are named: those furthest below the others."""


@remembered
def judge_accuracy_svg(
    judges: Sequence[object],
    n_judgments: npt.ArrayLike,
    accuracies: npt.ArrayLike,
    verdicts: Sequence[str],
    chance: float,
) -> str:
    """Draw accuracy with a 95% interval against judgments, and the line of chance.

    The interval is that of a share of as many judgments (Wilson 1927), as if the labels were the
    truth. Judges whose whole interval lies below the median accuracy have numbers, the lowest 1,
    and their names stand below.

    Parameters
    ----------
    judges
        ``(n_judges,)`` names.
    n_judgments, accuracies
        ``(n_judges,)`` judgments, above 0; share of them that is right.
    verdicts
        ``(n_judges,)`` of `contracts.VERDICTS`.
    chance
        Accuracy of answers at random; NaN: unknown.
    """
    n, share = np.asarray(n_judgments, dtype=float), np.asarray(accuracies, dtype=float)
    notes = ["Lines: 95% intervals, as if the labels were the truth."]
    if len(n) > MOST_JUDGES:
        order = np.argsort(share, kind="stable")
        shown = [*order[:LOWEST], *order[LOWEST:][evenly(len(n) - LOWEST, MOST_JUDGES - LOWEST)]]
        notes.append(f"{MOST_JUDGES} of {len(n):,} judges shown: the lowest, the others evenly.")
        judges, verdicts = [judges[k] for k in shown], [verdicts[k] for k in shown]
        n, share = n[shown], share[shown]
    low, high = wilson_interval(share * n, n)
    middle = float(np.median(share))
    outliers = [k for k in np.argsort(share, kind="stable").tolist() if high[k] < middle]
    description = (
        f"accuracy of {counted(len(n), 'judge')} against judgments, median {middle:.2f}, "
        f"{counted(len(outliers), 'judge')} below it for certain"
    )
    named = outliers[:MOST_NAMED]
    if outliers:
        names = ", ".join(f"{at} {short(judges[k], 14)}" for at, k in enumerate(named, 1))
        below = counted(len(outliers), "judge")
        notes.append(f"{len(named)} of {below} whose interval lies below the median: {names}.")
    verdict = np.array(verdicts, dtype=object)
    with new_plot("judge-accuracy", 262, 240, description, margins=(62, 30, 62, 52),
                  notes=notes) as plot:  # fmt: skip
        ax = plot.ax
        ax.set(xscale="log", xlabel="judgments (log scale)", ylabel="accuracy",
               xlim=(n.min() / 1.3, n.max() * 1.3), ylim=(0, 1.02))  # fmt: skip
        ax.grid(visible=True, axis="y")
        ends = np.stack([low, high, np.full(len(n), np.nan)], axis=1).ravel()
        ax.plot(np.repeat(n, 3), ends, color=(INK, 0.5), linewidth=1, gid="interval")
        for name, (marker, color) in SIGNS.items():
            own = verdict == name
            if own.any():
                ax.plot(n[own], share[own], marker, color=color, gid=name, clip_on=False,
                        markerfacecolor="none" if name == "undetermined" else color,
                        label=f"{name} {own.sum():,}")  # fmt: skip
        if not np.isnan(chance):
            ax.axhline(chance, color=GREY, ls="--", gid="chance", label=f"chance {chance:.2f}")
        for at, k in enumerate(named, 1):
            ax.annotate(str(at), (n[k], share[k]), (9 * (-1) ** at, 0), fontsize=SMALL, va="center",
                        ha="center", textcoords="offset points", gid="outlier")  # fmt: skip
        plain_log_ticks(ax.xaxis)
        key_above(ax, 2)
        return plot.svg()
