"""Tasks declared otherwise over the same exports: the next build is as one from nothing."""

from __future__ import annotations

import json
import os
import random

import pytest

from annot_pipeline.gates.declared import GATES
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import MAKER
from tests.conftest import stage_file

SEEDS = (0, 1) if "SOAK" in os.environ else (1,)
NAMES = ("task", "item", "judge", "label", "score")
TABLES = (*MAKER["labels"].outputs, "scores", "agreement", "judgments", "lineage")
REST = {"name": "t*", "kind": "categorical"}


def crowd(seed):
    """Five tasks of 300 judgments; each holds a label and a score."""
    draw = random.Random(seed)
    rows = [",".join(NAMES)]
    for task in range(5):
        for item in range(60):
            truth = draw.choice("abc")
            for judge in range(5):
                label = truth if draw.random() < 0.6 else draw.choice("abc")
                rows.append(f"t{task},i{item},w{judge},{label},{draw.randrange(100)}")
    return "\n".join([*rows, ""])


def declare(folder, tasks):
    source = {"path": "*.csv", "format": "csv", "fields": {name: name for name in NAMES}}
    gates = {gate.name: {"error": None} for gate in GATES}
    document = {"campaign": "c", "sources": [source], "tasks": tasks, "gates": gates}
    (folder / "campaign.yaml").write_text(json.dumps(document))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([REST | {"labels": list("abc")}], [REST | {"labels": list("abcdefgh")}]),
        pytest.param([REST], [{"name": "t0", "kind": "scalar"}, REST], marks=pytest.mark.slow),
        ([{"name": "t0", "kind": "scalar"}, REST], [REST]),
    ],
)
def test_labels_are_inferred_for_the_tasks_as_now_declared(tmp_path, seed, before, now):
    sizes = JobSizes(400, 100)
    (tmp_path / "a.csv").write_text(crowd(seed))
    declare(tmp_path, before)
    stage_file(tmp_path, sizes=sizes).run(*TABLES)
    declare(tmp_path, now)
    again = stage_file(tmp_path, sizes=sizes)
    assert len(again.runs["settle_judgments"].result.tables["settled"].files) > 1
    fresh = stage_file(tmp_path, f"store={tmp_path}/store2", sizes=sizes)
    for name in TABLES:
        assert again.table(name).equals(fresh.table(name)), name
    certainty, expected = (built.metrics("infer_labels")["certainty"] for built in (again, fresh))
    assert certainty == expected
    assert {*certainty} == {f"t{n}" for n in range(5)} - {task["name"] for task in now[:-1]}
