"""Tables of a study: percent, examples, csv."""

from __future__ import annotations

import csv
import io

import numpy as np

from studies.tables import Table, example_items, percent


def test_percent_is_rounded_half_up() -> None:
    # 100 x .2855 is 28.549999999999997
    shares = (1, 0.9285, 0.3215, 0.2855, 0.1249, 0.00049, 0.0005, 0, 0.78575)
    assert [percent(share) for share in shares] == [
        "100.0", "92.9", "32.2", "28.6", "12.5", "0.0", "0.1", "0.0", "78.6",
    ]  # fmt: skip


def test_examples_are_the_ends_of_each_fifth() -> None:
    truth = np.array([0.0, 0.1, 0.19, 0.2, 0.59, 0.6, 0.8, 0.95, 1.0, 1.0])
    assert example_items(truth) == [8, 6, 5, 4, 3, 2, 0]
    assert example_items(np.array([0.3])) == [0]


def test_a_table_as_csv() -> None:
    table = Table("t", ("a", "b"), (("x,\n", 0.123456789), (1, float("nan")), (None, -0.0)))
    assert table.csv() == b'a,b\n"x,\n",0.123457\n1,\n,0\n'
    assert list(csv.reader(io.StringIO(table.csv().decode())))[1][0] == "x,\n"
