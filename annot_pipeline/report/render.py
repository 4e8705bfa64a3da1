"""Renders templates: pages, whose texts from exports are made harmless, and Markdown.

Every value that a template of a page writes goes through `text`, unless it is markup already;
those of Markdown go through `markdown.written`. What does not belong here: what a section says
(report/sections, templates), how the page looks (style.css) and what it does (script.js).
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import counted, first_of, printable
from annot_pipeline.report import markdown
from annot_pipeline.report.release_figures import MOST_TASKS

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_CHARACTERS = 120
"""Of a text in a table or a title; pages of items show more."""
SMALLEST_P, ALMOST_ONE = 0.001, 0.9995
ROUNDING = 1e-12
"""Agreement below it is that of sums of rounded numbers."""
FEWEST = 3
"""Rows from which on a column that is the same in all of them is told above the table."""
SHOWN_ROWS = 15
"""Rows of a table that stand in the page; its script brings the others."""
WORDS = ("text", "prose", "chip", "choose")
NUMBERS = ("count", "real", "share", "p")
"""Kinds of columns whose values are numbers, at the right."""


def render_html(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template of the page, filled; without blanks around it."""
    return _pages().get_template(template).render(facts).strip()


def render_markdown(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template of Markdown, filled, without blank lines after each other."""
    return re.sub(r"\n{3,}", "\n\n", _cards().get_template(template).render(facts)).strip() + "\n"


class Column(NamedTuple):
    """A column of a table.

    Parameters
    ----------
    name
        Its head.
    kind
        How its values are written: ``text``, ``prose`` (more of a long text), ``chip``, those of
        `NUMBERS`, or a name that the template knows; with ``choose``, the reader can choose one.
    tip
        What it is, shown when the mouse rests on the head.
    """

    name: str
    kind: str = "text"
    tip: str = ""


Description = str | Sequence[str]
"""Of a column: its name, or name, kind and tip."""


def column(description: Description) -> Column:
    """Return a column from its name, or from name, kind and tip."""
    return Column(description) if isinstance(description, str) else Column(*description)


def by_field(
    columns: Mapping[str, Description], rows: Sequence[Mapping[str, Any]]
) -> tuple[list[Description], list[list[Any]]]:
    """Return columns, which are declared by field, and the cells of rows in their order."""
    return [*columns.values()], [[row[field] for field in columns] for row in rows]


def filled(
    columns: Sequence[Description], rows: Sequence[Sequence[Any]], always: Sequence[int] = ()
) -> tuple[list[Column], list[list[Any]]]:
    """Return columns and rows without the columns that have no value in any row.

    ``always`` are numbers of columns that stay.
    """
    numbers = [
        n
        for n in range(len(columns))
        if n in always or any(row[n] not in (None, "") for row in rows)
    ]
    return [column(columns[n]) for n in numbers], [[row[n] for n in numbers] for row in rows]


def without_constants(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]]
) -> tuple[list[Column], list[list[Any]], list[tuple[Column, Any]]]:
    """Return columns and rows without columns that are the same in all rows, and what they say."""
    same = constant_columns(columns, rows)
    constants = [(columns[n], rows[0][n]) for n in same if rows[0][n] not in (None, "")]
    chosen = [n for n in range(len(columns)) if n not in same]
    return [columns[n] for n in chosen], [[row[n] for n in chosen] for row in rows], constants


def constant_columns(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[int]:
    """Return the numbers of the columns that are the same in all rows.

    The first column is none of them, nor are those that only a section knows how to write, unless
    the reader can choose one of their values; nor one that ``stays``, as the verdict refers to it.
    """
    return [
        n for n, c in enumerate(columns)
        if n > 0 and len(rows) >= FEWEST and all(row[n] == rows[0][n] for row in rows)
        and (c.kind.split()[0] in (*WORDS, *NUMBERS) or "choose" in c.kind)
        and "stays" not in c.kind
    ]  # fmt: skip


def text(value: object, most: int = MOST_CHARACTERS) -> Markup:
    """Return a text from anywhere.

    No markup, no characters that reorder a line, of a long one the start.

    Letters of all scripts stay; what runs from right to left does so by itself.
    """
    whole = str(value)
    if len(whole) <= most and whole.isascii() and whole.isprintable():
        return Markup(escape(whole))  # noqa: S704 - escaped
    cut = whole[:most]
    html = escape("\n".join(map(printable, cut.split("\n"))))
    if not cut.isascii():
        html = f"<bdi>{html}</bdi>"
    if len(whole) > most:
        html += f'<span class="cut">… ({len(whole):,} characters)</span>'
    return Markup(html)  # noqa: S704 - escaped above


def waiting_rows(rows: Sequence[Sequence[Any]]) -> Markup:
    """Return rows of HTML as JSON for the page's script.

    Texts that stand in several cells are numbers of a list of texts.
    """
    counts = Counter(cell for row in rows for cell in row if isinstance(cell, str))
    numbers = {text: n for n, text in enumerate(text for text, n in counts.items() if n > 1)}
    numbered = [
        [numbers.get(cell, cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    ]
    html = json.dumps({"texts": [*numbers], "rows": numbered}, separators=(",", ":"))
    return Markup(html.replace("</", "<\\/"))  # noqa: S704 - what is ours begins no script


def deflated(content: str) -> Markup:
    """Return what the page's script inflates when it is opened: compressed, as base 64."""
    return Markup(b64encode(zlib.compress(content.encode(), 9)).decode())  # noqa: S704 - no markup


def attribute(value: object) -> Markup:
    """Return the same for an attribute: one line, no element."""
    line = " ".join(str(value)[:MOST_CHARACTERS].split())
    return Markup(escape(printable(line)))  # noqa: S704 - escaped


def number(value: float | None, kind: str = "real") -> str:
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
    if ALMOST_ONE <= size < 1 - ROUNDING:
        return ">0.999" if value > 0 else "<\u22120.999"
    size = round(size, 3)
    digits = 0 if isinstance(value, int) else 3 if size < 10 else 2 if size < 100 else 1
    return f"{value:,.{digits}f}".replace("-", "\u2212")


def _written(value: float | None, kind: str = "real") -> Markup:
    return Markup(escape(number(value, kind)))  # noqa: S704 - escaped


def exact(value: float, kind: str) -> str:
    """Return a number for scripts, where the one for people is none; else an empty text."""
    return f"{value:.6g}" if number(value, kind).startswith(("<", ">")) else ""


def without_rounding(value: Any) -> Any:
    """Return 0 for what differs from it by the rounding of numbers alone."""
    return 0.0 if value is not None and abs(value) < ROUNDING else value


def interval(low: float | None, high: float | None, kind: str = "real") -> str:
    """Return ends of an interval, or nothing."""
    if low is None or high is None:
        return ""
    return f"{number(low, kind)} to {number(high, kind)}"


def flag(value: bool | None) -> str:
    """Return a yes or no."""
    return "" if value is None else "yes" if value else "no"


def in_words(name: str) -> str:
    """Return a name of the code as words."""
    return str(name).replace("_", " ")


@cache
def _pages() -> Environment:
    environment = _environment(_shown)
    environment.filters |= {
        "attribute": attribute, "column": column, "deflated": deflated, "exact": exact,
        "number": _written, "text": text, "thousands": "{:,}".format,
        "waiting_rows": waiting_rows, "words": in_words,
    }  # fmt: skip
    environment.globals |= {
        "MOST_TASKS": MOST_TASKS, "NUMBERS": NUMBERS, "SHOWN_ROWS": SHOWN_ROWS, "WORDS": WORDS,
        "by_field": by_field, "constant_columns": constant_columns, "counted": counted,
        "filled": filled, "interval": interval, "without_constants": without_constants,
        "written": number,
    }  # fmt: skip
    return environment


@cache
def _cards() -> Environment:
    environment = _environment(markdown.written)
    filters = {"cell": markdown.cell, "counted": counted, "first_of": first_of, "raw": Markup}
    environment.filters |= filters
    environment.globals["most_rows"] = markdown.MOST_ROWS
    return environment


def _environment(write: Callable[[Any], Any]) -> Environment:
    """Return an environment that writes every value through a function."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("annot_pipeline.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=write,
    )  # fmt: skip


def _shown(value: Any) -> Any:
    return _text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_text = lru_cache(maxsize=4096)(text)
"""Names stand in many rows."""
