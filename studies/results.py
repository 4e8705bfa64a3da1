"""What studies found, put together for the page and the tables: curves, gains, sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from studies.curve_figures import (
    MOST_TASKS,
    curve_figures,
    gain_figure,
    item_figures,
)
from studies.findings import findings, numbers
from studies.item_rounds import ItemTask
from studies.params import (
    ItemReplay,
    ItemStudy,
    SystemReplay,
    SystemStudy,
)
from studies.system_rounds import SystemTask
from studies.tables import (
    Measured,
    Table,
    curves_table,
    examples_table,
    gains_table,
    measured,
    reaches_table,
    scores_table,
)
from studies.write import Result, Section

COMPARED = ("DA", "EASL", "random")
"""Whose difference to DA is drawn; DA's is none, and takes the colour that it has elsewhere."""

ABOUT_CURVES = (
    "Bands: 95%, items (or systems) drawn again in every repetition. Differences: paired within "
    "repetitions. A correlation with a constant is undefined and left out, never 0; a "
    "number of judgments that is empty was not reached."
)
ENOUGH = 10
FEW_REPEATS = f"Intervals over fewer than {ENOUGH} repetitions are too narrow: ask for more."
ABOUT_ITEMS = (
    "All methods ask the same number of judgments in every round. The control is random: HITs of "
    "random items, scored as EASL scores. TrueSkill and Thurstone see the pairs of RA's HITs; "
    "Thurstone has TrueSkill's prior, for early graphs of comparisons are not connected."
)
ABOUT_REPLAYS = (
    "Recorded judgments were not given in these HITs: a replay shows what choosing gains, not what "
    "seeing items together does."
)


def item_result(
    tasks: Sequence[ItemTask], notes: Sequence[str], params: ItemStudy | ItemReplay
) -> Result:
    """Return the result of a study on items, with histograms, match quality and examples."""
    examples = examples_table(tasks)
    result = _curves_result(
        tasks, notes, params, "item", lambda task: item_figures(task, params.gamma)
    )
    sections = [
        dataclasses.replace(section, tables=[*section.tables, _rows_of(section.title, examples)])
        for section in result.sections
    ]
    return dataclasses.replace(
        result,
        notes=[*result.notes, ABOUT_ITEMS],
        tables=[*result.tables, examples],
        sections=sections,
    )


def system_result(
    tasks: Sequence[SystemTask], notes: Sequence[str], params: SystemStudy | SystemReplay
) -> Result:
    """Return the result of a study on systems."""
    return _curves_result(tasks, notes, params, "system", lambda _: [])


def _curves_result(
    tasks: Sequence[Any],
    notes: Sequence[str],
    params: Any,
    unit: str,
    figures: Callable[[Any], Sequence[Any]],
) -> Result:
    """Return the result of a study with curves."""
    every: list[Measured] = [measured(task, params.reach, params.seed) for task in tasks]
    tables = [curves_table(every, unit), gains_table(every, unit), reaches_table(every, unit)]
    more = [f"Figures of the first {MOST_TASKS} of {len(tasks)} tasks."] * (len(tasks) > MOST_TASKS)
    few = [FEW_REPEATS] * (1 < params.repeats < ENOUGH)
    replayed = [ABOUT_REPLAYS] * isinstance(params, ItemReplay | SystemReplay)
    return Result(
        findings(every, params.reach, unit),
        [*notes, *more, *few, *replayed, ABOUT_CURVES],
        [*tables, scores_table(tasks)],
        [
            Section(
                one.task.task,
                [
                    *curve_figures(one.task.correlations, one.bands, unit),
                    gain_figure(one.gains[0], one.task.correlations, unit, COMPARED),
                    *figures(one.task),
                ],
                one.task.facts,
                [_rows_of(one.task.task, _spearman(tables[2]))],
            )
            for one in every[:MOST_TASKS]
        ],
        [numbers(one) for one in every],
    )


def _rows_of(task: str, table: Table) -> Table:
    """Return one task's rows, without its name."""
    rows = tuple(row[1:] for row in table.rows if row[0] == task)
    return Table(table.name, table.columns[1:], rows)


def _spearman(table: Table) -> Table:
    return Table(table.name, table.columns, tuple(r for r in table.rows if r[1] == "spearman"))
