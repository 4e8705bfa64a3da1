"""The session of Spark of this process: what it needs here, and what it is asked.

Who is there to run jobs, and how many are done: Spark itself waits for ever, in silence. What Spark
raises is told in words for people: what could not be done, why, and what to do.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annot_pipeline.errors import ConfigError, EngineError, Problem

JAVA = 17
"""The least version that Spark 4 runs on."""
SECONDS = 5.0
"""That a master has to answer a knock."""
CONNECT = "sc://"
"""Begins addresses of Spark Connect, which needs no Java here."""
CONNECT_PORT = 15002


def without_parameters(address: str) -> str:
    """Return an address without its parameters, one of which may be a token."""
    return address.partition("/;")[0]


def check_java() -> None:
    """Refuse to start where there is no Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    do = f"install Java {JAVA} or later (Debian: openjdk-{JAVA}-jre-headless), or set JAVA_HOME"
    version = None
    if java:
        try:
            output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)  # noqa: S603
            version = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
        except (OSError, subprocess.SubprocessError):
            pass
    if version is None:
        where = "JAVA_HOME" if home else "PATH"
        problem = Problem(where, f"no Java: {java or 'java'} does not run", do=do)
        raise ConfigError("Spark cannot run", [problem])
    if int(version[1]) < JAVA:
        what = f"{java} is Java {version[1]}"
        problem = Problem("", what, allowed=f"Java {JAVA} or later", do=do)
        raise ConfigError("Spark cannot run", [problem])


def check_masters(address: str) -> None:
    """Check that a standalone master, or a server of Spark Connect, can be reached.

    Spark itself tries for minutes, and then says little.
    """
    if not address.startswith(("spark://", CONNECT)):
        return
    wrong = []
    for master in address.partition("://")[2].partition("/")[0].split(","):
        host, port = re.fullmatch(r"(.*?)(?::(\d+))?", master).groups()  # type: ignore[union-attr]
        try:
            where = (host.strip("[]"), int(port or CONNECT_PORT))
            socket.create_connection(where, SECONDS).close()
        except OSError as error:
            wrong.append(f"{master}: {error}")
        else:
            return
    do = "start it, or correct engine.master"
    problem = Problem("engine.master", "; ".join(wrong), do=do)
    title = f"no master answers at {without_parameters(address)}"
    raise EngineError(title, [problem], may_pass=True)


LOG = "Spark's own log has more: set engine.config spark.log.level to INFO"
GOES_ON = "continues from the finished stages"
LOOK_THERE = (
    "look at the logs of its master and workers; engine.master has the port of the master, 7077 "
    "most often, not that of its web page"
)
ENDED = re.compile(
    r"stopped SparkContext|SparkContext was shut down|removed our application|is null$"
)
"""What Spark says, in one or another thread, when its context has ended; no null is ours."""

NO_PYTHON = re.compile(r"Cannot run program")
"""What Java says where an executor's Python is not to be found; behind it stands a number alone."""


@contextmanager
def in_words(what: str, do: str = LOG) -> Iterator[None]:
    """Turn errors of Spark into errors that say what failed, and what to do.

    Whatever is raised is Spark's: of a connection that broke py4j raises ``KeyError('p')``.
    """
    try:
        yield
    except Exception as error:
        cause = _cause(str(error))
        if getattr(error, "getCondition", lambda: None)() == "JAVA_GATEWAY_EXITED":
            do = "Java said why above: correct engine.master, engine.config or the environment"
        elif ENDED.search(cause):
            cause, do = f"the cluster ended the application ({cause})", LOOK_THERE
        elif isinstance(error, FileNotFoundError):
            cause, do = f"Spark's own files are not there ({cause})", "correct or unset SPARK_HOME"
        elif NO_PYTHON.search(cause):
            do = "PYSPARK_PYTHON names the Python of executors: correct it there, or here"
        elif isinstance(error, OSError | LookupError):
            cause = f"the connection to Spark broke ({type(error).__name__}: {cause})"
            do = f"build again, which {GOES_ON}; if Java was killed here, give it memory"
        problem = Problem("", cause, do=do)
        raise EngineError(f"{what}: Spark gave up", [problem], may_pass=True) from error


def _cause(text: str) -> str:
    """Return the line of a long trace that says what happened."""
    lines = [re.sub(r"^(: |Caused by: )", "", line.lstrip()).rstrip() for line in text.splitlines()]
    lines = list(filter(None, lines))
    error_lines = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception)\b.*: ", line)]
    error_lines = [line for line in error_lines if NO_PYTHON.search(line)] or error_lines
    return (error_lines or lines or ["no word"])[-1 if error_lines else 0][:500]


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
