"""What is made of the same rows as before is not made again, and the result is the same."""

from __future__ import annotations

import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.pipeline import MAKER, Build, stages_for
from annot_pipeline.steps import measure_agreement, rank_systems
from annot_pipeline.steps.comparing import rank_by_comparisons
from annot_pipeline.storage.tables import read_table
from benchmarks.exports import Shape, write_campaign

STAGES = [MAKER[table] for table in ("agreement", "system_rankings")]


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


@pytest.fixture
def ranked(monkeypatch):
    """Tasks whose systems were ranked: by scores, by comparisons."""
    by_scores, by_comparisons = [], []
    rank_task, rank_compared = rank_systems._rank_task, rank_by_comparisons._task

    def noted(judgments, number, *rest):
        by_scores.append(judgments.task[number])
        return rank_task(judgments, number, *rest)

    def noted_compared(found, name, *rest):
        by_comparisons.append(name)
        return rank_compared(found, name, *rest)

    monkeypatch.setattr(rank_systems, "_rank_task", noted)
    monkeypatch.setattr(rank_by_comparisons, "_task", noted_compared)
    return by_scores, by_comparisons


def build(path, *sets):
    return build_both(path, *sets)[0]


def build_both(path, *sets):
    """Results of agreement and of rankings."""
    sets = ("agreement.bootstrap=20", "ranking.bootstrap=20", *sets)
    built = Build(load_campaign(path, sets=sets))
    runs = {
        stage.name: built.run_stage(stage) for stage in stages_for(["agreement", "system_rankings"])
    }
    return [runs[stage.name].result for stage in STAGES]


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


def add_comparison(path, task):
    (path.parent / "exports" / f"comparisons-late-{task}.csv").write_text(
        "task,judge,segment,system_a,system_b,preference,at\n"
        f"{task},judge-2,late,system-0,system-1,a,2026-01-01T00:00:00Z\n"
        f"{task},judge-2,late,system-0,,a,2026-01-01T00:00:00Z\n"
        f"{task},judge-2,late,new,new,a,2026-01-01T00:00:00Z\n"
    )


def add_score(path, task):
    (path.parent / "exports" / f"scores-late-{task}.csv").write_text(
        "task,hit,judge,system,segment,control,score,at\n"
        f"{task},late,judge-2,system-0,late,,50,2026-01-01T00:00:00Z\n"
    )


def test_a_task_with_new_rows_is_ranked_alone(campaign, ranked, tmp_path):
    build(campaign)
    assert [len(set(tasks)) for tasks in ranked] == [3, 6]  # HITs of scores are compared too
    for tasks in ranked:
        tasks.clear()
    add_comparison(campaign, "pairs-01")
    add_score(campaign, "scores-02")
    second = build_both(campaign)
    assert [set(tasks) for tasks in ranked] == [{"scores-02"}, {"pairs-01", "scores-02"}]
    at_once = build_both(campaign, f"store={tmp_path / 'other'}")
    for one, other in zip(second, at_once, strict=True):
        assert one.facts == other.facts
        assert {n: t.sha256 for n, t in one.tables.items()} == {
            n: t.sha256 for n, t in other.tables.items()
        }


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
