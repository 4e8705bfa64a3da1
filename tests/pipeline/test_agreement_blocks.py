"""Agreement on labels of a task in blocks of items: the same statistics, whatever the blocks."""

from __future__ import annotations

import json
import random
from functools import partial

import pytest

from annot_pipeline.methods.agreement.label_agreement import label_agreement
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from annot_pipeline.runtime.task_partitions import BLOCKS
from annot_pipeline.stages.agreement import measure_agreement
from tests.conftest import stage_file

BLOCK_SIZES = JobSizes(60, 30, task_judgments=100)
MEAN_OVER_PAIRS = ("value", "ci_low", "ci_high", "reason")


def crowd(n_items=60, n_judges=9, seed=5):
    """Labels 1 to 4; two judges guess, and fail on items whose answer is known; some items are
    labelled once, some by one judge twice."""
    draw = random.Random(seed)
    rows = ["task,item,judge,label,role,truth,id"]

    def said(item, judge, truth, role=""):
        label = (
            draw.randint(1, 4) if judge < 2 else min(max(truth + draw.choice([-1, 0, 0, 0]), 1), 4)
        )
        known = truth if role else ""
        rows.append(f"large,item {item:03},w{judge},{label},{role},{known},{len(rows)}")

    for item in range(n_items):
        truth = draw.randint(1, 4)
        for judge in draw.sample(range(n_judges), draw.choice([1, 2, 3, 5, 9])):
            said(item, judge, truth)
        if item % 10 == 0:
            for judge in range(n_judges):
                said(1000 + item, judge, truth, "known_answer")
    rows += [f"small,i{n},w{n % 3},{1 + n % 2},,,{n}" for n in range(6)]
    return "\n".join([*rows, ""])


@pytest.fixture
def build(tmp_path):
    """Builds the crowd, with the sizes of jobs that a test chooses."""

    def stage(sizes, *sets, name="gold", **tasks):
        names = ("task", "item", "judge", "label", "truth")
        fields = {n: n for n in names} | {"control": "role", "native_id": "id"}
        (tmp_path / "a.csv").write_text(crowd())
        document = {
            "campaign": "c", "quality": {"test": "known_answer"},
            "sources": [{"path": "a.csv", "format": "csv", "fields": fields}],
            "tasks": [{"name": "large", "kind": "categorical", **tasks}],
        }  # fmt: skip
        (tmp_path / "campaign.yaml").write_text(json.dumps(document))
        store = f"store={tmp_path}/store-{name}"
        staged = stage_file(tmp_path, store, *sets, sizes=sizes).run("agreement")
        n_files = len(staged.runs["control_judges"].result.tables["controlled"].files)
        assert (n_files > 4) == (sizes == BLOCK_SIZES)
        return staged

    return stage


def by_statistic(built):
    return {(r["task"], r["statistic"]): r for r in built.rows("agreement")}


def but_rounding(value):
    return None if value is None else pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "tasks",
    [pytest.param({}, marks=pytest.mark.slow), {"labels": list("1234"), "ordinal": True}],
)
def test_blocks_are_the_whole(build, tasks):
    whole = by_statistic(build(DEFAULT_SIZES, **tasks))
    blocks = by_statistic(build(BLOCK_SIZES, name="blocks", **tasks))
    assert blocks.keys() == whole.keys()
    assert ("large", "cohen_kappa_unfiltered") in whole
    assert (("large", "alpha_ordinal") in whole) == bool(tasks)
    for (task, statistic), row in whole.items():
        actual = blocks[task, statistic]
        assert (actual["n_items"], actual["n_judges"]) == (row["n_items"], row["n_judges"])
        assert actual["value"] == but_rounding(row["value"])
        assert actual["reason"] == row["reason"]
        for end in ("ci_low", "ci_high"):
            assert actual[end] == but_rounding(row[end])
            assert (actual[end] is None) == (task == "small")


@pytest.mark.slow
def test_pairs_of_judges_are_compared_some_at_a_time(build, monkeypatch):
    tasks = {"labels": list("1234"), "ordinal": True}
    built = build(BLOCK_SIZES, **tasks)
    some_at_a_time = partial(label_agreement, most_judges=8, pairs_at_once=10)
    monkeypatch.setattr(measure_agreement, "label_agreement", some_at_a_time)
    again = by_statistic(build(BLOCK_SIZES, "resources.threads=1", name="again", **tasks))
    for statistic, row in by_statistic(built).items():
        actual = again[statistic]
        if statistic[1].removesuffix("_unfiltered") == "percent_agreement" and row["ci_low"]:
            assert actual["value"] == but_rounding(row["value"])
            assert actual["ci_low"] is actual["ci_high"] is None
            assert actual["reason"].startswith("too many judges")
            actual, row = (cells | dict.fromkeys(MEAN_OVER_PAIRS) for cells in (actual, row))
        numbers = ("value", "ci_low", "ci_high")
        assert actual == row | {name: but_rounding(row[name]) for name in numbers}


@pytest.mark.slow
def test_what_is_known_is_not_measured_again(build, monkeypatch):
    first = build(BLOCK_SIZES)
    files = first.runs["measure_agreement"].result.tables["agreement"].paths
    assert not (files[0].parent / BLOCKS).exists()
    monkeypatch.setattr(measure_agreement, "label_rows", None)
    again = build(BLOCK_SIZES, "gates.convergence.error=null")
    assert again.rows("agreement") == first.rows("agreement")
