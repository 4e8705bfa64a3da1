"""How often an absolute majority of judges took the same ternary decision, and by chance.

Source: Pighin, Formiga & Marquez 2012, section 4.1: "the absolute majority of the annotators agreed
on the ternary decision in 80% of the cases (MC class >= 9 [of 16]) ... the probability of obtaining
a random MC class >= 9 is 15%". By chance every judge takes each of the three decisions with
probability 1/3; of n judges more than n/2 take the same one with probability
3 P(Binomial(n, 1/3) > n/2), exactly, as two classes cannot both hold a majority.

**Reading**: with varying numbers of judges the chance is the mean over units of each unit's own.
**Reading**: a judge has one vote on a unit. Of several decisions it is the most frequent one; a
judge without one (as often better as tied) has no vote there, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.agreement.rating_counts import (
    decision_codes,
    n_distinct,
    outcome_counts,
)
from annot_pipeline.methods.agreement.segment_ratio import segment_ratio
from annot_pipeline.methods.numerics.bootstrap import Estimate, Rng


@dataclass(frozen=True)
class MajorityClass:
    """Units are pairs of outputs on which two or more judges have a vote.

    Parameters
    ----------
    agreement
        Share of units where more than half of the votes are for one decision.
    chance
        The same if votes were thrown; exact. NaN without a unit.
    n_votes, largest, n_units
        ``(n_kinds,)`` the distribution: on ``n_units`` units with ``n_votes`` votes the largest
        class has ``largest`` of them; by n_votes, then largest.
    n_items, n_judges
        Units, and judges who have a vote on one.
    n_undecided
        Judges' units left out because none of the judge's own decisions is the most frequent.
    """

    agreement: Estimate
    chance: float
    n_votes: Codes
    largest: Codes
    n_units: Codes
    n_items: int
    n_judges: int
    n_undecided: int


def majority_class(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    decisions: npt.ArrayLike,
    segments: npt.ArrayLike,
    *,
    rounds: int,
    rng: Rng,
) -> MajorityClass:
    """Measure majority-class agreement.

    Parameters
    ----------
    items, judges
        ``(n_comparisons,)`` codes from 0; an item is a pair of outputs (of one segment).
    decisions
        ``(n_comparisons,)``: 1 the first output is better, 0 tie, -1 the second is.
    segments
        ``(n_comparisons,)`` codes from 0 of what is drawn by the bootstrap.
    rounds, rng
        Bootstrap rounds, 0 for no interval; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative codes, decisions other than 1, 0 and -1.
    """
    item, judge, decision, segment = decision_codes(items, judges, decisions, segments)
    n_judges = int(judge.max(initial=-1)) + 1
    keys, first, cell = np.unique(item * n_judges + judge, return_index=True, return_inverse=True)
    decision_counts = outcome_counts(cell, decision + 1, keys.size)
    most = decision_counts.max(axis=1, initial=0)
    decided = (decision_counts == most[:, None]).sum(axis=1) == 1
    voted, vote = first[decided], decision_counts.argmax(axis=1)[decided]
    _, unit_first, unit = np.unique(item[voted], return_index=True, return_inverse=True)
    votes = outcome_counts(unit, vote, unit_first.size)
    n, largest = votes.sum(axis=1), votes.max(axis=1, initial=0)
    shared = n >= 2
    at = segment[voted[unit_first[shared]]]
    n, largest = n[shared], largest[shared]
    agreement = segment_ratio(at, 2 * largest > n, np.ones(n.size), rounds=rounds, rng=rng)
    kinds, n_units = np.unique(np.stack([n, largest]), axis=1, return_counts=True)
    return MajorityClass(
        agreement=agreement,
        chance=_mean_chance(kinds[0], n_units),
        n_votes=kinds[0],
        largest=kinds[1],
        n_units=n_units,
        n_items=n.size,
        n_judges=n_distinct(judge[voted[shared[unit]]]),
        n_undecided=int((~decided).sum()),
    )


def majority_chance(n: int) -> Fraction:
    """Return the probability that more than half of n votes over three classes fall in one.

    Raises
    ------
    ValueError
        No vote.
    """
    if n < 1:
        raise ValueError(f"n is {n}, allowed are 1 and more")
    ways = sum(comb(n, k) * 2 ** (n - k) for k in range(n // 2 + 1, n + 1))
    return Fraction(3 * ways, 3**n)


def _mean_chance(n_votes: Codes, n_units: Codes) -> float:
    if not n_units.size:
        return float("nan")
    sizes, positions = np.unique(n_votes, return_inverse=True)
    units = np.bincount(positions, weights=n_units)
    chances = np.array([float(majority_chance(n)) for n in sizes.tolist()])
    return float((chances * units).sum() / units.sum())
