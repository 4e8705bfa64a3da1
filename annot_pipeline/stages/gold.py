"""Judgments become gold tables: labels, scores, rankings, judges, items, lineage."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.steps.infer_labels import infer_labels
from annot_pipeline.steps.rank_systems import rank_systems
from annot_pipeline.steps.score_items import score_items
from annot_pipeline.steps.standardize_scores import standardize_scores
from annot_pipeline.storage.keys import derive


def infer_label_tables(context: StageContext) -> Made:
    """Labels of all categorical tasks."""
    tables, facts = infer_labels(
        context.read("judgments"),
        context.read("tasks"),
        params=context.campaign.settings.dawid_skene_params,
        progress=_now_and_then(context.progress),
    )
    if facts["tasks"]:
        context.progress(
            f"{facts['items']:,} items labelled in {facts['tasks']} tasks, "
            f"{max(facts['iterations'].values())} iterations at most"
        )
    return Made(tables, facts)


def _now_and_then(progress: Callable[[str], None]) -> Callable[[str], None]:
    """Passes a message on if the last one is a second ago."""
    last = time.monotonic()

    def told(message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(message)

    return told


def standardize_judgments(context: StageContext) -> Made:
    """z-scores of all scalar tasks."""
    tables, facts = standardize_scores(
        context.read("judgments"),
        context.read("tasks"),
        settings=context.campaign.settings.standardize,
    )
    return Made(tables, facts)


def score_items_of_tasks(context: StageContext) -> Made:
    """Scores of the items of all scalar tasks."""
    table, facts = score_items(context.read("standardized"))
    if facts["items_scored"]:
        context.progress(f"{facts['items_scored']:,} items scored")
    return Made({"scores": table}, facts)


def rank_systems_of_tasks(context: StageContext) -> Made:
    """Rankings and comparisons of the systems of all scalar tasks."""
    settings = context.campaign.settings
    tables, facts = rank_systems(
        context.read("standardized"),
        ranking=settings.ranking,
        standardize=settings.standardize,
        seed=settings.seed,
        progress=_now_and_then(context.progress),
    )
    return Made(tables, facts)


def set_judgments_aside(context: StageContext) -> Made:
    """Judgments that a calculation could not take."""
    uses_pairs = context.campaign.settings.quality.uses_pairs
    parameters = _published_ids(context) | {"uses_pairs": uses_pairs}
    return _by_query(context, "gold/set_aside", "set_aside", parameters)


def describe_judges(context: StageContext) -> Made:
    """Judges of all tasks."""
    return _by_query(context, "gold/judges", "judges")


def describe_items(context: StageContext) -> Made:
    """Items judged or listed."""
    made = _by_query(context, "gold/items", "items")
    contents: dict[str, set[tuple[Any, ...]]] = {}
    for row in context.read("item_rows").to_pylist():
        row.pop("place")
        contents.setdefault(row["item"], set()).add(tuple(row.values()))
    made.facts["repeated_items"] = sorted(i for i, rows in contents.items() if len(rows) > 1)
    return made


def trace_lineage(context: StageContext) -> Made:
    """The fate and place of every record."""
    made = _by_query(context, "gold/lineage", "lineage", _published_ids(context))
    made.facts["records"] = context.inputs["judgments"].rows
    return made


def _published_ids(context: StageContext) -> dict[str, Any]:
    """What a query needs to publish ids of judgments."""
    return {
        "salt": derive(context.judge_key(), "judgment"),
        "pseudonymize": context.campaign.settings.privacy.pseudonymize,
    }


def _by_query(
    context: StageContext, query: str, table: str, parameters: Mapping[str, Any] | None = None
) -> Made:
    paths = {name: file.path for name, file in context.inputs.items()}
    return Made({table: lambda: context.queries.run(query, paths, parameters)})
