"""A table of judges beside campaign.yaml: ``judges.table``, one row per judge."""

from __future__ import annotations

import csv
import glob
import io
from pathlib import Path
from typing import Any

from annot_pipeline.errors import ConfigError, Problem, shorten

COLUMNS = ("judge", "kind", "family", "version", "prompt", "temperature")
LARGEST_BYTES = 16 << 20
WHERE = "judges.table"


def with_judge_table(judges: Any, folder: Path) -> Any:
    """Return the section ``judges`` with the rows of its table as entries, after its own.

    A row names a judge as exports do, letter by letter.

    Parameters
    ----------
    judges
        As campaign.yaml has it.
    folder
        What the path of the table is relative to.

    Raises
    ------
    ConfigError
        The table cannot be read, or a column, judge or temperature is wrong; all problems at once.
    """
    if not isinstance(judges, dict) or "table" not in judges:
        return judges
    section = {key: value for key, value in judges.items() if key != "table"}
    name = judges["table"]
    if not isinstance(name, str):
        raise _error(f"{shorten(name)} is not a path", "write table: judges.csv")
    declared = section.get("declared") or []
    return section | {"declared": [*declared, *_entries(name, _text(name, folder / name))]}


def _text(name: str, path: Path) -> str:
    try:
        if not path.is_file():
            raise _error(f"{name} does not exist", "give the path relative to campaign.yaml")
        if path.stat().st_size > LARGEST_BYTES:
            raise _error(f"{name} has more than {LARGEST_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise _error(f"{name} is not text in UTF-8", "save the file as UTF-8") from None
    except OSError as error:
        raise _error(f"{name} cannot be read: {error.strerror}") from None


def _entries(name: str, text: str) -> list[dict[str, Any]]:
    first = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in first else ",", strict=True)
    columns = [column.strip() for column in rows.fieldnames or ()]
    rows.fieldnames = columns
    unknown = [column for column in columns if column not in COLUMNS]
    if "judge" not in columns or unknown or len({*columns}) < len(columns):
        what = f"the header of {name} is {', '.join(map(shorten, columns)) or 'empty'}"
        raise _error(
            what, "judge is required, and each column may occur only once", ", ".join(COLUMNS)
        )
    entries: list[dict[str, Any]] = []
    problems: list[Problem] = []
    judges: set[str] = set()
    try:
        for row in rows:
            entry, problem = _entry(row, f"{name}, line {rows.line_num}", judges)
            entries += [entry] if problem is None else []
            problems += [problem] if problem is not None else []
    except csv.Error as error:
        raise _error(f"{name}, line {rows.line_num}: {error}") from None
    if problems:
        raise ConfigError(f"{name}: {len(problems)} wrong rows", problems)
    return entries


def _entry(
    row: dict[Any, Any], where: str, judges: set[str]
) -> tuple[dict[str, Any], Problem | None]:
    """Return a row as an entry of ``declared``, or what is wrong with it."""
    if None in row or None in row.values():
        return {}, Problem(where, "the row has more or fewer cells than the header")
    cells = {key: value.strip() for key, value in row.items() if value.strip()}
    judge = cells.pop("judge", "")
    if not judge:
        return {}, Problem(where, "judge is blank")
    if judge in judges:
        return {}, Problem(where, "the judge is already in an earlier row", do="keep one of them")
    judges.add(judge)
    if cells.get("kind", "human") not in ("human", "model"):
        return {}, Problem(where, f"kind is {shorten(cells['kind'])}", "human, model")
    entry: dict[str, Any] = {"name": glob.escape(judge), **cells}
    if "temperature" in cells:
        try:
            entry["temperature"] = float(cells["temperature"])
        except ValueError:
            what = f"temperature is not a number: {shorten(cells['temperature'])}"
            return {}, Problem(where, what)
    return entry, None


def _error(what: str, do: str = "", allowed: str = "") -> ConfigError:
    return ConfigError("judges.table cannot be read", [Problem(WHERE, what, allowed, do)])
