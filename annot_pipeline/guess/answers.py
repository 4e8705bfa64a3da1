"""What was answered: a label, a score, or which of two is better; and on which scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annot_pipeline.guess import names
from annot_pipeline.guess.columns import Choice, Column, Sheet
from annot_pipeline.storage.archive import natural_key

MOST_LABELS = 20
"""Numbers with more different values are scores."""

MOSTLY_NUMBERS = 0.9
"""Share of values; a few words among numbers are slips."""

LONGEST_LABEL = 60
"""Mean number of characters; beyond it stands free text, or several answers in a cell."""

SCALES: tuple[tuple[float, float], ...] = (
    (0, 1), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (-1, 1), (-5, 5), (-10, 10), (0, 100),
    (-100, 100),
)  # fmt: skip
"""Usual scales; the first that holds all values is taken."""

SIDES: dict[str, frozenset[str]] = {
    "a": frozenset({"a", "left", "1", "first", "modela", "systema", "model1", "system1"}),
    "b": frozenset({"b", "right", "2", "second", "modelb", "systemb", "model2", "system2"}),
    "tie": frozenset(
        {"tie", "tied", "draw", "equal", "same", "both", "neither", "none", "0", "tiebothbad"}
    ),
}
"""How a preference is written."""


class NoJudgmentsError(Exception):
    """Rows that cannot be read as judgments; the text says what is missing.

    Parameters
    ----------
    what
        What is missing.
    looked_for
        Column names that would have been understood.
    """

    def __init__(self, what: str, looked_for: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.looked_for = looked_for


@dataclass(frozen=True)
class Answer:
    """What a source's judgments answer.

    Parameters
    ----------
    kind
        As ``tasks`` of campaign.yaml says it.
    fields
        (canonical field, expression, what it rests on).
    columns
        Names of the columns used.
    scale, labels
        What the task's values are.
    """

    kind: str
    fields: list[tuple[str, Any, str]]
    columns: list[str]
    scale: tuple[float, float] | None = None
    labels: Mapping[str, int] = field(default_factory=dict)


def kind_of(column: Column, truth: Column | None) -> str | None:
    """``scalar`` or ``categorical``; None for what is no answer, such as free text."""
    if not column.counts:
        return None
    if column.numeric_share > MOSTLY_NUMBERS:
        in_between = any(not number.is_integer() for number in column.numbers)
        averaged = truth is not None and any(not n.is_integer() for n in truth.numbers)
        named = names.plain(column.name) in names.SCALAR_NAMES
        many = column.n_distinct > MOST_LABELS
        return "scalar" if in_between or averaged or named or many else "categorical"
    many = column.n_distinct > MOST_LABELS and 2 * column.n_distinct > len(column.filled)
    return None if many or column.mean_length > LONGEST_LABEL else "categorical"


def answer_in(column: Column, truth: Column | None) -> Answer | None:
    """The answer that a column holds, if it holds one."""
    kind = kind_of(column, truth)
    return answer_as(column, kind) if kind else None


def answer_as(column: Column, kind: str) -> Answer:
    """The answer that a column holds, as labels or as scores."""
    if kind == "categorical":
        fields = [("label", column.expression, labels_seen(column))]
        return Answer(kind, fields, [column.name], labels=column.counts)
    evidence = f"{column.n_distinct:,} different, {column.low:g} to {column.high:g}"
    n_words = round((1 - column.numeric_share) * len(column.filled))
    if n_words:
        evidence += f"; {n_words:,} are not numbers and will be rejected"
    fields = [("score", column.expression, evidence)]
    return Answer(kind, fields, [column.name], scale_of(column))


def labels_seen(column: Column) -> str:
    """How many labels there are, and the most frequent."""
    shown = ", ".join(sorted(list(column.counts)[:10], key=natural_key))
    return f"{column.n_distinct:,} different: {shown}" + (", ..." * (column.n_distinct > 10))


def scale_of(column: Column) -> tuple[float, float] | None:
    """The usual scale that holds all numbers; None if no usual one does."""
    return next((s for s in SCALES if s[0] <= column.low and column.high <= s[1]), None)


def comparison(sheet: Sheet, choice: Choice) -> Answer | None:
    """Which of two was better, or both their ranks; None if rows compare nothing.

    Raises
    ------
    NoJudgmentsError
        They compare, but in a way that no expression can say.
    """
    by_name = {names.bare(name): name for name in reversed(choice.left)}
    pairs = [[by_name[n] for n in pair] for pair in names.PAIRS if set(pair) <= by_name.keys()]
    if not pairs:
        return None
    for ranks in names.RANK_PAIRS:
        if set(ranks) <= by_name.keys():
            columns = [by_name[name] for name in ranks]
            seen = f"whole numbers, {sheet[columns[0]].low:g} is best"
            if all(sheet[c].is_whole for c in columns):
                fields = [("rank_a", columns[0], seen), ("rank_b", columns[1], "")]
                return _between(sheet, pairs[0], fields, columns)
    named = {value for pair in pairs for name in pair for value in sheet[name].counts}
    for column in choice.of("preference"):
        sides = {value: _side(value) for value in column.counts}
        if {"a", "b"} <= set(sides.values()) and None not in sides.values():
            written = {names.plain(value) for value in sides}
            pair = next((p for p in pairs if {names.bare(n) for n in p} <= written), pairs[0])
            return _between(
                sheet, pair, [("preference", _mapped(column, sides), _seen(column))], [column.name]
            )
        if column.numeric_share < 1 and {v for v, s in sides.items() if s != "tie"} <= named:
            raise NoJudgmentsError(
                f"{column.name} names what won; campaign.yaml needs which side won: "
                "a column that holds a, b or tie"
            )
    return None


def _mapped(column: Column, values: Mapping[str, str | None]) -> dict[str, Any]:
    """The column's expression with a map."""
    inner = column.expression
    return (inner if isinstance(inner, dict) else {"column": inner}) | {"map": dict(values)}


def _seen(column: Column) -> str:
    return ", ".join(f"{value} ({count:,})" for value, count in column.counts.items())


def _side(value: str) -> str | None:
    written = "".join(c for c in value.casefold() if c.isalnum())
    return next((side for side, spellings in SIDES.items() if written in spellings), None)


def _between(
    sheet: Sheet, pair: list[str], answer: list[tuple[str, Any, str]], columns: list[str]
) -> Answer:
    """The two sides: systems that worked on a segment, or simply two items."""
    thing = "item" if names.bare(pair[0]).startswith("item") else "system"
    sides = [
        (f"{thing}_{side}", sheet[name].expression, f"{sheet[name].n_distinct:,} different")
        for side, name in zip("ab", pair, strict=True)
    ]
    return Answer("pairwise", [*sides, *answer], [*pair, *columns])
