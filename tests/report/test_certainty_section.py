"""Labels fall into bands of probability, and the report says how the probability came about."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.report import QUERIED
from annot_pipeline.report.sections.certainty import bands_by_task
from tests.report.report_pages import QUERIES


def bands_of(probability: Sequence[float | None], decided: Sequence[bool] = ()) -> list[int]:
    """Labels of a task in each band, by the report's query."""
    rows = {
        "task": ["x"] * len(probability),
        "item": [f"i{n}" for n in range(len(probability))],
        "probability": pa.array(probability, pa.float64()),
        "adjudicated": decided or [False] * len(probability),
    }
    labels = pa.table({
        name.name: pa.array(rows[name.name], name.type) if name.name in rows
        else pa.nulls(len(probability), name.type)
        for name in GOLD["labels"].empty().schema
    })  # fmt: skip
    inputs = {"labels": labels, "items": GOLD["items"].empty()}
    actual = QUERIES.table("report/label_counts", inputs, QUERIED["label_counts"])
    tasks, counts = bands_by_task(actual.to_pylist())
    assert tasks == ["x"]
    return counts[0].tolist()


def test_bands_of_probability_hold_their_lower_end():
    probability = [0.1, 0.4999, 0.5, 0.79, 0.8, 0.95, 0.9899, 0.99, 1.0, None]
    assert bands_of(probability) == [2, 2, 1, 2, 2, 0]


def test_what_experts_decided_is_a_band_of_its_own():
    decided = [True, False, True, False]
    assert bands_of([0.1, 0.995, None, None], decided) == [0, 0, 0, 0, 1, 2]
