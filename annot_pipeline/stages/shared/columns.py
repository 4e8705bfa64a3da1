"""Columns of Arrow tables and rows of tables: NaN as null, and columns in place of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Floats


def nulls_for_nan(values: Floats) -> pa.Array:
    """Return numbers as a column; NaN is null."""
    return pa.array(values, mask=np.isnan(values))


def without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with None in place of numbers that are NaN."""
    return {name: None if value != value else value for name, value in row.items()}


def replace_columns(table: pa.Table, columns: Mapping[str, pa.ChunkedArray | pa.Array]) -> pa.Table:
    """Return the table with other columns in place of those of the same names."""
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at).with_type(values.type), values)
    return table
