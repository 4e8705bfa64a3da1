"""Formats whose columns are the reader's own: Label Studio, Appraise, and its rankings.

Results of HITs that `annot hits` has planned, too: their bookkeeping says all there is to guess.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.errors import InputError, first_of, shorten
from annot_pipeline.exports.hit_bookkeeping import NAME
from annot_pipeline.exports.hits_from_mturk import BOOKKEEPING
from annot_pipeline.init import names
from annot_pipeline.init.answers import answer_as, labels_seen, scale_of
from annot_pipeline.init.groups import Sample, read_rows
from annot_pipeline.init.optional_fields import find_task, time_lines, with_item_text
from annot_pipeline.init.questions import Line, NoJudgmentsError, Reading, Task
from annot_pipeline.init.rankings import rank_answer
from annot_pipeline.init.readings import unmapped_note
from annot_pipeline.init.table import Choice, Column, Sheet, rounded


def _label_studio_answer(choice: Choice, label: Column) -> Reading:
    """Return the choices, or the ratings and numbers where nothing else is asked.

    Raises
    ------
    NoJudgmentsError
        There are neither.
    """
    if label.counts:
        line: Line = ("label", label.expression, labels_seen(label.answers))
        return Reading(lines=[line], labels=label.answers)
    score = choice.sheet["score"]
    if score.counts:
        choice.claim(score)
        comment = f"{score.n_distinct:,} different, {score.low:g} to {score.high:g}"
        line = ("score", score.expression, comment)
        return Reading(lines=[line], kind="scalar", scale=scale_of(score))
    other = next((n for n in ("preference", "rank") if choice.sheet[n].counts), "nothing")
    raise NoJudgmentsError(LABEL_STUDIO[other])


def _questions_with(sheet: Sheet, column: str) -> set[str]:
    """Return the questions whose answers have a value in a column."""
    return set(sheet.table.select(["from_name", column]).drop_null()["from_name"].to_pylist())


def _scored_questions(sheet: Sheet) -> dict[str, tuple[float, float] | None]:
    """Return the questions with ratings or numbers, and the usual scale that holds them."""
    table = sheet.table.select(["from_name", "score"]).drop_null()
    scales = {}
    for question in sorted(_questions_with(sheet, "score")):
        scores = table.filter(pc.equal(table["from_name"], question))["score"]
        if (column := Column("score", "score", scores)).numbers:
            scales[question] = scale_of(column)
    return scales


def label_studio(choice: Choice) -> Reading:
    """Map the columns that the Label Studio reader offers."""
    sheet = choice.sheet
    named = ("completed_by", "task_id", "choice", "from_name", "annotation_id")
    judge, item, label, task, own = (choice.claim(sheet[name]) for name in named)
    if not judge.counts:
        raise NoJudgmentsError("no annotation says who judged (completed_by)")
    answer = _label_studio_answer(choice, label)
    edited = "updated_at" in sheet.names and sheet["updated_at"].n_blank == 0
    when = "updated_at" if edited else "created_at"
    tasks = sorted(task.counts)
    judges_per_item = rounded(sheet.combinations(item.name, judge.name) / max(item.n_distinct, 1))
    lines: list[Line] = [
        ("task", task.expression, f"{len(tasks):,} different: {', '.join(tasks[:10])}"),
        item.line("item", f", {judges_per_item} judges each"),
        own.line("native_id"),
        *time_lines(choice.among(lambda name: name in (when, "lead_time"))),
    ]
    scored = _scored_questions(sheet) if label.counts else {}
    if scored:
        lines.append(("score", choice.claim(sheet["score"]).expression, f"of {', '.join(scored)}"))
    lines = with_item_text(_read(lines, answer, judge, [], []), choice).lines
    unmapped = ", ".join(column.name for column in choice.offered() if column.counts)
    notes = [f"not mapped: {unmapped}"] if unmapped else []
    compared = _questions_with(sheet, "preference") | _questions_with(sheet, "rank")
    if compared:
        tasks = [task for task in tasks if task not in compared]
        notes.append(LABEL_STUDIO["compared"].format(", ".join(sorted(compared))))
    marked = sheet["ground_truth"].counts.get("true", 0) if "ground_truth" in sheet.names else 0
    notes += [LABEL_STUDIO["marked"].format(f"{marked:,}")] * bool(marked)
    reading = _read(lines, answer, judge, tasks, notes)
    return replace(reading, scored=scored)


LABEL_STUDIO: dict[str, str] = names.VOCABULARY["label_studio"]
"""What to say of answers that need fields of their own."""
APPRAISE_CONTROLS: dict[str, str] = names.VOCABULARY["appraise_controls"]
APPRAISE_SCALE = (0.0, 100.0)
APPRAISE_INPUTS = names.VOCABULARY["appraise_inputs"]
"""Columns that others say, or are made of."""


def appraise(choice: Choice) -> Reading:
    """Map the columns that the Appraise reader offers; scored documents are a separate task."""
    sheet = choice.sheet
    named = ("username", "system", "segment", "score", "itemType")
    judge, system, segment, score, kind = (choice.claim(sheet[name]) for name in named)
    if not score.numbers:
        raise NoJudgmentsError("no score is a number")
    task = ["srcLang", "trgLang", *(["unit"] if "isDocScore" in sheet.names else [])]
    tasks = sheet.joined(*task)
    answer = answer_as(score, "scalar")
    if APPRAISE_SCALE[0] <= score.low and score.high <= APPRAISE_SCALE[1]:
        answer = replace(answer, scale=APPRAISE_SCALE)
    control = {"column": kind.name, "map": APPRAISE_CONTROLS}
    comment = ", ".join(f"{value} ({count:,})" for value, count in kind.counts.items())
    lines: list[Line] = [
        ("task", {"join": task, "sep": "-"}, ", ".join(tasks[:10])),
        system.line("system"),
        segment.line("segment"),
        *[sheet["document"].line("document")] * bool(sheet["document"].counts),
        ("control", control, comment),
        *time_lines(choice.among(lambda name: name in ("timeEnd", "seconds"))),
    ]
    if "batchNo" in sheet.names:
        lines.append(choice.claim(sheet["batchNo"]).line("hit"))
    choice.remaining[:] = [name for name in choice.remaining if name not in APPRAISE_INPUTS]
    return _read(lines, answer, judge, tasks, unmapped_note(choice.offered()))


def wmt_ranking(choice: Choice) -> Reading:
    """Map the columns that the WMT ranking reader offers."""
    sheet = choice.sheet
    named = ("user", "ranking", "segment", "position", "system", "hit_id", "rank")
    judge, *things, rank = (choice.claim(sheet[name]) for name in named)
    if not rank.numbers:
        raise NoJudgmentsError("no ranking ranks anything")
    if not judge.counts:
        raise NoJudgmentsError("no ranking says who judged (user)")
    answer = rank_answer(rank, [])
    task, tasks = find_task(choice)
    lines: list[Line] = [*task]
    for column in things:
        lines += [column.line(column.name.removesuffix("_id"))] * bool(column.counts)
    lines += time_lines(choice.among(lambda name: name == "duration"))
    choice.remaining[:] = [name for name in choice.remaining if sheet[name].n_distinct > 1]
    notes = [*answer.notes, *unmapped_note(choice.offered())]
    return _read(lines, answer, judge, tasks, notes)


def _read(
    lines: list[Line], answer: Reading, judge: Column, tasks: Sequence[str], notes: Sequence[str]
) -> Reading:
    """Return a reading with judge and answers."""
    each = rounded(len(judge.filled) / max(judge.n_distinct, 1))
    evidence = f"{judge.n_distinct:,} different, {each} rows each on average"
    reading = replace(answer, tasks=[*tasks], notes=[*notes], is_preset=True)
    return reading.with_lines(*lines, ("judge", judge.expression, evidence))


OWN_COLUMNS = {"appraise": appraise, "wmt_ranking": wmt_ranking, "label_studio": label_studio}
"""Formats whose columns are the reader's own."""


