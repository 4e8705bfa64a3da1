"""How figures are written in the document of `annot score`; a null says that it is undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

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
        "says": recognised.says(),
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


def farthest(tasks: Sequence[tuple[GoldTask, Predicted, ItemScores]]) -> list[Document]:
    """Return the items with the largest disagreements of gold and the model.

    By KL; of labels, by how much less likely the class predicted is than gold's label.
    """
    rows = []
    for gold, predictions, scores in tasks:
        kl, chance = (scores.values[:, FIGURES.index(n)] for n in ("kl", "expected_accuracy"))
        best = gold.distribution[np.arange(len(gold.labels)), gold.labels]
        distance = best - chance if predictions.probabilities is None else kl
        order = np.argsort(-distance, kind="stable")[:FARTHEST]
        rows += [_item(gold, predictions, scores, n, float(distance[n])) for n in order.tolist()]
    rows = [row for row in rows if row["distance"] > 0]
    return sorted(rows, key=lambda row: (-row["distance"], row["task"], row["item"]))[:FARTHEST]


def _item(
    gold: GoldTask, predictions: Predicted, scores: ItemScores, n: int, distance: float
) -> Document:
    code, label = int(predictions.codes[n]), int(gold.labels[n])
    shares = predictions.probabilities
    return {
        "task": gold.name,
        "item": gold.items[n].as_py(),
        "label": gold.classes[label],
        "probability": float(gold.distribution[n, label]),
        "adjudicated": bool(gold.adjudicated[n]),
        "predicted": None if code == NO_CLASS else gold.classes[code],
        "predicted_probability": None
        if shares is None or code == NO_CLASS
        else float(shares[n, code]),
        "distance": distance,
        **{name: _number(scores.values[n, at]) for at, name in enumerate(FIGURES)},
    }


def _number(value: float) -> float | int | None:
    """A number as JSON holds it; null where undefined."""
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(value)
