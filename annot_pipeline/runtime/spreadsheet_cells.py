"""Cells of csv files for people, which a spreadsheet may open: nothing in them is a formula.

What does not belong here: files that a build reads back, whose cells stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

FORMULA = re.compile(r"(^|[;|\t\r\n])(?=[\s\"]{0,99}[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r])")
"""Where a cell, split where some locales split cells, would start as a formula does."""


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers as they are."""
    return FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a cell, or a part of it, for a formula."""
    return FORMULA.search(text) is not None


def safe_table(table: pa.Table) -> pa.Table:
    """Return a table with texts and names of columns that no spreadsheet takes for formulas."""
    columns = [pa.array(map(safe_cell, c.to_pylist()), c.type) for c in table.columns]
    return pa.table(columns, list(map(safe_cell, table.column_names)))
