"""Run stages that work task by task, in partitions, and only for tasks that have changed.

What a stage does with a task is written once (`TaskWork`), over `TaskData`: its rows lie in memory,
or, of a task too large for one job, in files of whole items, of which the work makes sums
(`TaskData.blocks`). A partition holds some whole tasks (runtime.partitions), or a block of a large
one. A partition whose inputs are unchanged is linked. The document of a partition holds a hash of
each task's rows in all inputs, and metrics. Where the hash is the same as in the latest result, by
the same code with the same settings, the task's rows and metrics are copied. A rebuild for
`annot verify` has no latest result, so it makes everything.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.config.signature import digest
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.errors import Passing, shorten
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.context import Document, M, StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import ByTask, is_in
from annot_pipeline.runtime.listed_items import ListedItems, listed_of
from annot_pipeline.runtime.partitions import (
    CachedPartition,
    InputPartition,
    Partition,
    WritePartition,
    cached_partitions,
    input_partitions,
    never_called,
    partition_key,
    run_partitions,
    write_partition,
)
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_as_written,
    read_verified,
    read_verified_groups,
)

TASK_FINGERPRINTS = "tasks_made_of"
"""Key of a partition's document that holds the hashes, by task."""
METRICS_BY_TASK = "of_tasks"
"""Key of a partition's document that holds metrics, by task."""
BLOCKS = "blocks"
"""Name of the folder for temporary files of large tasks, while a stage runs."""

Progress: TypeAlias = Callable[[str], None]
TaskValues: TypeAlias = Mapping[str, Any]
TaskResult: TypeAlias = tuple[Mapping[str, pa.Table], Mapping[str, Any]]
"""Tables by name, and metrics of the task by name."""


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
            progress(Passing(message))

    return report


@dataclass(frozen=True)
class TaskData:
    """One task of a stage, or a block of a task's items: its rows of the inputs.

    Parameters
    ----------
    name
        Of the task.
    declared
        Its row of the table ``tasks``; empty where the stage does not read it.
    settings
        Of the campaign.
    tables
        Rows by input; of an input that is read whole, all rows.
    value
        What the stage computed for the task from inputs that it reads itself.
    listed
        What item tables say of the items of its rows, if the stage asks for it.
    workers
        Threads that the work may take.
    progress
        Is called with messages about the progress.
    is_first
        Whether these are the whole task, or its first block, which has the rows of the whole task.
    """

    name: str
    declared: Mapping[str, Any]
    settings: Campaign
    tables: Mapping[str, pa.Table]
    value: Any = None
    listed: ListedItems | None = None
    workers: int = 1
    progress: Progress = lambda _: None
    is_first: bool = True

    def __getitem__(self, name: str) -> pa.Table:
        """Return the rows of an input."""
        return self.tables[name]

    def blocks(self, name: str, columns: Sequence[str] = ()) -> Blocks[pa.Table]:
        """Return the rows of an input in blocks of whole items, with some columns or all."""
        rows = self.tables[name]
        return InMemoryBlocks([rows.select(columns) if columns else rows])


@dataclass(frozen=True)
class LargeTaskData(TaskData):
    """A task in files: all rows of an input are read when they are asked for.

    Parameters
    ----------
    context, folder
        The stage, and the task's folder for files that are deleted when the stage ends.
    files
        By input.
    """

    context: StageContext = field(kw_only=True, repr=False)
    folder: Path = field(kw_only=True)
    files: Mapping[str, StoredTable] = field(kw_only=True)

    def __getitem__(self, name: str) -> pa.Table:
        """Return all rows of an input."""
        if name not in self.files:
            return self.tables[name]
        return read_verified(self.files[name], self.context.columns[name])

    def blocks(self, name: str, columns: Sequence[str] = ()) -> Blocks[pa.Table]:
        """Return the rows of an input in blocks, one for each file."""
        some = columns or self.context.columns[name]
        opened = [partial(read_verified, StoredTable((f,)), some) for f in self.files[name].files]
        return StoredBlocks[pa.Table](self.context, self.folder, opened)


def _never_large(*_: object) -> bool:
    """Say that no task is too large for one job; jobs, which hold this, are pickled."""
    return False


