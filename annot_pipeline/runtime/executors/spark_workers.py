"""Whether executors make what this machine would: looked at before any job, and before each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.executors.traits import traits

if TYPE_CHECKING:
    from pyspark.sql import Row

PACKAGES = (
    "install annot-pipeline[spark] in the Python of executors, which PYSPARK_PYTHON names, or ship "
    "it: docs/spark.md"
)
LOOKS = 16
"""Looks at executors: as many jobs as will meet most of a small cluster."""


def check_workers(rows: Callable[..., list[Row]], store: Path) -> None:
    """Check that executors match this machine, and share the store.

    Those that come later are looked at by the first job that they are given.

    Parameters
    ----------
    rows
        How they are asked: `Session.rows`.
    store
        Where they write what they make.

    Raises
    ------
    ConfigError
        Their Python, packages or digits are others, or they do not see the store.
    EngineError
        No executor starts, or none has a Python with Arrow.
    """
    token = store / f".tmp-token-{uuid.uuid4().hex}"
    token.touch(mode=0o600)  # as jobs are: another user is told now
    token.write_text(token.name)
    try:
        look = _look(str(token), traits_there(list(traits())))
        answers = rows(
            lambda spark: spark.range(0, LOOKS, 1, LOOKS).mapInArrow(look, "told string"),
            "executors were asked what they have",
            PACKAGES,
        )
    finally:
        token.unlink(missing_ok=True)
    refuse_others([parse_bounded_json(row["told"]) for row in answers], store)


def refuse_others(answers: Iterable[dict[str, Any]], store: Path) -> None:
    """Refuse executors whose traits differ from those of this machine.

    Raises
    ------
    ConfigError
        How, by host.
    """
    problems = {str(p): p for answer in answers for p in _wrong(answer, traits(), store)}
    if problems:
        title = "executors cannot make what this machine would: nothing is published"
        raise ConfigError(title, list(problems.values()))


def traits_there(packages: list[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that returns an executor's `traits` and host, without imports of ours."""

    def collect() -> dict[str, Any]:
        import platform
        import socket
        from importlib import metadata

        host = {"host": socket.gethostname(), "python": platform.python_version()}
        try:
            from annot_pipeline.runtime.executors import traits

            return host | traits.traits()
        except ImportError:  # a package is missing, or ours is of an age that had no traits
            return host | {name: version_of(metadata, name) for name in packages}

    def version_of(metadata: Any, name: str) -> str | None:
        try:
            return str(metadata.version(name))
        except metadata.PackageNotFoundError:
            return None

    return collect


def _look(
    token: str, read_traits: Callable[[], dict[str, Any]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that executors run first."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import pathlib
        import uuid

        import pyarrow as pa

        answer: dict[str, Any] = read_traits()
        try:
            answer["store"] = pathlib.Path(token).read_text() == pathlib.Path(token).name
            probe = pathlib.Path(f"{token}-{uuid.uuid4().hex}")
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            answer["store"] = str(error)
        for batch in batches:
            yield pa.record_batch({"told": [json.dumps(answer)] * batch.num_rows})

    return look


def _wrong(answer: dict[str, Any], here: dict[str, Any], store: Path) -> Iterator[Problem]:
    where, store_answer = f"executor on {answer['host']}", answer.get("store", True)
    if store_answer is not True:
        what = f"the store cannot be read and written there: {store_answer or 'another folder'}"
        do = (
            "set store to a folder that the driver and all executors share, by the same path, and "
            "run executors as the user that builds"
        )
        yield Problem(where, what, allowed=str(store), do=do)
    versions = {name: expected for name, expected in here.items() if name != "digits"}
    wrong_versions = {
        name: expected for name, expected in versions.items() if answer.get(name) != expected
    }
    for name, version in wrong_versions.items():
        if answer.get(name) is None:
            do = f"install {name}=={version} where executors run, or ship it: docs/spark.md"
            yield Problem(where, f"{name} is not installed", do=do)
        else:
            do = "give them the same: other versions can give other bytes (docs/spark.md)"
            what = f"{name} {answer[name]}"
            yield Problem(where, what, allowed=f"{version}, as here", do=do)
    of_there = answer.get("digits") or {}
    wrong = [name for name, expected in here["digits"].items() if of_there.get(name) != expected]
    if wrong and not wrong_versions:
        what = "its processor computes other digits than this one, so other bytes"
        do = (
            "give executors the same kind of processor, or set NPY_DISABLE_CPU_FEATURES and "
            "OPENBLAS_CORETYPE to the same here and there, as docs/spark.md says"
        )
        yield Problem(where, what, do=do, values=tuple(wrong))
