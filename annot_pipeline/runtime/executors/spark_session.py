"""The session of Spark of this process, and what it is asked."""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from annot_pipeline.errors import ConfigError, EngineError, Problem
from annot_pipeline.runtime.executors.spark_checks import (
    CONNECT,
    check_java,
    check_masters,
    without_parameters,
)
from annot_pipeline.runtime.executors.spark_watch import Watch, is_remote, watched
from annot_pipeline.runtime.executors.spark_words import GOES_ON, LOG, LOOK_THERE, in_words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

LOOK = 10.0
"""Seconds between looks at who is there, and at how many jobs are done."""
PROGRESS_INTERVAL_S = 30.0
"""Seconds without anybody after which the user is told, again and again."""
STOP = 20.0
"""Seconds that a session may take to end: one whose cluster is gone may never."""
USUAL = {
    "spark.app.name": "annot-pipeline",
    "spark.log.level": "OFF",  # what is raised says it in words, without the frames of Java
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True)
class Session:
    """Represents a session of Spark.

    Parameters
    ----------
    spark
        Itself.
    address
        As it was asked for; empty where Spark's own files say it, or somebody else did.
    ours
        Whether it was started here.
    stores
        Folders that executors are known to share.
    """

    spark: SparkSession
    address: str
    ours: bool
    stores: set[Path] = field(default_factory=set)

    def rows(
        self,
        make_frame: Callable[[SparkSession], DataFrame],
        what: str,
        do: str = LOG,
        *,
        wait: float,
        progress: Callable[[str], None],
        done: Callable[[int], None] = lambda _: None,
    ) -> list[Row]:
        """Return the rows of a data frame.

        They are asked for in a thread: what waits for Java takes Ctrl-C for an error of the
        connection. Whatever ends the waiting, Spark works on them no more.

        Parameters
        ----------
        asked
            Makes the data frame.
        what
            Title of errors.
        do
            What they say is to be done.
        wait
            Seconds without anybody who could run it after which the cluster counts as gone: Spark
            itself waits for ever.
        progress
            Called if no executor is there.
        done
            Called with the number of tasks that are done, when it grows.

        Raises
        ------
        EngineError
            See `in_words`; or the cluster is gone.
        """
        answers: list[list[Row]] = []
        errors: list[BaseException] = []
        tag = f"annot-{uuid.uuid4().hex}"
        ended = threading.Event()  # Ctrl-C in Thread.join marks a thread as dead

        def ask() -> None:
            try:
                with in_words(what, do):
                    self._tag(tag)
                    answers.append(make_frame(self.spark).collect())
            except BaseException as error:
                errors.append(error)
            ended.set()

        try:
            with watched(self.spark, self.address, tag) as watch:
                threading.Thread(target=ask, daemon=True).start()
                self._wait_for(ended, watch, what, wait, progress, done)
        finally:
            if not ended.is_set():
                _within(STOP, lambda: self._cancel(tag))
        if errors:
            raise errors[0]
        return answers[0]

    def _tag(self, tag: str) -> None:
        """Name what this thread asks for from now on."""
        if is_remote(self.spark):
            self.spark.addTag(tag)
        else:
            self.spark.sparkContext.addJobTag(tag)

    def _cancel(self, tag: str) -> None:
        """Stop the jobs of a name; without Connect ``interruptTag`` of a session finds none."""
        if is_remote(self.spark):
            self.spark.interruptTag(tag)
        else:
            self.spark.sparkContext.cancelJobsWithTag(tag)

    def _wait_for(
        self,
        ended: threading.Event,
        watch: Watch,
        what: str,
        wait: float,
        progress: Callable[[str], None],
        done: Callable[[int], None],
    ) -> None:
        active_at = reported_at = time.monotonic()
        n_reported = 0
        while not ended.wait(min(LOOK, wait)):
            served, n_done, now = watch.is_served(), watch.n_done(), time.monotonic()
            if n_done > n_reported:
                done(n_done)
                n_reported = n_done
            if served:
                active_at = reported_at = now
            elif now - active_at >= wait:
                raise self._is_gone(what, wait)
            elif now - reported_at >= PROGRESS_INTERVAL_S:
                progress(
                    f"{what}: no executor has worked for {now - active_at:.0f} of {wait:.0f} s"
                )
                reported_at = now

    def _is_gone(self, what: str, wait: float) -> EngineError:
        none = "no executor has worked" if is_remote(self.spark) else "no executor has been there"
        do = f"{LOOK_THERE}; the next build {GOES_ON}"
        problem = Problem("engine", f"{none} for {wait:.0f} s (engine.wait_seconds)", do=do)
        master = without_parameters(self.address) or "Spark"
        return EngineError(f"{what}: the cluster of {master} is gone", [problem], may_pass=True)

    def stop(self) -> None:
        """End the session, and the jobs that it runs."""
        if is_remote(self.spark):
            os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # else no other kind can follow
            try:
                check_masters(self.address)
            except EngineError:  # it would be told for minutes that it may forget the session
                self.spark.release_session_on_close = False
        self.spark.stop()


_started: list[Session] = []


@lru_cache(maxsize=1)
def spark_session(master: str | None, config: tuple[tuple[str, str], ...]) -> Session:
    """Return the session of this process; end one with other settings started here.

    Parameters
    ----------
    master
        As Spark takes it: ``local[2]``, ``spark://host:7077``, ``k8s://...``, ``yarn``, or
        ``sc://host`` for Spark Connect. None: what Spark's own files and environment say
        (``SPARK_REMOTE``: an address of Connect). A session that is there already, as in a
        notebook, is taken as it is.
    config
        Settings of Spark by name.

    Raises
    ------
    ConfigError
        Spark or Java is missing, or too old.
    EngineError
        The master cannot be reached, or starts nothing.
    """
    # nothing here is done by way of pandas
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        do = "pip install 'annot-pipeline[spark]', or set engine.kind: local"
        problem = Problem("engine.kind", "Apache Spark (pyspark) is not installed", do=do)
        raise ConfigError("the engine cannot run", [problem]) from None
    end_session()
    address = master or os.environ.get("SPARK_REMOTE", "")
    with in_words("Spark cannot be asked for a session"):
        try:
            return Session(SparkSession.active(), "", ours=False)
        except PySparkRuntimeError:  # there is none
            pass
    builder = SparkSession.builder
    check_masters(address)
    if address.startswith(CONNECT):
        builder = builder.remote(address)
        usual = {}  # the server was started with its own
    else:
        check_java()
        builder = builder.master(address) if address else builder
        usual = USUAL
    if address.startswith("local"):  # else what executors have is theirs to say
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in (usual | dict(config)).items():
        builder = builder.config(name, value)
    # in a thread, where Spark does not take over Ctrl-C: its handler asks Java to cancel, on the
    # connection that waits for an answer
    title = f"{without_parameters(address) or 'Spark'}: no session"
    with in_words(title), ThreadPoolExecutor(1) as thread:
        session = Session(thread.submit(builder.getOrCreate).result(), address, ours=True)
    _started.append(session)
    return session


def end_session() -> None:
    """Forget the session; stop it, and what it runs, if it was started here.

    One whose cluster went away answers no more, and would be found again by the next try.
    """
    spark_session.cache_clear()
    while _started:
        _within(STOP, _started.pop().stop)


def _within(seconds: float, do: Callable[[], object]) -> None:
    """Do something that may fail or hang where Spark is gone, and wait for it so long."""

    def try_() -> None:
        with suppress(Exception):  # nothing is left to be ended
            do()

    trying = threading.Thread(target=try_, daemon=True)
    trying.start()
    trying.join(seconds)
