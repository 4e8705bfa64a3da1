"""Probabilities of labels against truth, by hand; and what a build tells of its certainty."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import LABEL_CALIBRATION
from annot_pipeline.methods.wilson import wilson_interval
from annot_pipeline.steps.check_calibration import check_calibration, held_against_truth

NO = LABEL_CALIBRATION.empty()


def distributions(**tasks):
    """Rows by task: item, then (raw, calibrated, votes) of each class."""
    rows = [
        {"task": task, "item": item, "label": label, "probability": raw,
         "calibrated_probability": calibrated, "votes": votes}
        for task, items in tasks.items()
        for item, classes in items.items()
        for label, (raw, calibrated, votes) in classes.items()
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


def found(rows, known):
    table = check_calibration(NO, rows, known)
    assert table.schema.equals(LABEL_CALIBRATION.schema)
    return {(r["model"], r["statistic"]): r for r in table.to_pylist()}


def test_every_figure_by_hand():
    of = found(ROWS, items(a="y", b="n", c="n", d=None, e="y"))
    assert {row["n"] for (_, s), row in of.items() if s != "certain_accuracy"} == {3}
    assert of["raw", "accuracy"]["value"] == pytest.approx(2 / 3)
    low, high = wilson_interval([2], [3])
    assert of["raw", "accuracy"]["ci_low"] == pytest.approx(low[0])
    assert of["raw", "accuracy"]["ci_high"] == pytest.approx(high[0])
    losses = np.array([-math.log(0.995), -math.log(0.999), -math.log(1e-9)])
    assert of["raw", "log_loss"]["value"] == pytest.approx(losses.mean())
    assert of["raw", "log_loss"]["ci_low"] == 0
    half = 1.959963984540054 * losses.std(ddof=1) / math.sqrt(3)
    assert of["raw", "log_loss"]["ci_high"] == pytest.approx(losses.mean() + half)
    assert of["calibrated", "log_loss"]["value"] == pytest.approx(
        -(math.log(0.8) + math.log(0.9) + math.log(0.4)) / 3
    )
    # in the bin up to .8: one right of .8, in that up to .6: none of .6, up to .9: one of .9
    error = (abs(1 - 0.8) + abs(0 - 0.6) + abs(1 - 0.9)) / 3
    assert of["calibrated", "expected_calibration_error"]["value"] == pytest.approx(error)
    half = 1.959963984540054 * np.std([0.2, 0.6, 0.1], ddof=1) / math.sqrt(3)
    assert of["calibrated", "expected_calibration_error"]["ci_low"] == pytest.approx(error - half)
    assert of["calibrated", "expected_calibration_error"]["ci_high"] == pytest.approx(error + half)
    assert of["raw", "certain_share"]["value"] == 1
    assert of["raw", "certain_accuracy"]["value"] == pytest.approx(2 / 3)
    assert of["calibrated", "certain_share"]["value"] == 0
    assert of["calibrated", "certain_accuracy"]["n"] == 0
    assert of["calibrated", "certain_accuracy"]["value"] is None
    assert of["calibrated", "certain_accuracy"]["ci_low"] is None
    # 8 of 14 votes are for n: of item a it has (1 + 8/14) of 5
    assert of["votes", "log_loss"]["value"] == pytest.approx(
        -(math.log((3 + 6 / 14) / 5) + math.log((4 + 8 / 14) / 5) + math.log((2 + 8 / 14) / 5)) / 3
    )


def test_a_truth_that_is_no_class_and_tasks_without_truth():
    assert found(ROWS, items(a="maybe")) == {}
    assert found(ROWS, items(x="y")) == {}
    assert found(ROWS, items()) == {}
    assert check_calibration(NO, ROWS.slice(0, 0), items(a="y")).num_rows == 0
    probabilities, truth = held_against_truth(ROWS, items(a="maybe", b="n"))
    assert probabilities["raw"].tolist() == [[0.999, 0.001]]
    assert truth.tolist() == [0]


def test_tasks_stand_apart_and_keep_their_evidence():
    rows = distributions(
        s={"a": {"1": (1.0, 0.9, 1), "2": (0.0, 0.1, 0), "3": (0.0, 0.0, 0)}},
        t={"a": {"n": (0.2, 0.4, 1), "y": (0.8, 0.6, 3)}},
    )
    evidence = LABEL_CALIBRATION.of({
        "task": ["t"], "model": ["raw"], "statistic": ["overconfidence"], "value": [0.1],
        "ci_low": [None], "ci_high": [None], "n": [4],
    })  # fmt: skip
    table = check_calibration(evidence, rows, items(a="y")).to_pylist()
    assert {row["task"] for row in table} == {"t"}
    assert len(table) == 1 + 3 * 5
    by_key = sorted((row["task"], row["model"], row["statistic"]) for row in table)
    assert by_key == [(row["task"], row["model"], row["statistic"]) for row in table]
