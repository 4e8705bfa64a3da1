"""Figures of one task, and of several together: every item, or every task, weighs the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annot_pipeline.methods.labels.class_scores import class_scores
from annot_pipeline.methods.labels.prediction_scores import (
    NO_CLASS,
    ItemScores,
    ScoreSums,
    mean_over_tasks,
    pool,
    resample_scores,
    score_items,
)
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.methods.numerics.bootstrap import ItemResamples
from annot_pipeline.scoring import document as written
from annot_pipeline.scoring.cells import Predicted
from annot_pipeline.scoring.gold import GROUPS, GoldTask

Document = dict[str, Any]

ENOUGH = 50
"""Known items from which a model is scored on them alone."""


@dataclass(frozen=True)
class ScoredTask:
    """The figures of one task."""

    gold: GoldTask
    predictions: Predicted
    items: ItemScores
    sums: ScoreSums
    baselines: dict[str, ScoreSums]
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
        mine = replace(
            mine,
            labels=mine.true_classes,
            distribution=np.eye(len(mine.classes))[mine.true_classes],
        )
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
    sums = dict(
        zip(
            scores,
            resample_scores(
                list(scores.values()), groups, resamples, n_groups=len(GROUPS)
            ),
            strict=True,
        )
    )  # fmt: skip
    classes = class_scores(mine.distribution, mine.labels, predictions.codes, resamples)
    model, floored = sums.pop("model"), int(scores["model"].floored.sum())
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
        "n_floored": floored,
        "classes": list(mine.classes),
        "figures": written.figures(model.all_groups().estimates()),
        "mean_f1": written.estimate(classes.mean_f1),
        "mean_expected_f1": written.estimate(classes.mean_expected_f1),
        "baselines": {
            name: written.figures(scores_of_guess.all_groups().estimates())
            for name, scores_of_guess in sums.items()
        },
        "by_class": written.by_class(mine.classes, classes),
        "by_certainty": written.by_certainty(model),
        "calibration": _calibration(mine, predictions),
    }
    return ScoredTask(mine, predictions, scores["model"], model, sums, document)


def _rng(seed: int, gold: GoldTask) -> np.random.Generator:
    """Return a generator by the items: tasks about the same items draw the same ones."""
    names = hashlib.sha256("\0".join(gold.items.to_pylist()).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(names[:8], "big")])


def _calibration(gold: GoldTask, predictions: Predicted) -> Document | None:
    if predictions.probabilities is None:
        return None
    named = np.flatnonzero(predictions.codes != NO_CLASS)
    codes = predictions.codes[named]
    return written.calibration(
        reliability(
            predictions.probabilities[named, codes],
            gold.distribution[named, codes],
            codes == gold.labels[named],
        )
    )


def over_items(scored: Mapping[str, ScoredTask]) -> Document:
    """Return figures in which every item weighs the same."""
    whole = pool([task.sums for task in scored.values()])
    return {
        "n_items": int(whole.n_items.sum()),
        "figures": written.figures(whole.all_groups().estimates()),
        "baselines": {
            name: written.figures(
                pool([task.baselines[name] for task in scored.values()])
                .all_groups()
                .estimates()
            )
            for name in _common_baselines(scored)
        },
        "by_certainty": written.by_certainty(whole),
    }  # fmt: skip


def over_tasks(scored: Mapping[str, ScoredTask]) -> Document:
    """Return figures in which every task weighs the same."""
    return {
        "n_tasks": len(scored),
        "figures": written.figures(mean_over_tasks([task.sums for task in scored.values()])),
        "baselines": {
            name: written.figures(
                mean_over_tasks([task.baselines[name] for task in scored.values()])
            )
            for name in _common_baselines(scored)
        },
    }


def _common_baselines(scored: Mapping[str, ScoredTask]) -> list[str]:
    """Return the baselines that all tasks have."""
    first, *rest = (task.baselines for task in scored.values())
    return [name for name in first if all(name in baselines for baselines in rest)]
