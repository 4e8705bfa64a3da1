"""Apache Spark: a job is a task of one Spark stage, its result a row.

Jobs are put into the store, pickled, where executors find them; so nothing large passes through the
driver, and any way to reach a cluster will do. Spark gives a lost executor's jobs to others.
"""

from __future__ import annotations

import pickle
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from annot_pipeline.config import Engine as EngineSettings
from annot_pipeline.engines.spark_session import end_session, spark_session
from annot_pipeline.engines.spark_workers import check_workers
from annot_pipeline.errors import AnnotError

T = TypeVar("T")

RESULT = "place long, pickled binary"


@dataclass(frozen=True)
class SparkEngine:
    """Jobs on the executors of a Spark cluster that share a folder with this machine.

    Parameters
    ----------
    settings
        ``master``, ``config``, ``wait_seconds``.
    store
        The folder.
    progress
        Told that executors are waited for.
    """

    settings: EngineSettings
    store: Path
    progress: Callable[[str], None] = lambda _: None

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        at_once: int | None = None,  # noqa: ARG002 - Spark has its own cores a task
        done: Callable[[int], None] = lambda _: None,  # noqa: ARG002 - Spark tells it itself
    ) -> list[T]:
        """What the jobs return, in their order; see `Engine`."""
        if not jobs:
            return []
        session = spark_session(self.settings.master, tuple(sorted(self.settings.config.items())))
        asked = partial(session.rows, wait=self.settings.wait_seconds, progress=self.progress)
        try:
            if self.store not in session.stores:
                check_workers(asked, self.store)
                session.stores.add(self.store)
            with _handed_over(self.store, jobs) as folder:
                make, n = partial(_made, str(folder)), len(jobs)
                rows = asked(
                    lambda spark: spark.range(0, n, 1, n).mapInArrow(make, RESULT),
                    "jobs of a stage",
                )
        except BaseException:  # Ctrl-C, too
            end_session()
            raise
        rows.sort(key=lambda row: row["place"])
        results = [pickle.loads(row["pickled"]) for row in rows]  # noqa: S301 - of our own jobs
        for result in results:
            if isinstance(result, AnnotError):
                raise result
        return results


@contextmanager
def _handed_over(store: Path, jobs: Sequence[Callable[[], Any]]) -> Iterator[Path]:
    """A folder with the jobs, by place."""
    folder = store / f".tmp-jobs-{uuid.uuid4().hex}"
    folder.mkdir()
    try:
        for place, job in enumerate(jobs):
            (folder / str(place)).write_bytes(pickle.dumps(job))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(folder: str, places: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On an executor: run jobs; errors meant for the user are results, others are tried again."""
    for batch in places:
        for place in batch.column(0).to_pylist():
            job = pickle.loads((Path(folder) / str(place)).read_bytes())  # noqa: S301 - our own
            try:
                result = job()
            except AnnotError as error:
                result = error
            yield pa.record_batch(
                {"place": [place], "pickled": pa.array([pickle.dumps(result)], pa.binary())}
            )
