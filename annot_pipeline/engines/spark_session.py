"""A Spark session and what it is asked, or the reason in words why there is no answer."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from annot_pipeline.errors import ConfigError, EngineError, Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

JAVA = 17
"""The least version that Spark 4 runs on."""
SECONDS = 5.0
"""That a master has to answer a knock."""
LOOK = 10.0
"""Seconds between looks at a cluster that is waited for."""
ALONE = 120.0
"""Seconds without any executor after which a cluster counts as gone: Spark waits for ever."""
CONNECT = "sc://"
"""Begins addresses of Spark Connect, which needs no Java here."""
CONNECT_PORT = 15002
USUAL = {
    "spark.app.name": "annot-pipeline",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

LOG = "Spark's own log tells more: set engine.config spark.log.level to INFO"
ENDED = re.compile(
    r"stopped SparkContext|SparkContext was shut down|removed our application|is null$"
)
"""What Spark says, in one or another thread, when its context has ended; no null is ours."""
GOES_ON = "goes on with the stages that are done"
LOOK_THERE = (
    "look at the logs of its master and workers; engine.master has the port of the master, 7077 "
    "most often, not that of its web page"
)

_started: list[SparkSession] = []
"""The session that was started here, if it was not there before."""


@dataclass(frozen=True)
class Session:
    """A session of Spark.

    Parameters
    ----------
    spark
        Itself.
    address
        Of the cluster; empty if the session was there before, and its cluster is not ours to judge.
    stores
        Folders that executors are known to share.
    """

    spark: SparkSession
    address: str
    stores: set[Path] = field(default_factory=set)

    def collected(
        self,
        asked: Callable[[SparkSession], DataFrame],
        what: str,
        do: str = LOG,
        seconds: float = float("inf"),
    ) -> list[Row]:
        """Rows of a data frame.

        They are asked for in a thread: what waits for Java takes Ctrl-C for an error of the
        connection.

        Raises
        ------
        EngineError
            See `in_words`; or nobody is there any more who could run it.
        TimeoutError
            There is no answer in so many seconds.
        """
        answers: list[list[Row]] = []
        errors: list[BaseException] = []

        def ask() -> None:
            try:
                with in_words(what, do):
                    answers.append(asked(self.spark).collect())
            except BaseException as error:
                errors.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        since = seen = time.monotonic()
        while asking.is_alive():
            asking.join(min(LOOK, seconds))
            now = time.monotonic()
            seen = now if self._is_served() else seen
            if now - since >= seconds:
                break
            if now - seen >= ALONE:
                raise self._is_gone(what)
        if errors:
            raise errors[0]
        if not answers:
            raise TimeoutError
        return answers[0]

    def _is_served(self) -> bool:
        """Whether anybody is there to run jobs, as far as can be told from here.

        Executors do without their master, and a master without executors may get some.
        """
        if not self.address or re.match(r"local(\[|$)", self.address):
            return True
        try:
            if self.address.startswith(CONNECT):
                check_masters(self.address)
                return True
            context = self.spark.sparkContext._jsc.sc()
            return len(context.statusTracker().getExecutorInfos()) > 1  # one is this machine
        except EngineError:
            return False
        except Exception:  # py4j raises anything; who asks for rows meets it too, and says so
            return True

    def _is_gone(self, what: str) -> EngineError:
        none = "no server" if self.address.startswith(CONNECT) else "no executor"
        do = f"{LOOK_THERE}; the next build {GOES_ON}"
        problem = Problem("engine", f"{none} has been there for {ALONE:.0f} s", do=do)
        title = f"{what}: the cluster at {_told(self.address)} is gone"
        return EngineError(title, [problem], may_pass=True)


@lru_cache(maxsize=1)
def spark_session(master: str | None, config: tuple[tuple[str, str], ...]) -> Session:
    """The session of this process; one with other settings that was started here ends.

    Parameters
    ----------
    master
        As Spark takes it: ``local[2]``, ``spark://host:7077``, ``k8s://...``, ``yarn``, or
        ``sc://host`` for Spark Connect. None: the session that is there, as in a notebook, or
        what Spark's own files and environment say (``SPARK_REMOTE``: an address of Connect).
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
        from pyspark.sql import SparkSession
    except ImportError:
        do = "pip install 'annot-pipeline[spark]', or set engine.kind: local"
        problem = Problem("engine.kind", "Apache Spark (pyspark) is not installed", do=do)
        raise ConfigError("the engine cannot run", [problem]) from None
    end_session()
    with in_words("Spark cannot be asked for a session"):
        there = SparkSession.getActiveSession()
    if there is not None:
        return Session(there, "")
    address = master or os.environ.get("SPARK_REMOTE", "")
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
    with in_words(f"{_told(address) or 'Spark'}: no session"), ThreadPoolExecutor(1) as thread:
        session = thread.submit(builder.getOrCreate).result()
    if address:
        _started.append(session)
    return Session(session, address)


