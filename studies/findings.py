"""What came out of a study, in two sentences made from its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from studies.curves import BASELINE
from studies.surprisal_curves import Surprisal
from studies.tables import CONTROL, TESTED, Measured

SPEARMAN = 0
BETTER, WORSE, UNTOLD, NONE = "EASL is better", "EASL is worse", "no detectable difference", "none"

Values = tuple[float, float, float]
"""A value and its interval."""


def findings(all_measured: Sequence[Measured], reach: Sequence[int], unit: str) -> list[str]:
    """Return two sentences on EASL and DA, by Spearman's correlation."""
    if len(all_measured) == 1:
        return [_at(all_measured[0], reach, unit), _needs(all_measured[0], reach, unit)]
    return [_at_in_tasks(all_measured, reach, unit), _needs_in_tasks(all_measured, reach, unit)]


def numbers(one: Measured) -> dict[str, object]:
    """Return key numbers of a task, by Spearman's correlation, at some numbers of judgments."""
    methods = one.task.correlations.methods
    at: dict[str, object] = {}
    for judgments in one.reaches:
        point = _point(one, judgments)
        at[str(judgments)] = None if point is None else {
            method: {
                "correlation": _rounded_values(_values(one.bands, position, point)),
                "difference_to_da": _rounded_values(
                    _values(one.gains[0].difference, position, point)
                ),
                "needs": _rounded_values(_needed(one, judgments, method)),
            }
            for position, method in enumerate(methods)
        }  # fmt: skip
    return {
        "task": one.task.task,
        "spearman_at": at,
        "interval_over": one.gains[0].over,
        "facts": one.task.facts,
    }


def verdict(values: Values) -> str:
    """Return what a difference with its interval says."""
    value, low, high = values
    if math.isnan(value) or math.isnan(low) or math.isnan(high):
        return NONE
    return BETTER if low > 0 else WORSE if high < 0 else UNTOLD


def surprisal_findings(surprisal: Surprisal, epsilon: float) -> list[str]:
    """Return two sentences on Figs. 2 and 3."""
    first, last, middle = 0, -1, surprisal.t.size // 2
    return [
        f"With epsilon {epsilon:g}, a win changes means by v = {surprisal.v_win[first]:.3g} at "
        f"t = {surprisal.t[first]:.3g}, where it is least expected, and by "
        f"{surprisal.v_win[last]:.3g} at t = {surprisal.t[last]:.3g}; a tie by "
        f"{abs(surprisal.v_tie[first]):.3g} at both ends and "
        f"{abs(surprisal.v_tie[middle]) + 0.0:.3g} at t = {surprisal.t[middle]:.3g}.",
        f"In the bounded variant 1 - p of a win is {surprisal.win[first]:.3g} at a difference of "
        f"-1 and {surprisal.win[last]:.3g} at 1, that of a tie {surprisal.tie[first]:.3g} at both "
        f"ends and {surprisal.tie[middle]:.3g} in the middle.",
    ]


# --- one task ------------------------------------------------------------------------------


def _at(one: Measured, reach: Sequence[int], unit: str) -> str:
    point = _first_point(one, reach)
    judgments = _judgments(float(one.task.correlations.judgments[point]), unit)
    positions, base, control = _places(one)
    difference = _values(one.gains[0].difference, positions, point)
    word = verdict(difference)
    if word == NONE:
        return (
            f"At {judgments} EASL and DA cannot be compared: a correlation "
            "is undefined where all scores are equal, or a method could not ask so much."
        )
    ours, theirs = (float(one.bands.value[SPEARMAN, p, point]) for p in (positions, base))
    return (
        f"At {judgments} Spearman's correlation with the oracle is "
        f"{ours:.3f} for EASL and {theirs:.3f} for DA: {word}, {_signed(difference)}; random HITs "
        f"against DA: {_signed(_values(one.gains[0].difference, control, point))} (95% intervals "
        f"over {one.gains[0].over})."
    )


def _needs(one: Measured, reach: Sequence[int], unit: str) -> str:
    parts = []
    _, base, _ = _places(one)
    for at in reach:
        point = _point(one, at)
        if point is None or math.isnan(one.bands.value[SPEARMAN, base, point]):
            continue
        ours, control = (_needed(one, at, method) for method in (TESTED, CONTROL))
        parts.append(
            f"for what DA has at {_judgments(at, unit)} EASL needs {_count(ours)} and random "
            f"HITs need {_count(control)}"
        )
    text = "; ".join(parts) or _nothing_at(reach, unit)
    return f"{text[0].upper()}{text[1:]}."


