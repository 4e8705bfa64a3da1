"""Sources of a campaign: files of a group, their mapping, and the tasks that they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.answers import (
    MOSTLY_NUMBERS,
    Answer,
    NoJudgmentsError,
    answer_as,
    kind_of,
)
from annot_pipeline.init.cell_sets import as_sets
from annot_pipeline.init.columns import Choice, Column, Sheet
from annot_pipeline.init.drafts import (
    Draft,
    Trial,
    objections,
    try_draft,
    used_columns,
    with_abstentions,
)
from annot_pipeline.init.fields import Mapping
from annot_pipeline.init.groups import (
    Group,
    captured,
    contents_clash,
    items_restart,
    judges_restart,
    stem_of,
    words_in_names,
)
from annot_pipeline.init.identity import check_identity, choose_repeats
from annot_pipeline.init.item_texts import with_text_of_row
from annot_pipeline.init.mapping import OWN_COLUMNS, guess_mapping, unmapped_note
from annot_pipeline.init.nested import unfold
from annot_pipeline.init.objects import Line
from annot_pipeline.init.planned import FORMAT, planned_mapping
from annot_pipeline.init.presets import preset_drafts, shape_drafts
from annot_pipeline.init.samples import Sample, sheet_of

ROWS_A_LABEL = 5
"""Few different numbers are labels only if there are this many rows for each."""


JUDGES_OF_FILES = frozenset({
    "people", "person", "human", "humans", "crowd", "workers", "annotators", "raters", "experts",
    "model", "models", "llm", "llms", "ai", "gpt", "judge", "judges", "grader", "graders",
})  # fmt: skip
"""Words in names of files that say who judged, and no task."""
_LETTERS = re.compile(r"[^a-z]+")


@dataclass(frozen=True)
class Task:
    """A task, as ``tasks`` of campaign.yaml says it; without a name it is the campaign's.

    ``is_planned``: scale and criteria are those that HITs were planned with, no guess.
    """

    name: str | None
    kind: str
    scale: tuple[float, float] | None = None
    labels: Dict[str, int] = field(default_factory=dict)
    criteria: tuple[str, ...] = ()
    is_planned: bool = False
    repeats: str | None = None


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


def guess_sources(group: Group, preset: str | None = None) -> list[SourceGuess]:
    """Return the sources of a group of files: one for all if a glob can say which.

    Parameters
    ----------
    group
        The files.
    preset
        Name of the preset to use; None: one whose columns the files have, else the columns are
        guessed.

    Raises
    ------
    NoJudgmentsError
        The files hold no judgments.
    """
    if group.first.format == FORMAT:
        return _planned(group)
    if drafts := preset_drafts(group, preset):
        return _all_drafted(group, drafts)
    sheet = _sheet(group)
    try:
        mapping = guess_mapping(sheet, group.first.format)
    except NoJudgmentsError as error:
        if drafts := shape_drafts(group, error):
            return _all_drafted(group, drafts)
        raise
    if group.first.format not in OWN_COLUMNS and group.first.format != "label_studio":
        one_file = sheet if len(group.samples) == 1 else sheet.part(0)  # ids may begin anew
        mapping = check_identity(one_file, mapping)
        mapping = as_sets(sheet, mapping)
    if group.first.format not in OWN_COLUMNS and len(group.samples) == 1:
        mapping = choose_repeats(sheet, mapping)
    if mapping.without_judge:
        return _judge_a_file(group, mapping)
    if len(group.samples) == 1:
        return [_source(group, mapping)]
    words = words_in_names(group.paths)
    thing = mapping.item or mapping.column(sheet, "segment")
    restart = thing is not None and items_restart(sheet, thing.name)
    if group.first.format == "label_studio":
        mapping = _own_items(group, sheet, mapping)
    elif words and _can_be_split(mapping):
        answers = _answers(sheet, mapping)
        kinds = {answer.kind for answer in answers}
        if (restart and not _differ_by_judges(sheet, mapping, words)) or len(kinds) > 1:
            return _by_task(group, sheet, mapping, words, answers)
    if restart:
        mapping.notes.append("the same item ids are in several files: taken for the same items")
    if group.pattern is not None:
        return [_source(group, mapping)]
    singles = [_source(single, _mapping(single, mapping.answer.kind)) for single in group.split()]
    return [replace(single, tasks=_tasks(mapping)) for single in singles]


def _differ_by_judges(sheet: Sheet, mapping: Mapping, words: Sequence[str]) -> bool:
    """Return whether files hold answers of people and of models, and not of several tasks.

    Their names say so, or the names of judges: those of one file are of models, of another not.
    """
    if all(set(filter(None, _LETTERS.split(word.lower()))) & JUDGES_OF_FILES for word in words):
        return True
    if not isinstance(mapping.judge.expression, str):
        return False
    shares = []
    for number in range(len(sheet.parts)):
        judges = sheet.part(number)[mapping.judge.name].counts
        shares.append(sum(MODEL_NAME.search(name) is not None for name in judges) / len(judges))
    return max(shares) > 0.5 and min(shares) == 0


def _all_drafted(group: Group, drafts: Sequence[Draft]) -> list[SourceGuess]:
    """Return the sources of drafts of the same files, the first with what none of them maps."""
    sheet = sheet_of(group.samples)
    drafts = [with_text_of_row(draft, sheet) for draft in drafts]
    used = {name for draft in drafts for name in used_columns(draft, sheet.names)}
    unmapped = unmapped_note([sheet[name] for name in sheet.names if name not in used])
    first, *rest = drafts
    first = replace(first, notes=[*first.notes, *unmapped])
    return [source for draft in (first, *rest) for source in _drafted(group, draft)]


def _drafted(group: Group, draft: Draft) -> list[SourceGuess]:
    """Return the sources of a draft: one for all files if a glob can say which.

    Raises
    ------
    NoJudgmentsError
        What it makes of the rows cannot be right.
    """
    draft = with_abstentions(draft, sheet_of(group.samples), group.first.format)
    trial = try_draft(draft, group)
    if problems := objections(draft, trial):
        raise NoJudgmentsError(f"looks like {draft.title}, but {'; '.join(problems)}")
    answers = ("label", "score", "preference", "winner", "strength", "rank")
    fields = [line for line in draft.lines if line[0] in answers]
    labels = trial.counts("label") if draft.kind == "categorical" else {}
    answer = Answer(draft.kind, fields, [], draft.scale, labels)
    judges = trial.used.column("judge") if draft.has("judge") else pa.chunked_array([], pa.string())
    judge = Column("", "", judges)
    item = next((e for name, e, _ in draft.lines if name == "item"), None)
    notes = [f"mapped as {draft.title}", *draft.notes]
    mapping = Mapping(
        [], answer, judge, None, draft.each, sorted(trial.counts("task")), notes,
        where=draft.where, abstain=draft.abstain, abstained=draft.abstained,
        failed=draft.failed,
        options=draft.options, strength=draft.strength, repeats=draft.repeats,
    ).with_lines(*[(n, e, why or _counted(trial, n)) for n, e, why in draft.lines])  # fmt: skip
    if not draft.has("task"):
        mapping.tasks = []
    items = frozenset(trial.counts("item")) if isinstance(item, str) else frozenset()
    parts = [group] if group.pattern is not None else group.split()
    return [
        SourceGuess(part, part.pattern or "", mapping, _tasks(mapping), items) for part in parts
    ]


def _counted(trial: Trial, name: str) -> str:
    """Return how many values a field has, for its comment."""
    counts = trial.counts(name)
    if name in ("label", "task", "preference", "system", "control"):
        text = ", ".join(sorted(list(counts)[:10]))
        return f"{len(counts):,} different: {text}" + (", ..." if len(counts) > 10 else "")
    return f"{len(counts):,} different"


def _planned(group: Group) -> list[SourceGuess]:
    """Return one source, or one a file; the tasks are those of all."""
    mapping, planned = planned_mapping(sheet_of(group.samples))
    tasks = [
        Task(task.name, task.kind, task.scale, {}, task.criteria, is_planned=True)
        for task in planned
    ]
    groups = [group] if group.pattern is not None else group.split()
    return [_source(part, mapping, tasks) for part in groups]


def _judge_a_file(group: Group, mapping: Mapping) -> list[SourceGuess]:
    """Make each file that names no judge, such as a model's output, one judge named after it.

    A file all of whose rows stand in another one is left out: it would be another judge.
    """
    containers = _held_in_others(group.samples)
    sources = []
    for position, single in enumerate(group.split()):
        if position in containers:
            continue
        why = "no column says who: taken for one judge, named after the file"
        line = ("judge", {"value": stem_of(single.paths[0])}, why)
        judged = _mapping(single, mapping.answer.kind).with_lines(line)
        judged.notes += [
            f"left out: {group.paths[part].name}, all of whose rows stand here, too"
            for part, whole in containers.items()
            if whole == position
        ]
        sources.append(replace(_source(single, judged), tasks=_tasks(mapping)))
    return sources


def _held_in_others(samples: Sequence[Sample]) -> dict[int, int]:
    """Return the place of a file to that of the largest file that holds all its rows, if any."""
    rows = {
        position: Counter(zip(*sample.table.to_pydict().values(), strict=True))
        for position, sample in enumerate(samples)
        if sample.is_whole and len(samples) > 1
    }
    by_size = sorted(rows, key=lambda position: (-samples[position].table.num_rows, position))
    containers: dict[int, int] = {}
    for n, position in enumerate(by_size):
        whole = next((other for other in by_size[:n] if rows[position] <= rows[other]), None)
        if whole is not None:
            containers[position] = whole
    return containers


def _can_be_split(mapping: Mapping) -> bool:
    return mapping.answer.kind in ("categorical", "scalar") and not (
        mapping.each or mapping.has("task")
    )


def _sheet(group: Group) -> Sheet:
    return unfold(sheet_of(group.samples))


def _mapping(group: Group, kind: str) -> Mapping:
    """Return the mapping of some files, with the kind of answer that is known of them."""
    sheet = _sheet(group)
    mapping = guess_mapping(sheet, group.first.format)
    if {mapping.answer.kind, kind} != {"categorical", "scalar"}:
        return mapping
    column = sheet[mapping.answer.columns[0]]
    if kind == "scalar" and not column.numbers:
        return mapping
    answer = answer_as(column, kind)
    lines = [line for line in mapping.lines if line[0] not in ("label", "score")]
    return replace(mapping, lines=lines, answer=answer).with_lines(*answer.fields)


def _tasks(mapping: Mapping) -> list[Task]:
    answer = mapping.answer
    names: list[str | None] = [*mapping.tasks] or [None]
    return [
        Task(name, "scalar", mapping.scored[name], repeats=mapping.repeats)
        if name in mapping.scored
        else Task(name, answer.kind, answer.scale, answer.labels, repeats=mapping.repeats)
        for name in names
    ]


def _source(group: Group, mapping: Mapping, tasks: list[Task] | None = None) -> SourceGuess:
    items = frozenset(mapping.item.counts) if mapping.item else frozenset()
    return SourceGuess(group, group.pattern or "", mapping, tasks or _tasks(mapping), items)


def _answers(sheet: Sheet, mapping: Mapping) -> list[Answer]:
    """Return the kind of answers of each file; if it has too few rows, the most common kind."""
    name = mapping.answer.columns[0]
    columns = [without_abstentions(sheet.part(number)[name]) for number in range(len(sheet.parts))]
    kinds: list[str | None] = []
    for number, column in enumerate(columns):
        truth = next(iter(Choice(sheet.part(number)).with_role("truth")), None)
        kind = kind_of(column, truth)
        is_clear = kind == "scalar" or len(column.filled) >= ROWS_A_LABEL * column.n_distinct
        kinds.append(kind if is_clear else None)
    most = Counter(kind for kind in kinds if kind).most_common(1)
    usual = most[0][0] if most else mapping.answer.kind
    answer_kinds = [
        "categorical" if column.numeric_share <= MOSTLY_NUMBERS else kind or usual
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return [answer_as(column, kind) for column, kind in zip(columns, answer_kinds, strict=True)]


def _by_task(
    group: Group, sheet: Sheet, mapping: Mapping, words: list[str], answers: list[Answer]
) -> list[SourceGuess]:
    """Make every file a task, named by the part of the file name that differs."""
    local = judges_restart(sheet, mapping.judge)
    sources: list[SourceGuess] = []
    for kind in dict.fromkeys(answer.kind for answer in answers):
        places = [position for position, answer in enumerate(answers) if answer.kind == kind]
        task_group = Group(tuple(group.samples[position] for position in places), group.folder)
        alike = len(places) > 1 and task_group.pattern is not None
        for chosen in [places] if alike else [[position] for position in places]:
            part = Group(tuple(group.samples[position] for position in chosen), group.folder)
            mapped = _mapping(part, kind)
            tasks = [
                Task(words[position], kind, answers[position].scale, answers[position].labels)
                for position in chosen
            ]
            expressions: dict[str, Any] = {
                name: captured(part.paths, name) if alike else {"value": words[chosen[0]]}
                for name in ("task", "judge")
            }
            lines: list[Line] = [("task", expressions["task"], _evidence(words, chosen))]
            if mapped.item and alike:
                n_items = sum(
                    sheet.part(position)[mapped.item.name].n_distinct for position in chosen
                )
                lines.append(("item", mapped.item.expression, f"{n_items:,} in all tasks"))
            if local:
                joined = {"join": [expressions["judge"], mapped.judge.expression], "sep": ":"}
                evidence = "numbered from the start in every file: taken for different people"
                lines.append(("judge", joined, evidence))
            sources.append(_source(part, mapped.with_lines(*lines), tasks))
    return sources


def _evidence(words: list[str], chosen: list[int]) -> str:
    if len(chosen) == 1:
        return "from the file name: one task per file"
    text = ", ".join(words[position] for position in chosen[:5])
    more = ", ..." if len(chosen) > 5 else ""
    return f"{len(chosen):,} files, a task each: {text}{more}"


def _own_items(group: Group, sheet: Sheet, mapping: Mapping) -> Mapping:
    """Return the task ids of different projects, told apart by file where they clash."""
    item = mapping.item
    if item is None or not contents_clash(sheet, item.name):
        return mapping
    joined = {"join": [captured(group.paths, "item"), item.expression], "sep": ":"}
    line = ("item", joined, "the same ids show something else in another file")
    return replace(mapping.with_lines(line), item=None)
