"""What presets ask of a group of files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.init import names
from annot_pipeline.init.answers import answer_as, kind_of
from annot_pipeline.init.columns import Column, Sheet
from annot_pipeline.init.drafts import Draft
from annot_pipeline.init.groups import Group, captured, words_in_names
from annot_pipeline.init.objects import Line
from annot_pipeline.init.samples import sheet_of
from annot_pipeline.storage.archive import natural_key

CELLS_LOOKED_AT = 5_000
MOST_OPTIONS = 50


@dataclass(frozen=True)
class Facts:
    """The rows of a group of files, cells as they are written."""

    group: Group

    @cached_property
    def sheet(self) -> Sheet:
        """Return the rows."""
        return sheet_of(self.group.samples)

    @property
    def names(self) -> list[str]:
        """Return names of the columns."""
        return self.sheet.names

    def has(self, *columns: str) -> bool:
        """Return whether all columns are there."""
        return set(columns) <= set(self.names)

    def first(self, *columns: str) -> str | None:
        """Return the first column that is there and not mostly blank."""
        present = (self.sheet[name] for name in columns if name in self.names)
        return next((c.name for c in present if len(c.filled) > c.n_blank), None)

    def column(self, name: str) -> Column:
        """Return a column."""
        return self.sheet[name]

    def cells(self, name: str) -> list[Any]:
        """Return the first filled cells of a column as JSON; text that is none stays text."""
        return [parsed(cell) for cell in self.sheet[name].filled[:CELLS_LOOKED_AT].to_pylist()]

    def with_role(self, role: str, besides: tuple[str, ...] = ()) -> str | None:
        """Return the likeliest column of a role."""
        ranked = [
            (names.roles(name)[role], index, name)
            for index, name in enumerate(self.names)
            if role in names.roles(name) and name not in besides and self.sheet[name].counts
        ]
        return min(ranked)[2] if ranked else None

    def judge_by_file(self) -> Line | None:
        """Return the judge's line where each file is named after a judge."""
        paths = self.group.paths
        if len(paths) < 2 or not words_in_names(paths) or self.group.pattern is None:
            return None
        return ("judge", captured(paths, "judge"), f"{len(paths)} files, a judge each, by name")


def parsed(cell: str) -> Any:
    """Return a cell's JSON, or its text."""
    try:
        return parse_bounded_json(cell)
    except JsonError:
        return cell


def steps(column: str, **keys: Any) -> Any:
    """Return an expression: a column and what follows."""
    return {"column": column, **{"else" if k == "otherwise" else k: v for k, v in keys.items()}}


def time_line(facts: Facts, *columns: str) -> list[Line]:
    """Return the line of the time of submission, where a column's times can be read."""
    from annot_pipeline.init.optional_fields import read_times

    for name in columns:
        if name in facts.names and (line := read_times(facts.column(name))):
            return [("submitted_at", *line)]
    return []


def sorted_options(cells: list[Any]) -> list[str]:
    """Return the elements of lists, in natural order."""
    counts: Counter[str] = Counter()
    for cell in cells:
        counts.update({str(e) for e in (cell if isinstance(cell, list) else [cell])})
    return sorted(counts, key=natural_key)


def answer_lines(
    question: str, column: Any, cells: list[Any], path: str = ""
) -> tuple[dict[str, Any], list[Line]]:
    """Return ``each`` and the lines of answers that are lists: one element, or a set of options.

    Parameters
    ----------
    question
        Name for tasks of a set: a yes/no task for each option.
    column, path
        Where the list is: a column, and a JSON path in its cells.
    cells
        The lists.
    """
    dotted = f"{path}." if path else ""
    if all(not isinstance(cell, list) or len(cell) <= 1 for cell in cells):
        if not any(isinstance(cell, list) for cell in cells):
            expression = steps(column, json=path) if path else column
        else:
            expression = steps(column, json=f"{dotted}0")
        return {}, [("label", expression, "")]
    where = {"json": path} if path else {}
    options = sorted_options(cells)
    lines: list[Line] = [
        ("task", {"value": f"{question}:{{option}}"}, "several answers in a cell: a task each"),
        ("label", steps(column, **where, has="{option}"), "whether it was chosen"),
    ]
    return {"option": options}, lines


def answer_line(
    column: Column, kind: str | None = None
) -> tuple[str, tuple[float, float] | None, Line]:
    """Return the kind of tasks, their scale, and the line of the answers in a column.

    ``kind``: that of the tasks; None: as the column's values look.
    """
    answer = answer_as(column, kind or kind_of(column, None) or "categorical")
    [line] = answer.fields
    return answer.kind, answer.scale, line


def by_question(drafts: dict[str, Draft]) -> list[Draft]:
    """Return drafts by question; where there are several, each is of a task of its own."""
    if len(drafts) == 1:
        return [*drafts.values()]
    note = f"{len(drafts)} questions, a source each: {', '.join(drafts)}"
    task: dict[str, Line] = {q: ("task", {"value": q}, "a question") for q in drafts}
    return [
        replace(
            draft,
            lines=draft.lines if draft.has("task") else [task[question], *draft.lines],
            notes=[*draft.notes, note],
        )
        for question, draft in drafts.items()
    ]


def is_few(column: Column) -> bool:
    """Return whether a column has few enough values to be a question's answers."""
    if 2 * column.n_distinct > len(column.filled):  # hardly any value repeats: short words at most
        return 0 < column.n_distinct <= 20 and column.mean_length <= 20
    return 0 < column.n_distinct <= MOST_OPTIONS and column.mean_length <= 60


def is_number_word(text: str) -> bool:
    """Return whether a text is a number."""
    return re.fullmatch(r"-?\d+(\.\d+)?", text.strip()) is not None
