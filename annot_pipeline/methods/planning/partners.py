"""Partners drawn by match quality, without a matrix of all pairs.

For items of one size (alpha + beta of a Beta distribution) the variance is a function of the
score, so match quality is a smooth function of two scores. The scores are cut into panels
narrow against its width; in each, Chebyshev nodes stand for the items (Greengard & Strain 1991
do so for Gauss transforms). Where sizes are many, ranges of variances take their place, and nodes
are pairs of a score and a variance: more items are no more nodes. Weights of candidates are moved
to nodes, sums are worked out at the nodes of the seeds, and interpolated from there: time is
proportional to items plus nodes squared. The error is below 1e-6 of the sum from gamma .01 and up
to 1,000 judgments an item on; beyond, panels are no longer narrow enough.

Beside each seed, partners are drawn one after another without replacement, each with
probability proportional to its match quality with the seed among the candidates that are left
(Algorithm 1 of Sakaguchi & Van Durme 2018, lines 16 to 19). Few candidates are all weighed.
Many are sorted into cells: a cell is drawn by an upper bound of its candidates' match quality,
one of its candidates evenly, and that one is taken with probability match quality over bound.
What is taken has the exact distribution, however loose the bound; the cells decide the speed
alone. The sum over all candidates, which the probability of a draw is divided by, is a smooth
function of the seed and is interpolated (`smooth_sums`).

Memory is proportional to the items, time to seeds times cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons.trueskill import log_match_quality
from annot_pipeline.methods.scores.easl import beta_mode, beta_variance

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


FEW = 2048
"""Candidates that are all weighed."""


ROUNDS = 50
"""Rounds of tries before all candidates are weighed after all."""


@dataclass(frozen=True, eq=False)
class Partners:
    """Arrays are ``(n_seeds, n_partners)``.

    Parameters
    ----------
    candidate
        Places among the candidates, in the order drawn.
    log_probability
        Logarithm of the probability of each draw, given those before it.
    """

    candidate: Codes
    log_probability: Floats


def draw_partners(
    seeds: States,
    candidates: States,
    *,
    n_partners: int,
    gamma: float,
    rng: np.random.Generator,
    few: int = FEW,
) -> Partners:
    """Draw partners for every seed out of the same candidates.

    Parameters
    ----------
    seeds, candidates
        No item is among both.
    n_partners
        Partners of each seed, all different.
    gamma
        Skill chain of the match quality.
    rng
        Source of all randomness.
    few
        Up to so many candidates are all weighed.

    Raises
    ------
    ValueError
        There are fewer candidates than partners.
    """
    n = candidates.score.size
    if n < n_partners:
        raise ValueError(f"{n_partners} partners out of {n} candidates")
    draw = _weigh_all if n <= few else _by_cells
    partners = np.full((seeds.score.size, n_partners), -1, np.int64)
    return draw(seeds, candidates, partners, gamma, rng)


# --- few candidates ------------------------------------------------------------------------


def _weigh_all(
    seeds: States, candidates: States, partners: Codes, gamma: float, rng: np.random.Generator
) -> Partners:
    """Return draw by Gumbel noise on the logarithms.

    The largest ones are draws without replacement.

    Those that ``partners`` holds already count as drawn.
    """
    log_probability = np.empty(partners.shape)
    step = max(CHUNK // candidates.score.size, 1)
    for start in range(0, seeds.score.size, step):
        rows = np.arange(start, min(start + step, seeds.score.size))
        log_q = log_match_quality(
            seeds.score[rows, None], seeds.variance[rows, None],
            candidates.score, candidates.variance, gamma=gamma,
        )  # fmt: skip
        key = log_q + rng.gumbel(size=log_q.shape)
        for position in np.flatnonzero((partners[rows] >= 0).any(axis=0)):
            earlier = partners[rows, position]
            has = earlier >= 0  # drawn first, in the order in which it was
            key[has, earlier[has]] = np.finfo(np.float64).max / (1 + position)
        n = partners.shape[1]
        top = np.argpartition(-key, n - 1, axis=1)[:, :n]
        top = np.take_along_axis(
            top, np.argsort(-np.take_along_axis(key, top, axis=1), axis=1), axis=1
        )
        values = np.take_along_axis(log_q, top, axis=1)
        np.put_along_axis(log_q, top, -np.inf, axis=1)
        partners[rows] = top
        log_probability[rows] = values - _log_remaining(values, _logsumexp(log_q))
    return Partners(partners, log_probability)


def _logsumexp(logs: Floats) -> Floats:
    """Return the logarithm of the sums over the last axis; minus infinity where nothing is left."""
    largest = np.max(logs, axis=-1, initial=-np.inf)
    base = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(base + np.log(np.exp(logs - base[..., None]).sum(axis=-1)))


def _log_remaining(draws: Floats, rest: Floats) -> Floats:
    """Return the logarithm of what remains before each draw: the draws from it on, all others.

    Added up from the end, so that nothing cancels where one candidate outweighs all.
    """
    remaining = np.empty_like(draws)
    total = rest
    for position in range(draws.shape[1] - 1, -1, -1):
        total = np.logaddexp(total, draws[:, position])
        remaining[:, position] = total
    return remaining


# --- many candidates -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cells:
    """Candidates by cell; ``order[start : start + n]`` are those of a cell."""

    order: Codes
    start: Codes
    n: Codes
    score_low: Floats
    score_high: Floats
    variance_low: Floats
    variance_high: Floats


def _cells(candidates: States, gamma: float) -> _Cells:
    cell = panels(candidates, gamma).cell
    order = np.argsort(cell, kind="stable")
    n = np.bincount(cell)
    start = np.cumsum(n) - n

    def ends(values: Floats) -> tuple[Floats, Floats]:
        sorted_ = values[order]
        return np.minimum.reduceat(sorted_, start), np.maximum.reduceat(sorted_, start)

    return _Cells(order, start, n, *ends(candidates.score), *ends(candidates.variance))


def _by_cells(
    seeds: States, candidates: States, partners: Codes, gamma: float, rng: np.random.Generator
) -> Partners:
    cells = _cells(candidates, gamma)
    n_seeds = seeds.score.size
    step = max(CHUNK // cells.n.size, 1)
    for start in range(0, n_seeds, step):
        rows = np.arange(start, min(start + step, n_seeds))
        _fill(partners, rows, seeds, candidates, cells, gamma, rng)
    log_q = log_match_quality(
        seeds.score[:, None], seeds.variance[:, None],
        candidates.score[partners], candidates.variance[partners], gamma=gamma,
    )  # fmt: skip
    log_share = log_q - log_sums(seeds, candidates, gamma)[:, None]
    before = np.cumsum(np.exp(log_share), axis=1) - np.exp(log_share)
    # where the first draws hold nearly all, what is left is no more than rounding: never less
    # than what is drawn next
    remaining = np.maximum(1 - before, np.exp(log_share))
    log_probability = log_share - np.log(remaining)
    rows = np.flatnonzero(partners[:, -1] < 0)
    if rows.size:
        rest = _weigh_all(seeds.take(rows), candidates, partners[rows], gamma, rng)
        partners[rows], log_probability[rows] = rest.candidate, rest.log_probability
    return Partners(partners, np.minimum(log_probability, 0.0))


def _fill(
    partners: Codes,
    rows: Codes,
    seeds: States,
    candidates: States,
    cells: _Cells,
    gamma: float,
    rng: np.random.Generator,
) -> None:
    """Draw until the rows have their partners, or `ROUNDS` did not bring them.

    That happens where a few candidates outweigh all others by far, and are drawn already.
    """
    bound = _bounds(seeds.take(rows), cells, gamma)
    weight = np.log(cells.n) + bound
    upto = np.cumsum(np.exp(weight - weight.max(axis=1, keepdims=True)), axis=1)
    upto /= upto[:, -1:]
    tries = 2 * partners.shape[1]
    row = np.arange(rows.size)
    for _ in range(ROUNDS):
        at = np.repeat(row, tries)
        cell = _places(upto, at, rng.random(at.size))
        within = (rng.random(at.size) * cells.n[cell]).astype(np.int64)
        items = cells.order[cells.start[cell] + within]
        own = rows[at]
        log_q = log_match_quality(
            seeds.score[own], seeds.variance[own],
            candidates.score[items], candidates.variance[items], gamma=gamma,
        )  # fmt: skip
        taken = np.log1p(-rng.random(at.size)) <= log_q - bound[at, cell]
        _take(partners, rows[row], taken.reshape(-1, tries), items.reshape(-1, tries))
        row = row[partners[rows[row], -1] < 0]
        if not row.size:
            return


def _take(partners: Codes, rows: Codes, taken: npt.NDArray[np.bool_], items: Codes) -> None:
    """Put the first new ones of the accepted draws in the free places."""
    n = (partners[rows] >= 0).sum(axis=1)
    for position in range(items.shape[1]):
        one = items[:, position]
        new = (
            taken[:, position]
            & (n < partners.shape[1])
            & ~(partners[rows] == one[:, None]).any(axis=1)
        )
        partners[rows[new], n[new]] = one[new]
        n += new


def _places(upto: Floats, rows: Codes, at: Floats) -> Codes:
    """Return the cell in which each number falls.

    All rows, one after another, form one rising line.
    """
    line = (upto + np.arange(len(upto))[:, None]).reshape(-1)
    positions = np.searchsorted(line, rows + at, side="right") - rows * upto.shape[1]
    return np.asarray(np.minimum(positions, upto.shape[1] - 1), np.int64)


def _bounds(seeds: States, cells: _Cells, gamma: float) -> Floats:
    """Return the logarithm of an upper bound of match quality by cell, ``(n_seeds, n_cells)``."""
    near = np.clip(seeds.score[:, None], cells.score_low, cells.score_high)
    variance = seeds.variance[:, None]
    chain = 2 * gamma * gamma
    # the root is largest for the smallest variance, the exponential for the largest
    root = 0.5 * np.log(chain / (chain + variance + cells.variance_low))
    gap = seeds.score[:, None] - near
    bound = root - gap * gap / (2 * (chain + variance + cells.variance_high))
    return np.asarray(bound + 1e-12)  # rounding must not lift a match quality above it
