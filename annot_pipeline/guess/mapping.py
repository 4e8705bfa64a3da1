"""Which column is which canonical field: names say what is likely, contents whether it can be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from annot_pipeline.guess import names
from annot_pipeline.guess.answer_columns import pick_answer
from annot_pipeline.guess.answers import (
    Answer,
    NoJudgmentsError,
    answer_in,
    comparison,
    labels_seen,
)
from annot_pipeline.guess.columns import Choice, Column, Sheet, rounded
from annot_pipeline.guess.layouts import by_contents
from annot_pipeline.guess.numbered import numbered_row
from annot_pipeline.guess.objects import Line, find_item, find_task, what_was_judged
from annot_pipeline.guess.optional_fields import optional_lines, time_lines

ORDER = (
    "task", "judge", "item", "item_a", "item_b", "system", "system_a", "system_b", "segment",
    "label", "score", "preference", "rank_a", "rank_b", "ranking", "truth", "control", "hit",
    "position", "native_id", "status", "submitted_at", "seconds", "hit_seconds",
)  # fmt: skip
"""In which lines are written."""

SHOWN_COLUMNS = 40


@dataclass
class Mapping:
    """The fields of a source, and what is known of its tasks.

    Parameters
    ----------
    lines
        Field, expression and evidence.
    answer
        What is answered.
    judge, item
        The columns of judges and, where one column says it, of items.
    each
        The source's ``each``.
    tasks
        Names of tasks; empty where no column says them.
    notes
        What people should know.
    """

    lines: list[Line]
    answer: Answer
    judge: Column
    item: Column | None = None
    each: dict[str, Any] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether a field is mapped."""
        return any(line[0] == name for line in self.lines)

    def column(self, sheet: Sheet, name: str) -> Column | None:
        """The column that a field is, if it is one."""
        expression = next((line[1] for line in self.lines if line[0] == name), None)
        return next((sheet[n] for n in sheet.names if sheet[n].expression == expression), None)

    def with_lines(self, *lines: Line) -> Mapping:
        """The same with some lines replaced or added, in the usual order."""
        fields = {line[0]: line for line in (*self.lines, *lines)}
        return replace(self, lines=sorted(fields.values(), key=lambda f: ORDER.index(f[0])))


def guess_mapping(sheet: Sheet, format_: str) -> Mapping:
    """Map the columns of a sample.

    Raises
    ------
    NoJudgmentsError
        No column says who judged, what was judged, or what was answered.
    """
    choice = Choice(sheet)
    if format_ == "label_studio":
        return _label_studio(choice)
    meant = by_contents(sheet) if _is_nameless(sheet) else {}
    judge = choice.claim(sheet[meant["judge"]]) if meant else _judge(choice)
    compared = comparison(sheet, choice)
    if compared:
        mapping = _compared(choice, judge, compared)
    elif meant:
        mapping = _as_meant(choice, judge, meant)
    elif format_ != "mturk" and not choice.of("answer") and numbered_row(sheet, choice):
        mapping = _numbered(choice, judge)
    else:
        mapping = _ordinary(choice, judge, format_)
    per_row = "hit_seconds" if mapping.each else "seconds"
    labels = dict(mapping.answer.labels) if mapping.answer.kind == "categorical" else {}
    lines = optional_lines(choice, mapping.answer.kind, labels, mapping.item)
    lines = [(per_row if f == "seconds" else f, expression, why) for f, expression, why in lines]
    mapping.notes += _left_over(choice)
    return mapping.with_lines(_judge_line(judge), *mapping.answer.fields, *lines)


def _is_nameless(sheet: Sheet) -> bool:
    return all(name == f"c{place}" for place, name in enumerate(sheet.names, start=1))


def _judge(choice: Choice) -> Column:
    judge = choice.take("judge", lambda c: not c.is_unique) or choice.take("judge")
    if judge is None:
        raise NoJudgmentsError("no column says who judged", names.ROLES["judge"])
    return judge


def _judge_line(column: Column) -> Line:
    each = rounded(len(column.filled) / max(column.n_distinct, 1))
    evidence = f"{column.n_distinct:,} different, {each} rows each on average"
    return ("judge", column.expression, evidence)


def _left_over(choice: Choice) -> list[str]:
    left = [
        f"{c.name} ({c.n_distinct:,} different)" if c.counts else f"{c.name} (blank)"
        for c in choice.offered()
    ]
    more = len(left) - SHOWN_COLUMNS
    shown = ", ".join(left[:SHOWN_COLUMNS]) + (f" and {more} more" if more > 0 else "")
    return [f"not mapped: {shown}"] if left else []


