"""What Spark raises, in words for people: what could not be done, why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from annot_pipeline.errors import EngineError, Problem

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
