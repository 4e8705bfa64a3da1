"""Spark Connect: a real server, and a build that holds no Java itself."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from annot_pipeline.config import Engine
from annot_pipeline.errors import EngineError
from annot_pipeline.runtime.executors import spark_session
from annot_pipeline.runtime.executors.spark import SparkEngine
from benchmarks.cluster import HOST, Cluster
from benchmarks.exports import Shape, write_campaign
from tests.spark.test_same_bytes import build, command, gold_of

SHAPE = Shape(labels=2_000, scores=3_000, comparisons=300, tasks=3, judges=12)


@pytest.fixture
def server(tmp_path):
    """Address of a server with two cores."""
    with serving(tmp_path, "local[2]") as (address, _):
        yield address


@contextmanager
def serving(folder, master):
    """Address of a server, and its process."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as held:
        held.bind((HOST, 0))
        port = held.getsockname()[1]
    words = [
        str(home / "bin" / "spark-submit"), "--master", master,
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
    ]  # fmt: skip
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    log = folder / "server.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [*words, "spark-internal"], stdout=out, stderr=out, env=environment, cwd=folder
        )
    try:
        for _ in range(600):
            with socket.socket() as knock:
                if running.poll() is None and knock.connect_ex((HOST, port)) == 0:
                    break
            time.sleep(0.1)
        else:
            raise AssertionError(log.read_text(errors="replace"))
        yield f"sc://{HOST}:{port}", running
    finally:
        running.kill()
        running.wait()


def test_a_build_through_a_server(tmp_path, server, monkeypatch):
    path = write_campaign(tmp_path / "c", SHAPE)
    local = build(path, "local")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    spark = ("engine.kind=spark", f"engine.master={server}")
    words = command(path, "there", *spark)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert gold_of(path, "there") == local
    assert not re.search("Warning|Traceback", done.stderr)
    monkeypatch.setenv("SPARK_REMOTE", f"{server}/;user_id=someone")
    assert build(path, "by environment", "engine.kind=spark") == local


def test_a_server_tells_how_many_jobs_are_done(tmp_path, server, monkeypatch):
    monkeypatch.setattr(spark_session, "LOOK", 0.3)
    told = []
    engine = SparkEngine(Engine(kind="spark", master=server), tmp_path)
    try:
        assert engine.run([partial(time.sleep, 2)] * 8, done=told.append) == [None] * 8
    finally:
        spark_session.end_session()
    assert told == sorted(set(told))
    assert set(told) & {2, 3, 4, 5}
    assert set(told) <= set(range(1, 8))


JOBS = [partial(divmod, n, 3) for n in range(3)]


@pytest.mark.parametrize("who", ["server", "workers"])
def test_a_server_that_is_gone_or_has_nobody_is_told(tmp_path, monkeypatch, who):
    """The client would try again for ten minutes, or wait for ever."""
    monkeypatch.setattr(spark_session, "LOOK", 0.5)
    cluster = Cluster(tmp_path / "cluster")
    try:
        with serving(tmp_path, cluster.url) as (address, running):
            settings = Engine(kind="spark", master=address, wait_seconds=15)
            engine = SparkEngine(settings, tmp_path)
            assert engine.run(JOBS) == [(0, 0), (0, 1), (0, 2)]
            long = settings.model_copy(update={"wait_seconds": 6})
            assert SparkEngine(long, tmp_path).run([partial(time.sleep, 15)]) == [None]
            threading.Timer(3, running.kill if who == "server" else cluster.stop).start()
            started = time.monotonic()
            with pytest.raises(EngineError, match=r"jobs of a stage: .* is gone") as error:
                engine.run([partial(time.sleep, 600)] * 2)
            assert "no executor has worked for 15 s" in str(error.value)
            assert time.monotonic() - started < 120
        another = Engine(kind="spark", master="local[1]")
        assert SparkEngine(another, tmp_path).run(JOBS) == [(0, 0), (0, 1), (0, 2)]
    finally:
        cluster.stop()
