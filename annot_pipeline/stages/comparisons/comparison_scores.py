"""Systems scored by counts of comparisons: shares of wins, Bradley-Terry; and by dominance.

Every score stands beside the same score in bootstrap rounds; methods of counts see the same draws.
What does not belong here: methods that depend on the order (online_scores).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.bradley_terry import (
    BradleyTerryParams,
    BradleyTerryResult,
    BradleyTerryRounds,
    bradley_terry,
    bradley_terry_rounds,
)
from annot_pipeline.methods.comparisons.comparison_counts import PairCounts
from annot_pipeline.methods.comparisons.win_shares import TiesOfShares, win_shares
from annot_pipeline.methods.numerics.bootstrap_means import SegmentScores, resample_segments
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.stages.comparisons.ranking_rows import MOST_SYSTEMS, Scored, ranks_within
from annot_pipeline.stages.comparisons.task_comparisons import TaskComparisons, no_rounds, scored

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

DIGITS = 9
"""Digits after the point to which Bradley-Terry's scores are compared: beyond is the solver's."""

SELDOM = 40
"""In fewer than one of so many rounds a system may have no finite estimate, for an interval."""

WAYS: dict[str, TiesOfShares] = {"wins": "out", "wins_ties_half": "half"}
"""Shares of wins by name, and what a tie is there."""


def count_scores(
    task: TaskComparisons, ranking: Ranking
) -> tuple[list[Scored], dict[str, Any] | None]:
    """Return Bradley-Terry scores and shares of wins from the same draws, and fit metrics.

    Tasks with more than `MOST_SYSTEMS` systems have shares of wins only, without rounds; rows of
    Bradley-Terry say so.
    """
    small = task.n <= MOST_SYSTEMS
    fit = _fit(task, ranking) if small else None
    strengths: list[BradleyTerryRounds] = []
    shares: dict[str, list[Floats]] = {method: [np.empty((0, task.n))] for method in WAYS}
    rng = np.random.default_rng(task.seed)
    for counts in task.counted.resampled(ranking.bootstrap if small else 0, rng):
        for method, drawn in shares.items():
            drawn.append(_shares(task, counts, method))
        if fit is not None:
            strengths.append(_refit(task, fit, counts))
    win_shares = [
        scored(
            task,
            method,
            _shares(task, task.counted.counts, method)[0],
            np.concatenate(drawn),
            why_no_rounds=no_rounds(task, ranking.bootstrap, "bootstrap"),
            why_no_score="ties only: no share of wins",
        )
        for method, drawn in shares.items()
    ]
    if fit is None:
        unfitted = scored(
            task, "bradley_terry", np.full(task.n, np.nan), np.empty((0, task.n)),
            why_no_rounds=None, why_no_score=f"more than {MOST_SYSTEMS} systems: no Bradley-Terry",
        )  # fmt: skip
        return [unfitted, *win_shares], None
    strength, metrics = _bradley_terry(task, ranking, fit, strengths)
    return [strength, *win_shares], metrics


def _shares(task: TaskComparisons, counts: PairCounts, method: str) -> Floats:
    return win_shares(
        task.counted.first, task.counted.second, counts.wins, counts.ties, counts.losses,
        n_systems=task.n, ties_count=WAYS[method],
    )  # fmt: skip


def dominance_scores(
    task: TaskComparisons, ranking: Ranking, outputs: tuple[Codes, Codes, Floats]
) -> Scored:
    """Return the mean dominance of each system's outputs; segments are resampled."""
    systems, segments, values = outputs
    width = int(segments.max(initial=-1)) + 1
    cells, cell = np.unique(systems * width + segments, return_inverse=True)
    of_cell = means(cell.reshape(-1), values, n_groups=cells.size)
    systems, segments = np.divmod(cells, max(width, 1))
    rounds = ranking.bootstrap if task.n <= MOST_SYSTEMS else 0
    n_segments = np.bincount(systems, minlength=task.n)
    (drawn,) = resample_segments(
        [SegmentScores(systems, segments, of_cell)], n_systems=task.n, n_segments=width,
        rounds=rounds, rng=np.random.default_rng(task.seed),
    )  # fmt: skip
    return scored(
        task,
        "dominance",
        means(systems, of_cell, n_groups=task.n),
        drawn,
        why_no_rounds=no_rounds(task, ranking.bootstrap, "bootstrap"),
        n_segments=n_segments,
        why_no_score="no output in a graph of a segment",
    )


def _fit(task: TaskComparisons, ranking: Ranking) -> BradleyTerryResult:
    regularize = 0.0 if ranking.regularize == "none" else float(ranking.regularize)
    counts = task.counted.counts
    return bradley_terry(
        task.counted.first, task.counted.second, counts.wins, counts.ties, counts.losses,
        n_systems=task.n,
        params=BradleyTerryParams(ties=ranking.bradley_terry_ties, regularize=regularize),
    )  # fmt: skip


def _refit(
    task: TaskComparisons, fit: BradleyTerryResult, counts: PairCounts
) -> BradleyTerryRounds:
    return bradley_terry_rounds(
        task.counted.first, task.counted.second, counts.wins, counts.ties, counts.losses,
        part=task.graph.part, params=fit.params, start=fit.order_score,
    )  # fmt: skip


