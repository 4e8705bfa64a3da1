"""Whole mappings that are tried on the rows before they are written."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Source
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.init.abstentions import (
    abstentions,
    as_written,
    failed_entries,
    failures,
    without_nan,
)
from annot_pipeline.init.columns import Sheet
from annot_pipeline.init.groups import Group
from annot_pipeline.init.objects import Line
from annot_pipeline.init.samples import read_rows
from annot_pipeline.stages.ingest.read_records import read_records

MOST_REJECTED = 0.1
"""Share of records, as the gate rejected_share has it."""

ROWS_TRIED = 20_000
"""Rows of a file that a draft is tried on."""

TASK = "(campaign)"
IDENTITY = (
    "task", "judge", "item", "item_a", "item_b", "segment", "criterion", "control", "ranking",
    "hit",
)  # fmt: skip


@dataclass
class Draft:
    """A mapping as a preset or a shape makes it.

    Parameters
    ----------
    title
        What the export is taken for.
    lines
        Field, expression and evidence.
    kind
        Of the tasks.
    each, where, abstain, options, strength
        As the source has them.
    abstained, failed
        The words of ``abstain`` and the texts of ``failed`` that values suggest, with their counts.
    scale, repeats
        As the tasks have them.
    notes
        What people should know.
    """

    title: str
    lines: list[Line]
    kind: str = "categorical"
    each: dict[str, Any] = field(default_factory=dict)
    where: list[dict[str, Any]] = field(default_factory=list)
    abstain: list[str] = field(default_factory=list)
    abstained: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    strength: tuple[float, float] | None = None
    scale: tuple[float, float] | None = None
    repeats: str | None = None
    notes: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Return whether a field is mapped."""
        return any(line[0] == name for line in self.lines)


def with_abstentions(draft: Draft, sheet: Sheet, format_: str) -> Draft:
    """Return a mapping that names words that are no answers, and texts of failed ones.

    Words of one column of several, such as those of judges, are looked for in all together.
    """
    counts: Counter[str] = Counter()
    for name, expression, _ in draft.lines:
        if name in ("label", "score") and isinstance(expression, str):
            for column in columns_of(expression, draft.each, sheet.names):
                counts.update(sheet[column].counts)
    words = without_nan(abstentions(counts), format_)
    words = {v: n for v, n in words.items() if v.strip() not in draft.abstain}
    abstain = [*draft.abstain, *as_written(words)]
    return replace(draft, abstain=abstain, abstained=words, failed=failures(counts))


PLACEHOLDER = re.compile(r"(\{\w+\})")


