"""The control tests of all judges of a task, against the time they took."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import VERDICTS
from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import BLUE, INK, VERMILLION, Color, evenly, numbers
from annot_pipeline.report.figures.plot import key_above, new_plot, nothing_svg, plain_log_ticks
from annot_pipeline.report.figures.remembered import remembered

SIGNS: dict[str, tuple[str, Color]] = {
    "untested": (".", (INK, 0.6)),
    "undetermined": ("o", (INK, 0.6)),
    "passed": ("o", (BLUE, 0.75)),
    "failed": ("x", VERMILLION),
}
"""Marker and colour of a verdict; those that matter most last, so on top."""

P_LEAST, P_MOST = 1e-16, 0.999
"""Ends of the scale of p; what lies beyond is drawn there."""

P_TICKS = (P_MOST, 0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-13, P_LEAST)

MOST_JUDGES = 600
"""Judges that are drawn."""


@remembered
def p_against_seconds_svg(
    seconds: npt.ArrayLike, p_values: npt.ArrayLike, verdicts: Sequence[str | None], alpha: float
) -> str:
    """Return a figure of each judge's control test against the time a judgment took.

    Graham et al. 2013, Fig. 4: judges at the top left are fast and do not tell degraded copies
    from repeats. p is on the scale of the normal quantile, where equal steps are equal
    evidence: .5 and .9 lie apart, and so do 1e-4 and 1e-10.

    Parameters
    ----------
    seconds
        ``(n_judges,)`` mean seconds a judgment; 0 is drawn at the left end.
    p_values
        ``(n_judges,)`` one-sided p; judges without one have a row of their own above.
    verdicts
        ``(n_judges,)`` of `contracts.VERDICTS`; None is "untested".
    alpha
        Level of the test, where the line is.

    Raises
    ------
    ValueError
        If lengths differ, or a verdict is not one.
    """
    time, p = numbers(seconds), numbers(p_values)
    verdict = np.array([v or "untested" for v in verdicts], dtype=object)
    if not len(time) == len(p) == len(verdict):
        lengths = [len(time), len(p), len(verdict)]
        raise ValueError(f"seconds, p_values and verdicts have lengths {lengths}")
    if unknown := sorted(set(verdict) - set(VERDICTS), key=str):
        raise ValueError(f"verdicts {unknown[:5]} are none of {', '.join(VERDICTS)}")
    time[time < 0] = np.nan
    p[(p < 0) | (p > 1)] = np.nan
    timed = np.flatnonzero(~np.isnan(time))
    if not len(timed):
        return nothing_svg("judge-control", "no judge has a time per judgment")
    rows = timed[_worst_and_others(p[timed], verdict[timed] == "failed")]
    notes = []
    if len(timed) < len(time):
        notes.append(f"Not drawn, without a time: {counted(len(time) - len(timed), 'judge')}.")
    if len(rows) < len(timed):
        notes.append(
            f"{len(rows):,} of {len(timed):,} judges shown: those who failed, with the largest p "
            "first, then the others evenly."
        )
    time, p, verdict = time[rows], p[rows], verdict[rows]
    positive = time[time > 0]
    floor = positive.min() / 2 if len(positive) else 1.0
    depth, no_p = _depth(p), -4.2
    deepest = max(3.4, 0.3 + float(np.nanmax(depth, initial=0)))
    description = (
        f"p of the control test against mean seconds per judgment: {counted(len(rows), 'judge')}"
    )
    with new_plot("judge-control", 236, 300, description, margins=(72, 46, 62, 52),
                  notes=notes) as plot:  # fmt: skip
        ax = plot.ax
        ax.set(xscale="log", xlabel="mean seconds per judgment (log scale)",
               ylabel="p of the control test, normal scale")  # fmt: skip
        ax.grid(visible=True, axis="y")
        for name, (marker, color) in SIGNS.items():
            own = verdict == name
            if own.any():
                ax.plot(
                    np.where(time > 0, time, floor)[own],
                    np.where(np.isnan(depth), no_p, depth)[own],
                    marker, color=color, clip_on=False, gid=name, label=f"{name} {own.sum():,}",
                    markerfacecolor="none" if name == "undetermined" else color,
                )  # fmt: skip
        ticks = {f"{tick:g}": float(_depth(np.array([tick]))[0]) for tick in P_TICKS}
        labels = {name: at for name, at in ticks.items() if at <= deepest}
        if np.isnan(p).any():
            labels["no p"] = no_p
        ax.set_yticks([*labels.values()], [*labels])
        ax.set_ylim(deepest, no_p if "no p" in labels else -3.3)
        if P_LEAST < alpha < P_MOST:
            at = float(_depth(np.array([alpha]))[0])
            ax.axhline(at, color=(INK, 0.7), gid="level")
            level = f"α = {alpha:g}"  # noqa: RUF001 - alpha
            ax.text(1, at, level, transform=ax.get_yaxis_transform(), ha="right", va="bottom")
        plain_log_ticks(ax.xaxis)
        key_above(ax, 2)
        return plot.svg()


def _worst_and_others(p: Floats, failed: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the places of the judges that are drawn, in order: the worst, then others evenly."""
    if len(p) <= MOST_JUDGES:
        return np.arange(len(p))
    worst = np.flatnonzero(failed)
    worst = worst[np.argsort(-np.nan_to_num(p[worst], nan=2.0), kind="stable")][:MOST_JUDGES]
    places = np.flatnonzero(~failed)
    room = MOST_JUDGES - len(worst)
    rest = places[evenly(len(places), room)] if room else places[:0]
    return np.sort(np.concatenate([worst, rest]))


def _depth(p: Floats) -> Floats:
    """Return where p lies on the scale of the normal quantile, standard deviations; .5 is 0."""
    quantile = NormalDist().inv_cdf
    inside = np.clip(p, P_LEAST, P_MOST).tolist()
    return np.array([np.nan if np.isnan(v) else -quantile(v) for v in inside])