def _bradley_terry(
    task: TaskComparisons,
    ranking: Ranking,
    fit: BradleyTerryResult,
    drawn: list[BradleyTerryRounds],
) -> tuple[Scored, dict[str, Any]]:
    rounds = np.concatenate([r.score for r in drawn] or [np.empty((0, task.n))])
    n_weak = sum(int(r.weak.sum()) for r in drawn)
    fits = [np.array([fit.converged]), *(r.converged for r in drawn)]
    metrics = {
        "tie_parameter": _tie_parameter(fit),
        "rounds": len(rounds),
        "rounds_without_finite_estimate": n_weak,
        "not_converged": sum(int((~converged).sum()) for converged in fits),
    }
    group, order = _ordered(task, fit)
    inside = np.concatenate([r.inside for r in drawn] or [np.empty((0, task.n), np.bool_)])
    n_outside = (~inside).sum(axis=0)
    # so few that no quantile of TAILS is one of theirs
    sized = (SELDOM * n_outside < len(rounds)) & ~np.isnan(fit.score)
    if not fit.params.regularize:
        sized &= ~task.only_ties(task.graph.component)
    # rounds have something to say of systems that have no finite score
    base = scored(
        task,
        "bradley_terry",
        np.where(np.isnan(fit.score), order, fit.score),
        _centred(task, fit, rounds, inside & sized),
        why_no_rounds=no_rounds(task, ranking.bootstrap, "bootstrap"),
    )
    sized &= base.sized & base.drawn
    reasons = [list(reason) for reason in base.reasons]
    has_no_interval = base.sized & base.drawn & ~sized
    for code in range(task.n):
        missing = _why_no_score(task, fit, group, code, sized=bool(sized[code]))
        if missing:
            reasons[code].append(missing)
        elif has_no_interval[code]:
            reasons[code].append(
                f"no finite interval: {n_outside[code]:,} of {len(rounds):,} rounds have no finite "
                "estimate of it"
            )
    strength = Scored(
        method="bradley_terry",
        score=fit.score,
        order=order,
        group=group,
        rounds=np.round(base.rounds, DIGITS),
        sized=sized,
        n_units=base.n_units,
        n_segments=base.n_segments,
        n_judgments=base.n_judgments,
        reasons=reasons,
    )
    return strength, metrics


def _centred(
    task: TaskComparisons, fit: BradleyTerryResult, rounds: Floats, inside: Flags
) -> Floats:
    """Return rounds, shifted so that in each component the mean is that of the scores.

    A system that a round puts anywhere, for it has no finite estimate, so moves no other.
    """
    moved = rounds.copy()
    for part in range(task.graph.n_parts):
        members = task.graph.part == part
        gap = np.where(inside[:, members], rounds[:, members] - fit.score[members], 0.0)
        n = inside[:, members].sum(axis=1)
        moved[:, members] -= (gap.sum(axis=1) / np.maximum(n, 1))[:, None]
    return moved


def _tie_parameter(fit: BradleyTerryResult) -> float | str | None:
    """Return the tie parameter for JSON, which has no infinity."""
    if np.isnan(fit.tie_parameter):
        return None
    return "infinite" if np.isinf(fit.tie_parameter) else fit.tie_parameter


def _ordered(task: TaskComparisons, fit: BradleyTerryResult) -> tuple[Codes, Floats]:
    """Return the group in which ranks hold, and the order in it: components, then scores.

    A part whose components have no total order is ranked component by component.
    """
    component, graph = fit.connectivity.component, fit.connectivity
    score = np.round(fit.order_score, DIGITS)
    if fit.params.regularize:
        return graph.part, score
    keys = np.where(graph.total[graph.part], graph.n_components, component)
    pairs = np.stack([graph.part, keys])
    group = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
    within = ranks_within(score, component)
    place = np.lexsort((within, component))
    worse = (np.diff(component[place]) != 0) | (np.diff(within[place]) != 0)
    order = np.empty(task.n)
    order[place] = np.append(0.0, np.cumsum(np.where(worse, -1.0, 0.0)))
    return group, order


def _why_no_score(
    task: TaskComparisons, fit: BradleyTerryResult, group: Codes, code: int, *, sized: bool
) -> str | None:
    graph, own = fit.connectivity, fit.connectivity.component[code]
    if fit.params.regularize:
        return None
    if not graph.strong[graph.part[code]]:
        members = task.few(graph.component == own)
        what = "no finite score" if np.isnan(fit.score[code]) else "score within its component"
        what += "" if sized else " and interval"
        text = f"{what}: the comparisons are not strongly connected; "
        if graph.total[graph.part[code]]:
            return text + f"ranked by the order of the components, of which this is ({members})"
        return text + (
            "their components have no total order: ranked within component "
            f"{group[code] + 1} only ({members}); ranking.regularize gives all a finite score"
        )
    if np.isnan(fit.score[code]):
        return (
            "no finite score and interval: ties outgrow wins in Davidson's model; "
            "bradley_terry_ties: half and ranking.regularize give one"
        )
    return None
