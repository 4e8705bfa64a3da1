"""All that is measured of the judges of one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.config.judges import plain_name
from annot_pipeline.contracts import (
    ESTIMATES,
    JUDGE_BIAS,
    JUDGE_VALIDATION,
    TEXT,
    VALIDATION_CONFUSION,
)
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.model_judges.answers import TIE, TaskAnswers, task_answers
from annot_pipeline.stages.model_judges.bias import bias_rows
from annot_pipeline.stages.model_judges.estimands import model_answers, task_estimands
from annot_pipeline.stages.model_judges.estimates import estimate_rows
from annot_pipeline.stages.model_judges.people_sample import PeopleSample, people_sample
from annot_pipeline.stages.model_judges.validation import validation_rows
from annot_pipeline.stages.shared.known_items import Truths

LEAST_CONSTANT = 10
"""Items from which one answer to all of them is worth a warning."""
Row = dict[str, Any]


@dataclass(frozen=True)
class MeasuredTask:
    """Rows of a task by table, and its metrics by name."""

    rows: Mapping[str, list[Row]]
    metrics: Mapping[str, Any]


NOTHING = MeasuredTask({}, {})


def measure_task(
    rows: pa.Table,
    task: Mapping[str, Any],
    items: pa.Table,
    settings: Campaign,
    *,
    probabilities: Mapping[str, float] | None = None,
) -> MeasuredTask:
    """Measure the models of a task, and the bias of all judges who compare.

    Parameters
    ----------
    rows
        Its judgments, with those that do not count.
    task
        ``task``, ``kind``, ``scale_low`` (null: no scale is declared).
    items
        Of item tables.
    settings
        ``judges``, ``ranking.shown_order``, ``seed``.
    probabilities
        As `answers.task_answers` takes them.
    """
    if not rows.num_rows:
        return NOTHING
    named = [c.cast(TEXT) for n in ("item", "item_a", "item_b") for c in rows[n].chunks]
    names = pa.table({"item": pa.chunked_array(named, TEXT)})
    listed = ListedItems.named([items], [names])
    answers = task_answers(rows, task["kind"], listed, Truths.from_items([items]), probabilities)
    if answers is None:
        return NOTHING
    bias = bias_rows(rows, answers, items, listed, settings)
    if not answers.models:
        return MeasuredTask({JUDGE_BIAS.name: bias}, {})
    sample = PeopleSample(None, None)
    estimates: list[Row] = []
    if answers.by_people.any():
        models, estimands = model_answers(answers), list(task_estimands(answers))
        sample = people_sample(answers, estimands, models, settings.judges.people_items)
        estimates = estimate_rows(answers, estimands, models, sample)
    validation, confusion = validation_rows(
        answers,
        sample,
        epsilon=settings.judges.epsilon,
        seed=settings.seed,
        has_scale=task["scale_low"] is not None,
    )
    return MeasuredTask(
        {
            JUDGE_VALIDATION.name: validation,
            VALIDATION_CONFUSION.name: confusion,
            JUDGE_BIAS.name: bias,
            ESTIMATES.name: estimates,
        },
        {
            "unvalidated": _unvalidated(answers, validation),
            "constant": _constant(answers),
            "biased_samples": sample.refusal,
            "several_versions": _several_versions(answers),
            "model_labels": _model_labels(answers),
        },
    )


def _unvalidated(answers: TaskAnswers, rows: list[Row]) -> list[str]:
    """Return the models that share no item with people and none with a known answer."""
    validated = {row["judge"] for row in rows if row["n_items"]}
    return [name for code in answers.models if (name := answers.judges[code]) not in validated]


def _several_versions(answers: TaskAnswers) -> list[str]:
    """Return the names of each model with several versions, prompts or temperatures."""
    names: dict[str, list[str]] = {}
    for name in sorted(answers.judges[code] for code in answers.models):
        names.setdefault(plain_name(name), []).append(name)
    return [", ".join(versions) for _, versions in sorted(names.items()) if len(versions) > 1]


def _model_labels(answers: TaskAnswers) -> list[str]:
    """Return the labels that models gave and no person did; none without people."""
    people = answers.by_people
    if answers.kind != "categorical" or not people.any():
        return []
    of_models, of_people = ({*answers.value[part].tolist()} for part in (~people, people))
    return [answers.classes[int(code)] for code in sorted(of_models - of_people)]


def _constant(answers: TaskAnswers) -> list[str]:
    """Return the models that give one answer to many items."""
    values = {code: answers.of_judge(code, answers.value) for code in answers.models}
    answered = {code: value[~np.isnan(value)] for code, value in values.items()}
    return [
        answers.judges[code]
        for code, value in answered.items()
        if value.size >= LEAST_CONSTANT
        and np.ptp(value) == 0
        and not (answers.kind == "pairwise" and value[0] == TIE)  # or both orders contradict
    ]
