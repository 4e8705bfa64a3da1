"""A file of predictions against a release, as one document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import likely_name
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, shorten
from annot_pipeline.methods.labels.prediction_scores import NEED_PROBABILITIES
from annot_pipeline.scoring.cells import Predicted, Rows, predicted
from annot_pipeline.scoring.faults import Faults, listed
from annot_pipeline.scoring.figures import item_table, over_items, over_tasks, score_task
from annot_pipeline.scoring.gold import GoldTables, GoldTask, read_gold
from annot_pipeline.scoring.predictions import FORMS, Form, Predictions, read_predictions, recognise
from annot_pipeline.stages.ingest.record_cells import is_blank
from annot_pipeline.storage.releases import Releases

FARTHEST = 5
"""Items named that are farthest from gold."""
SHOWN = 5
"""Names of items that are said of many."""
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
        checks = (
            ("--floor", self.floor, 0 < self.floor < 1, "more than 0 and less than 1, as 1e-9"),
            ("--rounds", self.rounds, self.rounds >= 0, "0 (no bootstrap) or more"),
            ("--form", self.form, self.form in (None, *FORMS), ", ".join(FORMS)),
        )
        problems = [
            Problem(where, f"is {value}", what) for where, value, ok, what in checks if not ok
        ]
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
    missing = [k for k in classes if form.name == "columns" and k not in form.columns]
    more = {"says": form.describe(), "classes_without_column": missing}
    return vars(form) | more | {"ignored": list(form.ignored)}


def _classes(tasks: Iterable[GoldTask]) -> list[str]:
    """Return classes of tasks, each once."""
    return list(dict.fromkeys(name for task in tasks for name in task.classes))


def _coverage(
    n_rows: int,
    matched: Matched,
    tasks: Mapping[str, GoldTask],
    predicted_by_task: Mapping[str, Predicted],
) -> Document:
    without = []
    for name, task in tasks.items():
        lost = np.ones(len(task.items), np.bool_)
        if name in predicted_by_task:
            lost[predicted_by_task[name].items] = False
        without.append(task.items.filter(pa.array(lost)))
    missing = pa.chunked_array(without, TEXT)
    return {
        "rows": n_rows, "matched_rows": sum(len(rows.at) for rows in matched.rows.values()),
        "matched": sum(len(predictions.items) for predictions in predicted_by_task.values()),
        "gold_items": sum(len(task.items) for task in tasks.values()),
        "unknown_items": {
            "n": len(matched.unknown_items),
            "first": list(dict.fromkeys(matched.unknown_items))[:SHOWN],
        },
        "unknown_tasks": matched.unknown_tasks, "other_tasks": matched.other_tasks,
        "gold_without_prediction": {"n": len(missing), "first": missing[:SHOWN].to_pylist()},
    }  # fmt: skip


@dataclass(frozen=True)
class Matched:
    """Which rows are about which items, and which are about none.

    Parameters
    ----------
    rows
        By task, the rows whose item gold has.
    unknown_items
        Names of items that gold does not have, in the order of the file.
    unknown_tasks, other_tasks
        Rows by task: of tasks that gold does not have, and of those that were not asked for.
    """

    rows: dict[str, Rows]
    unknown_items: list[str]
    unknown_tasks: dict[str, int]
    other_tasks: dict[str, int]


def choose_tasks(gold: Mapping[str, GoldTask], task_name: str | None) -> dict[str, GoldTask]:
    """Return the requested task, or all.

    Raises
    ------
    ConfigError
        There is no such task.
    """
    if task_name is None:
        return dict(gold)
    if task_name not in gold:
        what, do = "no task that has labels with probabilities", likely_name(task_name, list(gold))
        problem = Problem("--task", what, listed(gold), do, values=(task_name,))
        raise ConfigError("an unknown task", [problem])
    return {task_name: gold[task_name]}


def match(
    predictions: Predictions,
    form: Form,
    gold: Mapping[str, GoldTask],
    tasks: Mapping[str, GoldTask],
    faults: Faults,
) -> Matched:
    """Match rows to items.

    Parameters
    ----------
    predictions, form
        The file, and what stands where in it.
    gold, tasks
        Gold of all tasks, and of those asked for.
    faults
        Gets rows without an item.

    Raises
    ------
    ConfigError
        Which task the rows are about is not said.
    InputError
        No row is about an item of gold.
    """
    names = predictions.columns[form.item]
    faults.add("blank_item", predictions.row[np.asarray(is_blank(names))].tolist())
    is_unknown, rows, counts = np.zeros(len(names), np.bool_), {}, {}
    for task, at in _rows_by_task(predictions, form, tasks).items():
        if task not in tasks:
            counts[task] = len(at)
            continue
        positions = pc.index_in(names.take(pa.array(at)), tasks[task].items)
        items = pc.fill_null(positions, -1).to_numpy().astype(np.int64)
        is_unknown[at[items < 0]] = True
        if (items >= 0).any():
            whole = Rows(predictions, form, at, items, tasks[task].classes)
            rows[task] = whole.take(np.flatnonzero(items >= 0))
    matched = Matched(
        rows,
        pc.fill_null(names.filter(pa.array(is_unknown)), "").to_pylist(),
        {task: n for task, n in counts.items() if task not in gold},
        {task: n for task, n in counts.items() if task in gold},
    )
    if not rows:
        faults.raise_any()
        raise _no_match_error(predictions, matched, tasks)
    return matched


def _rows_by_task(
    predictions: Predictions, form: Form, tasks: Mapping[str, GoldTask]
) -> dict[str, Codes]:
    if form.task is None:
        if len(tasks) > 1:
            what = f"{len(tasks)} tasks have labels, and the file has no column task"
            do = "name the task with --task, or add the column"
            problem = Problem("", what, listed(tasks), do)
            raise ConfigError(f"{predictions.name}: which task?", [problem])
        return dict.fromkeys(tasks, np.arange(len(predictions)))
    column = pc.fill_null(predictions.columns[form.task].cast(TEXT), "").dictionary_encode()
    codes = column.indices.to_numpy()
    names = column.dictionary.to_pylist()
    order = np.argsort(codes, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return dict(zip(names, np.split(order, ends[:-1]), strict=True))


def _no_match_error(
    predictions: Predictions, matched: Matched, tasks: Mapping[str, GoldTask]
) -> InputError:
    problems = []
    if names := matched.unknown_items:
        items = next(iter(tasks.values())).items
        what = f"none of {len(names):,} is in gold"
        allowed = f"as {', '.join(map(shorten, items[:SHOWN].to_pylist()))}"
        do = "spell items as gold does; --item names another column"
        problems.append(Problem("item", what, allowed, do, tuple(names)))
    if counts := matched.unknown_tasks | matched.other_tasks:
        what = f"{counted(sum(counts.values()), 'row')} of other tasks"
        do = "spell tasks as gold does, or rename the column task if it is something else"
        problems.append(Problem("task", what, listed(tasks), do, tuple(counts)))
    return InputError(f"{predictions.name}: no row is about an item of gold", problems)
