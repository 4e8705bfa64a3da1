"""Times that Arrow reads whole columns of are those that are read one by one."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.stages.ingest.expressions import parse_time
from annot_pipeline.stages.ingest.read_records import read_plain_times

times = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(
    lambda t: t.replace(microsecond=0)
)


@settings(deadline=None)
@given(st.lists(st.tuples(times, st.sampled_from("T "), st.sampled_from(["", "Z"])), min_size=1))
def test_as_each_would_be(given_times):
    written = [t.isoformat(sep) + zone for t, sep, zone in given_times]
    read = read_plain_times(pa.array([*written, None])).to_pylist()
    assert read == [*(parse_time(text, "t") for text in written), None]
    assert read[:-1] == [t.replace(tzinfo=UTC) for t, _, _ in given_times]


@pytest.mark.parametrize(
    "other",
    ["2024-02-30T00:00:00", "2024-02-29T23:59:60Z", "0999-01-01T00:00:00", "2024-01-01",
     "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:00.5", "1718000000", "",
     "2024-01-01T00:00:00Z\n"],
)  # fmt: skip
def test_one_of_another_form_leaves_all_to_be_read_one_by_one(other):
    assert read_plain_times(pa.array(["2024-01-01T00:00:00Z", other])) is None
