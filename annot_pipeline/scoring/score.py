"""A file of predictions against a release, as one document."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
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
from annot_pipeline.scoring.cells import Predicted, predicted
from annot_pipeline.scoring.faults import Faults
from annot_pipeline.scoring.gold import GROUPS, GoldTables, GoldTask, read_gold
from annot_pipeline.scoring.match import SHOWN, Matched, choose_tasks, match
from annot_pipeline.scoring.predictions import (
    FORMS,
    Predictions,
    read_predictions,
    recognise,
)
from annot_pipeline.storage.releases import Releases

Document = dict[str, Any]
Progress = Callable[[str], None]

ENOUGH = 50
"""Known items from which a model is scored on them alone."""


@dataclass(frozen=True)
class Options:
    """What may be chosen.

    Parameters
    ----------
    task
        Only this one.
    release
        Version, or ``latest``.
    item, label
        Columns of the file.
    form
        How predictions stand in it, if not to be guessed.
    floor
        What a predicted probability is at least.
    rounds
        Of the bootstrap.
    normalize
        Divide probabilities by their sum.
    unknown_wrong
        Classes that gold does not know are wrong answers.
    raw
        Gold is what Dawid-Skene says, not the published probabilities.
    """

    task: str | None = None
    release: str = "latest"
    item: str | None = None
    label: str | None = None
    form: str | None = None
    floor: float = 1e-9
    rounds: int = 1000
    normalize: bool = False
    unknown_wrong: bool = False
    raw: bool = False

    def __post_init__(self) -> None:
        problems = []
        if not 0 < self.floor < 1:
            problems.append(
                Problem("--floor", f"is {self.floor}", "more than 0 and less than 1, as 1e-9")
            )
        if self.rounds < 0:
            problems.append(Problem("--rounds", f"is {self.rounds}", "0 (no bootstrap) or more"))
        if self.form is not None and self.form not in FORMS:
            problems.append(Problem("--form", f"is {self.form}", ", ".join(FORMS)))
        if problems:
            raise ConfigError("options that cannot be", problems)


@dataclass(frozen=True)
class _Scored:
    """The figures of one task."""

    gold: GoldTask
    predictions: Predicted
    items: ItemScores
    sums: ScoreSums
    baselines: dict[str, ScoreSums]
    document: Document


@dataclass(frozen=True, eq=False)
class PredictionScores:
    """A model's predictions held against gold.

    Parameters
    ----------
    document
        The figures, as docs/score.md says.
    items
        One row per item, the largest disagreements first, as `document.ITEMS` says.
    """

    document: Document
    items: pa.Table


def score(
    campaign: LoadedCampaign,
    path: Path,
    options: Options,
    *,
    progress: Progress = lambda _: None,
) -> PredictionScores:
    """Score a file of a model's predictions against a release.

    Parameters
    ----------
    campaign
        Whose release they are held against.
    path
        File of predictions.
    options
        What was chosen.
    progress
        Told what is going on.

    Raises
    ------
    AnnotError
        No such release, or predictions that cannot be scored, with all that is wrong.
    """
    release = Releases.for_campaign(campaign).get(options.release)
    predictions = read_predictions(path, campaign.settings.limits)
    scores = score_predictions(
        release, predictions, options, seed=campaign.settings.seed, progress=progress
    )
    document = {
        "campaign": campaign.settings.campaign,
        "release": release.version,
        "manifest_sha256": release.manifest_sha256,
        "predictions": str(path),
        **scores.document,
    }
    return replace(scores, document=document)


def score_predictions(
    gold_tables: GoldTables,
    predictions: Predictions,
    options: Options,
    *,
    seed: int,
    progress: Progress = lambda _: None,
) -> PredictionScores:
    """Score a model's predictions against gold tables.

    Parameters
    ----------
    gold_tables
        ``labels``, ``label_distributions``, ``prevalence`` and ``items``.
    predictions
        Cells as text.
    options
        What was chosen.
    seed
        Of the bootstrap.
    progress
        Told what is going on.

    Raises
    ------
    AnnotError
        Predictions cannot be scored, with all that is wrong.
    """
    gold = read_gold(gold_tables, raw=options.raw)
    tasks = choose_tasks(gold, options.task)
    form = recognise(
        predictions,
        _classes(tasks.values()),
        item=options.item,
        label=options.label,
        form=options.form,
        raw=options.raw,
    )
    faults = Faults(predictions.name)
    matched = match(predictions, form, gold, tasks, faults)
    predictions_by_task = {
        task: predicted(
            matched.rows[task], faults, normalize=options.normalize,
            unknown_wrong=options.unknown_wrong,
        )
        for task in tasks if task in matched.rows
    }  # fmt: skip
    faults.raise_any()
    scored = {}
    for task, of_task in predictions_by_task.items():
        progress(f"{task}: {len(of_task.items):,} items, {options.rounds:,} bootstrap rounds")
        scored[task] = _score_task(tasks[task], of_task, options, seed)
    items = written.item_table(
        [(task.gold, task.predictions, task.items) for task in scored.values()]
    )
    document = {
        "form": written.form(form, _classes(tasks[task] for task in predictions_by_task)),
        "gold_column": next(iter(tasks.values())).column,
        "floor": options.floor,
        "rounds": options.rounds,
        "seed": seed,
        **_coverage(len(predictions), matched, tasks, predictions_by_task),
        "tasks": [task.document for task in scored.values()],
        "micro": _micro(scored),
        "macro": _macro(scored),
        "why_null": written.why_null(form),
        "farthest": written.farthest(items),
    }
    return PredictionScores(document, items)


def _classes(tasks: Iterable[GoldTask]) -> list[str]:
    """Classes of tasks, each once."""
    return list(dict.fromkeys(name for task in tasks for name in task.classes))


def _score_task(gold: GoldTask, predictions: Predicted, options: Options, seed: int) -> _Scored:
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
    resamples = ItemResamples.draw(n_items, options.rounds, _rng(seed, mine))
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
        name: score_items(mine.distribution, mine.labels, *guess, floor=options.floor)
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
    return _Scored(mine, predictions, scores["model"], model, sums, document)


def _rng(seed: int, gold: GoldTask) -> np.random.Generator:
    """Hangs on the items: tasks about the same items draw the same ones."""
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


def _coverage(
    n_rows: int,
    matched: Matched,
    tasks: Mapping[str, GoldTask],
    predictions_by_task: Mapping[str, Predicted],
) -> Document:
    missing: list[str] = []
    n_missing = 0
    for name, task in tasks.items():
        there = np.zeros(len(task.items), np.bool_)
        if name in predictions_by_task:
            there[predictions_by_task[name].items] = True
        lost = np.flatnonzero(~there)
        n_missing += lost.size
        missing += task.items.take(pa.array(lost[: SHOWN - len(missing)])).to_pylist()
    return {
        "rows": n_rows,
        "matched_rows": sum(len(rows.at) for rows in matched.rows.values()),
        "matched": sum(len(predictions.items) for predictions in predictions_by_task.values()),
        "gold_items": sum(len(task.items) for task in tasks.values()),
        "unknown_items": {
            "n": len(matched.unknown_items),
            "first": list(dict.fromkeys(matched.unknown_items))[:SHOWN],
        },
        "unknown_tasks": matched.unknown_tasks,
        "other_tasks": matched.other_tasks,
        "gold_without_prediction": {"n": n_missing, "first": missing},
    }


def _micro(scored: Mapping[str, _Scored]) -> Document:
    """Every item weighs the same."""
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


def _macro(scored: Mapping[str, _Scored]) -> Document:
    """Every task weighs the same."""
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


def _common_baselines(scored: Mapping[str, _Scored]) -> list[str]:
    """Return the baselines that all tasks have."""
    first, *others = (task.baselines for task in scored.values())
    return [name for name in first if all(name in baselines for baselines in others)]
