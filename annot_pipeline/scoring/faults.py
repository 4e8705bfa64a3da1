"""What is wrong with a file of predictions, gathered over all rows and said at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from annot_pipeline.errors import InputError, Problem, first_of

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
    "not_json": ("is no JSON object or list of numbers", '{"class": 0.5, ...}', ""),
    "length": ("is a list of another length", "as many as there are classes", ""),
}
"""What is wrong, what is allowed, what to do; by kind."""


@dataclass
class Faults:
    """Rows that are wrong, by what is wrong with them.

    Parameters
    ----------
    name
        Of the file.
    """

    name: str
    rows: dict[str, list[int]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    allowed: dict[str, str] = field(default_factory=dict)

    def add(
        self, kind: str, rows: Iterable[int], values: Iterable[object] = (), allowed: str = ""
    ) -> None:
        """Add rows with a fault, what stood there, and what is allowed where rows differ."""
        more = list(rows)
        if more:
            self.rows.setdefault(kind, []).extend(more)
            self.values.setdefault(kind, []).extend(map(str, values))
            self.allowed.setdefault(kind, allowed)

    def raise_any(self) -> None:
        """Say all that is wrong.

        Raises
        ------
        InputError
            If anything is.
        """
        problems = []
        for kind, rows in self.rows.items():
            what, allowed, do = KINDS[kind]
            text = first_of([f"{row:,}" for row in sorted(rows)])
            where = f"row{'s' * (len(rows) > 1)} {text}"
            values = tuple(dict.fromkeys(self.values[kind]))
            problems.append(Problem(where, what, self.allowed[kind] or allowed, do, values))
        if problems:
            raise InputError(f"{self.name}: not scored", problems)
