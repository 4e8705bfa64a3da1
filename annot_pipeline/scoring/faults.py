"""What is wrong with a file of predictions, gathered over all rows and said at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from annot_pipeline.errors import SHOWN_VALUES, InputError, Problem, first_of, row_and_line, shorten

KINDS = {
    "unreadable": ("cannot be split into columns", "", "fix these rows"),
    "blank_item": ("the item is blank", "", "name the item in every row"),
    "blank_label": ("the label is blank", "", "leave out items without a prediction"),
    "twice": (
        "the item has another row already",
        "one prediction an item (and task)",
        "keep one; several runs of a model are scored one by one",
    ),
    "class_twice": ("the item has this class already", "one row an item and class", "keep one"),
    "not_a_number": ("is not a number", "a probability in every row", ""),
    "negative": ("is below 0", "0 to 1", "exponentiate log probabilities first"),
    "above_one": ("is above 1", "0 to 1", "--normalize divides by the sum of the item"),
    "sum": (
        "the item's probabilities do not sum to 1",
        "1, give or take 0.000001",
        "--normalize divides by the sum",
    ),
    "sum_of_rows": (
        "the probabilities of the item's rows do not sum to 1",
        "1, give or take 0.000001",
        "--normalize divides by the sum; --form labels takes the labels alone, where "
        "probability is the model's confidence in one",
    ),
    "nothing": ("the item's probabilities are all 0", "a sum that is more than 0", ""),
    "unknown_class": (
        "no class of the task",
        "",
        "spell it as gold does, or count it as wrong with --unknown-wrong",
    ),
}
"""What is wrong, what is allowed, what to do; by kind."""

RowLines: TypeAlias = Callable[[Iterable[int]], Mapping[int, int]]
"""Returns the lines of a file on which rows start; without the rows that have none."""


def no_lines(_: Iterable[int]) -> Mapping[int, int]:
    """Return the lines of rows of what has no lines, as a frame."""
    return {}


@dataclass
class Faults:
    """Rows that are wrong, by what is wrong with them.

    Parameters
    ----------
    name
        Of the file.
    lines
        Of its rows.
    by_kind
        By kind: the rows, what stood there, and what is allowed there.
    """

    name: str
    lines: RowLines = no_lines
    by_kind: dict[str, tuple[list[int], list[str], str]] = field(default_factory=dict)

    def add(
        self, kind: str, rows: Iterable[int], values: Iterable[object] = (), allowed: str = ""
    ) -> None:
        """Add rows with a fault, what stood there, and what is allowed where rows differ."""
        if more := list(rows):
            fault = self.by_kind.setdefault(kind, ([], [], allowed))
            fault[0].extend(more)
            fault[1].extend(map(str, values))

    def raise_any(self) -> None:
        """Say all that is wrong.

        Raises
        ------
        InputError
            If anything is.
        """
        problems = []
        for kind, (rows, values, own_allowed) in self.by_kind.items():
            what, allowed, do = KINDS[kind]
            where, cells = self._rows(sorted(rows)), tuple(dict.fromkeys(values))
            problems.append(Problem(where, what, own_allowed or allowed, do, cells))
        if problems:
            raise InputError(f"{self.name}: not scored", problems)

    def _rows(self, rows: list[int]) -> str:
        """Return the first rows with their lines, as ``rows 1 (line 2), 5 (line 6)``."""
        lines = self.lines(rows[:SHOWN_VALUES])
        numbers = [row_and_line(row, lines.get(row)).removeprefix("row ") for row in rows]
        return f"row{'s' * (len(rows) > 1)} {first_of(numbers)}"


def listed(names: Iterable[str]) -> str:
    """Return the first of names of tasks or classes, quoted."""
    return first_of(list(map(shorten, names)), 10)
