"""What a stage may use (`StageContext`), and what it returns (`StageOutput`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import StageMetrics
from annot_pipeline.errors import Passing
from annot_pipeline.runtime.executors import Engine, engine_of
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from annot_pipeline.storage.keys import derive
from annot_pipeline.storage.queries import Queries, give_back_memory
from annot_pipeline.storage.store import StageResult, Store
from annot_pipeline.storage.tables import StoredTable, TableFile, write_table

T = TypeVar("T")
M = TypeVar("M", bound=StageMetrics, covariant=True)
Document: TypeAlias = dict[str, Any]
Rows: TypeAlias = pa.Table | pa.RecordBatchReader
Opened: TypeAlias = Callable[[], AbstractContextManager[Rows]]

PARTITIONS = "parts"
"""Key under which stored results hold the documents of partitions."""


class Read(Protocol):
    """Reads an input table, its bytes checked; where tasks are named, little of the others."""

    def __call__(self, name: str, /, *, tasks: Collection[str] | None = None) -> pa.Table:
        """Return the columns that the stage declares."""


@dataclass(frozen=True)
class StageContext:
    """Holds what a stage may use; large tables can be written to ``folder`` directly.

    ``columns`` are those that the stage declares of its ``inputs``; ``read`` gives an input table
    whole; ``latest`` what the stage made last, if the same code did with the same settings;
    ``sizes`` how much work a job takes.
    """

    campaign: LoadedCampaign
    folder: Path
    store: Store
    judge_key: Callable[[], bytes]
    inputs: Mapping[str, StoredTable]
    columns: Mapping[str, tuple[str, ...]]
    read: Read
    progress: Callable[[str], None]
    latest: Callable[[], StageResult | None]
    sizes: JobSizes = DEFAULT_SIZES

    def tasks_of(self, *kinds: str) -> list[str]:
        """Return the names of the tasks of some kinds."""
        rows = self.read("tasks").select(["task", "kind"]).to_pylist()
        return [row["task"] for row in rows if row["kind"] in kinds]

    @property
    def salt(self) -> str:
        """Return the salt that is hashed into the published ids of judgments."""
        return derive(self.judge_key(), "judgment")

    @property
    def engine(self) -> Engine:
        """Return the engine that runs the jobs of the stage."""
        return engine_of(self.campaign.settings, self.store.root, self.progress)

    def run(self, jobs: Sequence[Callable[[], T]], at_once: int | None = None) -> list[T]:
        """Return the results of jobs that the engine runs, in their order; see `Engine.run`.

        On another machine a job gives its memory back: its process lives on, beside others.
        """
        all_jobs = jobs if self.is_here else [partial(_then_free, job) for job in jobs]
        stage = self.folder.parent.name.replace("_", " ")
        total = f"of {len(jobs):,} parts"
        return self.engine.run(
            all_jobs, at_once, lambda n: self.progress(Passing(f"{stage}: {n:,} {total}"))
        )

    @property
    def is_here(self) -> bool:
        """Return whether the engine is this machine."""
        return self.campaign.settings.engine.kind == "local"

    @property
    def queries(self) -> Queries:
        """Return SQL with the campaign's limits."""
        return Queries(self.campaign.settings.resources, self.campaign.spill)

    @property
    def partition_queries(self) -> Queries:
        """Return SQL for a partition: one thread on Spark, where each core has its own job."""
        resources = self.campaign.settings.resources
        if not self.is_here:
            resources = resources.model_copy(update={"threads": 1})
        return Queries(resources, self.campaign.spill)


@dataclass(frozen=True)
class StageOutput(Generic[M]):
    """Represents the result of a stage.

    Parameters
    ----------
    tables
        By name: rows, or what opens them, or files that are written already.
    metrics
        Figures for gates and reports.
    partitions
        Of a stage that works in partitions: a JSON document of each, by its key, from which a
        later run of the stage continues.
    """

    tables: Mapping[str, Rows | Opened | StoredTable]
    metrics: M
    partitions: Mapping[str, Document] | None = None

    def write(self, name: str, path: Path) -> StoredTable:
        """Write a table, if it is not written yet."""
        rows = self.tables[name]
        if isinstance(rows, StoredTable):
            return rows
        opened = rows if callable(rows) else lambda: nullcontext(rows)
        return StoredTable((write_declared(path, name, opened),))

    def document(self) -> Document:
        """Return metrics and documents of partitions, as they are stored beside the tables."""
        partitions = {} if self.partitions is None else {PARTITIONS: dict(self.partitions)}
        return self.metrics.document() | partitions


def _then_free(job: Callable[[], T]) -> T:
    result = job()
    give_back_memory()
    return result


def write_declared(path: Path, name: str, opened: Opened) -> TableFile:
    """Write a table, or a part of one, with the columns of its contract if it is a gold table.

    Parameters
    ----------
    path
        Where.
    name
        Of the table.
    opened
        Gives the rows, each time anew.
    """
    try:
        with opened() as rows:
            return write_table(path, _as_declared(rows, name), published=name in GOLD)
    except pa.ArrowInvalid:  # a null where none may be: written, so that its gate names the row
        with opened() as rows:
            declared = _as_declared(rows, name, may_be_null=True)
            return write_table(path, declared, published=name in GOLD)


def _as_declared(rows: Rows, name: str, *, may_be_null: bool = False) -> Rows:
    """Return the rows of a gold table with the columns, types and descriptions of its contract."""
    contract = GOLD.get(name)
    if contract is None:
        return rows
    schema = contract.schema
    if may_be_null:
        schema = pa.schema([f.with_nullable(True) for f in schema], schema.metadata)
    if rows.schema.equals(schema, check_metadata=True):
        return rows

    def declared(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            batch.column(f.name).cast(f.type)
            if f.name in batch.schema.names
            else pa.nulls(batch.num_rows, f.type)
            for f in schema
        ]
        return pa.record_batch(columns, schema=schema)

    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    return pa.RecordBatchReader.from_batches(schema, map(declared, batches))
