"""Sources of a campaign: files of a group, their mapping, and the tasks that they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annot_pipeline.guess.answers import Answer, answer_in
from annot_pipeline.guess.columns import Sheet
from annot_pipeline.guess.groups import (
    Group,
    captured,
    contents_clash,
    items_restart,
    judges_restart,
    words_in_names,
)
from annot_pipeline.guess.mapping import Mapping, guess_mapping
from annot_pipeline.guess.nested import unfold
from annot_pipeline.guess.samples import sheet_of

ROWS_A_LABEL = 5
"""Few different numbers are labels only if there are this many rows for each."""


@dataclass(frozen=True)
class Task:
    """A task, as ``tasks`` of campaign.yaml says it; without a name it is the campaign's."""

    name: str | None
    kind: str
    scale: tuple[float, float] | None = None
    labels: Dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceGuess:
    """One source: its files, its fields, its tasks.

    Parameters
    ----------
    group
        The files.
    path
        As campaign.yaml says it.
    mapping
        The fields.
    tasks
        What is known of the tasks.
    items
        Ids of the items judged; empty where no single column says them.
    """

    group: Group
    path: str
    mapping: Mapping
    tasks: list[Task]
    items: frozenset[str]


def guess_sources(group: Group) -> list[SourceGuess]:
    """The sources of a group of files: one for all if a glob can say which.

    Raises
    ------
    NoJudgmentsError
        The files hold no judgments.
    """
    sheet = _sheet(group)
    mapping = guess_mapping(sheet, group.first.format)
    if len(group.samples) == 1:
        return [_source(group, mapping)]
    words = words_in_names(group.paths)
    if group.first.format == "label_studio":
        mapping = _own_items(group, sheet, mapping)
    elif words and mapping.item and not mapping.has("task"):
        answers = [_answer_of(sheet, place, mapping) for place in range(len(words))]
        restart = items_restart(sheet, mapping.item.name)
        if restart or len({answer.kind for answer in answers}) > 1:
            return _by_task(group, sheet, mapping, words, answers)
    if mapping.item and items_restart(sheet, mapping.item.name):
        mapping.notes.append("the same item ids stand in several files: taken for the same items")
    if group.pattern is None:
        return [_source(single, guess_mapping(_sheet(single), single.first.format))
                for single in group.split()]  # fmt: skip
    return [_source(group, mapping)]


def _sheet(group: Group) -> Sheet:
    return unfold(sheet_of(group.samples))


def _source(group: Group, mapping: Mapping, tasks: list[Task] | None = None) -> SourceGuess:
    answer = mapping.answer
    if tasks is None:
        names: Sequence[str | None] = mapping.tasks or [None]
        tasks = [Task(name, answer.kind, answer.scale, answer.labels) for name in names]
    items = frozenset(mapping.item.counts) if mapping.item else frozenset()
    return SourceGuess(group, group.pattern or "", mapping, tasks, items)


def _answer_of(sheet: Sheet, place: int, mapping: Mapping) -> Answer:
    """What one file of a group answers; where it holds too little to tell, as all do."""
    part = sheet.part(place)
    column = part[mapping.answer.columns[0]]
    truth = next((e for f, e, _ in mapping.lines if f == "truth"), None)
    answer = answer_in(column, part[truth] if truth in part.names else None)
    if answer is None:
        return mapping.answer
    told = answer.kind == "scalar" or len(column.filled) >= ROWS_A_LABEL * column.n_distinct
    return answer if told else mapping.answer


def _by_task(
    group: Group, sheet: Sheet, mapping: Mapping, words: list[str], answers: list[Answer]
) -> list[SourceGuess]:
    """Every file is a task of its own, named by the part of the file name that differs."""
    local = judges_restart(sheet, mapping.judge)
    sources: list[SourceGuess] = []
    for kind in dict.fromkeys(answer.kind for answer in answers):
        places = [place for place, answer in enumerate(answers) if answer.kind == kind]
        together = Group(tuple(group.samples[place] for place in places), group.folder)
        alike = len(places) > 1 and together.pattern is not None
        for chosen in [places] if alike else [[place] for place in places]:
            part = Group(tuple(group.samples[place] for place in chosen), group.folder)
            found = guess_mapping(_sheet(part), part.first.format)
            tasks = [
                Task(words[place], kind, answers[place].scale, answers[place].labels)
                for place in chosen
            ]
            told: dict[str, Any] = {
                name: captured(part.paths, name) if alike else {"value": words[chosen[0]]}
                for name in ("task", "judge")
            }
            lines = [("task", told["task"], _why(words, chosen))]
            if local:
                joined = {"join": [told["judge"], found.judge.expression], "sep": ":"}
                evidence = "numbered anew in every file: taken for different people"
                lines.append(("judge", joined, evidence))
            sources.append(_source(part, found.with_lines(*lines), tasks))
    return sources


def _why(words: list[str], chosen: list[int]) -> str:
    if len(chosen) == 1:
        return "told by the file name: another task in every file"
    shown = ", ".join(words[place] for place in chosen[:5])
    more = ", ..." if len(chosen) > 5 else ""
    return f"{len(chosen):,} files number their items anew: {shown}{more}"


def _own_items(group: Group, sheet: Sheet, mapping: Mapping) -> Mapping:
    """Task ids of different projects, told apart by file where they clash."""
    item = mapping.item
    if item is None or not contents_clash(sheet, item.name):
        return mapping
    joined = {"join": [captured(group.paths, "item"), item.expression], "sep": ":"}
    line = ("item", joined, "the same ids show something else in another file")
    return replace(mapping.with_lines(line), item=None)


def name_tasks(sources: list[SourceGuess], campaign: str) -> list[SourceGuess]:
    """The sources, with a task of their own where one task would mix different answers."""
    unnamed = [source for source in sources if source.tasks[0].name is None]
    named: list[SourceGuess] = []
    taken = Counter(_stem(source) for source in unnamed)
    for source in sources:
        task = source.tasks[0]
        if task.name is None and any(_differ(task, other.tasks[0]) for other in unnamed):
            stem = _stem(source)
            name = stem if taken[stem] == 1 else f"{stem}_{sources.index(source) + 1}"
            line = ("task", {"value": name}, "other files answer something else")
            source = replace(
                source,
                mapping=source.mapping.with_lines(line),
                tasks=[replace(task, name=name)],
            )
        elif task.name is None:
            source = replace(source, tasks=[replace(task, name=campaign)])
        named.append(source)
    return named


def _differ(task: Task, other: Task) -> bool:
    if (task.kind, task.scale) != (other.kind, other.scale):
        return True
    return bool(task.labels and other.labels and not task.labels.keys() & other.labels.keys())


def _stem(source: SourceGuess) -> str:
    """The first file's name without its endings."""
    name = source.group.paths[0].name.lower()
    return re.sub(r"(\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet|gz))+$", "", name)
