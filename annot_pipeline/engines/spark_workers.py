"""Whether executors can do what they will be asked: before any job, in words that help."""

from __future__ import annotations

import json
import platform
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.version import __version__, numeric_packages

if TYPE_CHECKING:
    from pyspark.sql import Row

PACKAGES = (
    "install annot-pipeline[spark] in the Python of executors, which PYSPARK_PYTHON names, or ship "
    "it: docs/spark.md"
)
LOOKS = 16
"""Looks at executors: as many jobs as will meet most of a small cluster."""


def check_workers(rows: Callable[..., list[Row]], store: Path) -> None:
    """See that executors have the packages of this machine, and the store.

    Parameters
    ----------
    rows
        How they are asked: `Session.rows`.
    store
        Where they write what they make.

    Raises
    ------
    ConfigError
        Their Python or packages are others, or they do not see the store.
    EngineError
        No executor starts, or none has a Python with Arrow.
    """
    token = store / f".tmp-token-{uuid.uuid4().hex}"
    token.write_text(token.name)
    try:
        look = _look(str(token), [*numeric_packages(), "annot-pipeline"])
        told = rows(
            lambda spark: spark.range(0, LOOKS, 1, LOOKS).mapInArrow(look, "told string"),
            "executors were asked what they have",
            PACKAGES,
        )
    finally:
        token.unlink(missing_ok=True)
    here = numeric_packages() | {"annot-pipeline": __version__, "python": platform.python_version()}
    problems = {str(p): p for row in told for p in _wrong(json.loads(row["told"]), here, store)}
    if problems:
        title = "executors cannot make what this machine would: nothing was built"
        raise ConfigError(title, list(problems.values()))


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
