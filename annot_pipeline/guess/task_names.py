"""Names for tasks that no column says: one for all, or one a source if questions differ."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from annot_pipeline.guess.sources import SourceGuess


def name_tasks(sources: list[SourceGuess], campaign: str) -> list[SourceGuess]:
    """The sources, with a task of their own where one task would mix different answers."""
    unnamed = [source for source in sources if source.tasks[0].name is None]
    apart = any(_differ(unnamed[0], other) for other in unnamed)
    stems = Counter(_stem(source) for source in unnamed)
    named: list[SourceGuess] = []
    for place, source in enumerate(sources, start=1):
        if source.tasks[0].name is None:
            name, mapping = campaign, source.mapping
            if apart:
                stem = _stem(source)
                name = stem if stems[stem] == 1 else f"{stem}_{place}"
                line = ("task", {"value": name}, "the other files answer something else")
                mapping = mapping.with_lines(line)
            tasks = [replace(source.tasks[0], name=name)]
            source = replace(source, mapping=mapping, tasks=tasks)
        named.append(source)
    return named


def _differ(source: SourceGuess, other: SourceGuess) -> bool:
    """Whether two sources answer different questions, as far as answers tell."""
    task, other_task = source.tasks[0], other.tasks[0]
    if task.kind != other_task.kind:
        return True
    if task.kind == "categorical":
        return not task.labels.keys() & other_task.labels.keys()
    asked, other_asked = (s.mapping.answer.fields[-1][1] for s in (source, other))
    return bool(task.scale != other_task.scale or asked != other_asked)


def _stem(source: SourceGuess) -> str:
    """The first file's name without its endings."""
    name = source.group.paths[0].name.lower()
    return re.sub(r"(\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet|gz))+$", "", name)
