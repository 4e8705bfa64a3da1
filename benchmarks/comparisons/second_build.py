"""`annot build` of a campaign with one new file, against a build of the same exports from nothing.

The file has as many judgments as each task's, labels of items that are new to one of the tasks. No
control is among them: what tests judges would touch all tasks in which they judge.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
from pyarrow import csv

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.exports import Shape, label_rows
from benchmarks.kept_exports import copied, kept_campaign
from benchmarks.processes import annot_build, build_in_place

TASKS = 100


def shape_of(n: int) -> Shape:
    """Half labels, half scores, in tasks of one size."""
    return Shape(labels=n // 2, scores=n // 2, comparisons=0, tasks=TASKS // 2)


def draw_campaign(n: int) -> Path:
    """Path of a campaign."""
    return kept_campaign(shape_of(n))


def with_new_file(campaign: Path) -> Path:
    """Path of a copy of the campaign, with the store of its build, and one file more."""
    copy = copied(campaign)
    exports = copy.parent / "exports"
    rows = csv.read_csv(exports / "labels-00.csv").num_rows
    late = label_rows(Shape(seed=18), 0, rows)
    position = late.column_names.index("item")
    late = late.set_column(position, "item", pc.replace_substring(late["item"], "item", "late"))
    csv.write_csv(late, exports / "labels-00-late.csv")
    return copy


def second(campaign: Path) -> Work:
    """Gold of the second build."""
    path = with_new_file(campaign)

    def work() -> Path:
        build_in_place(path)
        return path.parent / "gold"

    return work


def cold(campaign: Path) -> Work:
    """Gold of a build of the same exports from nothing."""
    return annot_build(with_new_file(campaign))


COMPARISON = Comparison(
    f"annot build after one new file of 1%, which touches one of {TASKS} equal tasks, half of them "
    "labels, half scores",
    "judgments",
    sizes=(1_000_000,),
    quick=(100_000,),
    draw=draw_campaign,
    keep=build_in_place,
    ways=(Way("annot build, one new file of 1%", second), Way("annot build, cold", cold)),
)
