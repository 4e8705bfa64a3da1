"""Agreement on ternary decisions: one output is better, the other is, or they are tied.

kappa = (pA - pE)/(1 - pE), with pA the share of agreeing pairs of decisions on one pair of outputs,
and pE = t^2 + 2 ((1 - t)/2)^2 the chance of agreement if a share t of decisions are ties and
either output is better equally often. Source: the WMT campaigns, as computed by Appraise's
compute_agreement_scores.py. All forty kappas published for WMT15 (ten language pairs; inter and
intra; expanded and collapsed) come out, and each of their counts, if

- an item is a segment and two systems *in the order in which they were shown*: two judges who saw
  them in different orders are not compared there. That is chance, so here the caller codes items
  as it likes, and the pipeline takes either order (which doubles the pairs);
- ``inter`` there is every pair of decisions, those of one judge included (``all`` here);
- t is over all comparisons, also those without a partner; for ``intra`` over all comparisons of
  those segments and judges with a pair that the judge decided twice.

`most_prolific_kappa` is Cohen's kappa between the two most prolific judges (Pighin et al. 2012,
section 4.1), chance by each judge's own shares. Intervals are bootstraps over segments. What is
undefined is NaN. Counts are whole numbers: no digit depends on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.agreement.rating_counts import (
    OUTCOMES,
    RatingCounts,
    decision_codes,
    n_distinct,
    outcome_counts,
)
from annot_pipeline.methods.agreement.segment_ratio import segment_resamples
from annot_pipeline.methods.numerics.bootstrap import Estimate, Rng, replicate, weighted

Pairs = Literal["inter", "intra", "all"]


@dataclass(frozen=True)
class TernaryAgreement:
    """Agreement over pairs of decisions on one item.

    Parameters
    ----------
    pairs
        Which pairs: of two judges (``inter``), of one judge (``intra``), or ``all``.
    kappa, percent_agreement
        kappa, and pA.
    chance
        pE; NaN without a comparison.
    agree, comparable
        Pairs of decisions that agree, and all pairs.
    ties, total
        Ties, and comparisons, that the chance rests on.
    n_items, n_judges
        Items with a pair of decisions, and the judges of these pairs.
    """

    pairs: Pairs
    kappa: Estimate
    percent_agreement: Estimate
    chance: float
    agree: int
    comparable: int
    ties: int
    total: int
    n_items: int
    n_judges: int


@dataclass(frozen=True)
class ProlificKappa:
    """Cohen's kappa between two judges.

    Parameters
    ----------
    kappa
        Undefined where the two share no item or chance agreement is 1.
    judges
        Their codes, the one with more decisions first; None with fewer than two judges.
    n_items, n_pairs
        Items that both decided, and their pairs of decisions.
    """

    kappa: Estimate
    judges: tuple[int, int] | None
    n_items: int
    n_pairs: int


def ternary_agreement(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    decisions: npt.ArrayLike,
    segments: npt.ArrayLike,
    *,
    pairs: Pairs,
    rounds: int,
    rng: Rng,
) -> TernaryAgreement:
    """Measure agreement over all pairs of decisions on one item; repeats of a judge all count.

    Parameters
    ----------
    items, judges
        ``(n_comparisons,)`` codes from 0; an item is a pair of outputs (of one segment).
    decisions
        ``(n_comparisons,)``: 1 the first output is better, 0 tie, -1 the second is.
    segments
        ``(n_comparisons,)`` codes from 0 of what is drawn by the bootstrap.
    pairs
        ``inter``: of two judges. ``intra``: of one judge. ``all``: both.
    rounds, rng
        Bootstrap rounds, 0 for no interval; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges, an item of two segments.
    """
    table = _Decisions.from_arrays(items, judges, decisions, segments)
    comparable, agree, partnered = table.pairs(pairs)
    counted = table.of_repeaters() if pairs == "intra" else np.ones(table.items.size, np.bool_)
    units, places = np.unique(table.segments[counted], return_inverse=True)
    ties = np.bincount(places[table.labels[counted] == 1], minlength=units.size)
    total = np.bincount(places, minlength=units.size)
    at = np.searchsorted(units, table.segment_of)[comparable > 0]
    by_segment = [
        np.bincount(at, weights=counts[comparable > 0], minlength=units.size)
        for counts in (agree, comparable)
    ]

    def statistics(weights: Floats) -> Floats:
        return _kappa(*(weighted(counts, weights) for counts in (*by_segment, ties, total)))

    values = replicate(
        statistics, segment_resamples(units.size, rounds, rng), floats_per_round=units.size
    )
    return TernaryAgreement(
        pairs=pairs,
        kappa=Estimate.from_replicates(values[0]),
        percent_agreement=Estimate.from_replicates(values[1]),
        chance=float(values[2, 0]),
        agree=int(agree.sum()),
        comparable=int(comparable.sum()),
        ties=int(ties.sum()),
        total=int(total.sum()),
        n_items=int((comparable > 0).sum()),
        n_judges=n_distinct(table.judges[partnered]),
    )


def most_prolific_kappa(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    decisions: npt.ArrayLike,
    segments: npt.ArrayLike,
    *,
    rounds: int,
    rng: Rng,
) -> ProlificKappa:
    """Return Cohen's kappa between the two judges with the most decisions (ties: lowest code).

    Over all pairs of a decision of the one and of the other on one item; the chance of agreement
    is the sum over decisions of the product of both judges' shares *in these pairs*.

    Parameters
    ----------
    items, judges, decisions, segments, rounds, rng
        As `ternary_agreement`.

    Raises
    ------
    ValueError
        As `ternary_agreement`.
    """
    table = _Decisions.from_arrays(items, judges, decisions, segments)
    n = np.bincount(table.judges)
    if (n > 0).sum() < 2:
        nan = float("nan")
        return ProlificKappa(Estimate(nan, nan, nan), None, 0, 0)
    chosen = np.argsort(-n, kind="stable")[:2]
    decision_counts = [table.counts(table.judges == judge) for judge in chosen]  # (n_items, 3) each
    cells = decision_counts[0][:, :, None] * decision_counts[1][:, None, :]
    shared = cells.any(axis=(1, 2))
    units, places = np.unique(table.segment_of[shared], return_inverse=True)
    tables = np.zeros((units.size, OUTCOMES * OUTCOMES))
    np.add.at(tables, places, cells[shared].reshape(-1, OUTCOMES * OUTCOMES))

    def kappa(weights: Floats) -> Floats:
        table = np.stack([weighted(column, weights) for column in tables.T])
        return _cohen(table.reshape(OUTCOMES, OUTCOMES, -1))[None, :]

    resamples = segment_resamples(units.size, rounds, rng)
    values = replicate(kappa, resamples, floats_per_round=units.size)
    first, second = chosen.tolist()
    return ProlificKappa(
        Estimate.from_replicates(values[0]), (first, second), int(shared.sum()), int(cells.sum())
    )


@dataclass(frozen=True)
class _Decisions:
    """Checked codes, ``(n_comparisons,)``; labels 0, 1 (tie), 2; and the segment of each item."""

    items: Codes
    judges: Codes
    labels: Codes
    segments: Codes
    segment_of: Codes  # (n_items,)

    @classmethod
    def from_arrays(
        cls,
        items: npt.ArrayLike,
        judges: npt.ArrayLike,
        decisions: npt.ArrayLike,
        segments: npt.ArrayLike,
    ) -> _Decisions:
        item, judge, decision, segment = decision_codes(items, judges, decisions, segments)
        used, places = np.unique(item, return_inverse=True)
        segment_of = np.zeros(used.size, np.int64)
        segment_of[places] = segment
        if (segment_of[places] != segment).any():
            raise ValueError("an item lies in two segments")
        return cls(places, judge, decision + 1, segment, segment_of)

    def pairs(self, which: Pairs) -> tuple[Codes, Codes, Flags]:
        """Count pairs of decisions and agreeing ones ``(n_items,)``; mark comparisons in a pair."""
        n_items, n_judges = self.segment_of.size, int(self.judges.max(initial=-1)) + 1
        counts = self.counts(np.ones(self.items.size, np.bool_))
        of_item = counts.sum(axis=1)
        own = self._repeats()
        every, alike = _n_pairs(of_item), _n_pairs(counts).sum(axis=1)
        if which == "all":
            return every, alike, of_item[self.items] > 1
        cells = RatingCounts.from_ratings(
            self.items, self.judges, self.labels, n_items, n_judges, OUTCOMES
        )
        inter, agreeing = cells.inter_judge_pairs()
        if which == "inter":
            return inter, agreeing, of_item[self.items] > own
        return every - inter, alike - agreeing, own > 1

    def counts(self, rows: Flags) -> Codes:
        """Return decisions of each kind, ``(n_items, 3)``."""
        return outcome_counts(self.items[rows], self.labels[rows], self.segment_of.size)

    def of_repeaters(self) -> Flags:
        """Return comparisons of a segment and judge with an item that the judge decided twice."""
        judged = self.segments * (int(self.judges.max(initial=-1)) + 1) + self.judges
        groups, group = np.unique(judged, return_inverse=True)
        repeated = np.zeros(groups.size, np.bool_)
        repeated[group[self._repeats() > 1]] = True
        return np.asarray(repeated[group])

    def _repeats(self) -> Codes:
        """Return how often the judge of each comparison decided its item."""
        keys = self.items * (int(self.judges.max(initial=-1)) + 1) + self.judges
        _, cell, n = np.unique(keys, return_inverse=True, return_counts=True)
        return np.asarray(n[cell], np.int64)


def _n_pairs(n: Codes) -> Codes:
    return np.asarray(n * (n - 1) // 2)


def _kappa(agree: Floats, comparable: Floats, ties: Floats, total: Floats) -> Floats:
    """Return kappa, pA and pE, ``(3, n_rounds)``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share, tied = agree / comparable, ties / total
        chance = tied**2 + (1 - tied) ** 2 / 2
        kappa = (share - chance) / (1 - chance)  # ties only: 0/0
    return np.stack([kappa, share, chance])


def _cohen(table: Floats) -> Floats:
    """Return Cohen's kappa of ``(3, 3, n_rounds)`` counts, from whole numbers.

    A chance of 1 is exact.
    """
    n = table.sum(axis=(0, 1))
    agreeing = np.einsum("iir->r", table)
    by_chance = np.einsum("ir,ir->r", table.sum(axis=1), table.sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: Floats = (n * agreeing - by_chance) / (n * n - by_chance)
    return kappa
