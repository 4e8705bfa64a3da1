"""What is made of the same rows as before is not made again, and the result is the same."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from pyarrow import csv

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.agreement import measure_agreement
from annot_pipeline.stages.build import MAKER, Build, stages_for
from annot_pipeline.stages.labels import infer_labels
from annot_pipeline.stages.rankings import rank_systems
from annot_pipeline.stages.scores import score_items
from annot_pipeline.storage.tables import read_table
from benchmarks.exports import Shape, label_rows, write_campaign

TABLES = ("agreement", "system_rankings")


@pytest.fixture
def campaign(tmp_path):
    shape = Shape(labels=300, scores=360, comparisons=90, tasks=3, judges=8)
    return write_campaign(tmp_path / "campaign", shape)


@pytest.fixture
def measured(monkeypatch):
    """Tasks whose labels were measured."""
    tasks = []
    label_rows = measure_agreement.label_rows

    def noted(judgments, task):
        tasks.append(task["task"])
        return label_rows(judgments, task)

    monkeypatch.setattr(measure_agreement, "label_rows", noted)
    return tasks


@pytest.fixture
def ranked(monkeypatch):
    """Tasks whose systems were ranked: by scores, by comparisons."""
    by_scores, by_comparisons = [], []
    rank_scores, rank_compared = rank_systems.rank_by_scores, rank_systems.rank_by_comparisons

    def noted(task, context):
        if task["standardized"].num_rows:
            by_scores.append(task.name)
        return rank_scores(task, context)

    def noted_compared(compared, *rest, **more):
        if len(compared):
            by_comparisons.append(compared.name)
        return rank_compared(compared, *rest, **more)

    monkeypatch.setattr(rank_systems, "rank_by_scores", noted)
    monkeypatch.setattr(rank_systems, "rank_by_comparisons", noted_compared)
    return by_scores, by_comparisons


@pytest.fixture
def labelled(monkeypatch):
    """Tasks whose labels were inferred."""
    tasks = []
    rows = infer_labels.label_rows

    def noted(of):
        tasks.append(of.task.name)
        return rows(of)

    monkeypatch.setattr(infer_labels, "label_rows", noted)
    return tasks


@pytest.fixture
def scored(monkeypatch):
    """Tasks whose items were scored."""
    tasks = []
    work = score_items.score_items

    def noted(task, *rest):
        tasks.append(task)
        return work(task, *rest)

    monkeypatch.setattr(score_items, "score_items", noted)
    return tasks


def build(path, *sets):
    return build_both(path, *sets)[0]


def build_both(path, *sets, tables=TABLES):
    """Results of agreement and of rankings, or of the stages that make other tables."""
    sets = ("agreement.bootstrap=20", "ranking.bootstrap=20", *sets)
    built = Build(load_campaign(path, sets=sets))
    runs = {stage.name: built.run_stage(stage) for stage in stages_for(tables)}
    return [runs[MAKER[table].name].result for table in tables]


def same_at_once(results, path, store, tables):
    """Whether a store that knows nothing gives the same tables and facts."""
    at_once = build_both(path, f"store={store}", tables=tables)
    for one, other in zip(results, at_once, strict=True):
        assert one.document == other.document
        shas = [{n: t.sha256 for n, t in of.tables.items()} for of in (one, other)]
        assert shas[0] == shas[1]
    return True


def add_label(path, task, judge):
    (path.parent / "exports" / f"labels-late-{task}.csv").write_text(
        f"task,item,judge,label,truth,at\n{task},item-1,{judge},class-2,,2026-01-01T00:00:00Z\n"
    )


@pytest.mark.slow
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
    assert read_table(table).num_rows > 100
    assert second.document == at_once.document


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


@pytest.mark.slow
def test_a_task_with_new_rows_is_ranked_alone(campaign, ranked, tmp_path):
    build(campaign)
    assert [len(set(tasks)) for tasks in ranked] == [3, 6]  # HITs of scores are compared too
    for tasks in ranked:
        tasks.clear()
    add_comparison(campaign, "pairs-01")
    add_score(campaign, "scores-02")
    second = build_both(campaign)
    assert [set(tasks) for tasks in ranked] == [{"scores-02"}, {"pairs-01", "scores-02"}]
    assert same_at_once(second, campaign, tmp_path / "other", TABLES)


@pytest.mark.slow
def test_a_task_with_new_rows_is_scored_alone(campaign, scored, tmp_path):
    build_both(campaign, tables=["scores"])
    assert sorted(scored) == ["scores-00", "scores-01", "scores-02"]
    scored.clear()
    add_score(campaign, "scores-02")
    second = build_both(campaign, tables=["scores"])
    assert scored == ["scores-02"]
    assert second[0].document["items_scored"]["scores-02"] > 30
    assert same_at_once(second, campaign, tmp_path / "other", ["scores"])


@pytest.fixture
def crowds(tmp_path):
    """Two tasks with labels enough to weigh votes by themselves, and two that share weights.

    Judges who guess count: tested over all tasks, they would fail by new labels in any task, and
    their labels leave the others.
    """
    path = write_campaign(tmp_path / "campaign", Shape(labels=2_400, scores=0, comparisons=0,
                                                       tasks=2, judges=8))  # fmt: skip
    with path.open("a") as file:
        file.write("quality: {labels: measure}\n")
    for task in (2, 3):
        rows = label_rows(Shape(judges=8), task, 900)
        csv.write_csv(rows, path.parent / "exports" / f"labels-{task:02d}.csv")
    return path


@pytest.mark.sampled
@pytest.mark.parametrize("changed", ["labels-01", "labels-03"])
def test_labels_are_inferred_of_a_task_alone_where_shared_weights_stay(
    crowds, labelled, tmp_path, changed
):
    """A label more leaves the weights that small tasks share, as they are rounded."""
    build_both(crowds, tables=["labels"])
    assert len(labelled) == 4
    labelled.clear()
    add_label(crowds, changed, "judge-2")
    second = build_both(crowds, tables=["labels"])
    assert set(labelled) == {changed}
    assert same_at_once(second, crowds, tmp_path / "other", ["labels"])


@pytest.mark.slow
def test_a_task_that_grows_out_of_those_that_share_weights_changes_them(crowds, labelled, tmp_path):
    """What is left is too little to share weights from: the other small task has its own."""
    build_both(crowds, tables=["labels"])
    rows = label_rows(Shape(judges=8, seed=5), 3, 600)
    late = pc.replace_substring(rows["item"], "item", "late")
    rows = rows.set_column(rows.column_names.index("item"), "item", late)
    csv.write_csv(rows, crowds.parent / "exports" / "labels-late.csv")
    labelled.clear()
    second = build_both(crowds, tables=["labels"])
    assert set(labelled) == {"labels-02", "labels-03"}
    assert same_at_once(second, crowds, tmp_path / "other", ["labels"])


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param("flipped", marks=pytest.mark.slow),
        pytest.param("gone", marks=pytest.mark.slow),
        pytest.param("emptied", marks=pytest.mark.slow),
    ],
)
def test_what_is_harmed_is_measured_anew(campaign, measured, tmp_path, harm):
    (path,) = build(campaign).tables["agreement"].paths
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


@pytest.mark.slow
def test_a_task_that_is_gone_leaves_no_row(campaign):
    build(campaign)
    (campaign.parent / "exports" / "labels-02.csv").unlink()
    tasks = read_table(build(campaign).tables["agreement"])["task"].unique().to_pylist()
    assert "labels-01" in tasks
    assert "labels-02" not in tasks


@pytest.mark.slow
def test_other_settings_measure_all_tasks(campaign, measured):
    build(campaign)
    measured.clear()
    build(campaign, "agreement.bootstrap=10")
    assert len(set(measured)) == 3
