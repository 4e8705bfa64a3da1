"""What the contract of a table rules, and rules held against a table part by part.

Columns, types, nulls, NaN and the order of rows are held elsewhere
(annot_pipeline.stages.gold.check_tables): they are matters of Arrow, and stand before these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Flags
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


@dataclass
class _Breached:
    """Collects the rows that break a rule."""

    rows: int = 0
    places: list[int] = field(default_factory=list)

    def add(self, broken: Flags, start: int) -> None:
        """Count rows of a part whose first row is at ``start``."""
        n = int(broken.sum())
        if n:
            self.rows += n
            room = SHOWN_VALUES - len(self.places)
            self.places += (np.flatnonzero(broken)[:room] + start).tolist()


def check_rules_by_chunk(rules: Sequence[Rule], chunks: Iterable[pa.Table]) -> list[Breach]:
    """Check a table against its rules, chunk by chunk.

    Parameters
    ----------
    rules
        Of its contract.
    chunks
        The table, in parts that lie in memory one by one; its rows in the order of the key.
    """
    breached = [_Breached() for _ in rules]
    key = next((rule.columns for rule in rules if rule.kind == "repeated"), ())
    repeats = _Repeats(key)
    start = 0
    for chunk in chunks:
        for rule, so_far in zip(rules, breached, strict=True):
            if rule.kind == "repeated":
                repeats.add(chunk, so_far, start)
            else:
                so_far.add(_broken(rule, chunk[rule.columns[0]]), start)
        start += chunk.num_rows
    return [
        Breach(r, f.rows, tuple(f.places)) for r, f in zip(rules, breached, strict=True) if f.rows
    ]


def _broken(rule: Rule, values: pa.ChunkedArray) -> Flags:
    """Return which values break a rule; nulls break none."""
    if rule.kind == "not_allowed":
        allowed = pc.is_in(values, pa.array(rule.allowed, values.type))
        return _flags(pc.and_(pc.is_valid(values), pc.invert(allowed)))
    broken = np.zeros(len(values), np.bool_)
    if rule.minimum is not None:
        broken |= _flags(pc.fill_null(pc.less(values, rule.minimum), False))
    if rule.maximum is not None:
        broken |= _flags(pc.fill_null(pc.greater(values, rule.maximum), False))
    return broken


@dataclass
class _Repeats:
    """Finds rows with the key of a neighbouring row, equal nulls too, across chunks."""

    key: Sequence[str]
    last: pa.Table | None = None
    last_counts: bool = False

    def add(self, part: pa.Table, breached: _Breached, start: int) -> None:
        """Count those of a part, and the last row of the one before where this one repeats it."""
        if not part.num_rows:
            return
        rows = part.select(self.key)
        both = pa.concat_tables([self.last, rows]) if self.last else rows
        same = np.ones(both.num_rows - 1, np.bool_)  # as the row before
        for values in both.columns:
            one, other = values.slice(0, len(same)), values.slice(1)
            same &= _flags(
                pc.or_(
                    pc.fill_null(pc.equal(one, other), False),
                    pc.and_(one.is_null(), other.is_null()),
                )
            )
        is_repeat = np.append(same, False) | np.insert(same, 0, False)
        n_before = both.num_rows - part.num_rows
        is_repeat[:n_before] &= not self.last_counts  # counted with its own part
        breached.add(is_repeat, start - n_before)
        self.last, self.last_counts = rows.slice(rows.num_rows - 1), bool(is_repeat[-1])


def _flags(values: pa.ChunkedArray) -> Flags:
    flags: Flags = values.to_numpy(zero_copy_only=False).astype(np.bool_)
    return flags
