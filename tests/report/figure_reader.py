"""Reads figures back, and draws every kind of them with given names."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree

import numpy as np

from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    convergence_svg,
    judge_differences_svg,
    p_against_seconds_svg,
    prevalence_svg,
    ranking_svg,
)

SVG = "{http://www.w3.org/2000/svg}"


class Figure:
    """An SVG, read."""

    def __init__(self, svg: str) -> None:
        assert svg.startswith("<svg ")
        self.svg = svg
        self.root = ElementTree.fromstring(svg)

    @property
    def texts(self) -> list[str]:
        return [element.text or "" for element in self.root.iter(f"{SVG}text")]

    def parts(self, name: str) -> list[ElementTree.Element]:
        return [e for e in self.root.iter() if e.get("data-part") == name]

    def words(self, part: str) -> list[str]:
        return [t.text or "" for p in self.parts(part) for t in p.iter(f"{SVG}text")]

    def points(self, part: str) -> list[tuple[float, float]]:
        return [
            (float(use.attrib["x"]), float(use.attrib["y"]))
            for p in self.parts(part)
            for use in p.iter(f"{SVG}use")
        ]

    def boxes(self, part: str) -> list[tuple[float, float, float, float]]:
        """Left, top, right and bottom."""
        number = r"(-?[\d.]+)"
        shapes = re.compile(f"M{number} {number}H{number}V{number}H\\1z")
        actual = []
        for p in self.parts(part):
            for path in p.iter(f"{SVG}path"):
                whole = shapes.sub("", path.attrib["d"])
                assert whole == "", f"not rectangles only: {whole}"
                actual += [tuple(map(float, box)) for box in shapes.findall(path.attrib["d"])]
        return actual  # type: ignore[return-value]

    def tips(self) -> list[str]:
        return [element.text or "" for element in self.root.iter(f"{SVG}title")]

    @property
    def ids(self) -> list[str]:
        return [element.attrib["id"] for element in self.root.iter() if "id" in element.attrib]

    @property
    def references(self) -> list[str]:
        return re.findall(r'(?:href="#|url\(#)([^")]+)', self.svg)


def trace(n: int, rate: float = 0.5) -> list[float]:
    """Log posteriors that rise to 0."""
    return [-1000 * float(np.exp(-rate * step)) for step in range(n)]


def fits(names: list[str], rate: float = 0.5) -> list[dict[str, object]]:
    """Fits of which the second did not converge, each of one more iteration than the last."""
    return [
        {"task": name, "trace": trace(5 + n, rate), "converged": n != 1}
        for n, name in enumerate(names)
    ]


def figures_of(names: list[str], seed: int = 0) -> dict[str, str]:
    """Every kind of figure, with these names wherever a name can be."""
    rng, n = np.random.default_rng(seed), len(names)
    shares = rng.dirichlet(np.ones(n))
    p = rng.random((n, n))
    scores = np.sort(rng.normal(size=n))[::-1]
    verdicts = ["passed", "failed", "undetermined", "untested"] * n
    return {
        "convergence": convergence_svg(fits(names, 0.5 + seed)),
        "convergence few": convergence_svg(fits(names[:3], 0.5 + seed)),
        "control": p_against_seconds_svg(
            rng.lognormal(size=n), [None, *rng.random(n - 1)], verdicts[:n], 0.05, judges=names
        ),
        "differences": judge_differences_svg(rng.random(10), rng.normal(size=12), names[-1]),
        "differences first": judge_differences_svg(rng.random(10), [1.0], names[0]),
        "confusion": confusion_svg(names, rng.dirichlet(np.ones(n), (n, n)), names),
        "prevalence": prevalence_svg(names, shares, shares[::-1], shares),
        "ranking": ranking_svg(names, scores, scores - 1, scores + 1, range(n), names[0]),
        "comparison": comparison_matrix_svg(names, p, p < 0.05, 0.05),
    }


def digest(names: list[str]) -> str:
    return hashlib.sha256("".join(figures_of(names).values()).encode()).hexdigest()
