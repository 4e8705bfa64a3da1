"""Tables of the contract, made of columns or rows."""

from __future__ import annotations

import pytest

from annot_pipeline.contracts import GOLD


def test_a_table_of_rows_is_sorted_by_its_key_and_null_where_a_row_lacks_a_value():
    rows = [
        {"item": "b", "text": "second"},
        {"item": "a", "segment": "s"},
    ]
    table = GOLD["items"].from_rows(rows)
    assert table.schema == GOLD["items"].schema
    assert table["item"].to_pylist() == ["a", "b"]
    assert table["text"].to_pylist() == [None, "second"]
    assert table["segment"].to_pylist() == ["s", None]


def test_a_table_of_no_rows_is_empty():
    assert GOLD["items"].from_rows([]) == GOLD["items"].empty()


def test_a_column_that_the_table_does_not_have_is_refused():
    with pytest.raises(ValueError, match="items has no columns"):
        GOLD["items"].from_columns({"item": ["a"], "of_no_column": [1]})
    with pytest.raises(ValueError, match="items has no columns"):
        GOLD["items"].from_rows([{"item": "a"}, {"item": "b", "of_no_column": 1}])