FORMAT = "hits"
KINDS = {"score": "scalar", "compare": "pairwise", "label": "categorical"}


def read_planned(sample: Sample, head: bytes, columns: list[str], limit: int) -> Sample | None:
    """Return the first rows, if a file holds planned HITs; else None.

    Parameters
    ----------
    sample
        The file, and with which options it is read.
    head
        Its first bytes.
    columns
        Of delimited text, its columns.
    limit
        Rows to read.
    """
    if sample.format in ("jsonl", "label_studio") and NAME.encode() in head:
        with contextlib.suppress(InputError):  # the name stands somewhere else
            return read_rows(Sample(sample.path, FORMAT, sample.options), limit)
    elif BOOKKEEPING in columns:
        return read_rows(Sample(sample.path, FORMAT, sample.options), limit)
    return None


def planned_mapping(sheet: Sheet) -> tuple[Reading, list[Task]]:
    """Return the reading, which needs no field, and the tasks.

    Raises
    ------
    NoJudgmentsError
        Nobody is said to have judged.
    """
    judge = sheet["judge"]
    if not judge.counts:
        raise NoJudgmentsError("no row says who judged")
    task_by_name: dict[str, Task] = {}
    inconsistent: list[str] = []
    for task in _planned_tasks(sheet):
        name = task.name or ""
        if task_by_name.setdefault(name, task) != task and name not in inconsistent:
            inconsistent.append(name)
    summary = f"{sheet['hit'].n_distinct:,} HITs, {judge.n_distinct:,} judges"
    notes = [f"no fields are needed: the HITs say them; {summary}"]
    if inconsistent:
        text = first_of(list(map(shorten, inconsistent)))
        notes.append(f"HITs of one task differ in scale or criteria: {text}; the first is taken")
    named = sorted(task_by_name)
    reading = Reading("HITs of annot", kind="scalar", tasks=named, notes=notes, is_preset=True)
    return reading, [task_by_name[name] for name in named]


def _planned_tasks(sheet: Sheet) -> list[Task]:
    """Return the tasks that HITs describe, each once, in the order of the files."""
    columns = sheet.table.select(["task", "ask", "scale", "criteria", "labels"])
    rows = columns.group_by(columns.column_names, use_threads=False).aggregate([]).to_pylist()
    return [
        Task(
            row["task"],
            KINDS[row["ask"]],
            (scale[0], scale[1]) if (scale := parse_bounded_json(row["scale"] or "null")) else None,
            dict.fromkeys(parse_bounded_json(row["labels"] or "[]"), 0),
            tuple(parse_bounded_json(row["criteria"] or "[]")),
            is_planned=True,
        )
        for row in rows
    ]
