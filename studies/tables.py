"""Tables of a study, as they stand in csv files and on the page.

Numbers have six digits; what is undefined is an empty cell.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeAlias

import numpy as np

from annot_pipeline.arrays import Floats
from studies.curves import (
    BASELINE,
    MEASURES,
    Correlations,
    Gains,
    Interval,
    bands,
    gains,
    reaches,
    undefined,
)
from studies.item_rounds import ItemTask, stream
from studies.surprisal_curves import Surprisal
from studies.system_rounds import SystemTask

Cell: TypeAlias = str | int | float | None
Task: TypeAlias = ItemTask | SystemTask

CONTROL, TESTED = "random", "EASL"
"""EASL is also held against the control: what is left is what choosing items gains."""

BANDS, PER_BAND = 5, 2
"""Ordinal bands of the gold in the table of examples, and items of each."""


@dataclass(frozen=True)
class Table:
    """A table with its name, which is that of its file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> bytes:
        """Return the table as csv, UTF-8."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([written(cell) for cell in row] for row in self.rows)
        return text.getvalue().encode("utf-8", "surrogateescape")


def written(cell: Cell) -> str:
    """Return a cell as text."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return f"{cell + 0.0:.6g}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, eq=False)
class Measured:
    """All that is told of one task's correlations.

    Parameters
    ----------
    task
        Whose they are.
    bands
        Of the curves.
    gains
        Of all methods over DA, then of EASL over the control.
    reaches
        By number of judgments of DA.
    """

    task: Task
    bands: Interval
    gains: tuple[Gains, Gains]
    reaches: Mapping[int, Interval]


def measured(task: Task, reach: Sequence[int], seed: int) -> Measured:
    """Compute intervals, each with a random stream of its own."""
    correlation = task.correlations
    return Measured(
        task,
        bands(correlation),
        (
            gains(correlation, stream(seed, task.task, "gains")),
            gains(correlation, stream(seed, task.task, "gains"), CONTROL),
        ),
        {at: reaches(correlation, at, stream(seed, task.task, "reaches", at)) for at in reach},
    )


def curves_table(all_measured: Sequence[Measured], unit: str) -> Table:
    """Return the mean correlation with its band, by task, measure, method and point."""
    rows: list[tuple[Cell, ...]] = []
    for one in all_measured:
        correlation = one.task.correlations
        repeats, rounds = undefined(correlation)
        for m, method, position, point, judgments in _places(correlation):
            at = (m, position, point)
            rows.append(
                (
                    one.task.task, MEASURES[m], method, judgments,
                    *_ends(one.bands, at), int(repeats[at]), int(rounds[at]),
                )
            )  # fmt: skip
    columns = (
        "task", "measure", "method", f"judgments_per_{unit}", "mean", "low", "high",
        "undefined_repetitions", "undefined_rounds",
    )  # fmt: skip
    return Table("curves", columns, tuple(rows))


def gains_table(all_measured: Sequence[Measured], unit: str) -> Table:
    """Return the differences to DA, and of EASL to the control."""
    rows: list[tuple[Cell, ...]] = []
    for one in all_measured:
        correlation = one.task.correlations
        for gain in one.gains:
            for m, method, position, point, judgments in _places(correlation):
                if method == gain.to or (gain.to == CONTROL and method != TESTED):
                    continue
                at = (m, position, point)
                rows.append(
                    (
                        one.task.task, MEASURES[m], method, gain.to, judgments,
                        *_ends(gain.difference, at), gain.over,
                        float(gain.items.low[at]), float(gain.items.high[at]),
                    )
                )  # fmt: skip
    columns = (
        "task", "measure", "method", "compared_with", f"judgments_per_{unit}", "difference",
        "low", "high", "interval_over", "items_low", "items_high",
    )  # fmt: skip
    return Table("gains", columns, tuple(rows))


