"""Stages that work task by task do so part by part, and anew only for tasks that have changed.

A part is some whole tasks (runtime.partitions). One whose tables are all as they were is linked; of
one that is made, the document holds a hash of each task's rows in all inputs, and its metrics.
Where the hash is the same as in the latest result, by the same code with the same settings, the
task's rows and metrics are copied. A rebuild for `annot verify` has no latest result, so it makes
everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.config.signature import digest
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.context import Document, M, StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.large_tasks import BLOCKS
from annot_pipeline.runtime.partitions import (
    InputPart,
    KnownPart,
    Part,
    in_parts,
    input_parts,
    known_parts,
    write_part,
)
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_as_written,
    read_unharmed,
)

MADE_OF = "tasks_made_of"
"""Key of a part's document that holds the hashes, by task."""
OF_TASKS = "of_tasks"
"""Key of a part's document that holds metrics, by task."""

Progress: TypeAlias = Callable[[str], None]
Given: TypeAlias = Mapping[str, Any]


class Told:
    """Tells progress in this process, and nothing on another machine."""

    def __init__(self, tell: Progress = lambda _: None) -> None:
        self.tell = tell

    def __call__(self, message: str) -> None:
        """Tell it."""
        self.tell(message)

    def __reduce__(self) -> tuple[type[Told], tuple[()]]:
        return Told, ()


