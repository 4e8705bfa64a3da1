"""TrueSkill and bounded ranking aggregation in many rounds at once, each with its own order.

Online methods depend on the order of comparisons, which says nothing about systems. So they are
run again, in rounds of four kinds:

- ``given``: all rankings once, in their own order;
- ``permuted``: all rankings once, in random order;
- ``drawn``: a bootstrap draw of units (rankings, judges, segments), rankings in their own order;
- ``drawn_permuted``: such a draw in random order, as WMT15 made its ranges of ranks.

Comparisons of one ranking stay together and in their order. All rounds run side by side: their
next ``STEPS`` comparisons are looked up at once and cut into waves, in each of which no round has
a system twice, and which are one step on arrays. A round holds its sequence of rankings (4 bytes
each).

Source: Sakaguchi & Van Durme 2018, section 3; one round is what `trueskill` and `bounded_ra` do,
to the last bit, by their own updates. Systems that are equal and only tie stay equal in every
round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra_update
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill_update
from annot_pipeline.methods.comparisons.waves import waves_side_by_side, winners_first
from annot_pipeline.methods.numerics.distinct import is_new
from annot_pipeline.methods.scores.easl import FRESH, beta_mode

Round = Literal["given", "permuted", "drawn", "drawn_permuted"]

STEPS = 4_096
"""Comparisons of each round that are looked up at once."""

SEQUENCES = 2**26
"""Rankings in the sequences of the rounds that run side by side: 256 MB."""


@dataclass(frozen=True, eq=False)
class _Rankings:
    """Comparisons, winner above loser, and the rankings that they belong to.

    The last comparison is none: two systems more, that no one asked for, tie in it. Rounds that
    have no comparison left go on with it.
    """

    pairs: Codes  # (2, n_comparisons + 1)
    tie: Flags  # (n_comparisons + 1,)
    start: Codes  # (n_rankings,) first comparison
    size: Codes  # (n_rankings,)
    unit: Codes  # (n_rankings,)
    n_units: int
    n_systems: int  # with the two more


def online_rounds(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    ranking: npt.ArrayLike,
    unit: npt.ArrayLike,
    *,
    n_systems: int,
    rounds: Sequence[Round],
    params: TrueSkillParams | BoundedRaParams,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    steps_at_once: int = STEPS,
    rankings_at_once: int = SEQUENCES,
) -> Floats:
    """Score systems in each round: TrueSkill's mean, or the score of bounded aggregation.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of systems from 0, in their order.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    ranking
        ``(n_comparisons,)`` whole numbers; comparisons of one ranking stand together.
    unit
        ``(n_comparisons,)`` whole numbers: what is drawn together. Where a ranking has several
        units it is cut.
    n_systems
        Size of the code range.
    rounds
        Kind of each round.
    params
        Of the method, which they choose.
    rng
        Each round has a stream of its own, whatever the number of rounds.
    progress
        Told how many of how many comparisons are done.
    steps_at_once
        Comparisons of each round that are looked up at once.
    rankings_at_once
        Rankings in the sequences of the rounds that run side by side.

    Returns
    -------
    ``(n_rounds, n_systems)``; NaN for a system without comparisons in the round.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, a system against itself.
    """
    table = _rankings(first, second, outcome, ranking, unit, n_systems)
    seeds = rng.integers(2**63, size=len(rounds))
    side_by_side = max(1, rankings_at_once // max(table.start.size, 1))
    scores = np.full((len(rounds), n_systems), np.nan)
    for start in range(0, len(rounds), side_by_side):
        some = slice(start, start + side_by_side)
        kinds = zip(rounds[some], seeds[some], strict=True)
        sequences = [_sequence(table, kind, seed) for kind, seed in kinds]
        score, is_compared = _run(table, sequences, params, progress, steps_at_once)
        scores[some] = np.where(is_compared, score, np.nan)[:, :n_systems]
    return scores


def _rankings(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    ranking: npt.ArrayLike,
    unit: npt.ArrayLike,
    n_systems: int,
) -> _Rankings:
    pairs, tie = winners_first(first, second, outcome, n_items=n_systems)
    ranking, names = np.asarray(ranking), np.asarray(unit)
    start = np.flatnonzero(is_new(ranking, names))
    distinct, units = np.unique(names[start], return_inverse=True)
    return _Rankings(
        np.concatenate([pairs, [[n_systems], [n_systems + 1]]], axis=1),
        np.append(tie, True),
        start,
        np.diff(start, append=tie.size),
        units.reshape(-1),
        distinct.size,
        n_systems + 2,
    )


def _sequence(table: _Rankings, kind: Round, seed: np.int64) -> npt.NDArray[np.int32]:
    """Return rankings of one round, in order."""
    rng = np.random.default_rng(int(seed))
    sequence = np.arange(table.start.size, dtype=np.int32)
    if kind.startswith("drawn") and table.n_units:
        times = np.bincount(
            rng.integers(table.n_units, size=table.n_units), minlength=table.n_units
        )
        sequence = np.repeat(sequence, times[table.unit])
    if kind.endswith("permuted"):
        rng.shuffle(sequence)
    return sequence


def _run(
    table: _Rankings,
    sequences: list[npt.NDArray[np.int32]],
    params: TrueSkillParams | BoundedRaParams,
    progress: Callable[[int, int], None] | None,
    steps_at_once: int,
) -> tuple[Floats, Flags]:
    """Return scores after all comparisons, and which systems had any; ``(n_rounds, n_systems)``."""
    shape = len(sequences), table.n_systems
    n = shape[0] * shape[1]
    is_compared = np.zeros(n, np.bool_)
    if isinstance(params, TrueSkillParams):
        mean, sd = np.full(n, params.mean, np.float64), np.full(n, params.sd, np.float64)
    else:
        alpha, beta = np.full((2, n), FRESH)
    for pairs, tie in _comparison_chunks(table, sequences, progress, steps_at_once):
        is_compared[pairs] = True
        for pair, tied in waves_side_by_side(pairs, tie, n_items=n):
            if isinstance(params, TrueSkillParams):
                trueskill_update(mean, sd, pair, tied, params)
            else:
                bounded_ra_update(alpha, beta, pair, tied, params)
    score = mean if isinstance(params, TrueSkillParams) else beta_mode(alpha, beta)
    return score.reshape(shape), is_compared.reshape(shape)


def _comparison_chunks(
    table: _Rankings,
    sequences: list[npt.NDArray[np.int32]],
    progress: Callable[[int, int], None] | None,
    steps_at_once: int,
) -> Iterator[tuple[Codes, Flags]]:
    """Yield comparisons of all rounds, up to ``steps_at_once`` of each.

    Winners and losers as places in the state ``(2, n_steps, n_rounds)``, and ties
    ``(n_steps, n_rounds)``.
    """
    n_rounds = len(sequences)
    remaining = max((int(table.size.take(sequence).sum()) for sequence in sequences), default=0)
    total, none = remaining, table.tie.size - 1
    positions, offset = [0] * n_rounds, [0] * n_rounds
    shift = np.arange(n_rounds) * table.n_systems
    while remaining > 0:
        n = min(steps_at_once, remaining)
        comparison = np.full((n_rounds, n), none)
        for r, sequence in enumerate(sequences):
            rankings = sequence[positions[r] : positions[r] + n + 1]
            size = table.size.take(rankings)
            ends = size.cumsum()
            ahead = int(ends.searchsorted(offset[r] + n)) + 1
            before = (ends - size)[:ahead]
            rows = (table.start.take(rankings[:ahead]) - before).repeat(size[:ahead])
            rows += np.arange(rows.size)
            rows = rows[offset[r] : offset[r] + n]
            comparison[r, : rows.size] = rows
            done = int(ends.searchsorted(offset[r] + n, side="right"))
            offset[r] += n - (int(ends[done - 1]) if done else 0)
            positions[r] += done
        pairs = table.pairs.take(comparison.T, axis=1)
        pairs += shift
        yield pairs, table.tie[comparison.T]
        remaining -= n
        if progress:
            progress(total - remaining, total)
