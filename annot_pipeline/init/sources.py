"""Sources of a campaign: files of a group, their reading, and the tasks that they hold.

Tables of what was judged, too: an id that the judgments name, and what is known of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.init import groups, names
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.answers import MOSTLY_NUMBERS, answer_as, answered, kind_of
from annot_pipeline.init.formats import FORMAT, OWN_COLUMNS, planned_mapping
from annot_pipeline.init.presets import preset_readings
from annot_pipeline.init.questions import Line, Reading, Roles, Task
from annot_pipeline.init.shapes import read_sheet
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.init.trial import tried, with_unmapped_note
from annot_pipeline.init.views import rows_view

ROWS_A_LABEL = 5
"""Few different numbers are labels only if there are this many rows for each."""


JUDGES_OF_FILES = names.WORDS["judges_of_files"]
"""Words in names of files that say who judged, and no task."""
_LETTERS = re.compile(r"[^a-z]+")


@dataclass(frozen=True)
class SourceGuess:
    """One source: its files, its fields, its tasks.

    Parameters
    ----------
    group
        The files.
    reading
        The fields.
    tasks
        What is known of the tasks.
    items
        Ids of the items judged; empty where no single column says them.
    """

    group: groups.Group
    reading: Reading
    tasks: list[Task]
    items: frozenset[str]


def read_sources(
    group: groups.Group, by_role: Roles, preset: str | None = None
) -> list[SourceGuess]:
    """Return the sources of a group of files: one for all if a glob can say which.

    Parameters
    ----------
    group
        The files.
    by_role
        What options, or earlier answers, say.
    preset
        Name of the preset to use; None: one whose columns the files have, else the cells decide.

    Raises
    ------
    NoJudgmentsError
        The files hold no judgments, or only people can say what is what.
    """
    if group.first.format == FORMAT:
        return _planned(group)
    sheet = group.sheet
    if group.first.format in OWN_COLUMNS:
        readings = [OWN_COLUMNS[group.first.format](Choice(sheet))]
    else:
        readings = [] if by_role and not preset else preset_readings(sheet, group, preset)
        readings = readings or read_sheet(sheet, group.first.format, by_role)
        readings = [_with_file_judges(group, reading, by_role) for reading in readings]
        readings = [tried(reading, group, sheet, by_role) for reading in readings]
        readings = with_unmapped_note(readings, sheet)
    if len(readings) > 1 or len(group.samples) == 1:
        return [source for reading in readings for source in _of_reading(group, reading)]
    [reading] = readings
    if reading.expression("judge") == groups.captured_stem(group.paths):
        return _judge_a_file(group, reading)
    is_whole = reading.is_preset and group.first.format not in OWN_COLUMNS
    if is_whole or reading.each or any(q.role == "judge" for q in reading.questions):
        return _of_reading(group, reading)
    rows = rows_view(sheet).sheet
    words = groups.words_in_names(group.paths)
    thing = reading.column(rows, "item") or reading.column(rows, "segment")
    restart = thing is not None and groups.items_restart(rows, thing.name)
    if group.first.format == "label_studio":
        reading = _own_items(group, rows, reading)
    elif words and reading.kind in ("categorical", "scalar") and not reading.has("task"):
        answers = _answers(rows, reading)
        kinds = {answer.kind for answer in answers}
        if (restart and not _differ_by_judges(rows, reading, words)) or len(kinds) > 1:
            return _by_task(group, rows, reading, words, answers, by_role)
    if restart:
        reading.notes.append("the same item ids are in several files: taken for the same items")
    return _of_reading(group, reading)


def _with_file_judges(group: groups.Group, reading: Reading, by_role: Roles) -> Reading:
    """Return a reading whose judges are files, where an option says so or models compare."""
    judge = reading.expression("judge")
    is_asked = judge == {"value": "file"} and by_role.get("judge", ("file",)) == ("file",)
    several = len(group.samples) > 1 and judge == "?" and reading.kind == "pairwise"
    are_models = all(MODEL_NAME.search(groups.stem_of(path)) for path in group.paths)
    if not (is_asked or (several and are_models)):
        return reading
    expression, why = groups.captured_stem(group.paths), f"{len(group.paths)} files, a judge each"
    if len(group.samples) == 1:
        stem = groups.stem_of(group.paths[0])
        expression, why = {"value": stem}, "one judge, named after the file"
    questions = [q for q in reading.questions if q.role != "judge"]
    return replace(reading, questions=questions).with_lines(("judge", expression, why))


def _of_reading(
    group: groups.Group, reading: Reading, tasks: list[Task] | None = None
) -> list[SourceGuess]:
    parts = [group] if group.pattern is not None else group.split()
    return [_source(part, reading, tasks) for part in parts]


def _differ_by_judges(sheet: Sheet, reading: Reading, words: Sequence[str]) -> bool:
    """Return whether files hold answers of people and of models, and not of several tasks.

    Their names say so, or the names of judges: those of one file are of models, of another not.
    """
    if all(set(filter(None, _LETTERS.split(word.lower()))) & JUDGES_OF_FILES for word in words):
        return True
    judge = reading.column(sheet, "judge")
    if judge is None or not isinstance(judge.expression, str):
        return False
    named = [{*sheet.part(n)[judge.name].counts} for n in range(len(sheet.parts))]
    if all(len(own) == 1 for own in named) and len(set.union(*named)) == len(named):
        return True  # a file is a judge's
    shares = [sum(MODEL_NAME.search(n) is not None for n in own) / len(own) for own in named]
    return max(shares) > 0.5 and min(shares) == 0


def _planned(group: groups.Group) -> list[SourceGuess]:
    """Return one source, or one a file; the tasks are those of all."""
    reading, tasks = planned_mapping(group.sheet)
    return _of_reading(group, reading, [replace(task, labels={}) for task in tasks])


def _judge_a_file(group: groups.Group, reading: Reading) -> list[SourceGuess]:
    """Make each file that names no judge, such as a model's output, one judge named after it.

    A file all of whose rows stand in another one is left out: it would be another judge.
    """
    containers = _held_in_others(group.samples)
    if not containers:
        return _of_reading(group, reading)
    notes = [
        f"left out: {group.paths[part].name}, all of whose rows stand in "
        f"{group.paths[whole].name}, too"
        for part, whole in containers.items()
    ]
    rest = [sample for n, sample in enumerate(group.samples) if n not in containers]
    noted = replace(reading, notes=[*reading.notes, *notes])
    return _of_reading(groups.Group(tuple(rest), group.folder), noted)


def _held_in_others(samples: Sequence[groups.Sample]) -> dict[int, int]:
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


def _reading(group: groups.Group, kind: str, by_role: Roles) -> Reading:
    """Return the reading of some files, with the kind of answer that is known of them."""
    sheet = group.sheet
    [reading] = read_sheet(sheet, group.first.format, by_role)
    if {reading.kind, kind} != {"categorical", "scalar"} or reading.each:
        return reading
    column = rows_view(sheet).sheet[reading.columns[0]]
    if kind == "scalar" and not column.numbers:
        return reading
    lines = [line for line in reading.lines if line[0] not in ("label", "score")]
    return answered(replace(reading, lines=lines), answer_as(column, kind))


def _tasks(reading: Reading) -> list[Task]:
    names: list[str | None] = [*reading.tasks] or [None]
    return [
        Task(name, "scalar", reading.scored[name], repeats=reading.repeats)
        if name in reading.scored
        else Task(name, reading.kind, reading.scale, reading.labels, repeats=reading.repeats)
        for name in names
    ]


def _source(group: groups.Group, reading: Reading, tasks: list[Task] | None = None) -> SourceGuess:
    rows = group.sheet
    item = None
    if group.first.format not in (FORMAT, *OWN_COLUMNS) or reading.has("item"):
        item = reading.column(rows_view(rows).sheet if not reading.each else rows, "item")
    elif group.first.format == FORMAT:
        item = rows["item"] if rows["item"].counts else rows["item_a"]
    items = frozenset(item.counts) if item else frozenset()
    return SourceGuess(group, reading, tasks or _tasks(reading), items)


def _answers(sheet: Sheet, reading: Reading) -> list[Reading]:
    """Return the kind of answers of each file; if it has too few rows, the most common kind."""
    name = reading.columns[0]
    columns = [without_abstentions(sheet.part(number)[name]) for number in range(len(sheet.parts))]
    kinds: list[str | None] = []
    for number, column in enumerate(columns):
        truth = next(iter(Choice(sheet.part(number)).with_role("truth")), None)
        kind = kind_of(column, truth)
        is_clear = kind == "scalar" or len(column.filled) >= ROWS_A_LABEL * column.n_distinct
        kinds.append(kind if is_clear else None)
    most = Counter(kind for kind in kinds if kind).most_common(1)
    usual = most[0][0] if most else reading.kind
    answer_kinds = [
        "categorical" if column.numeric_share <= MOSTLY_NUMBERS else kind or usual
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return [answer_as(column, kind) for column, kind in zip(columns, answer_kinds, strict=True)]


def _by_task(
    group: groups.Group,
    sheet: Sheet,
    reading: Reading,
    words: list[str],
    answers: list[Reading],
    by_role: Roles,
) -> list[SourceGuess]:
    """Make every file a task, named by the part of the file name that differs."""
    judge = reading.column(sheet, "judge")
    local = judge is not None and groups.judges_restart(sheet, judge)
    sources: list[SourceGuess] = []
    for kind in dict.fromkeys(answer.kind for answer in answers):
        places = [position for position, answer in enumerate(answers) if answer.kind == kind]
        samples = tuple(group.samples[position] for position in places)
        task_group = groups.Group(samples, group.folder)
        alike = len(places) > 1 and task_group.pattern is not None
        for chosen in [places] if alike else [[position] for position in places]:
            part = groups.Group(tuple(group.samples[position] for position in chosen), group.folder)
            mapped = _reading(part, kind, by_role)
            tasks = [
                Task(words[position], kind, answers[position].scale, answers[position].labels)
                for position in chosen
            ]
            expressions: dict[str, Any] = {
                name: groups.captured(part.paths, name) if alike else {"value": words[chosen[0]]}
                for name in ("task", "judge")
            }
            lines: list[Line] = [("task", expressions["task"], _evidence(words, chosen))]
            item = mapped.column(sheet, "item")
            if item and alike:
                n_items = sum(sheet.part(position)[item.name].n_distinct for position in chosen)
                lines.append(("item", item.expression, f"{n_items:,} in all tasks"))
            if local:
                joined = {"join": [expressions["judge"], mapped.expression("judge")], "sep": ":"}
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


def _own_items(group: groups.Group, sheet: Sheet, reading: Reading) -> Reading:
    """Return the task ids of different projects, told apart by file where they clash."""
    item = reading.column(sheet, "item")
    if item is None or not groups.contents_clash(sheet, item.name):
        return reading
    joined = {"join": [groups.captured(group.paths, "item"), item.expression], "sep": ":"}
    line = ("item", joined, "the same ids show something else in another file")
    return reading.with_lines(line)


MATCHED = 0.5
"""Share of the items that a source judges that must be in the table."""

MATCHED_IF_NAMED = 0.9
"""Share of a table's ids that must be judged, where its column is named as items are."""

