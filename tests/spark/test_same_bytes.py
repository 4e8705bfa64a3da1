"""Gold of Spark is gold of this machine, byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.exports import Shape, write_campaign

SHAPE = Shape(labels=40_000, scores=300_000, comparisons=3_000, tasks=6, judges=60)
SMALL = ("ranking.bootstrap=20", "ranking.online_rounds=2", "agreement.bootstrap=20")


def command(path: Path, name: str, *sets: str) -> list[str]:
    places = (f"store={path.parent}/{name}/store", f"gold={path.parent}/{name}/gold")
    options = [word for one in (*places, *SMALL, *sets) for word in ("--set", one)]
    return [sys.executable, "-m", "annot_pipeline.cli", "build", str(path), *options]


def gold_of(path: Path, name: str) -> dict[str, str]:
    (release,) = (path.parent / name / "gold").glob("v*")
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in release.glob("*.parquet")
    }


def build(path: Path, name: str, *sets: str) -> dict[str, str]:
    found = subprocess.run(command(path, name, *sets), capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-3000:]
    return gold_of(path, name)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return write_campaign(tmp_path_factory.mktemp("campaign") / "c", SHAPE)


@pytest.fixture(scope="module")
def local(campaign):
    os.environ.setdefault("ANNOT_KEY", "0" * 64)
    return build(campaign, "local")


def test_local_mode(campaign, local):
    assert build(campaign, "two", "engine.kind=spark", "engine.master=local[2]") == local


def test_a_master_with_two_workers(campaign, local, standalone):
    found = build(campaign, "cluster", "engine.kind=spark", f"engine.master={standalone.url}")
    assert found == local


def executors() -> list[int]:
    """Processes of Python that run tasks, and their Java."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in words:
            found.append(int(place.name))
    return found


@pytest.mark.parametrize(
    "while_there_is",
    [
        "settle_judgments/.tmp-*/settled-*",  # in the middle of writing
        "infer_labels/.tmp-*",  # of EM
        "list_judgments/.tmp-*/.tmp-*",
    ],
)
def test_an_executor_that_is_killed_costs_a_retry(campaign, local, standalone, while_there_is):
    name = f"killed-{while_there_is.partition('/')[0]}"
    build_while_killed(campaign, name, standalone.url, while_there_is)
    assert gold_of(campaign, name) == local


def test_a_task_in_blocks_and_an_executor_killed_in_the_middle_of_its_em(tmp_path, standalone):
    """One task is too large for one job: EM asks blocks of its items, again and again."""
    large = Shape(labels=600_000, scores=0, comparisons=0, tasks=1, judges=60)
    path = write_campaign(tmp_path / "c", large)
    here = build(path, "here")
    build_while_killed(path, "killed", standalone.url, "infer_labels/.tmp-*/blocks/*/estimates-*")
    assert gold_of(path, "killed") == here


def build_while_killed(campaign: Path, name: str, master: str, while_there_is: str) -> None:
    """Build on Spark; two executors die when there is a file of the store's stages."""
    spark = ("engine.kind=spark", f"engine.master={master}")
    with subprocess.Popen(
        command(campaign, name, *spark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        stages = campaign.parent / name / "store" / "stages"
        killed = 0
        while running.poll() is None and killed < 2:
            time.sleep(0.05)
            if list(stages.glob(while_there_is)) and executors():
                os.kill(executors()[0], signal.SIGKILL)
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


@pytest.mark.skipif("SOAK" not in os.environ, reason="long: make soak")
@pytest.mark.parametrize("name", ["masc", "wmt15", "wmt22"])
def test_real_campaigns(shared_campaigns, tmp_path, standalone, name):
    """Local mode, and a master with two workers."""
    path = shared_campaigns / f"{name}.yaml"
    found = []
    for master in (None, "local[2]", standalone.url):
        places = tmp_path / (master or "here").replace("/", "_")
        sets = [f"store={places}/store", f"gold={places}/gold"]
        sets += ["engine.kind=spark", f"engine.master={master}"] if master else []
        words = [word for one in sets for word in ("--set", one)]
        build = [sys.executable, "-m", "annot_pipeline.cli", "build", str(path), *words]
        done = subprocess.run(build, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        (release,) = (places / "gold").glob("v*")
        files = sorted(path for path in release.rglob("*.parquet") if path.is_file())
        found.append({str(f.relative_to(release)): hashlib.sha256(f.read_bytes()).hexdigest()
                      for f in files})  # fmt: skip
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert len(found[0]) > 12


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
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        assert found.returncode == 2
        told.append(found.stderr[found.stderr.index("annot: ") :])
    assert told[0] == told[1]
    assert "no such column" in told[0]
