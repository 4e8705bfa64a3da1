"""The control tests of all judges of a task, against the time they took."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.contracts import VERDICTS
from annot_pipeline.report.figures.names import counted, short
from annot_pipeline.report.figures.scales import Numbers, evenly, numbers, padded, power_of_ten
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, INK, SMALL, VERMILLION, Color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "judge-control"

SIGNS: dict[str, tuple[str, str, Color]] = {
    "untested": ("•", ".", (INK, 0.6)),
    "undetermined": ("○", "o", (INK, 0.6)),
    "passed": ("●", "o", (BLUE, 0.75)),
    "failed": ("×", "x", VERMILLION),  # noqa: RUF001 - a cross
}
"""Sign in the key, marker and colour of a verdict; those that matter most last, so on top."""

P_LEAST, P_MOST = 1e-16, 0.999
"""Ends of the scale of p; what lies beyond is drawn there."""

P_TICKS = (0.99, 0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-13)

SECONDS = {
    0.001: "0.001", 0.01: "0.01", 0.02: "0.02", 0.05: "0.05", 0.1: "0.1", 0.2: "0.2",
    0.5: "0.5", 1: "1", 2: "2", 5: "5", 10: "10", 20: "20", 60: "1 min", 120: "2 min",
    300: "5 min", 600: "10 min", 1200: "20 min", 3600: "1 h", 10_800: "3 h", 36_000: "10 h",
    86_400: "1 day", 864_000: "10 days",
}  # fmt: skip
"""Ticks of the time axis, s."""

MOST_TICKS = 8

MOST_JUDGES = 2_000
"""Judges that are drawn."""

MOST_TIPS = 1_000
"""Points that name their judge when the mouse rests on them; of more, none does."""

WIDTH, HEIGHT, LEFT, TOP = 560, 320, 64, 52
"""Of the plot, px."""


def p_against_seconds_svg(
    seconds: npt.ArrayLike,
    p_values: npt.ArrayLike,
    verdicts: Sequence[str | None],
    alpha: float,
    *,
    judges: Sequence[object] | None = None,
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
    judges
        ``(n_judges,)`` their names, shown when the mouse rests on a point.

    Raises
    ------
    ValueError
        If lengths differ, or a verdict is not one.
    """
    time, p = numbers(seconds), numbers(p_values)
    verdict = np.array([v or "untested" for v in verdicts], dtype=object)
    names = None if judges is None else list(judges)
    lengths = [len(time), len(p), len(verdict), *([] if names is None else [len(names)])]
    if len(set(lengths)) > 1:
        raise ValueError(f"seconds, p_values, verdicts and judges have lengths {lengths}")
    if unknown := sorted(set(verdict) - set(VERDICTS), key=str):
        raise ValueError(f"verdicts {unknown[:5]} are none of {', '.join(VERDICTS)}")

    time[time < 0] = np.nan
    p[(p < 0) | (p > 1)] = np.nan
    timed = np.flatnonzero(~np.isnan(time))
    if not len(timed):
        return nothing_svg(KIND, "no judge has a time per judgment")
    rows = timed[_shown(p[timed], verdict[timed] == "failed")]
    notes = _notes(len(time), len(timed), len(rows))
    time, p, verdict = time[rows], p[rows], verdict[rows]
    tips = None
    if names is not None and len(rows) <= MOST_TIPS:
        tips = [_tip(names[n], s, v) for n, s, v in zip(rows.tolist(), time, p, strict=True)]

    strip = 32 if np.isnan(p).any() else 0
    description = (
        f"p of the control test against mean seconds per judgment: {counted(len(rows), 'judge')}"
    )
    height = TOP + strip + HEIGHT + 52 + 16 * len(notes)
    with new_sheet(KIND, LEFT + WIDTH + 88, height, description) as sheet:
        sheet.text(12, 20, "p-value of the control test (scale of the normal quantile)")
        ends = _time_ends(time)
        deepest = max(3.4, 0.3 + float(np.nanmax(_depth(p), initial=0)))
        plot = sheet.axes(LEFT, TOP + strip, WIDTH, HEIGHT, x=ends, y=(deepest, -3.3), log="x")
        above = sheet.axes(LEFT, TOP + 8, WIDTH, 16, x=ends, y=(0, 1), log="x", lines="")
        if strip:
            sheet.text(LEFT - 8, TOP + 20, "no p", size=SMALL, anchor="right", part="tick")
        _p_ticks(sheet, plot, p)
        _time_ticks(sheet, plot, has_zero=bool((time == 0).any()))
        _level(sheet, plot, alpha)
        _points(sheet, plot, above, np.where(time > 0, time, ends[0]), p, verdict, tips)
        bottom = TOP + strip + HEIGHT
        sheet.text(
            LEFT + WIDTH / 2, bottom + 38, "mean seconds per judgment (log scale)", anchor="center"
        )
        sheet.note(bottom + 60, notes)
        return sheet.svg()


