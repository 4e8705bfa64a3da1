"""What `annot validate` counts of a field."""

import pyarrow as pa
import pytest

from annot_pipeline.commands.validate import filled_cells


def column(*chunks, encoded=False):
    arrays = [pa.array(chunk, pa.string()) for chunk in chunks]
    return pa.chunked_array([a.dictionary_encode() if encoded else a for a in arrays], None)


@pytest.mark.parametrize("encoded", [False, True])
def test_cells_that_are_not_blank_in_the_order_in_which_they_come(encoded):
    files = [
        column(["b", "a", None], ["a", " "], encoded=encoded),
        column(["\u00a0\t", "b", "c "], encoded=encoded),
    ]
    filled, values = filled_cells(files)
    assert filled == 5
    assert values.to_pylist() == ["b", "a", "c "]


def test_numbers_and_nothing():
    filled, values = filled_cells([pa.chunked_array([[1.0, None, 2.5], [1.0]])])
    assert (filled, values.to_pylist()) == (3, [1.0, 2.5])
    assert filled_cells([pa.chunked_array([[0.0, -0.0]])])[1].to_pylist() == [0.0]
    assert filled_cells([])[0] == 0
    empty = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    assert filled_cells([empty])[1].to_pylist() == []
