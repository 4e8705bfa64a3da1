"""Asking about items in rounds, by each method, at equal cost: N judgments a round.

DA asks about each item once a round, one at a time. EASL and RA ask as Algorithm 1 says
(`next_hits`): the first round covers every item, then HITs are chosen by variance and match
quality of the method's own states. What RA's HITs say in pairs is also handed to TrueSkill and to
Thurstone's model. `random` is a control: HITs of items drawn evenly at random, every item once
a round, scored by EASL's formula, which is the mean; what it gains over DA does not come from
choosing items.

**Readings.** Where N is no multiple of n, a round is n floor(N/n) judgments for every method;
DA and `random` then ask those asked least so far. Thurstone's model has TrueSkill's prior
and noise, because the graph of early comparisons is not connected. Where an item was not asked
yet its score is .5 (TrueSkill, Thurstone: 0).

What does not belong here: who answers (scalar_judges, recorded).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.methods.numerics.moments import sums
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.planning.easl_hits import NextHitsParams, next_hits
from annot_pipeline.methods.scores.easl import FRESH, beta_variance
from studies.params import Rounds
from studies.thurstone import ThurstoneParams, thurstone

METHODS = ("DA", "EASL", "random", "RA", "TrueSkill", "Thurstone")
BOUNDED = ("DA", "EASL", "random", "RA")
"""Methods whose scores lie in [0, 1]."""

PRIOR_SD = 1.0
"""Of TrueSkill and Thurstone, around 0."""


class Answers(Protocol):
    """Who answers one method's questions in one repetition."""

    def score_items(self, items: Codes) -> Floats:
        """Return one score in [0, 1] of each of ``(n,)`` different items, asked one at a time."""

    def score_hits(self, hits: Codes) -> Floats:
        """Return scores of ``(n_hits, hit_size)`` items, seen HIT by HIT."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What one method knows after each round.

    Parameters
    ----------
    score
        By method, ``(iterations, n_items)``.
    n_asked
        ``(iterations, n_items)`` judgments of each item so far.
    variance
        ``(1 + iterations, n_items)`` of the Beta distributions, the start first; with
        ``mode``, their modes, what match quality is made of.
    """

    score: dict[str, Floats]
    n_asked: Codes
    mode: Floats
    variance: Floats


class _Tally:
    """All judgments of a method so far, and the rounds that were closed."""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items
        self._items: list[Codes] = []
        self._scores: list[Floats] = []
        self.n = np.zeros(n_items, np.int64)
        self.alpha = np.full(n_items, FRESH)
        self.beta = np.full(n_items, FRESH)
        self.mean = np.full(n_items, 0.5)
        self.rounds = [(self.mean, self.n, beta_variance(self.alpha, self.beta))]

    def close_round(self, items: Codes, scores: Floats) -> None:
        """Take in a round's judgments."""
        self._items.append(items.reshape(-1))
        self._scores.append(scores.reshape(-1))
        every, all_scores = np.concatenate(self._items), np.concatenate(self._scores)
        self.n = np.bincount(every, minlength=self.n_items)
        total = sums(every, all_scores, n_groups=self.n_items)  # the same in any order
        self.alpha, self.beta = FRESH + total, FRESH + np.maximum(self.n - total, 0.0)
        self.mean = np.divide(total, self.n, out=np.full(self.n_items, 0.5), where=self.n > 0)
        self.rounds.append((self.mean, self.n, beta_variance(self.alpha, self.beta)))

    def stack_rounds(self, method: str) -> Asked:
        mean, n, variance = (np.stack(parts) for parts in zip(*self.rounds, strict=True))
        return Asked({method: mean[1:]}, n[1:], mean, variance)


def hits_a_round(n_items: int, params: Rounds) -> int:
    """Return the number of HITs in a round: N/n."""
    return n_items // params.hit_size


