"""Fields that a judgment can do without: tasks, controls, texts, truths, times, failed answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.sources import NOT_OF_ONE_TEXT
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import first_of
from annot_pipeline.init import names
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.answers import answer_as, answered
from annot_pipeline.init.questions import Line, Reading
from annot_pipeline.init.roles import are_criteria, is_called_id, same_thing
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.stages.gold.read_rewards import read_rewards
from annot_pipeline.stages.ingest.expressions import RejectionError, parse_time

MOST_TASKS = 50
MOST_CHANGED = 0.2
"""Further texts for each item at most: a judge's comment, or the outputs of systems, have more."""
FEWEST_TEXTS = 0.5
"""Texts for each item at least: what most items share is a question, or a heading."""
CONTROL_VALUES: dict[str, list[str]] = names.VOCABULARY["controls"]
"""How exports say what kind of control an item is."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]\w{2,4})?")
FEWEST_REPEATED = 0.5
"""Further rows for each item at least, else nothing tells an item's text from a judge's."""
TEXT_LENGTH = 20
"""Characters that a text has on average where the name of its column may mean an answer, too."""


def with_item_text(reading: Reading, choice: Choice, *, is_whole: bool = False) -> Reading:
    """Return a reading with the text of the item, if a column that is left holds it.

    ``is_whole``: a row holds all judgments of an item, so that its text can be no judge's comment.
    """
    named = {line[0] for line in reading.lines}
    if reading.kind not in ("categorical", "scalar") or named & (NOT_OF_ONE_TEXT | {"text"}):
        return reading
    fields = ("item",) if "item" in named else ("segment", "system")
    things = [reading.column(choice.sheet, field) for field in fields]
    item = [column.name for column in things if column is not None]
    if len(item) < len(fields):
        return reading
    columns = _candidates(choice, has_system="system" in named)
    segment = reading.column(choice.sheet, "segment")
    if fields == ("item",) and "system" not in named and segment is not None:
        columns += [segment] * (segment.name not in item and "source" in names.roles(segment.name))
    for column in columns:  # the first that nearly always is the same for an item
        rows = choice.sheet.table.select([*item, column.name]).drop_null()
        n_items = Sheet([rows]).combinations(*item)
        is_repeated = rows.num_rows - n_items >= FEWEST_REPEATED * n_items
        is_known = is_repeated or (is_whole and "comment" not in names.words(column.name))
        if is_known and nearly_fixes(choice.sheet, item, column.name):
            break
    else:
        return reading
    if column is not segment:
        choice.claim(column)
    return reading.with_lines(column.line("text", "; an item whose text changes is judged again"))


def _candidates(choice: Choice, *, has_system: bool) -> list[Column]:
    """Return columns that may hold the text, likeliest first.

    Of outputs of systems, the source and the prompt are no text.
    """
    long_answers = [c for c in choice.with_role("answer") if c.mean_length >= TEXT_LENGTH]
    texts = [c for c in choice.with_role("text") if not is_called_id(c.name)]
    return [*texts, *long_answers, *([] if has_system else choice.with_role("source"))]


YES, NO = frozenset({"true", "1", "yes", "y", "t"}), frozenset({"false", "0", "no", "n", "f"})
FAILURE = frozenset({"error", "errors", "failed", "failure", "fail", "invalid"})
UNSCORED = frozenset({"unscored", "timeout", "unparsed", "unparsable", "unparseable"})
SUCCESS = frozenset({"ok", "valid", "parsed", "success", "succeeded"})
CALLS = frozenset({"parse", "parsing", "json", "api", "request", "call", "llm", "judge", "scoring"})
"""With a word of `FAILURE`: of how the answer was got, and no question about the item."""
FEWEST_MARKED = 3
"""Rows that tell that one answer stands for a failure."""


def with_failure_flags(choice: Choice, reading: Reading) -> Reading:
    """Return the reading without the rows of failed answers, with a condition for each flag column.

    A flag column is claimed. Its name says what it is; where the name may be a question about the
    item (has_error), the answers do: in all rows that it marks they are blank, or one value that
    stands in hardly another row.
    """
    conditions = []
    table, name = choice.sheet.table, next(iter(reading.columns), "")
    if name not in table.column_names:
        return reading
    failed = pa.repeat(False, len(table))
    for column in list(choice.offered()):
        words = column.words
        marks = NO if words & SUCCESS else YES if words & (FAILURE | UNSCORED) else frozenset()
        flags = {answer_text(value).lower() for value in column.counts}
        marked = [value for value in column.counts if answer_text(value).lower() in marks]
        if not marked or not flags <= YES | NO or len(flags) > 2:
            continue
        is_marked = pc.fill_null(pc.is_in(table[column.name], pa.array(marked, pa.string())), False)
        is_sure = bool(words & UNSCORED or (words & FAILURE and words & CALLS))
        if is_sure or _is_one_answer(table[name], is_marked):
            choice.claim(column)
            failed = pc.or_(failed, is_marked)
            values = sorted({answer_text(text) for text in marked})
            conditions.append(column.mapping | {"in": values})
    reading = replace(reading, failed_where=conditions)
    rest = Column(name, choice.sheet[name].expression, table[name].filter(pc.invert(failed)))
    if not conditions or reading.kind not in ("scalar", "categorical") or not rest.counts:
        return reading
    if reading.kind == "scalar" and not without_abstentions(rest).numbers:
        return reading
    return answered(reading, answer_as(rest, reading.kind))


def _is_one_answer(answers: pa.ChunkedArray, is_marked: pa.ChunkedArray) -> bool:
    """Return whether marked rows have no answer, or one that other rows hardly have."""
    marked = answers.filter(is_marked).drop_null()
    if len(pc.unique(marked)) > 1:
        return False
    if not len(marked):
        return True
    n_others = pc.sum(pc.equal(answers, marked[0])).as_py() - len(marked)
    return bool(len(marked) >= FEWEST_MARKED and n_others * FEWEST_MARKED <= len(marked))


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
            lines.append(column.line(field))
    own = choice.take("native_id", lambda c: sheet.is_unique(c.name) and not c.is_row_number)
    if own:
        lines.append(("native_id", own.expression, "another one in every row"))
    elif judge and item:
        own = choice.take("native_id", lambda c: _names_an_answer(sheet, c, judge, item))
        if own:
            lines.append(own.line("native_id", "; equal ones are one judgment"))
    position = choice.take("position", lambda c: c.is_whole and is_place(c))
    if position:
        lines.append(("position", position.expression, f"{position.low:g} to {position.high:g}"))
    return lines + time_lines(choice)


def _names_an_answer(sheet: Sheet, column: Column, judge: Column, item: Column) -> bool:
    """Return whether a value of a column names one judge and one item, and few rows share one."""
    if column.is_row_number or 2 * column.n_distinct <= len(sheet):
        return False
    return all(sheet.determines(column.name, other.name) for other in (judge, item))


def _test_questions(choice: Choice, labels: dict[str, int], item: Column) -> list[Line]:
    """Return truth and control of a column of truths that is blank but for test questions."""
    for column in choice.offered():
        is_truth = "truth" in names.roles(column.name) and isinstance(column.expression, str)
        is_rare = 0 < len(column.filled) <= column.n_blank and {*column.answers} <= {*labels}
        if not is_truth or not is_rare or not choice.sheet.determines(item.name, column.name):
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
        lines.append(("seconds", took.expression, f"{took.low:g} to {took.high:g}"))
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
        return column.mapping | {"time": pattern}, evidence
    return None


def _truth(choice: Choice, kind: str, labels: dict[str, int], item: Column | None) -> list[Line]:
    """Return the line of a truth: equal in all rows of an item, and a possible answer."""
    sheet: Sheet = choice.sheet
    for column in choice.with_role("truth"):
        is_answer = not labels or bool(labels.keys() & column.answers.keys())
        is_number = column.numeric_share == 1
        is_answer = is_answer and (is_number or kind not in ("scalar", "ranking"))
        if not is_answer or (item and not sheet.determines(item.name, column.name)):
            continue
        return [choice.claim(column).line("truth")]
    return []


# --- tasks and controls ---


def nearly_fixes(sheet: Sheet, item: Sequence[str], text: str) -> bool:
    """Return whether most items have one text, few of them several, and few texts are of two."""
    rows = sheet.table.select([*item, text]).drop_null()
    n_items, n_texts = (Sheet([rows]).combinations(*columns) for columns in (item, [*item, text]))
    n_different = Sheet([rows])[text].n_distinct
    is_varied = n_different >= max(2, FEWEST_TEXTS * n_items)
    return is_varied and n_texts - n_items <= MOST_CHANGED * n_items


def find_task(
    choice: Choice, lines: Sequence[Line] = (), judge: str | None = None
) -> tuple[list[Line], list[str]]:
    """Return the task's line and the names of the tasks; nothing if no column has them.

    ``lines`` say what was judged: a column that only names each of these again is no task, nor one
    that is the same in all rows of a judge while others judged the same under another value.
    """
    source = next(filter(_is_language, choice.with_role("source_language")), None)
    target = next(filter(_is_language, choice.with_role("target_language")), None)
    if source and target:
        both = [choice.claim(column).expression for column in (source, target)]
        join = {"join": both, "sep": "-"}
        tasks = choice.sheet.joined(source.name, target.name)
        return [("task", join, ", ".join(tasks[:10]))], tasks
    sheet = choice.sheet
    expressions = [expression for name, expression, _ in lines if name in ("item", "segment")]
    things = [name for name in sheet.names if sheet[name].expression in expressions]

    def names_tasks(column: Column) -> bool:
        name, is_few = column.name, column.n_blank == 0 and column.n_distinct <= MOST_TASKS
        renames = column.n_distinct > 1 and any(same_thing(sheet, name, t) for t in things)
        is_thing = "item" in names.roles(name) and is_called_id(name)
        is_of_judge = bool(judge and things and sheet.determines(judge, name)) and name != "task"
        is_of_judge &= not any(sheet.determines(thing, name) for thing in things)
        return is_few and not renames and not is_thing and not is_of_judge

    asked = next(filter(are_criteria, choice.offered()), None)
    task = choice.claim(asked) if asked else choice.take("task", names_tasks)
    if not task:
        return [], []
    tasks = sorted(task.counts)
    return [task.line("task", f": {', '.join(tasks[:10])}")], tasks


def _is_language(column: Column) -> bool:
    return column.n_distinct <= MOST_TASKS and all(map(_LANGUAGE.fullmatch, column.counts))


def find_control(choice: Choice) -> list[Line]:
    """Return the control's line, where values of a column are known kinds of control.

    Values that are not known are left out of the map: their records are rejected, not taken for
    ordinary ones, until somebody says what they are.
    """
    for column in choice.with_role("control"):
        kind_by_value = {value: _control(value) for value in column.counts}
        recognized = {value: kind for value, kind in kind_by_value.items() if kind}
        kinds = set(recognized.values())
        if "none" not in kinds or len(kinds) < 2:
            continue
        unknown = [value for value in kind_by_value if value not in recognized]
        choice.claim(column)
        expression = column.mapping | {"map": recognized}
        if column.n_blank:
            expression["else"] = "none"
        comment = ", ".join(f"{value} ({count:,})" for value, count in column.counts.items())
        if unknown:
            comment += f"; NOT KNOWN, their rows are rejected until mapped: {', '.join(unknown)}"
        return [("control", expression, comment)]
    return []


def _control(value: str) -> str | None:
    written = "".join(c for c in value.casefold() if c.isalnum())
    return next((kind for kind, spellings in CONTROL_VALUES.items() if written in spellings), None)
