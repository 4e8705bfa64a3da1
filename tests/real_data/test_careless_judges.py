"""Judges of labels who fail without known answers, on public sets with truths.

What the others get right falls on no set by more than .005; who fails is right less often than the
others are.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from annot_pipeline.config import Quality
from annot_pipeline.contracts import VERDICTS
from annot_pipeline.methods.dawid_skene import dawid_skene
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.label_judges import LabelJudges, label_judges

Rows = list[tuple[str, str, str]]
MOST_LOST = 0.005


def of_pair(name: str, answers: str) -> Callable[[Path], tuple[Rows, dict[str, str]]]:
    def read(data: Path) -> tuple[Rows, dict[str, str]]:
        folder = data / name
        with (folder / answers).open() as file, (folder / "truth.csv").open() as truth:
            rows = [(row[0], row[1], row[2]) for row in list(csv.reader(file))[1:]]
            return rows, {row[0]: row[1] for row in csv.reader(truth)}

    return read


def of_snow(name: str) -> Callable[[Path], tuple[Rows, dict[str, str]]]:
    def read(data: Path) -> tuple[Rows, dict[str, str]]:
        path = data / "snow2008" / "all_collected_data" / f"{name}.standardized.tsv"
        with path.open() as file:
            table = list(csv.reader(file, delimiter="\t"))[1:]
        return [(r[2], r[1], r[3]) for r in table], {r[2]: r[4] for r in table}

    return read


SETS = {
    "zencrowd": (of_pair("zencrowd-us", "label.csv"), 3),
    "barzan": (of_pair("barzan", "label.csv"), 1),
    "dogs": (of_pair("dog-4class", "answer.csv"), 0),
    "faces": (of_pair("face-sentiment", "answer.csv"), 0),
    "rte": (of_snow("rte"), 7),
    "temp": (of_snow("temp"), 5),
    "wsd": (of_snow("wsd"), 0),
}
"""How a set is read, and how many judges fail."""


def verdicts(rows: Rows) -> tuple[list[str], LabelJudges]:
    items, judges, labels = zip(*rows, strict=True)
    table = pa.table({
        "task": ["t"] * len(rows), "judge_id": [*judges], "item": [*items], "label": [*labels],
        "adjudicated": [False] * len(rows),
    })  # fmt: skip
    units = Units.of_controls(table, Quality())
    return units.judge.names, label_judges(table, {}, set(), units, Quality())


def shares_right(rows: Rows, truths: dict[str, str]) -> tuple[float, float]:
    """Return the share of items of which majority (ties in parts) and Dawid-Skene are right."""
    codes = [np.unique(column, return_inverse=True) for column in zip(*rows, strict=True)]
    (items, i), (judges, j), (labels, c) = codes
    votes = np.zeros((items.size, labels.size))
    np.add.at(votes, (i, c), 1)
    top: npt.NDArray[np.bool_] = votes == votes.max(axis=1, keepdims=True)
    posterior = dawid_skene(
        i, j, c, n_items=items.size, n_judges=judges.size, n_labels=labels.size
    ).posterior
    at = {label: n for n, label in enumerate(labels.tolist())}
    some = [(n, at[truths[x]]) for n, x in enumerate(items.tolist()) if truths.get(x) in at]
    n, truth = np.array(some).T
    majority = (top[n, truth] / top[n].sum(axis=1)).sum() / len(some)
    return majority, (posterior[n].argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("name", SETS)
def test_without_them_labels_are_no_worse(name: str, shared_data: Path) -> None:
    read, n_failed = SETS[name]
    rows, truths = read(shared_data)
    names, result = verdicts(rows)
    failed = {
        judge
        for judge, code in zip(names, result.verdict.tolist(), strict=True)
        if VERDICTS[code] == "failed"
    }
    assert len(failed) == n_failed
    assert result.suspected_share == 0
    before = shares_right(rows, truths)
    after = shares_right([row for row in rows if row[1] not in failed], truths)
    for share_before, share_after in zip(before, after, strict=True):
        assert share_after >= share_before - MOST_LOST
    if failed:
        right = {
            has_failed: np.mean([r[2] == truths[r[0]] for r in rows
                                 if (r[1] in failed) == has_failed and r[0] in truths])
            for has_failed in (True, False)
        }  # fmt: skip
        assert right[True] < right[False] - 0.05
