"""In which task something was judged, and which judgments are controls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from annot_pipeline.init import names
from annot_pipeline.init.questions import Line
from annot_pipeline.init.roles import are_criteria, is_called_id, same_thing
from annot_pipeline.init.table import Choice, Column, Sheet

MOST_TASKS = 50
MOST_CHANGED = 0.2
"""Further texts for each item at most: a judge's comment, or the outputs of systems, have more."""
FEWEST_TEXTS = 0.5
"""Texts for each item at least: what most items share is a question, or a heading."""
CONTROL_VALUES: dict[str, list[str]] = names.VOCABULARY["controls"]
"""How exports say what kind of control an item is."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]\w{2,4})?")


def nearly_fixes(sheet: Sheet, item: Sequence[str], text: str) -> bool:
    """Return whether most items have one text, few of them several, and few texts are of two."""
    rows = sheet.table.select([*item, text]).drop_null()
    n_items, n_texts = (Sheet([rows]).combinations(*columns) for columns in (item, [*item, text]))
    n_different = Sheet([rows])[text].n_distinct
    return (
        n_texts - n_items <= MOST_CHANGED * n_items
        and n_different >= max(2, FEWEST_TEXTS * n_items)
    )  # fmt: skip


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
