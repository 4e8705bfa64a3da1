"""Judgments become gold tables: labels, judges, items, lineage."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.steps.infer_labels import infer_labels
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
    parameters = {
        "salt": derive(context.judge_key(), "judgment"),
        "pseudonymize": context.campaign.settings.privacy.pseudonymize,
    }
    made = _by_query(context, "gold/lineage", "lineage", parameters)
    made.facts["records"] = context.inputs["judgments"].rows
    return made


def _by_query(
    context: StageContext, query: str, table: str, parameters: Mapping[str, Any] | None = None
) -> Made:
    paths = {name: file.path for name, file in context.inputs.items()}
    return Made({table: lambda: context.queries.run(query, paths, parameters)})
