"""Writes a study: tables as csv, and a page that needs no network; all files or none.

The bytes depend on the study alone, not on the folder.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from annot_pipeline.errors import printable
from annot_pipeline.report.report import STYLE
from annot_pipeline.storage.files import atomic_write
from studies.curve_figures import Drawn
from studies.tables import Cell, Table, written

PAGE = "study.html"
MOST_ROWS = 60
"""Rows of a table on the page; the whole table is in its file."""


@dataclass(frozen=True)
class Section:
    """A part of the page: figures, facts by name, and tables."""

    title: str
    figures: Sequence[Drawn]
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Result:
    """What a study found, ready to be written.

    Parameters
    ----------
    findings
        Sentences on what came out.
    notes
        What the reader has to know of it.
    tables
        All tables.
    sections
        Of the page.
    numbers
        Key numbers, for programs.
    """

    findings: Sequence[str]
    notes: Sequence[str]
    tables: Sequence[Table]
    sections: Sequence[Section]
    numbers: Sequence[Mapping[str, object]]


def write_study(
    folder: Path, title: str, description: str, result: Result, parameters: Mapping[str, object]
) -> list[Path]:
    """Write the tables, then the page.

    Parameters
    ----------
    folder
        Made if it is not there; other files in it stay.
    title, description
        Name of the study, and what it is.
    result, parameters
        What is written.
    """
    contents = {f"{table.name}.csv": table.csv() for table in result.tables}
    page = _page(title, description, result, parameters, sorted(contents))
    contents[PAGE] = page.encode("utf-8", "backslashreplace")
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as files:
        for name, data in contents.items():
            files.enter_context(atomic_write(folder / name)).write_bytes(data)
    return [folder / name for name in contents]


def _page(
    title: str,
    description: str,
    result: Result,
    parameters: Mapping[str, object],
    files: Sequence[str],
) -> str:
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(description)}</p>",
        *(f"<p><strong>{_text(sentence)}</strong></p>" for sentence in result.findings),
        *(f"<p>{_text(note)}</p>" for note in result.notes),
        *(part for section in result.sections for part in _section(section)),
        "<h2>Parameters</h2>",
        _table(
            ("name", "value"), ((name, _value_text(value)) for name, value in parameters.items())
        ),
        f"<p>Tables of this page: {_text(', '.join(files))}.</p>",
    ]
    content = "\n".join(body)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>\n{content}\n</main></body></html>\n"
    )


def _section(section: Section) -> list[str]:
    parts = [f"<h2>{_text(section.title)}</h2>"]
    if section.facts:
        parts.append(_table(("fact", "value"), _flatten(section.facts)))
    parts += [
        f"<figure><figcaption>{_text(figure.title)}</figcaption>{figure.svg}</figure>"
        for figure in section.figures
    ]
    for table in section.tables:
        rows = [[_shown(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
        more = len(table.rows) - len(rows)
        note = f"<p>{more:,} more rows are in {_text(table.name)}.csv.</p>" if more else ""
        parts.append(f"<h3>{_text(table.name)}</h3>{_table(table.columns, rows)}{note}")
    return parts


def _flatten(facts: Mapping[str, object], before: str = "") -> Iterable[tuple[str, str]]:
    """Yield nested facts on one level."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{before}{name} ")
        else:
            yield f"{before}{name}".replace("_", " "), _value_text(value)


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value_text, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return written(value) if isinstance(value, float) else str(value)


def _shown(cell: Cell) -> str:
    """Return a cell of the page, with fewer digits than that of the file."""
    return f"{cell:.4g}" if isinstance(cell, float) and not math.isnan(cell) else written(cell)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{_text(name)}</th>" for name in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _text(text: str) -> str:
    return escape(printable(text))
