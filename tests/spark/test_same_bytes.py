"""Gold of Spark is gold of this machine, byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.cluster import Cluster
from benchmarks.exports import Shape, write_campaign
from tests.conftest import KEY

SHAPE = Shape(labels=40_000, scores=300_000, comparisons=3_000, tasks=6, judges=60)
SMALL = ("ranking.bootstrap=20", "ranking.online_rounds=2", "agreement.bootstrap=20")


def command(path: Path, name: str, *sets: str) -> list[str]:
    places = (f"store={path.parent}/{name}/store", f"gold={path.parent}/{name}/gold")
    options = [word for one in (*places, *SMALL, *sets) for word in ("--set", one)]
    return [sys.executable, "-m", "annot_pipeline.cli", "build", str(path), *options]


def gold_of(path: Path, name: str) -> dict[str, str]:
    return hashes(path.parent / name / "gold")


def hashes(gold: Path) -> dict[str, str]:
    """Of all files of its one release's tables, those too of a table in several."""
    (release,) = gold.glob("v*")
    actual = {
        str(file.relative_to(release)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in release.rglob("*.parquet")
        if file.is_file()
    }
    assert len(actual) > 12, "a release without tables would be the same everywhere"
    return actual


def build(path: Path, name: str, *sets: str) -> dict[str, str]:
    actual = subprocess.run(command(path, name, *sets), capture_output=True, text=True, check=False)
    assert actual.returncode == 0, actual.stderr[-3000:]
    return gold_of(path, name)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return write_campaign(tmp_path_factory.mktemp("campaign") / "c", SHAPE)


@pytest.fixture(scope="module")
def local(campaign):
    os.environ.setdefault("ANNOT_KEY", KEY)
    return build(campaign, "local")


def test_local_mode(campaign, local):
    assert build(campaign, "two", "engine.kind=spark", "engine.master=local[2]") == local


def test_a_master_with_two_workers(campaign, local, standalone):
    actual = build(campaign, "cluster", "engine.kind=spark", f"engine.master={standalone.url}")
    assert actual == local


@pytest.mark.parametrize(
    ("name", "while_there_is", "at_once"),
    [
        ("settled", "stages/settle_judgments/.tmp-*/settled-*", 1),  # in the middle of writing
        ("labels", "stages/infer_labels/.tmp-*", 1),  # of EM
        ("lists", "stages/list_judgments/.tmp-*/.tmp-*", 1),
        ("gold", ".tmp-*/*.parquet*", 2),  # of the release's files: all who write them
    ],
)
def test_an_executor_that_is_killed_costs_a_retry(
    campaign, local, standalone, name, while_there_is, at_once
):
    build_while_killed(campaign, name, standalone, while_there_is, executors_at(at_once))
    assert gold_of(campaign, name) == local


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two tasks are too large for one job: blocks of their items are asked for sums.

    A quarter of the judges fails by their scores, and gives no label that counts.
    """
    shape = Shape(labels=900_000, scores=600_000, comparisons=0, tasks=1, judges=60)
    return write_campaign(tmp_path_factory.mktemp("large") / "c", shape)


@pytest.fixture(scope="module")
def large_local(large):
    os.environ.setdefault("ANNOT_KEY", KEY)
    return build(large, "here")


IN_EM = "stages/infer_labels/.tmp-*/blocks/*/matrix_of-*"


def test_tasks_in_blocks_and_an_executor_killed_in_the_middle_of_em(large, large_local, standalone):
    build_while_killed(large, "killed", standalone, IN_EM, executors_at(1))
    assert gold_of(large, "killed") == large_local
    stages = large.parent / "killed" / "store" / "stages"
    for stage, table in (("infer_labels", "labels"), ("standardize_scores", "standardized")):
        assert list(stages.glob(f"{stage}/*/{table}-*+.parquet")), "a task lies in one part"


@pytest.mark.slow
def test_a_worker_that_is_lost_in_the_middle_of_em_leaves_its_blocks_to_the_other(
    large, large_local, tmp_path
):
    """Its machine is gone: no executor comes again there."""
    cluster = Cluster(tmp_path / "cluster")

    def kill(cluster: Cluster) -> bool:
        lost = cluster.executors(of=0)
        if not lost or not cluster.executors(of=1):
            return False
        cluster.processes[1].kill()
        for pid in lost:
            os.kill(pid, signal.SIGKILL)
        return True

    try:
        build_while_killed(large, "lost", cluster, IN_EM, kill, times=1)
        assert [process.poll() for process in cluster.processes] == [None, -signal.SIGKILL, None]
    finally:
        cluster.stop()
    assert gold_of(large, "lost") == large_local


def executors_at(at_once: int) -> Callable[[Cluster], bool]:
    """Kills so many executors, if they are there."""

    def kill(cluster: Cluster) -> bool:
        actual = cluster.executors()[:at_once]
        for pid in actual:
            os.kill(pid, signal.SIGKILL)
        return len(actual) == at_once

    return kill


def build_while_killed(
    campaign: Path,
    name: str,
    cluster: Cluster,
    while_there_is: str,
    kill: Callable[[Cluster], bool],
    times: int = 2,
) -> None:
    """Build on Spark; executors die, some times, when there is a file of the store."""
    spark = ("engine.kind=spark", f"engine.master={cluster.url}")
    with subprocess.Popen(
        command(campaign, name, *spark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        store = campaign.parent / name / "store"
        killed = 0
        while running.poll() is None and killed < times:
            time.sleep(0.05)
            if any(store.glob(while_there_is)) and kill(cluster):
                killed += 1
                time.sleep(2)
        _, errors = running.communicate(timeout=300)
        assert running.returncode == 0, errors.decode()[-3000:]
    assert killed


def test_ctrl_c_stops_a_build_and_the_next_one_is_whole(campaign, local):
    """Spark's own handler of it left Python and Java waiting for each other."""
    spark = ("engine.kind=spark", "engine.master=local[2]")
    with subprocess.Popen(
        command(campaign, "stopped", *spark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        store = campaign.parent / "stopped" / "store"
        while running.poll() is None and not list(store.glob("stages/settle_judgments/.tmp-*/*")):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    told = errors.decode()
    assert told.endswith("annot: stopped; the last release stands\n")
    assert "Traceback" not in told
    assert not list((campaign.parent / "stopped").glob("gold/v*"))
    assert build(campaign, "stopped", *spark) == local


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masc", "wmt15", "wmt22"])
def test_real_campaigns(shared_campaigns, tmp_path, standalone, name):
    """Local mode, and a master with two workers."""
    path = shared_campaigns / f"{name}.yaml"
    actual = []
    for master in (None, "local[2]", standalone.url):
        places = tmp_path / (master or "here").replace("/", "_")
        sets = [f"store={places}/store", f"gold={places}/gold"]
        sets += ["engine.kind=spark", f"engine.master={master}"] if master else []
        words = [word for one in sets for word in ("--set", one)]
        build = [sys.executable, "-m", "annot_pipeline.cli", "build", str(path), *words]
        done = subprocess.run(build, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        actual.append(hashes(places / "gold"))
    assert actual[1] == actual[0]
    assert actual[2] == actual[0]


def test_an_export_that_cannot_be_read_is_said_as_it_is_here(tmp_path):
    """An error meant for the user comes back from an executor with all its words."""
    path = tmp_path / "campaign.yaml"
    (tmp_path / "a.csv").write_text("item,judge\ni1,w1\n")
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "*.csv", "format": "csv", "fields": fields}
    path.write_text(json.dumps({"campaign": "c", "sources": [source]}))
    told = []
    for sets in ((), ("engine.kind=spark", "engine.master=local[1]")):
        words = command(path, "there" if sets else "here", *sets)
        actual = subprocess.run(words, capture_output=True, text=True, check=False)
        assert actual.returncode == 2
        told.append(actual.stderr[actual.stderr.index("annot: ") :])
    assert told[0] == told[1]
    assert "not found" in told[0]
