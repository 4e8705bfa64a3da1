"""Reads figures back, and draws every kind of them with given names."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree

import numpy as np

from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    judge_accuracy_svg,
    judge_differences_svg,
    p_against_seconds_svg,
    prevalence_svg,
    ranking_svg,
    reliability_svg,
    score_histograms_svg,
    seconds_by_length_svg,
    segment_graph_svg,
    win_matrix_svg,
)
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.records_by_fate import records_by_fate_svg

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


class Figure:
    """An SVG, read."""

    def __init__(self, svg: str) -> None:
        assert svg.startswith("<svg ")
        self.svg = svg
        self.root = ElementTree.fromstring(svg)

    @property
    def texts(self) -> list[str]:
        return [element.text or "" for element in self.root.iter(f"{SVG}text")]

    @property
    def note(self) -> str:
        """The small print."""
        return " ".join(self.words("note"))

    @property
    def width(self) -> float:
        return float(self.root.attrib["width"])

    @property
    def height(self) -> float:
        return float(self.root.attrib["height"])

    def parts(self, name: str) -> list[ElementTree.Element]:
        return [e for e in self.root.iter() if e.get("data-part") == name]

    def words(self, part: str) -> list[str]:
        return [t.text or "" for p in self.parts(part) for t in p.iter(f"{SVG}text")]

    def points(self, part: str) -> list[tuple[float, float]]:
        """Places of markers, px."""
        return [
            (float(use.attrib["x"]), float(use.attrib["y"]))
            for p in self.parts(part)
            for use in p.iter(f"{SVG}use")
        ]

    def boxes(self, part: str) -> list[tuple[float, float, float, float]]:
        """Left, top, right and bottom of each path, px."""
        boxes = []
        for p in self.parts(part):
            for path in p.iter(f"{SVG}path"):
                values = [float(n) for n in NUMBER.findall(path.attrib["d"])]
                x, y = values[::2], values[1::2]
                boxes.append((min(x), min(y), max(x), max(y)))
        return boxes

    @property
    def ids(self) -> list[str]:
        return [element.attrib["id"] for element in self.root.iter() if "id" in element.attrib]

    @property
    def references(self) -> list[str]:
        return re.findall(r'(?:href="#|url\(#)([^")]+)', self.svg)


def figures_of(names: list[str], seed: int = 0) -> dict[str, str]:
    """Every kind of figure, with these names wherever a name can be."""
    rng, n = np.random.default_rng(seed), len(names)
    shares = rng.dirichlet(np.ones(n))
    p = rng.random((n, n))
    scores = np.sort(rng.normal(size=n))[::-1]
    verdicts = ["passed", "failed", "undetermined", "untested"] * n
    right = rng.random(20) < 0.7
    curve = reliability(rng.random(20), right, right)
    chain = [(k, k + 1, 1) for k in range(n - 1)]
    counts = rng.integers(1, 9, (n, 6))
    fates = [(name, fate) for name in names for fate in ("used", "rejected", name)]
    return {
        "control": p_against_seconds_svg(
            rng.lognormal(size=n), [None, *rng.random(n - 1)], verdicts[:n], 0.05
        ),
        "accuracy": judge_accuracy_svg(
            names, np.arange(1, n + 1) * 40, rng.random(n), verdicts[:n], 0.5
        ),
        "differences": judge_differences_svg(rng.random(10), rng.normal(size=12), names[-1]),
        "differences first": judge_differences_svg(rng.random(10), [1.0], names[0]),
        "confusion": confusion_svg(names, rng.dirichlet(np.ones(n), (n, n)), names),
        "prevalence": prevalence_svg(names, shares, shares[::-1], shares),
        "ranking": ranking_svg(names, scores, scores - 1, scores + 1, range(n), names[0]),
        "comparison": comparison_matrix_svg(names, p, p < 0.05, 0.05),
        "wins": win_matrix_svg(names, rng.integers(1, 9, (n, n))),
        "agreement": agreement_svg(names, names, shares, shares / 2, shares * 1.5),
        "certainty": certainty_svg(names, counts, counts.sum(axis=1), counts[:, 5]),
        "reliability": reliability_svg(names[:2], [curve, curve]),
        "records": records_by_fate_svg(
            dict(zip(fates, rng.integers(1, 9, 3 * n).tolist(), strict=True))
        ),
        "segment": segment_graph_svg(
            names, chain, range(n), range(n, 0, -1), range(1, n + 1), segment=names[0]
        ),
        "seconds": seconds_by_length_svg(
            [1, 2, 3], names[:6], rng.random((min(n, 6), 3)), np.ones((min(n, 6), 3)),
            y_label=names[1],
        ),
        "histograms": score_histograms_svg(
            [(name, rng.random(9)) for name in names], x_label=names[0], title=names[1]
        ),
    }  # fmt: skip


def digest(names: list[str]) -> str:
    return hashlib.sha256("".join(figures_of(names).values()).encode()).hexdigest()
