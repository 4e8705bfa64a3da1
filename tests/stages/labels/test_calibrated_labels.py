"""Columns of calibrated certainty, and the gate on what is left too sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import CERTAIN, TEXT, TIME
from annot_pipeline.gates.run import run_gates
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.labels.label_calibration import CalibrationParams
from annot_pipeline.stages.labels.check_calibration import check_calibration
from annot_pipeline.stages.labels.infer_labels import infer_labels
from tests.methods.crowds import crowd

TASK, _ = crowd("correlated", 5, n_items=400)


@pytest.fixture(scope="module")
def inferred():
    return {temper: infer(*temper) for temper in (("held_out", "held_out"), ("none", 1))}


def infer(pooling, temper, task=TASK):
    n = task.items.size
    judges = [f"j{code}" for code in task.judges.tolist()]
    judgments = pa.table({
        "task": ["t"] * n, "item": [f"i{code:03}" for code in task.items.tolist()],
        "judge": judges, "judge_id": judges, "label": list(map(str, task.labels.tolist())),
        "control": ["none"] * n, "fate": ["used"] * n,
        "submitted_at": pa.nulls(n, TIME), "why": pa.nulls(n, TEXT),
    })  # fmt: skip
    tasks = pa.table({
        "task": ["t"], "kind": ["categorical"], "labels": pa.nulls(1, pa.list_(TEXT)),
    })  # fmt: skip
    return infer_labels(
        judgments, tasks, params=DawidSkeneParams(),
        calibration=CalibrationParams(pooling, temper), seed=17,
    )  # fmt: skip


def shares(tables, column):
    rows = tables["label_distributions"].to_pylist()
    return {(row["item"], row["label"]): row[column] for row in rows}


def test_calibrated_columns_are_those_of_the_label(inferred):
    tables, _ = inferred["held_out", "held_out"]
    raw, calibrated = (shares(tables, name) for name in ("probability", "calibrated_probability"))
    rows = tables["labels"].to_pylist()
    for row in rows:
        at = (row["item"], row["label"])
        assert (row["probability"], row["calibrated_probability"]) == (raw[at], calibrated[at])
        assert row["certain"] == (raw[at] >= CERTAIN)
        assert row["calibrated_certain"] == (calibrated[at] >= CERTAIN)
    assert sum(row["certain"] for row in rows) > 2 * sum(r["calibrated_certain"] for r in rows) > 0
    fit = dawid_skene_batch([TASK])[0].posterior
    assert raw["i007", "1"] == pytest.approx(fit[7, 1])
    for item in ("i000", "i399"):
        assert sum(calibrated[item, label] for label in "012") == pytest.approx(1)


def test_without_calibration_columns_are_equal_and_the_gate_warns(inferred):
    tables, facts = inferred["none", 1]
    assert shares(tables, "probability") == shares(tables, "calibrated_probability")
    assert facts["calibrations"]["t"]["is_left_overconfident"]
    _, calibrated = inferred["held_out", "held_out"]
    assert not calibrated["calibrations"]["t"]["is_left_overconfident"]
    assert level(facts) == ("warn", "t")
    assert level(calibrated) == ("pass", "")


def test_numbers_that_make_it_worse_are_warned_of():
    alone, _ = crowd("independent", 5, n_items=400)
    _, facts = infer(1e6, 0.05, alone)
    assert level(facts, "worse_calibrated_labels") == ("warn", "t")
    _, chosen = infer("held_out", "held_out", alone)
    assert level(chosen, "worse_calibrated_labels") == ("pass", "")


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ((3.0, "held_out"), {"pooling": 0, "dependence": TASK.items.size}),
        (("held_out", 0.5), {"pooling": TASK.items.size, "temper": 0}),
        (("none", 0.5), {"pooling": 0, "temper": 0}),
    ],
)
def test_what_is_given_is_chosen_by_no_label(settings, rows):
    tables, _ = infer(*settings)
    found = {r["statistic"]: r["n"] for r in tables["label_evidence"].to_pylist()}
    assert {name: found.get(name) for name in rows} == rows


def test_a_task_with_one_class_has_no_label_that_is_certain():
    alike = replace(TASK, labels=np.zeros_like(TASK.labels), n_labels=1)
    tables, _ = infer("held_out", "held_out", alike)
    labels = tables["labels"].to_pylist()
    assert {row["calibrated_probability"] for row in labels} == {1}
    assert not any(row["calibrated_certain"] for row in labels)
    items = pa.table({"item": ["i000"], "truth": ["0"]})
    figures = check_calibration(tables["label_evidence"], tables["label_distributions"], items)
    of = {r["model"]: r["value"] for r in figures.to_pylist() if r["statistic"] == "certain_share"}
    assert of == {"raw": 1, "calibrated": 0, "votes": 1}


def test_labels_that_are_not_the_class_that_calibration_prefers_are_counted(inferred):
    for tables, facts in inferred.values():
        best = {}
        for row in tables["label_distributions"].to_pylist():
            best.setdefault(row["item"], []).append((row["calibrated_probability"], row["label"]))
        other = [r for r in tables["labels"].to_pylist() if max(best[r["item"]])[1] != r["label"]]
        assert facts["calibrations"]["t"]["other_class"] == len(other)


def level(facts, gate="overconfident_labels"):
    contracts = {"labels": {"broken": [], "doubtful": []}}
    document = facts | {"contracts": contracts, "rows_made": {}}
    found = run_gates("infer_labels", ["labels"], document, {})
    return next((g.level, g.detail) for g in found if g.name == gate)


def test_identity_of_classes_is_that_of_pooled_judges_too(inferred):
    for tables, facts in inferred.values():
        for row in tables["prevalence"].to_pylist():
            assert row["pooled_named"] is True
            assert row["pooled_names_truth"] is True
        assert facts["misnamed_classes"] == {"t": []}


def test_evidence_is_told(inferred):
    tables, facts = inferred["held_out", "held_out"]
    found = {(row["model"], row["statistic"]): row for row in tables["label_evidence"].to_pylist()}
    assert found["pooled", "pooling"]["value"] > 0
    assert found["calibrated", "dependence"]["value"] > 0
    assert found["calibrated", "dependence"]["n"] == TASK.items.size  # what it was chosen by
    assert ("calibrated", "temper") not in found
    assert facts["calibrations"]["t"]["chosen_by"] == "task"
    for model in ("raw", "pooled", "calibrated", "votes"):
        row = found[model, "held_out_log_likelihood"]
        assert row["ci_low"] < row["value"] < row["ci_high"]
    of = {model: found[model, "held_out_log_likelihood"]["value"] for model in
          ("raw", "pooled", "calibrated", "votes")}  # fmt: skip
    assert of["calibrated"] > of["pooled"] > of["raw"]
    assert found["raw", "overconfidence"]["ci_low"] > 0
    assert found["calibrated", "overconfidence"]["ci_low"] <= 0
    given, _ = inferred["none", 1]
    of_given = {(r["model"], r["statistic"]): r for r in given["label_evidence"].to_pylist()}
    assert of_given["calibrated", "temper"]["value"] == 1
    assert of_given["calibrated", "temper"]["n"] == 0
    assert of_given["calibrated", "overconfidence"]["ci_low"] > 0
    unanimous = found["pooled", "unanimous_share"]
    assert found["observed", "unanimous_share"]["value"] > unanimous["ci_high"]
    assert unanimous["n"] == 400
