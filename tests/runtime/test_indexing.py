"""Names to codes: plain or encoded, in one chunk or several, with nulls or without."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.runtime.indexing import index, index_pairs, is_in

names = st.lists(st.sampled_from(["", "a", "b", "ä", "zz", "a/b", "🙂"]) | st.none(), max_size=12)


def forms(values, cut):
    plain = pa.chunked_array([values[:cut], values[cut:]], pa.string())
    return plain, plain.dictionary_encode(), pa.chunked_array(
        [chunk.dictionary_encode() for chunk in plain.chunks],
        pa.dictionary(pa.int32(), pa.string()),
    )  # fmt: skip


@settings(deadline=None)
@given(names, st.integers(0, 12), st.sampled_from(["", "b", "new"]))
def test_codes_are_places_among_sorted_names(values, cut, null):
    filled = [null if value is None else value for value in values]
    expected = sorted(set(filled))
    for column in forms(values, cut):
        actual = index(column, null=null)
        assert actual.names == expected
        assert [actual.names[code] for code in actual.codes] == filled


@settings(deadline=None)
@given(names, st.integers(0, 12), st.lists(st.sampled_from(["", "a", "zz", "none"])))
def test_a_null_is_no_name(values, cut, wanted):
    for column in forms(values, cut):
        assert is_in(column, wanted).to_pylist() == [v is not None and v in wanted for v in values]


@pytest.mark.parametrize("apart", [1, 1_000_000])
def test_pairs_are_in_order_however_far_apart(apart):
    first, second = index(pa.array(["x", "y", "x", "x"])).codes, pa.array([3, 0, 3, 1]).to_numpy()
    actual = index_pairs(first, second * apart)
    assert list(zip(actual.first, actual.second // apart, strict=True)) == [(0, 1), (0, 3), (1, 0)]
    assert actual.codes.tolist() == [1, 2, 1, 0]