def _nothing_shared(tasks: Sequence[TaskData]) -> list[None]:
    return [None] * len(tasks)


@dataclass(frozen=True)
class TaskWork:
    """What a stage does with each task; functions are of modules, so that workers can import them.

    Parameters
    ----------
    inputs
        Inputs with the same partitions; of other inputs, rows are handed over.
    finish
        Returns the tables and metrics of a task, or of a block of it, given what `prepare` returns.
    schemas
        Of the tables.
    prepare
        Returns for each of some tasks what all of its blocks share: sums over them, and what
        follows.
    only
        Kinds of tasks that are worked on; empty: all.
    kinds
        Kinds of tasks that an input is read for, where it is not all.
    whole
        Inputs without tasks, of which each task gets all rows.
    listed
        The input whose items `TaskData.listed` describes, by ``item_rows``.
    read_by_stage
        Inputs that the stage reads itself, for values of tasks.
    is_large
        Returns whether a task is too large for one job.
    blocks
        The input whose files are blocks, each of which has a partition; empty: a large task is
        one partition.
    """

    inputs: Sequence[str]
    finish: Callable[[TaskData, Any], TaskResult]
    schemas: Mapping[str, pa.Schema]
    prepare: Callable[[Sequence[TaskData]], Sequence[Any]] = _nothing_shared
    only: Sequence[str] = ()
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    whole: Sequence[str] = ()
    listed: str = ""
    read_by_stage: Sequence[str] = ()
    is_large: Callable[[StageContext, InputPartition, Sequence[Mapping[str, Any]]], bool] = (
        _never_large
    )
    blocks: str = ""


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

    def metric(self, name: str) -> dict[str, Any]:
        """Return a metric by task."""
        return self.metrics.get(name, {})

    def output(self, metrics: type[M], **extra: Any) -> StageOutput[M]:
        """Return the stage output with typed metrics; ``extra`` are metrics of the whole stage."""
        names = metrics.by_task_names()
        by_task = {name: self.metric(name) for name in names}
        return StageOutput(self.tables, metrics.read(by_task | extra), self.partitions)


@dataclass(frozen=True)
class _Job:
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
    values: TaskValues
    latest: Sequence[CachedPartition]


def run_by_task(
    context: StageContext,
    work: TaskWork,
    values: TaskValues | None = None,
    *,
    on_end: Callable[[StageContext, Path], None] = lambda *_: None,
) -> TaskOutput:
    """Return tables and metrics of a stage that works task by task, in the order of tasks.

    Parameters
    ----------
    work
        What is done with each task.
    values
        What the stage computed for a task, by task; its ``repr`` shows all of it.
    on_end
        Is called with the folder that holds those of large tasks, before it is deleted.
    """
    values, names = values or {}, work.inputs
    settings, in_files = context.campaign.settings, input_partitions(context, *names)
    not_small = {*names, *work.whole, *work.read_by_stage, *(["item_rows"] if work.listed else [])}
    small = {name: ByTask(context.read(name)) for name in context.inputs if name not in not_small}
    tasks_of = {name: {*context.tasks_of(*kinds)} for name, kinds in work.kinds.items()}
    workers = settings.resources.workers // len(in_files) if context.is_here else 1
    whole = [*work.whole, *(["item_rows"] if work.listed else [])]
    job = _Job(
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
            values={task: values[task] for task in inputs.tasks if task in values},
            latest=list({id(latest[task]): latest[task] for task in inputs.tasks if task in latest}
                        .values()),
        )  # fmt: skip
        fingerprint = [
            inputs.hashes, task_partition.task_names,
            hash_values(list(task_partition.small.values())), job.whole_hashes,
            {task: repr(value) for task, value in task_partition.values.items()},
        ]  # fmt: skip
        declared = task_partition.small.get("tasks")
        rows = [] if declared is None else declared.to_pylist()
        if any(len(table.files) > 1 for table in inputs.files.values()) and work.is_large(
            context, inputs, rows
        ):
            partitions += _in_blocks(context, job, task_partition, rows[0], fingerprint)
        else:
            partitions.append(Partition(fingerprint, partial(_make, job, task_partition)))
    tables, documents = run_partitions(context, partitions)
    on_end(context, context.folder / BLOCKS)
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)  # workers may still write there
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


