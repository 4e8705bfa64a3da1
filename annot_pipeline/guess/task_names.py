"""Names for tasks that no column says: one for all, or one a source if questions differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from annot_pipeline.guess.groups import stem_of
from annot_pipeline.guess.sources import SourceGuess


def name_tasks(sources: list[SourceGuess], campaign: str) -> list[SourceGuess]:
    """Name the tasks of sources: one for all, or one each where answers would be mixed."""
    unnamed = [source for source in sources if source.tasks[0].name is None]
    are_separate = any(_differ(unnamed[0], other) for other in unnamed)
    stems = Counter(stem_of(source.group.paths[0]) for source in unnamed)
    named: list[SourceGuess] = []
    for position, source in enumerate(sources, start=1):
        if source.tasks[0].name is None:
            name, mapping = campaign, source.mapping
            if are_separate:
                stem = stem_of(source.group.paths[0])
                name = stem if stems[stem] == 1 else f"{stem}_{position}"
                line = ("task", {"value": name}, "the other files answer something else")
                mapping = mapping.with_lines(line)
            tasks = [replace(source.tasks[0], name=name)]
            source = replace(source, mapping=mapping, tasks=tasks)
        named.append(source)
    return named


def _differ(source: SourceGuess, other: SourceGuess) -> bool:
    """Return whether two sources answer different questions, as far as answers show it."""
    task, other_task = source.tasks[0], other.tasks[0]
    if task.kind != other_task.kind:
        return True
    if task.kind == "categorical":
        return not task.labels.keys() & other_task.labels.keys()
    return task.scale != other_task.scale or _answer_expression(source) != _answer_expression(other)


def _answer_expression(source: SourceGuess) -> Any:
    """Return the expression of a source's answers, without the spelling of their values."""
    expression = source.mapping.answer.fields[-1][1]
    if isinstance(expression, dict):
        return {key: value for key, value in expression.items() if key != "map"}
    return {"column": expression}