def _notes(n: int, n_timed: int, n_drawn: int) -> list[str]:
    notes = []
    if n_timed < n:
        notes.append(f"Not drawn, without a time: {counted(n - n_timed, 'judge')}.")
    if n_drawn < n_timed:
        notes.append(
            f"{n_drawn:,} of {n_timed:,} judges shown: those who failed, with the largest p first, "
            "then the others evenly."
        )
    return notes


def _shown(p: Numbers, failed: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the places of the judges that are drawn, in order: the worst, then others evenly."""
    if len(p) <= MOST_JUDGES:
        return np.arange(len(p))
    worst = np.flatnonzero(failed)
    worst = worst[np.argsort(-np.nan_to_num(p[worst], nan=2.0), kind="stable")][:MOST_JUDGES]
    places = np.flatnonzero(~failed)
    room = MOST_JUDGES - len(worst)
    rest = places[evenly(len(places), room)] if room else places[:0]
    return np.sort(np.concatenate([worst, rest]))


def _tip(judge: object, seconds: float, p: float) -> str:
    tested = "no p" if np.isnan(p) else f"p = {p:.2g}"
    return f"{short(judge)}: {tested}, {seconds:.3g} s"


def _depth(p: Numbers) -> Numbers:
    """Return where p lies on the scale of the normal quantile, standard deviations; .5 is 0."""
    quantile = NormalDist().inv_cdf
    inside = np.clip(p, P_LEAST, P_MOST).tolist()
    return np.array([np.nan if np.isnan(v) else -quantile(v) for v in inside])


def _time_ends(seconds: Numbers) -> tuple[float, float]:
    positive = seconds[seconds > 0]
    if not len(positive):
        return 0.5, 2.0
    low, high = padded(log10(positive.min()), log10(positive.max()))
    if len(positive) < len(seconds):
        low -= 0.1 * (high - low)  # room for those at 0
    return 10.0**low, 10.0**high


def _points(
    sheet: Sheet,
    plot: Axes,
    above: Axes,
    x: Numbers,
    p: Numbers,
    verdict: npt.NDArray[np.object_],
    tips: Sequence[str] | None,
) -> None:
    """Draw each judge, those without p above the plot, and say what the signs mean."""
    entries, depth, missing = [], _depth(p), np.isnan(p)
    for name, (sign, marker, color) in SIGNS.items():
        own = verdict == name
        if not own.any():
            continue
        entries.append((sign, color, f"{name} {int(own.sum()):,}"))
        filled = marker != "x" and name != "undetermined"
        for axes, places, y in (
            (plot, np.flatnonzero(own & ~missing), depth),
            (above, np.flatnonzero(own & missing), np.full(len(p), 0.5)),
        ):
            if not len(places):
                continue
            (points,) = axes.plot(
                x[places], y[places], linestyle="none", marker=marker, markersize=6,
                color=color, markerfacecolor=color if filled else "none",
                markeredgewidth=0 if filled else 1.5, clip_on=False,
            )  # fmt: skip
            sheet.part(points, name, None if tips is None else [tips[n] for n in places.tolist()])
    sheet.key(12, 40, entries[::-1])


def _p_ticks(sheet: Sheet, plot: Axes, p: Numbers) -> None:
    deepest = plot.get_ylim()[0]
    marks = {
        tick: f"{tick:g}" if tick >= 1e-3 else power_of_ten(round(log10(tick))) for tick in P_TICKS
    }
    marks[P_LEAST] = f"≤ {power_of_ten(-16)}"
    marks = {t: label for t, label in marks.items() if _depth(np.array([t]))[0] <= deepest}
    if bool((p > P_MOST).any()):
        marks[P_MOST] = f"≥ {P_MOST:g}"
    sheet.ticks(plot, "y", _depth(np.array(list(marks))).tolist(), list(marks.values()), grid=True)


def _time_ticks(sheet: Sheet, plot: Axes, *, has_zero: bool) -> None:
    low, high = plot.get_xlim()
    times = {s: label for s, label in SECONDS.items() if low < s < high}
    if len(times) < 2:
        times = {s: f"{s:.3g}" for s in np.geomspace(low, high, 6)[1:-1].tolist()}
    every = -(-len(times) // MOST_TICKS)
    times = dict(list(times.items())[::every])
    if has_zero:
        times = {low: "0"} | {
            s: label for s, label in times.items() if s > low * (high / low) ** 0.06
        }
    sheet.ticks(plot, "x", list(times), list(times.values()), grid=False)


def _level(sheet: Sheet, plot: Axes, alpha: float) -> None:
    if not P_LEAST < alpha < P_MOST:
        return
    depth = float(_depth(np.array([alpha]))[0])
    x_start, y = sheet.at(plot, plot.get_xlim()[0], depth)
    x_end, _ = sheet.at(plot, plot.get_xlim()[1], depth)
    sheet.line([x_start, x_end + 8], [y, y], (INK, 0.7), "level", width=1.5)
    sheet.text(x_end + 12, y + 4, f"α = {alpha:g}", part="level")  # noqa: RUF001 - alpha
