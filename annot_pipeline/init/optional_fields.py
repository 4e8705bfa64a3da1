"""Fields that a judgment can do without: mapped only where no value would be rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annot_pipeline.errors import first_of
from annot_pipeline.init import names
from annot_pipeline.init.objects import find_control
from annot_pipeline.init.reading import Line
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.stages.gold.read_rewards import read_rewards
from annot_pipeline.stages.ingest.expressions import RejectionError, parse_time

TIMES: list[str | None] = [None, *names.VOCABULARY["times"]]
"""How times are written; the first pattern that reads all of them is taken."""

TIMES_TRIED = 5_000


def optional_lines(
    choice: Choice,
    answer_kind: str,
    truths: dict[str, int],
    item: Column | None,
    judge: Column | None = None,
    *,
    is_place: Callable[[Column], bool] = lambda _: True,
) -> list[Line]:
    """Return lines for the fields that are there and can be read.

    Parameters
    ----------
    choice
        What is left of the columns.
    answer_kind
        Kind of the task.
    truths
        The labels that are answered, for a truth to be one of them; empty for scores.
    item
        The column of items, if one column says them.
    judge
        The column of judges; None where a row holds many judgments.
    is_place
        Whether a column of whole numbers can say where something was shown.
    """
    sheet = choice.sheet
    controls = find_control(choice)
    lines = _truth(choice, answer_kind, truths, item) + controls
    if not lines and item is not None and answer_kind == "categorical":
        lines = _test_questions(choice, truths, item)
    for field in ("hit", "status"):
        column = choice.take(field)
        is_unique = column and judge and sheet.combinations(judge.name, column.name) == len(sheet)
        if field == "hit" and controls and is_unique:
            continue  # a control pairs within its HIT: of HITs with one judgment none could
        if column:
            lines.append((field, column.expression, f"{column.n_distinct:,} different"))
    own = choice.take("native_id", lambda c: sheet.is_unique(c.name) and not c.is_row_number)
    if own:
        lines.append(("native_id", own.expression, "another one in every row"))
    elif judge and item:
        own = choice.take("native_id", lambda c: _names_an_answer(sheet, c, judge, item))
        if own:
            evidence = f"{own.n_distinct:,} different; equal ones are one judgment"
            lines.append(("native_id", own.expression, evidence))
    position = choice.take("position", lambda c: c.is_whole and is_place(c))
    if position:
        evidence = f"{position.low:g} to {position.high:g}"
        lines.append(("position", position.expression, evidence))
    return lines + time_lines(choice)


def _names_an_answer(sheet: Sheet, column: Column, judge: Column, item: Column) -> bool:
    """Return whether a value of a column names one judge and one item, and few rows share one."""
    is_specific = 2 * column.n_distinct > len(sheet)
    return (
        is_specific
        and not column.is_row_number
        and all(sheet.determines(column.name, other.name) for other in (judge, item))
    )


def _test_questions(choice: Choice, labels: dict[str, int], item: Column) -> list[Line]:
    """Return truth and control of a column of truths that is blank but for test questions."""
    for column in choice.offered():
        is_truth = "truth" in names.roles(column.name) and isinstance(column.expression, str)
        if not is_truth or not column.counts or len(column.filled) > column.n_blank:
            continue
        if not {*column.answers} <= {*labels}:
            continue
        if not choice.sheet.determines(item.name, column.name):
            continue
        choice.claim(column)
        control = {"column": column.name, "map": {"~.": "known_answer"}, "else": "none"}
        comment = f"{len(column.filled):,} rows with a known answer"
        return [("truth", column.expression, comment), ("control", control, comment)]
    return []


def time_lines(choice: Choice) -> list[Line]:
    """Return lines for the time of submission and the duration."""
    lines: list[Line] = []
    for column in choice.with_role("submitted_at"):
        pattern = read_times(column)
        if pattern:
            choice.claim(column)
            lines.append(("submitted_at", *pattern))
            break
    took = choice.take("seconds", lambda c: c.numeric_share == 1 and c.low >= 0)
    if took:
        evidence = f"{took.low:g} to {took.high:g}"
        lines.append(("seconds", took.expression, evidence))
    return lines


def reward_lines(choice: Choice) -> list[Line]:
    """Return what an assignment was paid; for exports whose rows are assignments."""
    paid = choice.take("reward", lambda c: not read_rewards(c.counts)[1])
    return [("reward", paid.expression, first_of(list(paid.counts)))] if paid else []


def read_times(column: Column) -> tuple[Any, str] | None:
    """Return the expression that reads a column's times, and what it rests on."""
    values = list(column.counts)[:TIMES_TRIED]
    for pattern in TIMES:
        try:
            times = [parse_time(value, "submitted_at", pattern) for value in values]
        except RejectionError:
            continue
        evidence = f"{min(times):%Y-%m-%d} to {max(times):%Y-%m-%d}"
        if pattern is None:
            return column.expression, evidence
        inner = column.expression
        return (inner if isinstance(inner, dict) else {"column": inner}) | {
            "time": pattern
        }, evidence
    return None


def _truth(
    choice: Choice, answer_kind: str, labels: dict[str, int], item: Column | None
) -> list[Line]:
    """Return the line of a truth: equal in all rows of an item, and a possible answer."""
    sheet: Sheet = choice.sheet
    for column in choice.with_role("truth"):
        if item and not sheet.determines(item.name, column.name):
            continue
        if labels and not labels.keys() & column.answers.keys():
            continue
        if answer_kind == "scalar" and column.numeric_share < 1:
            continue
        choice.claim(column)
        return [("truth", column.expression, f"{column.n_distinct:,} different")]
    return []
