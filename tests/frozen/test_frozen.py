"""Tables of small campaigns hold what is recorded; `record.py` says how to record them again."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.frozen.campaigns import FROZEN
from tests.frozen.record import (
    are_equal,
    build_frozen,
    differences,
    hash_tables,
    record_file,
    table_values,
)

IN_SUITE = [name for name, campaign in FROZEN.items() if campaign.in_suite]


@pytest.mark.sampled
@pytest.mark.parametrize("name", IN_SUITE)
def test_tables_hold_the_recorded_values(name, tmp_path):
    hashes = hash_tables(build_frozen(FROZEN[name], tmp_path))
    assert differences(name, hashes, "values") == []


def test_every_campaign_is_recorded():
    for name in FROZEN:
        assert json.loads(record_file(name).read_text(encoding="utf-8")), name


def test_records_see_values_names_nulls_and_order_and_no_last_digits():
    table = table_values(pa.table({"a": [1.0, 2.0, None], "b": ["x", "y", "z"]}))
    others = (
        pa.table({"a": [1.0, 2.0, 0.0], "b": ["x", "y", "z"]}),
        pa.table({"a": [1.0, 2.00001, None], "b": ["x", "y", "z"]}),
        pa.table({"a": [2.0, 1.0, None], "b": ["x", "y", "z"]}),
        pa.table({"c": [1.0, 2.0, None], "b": ["x", "y", "z"]}),
        pa.table({"a": [1.0, None, 2.0], "b": ["x", "y", "z"]}),
        pa.table({"a": [1.0, 2.0, None], "b": ["x", "y", "w"]}),
    )
    assert not any(are_equal(table, table_values(other)) for other in others)
    encoded = pa.array(["x", "y", "z"]).dictionary_encode()
    assert are_equal(table, table_values(pa.table({"a": [1.0 + 1e-12, 2.0, None], "b": encoded})))