def now_and_then(progress: Progress) -> Progress:
    """Passes a message on if the last one is a second ago."""
    last = time.monotonic()

    def told(message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(message)

    return told


@dataclass(frozen=True)
class TaskRows:
    """What work on some tasks is given.

    Parameters
    ----------
    settings
        Of the campaign.
    tables
        Rows of these tasks, by input; of an input that is asked for whole, all rows.
    given
        What the stage found before, by task.
    workers
        Threads that the work may take.
    progress
        Told what is going on.
    """

    settings: Campaign
    tables: Mapping[str, pa.Table]
    given: Given
    workers: int
    progress: Progress

    def __getitem__(self, name: str) -> pa.Table:
        """Rows of an input."""
        return self.tables[name]


TaskWork: TypeAlias = Callable[[TaskRows], tuple[Mapping[str, pa.Table], TaskMetrics]]


@dataclass(frozen=True)
class TaskOutput:
    """The result of a stage that works task by task.

    Parameters
    ----------
    tables
        By name.
    metrics
        By name and task, in the order of tasks.
    partitions
        Documents of parts, by key.
    """

    tables: Mapping[str, StoredTable]
    metrics: TaskMetrics
    partitions: Mapping[str, Document]

    def output(self, metrics: type[M], **others: Any) -> StageOutput[M]:
        """Return it with typed metrics; ``others`` are metrics of the whole stage."""
        return StageOutput(self.tables, metrics.read(self.metrics | others), self.partitions)


@dataclass(frozen=True)
class WholeTasks:
    """Whole tasks of which a part may be made; one task, if its rows lie in several files.

    Parameters
    ----------
    inputs
        Files of the inputs that lie in parts.
    small
        Rows that are handed over of other inputs.
    given
        What the stage found before, by task.
    made_of
        All that comes of them follows from, but code and settings.
    """

    inputs: InputPart
    small: Mapping[str, pa.Table]
    given: Given
    made_of: Sequence[Any]

    def folder(self, context: StageContext) -> Path:
        """Where it may put what is of no use when the stage has ended."""
        return context.folder / BLOCKS / digest(self.made_of)[:32]


Large: TypeAlias = Callable[[WholeTasks], Sequence[Part]]
"""Gives the parts of a task that is too large to be made whole."""


@dataclass(frozen=True)
class _Asked:
    """What is the same for all parts of a stage."""

    work: TaskWork
    settings: Campaign
    columns: Mapping[str, Sequence[str]]
    whole: Mapping[str, StoredTable]
    whole_hashes: Sequence[str]
    workers: int
    progress: Told


@dataclass(frozen=True)
class _TaskPart:
    """One part: files, of which of its tasks each is read, and what else is given of the tasks."""

    files: Mapping[str, StoredTable]
    wanted: Mapping[str, Sequence[str]]
    tasks: Sequence[str]
    small: Mapping[str, pa.Table]
    given: Given
    latest: Sequence[KnownPart]


def of_tasks(
    context: StageContext,
    work: TaskWork,
    *names: str,
    kinds: Mapping[str, Sequence[str]] | None = None,
    whole: Collection[str] = (),
    apart: Collection[str] = (),
    given: Given | None = None,
    large: Large = lambda _: (),
) -> TaskOutput:
    """Return tables and metrics of a stage that works task by task, in the order of tasks.

    Parameters
    ----------
    work
        Makes tables, sorted by task, and metrics by task; of a module, for machines to find it.
    names
        Inputs that lie in parts, which were made of each other's; of others, rows are handed over.
    kinds
        Kinds of tasks that an input is read for, where it is not all.
    whole
        Inputs without tasks, of which each part is given all rows.
    apart
        Inputs that the stage reads itself, for what is given.
    given
        What the stage found before, by task; its ``repr`` tells all of it.
    large
        Gives the parts of a task that is too large for this; of others none.
    """
    given, kinds = given or {}, kinds or {}
    settings, in_files = context.campaign.settings, input_parts(context, *names)
    handed_over = [name for name in context.inputs if name not in (*names, *whole, *apart)]
    small = {name: ByTask(context.read(name)) for name in handed_over}
    tasks_of = {name: {*context.tasks_of(*kinds[name])} for name in kinds}
    workers = settings.resources.workers // len(in_files) if context.is_here else 1
    asked = _Asked(
        work=work,
        settings=settings,
        columns=context.columns,
        whole={name: context.inputs[name] for name in whole},
        whole_hashes=[hash_values([context.read(name)]) for name in whole],
        workers=max(workers, 1),
        progress=Told(context.progress),
    )
    latest = {
        task: known for known in known_parts(context.latest()) for task in known.document[MADE_OF]
    }
    parts: list[Part] = []
    for of in in_files:
        part = _TaskPart(
            files=of.files,
            wanted={
                name: sorted(tasks_of.get(name, {*of.tasks}).intersection(of.tasks))
                for name in names
            },
            tasks=of.tasks,
            small={name: rows.only(of.tasks) for name, rows in small.items()},
            given={task: given[task] for task in of.tasks if task in given},
            latest=list({id(latest[task]): latest[task] for task in of.tasks if task in latest}
                        .values()),
        )  # fmt: skip
        made_of = [
            of.hashes, part.wanted, hash_values(list(part.small.values())), asked.whole_hashes,
            {task: repr(told) for task, told in part.given.items()},
        ]  # fmt: skip
        cut = large(WholeTasks(of, part.small, part.given, made_of))
        parts.extend(cut or [Part(made_of, partial(_make, asked, part))])
    tables, by_part = in_parts(context, parts)
    if latest:
        hashes = {task: of for part in by_part.values() for task, of in part[MADE_OF].items()}
        same = [task for task in hashes if task in latest
                and latest[task].document[MADE_OF][task] == hashes[task]]  # fmt: skip
        if 0 < len(same) < len(hashes):
            n = len(hashes)
            context.progress(f"{n - len(same)} of {n} tasks are not as they were")
    return TaskOutput(tables, _joined([part[OF_TASKS] for part in by_part.values()]), by_part)


def _make(
    asked: _Asked, part: _TaskPart, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Make a part: what is new in it, and what the latest result knows."""
    inputs = {
        name: _read(table, asked.columns[name], part.wanted[name])
        for name, table in part.files.items()
    }
    inputs |= {name: ByTask(rows) for name, rows in part.small.items()}
    hashes = {
        task: digest([
            hash_values([rows[task] for rows in inputs.values()]), asked.whole_hashes,
            repr(part.given.get(task)),
        ])
        for task in part.tasks
    }  # fmt: skip
    found: list[tuple[Mapping[str, pa.Table], TaskMetrics]] = []
    known: set[str] = set()
    for latest in part.latest:
        same = [task for task, of in latest.document[MADE_OF].items() if hashes.get(task) == of]
        if same:
            found.append(_known(latest, same))
            known.update(same)
    changed = [task for task in part.tasks if task not in known]
    if changed or not found:
        rows = {name: of.only(changed) for name, of in inputs.items()}
        rows |= {name: read_unharmed(of, asked.columns[name]) for name, of in asked.whole.items()}
        given = {task: told for task, told in part.given.items() if task not in known}
        told = TaskRows(asked.settings, rows, given, asked.workers, asked.progress)
        found.append(asked.work(told))
    tables = {name: _in_order([tables[name] for tables, _ in found]) for name in found[0][0]}
    files = {
        name: write_part(folder, name, key, partial(iter, [rows])) for name, rows in tables.items()
    }
    return files, {MADE_OF: hashes, OF_TASKS: _joined([metrics for _, metrics in found])}


def _read(table: StoredTable, columns: Sequence[str], tasks: Sequence[str]) -> ByTask:
    """Rows of some tasks."""
    read = ByTask(read_unharmed(table, columns, tasks))
    return ByTask(read.only(tasks))


def _known(latest: KnownPart, tasks: Sequence[str]) -> tuple[dict[str, pa.Table], TaskMetrics]:
    """Return rows and metrics of some tasks from the latest result."""
    tables = {
        name: ByTask(read_as_written(file)).only(tasks) for name, file in latest.files.items()
    }
    metrics = {
        name: {task: by_task[task] for task in tasks if task in by_task}
        for name, by_task in latest.document[OF_TASKS].items()
    }
    return tables, metrics


def _in_order(tables: Sequence[pa.Table]) -> pa.Table:
    """Rows of several tables, by task; names plain, as their codes depend on the tables."""
    schema = tables[-1].schema  # as the work makes it; what was read again may name parts of it
    for place, of in enumerate(schema):
        if pa.types.is_dictionary(of.type):
            schema = schema.set(place, of.with_type(of.type.value_type))
    whole = pa.concat_tables([rows.cast(schema) for rows in tables])
    if len(tables) == 1:
        return whole
    by_task = ByTask(whole)
    return by_task.only(by_task.names)


def _joined(metrics_of_parts: Sequence[TaskMetrics]) -> TaskMetrics:
    """Return metrics in the order of tasks; those of a task in several parts are added up."""
    joined: TaskMetrics = {}
    for metrics in metrics_of_parts:
        for name, by_task in metrics.items():
            values = joined.setdefault(name, {})
            for task, value in by_task.items():
                values[task] = _added(values[task], value) if task in values else value
    return {name: dict(sorted(by_task.items())) for name, by_task in joined.items()}


def _added(first: Any, second: Any) -> Any:
    """Lists one after the other; numbers summed, by their names."""
    if isinstance(first, dict):
        return {name: first[name] + second[name] for name in first}
    return first + second
