"""What has changed since the newest release more than chance allows, for the gates to look at."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts.values import NO_ROUNDS
from annot_pipeline.methods.numerics.change_intervals import Changes, change_intervals
from annot_pipeline.methods.numerics.wilson import Z, wilson_interval
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.gold.metrics import Change

CHANCE_CORRECTED = re.compile("kappa|alpha|spearman")
"""Statistics of agreement that do not rise with the number of items of one class."""


def agreement_changes(rows: pa.Table) -> tuple[pa.Table, list[Change]]:
    """Return changes of agreement with intervals, and significant falls, largest first.

    A statistic without an interval has no significant fall: nothing says how far it moves by
    chance. But full agreement counts as exact, and with `agreement.bootstrap: 0` every change of a
    statistic that would be bootstrapped counts.

    Parameters
    ----------
    rows
        Statistics with ``released``, ``now``, the ends of their intervals, ``reason`` why there is
        none now, and ``items``.
    """
    (before, before_ends), (after, after_ends) = (_ends(rows, n) for n in ("released", "now"))
    changes = change_intervals(before, before_ends, after, after_ends)
    table = _with(rows, changes)
    is_known = is_in(rows["reason"], (NO_ROUNDS,)).to_numpy()
    is_known |= _has_ends(before, before_ends) & _has_ends(after, after_ends)
    is_fall = changes.beyond & (changes.change < 0) & is_known
    falls = [
        Change(
            name=f"{row['task']} {row['statistic']}", change=row["change"],
            low=row["change_low"], high=row["change_high"], items=row["items"],
        )
        for row in table.filter(pa.array(is_fall)).to_pylist()
        if CHANCE_CORRECTED.search(row["statistic"])
    ]  # fmt: skip
    return table, _largest(falls)


def prevalence_changes(rows: pa.Table) -> tuple[pa.Table, list[Change]]:
    """Return changes of class shares with intervals, and significant ones, largest first.

    Parameters
    ----------
    rows
        Classes with their shares ``released`` and ``now`` and the numbers of items.
    """
    sides = []
    for name in ("released", "now"):
        share, items = (_floats(rows, column) for column in (name, f"{name}_items"))
        sides.append((share, wilson_interval(np.clip(share, 0, 1) * items, items)))
    (before, before_ends), (after, after_ends) = sides
    changes = change_intervals(before, before_ends, after, after_ends)
    table = _with(rows, changes)
    shifts = [
        Change(
            name=f"{row['task']} {row['label']}", change=row["change"],
            low=row["change_low"], high=row["change_high"],
            items=min(row["released_items"], row["now_items"]),
        )
        for row in table.filter(pa.array(changes.beyond)).to_pylist()
    ]  # fmt: skip
    return table, _largest(shifts)


def drift_changes(rows: pa.Table) -> tuple[pa.Table, list[Change]]:
    """Return changes of models' agreement with people, and significant falls, largest first.

    Answers that the newest release has are compared with those that are new.

    Parameters
    ----------
    rows
        By task and model: of both kinds of answers the number, sum and sum of squares of their
        agreement.
    """
    sides = []
    for name in ("released", "new"):
        n, total, squares = (
            _floats(rows, f"{name}_{what}") for what in ("items", "sum", "squares")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            variance = np.maximum(squares - n * mean**2, 0) / (n - 1)
            half = Z * np.sqrt(variance / n)
        sides.append((mean, (mean - half, mean + half)))
    (before, before_ends), (after, after_ends) = sides
    changes = change_intervals(before, before_ends, after, after_ends)
    table = _with(rows, changes)
    is_known = ~np.isnan(before_ends[0]) & ~np.isnan(after_ends[0])
    clear_falls = table.filter(pa.array(changes.beyond & (changes.change < 0) & is_known))
    falls = [
        Change(
            name=f"{row['task']} {row['judge']}", change=row["change"],
            low=row["change_low"], high=row["change_high"],
            items=min(row["released_items"], row["new_items"]),
        )
        for row in clear_falls.to_pylist()
    ]  # fmt: skip
    return table, _largest(falls)


def _ends(rows: pa.Table, name: str) -> tuple[Floats, tuple[Floats, Floats]]:
    value, low, high = (_floats(rows, f"{name}{end}") for end in ("", "_low", "_high"))
    return value, (low, high)


def _has_ends(value: Floats, ends: tuple[Floats, Floats]) -> npt.NDArray[np.bool_]:
    """Return whether an estimate has an interval, or is exact: full agreement."""
    return np.asarray(~np.isnan(ends[0]) | (value == 1))


def _floats(rows: pa.Table, name: str) -> Floats:
    """Return a column as floats; null is NaN."""
    values: Floats = rows[name].cast(pa.float64()).to_numpy()
    return values


def _with(rows: pa.Table, changes: Changes) -> pa.Table:
    for name, values in (
        ("change", changes.change), ("change_low", changes.low), ("change_high", changes.high)
    ):  # fmt: skip
        rows = rows.append_column(name, pa.array(values))
    return rows


def _largest(changes: list[Change]) -> list[Change]:
    return sorted(changes, key=lambda row: (-abs(row["change"]), row["name"]))
