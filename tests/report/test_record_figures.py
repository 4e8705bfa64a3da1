"""Figures of the report that show records, stages, certainty and agreement."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.record_flow import LEAST, TALL, record_flow_svg
from annot_pipeline.report.figures.stage_graph import StageNode, implied_left_out, stage_graph_svg
from annot_pipeline.report.report import QUERIED
from annot_pipeline.report.sections.certainty import bands_by_task
from tests.report.figure_reader import SVG, Figure
from tests.report.report_pages import QUERIES

READ = {("a.csv", "used"): 60, ("b.csv", "used"): 30, ("b.csv", "rejected"): 10}
MADE = {("used", "labels"): 90, ("rejected", "kept in lineage"): 10, ("control", "tests"): 0}


def node_heights(figure: Figure) -> dict[str, float]:
    actual = {}
    for node in figure.parts("node"):
        name = (node.find(f"{SVG}title").text or "").split(":")[0]
        actual[name] = float(node.find(f"{SVG}rect").attrib["height"])
    return actual


def test_bands_are_as_thick_as_there_are_records():
    figure = Figure(record_flow_svg(READ, MADE, {"a.csv": "in 61 rows"}))
    heights = node_heights(figure)
    assert heights == pytest.approx(
        {"a.csv": 0.6 * TALL, "b.csv": 0.4 * TALL, "used": 0.9 * TALL, "rejected": 0.1 * TALL,
         "labels": 0.9 * TALL, "kept in lineage": 0.1 * TALL}
    )  # fmt: skip
    assert sorted(figure.tips()) == sorted([
        "a.csv: 60 records in 61 rows", "b.csv: 40 records", "used: 90 records",
        "rejected: 10 records", "labels: 90 records", "kept in lineage: 10 records",
        "a.csv → used: 60 records", "b.csv → used: 30 records", "b.csv → rejected: 10 records",
        "used → labels: 90 records", "rejected → kept in lineage: 10 records",
    ])  # fmt: skip
    assert figure.root.get("role") == "img"
    assert figure.root.get("aria-label") == "Records by fate: 90 records used, 10 records rejected"


def test_an_export_may_be_named_as_a_fate_is():
    figure = Figure(record_flow_svg({("used", "rejected"): 2, ("rejected", "used"): 1}, {}))
    assert "used → rejected: 2 records" in figure.tips()
    assert "rejected → used: 1 records" in figure.tips()


def test_few_records_are_seen_among_many():
    svg = record_flow_svg({("a", "used"): 1_000_000, ("a", "rejected"): 1}, {})
    bands = [band.find(f"{SVG}path").attrib["d"] for band in Figure(svg).parts("band")]
    tops = [float(re.match(r"M\S+ ([^C]+)C", steps)[1]) for steps in bands]
    bottoms = [float(re.search(r" ([\d.]+)z$", steps)[1]) for steps in bands]
    thick = [bottom - top for top, bottom in zip(tops, bottoms, strict=True)]
    assert thick == pytest.approx([TALL, LEAST], abs=0.02)


def test_no_records_and_impossible_numbers():
    assert "nothing to draw" in record_flow_svg({}, {})
    with pytest.raises(ValueError, match="not negative"):
        record_flow_svg({("a", "used"): -1}, {})


def stage(name: str, reads: str, makes: str, gold: str = "") -> StageNode:
    return StageNode(name, reads.split(), makes.split(), gold.split(), f"tip {name}", f"#{name}")


STAGES = [
    stage("one", "", "a"), stage("two", "a", "b c", "c"), stage("three", "a b", "d", "d"),
    stage("four", "a nowhere", "e"), stage("five", "e d", "f"),
]  # fmt: skip


def test_arrows_that_a_chain_implies_are_left_out():
    assert implied_left_out(STAGES) == [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)]
    figure = Figure(stage_graph_svg(STAGES))
    assert [a.attrib["href"] for a in figure.parts("stage")] == [f"#{s.name}" for s in STAGES]
    assert figure.tips() == [s.tip for s in STAGES]
    heights = {
        s.name: float(a.find(f"{SVG}rect").attrib["y"])
        for s, a in zip(STAGES, figure.parts("stage"), strict=True)
    }
    assert heights["one"] < heights["two"] < heights["three"] < heights["five"]
    assert [t for t in figure.texts if t in ("c", "d")] == ["c", "d"]
    assert "nothing to draw" in stage_graph_svg([])


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


def test_certainty_of_two_tasks():
    figure = Figure(certainty_svg(["x", "<y>"], [[1, 0, 0, 0, 3, 0], [0] * 6], [4, 0], [3, 0]))
    assert figure.words("certain") == ["75.0%"]
    widths = [right - left for left, _, right, _ in figure.boxes("band")]
    assert widths == pytest.approx([115.0, 345.0])
    assert figure.words("task") == ["x", "<y>"]
    assert "nothing to draw" in certainty_svg(["x"], np.zeros((1, 6)), [3], [0])
    with pytest.raises(ValueError, match="shape"):
        certainty_svg(["x"], np.zeros((2, 6)), [0], [0])


def test_agreement_may_be_below_chance_and_without_interval():
    figure = Figure(agreement_svg(
        ["a", "b", "c"], ["alpha"] * 3, [-0.15, 0.5, np.nan], [-0.25, np.nan, np.nan],
        [0.1, np.nan, np.nan],
    ))  # fmt: skip
    assert figure.words("number") == ["\u22120.15", "0.50"]
    assert len(figure.parts("interval")) == 1
    assert figure.words("task") == ["a, alpha", "b, alpha", "c, alpha"]
    assert "nothing to draw" in agreement_svg(["a"], ["s"], [None], [None], [None])
    with pytest.raises(ValueError, match="lengths"):
        agreement_svg(["a"], ["s"], [1, 2], [1], [1])


def test_what_experts_decided_is_a_band_of_its_own():
    decided = [True, False, True, False]
    assert bands_of([0.1, 0.995, None, None], decided) == [0, 0, 0, 0, 1, 2]
    svg = certainty_svg(["x"], [[1, 0, 0, 0, 998, 1]], [1000], [999])
    figure = Figure(svg)
    assert figure.words("certain") == ["99.9%"]
    assert "decided by an expert" in figure.words("key")
    assert "certain or decided" in figure.words("axis")
    assert "decided by an expert" not in certainty_svg(["x"], [[1, 0, 0, 0, 3, 0]], [4], [3])


def test_shares_of_certain_labels_are_not_rounded_to_all():
    figure = Figure(certainty_svg(["x"], [[1, 0, 0, 0, 99_999, 0]], [100_000], [99_999]))
    assert figure.words("certain") == [">99.9%"]
