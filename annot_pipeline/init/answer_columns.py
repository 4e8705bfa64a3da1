"""Picks the column, or the columns, that hold the answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.answers import Answer, NoJudgmentsError, answer_in
from annot_pipeline.init.columns import Choice, Column

MTURK_ANSWER = "Answer."
LONGEST_WORDS = 20
"""Mean number of characters of answers that may be labels although hardly any repeats."""


def pick_answer(
    choice: Choice, judge: Column, item: Column | None, *, by_prefix: bool
) -> tuple[Answer, dict[str, Any], list[str]]:
    """Return the answer, ``each`` if a row holds several, and notes on the choice.

    Raises
    ------
    NoJudgmentsError
        No column holds one answer a row.
    """
    sheet = choice.sheet
    truth = next(iter(choice.with_role("truth")), None)
    if by_prefix:
        named = [
            column
            for column in choice.among(lambda name: name.startswith(MTURK_ANSWER)).offered()
            if len(column.filled) > column.n_blank
        ]
    else:
        named = choice.with_role("answer")
    texts = [column for column in named if by_prefix and _is_free_text(column)]
    answers = [(c, answer) for c in named if c not in texts and (answer := answer_in(c, truth))]
    if item:  # a column that says the same in all rows of an item was given, not answered
        answers = [
            pair for pair in answers if not sheet.determines(item.name, pair[0].name)
        ] or answers
    notes: list[str] = []
    if texts and answers:
        notes.append(f"free text, no question: {', '.join(column.name for column in texts)}")
    if not answers and not by_prefix:
        answers = _only_candidate(choice, judge, item, truth)
        notes = [
            f"{column.name} is the only column that looks like an answer" for column, _ in answers
        ]
    if not answers:
        raise NoJudgmentsError(_why_none(named), names.ROLES["answer"])
    if by_prefix and len(answers) > 1:
        answer, each, more = _one_task_each(choice, answers)
        return answer, each, [*notes, *more]
    column, answer = answers[0]
    choice.claim(column)
    if len(answers) > 1:
        rivals = ", ".join(other.name for other, _ in answers[1:])
        notes.append(f"another answer? copy the source, with a task of its own, for {rivals}")
    return answer, {}, notes


def _is_free_text(column: Column) -> bool:
    """Return whether hardly any answer repeats, and answers are longer than a few words."""
    is_varied = 2 * column.n_distinct > len(column.filled)
    return is_varied and column.numeric_share < 1 and column.mean_length > LONGEST_WORDS


def _only_candidate(
    choice: Choice, judge: Column, item: Column | None, truth: Column | None
) -> list[tuple[Column, Answer]]:
    """Return the column whose values differ within items and judges, if there is just one."""
    answers = []
    for column in choice.offered():
        if column.n_distinct < 2 or column.is_unique or len(column.filled) <= column.n_blank:
            continue
        is_input = any(
            choice.sheet.determines(other.name, column.name) for other in (judge, item) if other
        )
        answer = (
            None
            if is_input
            or names.MEASURED_TIME & {*names.words(column.name)}
            or names.roles(column.name).keys() - {"rank"}
            else answer_in(column, truth)
        )
        if answer:
            answers.append((column, answer))
    return answers if len(answers) == 1 else []


def _why_none(named: list[Column]) -> str:
    what = "no column says what was answered"
    if named:
        columns_text = ", ".join(
            f"{c.name} ({c.n_distinct:,} different, {c.mean_length:,.0f} characters on average)"
            for c in named[:5]
        )
        what += (
            f"; free text or several answers in a cell (which each, json and match can "
            f"split): {columns_text}"
        )
    return what


def _one_task_each(
    choice: Choice, answers: list[tuple[Column, Answer]]
) -> tuple[Answer, dict[str, Any], list[str]]:
    """Turn several questions of one kind into tasks, by ``each``."""
    first = answers[0][1]
    same = [
        (column, answer)
        for column, answer in answers
        if answer.kind == first.kind and isinstance(column.expression, str)
    ]
    rivals = [column.name for column, _ in answers if column not in [c for c, _ in same]]
    notes = [f"also answers, but of another kind: {', '.join(rivals)}"] if rivals else []
    if len(same) < 2:
        choice.claim(answers[0][0])
        return first, {}, notes
    for column, _ in same:
        choice.claim(column)
    field, _, _ = first.fields[0]
    evidence = "; ".join(f"{c.name}: {answer.fields[0][2]}" for c, answer in same[:5])
    labels: dict[str, int] = {}
    for _, answer in same:
        for label, count in answer.labels.items():
            labels[label] = labels.get(label, 0) + count
    abstained, failed = Counter[str](), Counter[str]()
    for _, answer in same:
        abstained.update(answer.abstained)
        failed.update(answer.failed)
    scales = {answer.scale for _, answer in same}
    whole = replace(
        first,
        fields=[(field, MTURK_ANSWER + "{question}", evidence)],
        scale=first.scale if len(scales) == 1 else None,
        labels=labels,
        abstained=abstained,
        failed=failed,
    )
    each = {"question": [column.name.removeprefix(MTURK_ANSWER) for column, _ in same]}
    return whole, each, notes
