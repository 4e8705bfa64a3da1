"""Which figures a study has: its numbers, handed to those who draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.comparisons.trueskill import log_match_quality
from annot_pipeline.report.figures import score_histograms_svg
from studies.curves import MEASURES, Correlations, Gains, Interval
from studies.figures.correlation_curves import correlation_curves_svg
from studies.figures.curves import Curve
from studies.figures.match_quality import match_quality_svg
from studies.figures.surprisal import surprisal_svg
from studies.item_asking import BOUNDED
from studies.item_rounds import ItemTask
from studies.surprisal_curves import Surprisal

LABELS = {"spearman": "Spearman's rho", "pearson": "Pearson's r"}
HEATMAPS = (0, 3, 6, 9)
"""Rounds whose match quality is drawn."""
MOST_MATCHED = 300
"""Items whose match quality is drawn."""
MOST_TASKS = 12
"""Tasks whose figures are drawn; all of them are in the tables."""


@dataclass(frozen=True)
class Drawn:
    """One figure with its title."""

    title: str
    svg: str


def curve_figures(correlation: Correlations, interval: Interval, unit: str) -> list[Drawn]:
    """Draw correlations with the oracle by judgments per item or system, a figure per measure."""
    drawings = []
    for n, measure in enumerate(MEASURES):
        curves = [
            Curve(
                method,
                correlation.judgments,
                *(part[n, position] for part in vars(interval).values()),
            )
            for position, method in enumerate(correlation.methods)
        ]
        svg = correlation_curves_svg(
            curves, x_label=f"judgments per {unit}", y_label=LABELS[measure]
        )
        drawings.append(Drawn(f"{LABELS[measure]} with the oracle", svg))
    return drawings


def gain_figure(gain: Gains, correlation: Correlations, unit: str, methods: Sequence[str]) -> Drawn:
    """Draw Spearman's correlation less that of one method, with the interval of the difference.

    Differences beyond -1 and 1, which a few items give by chance, are drawn at -1 and 1.
    """
    places = [correlation.methods.index(method) for method in methods]
    curves = [
        Curve(
            correlation.methods[position], correlation.judgments,
            *(np.clip(part[0, position], -1, 1) for part in vars(gain.difference).values()),
        )
        for position in places
    ]  # fmt: skip
    label = f"{LABELS['spearman']} minus that of {gain.to}"
    svg = correlation_curves_svg(curves, x_label=f"judgments per {unit}", y_label=label)
    return Drawn(f"{label}; intervals over {gain.over}", svg)


def item_figures(task: ItemTask, gamma: float) -> list[Drawn]:
    """Return final scores beside the oracle, and match quality as EASL sees it."""
    final = task.final()
    histograms = [("oracle", task.truth), *((name, final[name]) for name in BOUNDED)]
    by_truth = np.lexsort((np.arange(task.truth.size), task.truth))
    if by_truth.size > MOST_MATCHED:  # a matrix of all pairs of many items fills the memory
        evenly = np.linspace(0, by_truth.size - 1, MOST_MATCHED).round().astype(np.int64)
        by_truth = by_truth[evenly]
    easl = task.first["EASL"]
    panels = [
        (
            f"iteration {n}",
            _match_quality(easl.mode[n][by_truth], easl.variance[n][by_truth], gamma),
        )
        for n in HEATMAPS
        if n < len(easl.mode)
    ]
    suffix = "" if by_truth.size == task.truth.size else f", {MOST_MATCHED} items evenly spread"
    return [
        Drawn(
            "Final scores, first repetition",
            score_histograms_svg(histograms, bins=5, x_label="score"),
        ),
        Drawn(f"Match quality of EASL, first repetition{suffix}", match_quality_svg(panels)),
    ]


def surprisal_figures(surprisal: Surprisal, epsilon: float) -> list[Drawn]:
    """Draw Figs. 2 and 3 of Sakaguchi & Van Durme (2018)."""
    name = f"epsilon {epsilon:g}"

    def panel(title: str, x_label: str, x: Floats, y: Floats) -> tuple[str, str, list[Curve]]:
        return title, x_label, [Curve(name, x, y)]

    t, d = "t", "D"
    gaussian = [
        panel("v, first wins", t, surprisal.t, surprisal.v_win),
        panel("v, tie", t, surprisal.t, surprisal.v_tie),
        panel("w, first wins", t, surprisal.t, surprisal.w_win),
        panel("w, tie", t, surprisal.t, surprisal.w_tie),
    ]
    bounded = [
        panel("1 - p, first wins", d, surprisal.difference, surprisal.win),
        panel("1 - p, tie", d, surprisal.difference, surprisal.tie),
    ]
    return [
        Drawn("TrueSkill: change of mean (v) and of variance (w)", surprisal_svg(gaussian)),
        Drawn("Bounded variant: size of a change", surprisal_svg(bounded)),
    ]


def _match_quality(score: Floats, variance: Floats, gamma: float) -> Floats:
    """Return how informative each pair of items would be, ``(n, n)``."""
    both = log_match_quality(score[:, None], variance[:, None], score, variance, gamma=gamma)
    return np.exp(both)
