"""HTML of the report: texts from exports made harmless, numbers written, tables.

What comes from exports stands in the page through `text` alone. What does not belong here: what
a section says (report/sections), how the page looks (style.css) and what it does (script.js).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import printable
from annot_pipeline.report.release_figures import MOST_TASKS, Drawn

MOST_CHARACTERS = 120
"""Of a text in a table or a title; pages of items show more."""
LONG = 28
"""Characters from which a cell may break into lines."""
SMALLEST_P = 0.001
ROUNDING = 1e-12
"""Agreement below it is that of sums of rounded numbers."""
FEW_ROWS = 5
"""Of a table that needs no search."""
MANY_ROWS = 50
"""From which a table scrolls in a box of its own, downwards too."""
CLAMPED = 240
"""Characters from which a cell shows its first lines, and all of them when it has the focus."""
TAG = re.compile(r"<[^<>]*+>")

Kind = Literal["text", "count", "real", "share", "p"]


class Markup(str):
    """HTML that may stand in the page as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name
        Its head.
    kind
        How its values are written; all kinds but text are numbers, written at the right.
    choose
        Whether the reader can choose one of its values.
    tip
        What it is, shown when the mouse rests on the head.
    """

    name: str
    kind: Kind = "text"
    choose: bool = False
    tip: str = ""


def text(value: object, most: int = MOST_CHARACTERS) -> Markup:
    """Return a text from anywhere.

    No markup, no characters that reorder a line, of a long one the start.

    Letters of all scripts stay; what runs from right to left does so by itself.
    """
    whole = str(value)
    cut = whole[:most]
    html: str = escape("\n".join(map(printable, cut.split("\n"))))
    if not cut.isascii():
        html = f"<bdi>{html}</bdi>"
    if len(whole) > most:
        html += f'<span class="cut">… ({len(whole):,} characters)</span>'
    return Markup(html)


def label_text(value: object) -> str:
    """Return the same for an attribute: one line, no element."""
    line = " ".join(str(value)[:MOST_CHARACTERS].split())
    return escape(printable(line))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return HTML out of HTML; each part is `Markup` or written here."""
    return Markup(between.join(parts))


def number(value: float | None, kind: Kind = "real") -> str:
    """Return a number for people; empty where there is none."""
    if value is None or value != value:
        return ""
    if kind == "count":
        return f"{value:,.0f}"
    if kind == "share":
        return share_text(value)
    if kind == "p":
        return f"{value:.3f}" if value >= SMALLEST_P else f"{value:.1e}"
    size = abs(value)
    if size and (size >= 1e7 or size < 5e-4):
        return f"{value:.2e}".replace("-", "\u2212", 1) if value < 0 else f"{value:.2e}"
    digits = 0 if isinstance(value, int) else 3 if size < 10 else 2 if size < 100 else 1
    return f"{value:,.{digits}f}".replace("-", "\u2212")


def without_rounding(value: Any) -> Any:
    """Return 0 for what differs from it by the rounding of numbers alone."""
    return 0.0 if value is not None and abs(value) < ROUNDING else value


def interval(low: float | None, high: float | None, kind: Kind = "real") -> str:
    """Return ends of an interval, or nothing."""
    if low is None or high is None:
        return ""
    return f"{number(low, kind)} to {number(high, kind)}"


def flag(value: bool | None) -> str:
    """Return a yes or no."""
    return "" if value is None else "yes" if value else "no"


SIGNS = {
    "pass": "✓", "warn": "▲", "error": "✕", "passed": "✓", "failed": "✕",
    "undetermined": "?", "untested": "\u2013",
}  # fmt: skip
"""Beside the colour, for those who do not see it."""


