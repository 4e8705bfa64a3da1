"""Oracles: the right answers that studies hold methods against, from a csv file.

A header, and columns by name: of items ``item`` (or ``sent``, ``id``) and ``truth`` (or
``label``); of systems ``system`` and ``score`` (more is better) or ``rank`` (less is better). A
column ``task`` is needed only where a campaign has several tasks. Other columns are left alone.
The order of rows changes nothing.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.arrays import Floats
from annot_pipeline.errors import ConfigError, Problem

ITEM_COLUMNS, TRUTH_COLUMNS = ("item", "sent", "id"), ("truth", "label")
SYSTEM_COLUMNS, SCORE_COLUMNS = ("system",), ("score", "rank")


@dataclass(frozen=True)
class Oracle:
    """Right answers by task and name; the task is None where the file has no such column."""

    file: str
    values: dict[str | None, dict[str, float]]

    def for_task(self, task: str) -> dict[str, float]:
        """Return the right answers of one task."""
        return self.values.get(None) or self.values.get(task, {})


def read_item_oracle(path: Path) -> Oracle:
    """Return truth of items.

    Raises
    ------
    ConfigError
        The file cannot be read, lacks a column, or holds what is no number or stands twice.
    """
    return _read(path, ITEM_COLUMNS, TRUTH_COLUMNS)


def read_system_oracle(path: Path) -> Oracle:
    """Return scores of systems; of ranks their negatives, so that more is better."""
    return _read(path, SYSTEM_COLUMNS, SCORE_COLUMNS)


def _read(path: Path, names: Sequence[str], values: Sequence[str]) -> Oracle:
    title = "an oracle that cannot be used"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = list(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        what = str(error.strerror if isinstance(error, OSError) else error)
        raise ConfigError(title, [Problem(str(path), f"cannot be read: {what}")]) from None
    matched = [next((c for c in spellings if c in columns), None) for spellings in (names, values)]
    missing = [
        Problem(str(path), f"no column {' or '.join(spellings)}", values=tuple(columns))
        for spellings, column in zip((names, values), matched, strict=True)
        if column is None
    ]
    name, value = matched
    if name is None or value is None:
        raise ConfigError(title, missing)
    sign = -1.0 if value == "rank" else 1.0
    numbers: dict[str | None, dict[str, float]] = {}
    bad: list[str] = []
    twice: list[str] = []
    for row in rows:
        number = number_in(row[value])
        key = str(row[name] or "")
        if number is None or not key:
            bad.append(f"{key}: {row[value]}")
            continue
        of_task = numbers.setdefault(row["task"] if "task" in columns else None, {})
        if key in of_task:
            twice.append(key)
        of_task[key] = sign * number
    problems = [
        Problem(str(path), what, allowed, values=tuple(rows))
        for rows, what, allowed in (
            (bad, f"rows without {name}, or whose {value} is no number", "a number"),
            (twice, f"{name} given twice", "one row each"),
        )
        if rows
    ]
    if not numbers and not problems:
        problems = [Problem(str(path), "holds no rows")]
    if problems:
        raise ConfigError(title, problems)
    return Oracle(path.name, numbers)


def number_in(text: object) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def on_scale(values: Floats, scale: tuple[float, float]) -> Floats:
    """Return values of a scale as shares of it: 0 at its lower end, 1 at its upper."""
    low, high = scale
    return (values - low) / (high - low)