def columns_of(expression: str, each: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """Return the columns that an expression names: one, or a column for each value of ``each``."""
    spelled = {""}
    for part in PLACEHOLDER.split(expression):
        values = each.get(part[1:-1]) if part.startswith("{") else None
        choices: Iterable[Any] = [part]
        if isinstance(values, Mapping) and "columns" in values:
            choices = [name for name in columns if fnmatchcase(name, values["columns"])]
        elif isinstance(values, str):
            first, _, last = values.partition("..")
            choices = range(int(first), int(last) + 1)
        elif isinstance(values, Sequence):
            choices = values
        spelled = {f"{start}{choice}" for start in spelled for choice in choices}
    return [column for column in columns if column in spelled]


def used_columns(draft: Draft, columns: Sequence[str]) -> set[str]:
    """Return the columns that a line, ``each``, ``where`` or an option of a mapping names."""
    expressions = [expression for _, expression, _ in draft.lines]
    named: set[str] = set()
    for text in _texts([*expressions, draft.each, draft.where, draft.options]):
        named.update(columns_of(text, draft.each, columns))
    for values in draft.each.values():
        if isinstance(values, dict) and "columns" in values:
            named.update(name for name in columns if fnmatchcase(name, values["columns"]))
    return named


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of expressions that may name columns: no constants, maps or patterns."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in ("value", "map", "else", "match", "in", "not", "has", "json"):
                yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


@dataclass(frozen=True)
class Trial:
    """What a draft makes of the rows.

    Parameters
    ----------
    used
        Records that are judgments.
    n_records
        All but filtered ones and those not asked.
    reasons
        Why others are rejected, with their number.
    """

    used: pa.Table
    n_records: int
    reasons: Counter[str]

    def counts(self, name: str) -> dict[str, int]:
        """Return the values of a field with their numbers, the most frequent first."""
        if name not in self.used.column_names:
            return {}
        column = self.used.column(name).cast(pa.string()).drop_null()
        pairs = [(c["values"], c["counts"]) for c in pc.value_counts(column).to_pylist()]
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    def combinations(self, *names: str) -> int:
        """Return how many different rows some fields have."""
        chosen = self.used.select([n for n in names if n in self.used.column_names])
        return int(chosen.group_by(chosen.column_names).aggregate([]).num_rows)


def try_draft(draft: Draft, group: Group) -> Trial:
    """Return what a mapping makes of the rows of a group, read as a build would read them."""
    first = group.first
    document: dict[str, Any] = {
        "path": "*", "format": first.format, "each": draft.each, "where": draft.where,
        "abstain": draft.abstain, "failed": failed_entries(draft.failed),
        "options": first.options | draft.options, "strength": draft.strength,
        "fields": {name: expression for name, expression, _ in draft.lines},
    }  # fmt: skip
    if first.records is not None:
        document["records"] = first.records
    source = Source.model_validate(_frozen(document))
    tables = []
    for sample in group.samples:
        if "document_fields" in draft.options:  # columns that the sample lacks
            sample = read_rows(replace(sample, options=sample.options | draft.options), ROWS_TRIED)
        table = sample.table.slice(0, ROWS_TRIED)
        rows = RawRows(
            {name: table.column(name).combine_chunks() for name in table.column_names},
            np.arange(1, table.num_rows + 1),
            pa.nulls(table.num_rows, pa.string()),
        )
        path = os.path.relpath(sample.path, group.folder)
        tables.append(read_records(rows, source, path=path, campaign=TASK))
    records = pa.concat_tables(tables, promote_options="permissive")
    judged_records = records.filter(pc.is_null(records["early_fate"]))
    is_used = pc.is_null(judged_records["reason"])
    reasons = Counter(r for r in judged_records["reason"].to_pylist() if r)
    return Trial(judged_records.filter(is_used), judged_records.num_rows, reasons)


def _frozen(value: Any) -> Any:
    """Return a document with tuples for lists, as settings have them."""
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def objections(draft: Draft, trial: Trial) -> list[str]:
    """Return why a mapping cannot be right, judged by what it makes of the rows."""
    n_used = trial.used.num_rows
    if not n_used:
        why = "; ".join(reason for reason, _ in trial.reasons.most_common(2))
        return ["no row would be a judgment" + (f": {why}" if why else "")]
    n_rejected = trial.n_records - n_used
    if n_rejected > MOST_REJECTED * trial.n_records:
        reason, count = trial.reasons.most_common(1)[0]
        return [
            f"{n_rejected:,} of {trial.n_records:,} records would be rejected "
            f"({count:,} times: {reason})"
        ]
    if draft.kind in ("pairwise", "ranking") or draft.has("votes"):
        return []
    n_items = trial.combinations("task", "item")
    n_judges = trial.combinations("task", "judge")
    n_tasks = trial.combinations("task")
    if n_items == n_tasks and n_used > 1.5 * n_judges:
        return [f"there is one item in each task, and judges have {n_used / n_judges:.1f} rows"]
    distinct = trial.combinations(*IDENTITY)
    if distinct <= 0.5 * n_used and draft.repeats is None:
        return [
            f"judges would answer one item {n_used / distinct:.1f} times on average; a column "
            "that distinguishes these rows is not mapped"
        ]
    return []


def by_length(lines: Sequence[str], longest: int = 5) -> str:
    """Return the first of some names as one text."""
    text = ", ".join(lines[:longest])
    more = len(lines) - longest
    return text + (f" and {more} more" if more > 0 else "")
