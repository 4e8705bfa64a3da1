"""How figures are written in the document of `annot score`; a null says that it is undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import FLAG, REAL, TEXT
from annot_pipeline.methods.labels.class_scores import ClassScores
from annot_pipeline.methods.labels.prediction_scores import (
    FIGURES,
    NEED_PROBABILITIES,
    NO_CLASS,
    ItemScores,
    ScoreSums,
)
from annot_pipeline.methods.labels.reliability import Reliability
from annot_pipeline.methods.numerics.bootstrap import Estimate
from annot_pipeline.scoring.cells import Predicted
from annot_pipeline.scoring.gold import GROUPS, GoldTask
from annot_pipeline.scoring.predictions import Form

Document = dict[str, Any]

FARTHEST = 5
"""Items named that are farthest from gold."""
ITEMS = pa.schema(
    [("task", TEXT), ("item", TEXT), ("label", TEXT), ("probability", REAL), ("adjudicated", FLAG)]
    + [("predicted", TEXT), ("predicted_probability", REAL), ("distance", REAL)]
    + [(name, REAL) for name in FIGURES]
)
OF_CLASS = ("precision", "recall", "f1", "expected_precision", "expected_recall", "expected_f1")


def estimate(figure: Estimate) -> Document:
    """Return a figure with its 95% interval."""
    return {
        "value": _number(figure.value),
        "ci_low": _number(figure.ci_low),
        "ci_high": _number(figure.ci_high),
    }


def figures(estimates: Mapping[str, Estimate]) -> Document:
    """Return figures by name."""
    return {name: estimate(figure) for name, figure in estimates.items()}


def form(recognised: Form, classes: Sequence[str]) -> Document:
    """Return the form that was recognised in the file."""
    with_column = dict(recognised.classes)
    return {
        "name": recognised.name,
        "says": recognised.describe(),
        "item": recognised.item,
        "task": recognised.task,
        "label": recognised.label,
        "probability": recognised.probability,
        "columns": with_column,
        "classes_without_column": [name for name in classes if name not in with_column]
        if recognised.name == "columns"
        else [],
        "ignored": list(recognised.ignored),
    }


def why_null(recognised: Form) -> Document:
    """Return the reasons why figures are null."""
    if recognised.has_probabilities:
        return {}
    why = "the file holds labels: without probabilities it is not defined"
    return dict.fromkeys((*NEED_PROBABILITIES, "calibration"), why)


def by_class(classes: Sequence[str], scores: ClassScores) -> list[Document]:
    """Return one row per class."""
    return [
        {
            "label": name,
            "n_gold": int(scores.n_gold[k]),
            "n_predicted": int(scores.n_predicted[k]),
            "mass": float(scores.mass[k]),
            **{figure: estimate(getattr(scores, figure)[k]) for figure in OF_CLASS},
        }
        for k, name in enumerate(classes)
    ]


def by_certainty(sums: ScoreSums) -> list[Document]:
    """Return one row per group of items by certainty."""
    return [
        {"certainty": name, "n_items": int(sums.n_items[g]), "figures": figures(sums.estimates(g))}
        for g, name in enumerate(GROUPS)
    ]


def calibration(measured: Reliability) -> Document:
    """Return the calibration errors and their bins."""
    names = [
        f.name for f in fields(measured) if f.name not in ("error", "label_error", "label_error_se")
    ]
    columns = [getattr(measured, name).tolist() for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return {
        "error": _number(measured.error),
        "label_error": _number(measured.label_error),
        "bins": [{name: _number(value) for name, value in row.items()} for row in rows],
    }


def item_table(tasks: Sequence[tuple[GoldTask, Predicted, ItemScores]]) -> pa.Table:
    """Return one row per item: gold, the prediction, and difference they are, `ITEMS`.

    The largest distance comes first: KL; of labels, by how much less likely the class predicted is
    than gold's label.
    """
    parts = [_task_items(*task) for task in tasks]
    table = pa.concat_tables(parts) if parts else ITEMS.empty_table()
    keys = [("distance", "descending"), ("task", "ascending"), ("item", "ascending")]
    return table.sort_by(keys)


def _task_items(gold: GoldTask, predictions: Predicted, scores: ItemScores) -> pa.Table:
    rows = np.arange(len(gold.labels))
    classes = pa.array(gold.classes, TEXT)
    best = gold.distribution[rows, gold.labels]
    is_known = predictions.codes != NO_CLASS
    shares = np.full(rows.size, np.nan)
    if predictions.probabilities is not None:
        shares[is_known] = predictions.probabilities[rows[is_known], predictions.codes[is_known]]
        distance = scores.values[:, FIGURES.index("kl")]
    else:
        distance = best - scores.values[:, FIGURES.index("expected_accuracy")]
    figures = {
        name: pa.array(scores.values[:, at], REAL, from_pandas=True)
        for at, name in enumerate(FIGURES)
    }
    columns: dict[str, Any] = {
        "task": pa.repeat(gold.name, rows.size),
        "item": gold.items,
        "label": classes.take(pa.array(gold.labels)),
        "probability": best,
        "adjudicated": gold.adjudicated,
        "predicted": classes.take(pa.array(predictions.codes, mask=~is_known)),
        "predicted_probability": pa.array(shares, REAL, from_pandas=True),
        "distance": distance,
    }
    return pa.table(columns | figures, schema=ITEMS)


def farthest(items: pa.Table) -> list[Document]:
    """Return the items with the largest disagreements of gold and the model, of `item_table`."""
    rows: list[Document] = items.slice(0, FARTHEST).to_pylist()
    return [row for row in rows if row["distance"] > 0]


def _number(value: float) -> float | int | None:
    """Return a number as JSON holds it; null where undefined."""
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(value)