def reaches_table(all_measured: Sequence[Measured], unit: str) -> Table:
    """Return the judgments that each method needs for DA's correlation at some numbers of them."""
    rows: list[tuple[Cell, ...]] = []
    for one in all_measured:
        correlation = one.task.correlations
        base = correlation.methods.index(BASELINE)
        for at, needs in one.reaches.items():
            for m, measure in enumerate(MEASURES):
                curve = one.bands.value[m, base]
                inside = correlation.judgments[0] <= at <= correlation.judgments[-1]
                target = float(np.interp(at, correlation.judgments, curve)) if inside else None
                rows += [
                    (one.task.task, measure, method, at, target, *_ends(needs, (m, position)))
                    for position, method in enumerate(correlation.methods)
                ]
    columns = (
        "task", "measure", "method", "da_judgments", "da_correlation",
        f"judgments_per_{unit}", "low", "high",
    )  # fmt: skip
    return Table("reaches", columns, tuple(rows))


def scores_table(tasks: Sequence[Task]) -> Table:
    """Return final scores of the first repetition, beside the truth."""
    rows: list[tuple[Cell, ...]] = []
    methods = tasks[0].correlations.methods
    for task in tasks:
        final = task.final() if isinstance(task, ItemTask) else task.final
        names = task.items if isinstance(task, ItemTask) else task.systems
        columns = [task.truth, *(final[method] for method in methods)]
        for name, values in zip(names, np.stack(columns, axis=1).tolist(), strict=True):
            rows.append((task.task, name, *values))
    what = "item" if isinstance(tasks[0], ItemTask) else "system"
    return Table("scores", ("task", what, "oracle", *methods), tuple(rows))


def examples_table(tasks: Sequence[ItemTask]) -> Table:
    """Return table 1 of the paper: two items of each fifth of the gold, scores times 100."""
    rows: list[tuple[Cell, ...]] = []
    for task in tasks:
        final = task.final()
        for position in example_items(task.truth):
            scores = (task.truth, final["DA"], final["RA"], final["EASL"])
            printed = (percent(float(score[position])) for score in scores)
            rows.append((task.task, task.items[position], *printed))
    return Table("examples", ("task", "item", "gold", "DA", "RA", "EASL"), tuple(rows))


def example_items(truth: Floats) -> list[int]:
    """Return the items of highest and of lowest truth in each of five equal bands, highest first.

    A truth on an edge is of the band above it, 1 of the highest; among equals the first counts.
    """
    band = np.minimum(np.floor(np.round(truth * BANDS, 9)), BANDS - 1)
    order = np.lexsort((np.arange(truth.size), -truth))
    chosen: list[int] = []
    for one in range(BANDS - 1, -1, -1):
        inside = order[band[order] == one].tolist()
        chosen += [*inside[: PER_BAND - 1], *inside[PER_BAND - 1 :][-1:]]
    return chosen


def percent(share: float) -> str:
    """Return a share times 100 with one decimal, rounded half up as Table 1 is.

    Noise beyond the ninth decimal does not decide: .3215 is 32.2, however it is stored.
    """
    exact = Decimal(repr(round(100 * share, 9)))
    return str(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))


def surprisal_tables(surprisal: Surprisal) -> tuple[Table, Table]:
    """Return Figs. 2 and 3 as numbers."""
    values = {field.name: getattr(surprisal, field.name).tolist() for field in fields(surprisal)}
    gaussian = ("t", "v_win", "v_tie", "w_win", "w_tie")
    bounded = ("difference", "win", "tie")
    return (
        Table("surprisal", gaussian, tuple(zip(*(values[n] for n in gaussian), strict=True))),
        Table("surprisal_bounded", bounded, tuple(zip(*(values[n] for n in bounded), strict=True))),
    )


def _places(correlation: Correlations) -> Iterator[tuple[int, str, int, int, float]]:
    """Yield measure, method with its place, and point with its judgments."""
    for m in range(len(MEASURES)):
        for position, method in enumerate(correlation.methods):
            for point, judgments in enumerate(correlation.judgments.tolist()):
                yield m, method, position, point, judgments


def _ends(interval: Interval, at: tuple[int, ...]) -> tuple[float, float, float]:
    return float(interval.value[at]), float(interval.low[at]), float(interval.high[at])