FIELDS = ("text", "source", "reference", "system", "segment")


@dataclass(frozen=True)
class ItemTable:
    """An entry of ``items``: its files, and its fields with what to know about them."""

    group: groups.Group
    reading: Reading


def guess_item_table(group: groups.Group, sources: Sequence[SourceGuess]) -> ItemTable | str:
    """Return the entry for files without judgments, or the reason why they cannot be one."""
    judged = [source.items for source in sources if source.items]
    sheet = rows_view(group.sheet).sheet
    if any(sample.unreadable for sample in group.samples):
        return "an item table must be whole, and some rows cannot be read"
    if not judged:
        return "no single column of the judgments says the item, so that nothing can match it"
    if group.pattern is None:
        return "no glob matches these files and no others"
    choice = Choice(sheet)
    item = _matching(choice, judged)
    if item is None:
        return "no column holds the ids of the judged items, each once"
    choice.claim(item)
    every = frozenset().union(*judged)
    n_judged = len(item.counts.keys() & every)
    judged_items = f"{n_judged:,} of {len(every):,} judged items are here"
    lines: list[Line] = [("item", item.expression, judged_items)]
    truth = choice.take("truth") or (None if choice.with_role("system") else choice.take("answer"))
    if truth and _is_possible_truth(truth, sources):
        lines.append(truth.line("truth"))
    lines += [column.line(field) for field in FIELDS if (column := choice.take(field))]
    if len(lines) == 1:
        return "it says nothing of the items that is known by name"
    unmapped = ", ".join(column.name for column in choice.offered())
    notes = [f"not mapped: {unmapped}"] if unmapped else []
    if len(every) < sum(map(len, judged)):
        notes.append("sources share item ids: all of them get what this table says")
    return ItemTable(group, Reading(lines=lines, notes=notes))


def _is_possible_truth(truth: Column, sources: Sequence[SourceGuess]) -> bool:
    """Return whether some task can be answered with values of a column."""
    tasks = [task for source in sources for task in source.tasks]
    if any(task.kind == "scalar" for task in tasks) and truth.numeric_share == 1:
        return True
    return any(truth.answers.keys() & task.labels.keys() for task in tasks)


def _matching(choice: Choice, judged: Sequence[frozenset[str]]) -> Column | None:
    """Return the column with the most ids of judged items; one named ``item`` is preferred."""
    columns = [c for c in choice.offered() if c.is_unique]
    named = {c.name: "item" in names.roles(c.name) for c in columns}

    def n_matched(column: Column) -> int:
        if_named = MATCHED_IF_NAMED * column.n_distinct if named[column.name] else math.inf
        matched = [(len(column.counts.keys() & items), MATCHED * len(items)) for items in judged]
        return max((n for n, enough in matched if n >= min(enough, if_named)), default=0)

    matching = filter(n_matched, columns)
    return min(matching, key=lambda c: (not named[c.name], -n_matched(c)), default=None)
