"""A file of predictions against a release, as one document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.labels.prediction_scores import NEED_PROBABILITIES
from annot_pipeline.scoring.cells import Predicted, predicted
from annot_pipeline.scoring.faults import Faults
from annot_pipeline.scoring.figures import item_table, over_items, over_tasks, score_task
from annot_pipeline.scoring.gold import GoldTables, GoldTask, read_gold
from annot_pipeline.scoring.match import SHOWN, Matched, choose_tasks, match
from annot_pipeline.scoring.predictions import FORMS, Form, Predictions, read_predictions, recognise
from annot_pipeline.storage.releases import Releases

FARTHEST = 5
"""Items named that are farthest from gold."""
Document = dict[str, Any]
Progress = Callable[[str], None]


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


@dataclass(frozen=True, eq=False)
class PredictionScores:
    """A model's predictions held against gold.

    Parameters
    ----------
    document
        The figures, as docs/score.md says.
    items
        One row per item, the largest disagreements first, as `figures.ITEMS` says.
    """

    document: Document
    items: pa.Table


def score(
    campaign: LoadedCampaign, path: Path, options: Options, *, progress: Progress = lambda _: None
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
        Called with messages about the progress.

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
        Called with messages about the progress.

    Raises
    ------
    AnnotError
        Predictions cannot be scored, with all that is wrong.
    """
    gold = read_gold(gold_tables, raw=options.raw)
    tasks = choose_tasks(gold, options.task)
    form = recognise(
        predictions, _classes(tasks.values()), item=options.item, label=options.label,
        form=options.form, raw=options.raw,
    )  # fmt: skip
    faults = Faults(predictions.name, predictions.lines)
    matched = match(predictions, form, gold, tasks, faults)
    predicted_by_task = {
        task: predicted(
            matched.rows[task], faults, normalize=options.normalize,
            unknown_wrong=options.unknown_wrong,
        )
        for task in tasks if task in matched.rows
    }  # fmt: skip
    faults.raise_any()
    scored = []
    for task, of_task in predicted_by_task.items():
        progress(f"{task}: {len(of_task.items):,} items, {options.rounds:,} bootstrap rounds")
        scored.append(
            score_task(tasks[task], of_task, floor=options.floor, rounds=options.rounds, seed=seed)
        )
    items = item_table(scored)
    why_null = "the file holds labels: without probabilities it is not defined"
    undefined = () if form.has_probabilities else (*NEED_PROBABILITIES, "calibration")
    document = {
        "not_rows": dict(predictions.not_rows),
        "form": _form(form, _classes(tasks[task] for task in predicted_by_task)),
        "gold_column": next(iter(tasks.values())).column, "floor": options.floor,
        "rounds": options.rounds, "seed": seed,
        **_coverage(len(predictions), matched, tasks, predicted_by_task),
        "tasks": [task.document for task in scored], "micro": over_items(scored),
        "macro": over_tasks(scored), "why_null": dict.fromkeys(undefined, why_null),
        "farthest": [row for row in items[:FARTHEST].to_pylist() if row["distance"] > 0],
    }  # fmt: skip
    return PredictionScores(document, items)


def _form(form: Form, classes: Sequence[str]) -> Document:
    """Return the form that was recognised in the file."""
    with_column = dict(form.classes)
    missing = [name for name in classes if name not in with_column]
    return {
        "name": form.name, "says": form.describe(), "item": form.item, "task": form.task,
        "label": form.label, "probability": form.probability, "columns": with_column,
        "classes_without_column": missing if form.name == "columns" else [],
        "ignored": list(form.ignored),
    }  # fmt: skip


def _classes(tasks: Iterable[GoldTask]) -> list[str]:
    """Return classes of tasks, each once."""
    return list(dict.fromkeys(name for task in tasks for name in task.classes))


def _coverage(
    n_rows: int,
    matched: Matched,
    tasks: Mapping[str, GoldTask],
    predicted_by_task: Mapping[str, Predicted],
) -> Document:
    missing: list[str] = []
    n_missing = 0
    for name, task in tasks.items():
        has_prediction = np.zeros(len(task.items), np.bool_)
        if name in predicted_by_task:
            has_prediction[predicted_by_task[name].items] = True
        lost = np.flatnonzero(~has_prediction)
        n_missing += lost.size
        missing += task.items.take(pa.array(lost[: SHOWN - len(missing)])).to_pylist()
    return {
        "rows": n_rows, "matched_rows": sum(len(rows.at) for rows in matched.rows.values()),
        "matched": sum(len(predictions.items) for predictions in predicted_by_task.values()),
        "gold_items": sum(len(task.items) for task in tasks.values()),
        "unknown_items": {
            "n": len(matched.unknown_items),
            "first": list(dict.fromkeys(matched.unknown_items))[:SHOWN],
        },
        "unknown_tasks": matched.unknown_tasks, "other_tasks": matched.other_tasks,
        "gold_without_prediction": {"n": n_missing, "first": missing},
    }  # fmt: skip
