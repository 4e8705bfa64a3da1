import pyarrow as pa
import pytest

from annot_pipeline.runtime.indexing import ByTask


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("tasks", [["a", "a", "b", "d"], ["d", "a", "b", "a"]])
def test_rows_of_each_task_in_their_order(tasks, encoded):
    column = pa.chunked_array([tasks[:1], tasks[1:]])
    table = pa.table({"task": column.dictionary_encode() if encoded else column, "n": range(4)})
    rows = ByTask(table)
    for task in ("a", "b", "c", "d"):
        expected = [n for n, of in enumerate(tasks) if of == task]
        assert rows[task]["n"].to_pylist() == expected
        assert rows.only([task])["n"].to_pylist() == expected
        assert rows[task].schema == table.schema
    both = rows.only(["d", "a"])
    assert both["task"].to_pylist() == ["a", "a", "d"]
    assert sorted(both["n"].to_pylist()) == [n for n, of in enumerate(tasks) if of in "ad"]
    assert rows.only("abcd")["task"].to_pylist() == sorted(tasks)
    assert rows.only([]).num_rows == 0


def test_a_table_without_rows():
    rows = ByTask(pa.table({"task": pa.array([], pa.string())}))
    assert rows["a"].num_rows == rows.only(["a"]).num_rows == 0
