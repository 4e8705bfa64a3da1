"""Rules held against a table part by part, by Arrow: it may have any number of rows.

What does not belong here: rules (rules), the same as a suite (expectations), levels (run).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Flags
from annot_pipeline.errors import SHOWN_VALUES
from annot_pipeline.gates.rules import Breach, Rule


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
