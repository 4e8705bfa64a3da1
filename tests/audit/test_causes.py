"""Which steps from release to release are named as causes of a changed cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.audit.diff.cells import (
    CODE,
    COMPARED,
    ITEM_TABLES,
    KEYS,
    SETTINGS,
    Values,
    attributed,
)
from annot_pipeline.contracts import GOLD, TEXT


def state(*numbers: float) -> Values:
    n = len(numbers)
    return Values(np.ones(n, np.bool_), np.full(n, None, np.object_), np.array(numbers))


def causes(*numbers: float) -> list[str]:
    """Causes of a score that is ``numbers`` in turn: at first, and after each step."""
    start, *others = map(state, numbers)
    steps = [
        (cause, values)
        for cause, values in zip((CODE, ITEM_TABLES, SETTINGS, CODE), others, strict=True)
    ]
    cells = {name: pa.nulls(1, TEXT) for name in KEYS} | {
        "column": ["score"],
        "change": ["changed"],
    }
    [rankings] = [table for table in COMPARED["ranks"] if table.table == "system_rankings"]
    schema = GOLD["system_rankings"].schema
    rows = attributed(rankings, schema, pa.table(cells), start, steps, others[-1])
    [named] = rows["causes"].to_pylist()
    return named


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((30.5, 30.5, 32.0, 33.0, 33.0), [ITEM_TABLES, SETTINGS]),
        ((30.5, 30.5, 32.375, 32.375000001, 32.375000001), [ITEM_TABLES]),
        ((30.5, 30.5000000001, 30.5000000001, 32.0, 32.0), [SETTINGS]),
        ((30.5, 30.5, 30.6, 30.5, 30.5), [ITEM_TABLES, SETTINGS]),  # back to where it was
        ((1e-9, 1e-9, 2e-9, 2e-9, 2e-9), [ITEM_TABLES]),  # small itself, no rounding
    ],
)
def test_a_step_that_moves_a_number_by_rounding_alone_is_no_cause(numbers, expected):
    assert causes(*numbers) == expected
