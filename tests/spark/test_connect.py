"""Spark Connect: a real server, and a build that holds no Java itself."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.exports import Shape, write_campaign
from tests.spark.conftest import HOST
from tests.spark.test_same_bytes import build, command, gold_of

SHAPE = Shape(labels=2_000, scores=3_000, comparisons=300, tasks=3, judges=12)


@pytest.fixture
def server(tmp_path):
    """Address of a server with two cores."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as held:
        held.bind((HOST, 0))
        port = held.getsockname()[1]
    words = [
        str(home / "bin" / "spark-submit"), "--master", "local[2]",
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
    ]  # fmt: skip
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    log = tmp_path / "server.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [*words, "spark-internal"], stdout=out, stderr=out, env=environment, cwd=tmp_path
        )
    try:
        for _ in range(600):
            with socket.socket() as knock:
                if running.poll() is None and knock.connect_ex((HOST, port)) == 0:
                    break
            time.sleep(0.1)
        else:
            raise AssertionError(log.read_text(errors="replace"))
        yield f"sc://{HOST}:{port}"
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