def chip(word: str, label: str = "") -> Markup:
    """Return a level or a verdict as HTML: its sign, its word, its colour."""
    sign = SIGNS.get(word, "•")
    html = text(label or word)
    css_class = word if word in SIGNS else "other"
    return Markup(
        f'<span class="chip {css_class}"><span aria-hidden="true">{sign}</span> {html}</span>'
    )


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    sortable: bool = False,
    search: bool = False,
    ids: Sequence[str] = (),
) -> Markup:
    """Return a table in a box of its own that scrolls; nothing where there are no rows.

    Parameters
    ----------
    caption
        What it shows.
    columns
        Their heads.
    rows
        Cells in the order of the columns: `Markup` as it is, others written as the column says.
    sortable, search
        Whether the reader can sort it, and search it, where scripts run and it has some rows.
    ids
        Of the rows, by which links find them.
    """
    lines = [_row(columns, row, ids[n] if ids else "") for n, row in enumerate(rows)]
    if not lines:
        return Markup("")
    head = "".join(_head(column) for column in columns)
    search &= len(lines) > FEW_ROWS
    box = "wide tall" if len(lines) > MANY_ROWS else "wide"
    marks = " ".join(["sortable"] * (sortable and len(lines) > 1) + ["search"] * search)
    return Markup(
        f'<div class="{box}" role="group" tabindex="0" aria-label="{label_text(caption)}">'
        f'<table class="{marks or "plain"}">'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>\n"
    )


def _head(column: Column) -> str:
    marks = "" if column.kind == "text" else ' class="number"'
    marks += " data-choose" if column.choose else ""
    marks += f' title="{label_text(column.tip)}"' if column.tip else ""
    return f'<th scope="col"{marks}>{text(column.name)}</th>'


def _row(columns: Sequence[Column], row: Sequence[Any], row_id: str) -> str:
    cells = [_cell(column, value) for column, value in zip(columns, row, strict=True)]
    first = cells[0].replace("<td", '<th scope="row"', 1).removesuffix("</td>") + "</th>"
    opening = f'<tr id="{row_id}">' if row_id else "<tr>"
    return f"{opening}{first}{''.join(cells[1:])}</tr>"


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return "<td></td>"
    if column.kind == "text":
        html = value if isinstance(value, Markup) else text(value)
        length = len(TAG.sub("", value) if isinstance(value, Markup) else str(value))
        opening = '<td class="long">' if length > LONG else "<td>"
        if length > CLAMPED:
            html = Markup(f'<div class="clamp" tabindex="0">{html}</div>')
        return f"{opening}{html}</td>"
    if isinstance(value, Markup):
        return f'<td class="number">{value}</td>'
    written = number(value, column.kind)
    rounded = column.kind in ("p", "real") or written.startswith(("<", ">"))
    exact = f' data-v="{value:.6g}"' if written and rounded else ""
    return f'<td class="number"{exact}>{escape(written)}</td>'


def figures(drawings: Iterable[Drawn], n_tasks: int = 0) -> Markup:
    """Return figures with their titles, each in a box that scrolls on narrow screens.

    Parameters
    ----------
    n_tasks
        How many there are, if the figures are those of the first tasks.
    """
    html: str = join(
        f"<figure><figcaption>{text(figure.title)}</figcaption>"
        f'<div class="wide" role="group" tabindex="0" aria-label="{label_text(figure.title)}">'
        f"{figure.svg}</div></figure>\n"
        for figure in drawings
    )
    if html and n_tasks > MOST_TASKS:
        html += paragraph(
            f"Figures of {MOST_TASKS} of {n_tasks:,} tasks, the first by name; all tasks are in "
            "the tables."
        )
    return Markup(html)


def part(title: str, content: str) -> Markup:
    """Return a part of a section with its heading; nothing where there is no content."""
    return Markup(f"<h3>{text(title)}</h3>\n{content}" if content else "")


def paragraph(*parts: str) -> Markup:
    """Return a paragraph out of HTML."""
    return Markup(f"<p>{''.join(parts)}</p>\n")


def more(summary: str, content: str) -> Markup:
    """Return the content that the reader opens; nothing where there is none."""
    if not content:
        return Markup("")
    return Markup(f"<details><summary>{text(summary)}</summary>\n{content}</details>\n")


def left_out(n_rows: int, n_shown: int, where: str) -> Markup:
    """Return a sentence on the rows that are not shown."""
    if n_rows <= n_shown:
        return Markup("")
    return paragraph(
        f"{n_shown:,} of {n_rows:,} rows are shown; all of them are in <code>{where}</code>."
    )


def command(line: str) -> Markup:
    """Return a command to type."""
    return Markup(f'<pre class="command"><code>{text(line, 1000)}</code></pre>\n')