# --- partitions of whole tasks ----------------------------------------------------------------


def _make(
    job: _Job, task_partition: _TaskPartition, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Make a partition: new rows by the work, unchanged tasks from the latest result."""
    inputs = {
        name: _read(table, job.columns[name], task_partition.task_names[name])
        for name, table in task_partition.files.items()
    }
    inputs |= {name: ByTask(rows) for name, rows in task_partition.small.items()}
    hashes = {
        task: digest([
            hash_values([rows[task] for rows in inputs.values()]), job.whole_hashes,
            repr(task_partition.values.get(task)),
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
        results.append(_work_on(job, inputs, changed, task_partition.values))
    tables = {name: _in_order([tables[name] for tables, _ in results]) for name in results[0][0]}
    files = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in tables.items()
    }
    return files, {
        TASK_FINGERPRINTS: hashes,
        METRICS_BY_TASK: _joined([metrics for _, metrics in results]),
    }


def _work_on(
    job: _Job, inputs: Mapping[str, ByTask], names: Sequence[str], values: TaskValues
) -> tuple[dict[str, pa.Table], TaskMetrics]:
    """Return the tables and metrics of some tasks."""
    work, whole = job.work, {}
    listed = None
    for name, table in job.whole.items():
        if name in work.whole:
            whole[name] = read_verified(table, job.columns[name])
    if work.listed:
        listed = listed_of(job.whole["item_rows"], [inputs[work.listed].only(names)])
    declared = {row["task"]: row for row in inputs["tasks"].only(names).to_pylist()} if (
        "tasks" in inputs) else {}  # fmt: skip
    report = throttle_progress(job.progress)
    tasks = [
        TaskData(
            name=name,
            declared=declared.get(name, {}),
            settings=job.settings,
            tables={table: rows[name] for table, rows in inputs.items()} | whole,
            value=values.get(name),
            listed=listed,
            workers=job.workers,
            progress=report,
        )
        for name in sorted(names)
        if not work.only or declared[name]["kind"] in work.only
    ]
    with ThreadPoolExecutor(job.workers) as pool:
        results = list(pool.map(work.finish, tasks, work.prepare(tasks)))
    tables = {
        name: _stack(schema, [tables[name] for tables, _ in results if name in tables])
        for name, schema in work.schemas.items()
    }
    metrics = [
        {name: {task.name: value} for name, value in of_task.items()}
        for task, (_, of_task) in zip(tasks, results, strict=True)
    ]
    return tables, _joined(metrics)


def _stack(schema: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    """Return rows of tasks in their order."""
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()


def _read(table: StoredTable, columns: Sequence[str], tasks: Sequence[str]) -> ByTask:
    """Return the rows of some tasks, by task."""
    read = ByTask(read_verified(table, columns, tasks))
    return ByTask(read.only(tasks))


# --- partitions of a task that is too large for one job ---------------------------------------


def several_files(
    _context: StageContext, inputs: InputPartition, _tasks: Sequence[Mapping[str, Any]]
) -> bool:
    """Return whether scores of the task lie in several files: they were made in blocks."""
    return len(inputs.files["standardized"].files) > 1


def has_many(
    context: StageContext,
    inputs: InputPartition,
    tasks: Sequence[Mapping[str, Any]],
    *,
    table: str,
    kind: str,
    fates: Collection[str],
) -> bool:
    """Return whether the input is one task of a kind with too many judgments for one job.

    Parameters
    ----------
    table
        The input that holds the judgments, with their ``fate``.
    tasks
        ``kind`` of its tasks.
    fates
        Of the judgments that count.
    """
    judgments = inputs.files[table]
    if len(judgments.files) == 1 or [task["kind"] for task in tasks] != [kind]:
        return False
    return are_many(context, judgments.files, fates)


def are_many(context: StageContext, files: Sequence[TableFile], fates: Collection[str]) -> bool:
    """Return whether judgments are too many for one job: those of fates that count.

    Copies of exports must not change it.
    """
    most = context.sizes.task_judgments
    if sum(file.rows for file in files) <= most:
        return False
    counts = [partial(_n_of_fates, StoredTable((file,)), [*fates]) for file in files]
    return sum(context.run(counts)) > most


def _n_of_fates(table: StoredTable, fates: Sequence[str]) -> int:
    return sum(
        pc.sum(is_in(rows["fate"], fates)).as_py() or 0
        for rows in read_verified_groups(table, ["fate"])
    )


def _in_blocks(
    context: StageContext,
    job: _Job,
    task_partition: _TaskPartition,
    declared: Mapping[str, Any],
    fingerprint: Any,
) -> list[Partition]:
    """Return one partition a block of a task; shared work is done unless all are cached."""
    n_blocks = len(task_partition.files[job.work.blocks].files) if job.work.blocks else 1
    fingerprints = [[fingerprint, n] for n in range(n_blocks)]
    cached_keys = {partition.key for partition in cached_partitions(context.latest())}
    keys = {partition_key(own, continues_previous=n > 0) for n, own in enumerate(fingerprints)}
    makers: Sequence[WritePartition] = [never_called] * n_blocks
    if not keys <= cached_keys:
        folder = context.folder / BLOCKS / digest(fingerprint)[:32]
        folder.mkdir(parents=True)
        makers = _block_makers(context, job, task_partition, declared, folder)
    return [
        Partition(own, make, continues_previous=n > 0)
        for n, (own, make) in enumerate(zip(fingerprints, makers, strict=True))
    ]


def _block_makers(
    context: StageContext,
    job: _Job,
    task_partition: _TaskPartition,
    declared: Mapping[str, Any],
    folder: Path,
) -> list[WritePartition]:
    """Do what blocks share; return what makes each partition.

    What is shared lies in a file that jobs read: it may be too large to send with each job.
    """
    work, [name] = job.work, task_partition.tasks
    context.progress(f"{shorten(name)}: in blocks")
    task = LargeTaskData(
        name=name,
        declared=declared,
        settings=job.settings,
        tables={
            **task_partition.small,
            **{n: read_verified(job.whole[n], job.columns[n]) for n in work.whole},
        },
        value=task_partition.values.get(name),
        workers=job.workers,
        progress=throttle_progress(job.progress),
        context=context,
        folder=folder,
        files=task_partition.files,
    )
    [shared] = work.prepare([task])
    if not work.blocks:
        dump(folder / "result", work.finish(task, shared))
        return [partial(_write_result, name, folder / "result", work.schemas)]
    dump(folder / "shared", (task.value, shared))
    of_block = TaskData(name, declared, job.settings, task.tables, progress=job.progress)
    return [
        partial(make_block, job, replace(of_block, is_first=n == 0), file, folder / "shared")
        for n, file in enumerate(task_partition.files[work.blocks].files)
    ]


def make_block(
    job: _Job, task: TaskData, file: TableFile, shared: Path, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Write the partition of a block of a large task."""
    work = job.work
    rows = read_verified(StoredTable((file,)), job.columns[work.blocks])
    listed = listed_of(job.whole["item_rows"], [rows]) if work.listed else None
    value, of_all = load(shared)
    tables = {**task.tables, work.blocks: rows}
    task = replace(task, tables=tables, value=value, listed=listed)
    return _write(task.name, work.finish(task, of_all), work.schemas, folder, key)


def _write_result(
    task: str, result: Path, schemas: Mapping[str, pa.Schema], folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    return _write(task, load(result), schemas, folder, key)


def _write(
    task: str, result: TaskResult, schemas: Mapping[str, pa.Schema], folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    tables, metrics = result
    files = {
        name: write_partition(
            folder, name, key, partial(iter, [tables.get(name, schema.empty_table())])
        )
        for name, schema in schemas.items()
    }
    by_task = {name: {task: value} for name, value in metrics.items()}
    return files, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: by_task}


# --- results put together ---------------------------------------------------------------------


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
    for position, column in enumerate(schema):
        if pa.types.is_dictionary(column.type):
            schema = schema.set(position, column.with_type(column.type.value_type))
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
