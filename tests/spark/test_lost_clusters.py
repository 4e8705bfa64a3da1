"""A cluster that dies while it is waited for: Spark alone would wait for ever, or say little."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from annot_pipeline.config import Engine
from annot_pipeline.errors import EngineError
from annot_pipeline.runtime.executors import spark_session
from annot_pipeline.runtime.executors.spark import SparkEngine
from benchmarks.cluster import HOST, Cluster
from benchmarks.exports import Shape, write_campaign
from tests.spark.test_same_bytes import build, command

SHAPE = Shape(labels=100_000, scores=0, comparisons=0, tasks=4, judges=60)
JOBS = [partial(divmod, n, 3) for n in range(3)]
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


@pytest.fixture
def cluster(tmp_path):
    actual = Cluster(tmp_path / "cluster")
    yield actual
    actual.stop()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return write_campaign(tmp_path_factory.mktemp("campaign") / "c", SHAPE)


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(spark_session, "LOOK", 0.5)
    monkeypatch.setattr(spark_session, "PROGRESS_INTERVAL_S", 2.0)


def test_a_cluster_that_is_gone_is_told_and_the_next_try_finds_another(cluster, tmp_path):
    told = []
    settings = Engine(kind="spark", master=cluster.url, wait_seconds=20)
    engine = SparkEngine(settings, tmp_path, told.append)
    assert engine.run(JOBS) == [(0, 0), (0, 1), (0, 2)]
    gone = threading.Timer(2, cluster.stop)
    gone.start()
    with pytest.raises(
        EngineError, match=r"jobs of a stage: the cluster of spark:.* is gone"
    ) as at:
        engine.run([partial(time.sleep, 600)] * 2)
    assert "no executor has been there for 20 s (engine.wait_seconds)" in str(at.value)
    assert re.match("jobs of a stage: no executor has worked for [2-9] of 20 s", told[-8])
    assert "look at the logs of its master and workers" in str(at.value)
    assert at.value.may_pass
    port = int(cluster.url.rpartition(":")[2])
    again = Cluster(tmp_path / "again", port)
    try:
        assert engine.run(JOBS) == [(0, 0), (0, 1), (0, 2)]
    finally:
        spark_session.end_session()
        again.stop()


def test_a_job_may_take_longer_than_nobody_may_be_missed(cluster, tmp_path):
    settings = Engine(kind="spark", master=cluster.url, wait_seconds=60)
    SparkEngine(settings, tmp_path).run(JOBS)
    soon = SparkEngine(settings.model_copy(update={"wait_seconds": 2}), tmp_path)
    assert soon.run([partial(time.sleep, 8)] * 2) == [None, None]
    spark_session.end_session()


def test_a_master_without_workers(tmp_path):
    alone = Cluster(tmp_path / "cluster", workers=0)
    settings = Engine(kind="spark", master=alone.url, wait_seconds=5)
    try:
        with pytest.raises(EngineError, match="executors were asked what they have: the cl") as at:
            SparkEngine(settings, tmp_path).run(JOBS)
    finally:
        alone.stop()
    assert "no executor has been there for 5 s" in str(at.value)


def test_executors_do_without_their_master(campaign, cluster):
    """It starts executors and loses interest: its death costs nothing while they live."""
    local = build(campaign, "local")

    def kill() -> None:
        store = campaign.parent / "masterless" / "store"
        while not list(store.glob("stages/settle_judgments/*")):
            time.sleep(0.05)
        cluster.processes[0].kill()

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    spark = ("engine.kind=spark", f"engine.master={cluster.url}")
    assert build(campaign, "masterless", *spark) == local
    assert not killing.is_alive()


@pytest.mark.parametrize("who", ["java", "python"])
def test_the_driver_dies(campaign, who):
    """Its Java, or the build is asked to end: words; nothing published, nothing left running."""
    store = campaign.parent / who / "store"
    spark = ("engine.kind=spark", "engine.master=local[2]")
    with subprocess.Popen(
        command(campaign, who, *spark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        while running.poll() is None and not list(store.glob("stages/settle_judgments/.tmp-*/*")):
            time.sleep(0.05)
        (java,) = children(running.pid)
        started = [java, *children(java)]
        assert started[1:], "Java has workers of Python"
        os.kill(*((java, signal.SIGKILL) if who == "java" else (running.pid, signal.SIGTERM)))
        _, errors = running.communicate(timeout=60)
    said = errors.decode().rpartition("annot: ")
    assert running.returncode == 1
    if who == "java":
        assert said[2].startswith("jobs of a stage: Spark gave up\n")
        assert "Traceback" not in said[2]
    else:
        assert said[2] == "stopped; the last release stands\n"
    assert not list((campaign.parent / who).glob("gold/v*"))
    for _ in range(300):
        if not any(map(is_running, started)):
            break
        time.sleep(0.1)
    assert not list(filter(is_running, started))


def test_the_port_of_a_web_page_is_no_master(cluster, tmp_path):
    """Something answers there; Spark tries for a minute and ends its own context."""
    page = f"spark://{HOST}:{cluster.page}"
    with pytest.raises(EngineError) as error:
        SparkEngine(Engine(kind="spark", master=page), tmp_path).run(JOBS)
    assert "the cluster ended the application" in str(error.value)
    assert "engine.master has the port of the master" in str(error.value)


def test_releases_of_a_cluster_that_is_gone_can_be_verified(campaign, cluster):
    """On the engine that the campaign has now: the release does not ask for its own."""
    there, here = ("engine.kind=spark", f"engine.master={cluster.url}"), ("engine.kind=local",)
    build(campaign, "verified", *there)

    def verified(*sets: str) -> tuple[str, bool]:
        words = command(campaign, "verified", *sets)
        words[words.index("build")] = "verify"
        actual = subprocess.run([*words, "--rebuild"], capture_output=True, text=True, check=False)
        assert actual.returncode == 0, actual.stderr
        return actual.stdout, "org/apache/spark" in actual.stderr

    told, by_spark = verified(*there)
    assert re.search(r"built again: (\d+) of \1 tables byte for byte the same", told)
    assert by_spark
    cluster.stop()
    assert verified(*here) == (told, False)


def children(of: int) -> list[int]:
    told = [path.read_text().split() for path in Path(f"/proc/{of}/task").glob("*/children")]
    return [int(word) for words in told for word in words]


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
