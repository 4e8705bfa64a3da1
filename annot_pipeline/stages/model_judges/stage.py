"""Model judges, task by task: validation against people, bias, and corrected estimates.

Methods load in the work that needs them: most campaigns declare no model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from annot_pipeline.config.judges import plain_name
from annot_pipeline.contracts import (
    ESTIMATES,
    JUDGE_BIAS,
    JUDGE_VALIDATION,
    VALIDATION_CONFUSION,
)
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult, TaskWork, run_by_task
from annot_pipeline.stages.model_judges.answers import (
    TIE,
    TaskAnswers,
    listed_items_of,
    listed_probabilities,
    task_answers,
)
from annot_pipeline.stages.model_judges.bias import bias_rows
from annot_pipeline.stages.model_judges.estimates import (
    PeopleSample,
    estimate_rows,
    model_answers,
    people_sample,
    task_estimands,
)
from annot_pipeline.stages.model_judges.metrics import ModelJudgeMetrics
from annot_pipeline.stages.model_judges.validation import validation_rows
from annot_pipeline.stages.shared.known_items import Truths

LEAST_CONSTANT = 10
"""Items from which one answer to all of them is worth a warning."""
Row = dict[str, Any]


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


ANSWER_COLUMNS = (
    "task", "item", "item_a", "item_b", "segment", "document", "system", "system_a",
    "system_b", "criterion", "judge_id", "judge_kind", "judge", "fate", "control", "label",
    "score", "preference", "strength", "rank_a", "rank_b", "ranking", "hit", "truth",
    "submitted_at", "seconds", "hit_seconds", "judgment_id", "selection_probability",
)  # fmt: skip
"""Columns of judgments that say who answered what, and when."""
TABLES = (JUDGE_VALIDATION, VALIDATION_CONFUSION, JUDGE_BIAS, ESTIMATES)


def measure_model_judges(context: StageContext) -> StageOutput[ModelJudgeMetrics]:
    """Measure the models of all tasks, and the bias of all judges who compare."""
    has_models = context.campaign.settings.judges.has_models
    kinds = ("categorical", "scalar", "pairwise") if has_models else ("pairwise",)
    work = TaskWork(
        inputs=("controlled",),
        finish=_measure,
        schemas={table.name: table.schema for table in TABLES},
        kinds={"controlled": kinds},
        whole=("item_rows", "item_probabilities"),
    )
    return run_by_task(context, work).output(ModelJudgeMetrics)


def _measure(task: TaskData, _: None) -> TaskResult:
    task.progress(f"model judges: {task.name}")
    rows, metrics = _measured(task)
    tables = {table.name: table.from_rows(rows.get(table.name, ())) for table in TABLES}
    return tables, {name: value for name, value in metrics.items() if value}


def _measured(task: TaskData) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    """Return rows by table, and metrics: of models, and of the bias of all judges who compare."""
    rows, items = task["controlled"], task["item_rows"]
    if not rows.num_rows:
        return {}, {}
    listed = listed_items_of(rows, items)
    probabilities = listed_probabilities(task["item_probabilities"], task.name)
    answers = task_answers(
        rows, task.declared["kind"], listed, Truths.from_items([items]), probabilities
    )
    if answers is None:
        return {}, {}
    bias = bias_rows(rows, answers, items, listed, task.settings)
    if not answers.models:
        return {JUDGE_BIAS.name: bias}, {}
    sample = PeopleSample(None, None)
    estimates: list[Row] = []
    if answers.by_people.any():
        models, estimands = model_answers(answers), list(task_estimands(answers))
        sample = people_sample(answers, estimands, models, task.settings.judges.people_items)
        estimates = estimate_rows(answers, estimands, models, sample)
    validation, confusion = validation_rows(
        answers,
        sample,
        epsilon=task.settings.judges.epsilon,
        seed=task.settings.seed,
        has_scale=task.declared["scale_low"] is not None,
    )
    return (
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


MEASURE_MODEL_JUDGES = Stage(
    "measure_model_judges",
    "Compares models with people, corrects model estimates, and measures the bias of judges.",
    inputs={
        "controlled": ANSWER_COLUMNS,
        "tasks": ("task", "kind", "scale_low"),
        "item_rows": ("item", "segment", "document", "system", "place", "truth", "text"),
        "item_probabilities": (),
    },
    outputs=tuple(table.name for table in TABLES),
    settings=("judges", "ranking.shown_order", "seed"),
    code_version="5",  # effects of all judges of a task, fitted together
    work=measure_model_judges,
)  # fmt: skip