def _compared(choice: Choice, judge: Column, answer: Answer) -> Mapping:
    """Rows that say which of two is better."""
    for name in answer.columns:
        choice.claim(choice.sheet[name])
    segment = choice.take("segment") or find_item(choice.sheet, choice, judge)
    lines: list[Line] = []
    if segment:
        lines.append(("segment", segment.expression, f"{segment.n_distinct:,} different"))
    else:  # nothing that the two worked on: they are what was judged
        fields = [(f.replace("system_", "item_"), e, why) for f, e, why in answer.fields]
        answer = replace(answer, fields=fields)
    task, tasks = find_task(choice)
    ranking = choice.take("ranking")
    if ranking:
        lines.append(("ranking", ranking.expression, f"{ranking.n_distinct:,} different"))
    return Mapping([*task, *lines], answer, judge, tasks=tasks)


def _as_meant(choice: Choice, judge: Column, meant: dict[str, str]) -> Mapping:
    """Columns without names, by what they hold."""
    item, answer = choice.sheet[meant["item"]], choice.sheet[meant["answer"]]
    found = answer_in(answer, None)
    if found is None:
        raise NoJudgmentsError("no column says what was answered")
    evidence = f"{choice.claim(item).n_distinct:,} different"
    choice.claim(answer)
    notes = ["the file has no header: who, what and the answer are told by contents alone"]
    return Mapping([("item", item.expression, evidence)], found, judge, item, notes=notes)


def _numbered(choice: Choice, judge: Column) -> Mapping:
    """Rows with several judgments in numbered columns."""
    row = numbered_row(choice.sheet, choice)
    if row is None:
        raise NoJudgmentsError("no column says what was answered", names.ROLES["answer"])
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
    task, tasks = find_task(choice)
    return Mapping([*task, *lines], row.answer, judge, each=row.each, tasks=tasks)


def _ordinary(choice: Choice, judge: Column, format_: str) -> Mapping:
    """Rows that hold one judgment, or one of each question."""
    sheet, is_mturk = choice.sheet, format_ == "mturk"
    shown = choice.among(lambda name: name.startswith("Input.")) if is_mturk else choice
    lines = what_was_judged(sheet, shown, judge)
    if not lines and is_mturk:
        inputs = [column for column in shown.offered() if column.counts]
        shown_item = choice.claim(inputs[0]) if len(inputs) == 1 else sheet["HITId"]
        evidence = f"{shown_item.n_distinct:,} different"
        lines = [("item", shown_item.expression, evidence)]
    if not lines:
        raise NoJudgmentsError("no column says what was judged", names.ROLES["item"])
    said = [sheet[n] for n in sheet.names if ("item", sheet[n].expression) == lines[0][:2]]
    item = said[0] if said else None
    answer, each, notes = pick_answer(choice, judge, item, by_prefix=is_mturk)
    task, tasks = find_task(shown)
    if each:
        task, tasks = [("task", {"value": "{question}"}, "one task a question")], each["question"]
    return Mapping([*task, *lines], answer, judge, item, each, tasks, notes)


def _label_studio(choice: Choice) -> Mapping:
    """The reader's own columns."""
    sheet = choice.sheet
    judge, item, label, task, own = (
        choice.claim(sheet[name])
        for name in ("completed_by", "task_id", "choice", "from_name", "annotation_id")
    )
    if not label.counts:
        raise NoJudgmentsError("no annotation holds a choice")
    if not judge.counts:
        raise NoJudgmentsError("no annotation says who judged (completed_by)")
    answer = Answer(
        "categorical", [("label", label.expression, labels_seen(label))], [], labels=label.counts
    )
    tasks = sorted(task.counts)
    met = rounded(sheet.combinations(item.name, judge.name) / max(item.n_distinct, 1))
    lines: list[Line] = [
        ("task", task.expression, f"{len(tasks):,} different: {', '.join(tasks[:10])}"),
        ("item", item.expression, f"{item.n_distinct:,} different, {met} judges each"),
        ("native_id", own.expression, f"{own.n_distinct:,} different"),
        *time_lines(choice.among(lambda name: name in ("created_at", "lead_time"))),
    ]
    left = ", ".join(column.name for column in choice.offered() if column.counts)
    mapping = Mapping(lines, answer, judge, item, tasks=tasks, notes=[f"not mapped: {left}"])
    return mapping.with_lines(_judge_line(judge), *answer.fields)
