"""Apache Spark: a job is a task of one Spark stage, its result a row.

Jobs are put into the store, pickled, where executors find them, and their hashes go through Spark;
so nothing large passes through the driver, and any way to reach a cluster will do. Spark gives a
lost executor's jobs to others.
"""

from __future__ import annotations

import json
import pickle
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import Engine as EngineSettings
from annot_pipeline.errors import AnnotError, Problem, StoreError
from annot_pipeline.runtime.blas_threads import one_blas_thread
from annot_pipeline.runtime.executors.spark_session import end_session, spark_session
from annot_pipeline.runtime.executors.spark_workers import (
    check_workers,
    refuse_others,
    traits_there,
)
from annot_pipeline.runtime.executors.traits import traits
from annot_pipeline.storage.files import read_regular

T = TypeVar("T")

RESULT = "place long, pickled binary, told string"
"""Of a job: what it returned; or what its executor has, where that is not what this machine has."""


@dataclass(frozen=True)
class SparkEngine:
    """Runs jobs on the executors of a Spark cluster that share a folder with this machine.

    Parameters
    ----------
    settings
        ``master``, ``config``, ``wait_seconds``.
    store
        The folder.
    progress
        Called with a message while executors are awaited.
    """

    settings: EngineSettings
    store: Path
    progress: Callable[[str], None] = lambda _: None

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        at_once: int | None = None,  # noqa: ARG002 - Spark has its own cores a task
        done: Callable[[int], None] = lambda _: None,
    ) -> list[T]:
        """Return the results of the jobs, in their order; see `Engine`."""
        if not jobs:
            return []
        session = spark_session(self.settings.master, tuple(sorted(self.settings.config.items())))
        read_rows = partial(session.rows, wait=self.settings.wait_seconds, progress=self.progress)
        try:
            if self.store not in session.stores:
                check_workers(read_rows, self.store)
                session.stores.add(self.store)
            with _handed_over(self.store, jobs) as (folder, hashes):
                make, n = _maker(str(folder), hashes, traits()), len(jobs)
                rows = read_rows(
                    lambda spark: spark.range(0, n, 1, n).mapInArrow(make, RESULT),
                    "jobs of a stage",
                    done=lambda n_done: done(n_done) if n_done < n else None,
                )
        except BaseException:  # Ctrl-C, too
            end_session()
            raise
        refuse_others([parse_bounded_json(row["told"]) for row in rows if row["told"]], self.store)
        rows.sort(key=lambda row: row["place"])
        results = [pickle.loads(row["pickled"]) for row in rows]  # noqa: S301 - of our own jobs
        for result in results:
            if isinstance(result, AnnotError):
                raise result
        return results


@contextmanager
def _handed_over(store: Path, jobs: Sequence[Callable[[], Any]]) -> Iterator[tuple[Path, bytes]]:
    """Write the jobs to a folder, by place, and yield it with their hashes joined.

    They are for the user that builds alone: settings name judges.
    """
    folder = store / f".tmp-jobs-{uuid.uuid4().hex}"
    folder.mkdir(mode=0o700)
    try:
        hashes = bytearray()
        for position, job in enumerate(jobs):
            pickled = pickle.dumps(job)
            hashes += sha256(pickled).digest()
            (folder / str(position)).touch(mode=0o600)
            (folder / str(position)).write_bytes(pickled)
        yield folder, bytes(hashes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _maker(
    folder: str, hashes: bytes, here: dict[str, Any]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that runs jobs on an executor that is as this machine is.

    An executor may be new: it came, or came again, after the first look.
    """
    read_traits = traits_there(list(here))

    def make(places: Iterable[Any]) -> Iterator[Any]:

        import pyarrow as pa

        traits = read_traits()
        differing = None
        if any(traits.get(name) != expected for name, expected in here.items()):
            differing = json.dumps(traits)
        for batch in places:
            for position in batch.column(0).to_pylist():
                pickled = None
                if differing is None:
                    from annot_pipeline.runtime.executors.spark import run_job

                    pickled = run_job(folder, position, hashes)
                yield pa.record_batch(
                    {
                        "place": [position],
                        "pickled": pa.array([pickled], pa.binary()),
                        "told": pa.array([differing], pa.string()),
                    }
                )

    return make


def run_job(folder: str, position: int, hashes: bytes) -> bytes:
    """Run a job on an executor and return its result, or an error meant for the user.

    The store is a folder of many machines. What to run is told by Spark: a job is opened if it has
    the hash that came that way.
    """
    path = Path(folder, str(position))
    pickled = read_regular(path)
    size = sha256().digest_size
    if sha256(pickled).digest() != hashes[position * size :][:size]:
        do = "see who may write into the store (docs/spark.md), and build again"
        problem = Problem(str(path), "is not the job that was handed over: it is not run", do=do)
        return pickle.dumps(StoreError("a job was changed in the store", [problem]))
    try:
        with one_blas_thread():
            return pickle.dumps(pickle.loads(pickled)())  # noqa: S301 - our own
    except AnnotError as error:
        return pickle.dumps(error)
