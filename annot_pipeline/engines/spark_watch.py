"""Whether anybody is there who runs jobs: Spark itself waits for ever, and says nothing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from annot_pipeline.engines.spark_checks import check_masters
from annot_pipeline.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which holds no Java here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def watched(spark: SparkSession, address: str) -> Iterator[Callable[[], bool]]:
    """A look at who is there, as far as can be told from here.

    Of a cluster its executors count: they do without their master, and a master without executors
    may get some. A server of Connect must answer, and, where it tells how many tasks are running,
    run any of those that are asked for meanwhile.
    """
    if not is_remote(spark):
        yield lambda: _has_executors(spark)
        return
    running: deque[int] = deque(maxlen=1)

    def tell(*, inflight_tasks: int, **_: object) -> None:
        running.append(inflight_tasks)

    spark.registerProgressHandler(tell)
    try:
        yield lambda: _answers(address) and any(running or [1])
    finally:
        spark.removeProgressHandler(tell)


def _has_executors(spark: SparkSession) -> bool:
    try:
        context = spark.sparkContext
        if re.match(r"local(\[|$)", context.master):
            return True
        found = context._jsc.sc().statusTracker().getExecutorInfos()
        return len(found) > 1  # one is this machine
    except Exception:  # py4j raises anything; who asks for rows meets it too, and says so
        return True


def _answers(address: str) -> bool:
    try:
        check_masters(address)
    except EngineError:
        return False
    return True
