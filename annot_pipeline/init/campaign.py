"""From export files to the text of a campaign.yaml."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of
from annot_pipeline.init import names
from annot_pipeline.init.answers import MOST_LABELS
from annot_pipeline.init.document import comment, flow, write_campaign
from annot_pipeline.init.groups import ROWS_READ, Group, Sample, group_samples, stem_of
from annot_pipeline.init.questions import (
    ANSWERS,
    MOST_CHOICES,
    ORDER,
    NoJudgmentsError,
    Option,
    Question,
    Reading,
    Roles,
    written,
)
from annot_pipeline.init.sniff import UnusableError, read_sample
from annot_pipeline.init.sources import (
    ItemTable,
    SourceGuess,
    guess_item_table,
    read_sources,
)
from annot_pipeline.init.views import pairs_among
from annot_pipeline.stages.ingest.present_exports import ENDINGS
from annot_pipeline.storage.archive import natural_key
from annot_pipeline.storage.checked_export import OwnFolders, checked_export
from annot_pipeline.storage.marked_folder import MARKER_PREFIX


def name_tasks(sources: list[SourceGuess], campaign: str) -> list[SourceGuess]:
    """Name the tasks of sources: one for all, or one each where answers would be mixed."""
    unnamed = [source for source in sources if source.tasks[0].name is None]
    are_separate = any(_differ(unnamed[0], other) for other in unnamed[1:])
    stems = Counter(stem_of(source.group.paths[0]) for source in unnamed)
    named: list[SourceGuess] = []
    for position, source in enumerate(sources, start=1):
        if criteria := tuple(e["value"] for n, e, _ in source.reading.lines if n == "criterion"):
            changed: dict[str, Any] = {"scale": source.reading.scale, "criteria": criteria}
            source = replace(source, tasks=[replace(task, **changed) for task in source.tasks])
        if source.tasks[0].name is None:
            name, reading = campaign, source.reading
            if are_separate:
                stem = stem_of(source.group.paths[0])
                name = stem if stems[stem] == 1 else f"{stem}_{position}"
                line = ("task", {"value": name}, "the other files answer something else")
                reading = reading.with_lines(line)
            tasks = [replace(source.tasks[0], name=name)]
            source = replace(source, reading=reading, tasks=tasks)
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
    expression = next((e for n, e, _ in reversed(source.reading.lines) if n in ANSWERS), None)
    if isinstance(expression, dict):
        return {key: value for key, value in expression.items() if key != "map"}
    return {"column": expression}


FIELDS: dict[str, dict[str, str]] = names.VOCABULARY["placeholders"]
"""Word to what a value of a field that is this word, or it and a number, looks like."""
SUMMED = ("item", "segment")
"""Fields of which only the last row may be no thing, but a summary of the others."""


NOBODY = {"a missing name", "a total", "a mean"}
"""What is left out where it is a minority; of the others, such as tests, there is a note."""


def without_placeholders(source: SourceGuess) -> SourceGuess:
    """Return a source without rows that name nobody, and with notes on names that may not."""
    reading, sheet = source.reading, source.group.sheet
    notes, where = [*reading.notes], [*reading.where]
    for field_, column, _ in reading.lines:
        words = FIELDS.get(field_, {})
        counts = sheet[column].counts if words and column in sheet.names else {}
        likely = counts
        if counts and field_ in SUMMED:  # what stands in the last row alone
            last = sheet.table.column(column)[-1].as_py()
            likely = {last: 1} if counts.get(last) == 1 else {}
        plain = {v: re.sub(r"[\s_.-]|(?<!\d)\d+$", "", v.casefold()) or v.strip() for v in likely}
        looks = {value: words[word] for value, word in plain.items() if word in words}
        if looks and len(looks) < len(counts):
            texts = [f"{v} ({counted(counts[v], 'row')}) looks like {looks[v]}" for v in looks]
            condition = {"column": column, "not": sorted(looks)}
            line = flow(condition)
            line = f"{line} in where" if reading.where else f"where: [{line}]"
            note = f"{line} leaves these rows out"
            n_rows = sum(counts[value] for value in looks)
            if NOBODY.issuperset(looks.values()) and 2 * n_rows <= sum(counts.values()):
                where, note = [*where, condition], "left out by where"
            notes.append(f"{first_of(texts, 5)}: {note}")
    return replace(source, reading=replace(reading, notes=notes, where=where))


ROWS_IN_ALL = 4_000_000
"""Rows looked at over all files; many files are each looked at less."""

FEWEST_ROWS = 2_000
SHOWN_COLUMNS, SHOWN_FILES, SHOWN_ROWS = 40, 20, 5


@dataclass(frozen=True)
class _Unused:
    """Files that are no source yet, and why.

    Parameters
    ----------
    where, why
        As errors and comments name them, and say it.
    columns
        What the files have.
    group, question, draft
        The files if they can be read; what is open; the draft of their source.
    """

    where: str
    why: str
    columns: Sequence[str] = ()
    group: Group | None = None
    question: Question | None = None
    draft: SourceGuess | None = None

    def note(self) -> str:
        """Return the comment of the document."""
        shown = first_of(self.columns, SHOWN_COLUMNS)
        return f"{self.where}: {self.why}" + (f" (columns: {shown})" if shown else "")

    def problem(self, command: str) -> Problem:
        """Return what the error says, with the command that helps."""
        question = self.question
        options = question.options[:MOST_CHOICES] if question else ()
        listed = "; ".join(f"{o} ({o.why})" if o.why else str(o) for o in options)
        do = f"{command} {options[0]}" if options else ""
        if not do and self.columns:
            are_compared = any(pair.are_systems for pair in pairs_among(self.columns))
            of_pairs = ("segment", "system-a", "system-b", "preference")
            asked = ("judge", *(of_pairs if are_compared else ("item", "label")))
            do = command + "".join(f" --{r} COLUMN" for r in asked if f"--{r} " not in command)
        why = self.why + (f". {question.ask}" if question and question.ask else "")
        shown = first_of(self.columns, SHOWN_COLUMNS)
        what = f"{why}; its columns: {shown}" if shown else why
        return Problem(self.where, what, allowed=listed, do=do)


class OpenError(ConfigError):
    """No campaign yet: the cells leave a question open.

    Parameters
    ----------
    questions
        What is open.
    draft
        The text of campaign.yaml with ``?`` in the open places; None: there is too little for one.
    preview
        The first rows, for a person at a terminal.
    beliefs
        What is believed of each file.
    command
        What the user typed.
    """

    def __init__(
        self,
        title: str,
        problems: Sequence[Problem],
        questions: Sequence[Question] = (),
        draft: str | None = None,
        preview: pa.Table = None,
        beliefs: Sequence[Mapping[str, Any]] = (),
        command: str = "",
    ) -> None:
        super().__init__(title, problems)
        self.questions, self.draft, self.preview = tuple(questions), draft, preview
        self.beliefs, self.command = beliefs, command

    def document(self) -> dict[str, object]:
        """Return the JSON document."""
        questions = [question.document(self.command) for question in self.questions]
        return super().document() | {"questions": questions, "beliefs": [*self.beliefs]}


@dataclass(frozen=True)
class Guess:
    """The text of campaign.yaml, and what is believed of each source, as JSON says it."""

    text: str
    beliefs: list[dict[str, Any]]


def guess_campaign(*args: Any, **options: Any) -> str:
    """Return the text of campaign.yaml; see `guess`."""
    return guess(*args, **options).text


def guess(
    exports: Sequence[Path],
    folder: Path,
    *,
    named_by_folder: bool = False,
    preset: str | None = None,
    by_role: Roles | None = None,
    command: str = "",
) -> Guess:
    """Look at exports and write a campaign.yaml for them.

    Parameters
    ----------
    exports
        Files, or folders: their files that look like exports, and those of their subfolders if
        there are no judgments among them.
    folder
        Where campaign.yaml will lie; its paths start there.
    named_by_folder
        Name the campaign after that folder, not after the exports.
    preset
        Name of the preset to use; None: the one that fits, if any.
    by_role
        Role to columns, as options of `annot init` say them.
    command
        What the user typed, for the next command in errors; empty: it is made of the exports.

    Returns
    -------
    Guess
        The text of campaign.yaml, and the evidence.

    Raises
    ------
    OpenError
        No file holds judgments, or a question is open.
    ConfigError
        A path does not exist, or an answer contradicts the data.
    InputError
        A path that was given is a link that leads out of its folder, or no regular file.
    """
    missing = [str(path) for path in exports if not path.exists()]
    if missing or not exports:
        problem = Problem("", "no such file or folder", values=tuple(missing))
        raise ConfigError("annot init needs exports to look at", [problem] if missing else [])
    root, by_role = folder.resolve(), by_role or {}
    command = command or shlex.join(["annot", "init", *map(str, exports)])
    if by_role:
        command += f" {written(by_role)}"
    unused: list[_Unused] = []
    samples_by_path: dict[Path, Sample | str] = {}
    for deep in (False, True):
        paths = list(dict.fromkeys(_files(exports, root, samples_by_path, deep=deep)))
        _read_samples(paths, samples_by_path)
        folders = [path.resolve() for path in exports if path.is_dir()]
        sources, tables, unused = _sort_files(samples_by_path, root, folders, preset, by_role)
        is_open = any(one.question for one in unused)
        name = _campaign_name([root] if named_by_folder else exports)
        if sources and not (is_open and by_role.get("judge") == ("file",)):
            in_order = sorted(sources, key=lambda s: natural_key(str(s.group.paths[0])))
            sources = name_tasks(in_order, name)
            text = write_campaign(name, sources, tables, [one.note() for one in unused])
            return Guess(text, [beliefs(s.group.paths, s.reading) for s in sources])
    ends = f"names ending in {', '.join(ENDINGS)}, each also with .gz"
    none = Problem(", ".join(map(str, exports)), "no file here looks like an export", allowed=ends)
    asked = [(one.question, one.group) for one in unused if one.question and one.group]
    questions = [question for question, _ in asked]
    title = "no campaign can be guessed from these exports"
    title = "the cells leave a question open" if questions else title
    drafts = [one.draft for one in unused if one.draft]
    draft = _draft(name, drafts[0], questions, command) if drafts else None
    preview = asked[0][1].first.table.slice(0, SHOWN_ROWS) if asked else None
    believed = [beliefs(one.group.paths, one.reading) for one in drafts]
    problems = [one.problem(command) for one in unused[:SHOWN_FILES]] or [none]
    raise OpenError(title, problems, questions, draft, preview, believed, command)


def _draft(name: str, draft: SourceGuess, questions: Sequence[Question], command: str) -> str:
    """Return the text of a campaign.yaml with open places, and what fills them."""
    role = questions[0].role if questions else ""
    if role in ORDER and not any(e == "?" for _, e, _ in draft.reading.lines):
        draft = replace(draft, reading=draft.reading.with_lines((role, "?", "")))
    text = write_campaign(name, name_tasks([draft], name), [], [])
    head = ["# A draft of annot init: `?` is an open place."]
    for question in questions[:1]:
        head.append(f"# open: {comment(str(question), 400)}")
        head += [f"#   {comment(f'{command} {o}', 300)}" for o in question.options[:MOST_CHOICES]]
    return "\n".join(head) + "\n" + text.partition("\n\n")[2]


def _files(
    exports: Sequence[Path], root: Path, samples_by_path: dict[Path, Sample | str], *, deep: bool
) -> Iterator[Path]:
    """Yield the files to look at, with the name that the user gave them.

    What builds would refuse in a folder is noted as seen, with the reason.

    Raises
    ------
    InputError
        Builds would refuse a file that was given itself.
    """
    own = {name: root / name for name in ("store", "gold")}
    own_folders = OwnFolders(own)
    for export in exports:
        if not export.is_dir():
            location = export.parent.resolve() / export.name
            checked_export(location, str(export), location.parent, own_folders)
            yield location
            continue
        location = export.resolve()
        paths = location.rglob("*") if deep else location.iterdir()
        below = sorted(paths, key=lambda path: natural_key(str(path)))
        marked = {path.parent for path in below if path.name.startswith(MARKER_PREFIX)}
        for path in below:
            inside = path.relative_to(location).parts
            is_own = not (marked | {*own.values()}).isdisjoint(path.parents)
            hidden = any(part.startswith(".") for part in inside)
            ending = path.name.lower().removesuffix(".gz")
            if not ending.endswith(ENDINGS) or is_own or hidden or not path.is_file():
                continue
            try:
                checked_export(path, path.name, location, own_folders)
            except InputError as error:
                samples_by_path[path] = error.problems[0].what
            yield path


def _read_samples(files: Sequence[Path], samples_by_path: dict[Path, Sample | str]) -> None:
    """Read the samples of new files, or note why there is none."""
    limit = min(ROWS_READ, max(FEWEST_ROWS, ROWS_IN_ALL // max(len(files), 1)))
    for path in files:
        if path not in samples_by_path:
            try:
                samples_by_path[path] = read_sample(path, limit)
            except UnusableError as error:
                samples_by_path[path] = str(error)


def _sort_files(
    samples_by_path: Mapping[Path, Sample | str],
    root: Path,
    folders: Sequence[Path],
    preset: str | None,
    by_role: Roles,
) -> tuple[list[SourceGuess], list[ItemTable], list[_Unused]]:
    """Find the sources first, then which of the other files describe their items."""
    unreadable = {path: why for path, why in samples_by_path.items() if isinstance(why, str)}
    unused = [_Unused(_shown([path], root), why) for path, why in unreadable.items()]
    samples = [sample for sample in samples_by_path.values() if not isinstance(sample, str)]
    sources: list[SourceGuess] = []
    rest: list[_Unused] = []
    for group in group_samples(samples, root, folders):
        where, columns = _shown(group.paths, root), group.first.table.column_names
        try:
            own = read_sources(group, by_role, preset)
        except NoJudgmentsError as error:
            rest.append(_Unused(where, str(error), columns, group, error.question))
            continue
        asked = [question for source in own for question in source.reading.questions]
        if asked:
            columns = own[0].reading.paths or columns
            rest.append(_Unused(where, asked[0].text, columns, group, asked[0], own[0]))
        else:
            sources += map(without_placeholders, own)
    sources, derived = _originals(sources, root)
    tables: list[ItemTable] = []
    unused += derived
    for one in _offering_files(rest):
        table = guess_item_table(one.group, sources) if sources and one.group else None
        if isinstance(table, ItemTable):
            tables.append(table)
        else:
            more = f"; nor is it an item table: {table}" if table else ""
            unused.append(replace(one, why=one.why + more))
    return sources, tables, unused


def _offering_files(rest: list[_Unused]) -> list[_Unused]:
    """Return what is open, with files as an answer to who judged: the first, or the last.

    It is the last where each file holds values of its own, as of other things.
    """
    asked = [one.group for one in rest if one.group and _asks_who(one)]
    tables = [sample.table for group in asked for sample in group.samples]
    shared = set.intersection(*({*table.column_names} for table in tables)) if tables else set()
    if len(tables) < 2 or not shared:
        return rest
    columns = [[{*table[name].to_pylist()} for table in tables] for name in shared]
    are_apart = any(min(map(len, c)) > MOST_LABELS and not set.intersection(*c) for c in columns)
    why = f"each of the {len(tables)} files is a judge, and releases show their names"

    def with_files(one: _Unused) -> _Unused:
        if not one.question or not _asks_who(one):
            return one
        options = one.question.options
        named = [o.by_role for o in options if ("=NAME",) in o.by_role.values()]
        files = [Option({**by_role, "judge": ("file",)}, why) for by_role in named]
        both = [*options, *files] if are_apart else [*files, *options]
        return replace(one, question=replace(one.question, options=both))

    return [with_files(one) for one in rest]


def _asks_who(unused: _Unused) -> bool:
    return unused.question is not None and unused.question.role == "judge"


def _originals(sources: list[SourceGuess], root: Path) -> tuple[list[SourceGuess], list[_Unused]]:
    """Leave out comparisons of tasks that rankings cover too: they were derived from these."""
    rankings = [s for s in sources if s.group.first.format == "wmt_ranking"]
    ranked = {task.name for source in rankings for task in source.tasks} - {None}
    derived = [s for s in sources if {task.kind for task in s.tasks} == {"pairwise"}]
    derived = [s for s in derived if {task.name for task in s.tasks} <= ranked]
    why = "compares pairs of tasks that {}, too, as rankings"
    holds = f"{_shown(rankings[0].group.paths, root)} holds" if rankings else ""
    unused = [_Unused(_shown(s.group.paths, root), why.format(holds)) for s in derived]
    return [source for source in sources if source not in derived], unused


def _shown(paths: Sequence[Path], root: Path) -> str:
    first = Path(os.path.relpath(paths[0], root)).as_posix()
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more like it"


def _campaign_name(exports: Sequence[Path]) -> str:
    """Return a name from the one folder or file given, else from the folder of the first file."""
    first = exports[0].resolve()
    named = first if len(exports) == 1 or not first.is_file() else first.parent
    stem = named.name.lower()
    if named.is_file():
        stem = re.sub(r"(\.(gz|txt|csv|tsv|tab|jsonl|ndjson|json|parquet|xml))+$", "", stem)
    name = re.sub(r"[^a-z0-9]+", "_", stem).strip("_").lstrip("0123456789_")
    return name or "campaign"


WEIGHED_AS = {"segment": "item", "score": "label", "preference": "label", "winner": "label"}
MOST_ALTERNATIVES = 5


def beliefs(paths: Sequence[Path], reading: Reading) -> dict[str, Any]:
    """Return the roles of a source as JSON says them.

    Each has its expression in campaign.yaml, a sentence, and, where columns were weighed, score
    and signs of the chosen column and of the next ones.
    """
    return {
        "files": [path.name for path in paths],
        "kind": reading.kind,
        "roles": [_role(reading, *line) for line in reading.lines],
        "notes": [*reading.notes],
    }


def _role(reading: Reading, role: str, expression: Any, why: str) -> dict[str, Any]:
    columns = [*reading.columns] if WEIGHED_AS.get(role, role) == "label" else [expression]
    rows = reading.weighed.get(WEIGHED_AS.get(role, role), [])
    chosen = next((row for row in rows if row["column"] in columns), None)
    if chosen is None and isinstance(expression, str):
        signs = {"is named so": round(names.likelihood(expression, role), 3)}
        chosen = {"score": signs["is named so"], "evidence": signs}
    others = [row for row in rows if row["column"] not in columns][:MOST_ALTERNATIVES]
    return {
        "role": role, "expression": expression, "why": why,
        "score": chosen and chosen["score"], "evidence": chosen["evidence"] if chosen else {},
        "alternatives": others,
    }  # fmt: skip
