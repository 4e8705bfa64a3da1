"""Figures of tasks, and of several together, as the document of `annot score` has them.

A null means that a figure is undefined. Over items every item weighs the same, over tasks every
task.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import FLAG, REAL, TEXT
from annot_pipeline.methods.labels.class_scores import ClassScores, class_scores
from annot_pipeline.methods.labels.prediction_scores import (
    FIGURES,
    NO_CLASS,
    ItemScores,
    ScoreSums,
    mean_over_tasks,
    pool,
    resample_scores,
    score_items,
)
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples
from annot_pipeline.scoring.cells import Predicted
from annot_pipeline.scoring.gold import GROUPS, GoldTask

Document = dict[str, Any]

ENOUGH = 50
"""Known items from which a model is scored on them alone."""
OF_CLASS = ("precision", "recall", "f1", "expected_precision", "expected_recall", "expected_f1")
ITEMS = pa.schema(
    [("task", TEXT), ("item", TEXT), ("label", TEXT), ("probability", REAL), ("adjudicated", FLAG)]
    + [("predicted", TEXT), ("predicted_probability", REAL), ("distance", REAL)]
    + [(name, REAL) for name in FIGURES]
)


@dataclass(frozen=True)
class ScoredTask:
    """The figures of one task; ``sums`` of the model, and of the baselines by name."""

    gold: GoldTask
    predictions: Predicted
    items: ItemScores
    sums: ScoreSums
    baselines: Mapping[str, ScoreSums]
    document: Document


def score_task(
    gold: GoldTask, predictions: Predicted, *, floor: float, rounds: int, seed: int
) -> ScoredTask:
    """Return the figures of a task, of predictions of some of its items."""
    mine = gold.take(predictions.items)
    n_matched, with_truth = len(mine.items), np.flatnonzero(mine.true_classes != NO_CLASS)
    is_known = with_truth.size >= ENOUGH
    if is_known:
        mine, predictions = mine.take(with_truth), predictions.take(with_truth)
    groups, published = mine.groups, (mine.labels, mine.distribution)
    if is_known:
        truth = np.eye(len(mine.classes))[mine.true_classes]
        mine = replace(mine, labels=mine.true_classes, distribution=truth)
    n_items, n_classes = mine.distribution.shape
    resamples = ItemResamples.draw(n_items, rounds, _rng(seed, mine))
    shares = mine.distribution.mean(axis=0)
    guesses: dict[str, tuple[Any, Any]] = {
        "model": (predictions.codes, predictions.probabilities),
        "prevalence": (
            np.full(n_items, int(shares.argmax())),
            np.broadcast_to(shares, (n_items, n_classes)),
        ),
        "gold": published,
    }
    if is_known:  # else the vote competes with gold that it made
        guesses["majority_vote"] = (mine.majority, None)
    scores = {
        name: score_items(mine.distribution, mine.labels, *guess, floor=floor)
        for name, guess in guesses.items()
    }
    all_sums = resample_scores([*scores.values()], groups, resamples, n_groups=len(GROUPS))
    sums = dict(zip(scores, all_sums, strict=True))
    classes = class_scores(mine.distribution, mine.labels, predictions.codes, resamples)
    model = sums.pop("model")
    document = {
        "task": mine.name,
        "scored_on": "known" if is_known else "gold",
        "n_items": n_items,
        "n_known": int(with_truth.size),
        "n_without_prediction": len(gold.items) - n_matched,
        "n_adjudicated": int(mine.adjudicated.sum()),
        "n_without_votes": int((mine.majority == NO_CLASS).sum()),
        "n_unknown_class": int(predictions.is_unknown.sum()),
        "n_normalized": int(predictions.is_scaled.sum()),
        "n_tied": int(predictions.is_tied.sum()),
        "n_floored": int(scores["model"].floored.sum()),
        "classes": list(mine.classes),
        "figures": _figures(model.all_groups().estimates()),
        "mean_f1": _estimate(classes.mean_f1),
        "mean_expected_f1": _estimate(classes.mean_expected_f1),
        "baselines": {name: _figures(s.all_groups().estimates()) for name, s in sums.items()},
        "by_class": _by_class(mine.classes, classes),
        "by_certainty": _by_certainty(model),
        "calibration": _calibration(mine, predictions),
    }
    return ScoredTask(mine, predictions, scores["model"], model, sums, document)


def over_items(scored: Sequence[ScoredTask]) -> Document:
    """Return figures in which every item weighs the same."""
    whole = pool([task.sums for task in scored])
    figures = _together(scored, lambda sums: pool(sums).all_groups().estimates())
    return figures | {
        "n_items": int(whole.n_items.sum()),
        "by_certainty": _by_certainty(whole),
    }


def over_tasks(scored: Sequence[ScoredTask]) -> Document:
    """Return figures in which every task weighs the same."""
    return {"n_tasks": len(scored)} | _together(scored, mean_over_tasks)


def _together(
    scored: Sequence[ScoredTask], combine: Callable[[list[ScoreSums]], Mapping[str, Estimate]]
) -> Document:
    """Return figures of several tasks, and of the baselines that all of them have."""
    baselines = [
        name for name in scored[0].baselines if all(name in task.baselines for task in scored)
    ]
    return {
        "figures": _figures(combine([task.sums for task in scored])),
        "baselines": {
            name: _figures(combine([task.baselines[name] for task in scored])) for name in baselines
        },
    }


def item_table(scored: Sequence[ScoredTask]) -> pa.Table:
    """Return one row per item: gold, the prediction, and how far apart they are, as `ITEMS`.

    The largest distance comes first: KL; of labels, by how much less likely the class predicted is
    than gold's label.
    """
    parts = [_task_items(task.gold, task.predictions, task.items) for task in scored]
    keys = [("distance", "descending"), ("task", "ascending"), ("item", "ascending")]
    return pa.concat_tables([ITEMS.empty_table(), *parts]).sort_by(keys)


def _task_items(gold: GoldTask, predictions: Predicted, scores: ItemScores) -> pa.Table:
    rows = np.arange(len(gold.labels))
    classes = pa.array(gold.classes, TEXT)
    best = gold.distribution[rows, gold.labels]
    is_class = predictions.codes != NO_CLASS
    shares = np.full(rows.size, np.nan)
    figures = dict(zip(FIGURES, scores.values.T, strict=True))
    distance = best - figures["expected_accuracy"]
    if predictions.probabilities is not None:
        shares[is_class] = predictions.probabilities[rows[is_class], predictions.codes[is_class]]
        distance = figures["kl"]
    columns: dict[str, Any] = {
        "task": pa.repeat(gold.name, rows.size),
        "item": gold.items,
        "label": classes.take(pa.array(gold.labels)),
        "probability": best,
        "adjudicated": gold.adjudicated,
        "predicted": classes.take(pa.array(predictions.codes, mask=~is_class)),
        "predicted_probability": pa.array(shares, REAL, from_pandas=True),
        "distance": distance,
    }
    values = {name: pa.array(column, REAL, from_pandas=True) for name, column in figures.items()}
    return pa.table(columns | values, schema=ITEMS)


def _rng(seed: int, gold: GoldTask) -> np.random.Generator:
    """Return a generator by the items: tasks about the same items draw the same ones."""
    names = hashlib.sha256("\0".join(gold.items.to_pylist()).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(names[:8], "big")])


def _estimate(figure: Estimate) -> Document:
    """Return a figure with its 95% interval."""
    return {name: _number(getattr(figure, name)) for name in ("value", "ci_low", "ci_high")}


def _figures(estimates: Mapping[str, Estimate]) -> Document:
    return {name: _estimate(figure) for name, figure in estimates.items()}


def _by_class(classes: Sequence[str], scores: ClassScores) -> list[Document]:
    return [
        {
            "label": name,
            "n_gold": int(scores.n_gold[k]),
            "n_predicted": int(scores.n_predicted[k]),
            "mass": float(scores.mass[k]),
            **{figure: _estimate(getattr(scores, figure)[k]) for figure in OF_CLASS},
        }
        for k, name in enumerate(classes)
    ]


def _by_certainty(sums: ScoreSums) -> list[Document]:
    return [
        {"certainty": name, "n_items": int(sums.n_items[g]), "figures": _figures(sums.estimates(g))}
        for g, name in enumerate(GROUPS)
    ]


def _calibration(gold: GoldTask, predictions: Predicted) -> Document | None:
    """Return the calibration errors and their bins; None of labels."""
    if predictions.probabilities is None:
        return None
    rows = np.flatnonzero(predictions.codes != NO_CLASS)
    codes = predictions.codes[rows]
    measured = reliability(
        predictions.probabilities[rows, codes], gold.distribution[rows, codes],
        codes == gold.labels[rows],
    )  # fmt: skip
    errors = ("error", "label_error", "label_error_se")
    names = [field.name for field in fields(measured) if field.name not in errors]
    columns = [map(_number, getattr(measured, name).tolist()) for name in names]
    return {
        "error": _number(measured.error),
        "label_error": _number(measured.label_error),
        "bins": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)],
    }


def _number(value: float) -> float | int | None:
    """Return a number as JSON holds it; null where undefined."""
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(value)
