"""Run stages that work task by task, in partitions, and only for tasks that have changed.

A partition holds some whole tasks (runtime.partitions). A partition whose inputs are unchanged is
linked. The document of a partition holds a hash of each task's rows in all inputs, and metrics.
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
    CachedPartition,
    InputPartition,
    Partition,
    cached_partitions,
    input_partitions,
    run_partitions,
    write_partition,
)
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_as_written,
    read_verified,
)

TASK_FINGERPRINTS = "tasks_made_of"
"""Key of a partition's document that holds the hashes, by task."""
METRICS_BY_TASK = "of_tasks"
"""Key of a partition's document that holds metrics, by task."""

Progress: TypeAlias = Callable[[str], None]
TaskValues: TypeAlias = Mapping[str, Any]


class ProgressCallback:
    """Reports progress in this process, and nothing on another machine."""

    def __init__(self, report: Progress = lambda _: None) -> None:
        self.report = report

    def __call__(self, message: str) -> None:
        """Report a message."""
        self.report(message)

    def __reduce__(self) -> tuple[type[ProgressCallback], tuple[()]]:
        return ProgressCallback, ()


def throttle_progress(progress: Progress) -> Progress:
    """Return a callback that passes at most one message per second on."""
    last = time.monotonic()

    def report(message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(message)

    return report


@dataclass(frozen=True)
class TaskRows:
    """Holds the input of the work on some tasks.

    Parameters
    ----------
    settings
        Of the campaign.
    tables
        Rows of these tasks, by input; of an input that is asked for whole, all rows.
    task_values
        What the stage computed for a task from inputs that it reads itself, by task.
    workers
        Threads that the work may take.
    progress
        Is called with messages about the progress.
    """

    settings: Campaign
    tables: Mapping[str, pa.Table]
    task_values: TaskValues
    workers: int
    progress: Progress

    def __getitem__(self, name: str) -> pa.Table:
        """Return the rows of an input."""
        return self.tables[name]


TaskWork: TypeAlias = Callable[[TaskRows], tuple[Mapping[str, pa.Table], TaskMetrics]]


@dataclass(frozen=True)
class TaskOutput:
    """Holds the result of a stage that works task by task.

    Parameters
    ----------
    tables
        By name.
    metrics
        By name and task, in the order of tasks.
    partitions
        Documents of partitions, by key.
    """

    tables: Mapping[str, StoredTable]
    metrics: TaskMetrics
    partitions: Mapping[str, Document]

    def output(self, metrics: type[M], **extra: Any) -> StageOutput[M]:
        """Return the stage output with typed metrics; ``extra`` are metrics of the whole stage."""
        return StageOutput(self.tables, metrics.read(self.metrics | extra), self.partitions)


@dataclass(frozen=True)
class WholeTasks:
    """Holds the inputs of a partition: whole tasks, or one task if it has several files.

    Parameters
    ----------
    inputs
        Files of the inputs that have partitions.
    small
        Rows that are handed over of other inputs.
    task_values
        What the stage computed for a task from inputs that it reads itself, by task.
    fingerprint
        All that the result depends on, except code and settings.
    """

    inputs: InputPartition
    small: Mapping[str, pa.Table]
    task_values: TaskValues
    fingerprint: Sequence[Any]

    def folder(self, context: StageContext) -> Path:
        """Return the folder for temporary files, which are deleted when the stage has ended."""
        return context.folder / BLOCKS / digest(self.fingerprint)[:32]


LargeTaskPartitions: TypeAlias = Callable[[WholeTasks], Sequence[Partition]]
"""Returns the partitions of a task that is too large for one job."""


@dataclass(frozen=True)
class _SharedWork:
    """Holds what is the same for all partitions of a stage."""

    work: TaskWork
    settings: Campaign
    columns: Mapping[str, Sequence[str]]
    whole: Mapping[str, StoredTable]
    whole_hashes: Sequence[str]
    workers: int
    progress: ProgressCallback


@dataclass(frozen=True)
class _TaskPartition:
    """Holds the inputs of one partition: files, the tasks to read of each, and other rows."""

    files: Mapping[str, StoredTable]
    task_names: Mapping[str, Sequence[str]]
    tasks: Sequence[str]
    small: Mapping[str, pa.Table]
    task_values: TaskValues
    latest: Sequence[CachedPartition]


def run_by_task(
    context: StageContext,
    work: TaskWork,
    *names: str,
    kinds: Mapping[str, Sequence[str]] | None = None,
    whole: Collection[str] = (),
    read_by_stage: Collection[str] = (),
    task_values: TaskValues | None = None,
    large: LargeTaskPartitions = lambda _: (),
) -> TaskOutput:
    """Return tables and metrics of a stage that works task by task, in the order of tasks.

    Parameters
    ----------
    work
        Makes tables, sorted by task, and metrics by task; a module-level function, which workers
        can import.
    names
        Inputs with the same partitions; of other inputs, rows are handed over.
    kinds
        Kinds of tasks that an input is read for, where it is not all.
    whole
        Inputs without tasks, of which each partition gets all rows.
    read_by_stage
        Inputs that the stage reads itself, for ``task_values``.
    task_values
        What the stage computed for a task, by task; its ``repr`` shows all of it.
    large
        Returns the partitions of a task that is too large for one job; none for others.
    """
    task_values, kinds = task_values or {}, kinds or {}
    settings, in_files = context.campaign.settings, input_partitions(context, *names)
    small_inputs = [name for name in context.inputs if name not in (*names, *whole, *read_by_stage)]
    small = {name: ByTask(context.read(name)) for name in small_inputs}
    tasks_of = {name: {*context.tasks_of(*kinds[name])} for name in kinds}
    workers = settings.resources.workers // len(in_files) if context.is_here else 1
    shared = _SharedWork(
        work=work,
        settings=settings,
        columns=context.columns,
        whole={name: context.inputs[name] for name in whole},
        whole_hashes=[hash_values([context.read(name)]) for name in whole],
        workers=max(workers, 1),
        progress=ProgressCallback(context.progress),
    )
    latest = {
        task: partition
        for partition in cached_partitions(context.latest())
        for task in partition.document[TASK_FINGERPRINTS]
    }
    partitions: list[Partition] = []
    for inputs in in_files:
        task_partition = _TaskPartition(
            files=inputs.files,
            task_names={
                name: sorted(tasks_of.get(name, {*inputs.tasks}).intersection(inputs.tasks))
                for name in names
            },
            tasks=inputs.tasks,
            small={name: rows.only(inputs.tasks) for name, rows in small.items()},
            task_values={task: task_values[task] for task in inputs.tasks if task in task_values},
            latest=list({id(latest[task]): latest[task] for task in inputs.tasks if task in latest}
                        .values()),
        )  # fmt: skip
        fingerprint = [
            inputs.hashes, task_partition.task_names,
            hash_values(list(task_partition.small.values())), shared.whole_hashes,
            {task: repr(value) for task, value in task_partition.task_values.items()},
        ]  # fmt: skip
        blocks = large(
            WholeTasks(inputs, task_partition.small, task_partition.task_values, fingerprint)
        )
        partitions.extend(
            blocks or [Partition(fingerprint, partial(_make, shared, task_partition))]
        )
    tables, documents = run_partitions(context, partitions)
    if latest:
        hashes = {
            task: task_hash
            for document in documents.values()
            for task, task_hash in document[TASK_FINGERPRINTS].items()
        }
        same = [task for task in hashes if task in latest
                and latest[task].document[TASK_FINGERPRINTS][task] == hashes[task]]  # fmt: skip
        if 0 < len(same) < len(hashes):
            n = len(hashes)
            context.progress(f"{n - len(same)} of {n} tasks changed")
    return TaskOutput(
        tables, _joined([document[METRICS_BY_TASK] for document in documents.values()]), documents
    )


def _make(
    shared: _SharedWork, task_partition: _TaskPartition, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Make a partition: new rows by the work, unchanged tasks from the latest result."""
    inputs = {
        name: _read(table, shared.columns[name], task_partition.task_names[name])
        for name, table in task_partition.files.items()
    }
    inputs |= {name: ByTask(rows) for name, rows in task_partition.small.items()}
    hashes = {
        task: digest([
            hash_values([rows[task] for rows in inputs.values()]), shared.whole_hashes,
            repr(task_partition.task_values.get(task)),
        ])
        for task in task_partition.tasks
    }  # fmt: skip
    results: list[tuple[Mapping[str, pa.Table], TaskMetrics]] = []
    copied: set[str] = set()
    for latest in task_partition.latest:
        same = [
            task
            for task, task_hash in latest.document[TASK_FINGERPRINTS].items()
            if hashes.get(task) == task_hash
        ]
        if same:
            results.append(_cached_rows(latest, same))
            copied.update(same)
    changed = [task for task in task_partition.tasks if task not in copied]
    if changed or not results:
        rows = {name: table.only(changed) for name, table in inputs.items()}
        rows |= {
            name: read_verified(table, shared.columns[name]) for name, table in shared.whole.items()
        }
        task_values = {
            task: value for task, value in task_partition.task_values.items() if task not in copied
        }
        task_rows = TaskRows(shared.settings, rows, task_values, shared.workers, shared.progress)
        results.append(shared.work(task_rows))
    tables = {name: _in_order([tables[name] for tables, _ in results]) for name in results[0][0]}
    files = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in tables.items()
    }
    return files, {
        TASK_FINGERPRINTS: hashes,
        METRICS_BY_TASK: _joined([metrics for _, metrics in results]),
    }


def _read(table: StoredTable, columns: Sequence[str], tasks: Sequence[str]) -> ByTask:
    """Return the rows of some tasks, by task."""
    read = ByTask(read_verified(table, columns, tasks))
    return ByTask(read.only(tasks))


def _cached_rows(
    latest: CachedPartition, tasks: Sequence[str]
) -> tuple[dict[str, pa.Table], TaskMetrics]:
    """Return rows and metrics of some tasks from the latest result."""
    tables = {
        name: ByTask(read_as_written(file)).only(tasks) for name, file in latest.files.items()
    }
    metrics = {
        name: {task: by_task[task] for task in tasks if task in by_task}
        for name, by_task in latest.document[METRICS_BY_TASK].items()
    }
    return tables, metrics


def _in_order(tables: Sequence[pa.Table]) -> pa.Table:
    """Return rows of several tables by task, without dictionaries: their codes differ by table."""
    schema = tables[-1].schema  # of new rows; rows of the latest result may have dictionaries
    for position, field in enumerate(schema):
        if pa.types.is_dictionary(field.type):
            schema = schema.set(position, field.with_type(field.type.value_type))
    whole = pa.concat_tables([rows.cast(schema) for rows in tables])
    if len(tables) == 1:
        return whole
    by_task = ByTask(whole)
    return by_task.only(by_task.names)


def _joined(metrics_by_partition: Sequence[TaskMetrics]) -> TaskMetrics:
    """Return metrics in the order of tasks; a task in several partitions has their sum."""
    joined: TaskMetrics = {}
    for metrics in metrics_by_partition:
        for name, by_task in metrics.items():
            values = joined.setdefault(name, {})
            for task, value in by_task.items():
                values[task] = _added(values[task], value) if task in values else value
    return {name: dict(sorted(by_task.items())) for name, by_task in joined.items()}


def _added(first: Any, second: Any) -> Any:
    """Return two lists joined, or the sums of numbers by their names; each may lack some."""
    if isinstance(first, dict):
        both = {name: first[name] + second[name] for name in first if name in second}
        return first | second | both
    return first + second