def _nothing_at(reach: Sequence[int], unit: str) -> str:
    counts_text = " or ".join(_judgments(at, unit) for at in reach)
    return f"DA has no correlation at {counts_text}: it is undefined, or was not asked so many"


def _judgments(n: float, unit: str) -> str:
    return f"{n:.3g} judgment{'' if n == 1 else 's'} per {unit}"


def _count(values: Values) -> str:
    value, low, high = values
    if math.isnan(value):
        return "more than was asked"
    ends = ["beyond" if math.isnan(end) else f"{end:.3g}" for end in (low, high)]
    return f"{value:.3g} ({ends[0]} to {ends[1]})"


# --- many tasks ----------------------------------------------------------------------------


def _at_in_tasks(all_measured: Sequence[Measured], reach: Sequence[int], unit: str) -> str:
    points = [_point(one, reach[0]) for one in all_measured]
    at = f"At {_judgments(reach[0], unit)}"
    if None in points:
        points = [_first_point(one, reach) for one in all_measured]
        at = f"At {_judgments(reach[0], unit)}, or at the end where there are fewer,"
    counts: list[Counter[str]] = []
    for method in (TESTED, CONTROL):
        counts.append(Counter())
        for one, point in zip(all_measured, points, strict=True):
            position = one.task.correlations.methods.index(method)
            counts[-1][verdict(_values(one.gains[0].difference, position, point or 0))] += 1
    easl, control = counts
    over = all_measured[0].gains[0].over
    undefined = f", and it is undefined in {easl[NONE]}" if easl[NONE] else ""
    return (
        f"{at} EASL has a higher Spearman correlation with the oracle than DA in {easl[BETTER]} "
        f"of {len(all_measured)} tasks, a lower one in {easl[WORSE]}, and no difference can be "
        f"told in {easl[UNTOLD]}{undefined}; random HITs have a higher one in {control[BETTER]} "
        f"and a lower one in {control[WORSE]} (95% intervals over {over})."
    )


def _needs_in_tasks(all_measured: Sequence[Measured], reach: Sequence[int], unit: str) -> str:
    parts = []
    for at in reach:
        needs = [_needed(one, at, TESTED) for one in all_measured if _point(one, at) is not None]
        if not needs:
            continue
        values = [value for value, _, _ in needs if not math.isnan(value)]
        fewer = sum(high < at for _, _, high in needs)
        # an end that is NaN lies beyond all that was asked
        more = sum(math.isnan(low) or low > at for _, low, _ in needs)
        median = f"{float(np.median(values)):.3g}" if values else "more than was asked"
        missing = len(needs) - len(values)
        beyond = f", where it gets there; in {missing} it does not" if missing and values else ""
        parts.append(
            f"for what DA has at {_judgments(at, unit)} EASL needs fewer in {fewer} of "
            f"{len(needs)} tasks and more in {more}, in the median {median}{beyond}"
        )
    text = "; ".join(parts) or _nothing_at(reach, unit)
    return f"{text[0].upper()}{text[1:]}."


# --- numbers -------------------------------------------------------------------------------


def _places(one: Measured) -> tuple[int, int, int]:
    methods = one.task.correlations.methods
    return methods.index(TESTED), methods.index(BASELINE), methods.index(CONTROL)


def _point(one: Measured, at: float) -> int | None:
    """Return the point nearest to a number of judgments; None beyond the curve."""
    judgments = one.task.correlations.judgments
    if not judgments[0] <= at <= judgments[-1] + 1e-9:
        return None
    return int(np.argmin(np.abs(judgments - at)))


def _first_point(one: Measured, reach: Sequence[int]) -> int:
    """Return the point of the first number of judgments that is on the curve; else the last."""
    points = (_point(one, at) for at in reach)
    last = one.task.correlations.judgments.size - 1
    return next((point for point in points if point is not None), last)


def _values(interval: object, position: int, point: int) -> Values:
    value, low, high = (float(part[SPEARMAN, position, point]) for part in vars(interval).values())
    return value, low, high


def _needed(one: Measured, at: int, method: str) -> Values:
    position = one.task.correlations.methods.index(method)
    value, low, high = (float(part[SPEARMAN, position]) for part in vars(one.reaches[at]).values())
    return value, low, high


def _signed(values: Values) -> str:
    value, low, high = values
    return "undefined" if math.isnan(value) else f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def _rounded_values(values: Values) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 6) for value in values]
