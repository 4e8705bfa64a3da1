"""Systems described by shares of wins, by dominance, and by methods that go in order.

These are descriptions: they have no tests. Shares of wins and dominance have a bootstrap interval
over segments only where segments are all that repeats. TrueSkill and bounded ranking aggregation
depend on the order of comparisons, which says nothing about systems; with `Ranking.online_rounds`,
TrueSkill is also the mean over so many random orders (``trueskill_permuted``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons import comparison_counts
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.clusters import rank_clusters, rank_ranges, ranks
from annot_pipeline.methods.comparisons.online_rounds import Round, online_rounds
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.methods.numerics.bootstrap import SegmentScores, resample_segments
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.inference import CONFIRMED_SEGMENTS
from annot_pipeline.stages.rankings import score_rankings
from annot_pipeline.stages.rankings.ranking_rows import (
    MethodRanking,
    Ranked,
    RankingContext,
    bootstrap_intervals,
    few,
    ranks_within,
)
from annot_pipeline.stages.rankings.system_comparisons import SystemComparisons

Intervals = tuple[Floats, Floats]

NOT_KEPT = "no comparison of judges kept"
ONLY_TIES = "all comparisons are ties: systems cannot be separated"
GRADED = "no interval: preferences are graded, see the headline"
ORDERED = "no interval: it depends on the order of comparisons, see the headline"
WAYS: dict[str, comparison_counts.TiesOfShares] = {"wins": "out", "wins_ties_half": "half"}
"""Shares of wins by name, and what a tie is there."""
MOST_ORDERS = 50
"""Random orders, at most, whose mean is the permuted score."""


def win_rankings(task: SystemComparisons, context: RankingContext) -> Ranked:
    """Return the rankings by shares of wins."""
    ranking = context.ranking
    if task.is_graded:
        systems = np.concatenate([task.first, task.second])
        of_both = np.concatenate([task.preferences, 1 - task.preferences])
        shares = means(systems, of_both, n_groups=len(task.names))
        return Ranked([description(task, "wins_ties_half", shares, None, GRADED)])
    why = why_no_interval(task, context)
    draws: dict[str, list[Floats]] = {method: [] for method in WAYS}
    if not why:
        rng = np.random.default_rng(task.seed)
        for counts in task.counted.resampled(ranking.bootstrap, rng):
            for method, rounds in draws.items():
                rounds.append(_shares(task, counts, method))
    return Ranked([
        description(
            task, method, _shares(task, task.counted.counts, method)[0],
            _interval(task, draws[method], task.n_segments), why, "ties only: no share of wins",
        )
        for method in WAYS
    ])  # fmt: skip


def _shares(task: SystemComparisons, counts: comparison_counts.PairCounts, method: str) -> Floats:
    return comparison_counts.win_shares(
        task.counted.first, task.counted.second, counts.wins, counts.ties, counts.losses,
        n_systems=len(task.names), ties_count=WAYS[method],
    )  # fmt: skip


def dominance_rankings(task: SystemComparisons, context: RankingContext) -> Ranked:
    """Return the ranking by the mean dominance of each system's outputs, if any was ranked."""
    if task.dominance is None:
        return Ranked([])
    ranking = context.ranking
    systems, segments, values = task.dominance
    n, width = len(task.names), int(segments.max(initial=-1)) + 1
    cells, cell = np.unique(systems * width + segments, return_inverse=True)
    of_cell = means(cell.reshape(-1), values, n_groups=cells.size)
    systems, segments = np.divmod(cells, max(width, 1))
    n_segments = np.bincount(systems, minlength=n)
    why = why_no_interval(task, context)
    rounds: list[Floats] = []
    if not why:
        rounds = resample_segments(
            [SegmentScores(systems, segments, of_cell)], n_systems=n, n_segments=width,
            rounds=ranking.bootstrap, rng=np.random.default_rng(task.seed),
        )  # fmt: skip
    return Ranked([
        description(
            task, "dominance", means(systems, of_cell, n_groups=n),
            _interval(task, rounds, n_segments), why, "no output in a graph of a segment",
            n_segments,
        )
    ])  # fmt: skip


def online_rankings(task: SystemComparisons, context: RankingContext) -> Ranked:
    """Return the rankings by bounded ranking aggregation and TrueSkill, in the order of rows."""
    ranking, easl = context.ranking, context.easl
    chain = {"gamma": easl.gamma, "epsilon": easl.epsilon}
    skill = TrueSkillParams(**chain, mean=easl.trueskill_mean, sd=easl.trueskill_sd)
    table, n = (task.first, task.second, task.outcome), len(task.names)
    scores = {
        "bounded_ra": bounded_ra(*table, n_items=n, params=BoundedRaParams(**chain)).score,
        "trueskill": trueskill(*table, n_items=n, params=skill).mean,
    }
    clusters: dict[str, Codes | None] = dict.fromkeys(scores)
    if ranking.online_rounds and len(task.names) <= context.most_systems:
        scores["trueskill_permuted"], clusters["trueskill_permuted"] = _permuted(
            task, ranking.online_rounds, skill, context.progress
        )
    is_seen = task.part >= 0
    return Ranked(
        [
            replace(
                description(task, method, np.where(is_seen, score, np.nan), None, ORDERED),
                wmt_cluster=clusters[method],
            )
            for method, score in scores.items()
        ]
    )


