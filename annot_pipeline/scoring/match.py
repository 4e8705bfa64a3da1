"""Rows of predictions are matched to gold's items by task and name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.config.campaign_file import likely_name
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of, shorten
from annot_pipeline.scoring.cells import Rows
from annot_pipeline.scoring.faults import Faults
from annot_pipeline.scoring.gold import GoldTask
from annot_pipeline.scoring.predictions import Form, Predictions, is_blank

SHOWN = 5
"""Names of items that are said of many."""


@dataclass(frozen=True)
class Matched:
    """Which rows are about which items, and which are about none.

    Parameters
    ----------
    rows
        By task, the rows whose item gold has.
    unknown_items
        Names of items that gold does not have, in the order of the file.
    unknown_tasks, other_tasks
        Rows by task: of tasks that gold does not have, and of those that were not asked for.
    """

    rows: dict[str, Rows]
    unknown_items: list[str]
    unknown_tasks: dict[str, int]
    other_tasks: dict[str, int]


def choose_tasks(gold: Mapping[str, GoldTask], task_name: str | None) -> dict[str, GoldTask]:
    """Return the requested task, or all.

    Raises
    ------
    ConfigError
        There is no such task.
    """
    if task_name is None:
        return dict(gold)
    if task_name not in gold:
        what, do = "no task that has labels with probabilities", likely_name(task_name, list(gold))
        problem = Problem("--task", what, _task_list(gold), do, values=(task_name,))
        raise ConfigError("an unknown task", [problem])
    return {task_name: gold[task_name]}


def match(
    predictions: Predictions,
    form: Form,
    gold: Mapping[str, GoldTask],
    tasks: Mapping[str, GoldTask],
    faults: Faults,
) -> Matched:
    """Match rows to items.

    Parameters
    ----------
    predictions, form
        The file, and what stands where in it.
    gold, tasks
        Gold of all tasks, and of those asked for.
    faults
        Gets rows without an item.

    Raises
    ------
    ConfigError
        Which task the rows are about is not said.
    InputError
        No row is about an item of gold.
    """
    names = predictions.columns[form.item]
    faults.add("blank_item", predictions.row[is_blank(names)].tolist())
    is_unknown, rows, counts = np.zeros(len(names), np.bool_), {}, {}
    for task, at in _rows_by_task(predictions, form, tasks).items():
        if task not in tasks:
            counts[task] = len(at)
            continue
        positions = pc.index_in(names.take(pa.array(at)), tasks[task].items)
        items = pc.fill_null(positions, -1).to_numpy().astype(np.int64)
        is_unknown[at[items < 0]] = True
        if (items >= 0).any():
            whole = Rows(predictions, form, at, items, tasks[task].classes)
            rows[task] = whole.take(np.flatnonzero(items >= 0))
    matched = Matched(
        rows,
        pc.fill_null(names.filter(pa.array(is_unknown)), "").to_pylist(),
        {task: n for task, n in counts.items() if task not in gold},
        {task: n for task, n in counts.items() if task in gold},
    )
    if not rows:
        faults.raise_any()
        raise _no_match_error(predictions, matched, tasks)
    return matched


def _rows_by_task(
    predictions: Predictions, form: Form, tasks: Mapping[str, GoldTask]
) -> dict[str, Codes]:
    if form.task is None:
        if len(tasks) > 1:
            what = f"{len(tasks)} tasks have labels, and the file has no column task"
            do = "name the task with --task, or add the column"
            problem = Problem("", what, _task_list(tasks), do)
            raise ConfigError(f"{predictions.name}: which task?", [problem])
        return dict.fromkeys(tasks, np.arange(len(predictions)))
    column = pc.fill_null(predictions.columns[form.task].cast(TEXT), "").dictionary_encode()
    codes = column.indices.to_numpy()
    names = column.dictionary.to_pylist()
    order = np.argsort(codes, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return dict(zip(names, np.split(order, ends[:-1]), strict=True))


def _no_match_error(
    predictions: Predictions, matched: Matched, tasks: Mapping[str, GoldTask]
) -> InputError:
    problems = []
    if matched.unknown_items:
        items = next(iter(tasks.values())).items
        allowed = ", ".join(map(shorten, items[:SHOWN].to_pylist()))
        problems.append(
            Problem(
                "item", f"none of {len(matched.unknown_items):,} is in gold", f"as {allowed}",
                "spell items as gold does; --item names another column",
                tuple(matched.unknown_items),
            )
        )  # fmt: skip
    counts = matched.unknown_tasks | matched.other_tasks
    if counts:
        problems.append(
            Problem(
                "task", f"{counted(sum(counts.values()), 'row')} of other tasks", _task_list(tasks),
                "spell tasks as gold does, or rename the column task if it is something else",
                tuple(counts),
            )
        )  # fmt: skip
    return InputError(f"{predictions.name}: no row is about an item of gold", problems)


def _task_list(tasks: Mapping[str, GoldTask]) -> str:
    return first_of(list(map(shorten, tasks)), 10)
