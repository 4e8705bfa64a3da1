"""Asking about systems through their outputs, by each method, at equal cost.

An item is a system; what is judged is its output for a segment (Sakaguchi & Van Durme 2018,
section 5.3). DA samples outputs at random. EASL shows up to n outputs of one segment at a time:
the system of highest variance, a random segment of it, and other systems by match quality.
`random` is a control: such HITs of systems drawn evenly at random.

**Readings.** States are updated after every HIT (Algorithm 1 with one HIT a round), so all other
systems can be partners. At a point of the curve EASL and `random` have asked the HITs that fit
into DA's number of judgments, never more. A system that was not asked has the score .5.

What does not belong here: where outputs and judgments come from (system_study,
system_replay).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.trueskill import log_match_quality
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.scores.easl import FRESH, beta_mode, beta_variance
from studies.params import Points

METHODS = ("DA", "EASL", "random")


class Outputs(Protocol):
    """Outputs of systems, and who judges them, for one method in one repetition."""

    n_systems: int

    def sample(self, n: int) -> tuple[Codes, Floats]:
        """Return systems and scores in [0, 1] of n outputs drawn at random, asked one at a time."""

    def seeds(self) -> Flags:
        """Return ``(n_systems,)`` which have an output left for a HIT with another system."""

    def segment(self, seed: int) -> tuple[int, Codes]:
        """Return a random segment for such a HIT, and the other systems with an output there."""

    def judge(self, segment: int, systems: Codes) -> Floats:
        """Return scores in [0, 1] of the outputs of a HIT."""


@dataclass
class HitSizes:
    """HITs that were asked, over all repetitions, by their number of systems."""

    counts: Codes

    @property
    def hits(self) -> int:
        """Return HITs of any size."""
        return int(self.counts.sum())

    @property
    def short_share(self) -> float | None:
        """Return the share of the HITs with fewer systems than there should be.

        None without HITs.
        """
        return float(self.counts[:-1].sum() / self.hits) if self.hits else None


def ask_systems(
    method: str,
    outputs: Outputs,
    budgets: Codes,
    *,
    params: Points,
    sizes: HitSizes,
    rng: np.random.Generator,
) -> Floats:
    """Return the mean scores ``(n_budgets, n_systems)`` after each number of judgments.

    A row is NaN where the method could not ask that many.

    Parameters
    ----------
    method
        DA, EASL or random.
    outputs
        What is judged.
    budgets
        ``(n_budgets,)`` rising numbers of judgments.
    params
        HIT size and gamma.
    sizes
        Counts the HITs.
    rng
        Chooses systems.
    """
    if method == "DA":
        return _sampled(outputs, budgets)
    choose = _by_variance(params.gamma, rng) if method == "EASL" else _evenly(rng)
    size = min(params.hit_size, outputs.n_systems)
    return _in_hits(outputs, budgets, size, choose, sizes)


def _sampled(outputs: Outputs, budgets: Codes) -> Floats:
    systems, scores = outputs.sample(int(budgets[-1]))
    n = outputs.n_systems
    sums, counts = np.zeros(n), np.zeros(n)
    means, start = [], 0
    for stop in budgets.tolist():
        part = slice(start, stop)
        sums = sums + np.bincount(systems[part], weights=scores[part], minlength=n)
        counts = counts + np.bincount(systems[part], minlength=n)
        means.append(_means(sums, counts))
        start = stop
    return np.stack(means)


_ChooseSeed = Callable[[Floats, Floats, Flags], int]
_ChoosePartners = Callable[[Floats, Floats, int, Codes, int], Codes]
_Choice = tuple[_ChooseSeed, _ChoosePartners]


def _in_hits(
    outputs: Outputs, budgets: Codes, size: int, choose: _Choice, sizes: HitSizes
) -> Floats:
    n = outputs.n_systems
    alpha, beta = np.full(n, FRESH), np.full(n, FRESH)
    scores_at_budgets = np.full((budgets.size, n), np.nan)
    total, point = 0, 0
    for systems, segment in _hits(outputs, alpha, beta, size, choose):
        while point < budgets.size and total + systems.size > budgets[point]:
            scores_at_budgets[point] = beta_mode(alpha, beta)
            point += 1
        if point == budgets.size:
            return scores_at_budgets
        scores = outputs.judge(segment, systems)
        alpha[systems] += scores
        beta[systems] += 1 - scores
        total += systems.size
        sizes.counts[systems.size] += 1
    # no HIT is left: what is less than one HIT away counts as asked
    for last in range(point, budgets.size):
        if budgets[last] < total + size:
            scores_at_budgets[last] = beta_mode(alpha, beta)
    return scores_at_budgets


def _hits(
    outputs: Outputs, alpha: Floats, beta: Floats, size: int, choose: _Choice
) -> Iterator[tuple[Codes, int]]:
    """Yield systems and segment of one HIT after the other, by the states of that moment."""
    choose_seed, choose_partners = choose
    while (seeds := outputs.seeds()).any():
        seed = choose_seed(alpha, beta, seeds)
        segment, systems = outputs.segment(seed)
        partners = choose_partners(alpha, beta, seed, systems, min(size - 1, systems.size))
        yield np.append(seed, partners), segment


def _by_variance(gamma: float, rng: np.random.Generator) -> _Choice:
    """Return algorithm 1: the seed by variance, the others by match quality without replacement."""

    def seed(alpha: Floats, beta: Floats, seeds: Flags) -> int:
        able = np.flatnonzero(seeds)
        variance = comparable(beta_variance(alpha[able], beta[able]))
        best = able[variance == variance.max()]
        return int(best[rng.integers(best.size)])

    def partners(alpha: Floats, beta: Floats, seed: int, systems: Codes, n: int) -> Codes:
        every = np.append(seed, systems)
        mode = beta_mode(alpha[every], beta[every])
        variance = beta_variance(alpha[every], beta[every])
        log_q = log_match_quality(mode[0], variance[0], mode[1:], variance[1:], gamma=gamma)
        key = log_q + rng.gumbel(size=systems.size)  # the largest are draws by q
        return systems[np.argsort(-key)[:n]]

    return seed, partners


def _evenly(rng: np.random.Generator) -> _Choice:
    def seed(_alpha: Floats, _beta: Floats, seeds: Flags) -> int:
        able = np.flatnonzero(seeds)
        return int(able[rng.integers(able.size)])

    def partners(_alpha: Floats, _beta: Floats, _seed: int, systems: Codes, n: int) -> Codes:
        return rng.permutation(systems)[:n]

    return seed, partners


def _means(sums: Floats, counts: Floats) -> Floats:
    means: Floats = np.divide(sums, counts, out=np.full(sums.size, 0.5), where=counts > 0)
    return means
