"""What the contract of a table rules, said once: expectations and queries are made from it.

Columns, types, nulls, NaN and the order of rows are held elsewhere
(annot_pipeline.stages.gold.check_tables): they are matters of Arrow, and stand before these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from annot_pipeline.contracts import Table
from annot_pipeline.errors import SHOWN_VALUES

Kind = Literal["not_allowed", "out_of_range", "repeated"]
Severity = Literal["critical", "warning"]


@dataclass(frozen=True)
class Rule:
    """Represents one rule: what is wrong with the rows that break it.

    Parameters
    ----------
    kind
        What is looked for.
    columns
        The column, or those of the key.
    severity
        ``warning``: rows may be so, but somebody should look.
    allowed, minimum, maximum
        What the column may hold.
    """

    kind: Kind
    columns: tuple[str, ...]
    severity: Severity = "critical"
    allowed: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    @property
    def words(self) -> str:
        """Return the words for a row that breaks the rule."""
        name = ", ".join(self.columns)
        if self.kind == "repeated":
            return f"{name} repeats"
        if self.kind == "not_allowed":
            return f"{name} is none of {', '.join(self.allowed)}"
        ends = (("below", self.minimum), ("above", self.maximum))
        return f"{name} is " + " or ".join(f"{w} {end:g}" for w, end in ends if end is not None)


@dataclass(frozen=True)
class Breach:
    """Represents a broken rule: how many rows break it, and the places of the first."""

    rule: Rule
    rows: int
    places: tuple[int, ...]

    def text(self, keys: Sequence[str]) -> str:
        """Return the breach as text, with the keys of the first rows."""
        return breach_text(self.rule.words, self.rows, keys)


@dataclass(frozen=True)
class Checked:
    """Holds the result of a check: what breaks the contract, and what is doubtful."""

    broken: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as it is stored with the result of a stage."""
        return {name: list(texts) for name, texts in asdict(self).items()}


def breach_text(words: str, rows: int, keys: Sequence[str]) -> str:
    """Return what is wrong, in how many rows, and in which first."""
    named = ", ".join(keys[:SHOWN_VALUES]) + (" and more" if rows > len(keys) else "")
    return f"{words} in {rows:,} row{'s' * (rows != 1)}" + (f": {named}" if keys else "")


def rules_of(table: Table) -> list[Rule]:
    """Return all rules of a table, in the order of its columns, the key last."""
    rules = []
    for column in table.columns:
        names = (column.name,)
        if column.allowed:
            rules.append(Rule("not_allowed", names, allowed=column.allowed))
        if column.minimum is not None or column.maximum is not None:
            rules.append(
                Rule("out_of_range", names, minimum=column.minimum, maximum=column.maximum)
            )
        if column.doubtful_below is not None:
            rules.append(Rule("out_of_range", names, "warning", minimum=column.doubtful_below))
    if table.unique:
        rules.append(Rule("repeated", table.key))
    return rules
