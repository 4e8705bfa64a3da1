"""Jobs in threads: results in order, progress, the first error, no job after it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.executors import local
from annot_pipeline.runtime.executors.local import LocalEngine
from annot_pipeline.storage.store import Store
from tests.conftest import build_file


def test_results_stand_in_the_order_of_the_jobs(monkeypatch):
    def job(n):
        time.sleep(0.01 * (5 - n % 5))
        return n

    told = []
    jobs = [lambda n=n: job(n) for n in range(25)]
    assert LocalEngine(4).run(jobs, done=told.append) == list(range(25))
    assert told == []
    monkeypatch.setattr(local, "PROGRESS_INTERVAL_S", 0.0)
    assert LocalEngine(4).run(jobs, done=told.append) == list(range(25))
    assert told == list(range(1, 25))
    assert LocalEngine(4).run([]) == []


@pytest.mark.parametrize(("workers", "at_once", "most"), [(4, None, 4), (4, 2, 2), (1, 3, 1)])
def test_no_more_run_at_once_than_are_allowed(workers, at_once, most):
    lock, running, met = threading.Lock(), [], []

    def job():
        with lock:
            running.append(1)
            met.append(len(running))
        time.sleep(0.02)
        with lock:
            running.pop()

    LocalEngine(workers).run([job] * 12, at_once)
    assert max(met) == most


def test_after_an_error_no_other_job_starts():
    started = []

    def job(n):
        started.append(n)
        if n == 1:
            raise ValueError("job 1")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="job 1"):
        LocalEngine(2).run([lambda n=n: job(n) for n in range(50)])
    assert len(started) < 10


def test_long_stages_tell_how_many_parts_are_done(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "PROGRESS_INTERVAL_S", 0.0)
    path = write_campaign(tmp_path)
    told = []
    context = context_of(path, told.append)
    assert context.run([lambda n=n: n for n in range(3)]) == [0, 1, 2]
    assert told == ["settle judgments: 1 of 3 parts", "settle judgments: 2 of 3 parts"]


@pytest.mark.slow
def test_a_long_release_tells_how_many_gold_files_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "PROGRESS_INTERVAL_S", 0.0)
    told = []
    build_file(write_campaign(tmp_path), progress=told.append)
    wrote = [message for message in told if message.endswith(" gold files")]
    assert wrote[0].startswith("wrote 1 of ")
    assert len(wrote) > 10


def write_campaign(folder: Path) -> Path:
    rows = (f"i{i},w{j},{'ab'[(i + j) % 2]}\n" for i in range(4) for j in range(3))
    (folder / "a.csv").write_text("item,judge,label\n" + "".join(rows))
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "a.csv", "format": "csv", "fields": fields}
    path = folder / "campaign.yaml"
    path.write_text(json.dumps({"campaign": "c", "sources": [source]}))
    return path


def context_of(path: Path, progress: Callable[[str], None], *sets: str) -> StageContext:
    """As a build makes it for a stage, which reads nothing."""
    store = Store(path.parent / "store")
    return StageContext(
        load_campaign(path, sets=sets), store.root / "stages" / "settle_judgments" / ".tmp-key",
        store, bytes, {}, {}, lambda *_, **__: None, progress, lambda: None,
    )  # fmt: skip