def ask(
    method: str,
    answers: Answers,
    *,
    n_items: int,
    iterations: int,
    params: Rounds,
    rng: np.random.Generator,
) -> Asked:
    """Ask about items in rounds.

    Parameters
    ----------
    method
        DA, RA (with TrueSkill and Thurstone), EASL or random.
    answers
        Who answers.
    n_items
        ``hit_size`` or more.
    iterations
        Rounds.
    params
        HIT size, gamma, epsilon.
    rng
        Chooses items.
    """
    if method == "RA":
        return _ranking(answers, n_items, iterations, params, rng)
    tally = _Tally(n_items)
    n_hits = hits_a_round(n_items, params)
    for _ in range(iterations):
        if method == "EASL":
            items = _next(tally.alpha, tally.beta, tally.n > 0, n_hits, params, rng)
        else:
            items = _least_asked(tally.n, n_hits * params.hit_size, rng)
        if method == "DA":
            scores = answers.score_items(items)
        else:
            items = items.reshape(n_hits, params.hit_size)
            scores = answers.score_hits(items)
        tally.close_round(items, scores)
    return tally.stack_rounds(method)


def _next(
    alpha: Floats,
    beta: Floats,
    judged: npt.NDArray[np.bool_],
    n_hits: int,
    params: Rounds,
    rng: np.random.Generator,
) -> Codes:
    chosen = NextHitsParams(gamma=params.gamma, hit_size=params.hit_size, hits=n_hits)
    return next_hits(alpha, beta, judged=judged, rng=rng, params=chosen).items


def _least_asked(n_asked: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Return the n items that were asked least, in random order; chance decides among equals."""
    least = np.lexsort((rng.random(n_asked.size), n_asked))[:n]
    return rng.permutation(least)


def _ranking(
    answers: Answers, n_items: int, iterations: int, params: Rounds, rng: np.random.Generator
) -> Asked:
    """Ask by RA's own states; TrueSkill and Thurstone use the same answers."""
    bounded = bounded_ra([], [], [], n_items=n_items)
    ra_params = BoundedRaParams(params.gamma, params.epsilon)
    skill_params = TrueSkillParams(params.gamma, params.epsilon, mean=0.0, sd=PRIOR_SD)
    thurstone_params = ThurstoneParams(sigma=params.gamma, prior_sd=PRIOR_SD)
    skill = (np.zeros(n_items), np.full(n_items, PRIOR_SD))
    n_asked = np.zeros(n_items, np.int64)
    pairs = np.zeros((3, 0), np.int64)
    states = [(bounded.score, bounded.variance)]
    score: dict[str, list[Floats]] = {"RA": [], "TrueSkill": [], "Thurstone": []}
    counts = []
    for _ in range(iterations):
        hits = _next(
            bounded.alpha, bounded.beta, n_asked > 0, hits_a_round(n_items, params), params, rng
        )
        new = pairs_of(hits, answers.score_hits(hits))
        pairs = np.concatenate([pairs, new], axis=1)
        n_asked = n_asked + np.bincount(hits.reshape(-1), minlength=n_items)
        start = (bounded.alpha, bounded.beta)
        bounded = bounded_ra(*new, n_items=n_items, params=ra_params, start=start)
        skills = trueskill(*new, n_items=n_items, params=skill_params, start=skill)
        skill = (skills.mean, skills.sd)
        at_once = thurstone(*pairs, n_items=n_items, params=thurstone_params)
        for name, value in (
            ("RA", bounded.score), ("TrueSkill", skills.mean), ("Thurstone", at_once.mean),
        ):  # fmt: skip
            score[name].append(value)
        counts.append(n_asked)
        states.append((bounded.score, bounded.variance))
    mode, variance = (np.stack(parts) for parts in zip(*states, strict=True))
    return Asked(
        {name: np.stack(values) for name, values in score.items()}, np.stack(counts), mode, variance
    )


def pairs_of(hits: Codes, scores: Floats) -> Codes:
    """Return ``(3, n_pairs)`` first item, second item and outcome of each pair of each HIT.

    HITs in their order, the pairs of one by item: online methods depend on it. A tie is an
    equal score.
    """
    by_item = np.argsort(hits, axis=1)
    hits = np.take_along_axis(hits, by_item, axis=1)
    scores = comparable(np.take_along_axis(scores, by_item, axis=1))
    a, b = np.triu_indices(hits.shape[1], 1)
    outcome = np.sign(scores[:, a] - scores[:, b]).astype(np.int64)
    return np.stack([hits[:, a].reshape(-1), hits[:, b].reshape(-1), outcome.reshape(-1)])
