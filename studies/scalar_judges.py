"""Simulated judges who score items from 0 to 1, alone or several at once.

A judge sees an item's truth t with noise, and writes it on a scale of the judge's own:
``1/2 + shift + stretch (t - 1/2 + noise)``, cut off at 0 and 1 and, if so set, rounded to whole
points of 0 to 100. Spammers answer at random. Where items are seen together, a
share ``context`` of shift and noise vanishes: that is the paper's argument for comparisons
(Sakaguchi & Van Durme 2018, section 2), and with 0 there is no such effect.

What does not belong here: which items are asked (item_asking, system_asking).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from studies.params import Judging

MIDDLE = 0.5
"""Where a judge's stretch changes nothing."""


@dataclass(frozen=True, eq=False)
class Judges:
    """Arrays are ``(n_judges,)``.

    Parameters
    ----------
    shift, stretch
        How each judge uses the scale.
    spammer
        Who answers evenly.
    params
        What was asked.
    """

    shift: Floats
    stretch: Floats
    spammer: npt.NDArray[np.bool_]
    params: Judging

    def answer(
        self, judge: Codes, truth: Floats, rng: np.random.Generator, *, is_joint: bool
    ) -> Floats:
        """Return scores in [0, 1].

        Parameters
        ----------
        judge, truth
            Codes of judges, and what they look at; one shape.
        rng
            Of noise and of spam.
        together
            Whether the items are seen beside others.
        """
        remaining = 1 - self.params.context if is_joint else 1.0
        noise = rng.normal(0, self.params.noise, size=truth.shape)
        even = rng.random(truth.shape)
        deviation = self.stretch[judge] * (truth - MIDDLE + remaining * noise)
        score = np.clip(MIDDLE + remaining * self.shift[judge] + deviation, 0, 1)
        score = np.where(self.spammer[judge], even, score)
        return np.rint(100 * score) / 100 if self.params.whole_points else score


def draw_judges(params: Judging, rng: np.random.Generator) -> Judges:
    """Draw the judges of one repetition."""
    n = params.n_judges
    shift = rng.normal(0, params.bias, size=n)
    stretch = rng.lognormal(0, params.stretch, size=n)
    spammer = rng.permutation(n) < np.floor(params.spam * n + 0.5)
    return Judges(shift, stretch, spammer, params)


class AskedJudges:
    """Judges of items, and who was asked what: nobody is asked about an item again while
    others were not asked yet. An item is asked of a judge at random, a HIT of one who was asked
    least about its items.
    """

    def __init__(self, judges: Judges, truth: Floats, rng: np.random.Generator) -> None:
        self._judges, self._truth, self._rng = judges, truth, rng
        self._asked = np.zeros((truth.size, judges.shift.size), np.int64)

    def score_items(self, items: Codes) -> Floats:
        """Return one score of each of ``(n,)`` different items, each by itself."""
        lots = self._rng.random((items.size, self._asked.shape[1]))
        judge = np.argmin(self._asked[items] + lots, axis=1)
        self._asked[items, judge] += 1
        return self._judges.answer(judge, self._truth[items], self._rng, is_joint=False)

    def score_hits(self, hits: Codes) -> Floats:
        """Return scores of ``(n_hits, hit_size)`` items, each HIT by one judge."""
        judge = np.empty(hits.shape, np.int64)
        lots = self._rng.random((len(hits), self._asked.shape[1]))
        for hit, items in enumerate(hits):
            judge[hit] = np.argmin(self._asked[items].sum(axis=0) + lots[hit])
            self._asked[items, judge[hit]] += 1
        return self._judges.answer(judge, self._truth[hits], self._rng, is_joint=True)
