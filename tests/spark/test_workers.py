"""Executors that would make other bytes than this machine: told before any job runs there."""

from __future__ import annotations

import os
import platform
import signal
import socket
import sys
from functools import partial

import pytest

from annot_pipeline.config import Engine
from annot_pipeline.errors import ConfigError
from annot_pipeline.runtime.executors import spark, spark_workers
from annot_pipeline.runtime.executors.spark import SparkEngine
from annot_pipeline.runtime.executors.spark_session import end_session, spark_session
from annot_pipeline.runtime.executors.traits import traits
from benchmarks.cluster import Cluster

MASTER = "local[1]"
DIGITS = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL", "OPENBLAS_CORETYPE": "Nehalem"}
"""Make a process compute as one on an old processor does."""
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="another kind of processor")
# said once a process by the session, which outlives the first of these tests
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


@pytest.fixture
def engine(tmp_path):
    return SparkEngine(Engine(kind="spark", master=MASTER), tmp_path)


@pytest.fixture
def rows():
    return partial(spark_session(MASTER, ()).rows, wait=60, progress=print)


def test_workers_that_see_another_disk(rows, tmp_path, monkeypatch):
    look = spark_workers._look
    monkeypatch.setattr(
        spark_workers, "_look", lambda token, actual: look(f"/nowhere{token}", actual)
    )
    with pytest.raises(ConfigError, match="executors cannot make") as error:
        spark_workers.check_workers(rows, tmp_path)
    assert "No such file or directory" in str(error.value)
    assert "set store to a folder that the driver and all executors share" in str(error.value)
    assert len(error.value.problems) == 1, "sixteen executors of one machine say it once"


def test_workers_with_other_packages(rows, tmp_path, monkeypatch):
    here = traits() | {"numpy": "1.0", "no-such-package": "2.0"}
    monkeypatch.setattr(spark_workers, "traits", lambda: here)
    with pytest.raises(ConfigError) as error:
        spark_workers.check_workers(rows, tmp_path)
    told = str(error.value)
    assert "digits" not in told, "which follow from packages"
    assert "allowed: 1.0, as here" in told
    assert "no-such-package is not installed" in told
    assert "install no-such-package==2.0 where executors run" in told


@on_x86
def test_workers_whose_processor_computes_other_digits(tmp_path, monkeypatch):
    python = tmp_path / "python"
    settings = " ".join(f"{name}='{value}'" for name, value in DIGITS.items())
    python.write_text(f'#!/bin/sh\n{settings} exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    end_session()
    try:
        with pytest.raises(ConfigError, match="executors cannot make") as error:
            SparkEngine(Engine(kind="spark", master=MASTER), tmp_path).run([partial(divmod, 7, 2)])
    finally:
        end_session()
    assert_digits_are_told(error.value)


def assert_digits_are_told(error):
    (problem,) = error.problems
    assert problem.where == f"executor on {socket.gethostname()}"
    assert "its processor computes other digits" in problem.what
    assert "solve" in problem.values
    assert (
        "give executors the same kind of processor, or set NPY_DISABLE_CPU_FEATURES" in problem.do
    )


@on_x86
def test_an_executor_that_comes_later_is_looked_at_before_it_runs_a_job(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path / "cluster", workers=1)
    try:
        engine = SparkEngine(Engine(kind="spark", master=cluster.url), tmp_path)
        assert engine.run([partial(divmod, 7, 2)]) == [(3, 1)]
        for name, value in DIGITS.items():
            monkeypatch.setenv(name, value)
        first = cluster.executors()
        cluster.add_worker("late")
        cluster.processes[1].kill()
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(ConfigError, match="executors cannot make") as error:
            engine.run([partial((tmp_path / "ran").write_text, "a job")])
        assert_digits_are_told(error.value)
        assert not (tmp_path / "ran").exists()
    finally:
        end_session()
        cluster.stop()


def test_other_packages_are_told_before_a_job_runs(engine, tmp_path, monkeypatch):
    """Where executors come later, too: the first look has been."""
    assert engine.run([partial(divmod, 7, 2)]) == [(3, 1)]
    here = traits() | {"numpy": "1.0"}
    for module in (spark, spark_workers):
        monkeypatch.setattr(module, "traits", lambda: here)
    with pytest.raises(ConfigError, match="executors cannot make") as error:
        engine.run([partial((tmp_path / "ran").write_text, "a job")] * 2)
    assert "allowed: 1.0, as here" in str(error.value)
    assert len(error.value.problems) == 1
    assert not list(tmp_path.iterdir())
