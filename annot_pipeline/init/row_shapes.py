"""The shapes that rows of judgments have, each with the lines that say who judged what.

A row compares two things, holds several judgments in numbered columns, ranks one output among
others, holds one judgment (or one of each question), or is what the readers of Label Studio, of
Appraise and of its rankings make of an answer.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow.compute as pc

from annot_pipeline.init import names
from annot_pipeline.init.answer_columns import pick_answer
from annot_pipeline.init.answers import (
    Answer,
    NoJudgmentsError,
    answer_as,
    answer_in,
    labels_seen,
    scale_of,
)
from annot_pipeline.init.columns import Choice, Column, Sheet, rounded
from annot_pipeline.init.fields import Mapping
from annot_pipeline.init.item_texts import with_item_text
from annot_pipeline.init.numbered import NumberedRow
from annot_pipeline.init.objects import Line, find_item, find_task, what_was_judged
from annot_pipeline.init.optional_fields import time_lines
from annot_pipeline.init.rankings import rank_answer


def compared(choice: Choice, judge: Column, answer: Answer) -> Mapping:
    """Return rows that say which of two is better."""
    for name in answer.columns:
        choice.claim(choice.sheet[name])
    segment = choice.take("segment") or find_item(choice.sheet, choice, judge)
    lines: list[Line] = []
    if segment:
        lines.append(("segment", segment.expression, f"{segment.n_distinct:,} different"))
    else:  # nothing that the two worked on: they are what was judged
        fields = [(f.replace("system_", "item_"), e, why) for f, e, why in answer.fields]
        answer = replace(answer, fields=fields)
    task, tasks = find_task(choice, lines)
    ranking = choice.take("ranking")
    if ranking:
        lines.append(("ranking", ranking.expression, f"{ranking.n_distinct:,} different"))
    return Mapping([*task, *lines], answer, judge, tasks=tasks)


def ranked(choice: Choice, judge: Column, answer: Answer, ranking: Column | None) -> Mapping:
    """Return rows of one ranked output each."""
    for name in answer.columns:
        choice.claim(choice.sheet[name])
    if ranking:
        choice.claim(ranking)
    lines = what_was_judged(choice.sheet, choice, judge)
    if not lines:
        raise NoJudgmentsError("no column says what was ranked", names.ROLES["system"])
    task, tasks = find_task(choice, lines)
    notes = []
    if ranking:
        comment = f"{ranking.n_distinct:,} different"
        lines.append(("ranking", ranking.expression, comment))
    else:
        notes = ["no ranking: what a judge says of one segment, or in one HIT, is one ranking"]
    return Mapping([*task, *lines], answer, judge, tasks=tasks, notes=notes)


def as_meant(choice: Choice, judge: Column, meant: dict[str, str]) -> Mapping:
    """Map columns without names by their contents."""
    item, answer = choice.sheet[meant["item"]], choice.sheet[meant["answer"]]
    fitting_answer = answer_in(answer, None)
    if fitting_answer is None:
        raise NoJudgmentsError("no column says what was answered")
    evidence = f"{choice.claim(item).n_distinct:,} different"
    choice.claim(answer)
    notes = ["the file has no header: the columns are guessed from their contents alone"]
    return Mapping([("item", item.expression, evidence)], fitting_answer, judge, item, notes=notes)


def numbered(choice: Choice, judge: Column, row: NumberedRow) -> Mapping:
    """Map rows with several judgments in numbered columns."""
    for name in row.columns:
        choice.claim(choice.sheet[name])
    lines = [
        (row.field, row.things.expression, f"{row.things.n_distinct:,} different"),
        ("position", {"value": "{i}"}, ""),
    ]
    if row.field == "system":
        segment = choice.take("segment") or find_item(choice.sheet, choice, judge)
        if segment is None:
            raise NoJudgmentsError(
                "no column says what the systems worked on", names.ROLES["segment"]
            )
        lines.append(("segment", segment.expression, f"{segment.n_distinct:,} different"))
    task, tasks = find_task(choice, lines)
    own = next((c for c in choice.with_role("native_id") if choice.sheet.is_unique(c.name)), None)
    if own:
        lines.append(("ranking", own.expression, "a row's judgments were made side by side"))
    notes = []
    if row.answer.kind == "scalar" and row.answer.scale is None:
        notes = ["if scores mean no more than their order in a row: kind: ranking, under tasks"]
    return Mapping([*task, *lines], row.answer, judge, each=row.each, tasks=tasks, notes=notes)


def ordinary(choice: Choice, judge: Column, format_: str) -> Mapping:
    """Return rows that hold one judgment, or one of each question."""
    sheet, is_mturk = choice.sheet, format_ == "mturk"
    candidates = choice.among(lambda name: name.startswith("Input.")) if is_mturk else choice
    lines = what_was_judged(sheet, candidates, judge)
    if not lines and is_mturk:
        inputs = [column for column in candidates.offered() if column.n_distinct > 1]
        shown_item = choice.claim(inputs[0]) if len(inputs) == 1 else sheet["HITId"]
        evidence = f"{shown_item.n_distinct:,} different"
        lines = [("item", shown_item.expression, evidence)]
    if not lines:
        raise NoJudgmentsError("no column says what was judged", names.ROLES["item"])
    item_columns = [sheet[n] for n in sheet.names if ("item", sheet[n].expression) == lines[0][:2]]
    item = item_columns[0] if item_columns else None
    answer, each, notes = pick_answer(choice, judge, item, by_prefix=is_mturk)
    task, tasks = find_task(candidates, lines)
    if each:
        task, tasks = [("task", {"value": "{question}"}, "one task a question")], each["question"]
    return Mapping([*task, *lines], answer, judge, item, each, tasks, notes)


def _label_studio_answer(choice: Choice, label: Column) -> Answer:
    """Return the choices, or the ratings and numbers where nothing else is asked.

    Raises
    ------
    NoJudgmentsError
        There are neither.
    """
    if label.counts:
        comment = labels_seen(label)
        return Answer(
            "categorical", [("label", label.expression, comment)], [], labels=label.answers
        )
    score = choice.sheet["score"]
    if score.counts:
        choice.claim(score)
        comment = f"{score.n_distinct:,} different, {score.low:g} to {score.high:g}"
        return Answer("scalar", [("score", score.expression, comment)], [], scale=scale_of(score))
    if choice.sheet["preference"].counts:
        raise NoJudgmentsError(
            "annotations are preferences. Which columns of data hold the two sides? Map them: "
            "preference: preference, item_a: data.LEFT, item_b: data.RIGHT"
        )
    if choice.sheet["rank"].counts:
        raise NoJudgmentsError(
            "annotations are rankings: map item: ranked_item, rank: rank, ranking: annotation_id, "
            "segment: task_id"
        )
    raise NoJudgmentsError("no annotation holds a choice, rating, number, preference or ranking")


def _questions_with(sheet: Sheet, column: str) -> set[str]:
    """Return the questions whose answers have a value in a column."""
    return set(sheet.table.select(["from_name", column]).drop_null()["from_name"].to_pylist())


def _scored_questions(sheet: Sheet) -> dict[str, tuple[float, float] | None]:
    """Return the questions with ratings or numbers, and the usual scale that holds them."""
    table = sheet.table.select(["from_name", "score"]).drop_null()
    columns = {
        question: Column(
            "score", "score", table.filter(pc.equal(table["from_name"], question))["score"]
        )
        for question in sorted(_questions_with(sheet, "score"))
    }
    return {question: scale_of(column) for question, column in columns.items() if column.numbers}


def label_studio(choice: Choice) -> Mapping:
    """Map the columns that the Label Studio reader offers."""
    sheet = choice.sheet
    judge, item, label, task, own = (
        choice.claim(sheet[name])
        for name in ("completed_by", "task_id", "choice", "from_name", "annotation_id")
    )
    if not judge.counts:
        raise NoJudgmentsError("no annotation says who judged (completed_by)")
    answer = _label_studio_answer(choice, label)
    edited = "updated_at" in sheet.names and sheet["updated_at"].n_blank == 0
    when = "updated_at" if edited else "created_at"
    tasks = sorted(task.counts)
    judges_per_item = rounded(sheet.combinations(item.name, judge.name) / max(item.n_distinct, 1))
    lines: list[Line] = [
        ("task", task.expression, f"{len(tasks):,} different: {', '.join(tasks[:10])}"),
        ("item", item.expression, f"{item.n_distinct:,} different, {judges_per_item} judges each"),
        ("native_id", own.expression, f"{own.n_distinct:,} different"),
        *time_lines(choice.among(lambda name: name in (when, "lead_time"))),
    ]
    scored = _scored_questions(sheet) if label.counts else {}
    if scored:
        lines.append(("score", choice.claim(sheet["score"]).expression, f"of {', '.join(scored)}"))
    lines = with_item_text(Mapping(lines, answer, judge, item), choice).lines
    unmapped = ", ".join(column.name for column in choice.offered() if column.counts)
    notes = [f"not mapped: {unmapped}"] if unmapped else []
    compared = _questions_with(sheet, "preference") | _questions_with(sheet, "rank")
    if compared:
        tasks = [task for task in tasks if task not in compared]
        notes.append(
            f"left out: {', '.join(sorted(compared))}, which hold preferences or rankings; give "
            "these a source of their own, with item_a and item_b, or ranked_item and rank"
        )
    marked = sheet["ground_truth"].counts.get("true", 0) if "ground_truth" in sheet.names else 0
    if marked:
        notes.append(
            f"{marked:,} are marked as ground truth; if these are decisions of experts, add "
            'control: {column: ground_truth, map: {"true": adjudication, "false": none}, '
            "else: none}"
        )
    mapping = Mapping(lines, answer, judge, item, tasks=tasks, notes=notes, scored=scored)
    return mapping.with_lines(judge_line(judge), *answer.fields)


APPRAISE_CONTROLS = {
    "TGT": "none", "BAD": "bad_reference", "REF": "good_reference", "CHK": "ask_again",
}  # fmt: skip
APPRAISE_SCALE = (0.0, 100.0)
APPRAISE_INPUTS = {
    "itemId", "srcLang", "trgLang", "docId", "document", "isDocScore", "unit", "timeStart",
    "timeEnd",
}  # fmt: skip
"""Columns that others say, or are made of."""


def appraise(choice: Choice) -> Mapping:
    """Map the columns that the Appraise reader offers; scored documents are a separate task."""
    sheet = choice.sheet
    judge, system, segment, score, kind = (
        choice.claim(sheet[name]) for name in ("username", "system", "segment", "score", "itemType")
    )
    if not score.numbers:
        raise NoJudgmentsError("no score is a number")
    task = ["srcLang", "trgLang", *(["unit"] if "isDocScore" in sheet.names else [])]
    rows = sheet.table.select(task).drop_null().group_by(task).aggregate([]).to_pylist()
    tasks = sorted("-".join(row.values()) for row in rows)
    answer = answer_as(score, "scalar")
    if APPRAISE_SCALE[0] <= score.low and score.high <= APPRAISE_SCALE[1]:
        answer = replace(answer, scale=APPRAISE_SCALE)
    control = {"column": kind.name, "map": APPRAISE_CONTROLS}
    comment = ", ".join(f"{value} ({count:,})" for value, count in kind.counts.items())
    lines: list[Line] = [
        ("task", {"join": task, "sep": "-"}, ", ".join(tasks[:10])),
        ("system", system.expression, f"{system.n_distinct:,} different"),
        ("segment", segment.expression, f"{segment.n_distinct:,} different"),
        *_documents(sheet),
        ("control", control, comment),
        *time_lines(choice.among(lambda name: name in ("timeEnd", "seconds"))),
    ]
    if "batchNo" in sheet.names:
        batch = choice.claim(sheet["batchNo"])
        lines.append(("hit", batch.expression, f"{batch.n_distinct:,} different"))
    choice.remaining[:] = [name for name in choice.remaining if name not in APPRAISE_INPUTS]
    mapping = Mapping(lines, answer, judge, tasks=tasks)
    return mapping.with_lines(judge_line(judge), *answer.fields)


def _documents(sheet: Sheet) -> list[Line]:
    """Return the line of documents, if there are any."""
    column = sheet["document"]
    if not column.n_distinct:
        return []
    return [("document", column.expression, f"{column.n_distinct:,} different")]


def wmt_ranking(choice: Choice) -> Mapping:
    """Map the columns that the WMT ranking reader offers."""
    sheet = choice.sheet
    judge, ranking, segment, system, rank = (
        choice.claim(sheet[name]) for name in ("user", "ranking", "segment", "system", "rank")
    )
    if not rank.numbers:
        raise NoJudgmentsError("no ranking ranks anything")
    if not judge.counts:
        raise NoJudgmentsError("no ranking says who judged (user)")
    answer = rank_answer(rank, [])
    task, tasks = find_task(choice)
    lines: list[Line] = [*task]
    for field, column in (
        ("ranking", ranking),
        ("segment", segment),
        ("position", choice.claim(sheet["position"])),
        ("system", system),
        ("hit", choice.claim(sheet["hit_id"])),
    ):
        if column.counts:
            comment = f"{column.n_distinct:,} different"
            lines.append((field, column.expression, comment))
    lines += time_lines(choice.among(lambda name: name == "duration"))
    choice.remaining[:] = [name for name in choice.remaining if sheet[name].n_distinct > 1]
    mapping = Mapping(lines, answer, judge, tasks=tasks, notes=[*answer.notes])
    return mapping.with_lines(judge_line(judge), *answer.fields)


def judge_line(column: Column) -> Line:
    """Return the judge's line, with how often judges stand there."""
    each = rounded(len(column.filled) / max(column.n_distinct, 1))
    evidence = f"{column.n_distinct:,} different, {each} rows each on average"
    return ("judge", column.expression, evidence)
