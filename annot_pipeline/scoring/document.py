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


def estimate(found: Estimate) -> Document:
    """A figure with its 95% interval."""
    return {
        "value": _number(found.value),
        "ci_low": _number(found.ci_low),
        "ci_high": _number(found.ci_high),
    }


def figures(found: Mapping[str, Estimate]) -> Document:
    """Figures by name."""
    return {name: estimate(value) for name, value in found.items()}


def form(found: Form, classes: Sequence[str]) -> Document:
    """What was recognised in the file."""
    with_column = dict(found.classes)
    return {
        "name": found.name,
        "says": found.says(),
        "item": found.item,
        "task": found.task,
        "label": found.label,
        "probability": found.probability,
        "columns": with_column,
        "classes_without_column": [name for name in classes if name not in with_column]
        if found.name == "columns"
        else [],
        "ignored": list(found.ignored),
    }


def why_null(found: Form) -> Document:
    """Why figures are null."""
    if found.has_probabilities:
        return {}
    why = "the file holds labels: without probabilities it is not defined"
    return dict.fromkeys((*NEED_PROBABILITIES, "calibration"), why)


def by_class(classes: Sequence[str], found: ClassScores) -> list[Document]:
    """A row a class."""
    return [
        {
            "label": name,
            "n_gold": int(found.n_gold[k]),
            "n_predicted": int(found.n_predicted[k]),
            "mass": float(found.mass[k]),
            **{figure: estimate(getattr(found, figure)[k]) for figure in OF_CLASS},
        }
        for k, name in enumerate(classes)
    ]


def by_certainty(sums: ScoreSums) -> list[Document]:
    """A row a group of items."""
    return [
        {"certainty": name, "n_items": int(sums.n_items[g]), "figures": figures(sums.estimates(g))}
        for g, name in enumerate(GROUPS)
    ]


def calibration(found: Reliability) -> Document:
    """The errors, and their bins."""
    names = [
        f.name for f in fields(found) if f.name not in ("error", "label_error", "label_error_se")
    ]
    columns = [getattr(found, name).tolist() for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return {
        "error": _number(found.error),
        "label_error": _number(found.label_error),
        "bins": [{name: _number(value) for name, value in row.items()} for row in rows],
    }


def farthest(tasks: Sequence[tuple[GoldTask, Predicted, ItemScores]]) -> list[Document]:
    """Items that gold and the model disagree on most.

    By KL; of labels, by how much less likely the class predicted is than gold's label.
    """
    rows = []
    for gold, found, scores in tasks:
        kl, chance = (scores.values[:, FIGURES.index(n)] for n in ("kl", "expected_accuracy"))
        best = gold.distribution[np.arange(len(gold.labels)), gold.labels]
        distance = best - chance if found.probabilities is None else kl
        order = np.argsort(-distance, kind="stable")[:FARTHEST]
        rows += [_item(gold, found, scores, n, float(distance[n])) for n in order.tolist()]
    rows = [row for row in rows if row["distance"] > 0]
    return sorted(rows, key=lambda row: (-row["distance"], row["task"], row["item"]))[:FARTHEST]


def _item(
    gold: GoldTask, found: Predicted, scores: ItemScores, n: int, distance: float
) -> Document:
    code, label = int(found.codes[n]), int(gold.labels[n])
    shares = found.probabilities
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
