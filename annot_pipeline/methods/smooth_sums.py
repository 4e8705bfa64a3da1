"""Sums of match quality over very many items, by interpolation.

For items of one size (alpha + beta of a Beta distribution) the variance is a function of the
score, so match quality is a smooth function of two scores. The scores are cut into panels
narrow against its width; in each, Chebyshev nodes stand for the items (Greengard & Strain 1991
do so for Gauss transforms). Weights of candidates are moved to nodes, sums are worked out at
the nodes of the seeds, and interpolated from there: time is proportional to items plus nodes
squared. The error is below 1e-6 of the sum from gamma .01 and up to 1,000 judgments an item on;
beyond, panels are no longer narrow enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.beta_scores import beta_mode, beta_variance
from annot_pipeline.methods.match_quality import log_match_quality

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NODES = 8
MOST_PANELS = 128
_ANGLE = (2 * np.arange(NODES) + 1) * np.pi / (2 * NODES)
_NODE = np.cos(_ANGLE)
_WEIGHT = (-1.0) ** np.arange(NODES) * np.sin(_ANGLE)
CHUNK = 1 << 21
"""Numbers held at once."""
SMALLEST = 1e-12
"""Of a sum, against its largest term: less is the rounding of weights that cancel."""


@dataclass(frozen=True, eq=False)
class States:
    """Beta distributions of items; arrays are ``(n_items,)``.

    Parameters
    ----------
    alpha, beta
        Their parameters.
    score, variance
        Mode and variance.
    """

    alpha: Floats
    beta: Floats
    score: Floats
    variance: Floats

    def of(self, items: Codes) -> States:
        """The states of some items."""
        return States(*(getattr(self, name)[items] for name in self.__dataclass_fields__))


def states(alpha: Floats, beta: Floats) -> States:
    """States with their modes and variances."""
    return States(alpha, beta, beta_mode(alpha, beta), beta_variance(alpha, beta))


@dataclass(frozen=True, eq=False)
class Panels:
    """Items by size and range of scores.

    Parameters
    ----------
    cell
        ``(n_items,)`` codes of the panels that hold items, by size, then by score.
    size, middle
        ``(n_cells,)`` alpha + beta of a panel's items, and its middle.
    half
        Half the width of a panel.
    """

    cell: Codes
    size: Floats
    middle: Floats
    half: float


def panels(items: States, gamma: float) -> Panels:
    """Panels so narrow that match quality changes little within one."""
    narrowest = 2 * gamma * gamma + 2 * float(items.variance.min())
    lowest, highest = float(items.score.min()), float(items.score.max())
    n_panels = int(np.clip(np.ceil((highest - lowest) / narrowest), 1, MOST_PANELS))
    width = max(highest - lowest, 1e-9) / n_panels
    sizes, size = np.unique(np.round(items.alpha + items.beta, 9), return_inverse=True)
    panel = np.minimum(((items.score - lowest) / width).astype(np.int64), n_panels - 1)
    held, cell = np.unique(size * n_panels + panel, return_inverse=True)
    middle = lowest + (held % n_panels + 0.5) * width
    return Panels(cell, sizes[held // n_panels], np.asarray(middle, np.float64), width / 2)


def log_sums(seeds: States, candidates: States, gamma: float) -> Floats:
    """``(n_seeds,)`` logarithm of the summed match quality with all candidates."""
    of_seeds, of_candidates = panels(seeds, gamma), panels(candidates, gamma)
    n_cells = of_candidates.size.size
    weight = np.zeros((n_cells, NODES))
    for node, share in enumerate(_shares(candidates.score, of_candidates)):
        weight[:, node] = np.bincount(of_candidates.cell, weights=share, minlength=n_cells)
    at, others = _nodes(of_seeds), _nodes(of_candidates)
    summed = np.empty(at.score.size)
    step = max(CHUNK // others.score.size, 1)
    for start in range(0, summed.size, step):
        part = slice(start, start + step)
        log_q = log_match_quality(
            at.score[part, None], at.variance[part, None], others.score, others.variance,
            gamma=gamma,
        )  # fmt: skip
        base = log_q.max(axis=1)
        # summed by numpy: BLAS would give other last digits with other numbers of threads
        total = (np.exp(log_q - base[:, None]) * weight.reshape(-1)).sum(axis=1)
        summed[part] = base + np.log(np.maximum(total, SMALLEST))
    found = np.zeros(seeds.score.size)
    for node, share in enumerate(_shares(seeds.score, of_seeds)):
        found += share * summed.reshape(-1, NODES)[of_seeds.cell, node]
    return found


def _nodes(given: Panels) -> States:
    """States at the nodes of all panels."""
    score = np.clip(given.middle[:, None] + given.half * _NODE, 0, 1).reshape(-1)
    size = np.repeat(given.size, NODES)
    alpha = 1 + (size - 2) * score
    return States(alpha, size - alpha, score, beta_variance(alpha, size - alpha))


def _shares(score: Floats, given: Panels) -> list[Floats]:
    """For each node the share ``(n_items,)`` that it has in an item (barycentric formula)."""
    x = (score - given.middle[given.cell]) / given.half
    away = [x - node for node in _NODE]
    on = [distance == 0 for distance in away]
    total = np.zeros_like(x)
    for weight, distance, here in zip(_WEIGHT, away, on, strict=True):
        total += np.divide(weight, distance, where=~here, out=np.zeros_like(x))
    any_on = np.logical_or.reduce(on)
    shares = []
    for weight, distance, here in zip(_WEIGHT, away, on, strict=True):
        share = np.divide(weight, distance * total, where=~any_on, out=np.zeros_like(x))
        shares.append(np.where(any_on, here.astype(np.float64), share))
    return shares