def _permuted(
    task: SystemComparisons, n_rounds: int, params: TrueSkillParams, tell: Callable[[str], None]
) -> tuple[Floats, Codes]:
    """Return the mean score over random orders, and WMT15's clusters.

    WMT15 drew single comparisons again, in random order; systems whose 95% ranges of ranks do not
    overlap are of different clusters (Bojar et al. 2015, section 3.4).
    """
    rng = np.random.default_rng([*task.seed, 1])

    def scores(kind: Round, n: int, ranking: Codes) -> Floats:
        def report(done: int, total: int) -> None:
            tell(f"trueskill, comparison {done:,} of {total:,} of {n} orders")

        rounds = online_rounds(
            task.first, task.second, task.outcome, ranking, ranking, n_systems=len(task.names),
            rounds=[kind] * n, params=params, rng=rng, progress=report,
        )  # fmt: skip
        return _level(task, rounds, params.mean)

    score = scores("permuted", min(n_rounds, MOST_ORDERS), task.ranking).mean(axis=0)
    values = scores("drawn_permuted", n_rounds, np.arange(task.first.size))
    values = comparable(np.where(np.isnan(values), score, values))
    cluster = np.zeros(score.size, np.int64)
    for part in range(task.n_parts):
        members = np.flatnonzero(task.part == part)
        members = members[np.argsort(-score[members], kind="stable")]
        cluster[members] = rank_clusters(*rank_ranges(ranks(values[:, members])))
    return score, cluster


def _level(task: SystemComparisons, rounds: Floats, level: float) -> Floats:
    """Return rounds with the mean of each part at ``level``: theirs is an accident of the order."""
    moved = rounds.copy()
    for part in range(task.n_parts):
        members = task.part == part
        moved[:, members] += level - np.nanmean(rounds[:, members], axis=1)[:, None]
    return moved


def description(
    task: SystemComparisons,
    method: str,
    score: Floats,
    interval: Intervals | None,
    why_no_interval: str,
    why_no_score: str = "",
    n_segments: Codes | None = None,
) -> MethodRanking:
    """Return a ranking without tests, whose ranks hold within the parts of the task.

    Parameters
    ----------
    task, method
        Of the ranking.
    score
        ``(K,)``; NaN for a system without a score.
    interval
        Ends, ``(K,)`` each.
    why_no_interval, why_no_score
        Reasons where they are missing.
    n_segments
        ``(K,)`` of each system, where they are not those of its comparisons.
    """
    only_ties = task.only_ties(task.part)
    reasons = []
    for code in range(len(task.names)):
        if task.part[code] < 0:
            reasons.append([NOT_KEPT])
            continue
        own = part_reasons(task, code)
        if np.isnan(score[code]):
            own.append(why_no_score)
        elif only_ties[code]:
            own.append(ONLY_TIES)
        elif why_no_interval or interval is None or np.isnan(interval[0][code]):
            own.append(why_no_interval or score_rankings.FEW_SEGMENTS)
        reasons.append(own)
    low, high = interval or (None, None)
    group = np.where(np.isnan(score), -1, task.part)
    return MethodRanking(
        method, score, ranks_within(comparable(score), group), group,
        task.n_segments if n_segments is None else n_segments, task.n_comparisons, reasons,
        low, high,
    )  # fmt: skip


def part_reasons(task: SystemComparisons, code: int) -> list[str]:
    """Return why ranks of a system hold within its part only; none where there is one part."""
    if task.n_parts == 1:
        return []
    part = int(task.part[code])
    return [
        f"the comparisons fall into {task.n_parts} parts that share none: ranked within part "
        f"{part + 1} only ({few(task.names, task.part == part)})"
    ]


def why_no_interval(task: SystemComparisons, context: RankingContext) -> str:
    """Return why shares of wins have no bootstrap interval; empty if only segments repeat."""
    if not context.ranking.bootstrap:
        return "ranking.bootstrap is 0: no interval"
    if task.judges_repeat:
        return score_rankings.JUDGES_REPEAT
    if len(task.names) > context.most_systems:
        return f"more than {context.most_systems} systems: no interval"
    if task.shares_documents:
        return score_rankings.DOCUMENTS_REPEAT
    return score_rankings.FEW_SEGMENTS if task.counted.n_units < CONFIRMED_SEGMENTS else ""


def _interval(task: SystemComparisons, parts: list[Floats], n_segments: Codes) -> Intervals | None:
    """Return the 95% interval of systems with enough segments and other than ties."""
    if not parts:
        return None
    rounds = comparable(np.concatenate(parts))
    enough = (n_segments >= CONFIRMED_SEGMENTS) | ~task.has_segment.any()
    return bootstrap_intervals(rounds, enough & ~task.only_ties(task.part))
