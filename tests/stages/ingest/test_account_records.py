"""Every record of every export has one fate, and what is lost is missed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.contracts import FATES
from annot_pipeline.stages.shared.account_records import (
    RowCounts,
    account,
    hashes_of_rows,
    whole_account,
)

H = [int(n) for n in hashes_of_rows(pa.chunked_array([range(8)]))]
FILE = {
    "source_order": 0, "file_order": 0, "source_file": "a.csv", "rows": 3, "records": 4,
    "rows_with_records": 3, "row_hashes": H[1] + H[2] + H[3] + H[3], "unaccounted_lines": 0,
}  # fmt: skip
OTHER = FILE | {"file_order": 1, "source_file": "b.csv", "rows": 0, "records": 0,
                "rows_with_records": 0, "row_hashes": 0, "unaccounted_lines": 0}  # fmt: skip


def settled(*rows):
    """Rows of (row, fate, reason) of a.csv."""
    return pa.table({
        "source_order": [0] * len(rows), "source_file": ["a.csv"] * len(rows),
        "source_row": [row for row, *_ in rows], "fate": [fate for _, fate, _ in rows],
        "reason": pa.array([reason for *_, reason in rows], pa.string()),
    })  # fmt: skip


STRANGE = account([pa.table({
    "source_order": [0], "source_file": ["c.csv"], "source_row": [1], "fate": ["used"],
    "reason": pa.array([None], pa.string()),
})])[0]  # fmt: skip
ONE = settled((1, "used", None), (2, "rejected", "assignment was rejected: 'Rejected'"))
TWO = settled((3, "used", None), (3, "rejected", "score is blank"))


def test_parts_add_up():
    first, second = whole_account([FILE, OTHER], [account([ONE]), account([TWO])])
    assert first["adds_up"]
    assert first["records"] == first["records_read"] == 4
    assert (first["used"], first["rejected"], first["rejected_assignments"]) == (2, 2, 1)
    assert sum(first[fate] for fate in FATES) == 4
    assert second["adds_up"]
    assert second["source_file"] == "b.csv"
    assert second["records"] == 0
    assert account([ONE, TWO]) == account([pa.concat_tables([TWO, ONE])])


@pytest.mark.parametrize(
    "parts",
    [
        [ONE],  # two are lost
        [ONE, TWO, TWO],  # two are there twice
        [settled((1, "used", None), (1, "used", None)), TWO],  # one stands for another
        [ONE, settled((3, "used", None), (4, "used", None))],
        [settled(*((row, "used", None) for row in (2, 2, 2, 3)))],  # the same sum of numbers
    ],
)
def test_what_is_lost_or_doubled_is_missed(parts):
    [actual] = whole_account([FILE], [account([part]) for part in parts])
    assert not actual["adds_up"]


def test_records_of_no_known_export_do_not_add_up():
    [file, stranger] = whole_account([FILE], [account([ONE, TWO]), [STRANGE]])
    assert file["adds_up"]
    assert not stranger["adds_up"]
    assert stranger["source_file"] == "c.csv"


def test_a_row_without_records_is_missed():
    [actual] = whole_account([FILE | {"rows": 4}], [account([ONE, TWO])])
    assert not actual["adds_up"]
    assert actual["rows_read"] == 4


def test_rows_are_counted_in_any_order():
    """Of a table that a reader turns on its side, records of a row do not follow each other."""
    counts = RowCounts()
    for rows in ([1, 2, 3, 1, 2, 3], [], [4]):
        records = pa.table({"row": pa.array(rows, pa.int64())})
        assert counts.counted(records) is records
    assert (counts.n, counts.hashes) == (4, 2 * (H[1] + H[2] + H[3]) + H[4])
