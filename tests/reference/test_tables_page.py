"""The reference of gold tables is what the contracts declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annot_pipeline.contracts import GOLD, Table
from annot_pipeline.contracts.table import Count, Share, columns_of
from tests.recorded_pages import check_page
from tests.reference.tables_page import (
    GROUPS,
    PURPOSES,
    column_row,
    table_section,
    tables_page,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "tables.md"


def test_the_page_is_up_to_date():
    check_page(PAGE, tables_page())


def test_every_table_and_column_is_on_it():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(GOLD) == sorted(PURPOSES)
    written = PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", written, re.MULTILINE | re.DOTALL))
    for table in GOLD.values():
        names = re.findall(r"^\| `(\w+)` \|", sections[table.name], re.MULTILINE)
        assert names == table.schema.names


def test_pages_that_explain_a_table_name_it():
    for name, (_, page) in PURPOSES.items():
        assert re.search(rf"\b{name}\b", (DOCS / page).read_text()), (name, page)


class Odd:
    """Columns of several types.

    Parameters
    ----------
    p
        Chance
    n
        How many
    x
        a | b
    """

    p: Share
    n: Count
    x: float | None


def test_rows_say_type_null_and_values():
    assert list(map(column_row, columns_of(Odd))) == [
        "| `p` | float64 | no | Chance. From 0 to 1. |",
        "| `n` | int64 | no | How many. At least 0. |",
        "| `x` | float64 | yes | a \\| b. |",
    ]


def test_columns_without_a_description_are_refused():
    class Undescribed(Odd):
        y: str

    with pytest.raises(ValueError, match="Undescribed: n, p, x, y not described"):
        columns_of(Undescribed)


def test_keys_that_repeat_are_named():
    table = Table("labels", "task and item", ("p", "n"), columns_of(Odd), False)
    lines = list(table_section(table))
    assert "Key: `p`, `n` (not unique).\n" in lines
    assert any("One row per task and item." in line for line in lines)


def test_links_lead_to_tables():
    """No other heading takes the anchor of a table."""
    headings = re.findall(r"^#+ (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = [heading.lower().replace(" ", "-") for heading in headings]
    assert len({*anchors}) == len(anchors)
