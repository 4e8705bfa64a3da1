"""Whether executors can do what they will be asked: before any job, in words that help."""

from __future__ import annotations

import json
import platform
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.engines.spark_session import Session
from annot_pipeline.errors import ConfigError, EngineError, Problem
from annot_pipeline.version import __version__, numeric_packages

SECONDS = 120.0
"""That the first executor may take to start."""
PACKAGES = (
    "install annot-pipeline[spark] in the Python of executors, which PYSPARK_PYTHON names, or ship "
    "it: docs/spark.md"
)
LOOKS = 16
"""Looks at executors: as many jobs as will meet most of a small cluster."""


def check_workers(session: Session, store: Path) -> None:
    """See that executors have the packages of this machine, and the store; once a session.

    Raises
    ------
    ConfigError
        Their Python or packages are others, or they do not see the store.
    EngineError
        No executor starts.
    """
    if store in session.stores:
        return
    token = store / f".tmp-token-{uuid.uuid4().hex}"
    token.write_text(token.name)
    try:
        told = _asked(session, _look(str(token), [*numeric_packages(), "annot-pipeline"]))
    finally:
        token.unlink(missing_ok=True)
    here = numeric_packages() | {"annot-pipeline": __version__, "python": platform.python_version()}
    problems = {str(p): p for found in told for p in _wrong(found, here, store)}
    if problems:
        title = "executors cannot make what this machine would: nothing was built"
        raise ConfigError(title, list(problems.values()))
    session.stores.add(store)


def _look(
    token: str, packages: list[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What executors are asked; goes there whole, as they may lack this module."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import json
        import pathlib
        import platform
        import socket
        import uuid
        from importlib import metadata

        import pyarrow as pa

        found: dict[str, Any] = {"host": socket.gethostname(), "python": platform.python_version()}
        for name in packages:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = None
        try:
            found["store"] = pathlib.Path(token).read_text() == pathlib.Path(token).name
            probe = pathlib.Path(f"{token}-{uuid.uuid4().hex}")
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            found["store"] = str(error)
        for batch in batches:
            yield pa.record_batch({"told": [json.dumps(found)] * batch.num_rows})

    return look


def _asked(session: Session, look: Callable[..., Any]) -> list[dict[str, Any]]:
    """What executors answer; an error if none starts in time."""
    try:
        told = session.collected(
            lambda spark: spark.range(0, LOOKS, 1, LOOKS).mapInArrow(look, "told string"),
            "executors were asked what they have",
            PACKAGES,
            SECONDS,
        )
    except TimeoutError:
        do = "look whether workers are registered and have the memory and cores asked for"
        problem = Problem("engine", f"no executor answered in {SECONDS:.0f} s", do=do)
        raise EngineError("Spark runs nothing", [problem], may_pass=True) from None
    return [json.loads(row["told"]) for row in told]


def _wrong(found: dict[str, Any], here: dict[str, str], store: Path) -> Iterator[Problem]:
    host = found["host"]
    if found["store"] is not True:
        what = f"the store cannot be read and written there: {found['store'] or 'another folder'}"
        do = "set store to a folder that the driver and all executors share, by the same path"
        yield Problem(f"executor on {host}", what, allowed=str(store), do=do)
    for name, version in here.items():
        if found[name] is None:
            do = f"install {name}=={version} where executors run, or ship it: docs/spark.md"
            yield Problem(f"executor on {host}", f"{name} is not installed", do=do)
        elif found[name] != version:
            do = "give them the same: other versions can give other bytes (docs/spark.md)"
            what = f"{name} {found[name]}"
            yield Problem(f"executor on {host}", what, allowed=f"{version}, as here", do=do)
