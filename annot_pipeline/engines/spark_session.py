"""A Spark session, or the reason in words why there is none."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from annot_pipeline.errors import ConfigError, EngineError, Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = 17
"""The least version that Spark 4 runs on."""
SECONDS = 5.0
"""That a master has to answer a knock."""
USUAL = {
    "spark.app.name": "annot-pipeline",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@lru_cache(maxsize=1)
def spark_session(master: str | None, config: tuple[tuple[str, str], ...]) -> SparkSession:
    """The session of this process.

    Parameters
    ----------
    master
        As Spark takes it: ``local[2]``, ``spark://host:7077``, ``k8s://...``, ``yarn``, or
        ``sc://host`` for Spark Connect. None: the session that is there, as in a notebook, or
        what Spark's own files and environment say.
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
    session = SparkSession.getActiveSession()
    if session is not None:
        return session
    address = master or ""
    builder = SparkSession.builder
    if address.startswith("sc://"):
        builder = builder.remote(address)
    else:
        check_java()
        check_masters(address)
        builder = builder.master(address) if address else builder
    if address.startswith("local"):  # else what executors have is theirs to say
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in (USUAL | dict(config)).items():
        builder = builder.config(name, value)
    with in_words(f"{address or 'Spark'}: no session"):
        return builder.getOrCreate()


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Errors of Spark as errors that say what could not be done."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, RuntimeError) as error:
        do = "Spark's own log tells more: set engine.config spark.log.level to INFO"
        problem = Problem("", _cause(str(error)), do=do)
        raise EngineError(f"{what}: Spark gave up", [problem], may_pass=True) from error


def _cause(text: str) -> str:
    """The line of a long trace that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
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
    """Knock at a standalone master: Spark itself tries for a minute and then says little."""
    if not address.startswith("spark://"):
        return
    wrong = []
    for place in address.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), SECONDS).close()
        except (OSError, ValueError) as error:
            wrong.append(f"{place}: {error}")
        else:
            return
    do = "start it, or correct engine.master"
    problem = Problem("engine.master", "; ".join(wrong), do=do)
    raise EngineError(f"no master answers at {address}", [problem], may_pass=True)
