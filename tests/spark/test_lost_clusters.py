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
from annot_pipeline.engines import spark_session
from annot_pipeline.engines.spark import SparkEngine
from annot_pipeline.errors import EngineError
from benchmarks.exports import Shape, write_campaign
from tests.spark.conftest import HOST, Cluster
from tests.spark.test_same_bytes import build, command

SHAPE = Shape(labels=100_000, scores=0, comparisons=0, tasks=4, judges=60)
JOBS = [partial(divmod, n, 3) for n in range(3)]
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


@pytest.fixture
def cluster(tmp_path):
    found = Cluster(tmp_path / "cluster")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return write_campaign(tmp_path_factory.mktemp("campaign") / "c", SHAPE)


def test_a_cluster_that_is_gone_is_told_and_the_next_try_finds_another(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(spark_session, "LOOK", 0.5)
    monkeypatch.setattr(spark_session, "ALONE", 20.0)
    engine = SparkEngine(Engine(kind="spark", master=cluster.url), tmp_path)
    assert engine.run(JOBS) == [(0, 0), (0, 1), (0, 2)]
    gone = threading.Timer(2, cluster.stop)
    gone.start()
    with pytest.raises(
        EngineError, match=r"jobs of a stage: the cluster at spark:.* is gone"
    ) as at:
        engine.run([partial(time.sleep, 600)] * 2)
    assert "no executor has been there for 20 s" in str(at.value)
    assert "look at the logs of its master and workers" in str(at.value)
    assert at.value.may_pass
    port = int(cluster.url.rpartition(":")[2])
    again = Cluster(tmp_path / "again", port)
    try:
        assert engine.run(JOBS) == [(0, 0), (0, 1), (0, 2)]
    finally:
        spark_session.end_session()
        again.stop()


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


@pytest.mark.parametrize(
    ("who", "how", "says"),
    [
        ("java", signal.SIGKILL, "Spark gave up"),
        ("python", signal.SIGTERM, ""),
    ],
)
def test_the_driver_dies(campaign, who, how, says):
    """Its Java, in words; or all of it, at once. Nothing is published, nothing is left running."""
    name = f"{who}-{how.name}"
    store = campaign.parent / name / "store"
    spark = ("engine.kind=spark", "engine.master=local[2]")
    with subprocess.Popen(
        command(campaign, name, *spark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        while running.poll() is None and not list(store.glob("stages/settle_judgments/.tmp-*/*")):
            time.sleep(0.05)
        (java,) = (child for child in children(running.pid) if is_java(child))
        os.kill(java if who == "java" else running.pid, how)
        _, errors = running.communicate(timeout=60)
    told = errors.decode()
    assert running.returncode not in {0, None}
    assert not list((campaign.parent / name).glob("gold/v*"))
    assert "Traceback" not in told.rpartition("annot: ")[2]
    assert "defect" not in told
    assert says in told
    for _ in range(300):
        if not is_java(java):
            break
        time.sleep(0.1)
    assert not is_java(java)


def test_the_port_of_a_web_page_is_no_master(cluster, tmp_path):
    """Something answers there; Spark tries for a minute and ends its own context."""
    page = f"spark://{HOST}:{cluster.page}"
    with pytest.raises(EngineError) as error:
        SparkEngine(Engine(kind="spark", master=page), tmp_path).run(JOBS)
    assert "the cluster ended the application" in str(error.value)
    assert "engine.master has the port of the master" in str(error.value)


def children(of: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{of}/task/{of}/children").read_text().split()]


def is_java(pid: int) -> bool:
    try:
        return "java" in Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False


def test_releases_of_a_cluster_that_is_gone_can_be_verified(campaign, cluster):
    """On the engine that the campaign has now: the release does not ask for its own."""
    there, here = ("engine.kind=spark", f"engine.master={cluster.url}"), ("engine.kind=local",)
    build(campaign, "verified", *there)

    def verified(*sets: str) -> str:
        words = command(campaign, "verified", *sets)
        words[words.index("build")] = "verify"
        found = subprocess.run([*words, "--rebuild"], capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        return found.stdout

    told = verified(*there)
    assert re.search(r"built again: (\d+) of \1 tables byte for byte the same", told)
    cluster.stop()
    assert verified(*here) == told
