"""What a job is given does not grow with the campaign: the driver writes it for each part."""

from __future__ import annotations

import pickle

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.executors.local import LocalEngine
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import Build, stages_for

LISTED, JUDGES = 8_000, 3_000
MOST = 25_000
"""Bytes of a pickled job; the names of all items, or judges, take several times as much."""
CAMPAIGN = """
campaign: sizes
tasks: [{name: large, labels: [a, b]}]
sources:
- path: "*.csv"
  format: csv
  fields: {task: task, item: item, judge: judge, label: label, score: score}
items:
- {path: items/*.csv, format: csv, fields: {item: item, segment: segment, system: system}}
"""


@pytest.fixture
def job_bytes(monkeypatch):
    """Bytes of the largest of the jobs of each function."""
    run, largest = LocalEngine.run, {}

    def noted(self, jobs, *rest, **more):
        for job in jobs:
            name = getattr(job, "func", job).__name__
            largest[name] = max(largest.get(name, 0), len(pickle.dumps(job)))
        return run(self, jobs, *rest, **more)

    monkeypatch.setattr(LocalEngine, "run", noted)
    return largest


@pytest.mark.slow
def test_jobs_are_small_whatever_the_campaign_lists(tmp_path, job_bytes):
    rows = ["task,item,judge,label,score"]
    rows += [f"large,item {n % 700:04},judge {n:04},{'ab'[n % 3 > 0]},"
             for n in range(2 * JUDGES)]  # fmt: skip
    rows += [f"scores {n % 4},item {n % 90:04},judge {n % 11:04},,{n % 10}" for n in range(2_000)]
    (tmp_path / "a.csv").write_text("\n".join([*rows, ""]))
    (tmp_path / "items").mkdir()
    items = [f"item {n:04},segment {n:04},system {n % 3}" for n in range(LISTED)]
    (tmp_path / "items/i.csv").write_text("\n".join(["item,segment,system", *items, ""]))
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    sizes = JobSizes(1_000, 500, task_judgments=1_000)
    build = Build(load_campaign(tmp_path), sizes=sizes)
    for stage in stages_for(["judgments", "labels"]):
        build.run_stage(stage)
        assert not [*tmp_path.glob(f"store/stages/{stage.name}/*/.tmp-*")]
    assert {"_settle", "_control", "_list", "_make", "make_block"} <= {*job_bytes}
    assert max(job_bytes.values()) < MOST, job_bytes
