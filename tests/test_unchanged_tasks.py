"""What is made of the same rows as before is not made again, and the result is the same."""

from __future__ import annotations

import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.pipeline import MAKER, Build, stages_for
from annot_pipeline.steps import measure_agreement
from annot_pipeline.storage.tables import read_table
from benchmarks.exports import Shape, write_campaign

STAGE = MAKER["agreement"]


@pytest.fixture
def campaign(tmp_path):
    shape = Shape(labels=600, scores=600, comparisons=150, tasks=3, judges=8)
    return write_campaign(tmp_path / "campaign", shape)


@pytest.fixture
def measured(monkeypatch):
    """Tasks whose labels were measured."""
    tasks = []
    label_rows = measure_agreement.label_rows

    def noted(judgments, task, bootstrap):
        tasks.append(task["task"])
        return label_rows(judgments, task, bootstrap)

    monkeypatch.setattr(measure_agreement, "label_rows", noted)
    return tasks


def build(path, *sets):
    built = Build(load_campaign(path, sets=("agreement.bootstrap=20", *sets)))
    runs = {stage.name: built.run_stage(stage) for stage in stages_for(["agreement"])}
    return runs[STAGE.name].result


def add_label(path, task, judge):
    (path.parent / "exports" / f"labels-late-{task}.csv").write_text(
        f"task,item,judge,label,truth,at\n{task},item-1,{judge},class-2,,2026-01-01T00:00:00Z\n"
    )


def test_a_task_with_new_rows_is_measured_alone(campaign, measured, tmp_path):
    build(campaign)
    assert len(set(measured)) == 3
    measured.clear()
    add_label(campaign, "labels-01", "judge-2")
    second = build(campaign)
    assert set(measured) == {"labels-01"}
    at_once = build(campaign, f"store={tmp_path / 'other'}")
    table, whole = (result.tables["agreement"] for result in (second, at_once))
    assert table.sha256 == whole.sha256
    assert read_table(table.path).num_rows > 100
    assert second.facts == at_once.facts


@pytest.mark.parametrize("harm", ["flipped", "gone", "emptied"])
def test_what_is_harmed_is_measured_anew(campaign, measured, tmp_path, harm):
    path = build(campaign).tables["agreement"].path
    if harm == "gone":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data if harm == "flipped" else b"")
    measured.clear()
    add_label(campaign, "labels-01", "judge-2")
    second = build(campaign)
    assert len(set(measured)) == 3
    at_once = build(campaign, f"store={tmp_path / 'other'}")
    assert second.tables["agreement"].sha256 == at_once.tables["agreement"].sha256


def test_a_task_that_is_gone_leaves_no_row(campaign):
    build(campaign)
    (campaign.parent / "exports" / "labels-02.csv").unlink()
    tasks = read_table(build(campaign).tables["agreement"].path)["task"].unique().to_pylist()
    assert "labels-01" in tasks
    assert "labels-02" not in tasks


def test_other_settings_measure_all_tasks(campaign, measured):
    build(campaign)
    measured.clear()
    build(campaign, "agreement.bootstrap=10")
    assert len(set(measured)) == 3
