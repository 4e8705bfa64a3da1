"""Sums of match quality over very many items, by interpolation.

For items of one size (alpha + beta of a Beta distribution) the variance is a function of the
score, so match quality is a smooth function of two scores. The scores are cut into panels
narrow against its width; in each, Chebyshev nodes stand for the items (Greengard & Strain 1991
do so for Gauss transforms). Where sizes are many, ranges of variances take their place, and nodes
are pairs of a score and a variance: more items are no more nodes. Weights of candidates are moved
to nodes, sums are worked out at the nodes of the seeds, and interpolated from there: time is
proportional to items plus nodes squared. The error is below 1e-6 of the sum from gamma .01 and up
to 1,000 judgments an item on; beyond, panels are no longer narrow enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons.match_quality import log_match_quality
from annot_pipeline.methods.scores.beta_scores import beta_mode, beta_variance

NODES = 8
MOST_PANELS = 128
MOST_SIZES = 64
"""Sizes that have panels of their own."""
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

    def take(self, items: Codes) -> States:
        """Return the states of some items."""
        return States(*(getattr(self, name)[items] for name in self.__dataclass_fields__))


def states(alpha: Floats, beta: Floats) -> States:
    """Return states with their modes and variances."""
    return States(alpha, beta, beta_mode(alpha, beta), beta_variance(alpha, beta))


@dataclass(frozen=True, eq=False)
class Panels:
    """Items by range of scores, and by size or range of variances.

    Parameters
    ----------
    cell
        ``(n_items,)`` codes of the panels that hold items.
    middle, half
        ``(n_cells,)`` middle of a panel's scores, and half its width.
    score, variance
        ``(n_cells, n_nodes)`` at the nodes.
    of_variance
        Middle and half width of a panel's variances, where a panel holds several sizes: then
        nodes are all pairs of 8 variances and 8 scores.
    """

    cell: Codes
    middle: Floats
    half: Floats
    score: Floats
    variance: Floats
    of_variance: tuple[Floats, Floats] | None = None

    def shares(self, items: States) -> Iterator[Floats]:
        """Yield for each node the share ``(n_items,)`` that it has in an item."""
        of_scores = _shares((items.score - self.middle[self.cell]) / self.half[self.cell])
        if self.of_variance is None:
            yield from of_scores
            return
        middle, half = self.of_variance
        for of_variance in _shares((items.variance - middle[self.cell]) / half[self.cell]):
            for of_score in of_scores:
                yield of_variance * of_score


def panels(items: States, gamma: float) -> Panels:
    """Return panels so narrow that match quality changes little within one."""
    sizes, size = np.unique(np.round(items.alpha + items.beta, 9), return_inverse=True)
    if sizes.size > MOST_SIZES:
        return _by_variance(items, gamma)
    narrowest = 2 * gamma * gamma + 2 * float(items.variance.min())
    lowest, highest = float(items.score.min()), float(items.score.max())
    n_panels = int(np.clip(np.ceil((highest - lowest) / narrowest), 1, MOST_PANELS))
    width = max(highest - lowest, 1e-9) / n_panels
    panel = np.minimum(((items.score - lowest) / width).astype(np.int64), n_panels - 1)
    panel_codes, cell = np.unique(size * n_panels + panel, return_inverse=True)
    middle = np.asarray(lowest + (panel_codes % n_panels + 0.5) * width, np.float64)
    score = np.clip(middle[:, None] + width / 2 * _NODE, 0, 1)
    of_size = sizes[panel_codes // n_panels][:, None]
    alpha = 1 + (of_size - 2) * score
    variance = beta_variance(alpha, of_size - alpha)
    return Panels(cell, middle, np.full(panel_codes.size, width / 2), score, variance)


def _by_variance(items: States, gamma: float) -> Panels:
    """Return panels of variances of which the highest spreads twice as far as the lowest.

    Spread is the part 2 gamma^2 + var_i of c^2 that is the item's own: panels of scores are half
    its root wide. Their number does not depend on that of the items.
    """
    chain = 2 * gamma * gamma
    spread = chain + items.variance
    octave = np.log2(spread / spread.min()).astype(np.int64)
    lowest, highest = float(items.score.min()), float(items.score.max())
    least = spread.min() * 2.0 ** np.arange(octave.max() + 1)
    n_panels = np.clip(np.ceil((highest - lowest) / (np.sqrt(least) / 2)), 1, MOST_PANELS)
    width = max(highest - lowest, 1e-9) / n_panels
    panel = np.minimum((items.score - lowest) / width[octave], n_panels[octave] - 1)
    panel_codes, cell = np.unique(
        octave * MOST_PANELS + panel.astype(np.int64), return_inverse=True
    )
    held_octave, held_panel = np.divmod(panel_codes, MOST_PANELS)
    half = np.asarray(width[held_octave] / 2, np.float64)
    middle = np.asarray(lowest + (2 * held_panel + 1) * half, np.float64)
    of_variance = 1.5 * least[held_octave] - chain, 0.5 * least[held_octave]
    score, variance = (
        centre[:, None] + reach[:, None] * np.asarray(node)
        for centre, reach, node in (
            (middle, half, np.tile(_NODE, NODES)),
            (*of_variance, np.repeat(_NODE, NODES)),
        )
    )
    return Panels(cell, middle, half, score, variance, of_variance)


def log_sums(seeds: States, candidates: States, gamma: float) -> Floats:
    """Return the logarithm of the summed match quality with all candidates, ``(n_seeds,)``."""
    of_seeds, of_candidates = panels(seeds, gamma), panels(candidates, gamma)
    weight = np.stack(
        [
            np.bincount(of_candidates.cell, weights=share, minlength=of_candidates.middle.size)
            for share in of_candidates.shares(candidates)
        ],
        axis=1,
    )
    at = of_seeds.score.reshape(-1), of_seeds.variance.reshape(-1)
    points = of_candidates.score.reshape(-1), of_candidates.variance.reshape(-1)
    summed = np.empty(at[0].size)
    step = max(CHUNK // points[0].size, 1)
    for start in range(0, summed.size, step):
        score, variance = (values[start : start + step, None] for values in at)
        log_q = log_match_quality(score, variance, *points, gamma=gamma)
        base = log_q.max(axis=1)
        # summed by numpy: BLAS would give other last digits with other numbers of threads
        total = (np.exp(log_q - base[:, None]) * weight.reshape(-1)).sum(axis=1)
        summed[start : start + step] = base + np.log(np.maximum(total, SMALLEST))
    log_total = np.zeros(seeds.score.size)
    for node, share in enumerate(of_seeds.shares(seeds)):
        log_total += share * summed.reshape(of_seeds.score.shape)[of_seeds.cell, node]
    return log_total


def _shares(x: Floats) -> list[Floats]:
    """Return for each node the share ``(n_items,)`` that it has at x (barycentric formula)."""
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
