"""Who is there to run jobs, and how many are done: Spark itself waits for ever, in silence."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from annot_pipeline.errors import EngineError
from annot_pipeline.runtime.executors.spark_checks import check_masters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_remote(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, without Java in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True)
class Watch:
    """Holds the functions that tell the state of a request to Spark.

    Parameters
    ----------
    is_served
        Whether anybody is at work, or may be.
    n_done
        How many tasks have ended.
    """

    is_served: Callable[[], bool]
    n_done: Callable[[], int]


@contextmanager
def watched(spark: SparkSession, address: str, tag: str) -> Iterator[Watch]:
    """Return a watch on executors and on finished jobs, as far as visible from here.

    Of a cluster its executors count: they do without their master, and a master without executors
    may get some. A server of Connect must answer, and, where it tells how many tasks are running,
    run any of those that are asked for meanwhile.

    Parameters
    ----------
    spark, address
        The session and its address.
    tag
        Of the jobs of Spark; Connect tells of all that the session asks for.
    """
    if not is_remote(spark):
        yield Watch(partial(_has_executors, spark), partial(_n_done, spark, tag))
        return
    running: deque[int] = deque(maxlen=1)
    n_done: deque[int] = deque([0], maxlen=1)

    def tell(*, stages: Iterable[Any] | None, inflight_tasks: int, **_: object) -> None:
        running.append(inflight_tasks)
        n_done.append(sum(stage.num_completed_tasks for stage in stages or ()))

    spark.registerProgressHandler(tell)
    try:
        yield Watch(lambda: _answers(address) and any(running or [1]), lambda: n_done[0])
    finally:
        spark.removeProgressHandler(tell)


def _n_done(spark: SparkSession, tag: str) -> int:
    try:
        context = spark.sparkContext
        tracker = context.statusTracker()
        jobs = map(tracker.getJobInfo, context._jsc.sc().statusTracker().getJobIdsForTag(tag))
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage)
    except Exception:  # py4j raises anything; who asks for rows meets it too, and says so
        return 0


def _has_executors(spark: SparkSession) -> bool:
    try:
        context = spark.sparkContext
        if re.match(r"local(\[|$)", context.master):
            return True
        executors = context._jsc.sc().statusTracker().getExecutorInfos()
        return len(executors) > 1  # one is this machine
    except Exception:  # py4j raises anything; who asks for rows meets it too, and says so
        return True


def _answers(address: str) -> bool:
    try:
        check_masters(address)
    except EngineError:
        return False
    return True
