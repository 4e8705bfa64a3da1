"""One label, one probability, Dawid-Skene's beside them; known items, families, experts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.contracts import TEXT, TIME
from annot_pipeline.gates.run import run_gates
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.stages.labels.infer_labels import LabelSettings
from annot_pipeline.stages.labels.label_items import JudgedTask
from annot_pipeline.stages.labels.metrics import LabelMetrics
from annot_pipeline.stages.shared.known_items import Truths
from studies.label_inference import infer_labels
from tests.methods.crowds import crowd

TASK, TRUTH = crowd("correlated", 5, n_items=400)
HIERARCHICAL = LabelSettings(DawidSkeneParams(model="hierarchical"))


def judgments(task, decisions=()):
    n = task.items.size
    judges = [f"j{code}" for code in task.judges.tolist()]
    rows = {
        "votes": [None] * n, "item": [f"i{code:03}" for code in task.items.tolist()],
        "judge": judges, "judge_id": [*judges], "label": list(map(str, task.labels.tolist())),
        "control": ["none"] * n, "fate": ["used"] * n,
    }  # fmt: skip
    for item, label in decisions:
        for name, value in (
            ("votes", None), ("item", item), ("judge", "expert"), ("judge_id", "expert"),
            ("label", label), ("control", "adjudication"), ("fate", "adjudication"),
        ):  # fmt: skip
            rows[name].append(value)
    n = len(rows["item"])
    return pa.table(rows | {"submitted_at": pa.nulls(n, TIME), "why": pa.nulls(n, TEXT)})


def infer(task=TASK, settings=HIERARCHICAL, decisions=(), **how):
    rows = judgments(task, decisions)
    return infer_labels(JudgedTask("t", InMemoryBlocks([rows]), **how), settings)


def truths(n):
    return Truths({f"i{i:03}": str(TRUTH[i]) for i in range(n)})


def shares(tables, column):
    rows = tables["label_distributions"].to_pylist()
    return {(row["item"], row["label"]): row[column] for row in rows}


def statistic(tables, name, model="published"):
    rows = tables["label_evidence"].to_pylist()
    return next((r for r in rows if (r["model"], r["statistic"]) == (model, name)), None)


@pytest.fixture(scope="module")
def inferred():
    return infer()


def test_one_label_one_probability(inferred):
    tables, metrics = inferred
    published, own = (shares(tables, f"{of}probability") for of in ("", "dawid_skene_"))
    fit = dawid_skene_batch([TASK])[0].posterior
    n_certain = 0
    for row in tables["labels"].to_pylist():
        item = row["item"]
        best = max("012", key=lambda k, item=item: published[item, k])
        assert row["label"] == row["model_label"] == best
        assert row["probability"] == row["model_probability"] == published[item, best]
        assert row["certain"] == (row["probability"] >= 0.95)
        n_certain += row["certain"]
        paper = fit[int(item[1:])]
        assert row["dawid_skene_label"] == str(paper.argmax())
        assert row["dawid_skene_probability"] == pytest.approx(paper.max())
        assert row["dawid_skene_certain"] == (paper.max() >= 0.95)
        assert own[item, "1"] == pytest.approx(paper[1])
        p = np.array([published[item, k] for k in "012"])
        assert row["entropy"] == pytest.approx(-(p * np.log(p)).sum())
    assert 0 < n_certain < sum(r["dawid_skene_certain"] for r in tables["labels"].to_pylist())
    assert metrics["certain_share"] == n_certain / 400
    by_class = tables["prevalence"].to_pylist()
    assert sum(row["n_certain"] for row in by_class) == n_certain
    assert sum(row["dawid_skene_prevalence"] for row in by_class) == pytest.approx(1)


def test_certain_at_is_a_setting(inferred):
    tables, _ = infer(settings=replace(HIERARCHICAL, certain_at=0.8))
    rows = tables["labels"].to_pylist()
    assert [row["certain"] for row in rows] == [row["probability"] >= 0.8 for row in rows]
    assert tables["label_distributions"].equals(inferred[0]["label_distributions"])


def test_judges_are_described_by_the_published_model(inferred):
    tables, _ = inferred
    confusion = tables["judge_confusion"].to_pylist()
    prevalence = {row["label"]: row["prevalence"] for row in tables["prevalence"].to_pylist()}
    for row in tables["judge_figures"].to_pylist()[:5]:
        accuracy = sum(
            prevalence[cell["true_label"]] * cell["probability"]
            for cell in confusion
            if cell["judge"] == row["judge"] and cell["true_label"] == cell["observed_label"]
        )
        assert row["accuracy"] == pytest.approx(accuracy)
    other = [cell["probability"] - cell["dawid_skene_probability"] for cell in confusion]
    assert max(map(abs, other)) > 0.05


def test_every_fit_is_told(inferred):
    tables, _ = inferred
    fits = tables["label_fits"].to_pylist()
    assert [(fit["model"], fit["dependence"]) for fit in fits] == [
        ("dawid_skene", 0), ("hierarchical", 0), ("hierarchical", 0.15), ("hierarchical", 0.4),
    ]  # fmt: skip
    assert all(fit["converged"] for fit in fits)


@pytest.mark.parametrize("n", [0, 49])
def test_without_known_items_no_accuracy_is_expected(n):
    tables, _ = infer(truths=truths(n))
    row = statistic(tables, "expected_accuracy")
    assert (row["value"], row["ci_low"], row["ci_high"], row["n"]) == (None, None, None, 0)
    assert row["reason"].startswith("fewer than 50 known items")
    assert statistic(infer(truths=truths(50))[0], "expected_accuracy")["value"] is not None


def test_without_known_items_nothing_is_corrected(inferred):
    tables, metrics = inferred
    assert statistic(tables, "temperature") is None
    assert metrics["certainty"]["n_known"] == 0


def test_known_items_give_accuracy_an_interval_that_holds_it():
    tables, metrics = infer(truths=truths(150))
    row = statistic(tables, "expected_accuracy")
    right = np.mean([r["label"] == str(t) for r, t in
                     zip(tables["labels"].to_pylist(), TRUTH, strict=True)])  # fmt: skip
    assert row["n"] == metrics["certainty"]["n_known"] == 150
    assert row["reason"] is None
    assert row["ci_low"] < right < row["ci_high"]


def test_known_items_are_those_of_experts_too_and_an_expert_is_asked_first():
    decided = [(f"i{i:03}", str(TRUTH[i])) for i in range(60)]
    tables, metrics = infer(decisions=decided)
    assert metrics["certainty"]["n_known"] == 60
    wrong = Truths({item: "2" if label != "2" else "0" for item, label in decided})
    both, _ = infer(decisions=decided, truths=wrong)
    assert both["label_distributions"].equals(tables["label_distributions"])


@pytest.mark.parametrize("truth", ["", "no class"])
def test_a_truth_that_is_no_class_is_not_known(truth, inferred):
    tables, metrics = infer(truths=Truths({f"i{i:03}": truth for i in range(100)}))
    assert metrics["certainty"]["n_known"] == 0
    assert tables["labels"].equals(inferred[0]["labels"])


def test_families_of_the_settings_count_as_one():
    copies = np.flatnonzero(TASK.judges == 0)
    task = replace(
        TASK,
        items=np.concatenate([TASK.items, *[TASK.items[copies]] * 3]),
        judges=np.concatenate([TASK.judges, *[np.full(copies.size, 60 + n) for n in range(3)]]),
        labels=np.concatenate([TASK.labels, *[TASK.labels[copies]] * 3]),
        n_judges=63,
    )
    named = [JudgeSettings(name="j6[012]", family="f"), JudgeSettings(name="j0", family="f")]
    family, _ = infer(task, replace(HIERARCHICAL, judges=named))
    apart, _ = infer(task)
    alone, _ = infer()
    touched = sorted({f"i{i:03}" for i in TASK.items[copies]})
    p = {n: shares(t, "probability") for n, t in
         (("family", family), ("apart", apart), ("alone", alone))}  # fmt: skip
    off = {
        name: np.mean([abs(p[name][i, k] - p["alone"][i, k]) for i in touched for k in "012"])
        for name in ("family", "apart")
    }
    assert off["family"] < off["apart"] / 4


def test_the_first_pattern_of_a_judge_wins():
    from annot_pipeline.stages.labels.label_items import judge_families

    patterns = [
        JudgeSettings(name="gpt-4*", family="a"), JudgeSettings(name="gpt*", family="b"),
        JudgeSettings(name="alone", family="c"),
    ]  # fmt: skip
    names = ["ann", "alone", "gpt-3", "gpt-4", "gpt-4o", "gpt-5"]
    assert judge_families(names, patterns).tolist() == [0, 1, 2, 3, 3, 2]


@pytest.mark.slow
def test_dawid_skene_alone_may_have_labels_that_nobody_gave_and_gates_tell():
    """A class with one vote, whose name judges use for another class: votes do not support it."""
    rng = np.random.default_rng(1)
    truth = rng.choice(3, 300, p=[0.9, 0.08, 0.02])
    items = np.repeat(np.arange(300), 2)
    judges = np.concatenate([rng.choice(30, 2, replace=False) for _ in range(300)])
    right = rng.random(items.size) < rng.beta(2, 1.5, 30)[judges]
    labels = np.where(right, truth[items], rng.choice(3, items.size))
    task = replace(
        TASK, items=items, judges=judges, labels=labels, n_items=300, n_judges=30, n_labels=3
    )
    paper, metrics = infer(task, replace(HIERARCHICAL, params=DawidSkeneParams()))
    votes = shares(paper, "votes")
    unsupported = [
        row["item"] for row in paper["labels"].to_pylist() if votes[row["item"], row["label"]] == 0
    ]
    assert metrics["unsupported_labels"] == len(unsupported) > 0
    assert level(metrics, "unsupported_labels") == ("warn", f"t: {len(unsupported)}")
    _, published = infer(task)
    assert level(published, "unsupported_labels") == ("pass", "")
    against, n = metrics["labels_against_the_plurality"]
    assert n == 300
    gate = level(metrics, "labels_against_the_plurality")
    assert gate == (("warn" if against > 30 else "pass"), f"t {against} of 300")


def level(metrics, name):
    contracts = {
        table: {"broken": [], "doubtful": []}
        for table in ("labels", "label_distributions", "prevalence", "judge_confusion")
    }
    by_task = {name: {} for name in LabelMetrics.by_task_names()}
    by_task |= {name: {"t": value} for name, value in metrics.items()}
    document = by_task | {"contracts": contracts, "rows_made": {}}
    gates = run_gates("infer_labels", ["labels", "prevalence"], document, {})
    return next((gate.level, gate.detail) for gate in gates if gate.name == name)
