"""What item tables say of items: of all, or of those alone that some rows name."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.runtime.listed_items import ListedItems


def table(**columns):
    made = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return pa.table({name: of.dictionary_encode() for name, of in made.items()})


LISTED = table(
    item=["i3", "i1", "i2", "i1", "i9"],
    segment=["s3", "s1", None, "other", "s9"],
    document=["d", "d", None, "other", "d"],
    system=["a", None, "b", "other", "a"],
).append_column("place", pa.array([4, 1, 2, 3, 0]))
ROWS = table(
    item=["i1", None, "i2", "i4", "i1"],
    segment=["said", "said", "said", "said", None],
    document=["said", None, "said", None, None],
    system=["x", "x", None, "x", "x"],
)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_those_that_rows_name_say_what_all_say(size):
    items = [LISTED.slice(at, size) for at in range(0, LISTED.num_rows, size)]
    judged = [ROWS.slice(0, 2), ROWS.slice(2)]
    actual = ListedItems.named(items, judged).describe(ROWS)
    assert actual.equals(ListedItems(LISTED).describe(ROWS))
    assert actual["segment"].to_pylist() == ["s1", "said", "said", "said", "s1"]
    assert actual["document"].to_pylist() == ["d", None, "said", None, "d"]
    assert actual["system"].to_pylist() == ["x", "x", "b", "x", "x"]


def test_columns_hang_on_the_campaign_not_on_what_a_part_names():
    """The bytes of a part would, else, hang on where parts end."""
    strangers = ROWS.slice(3, 1)
    actual = ListedItems.named([LISTED], [strangers]).describe(strangers)
    assert actual.equals(ListedItems(LISTED).describe(strangers))
    nothing = ListedItems.named([LISTED.slice(0, 0)], []).describe(ROWS)
    assert nothing.equals(ROWS)
