"""Tables of small campaigns hold what is recorded; `record.py` says how to record them again."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.frozen.campaigns import FROZEN
from tests.frozen.record import build_frozen, differences, hash_tables, hash_values, record_file

IN_SUITE = [name for name, campaign in FROZEN.items() if campaign.in_suite]


@pytest.mark.sampled
@pytest.mark.parametrize("name", IN_SUITE)
def test_tables_hold_the_recorded_values(name, tmp_path):
    hashes = hash_tables(build_frozen(FROZEN[name], tmp_path))
    assert differences(name, hashes, "values") == []


def test_every_campaign_is_recorded():
    for name in FROZEN:
        assert json.loads(record_file(name).read_text(encoding="utf-8")), name


def test_hashes_see_values_names_and_nulls_and_no_last_digits():
    table = pa.table({"a": [1.0, None], "b": ["x", "y"]})
    others = (
        pa.table({"a": [1.0, 0.0], "b": ["x", "y"]}),
        pa.table({"a": [1.0000001, None], "b": ["x", "y"]}),
        pa.table({"c": [1.0, None], "b": ["x", "y"]}),
        pa.table({"a": [None, 1.0], "b": ["x", "y"]}),
        pa.table({"a": [1.0, None], "b": ["x", "z"]}),
    )
    assert hash_values(table) not in {hash_values(other) for other in others}
    assert hash_values(table) == hash_values(
        pa.table({"a": [1.0 + 1e-15, None], "b": pa.array(["x", "y"]).dictionary_encode()})
    )
