"""Probabilities of labels against truth, by hand; and what a build tells of its certainty."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import LABEL_CALIBRATION
from annot_pipeline.gates.run import run_gates
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.stages.labels.check_calibration import (
    check_calibration,
    held_against_truth,
    truths_of_no_class,
)
from annot_pipeline.stages.labels.metrics import CalibrationMetrics

NO = LABEL_CALIBRATION.empty()
ITEMS = pa.schema([("item", pa.string()), ("truth", pa.string())])


def distributions(**tasks):
    """Rows by task: item, then (Dawid-Skene, published, votes) of each class."""
    rows = [
        {"task": task, "item": item, "label": label, "dawid_skene_probability": own,
         "probability": published, "votes": votes}
        for task, items in tasks.items()
        for item, classes in items.items()
        for label, (own, published, votes) in classes.items()
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def items(**truth):
    return pa.table({"item": list(truth), "truth": pa.array(list(truth.values()), pa.string())})


ROWS = distributions(
    t={
        "a": {"n": (0.005, 0.2, 1), "y": (0.995, 0.8, 3)},
        "b": {"n": (0.999, 0.9, 4), "y": (0.001, 0.1, 0)},
        "c": {"n": (0.0, 0.4, 2), "y": (1.0, 0.6, 2)},
        "d": {"n": (0.5, 0.5, 1), "y": (0.5, 0.5, 1)},
    }
)


def calibration_rows(rows, known):
    table = check_calibration("t", NO, rows, known, 0.99)[0]
    assert table.schema.equals(LABEL_CALIBRATION.schema)
    return {(r["model"], r["statistic"]): r for r in table.to_pylist()}


def test_every_figure_by_hand():
    of = calibration_rows(ROWS, items(a="y", b="n", c="n", d=None, e="y"))
    assert {row["n"] for (_, s), row in of.items() if s != "certain_accuracy"} == {3}
    assert of["dawid_skene", "accuracy"]["value"] == pytest.approx(2 / 3)
    low, high = wilson_interval([2], [3])
    assert of["dawid_skene", "accuracy"]["ci_low"] == pytest.approx(low[0])
    assert of["dawid_skene", "accuracy"]["ci_high"] == pytest.approx(high[0])
    losses = np.array([-math.log(0.995), -math.log(0.999), -math.log(1e-9)])
    assert of["dawid_skene", "log_loss"]["value"] == pytest.approx(losses.mean())
    assert of["dawid_skene", "log_loss"]["ci_low"] == 0
    half = 1.959963984540054 * losses.std(ddof=1) / math.sqrt(3)
    assert of["dawid_skene", "log_loss"]["ci_high"] == pytest.approx(losses.mean() + half)
    assert of["published", "log_loss"]["value"] == pytest.approx(
        -(math.log(0.8) + math.log(0.9) + math.log(0.4)) / 3
    )
    # in the bin up to .8: one right of .8, in that up to .6: none of .6, up to .9: one of .9
    error = (abs(1 - 0.8) + abs(0 - 0.6) + abs(1 - 0.9)) / 3
    assert of["published", "expected_calibration_error"]["value"] == pytest.approx(error)
    half = 1.959963984540054 * np.std([0.2, 0.6, 0.1], ddof=1) / math.sqrt(3)
    assert of["published", "expected_calibration_error"]["ci_low"] == pytest.approx(error - half)
    assert of["published", "expected_calibration_error"]["ci_high"] == pytest.approx(error + half)
    assert of["dawid_skene", "certain_share"]["value"] == 1
    assert of["dawid_skene", "certain_accuracy"]["value"] == pytest.approx(2 / 3)
    assert of["published", "certain_share"]["value"] == 0
    assert of["published", "certain_accuracy"]["n"] == 0
    assert of["published", "certain_accuracy"]["value"] is None
    assert of["published", "certain_accuracy"]["ci_low"] is None
    # 8 of 14 votes are for n: of item a it has (1 + 8/14) of 5
    assert of["votes", "log_loss"]["value"] == pytest.approx(
        -(math.log((3 + 6 / 14) / 5) + math.log((4 + 8 / 14) / 5) + math.log((2 + 8 / 14) / 5)) / 3
    )


@pytest.mark.parametrize(("wrong", "told"), [(4, []), (5, ["t 97.5% of 200 right"])])
def test_certain_labels_that_are_wrong_are_told_where_their_interval_lies_below(wrong, told):
    """Of 200 certain labels 196 right may be .99 (Wilson: .950 to .992), 195 not (.943 to .989)."""
    sure = {"n": (0.0, 0.001, 1), "y": (1.0, 0.999, 3)}
    rows = distributions(t={f"i{n}": sure for n in range(200)})
    truth = {f"i{n}": "n" if n < wrong else "y" for n in range(200)}
    _, metrics = check_calibration("t", NO, rows, items(**truth), 0.99)
    actual = [metrics["wrong_certain_labels"]] if metrics else []
    assert actual == told
    contracts = {"label_calibration": {"broken": [], "doubtful": []}}
    document = CalibrationMetrics(actual, {}).document() | {"contracts": contracts, "rows_made": {}}
    gates = run_gates("check_calibration", ["label_calibration"], document, {})
    level, detail = next((g.level, g.detail) for g in gates if g.name == "wrong_certain_labels")
    assert (level, detail) == ("warn", told[0]) if told else ("pass", "")


def test_no_certain_label_is_none_that_is_wrong():
    assert check_calibration("t", NO, ROWS, items(a="n", b="y"), 0.99)[1] == {}


def test_a_truth_that_is_no_class_and_tasks_without_truth():
    of = calibration_rows(ROWS, items(a="maybe", b="n"))
    assert of["dawid_skene", "accuracy"]["value"] == 0.5
    loss = -(math.log(1e-9) + math.log(0.999)) / 2
    assert of["dawid_skene", "log_loss"]["value"] == pytest.approx(loss)
    assert of["dawid_skene", "certain_accuracy"]["value"] == 0.5
    assert of["votes", "log_loss"]["value"] > -math.log(1e-9) / 2
    assert truths_of_no_class(ROWS, items(a="maybe", b="n", e="x")) == ["'maybe'"]
    assert truths_of_no_class(ROWS, items(a="y", b="n", e="x")) == []
    assert calibration_rows(ROWS, items(x="y")) == {}
    assert calibration_rows(ROWS, items().cast(ITEMS)) == {}
    assert check_calibration("t", NO, ROWS.slice(0, 0), items(a="y"), 0.99)[0].num_rows == 0
    probabilities, truth = held_against_truth(ROWS, items(a="maybe", b="n"))
    assert probabilities["dawid_skene"].tolist() == [[0.005, 0.995], [0.999, 0.001]]
    assert truth.tolist() == [-1, 0]


def test_a_truth_of_no_class_is_wrong_and_evidence_stays():
    rows = distributions(t={"a": {"1": (1.0, 0.9, 1), "2": (0.0, 0.1, 0), "3": (0.0, 0.0, 0)}})
    evidence = LABEL_CALIBRATION.from_columns({
        "task": ["t"], "model": ["published"], "statistic": ["dependence"], "value": [0.1],
        "ci_low": [None], "ci_high": [None], "n": [4],
    })  # fmt: skip
    table = check_calibration("t", evidence, rows, items(a="y"), 0.99)[0].to_pylist()
    assert len(table) == 1 + 3 * 5
    assert {row["value"] for row in table if row["statistic"] == "accuracy"} == {0}
    by_key = sorted((row["task"], row["model"], row["statistic"]) for row in table)
    assert by_key == [(row["task"], row["model"], row["statistic"]) for row in table]