def end_session() -> None:
    """Forget the session; stop it, and what it runs, if it was started here.

    One whose cluster went away answers no more, and would be found again by the next try.
    """
    spark_session.cache_clear()
    while _started:
        with suppress(Exception):  # py4j raises anything where Java is gone
            _started.pop().stop()


def _told(address: str) -> str:
    """An address without its parameters, of which one may be a token."""
    return address.partition("/;")[0]


@contextmanager
def in_words(what: str, do: str = LOG) -> Iterator[None]:
    """Errors of Spark as errors that say what could not be done, and what to do.

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
        elif type(error).__module__.partition(".")[0] not in {"pyspark", "py4j"}:
            cause = f"the connection to Spark broke ({type(error).__name__}: {cause})"
            do = f"build again, which {GOES_ON}; if Java was killed here, give it memory"
        problem = Problem("", cause, do=do)
        raise EngineError(f"{what}: Spark gave up", [problem], may_pass=True) from error


def collected(
    asked: Callable[[], DataFrame],
    what: str,
    do: str = LOG,
    seconds: float | None = None,
) -> list[Row]:
    """Rows of a data frame.

    They are asked for in a thread: what waits for Java takes Ctrl-C for an error of the connection.

    Raises
    ------
    EngineError
        See `in_words`.
    TimeoutError
        There is no answer in so many seconds.
    """
    answers: list[list[Row]] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            with in_words(what, do):
                answers.append(asked().collect())
        except BaseException as error:
            errors.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TimeoutError
    return answers[0]


def _cause(text: str) -> str:
    """The line of a long trace that says what happened."""
    lines = [re.sub(r"^\s*(: |Caused by: )?|\s+$", "", line) for line in text.splitlines()]
    lines = list(filter(None, lines))
    said = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception)\b.*: ", line)]
    return (said or lines or ["no word"])[-1 if said else 0][:500]


def check_java() -> None:
    """Refuse to start where no Java is that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    do = f"install Java {JAVA} or later (Debian: openjdk-{JAVA}-jre-headless), or set JAVA_HOME"
    found = None
    if java:
        try:
            told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)  # noqa: S603
            found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
        except (OSError, subprocess.SubprocessError):
            pass
    if found is None:
        where = "JAVA_HOME" if home else "PATH"
        problem = Problem(where, f"no Java: {java or 'java'} does not run", do=do)
        raise ConfigError("Spark cannot run", [problem])
    if int(found[1]) < JAVA:
        what = f"{java} is Java {found[1]}"
        problem = Problem("", what, allowed=f"Java {JAVA} or later", do=do)
        raise ConfigError("Spark cannot run", [problem])


def check_masters(address: str) -> None:
    """Knock at a standalone master, or a server of Spark Connect.

    Spark itself tries for minutes, and then says little.
    """
    if not address.startswith(("spark://", CONNECT)):
        return
    wrong = []
    for place in address.partition("://")[2].partition("/")[0].split(","):
        host, port = re.fullmatch(r"(.*?)(?::(\d+))?", place).groups()  # type: ignore[union-attr]
        try:
            where = (host.strip("[]"), int(port or CONNECT_PORT))
            socket.create_connection(where, SECONDS).close()
        except OSError as error:
            wrong.append(f"{place}: {error}")
        else:
            return
    do = "start it, or correct engine.master"
    problem = Problem("engine.master", "; ".join(wrong), do=do)
    raise EngineError(f"no master answers at {_told(address)}", [problem], may_pass=True)
