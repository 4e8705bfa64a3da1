"""Rankings of one task by scores: adjusted for judges and segments, and descriptive means.

The adjusted scores are the headline: their intervals and tests hold where judges and segments
repeat (methods.rankings). Means of segment scores are descriptions. They have a bootstrap interval
only where segments are all that repeats, and WMT's rank-sum tests and clusters under ``wmt_`` names
(Graham et al. 2013, section 5). What does not belong here: how a segment is scored
(segment_scores), the estimates (methods.rankings.adjusted_scores).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.clusters import clusters
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.bootstrap_means import SegmentScores, resample_segments
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.multiplicity import adjust
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.adjusted_scores import (
    AdjustedScores,
    adjusted_scores,
    connected_systems,
)
from annot_pipeline.methods.rankings.inference import (
    CONFIRMED_SEGMENTS,
    RankingInference,
    SystemEstimates,
    compare_estimates,
)
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_params import ScoreParams
from annot_pipeline.methods.scores.system_comparisons import compare_systems
from annot_pipeline.stages.comparisons.inference_reasons import (
    few,
    inference_metrics,
    inference_reasons,
)
from annot_pipeline.stages.comparisons.ranking_rows import (
    MOST_SYSTEMS,
    MethodRanking,
    RankSumTests,
    ranks_within,
)
from annot_pipeline.stages.scores.segment_scores import Cells, TaskCells

ADJUSTED = {"adjusted": False, "adjusted_scaled": True}
"""Methods of adjusted scores, and whether judges' spreads are taken out."""
LEAST_SPREAD = 0.1
"""Standard deviation of the logarithm of judges' spreads from which on they are taken out."""
TAILS = (0.025, 0.975)
NOT_KEPT = "no judgment of judges kept"
NO_JUDGMENT = "no judgment that counts for this method"
TOO_MANY = f"more than {MOST_SYSTEMS} systems: not adjusted, and no tests"
EQUAL_SPREADS = "the spreads of judges hardly differ: see adjusted"
JUDGES_REPEAT = "no interval: judges judge several segments, see the headline"
FEW_SEGMENTS = f"no interval: fewer than {CONFIRMED_SEGMENTS} segments"

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreCounts(Additive):
    """Counts of scores of judges kept.

    Parameters
    ----------
    judgments, segments
        ``(K,)`` of each system.
    segments_of_judge
        ``(n_judges,)``.
    """

    judgments: Floats
    segments: Floats
    segments_of_judge: Floats

    @property
    def by_system(self) -> tuple[Codes, Codes]:
        """Return segments and judgments of each system."""
        return self.segments.astype(np.int64), self.judgments.astype(np.int64)


@dataclass(frozen=True)
class TaskScores:
    """Scores of the systems of one task.

    Parameters
    ----------
    cells
        Segment scores by descriptive method.
    blocks
        Scores of judges kept, with the codes of systems that ``cells`` has.
    """

    cells: TaskCells
    blocks: Blocks[ScoreBlock]


@dataclass(frozen=True)
class ScoreRankings:
    """Rankings of one task by all methods, in the order of names.

    Parameters
    ----------
    rankings
        By method.
    metrics
        What limits the headline.
    adjusted
        Scores of the headline; None of too many systems.
    """

    rankings: list[MethodRanking]
    metrics: dict[str, Any]
    adjusted: AdjustedScores | None


def score_rankings(scores: TaskScores, ranking: Ranking, seed: int) -> ScoreRankings:
    """Return the rankings of one task by scores.

    Parameters
    ----------
    scores
        Of the task.
    ranking
        Of its settings.
    seed
        Of the bootstrap; each task has its own stream.
    """
    counts = scores.blocks.sum(_counts)
    component = _connected(scores)
    adjusted, metrics, headline = _adjusted(scores, counts, component, ranking)
    described = _described(scores.cells, counts, component, ranking, seed)
    metrics["judge_components"] = _names_of_components(scores.cells.systems, component)
    rankings = sorted([*adjusted, *described], key=lambda one: one.method)
    return ScoreRankings(rankings, metrics, headline)


def _counts(block: ScoreBlock) -> ScoreCounts:
    def nonzero(counts: Any) -> Floats:
        return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)

    judgments = np.bincount(block.systems, minlength=block.n_systems).astype(np.float64)
    return ScoreCounts(judgments, nonzero(block.segment_systems), nonzero(block.segment_judges))


def _connected(scores: TaskScores) -> Codes:
    """Return components of systems that judges connect; -1 without judgments of judges kept."""
    seen = np.concatenate(scores.blocks.map(_judge_systems), axis=1)
    component = connected_systems(seen[0], seen[1], len(scores.cells.systems))
    without = np.ones(component.size, np.bool_)
    without[seen[1]] = False
    component = np.where(without, -1, component)
    return np.unique(np.append(component, -1), return_inverse=True)[1].reshape(-1)[:-1] - 1


def _judge_systems(block: ScoreBlock) -> Codes:
    """Return the distinct judges and systems of a block, ``(2, n)``."""
    codes = np.unique(block.judges * block.n_systems + block.systems)
    return np.stack(np.divmod(codes, max(block.n_systems, 1)))


def _names_of_components(names: Sequence[str], component: Codes) -> list[list[str]]:
    """Return some systems of each component."""
    return [
        [names[code] for code in np.flatnonzero(component == one)[:5]]
        for one in range(min(int(component.max(initial=-1)) + 1, 20))
    ]


def _adjusted(
    scores: TaskScores, counts: ScoreCounts, connected: Codes, ranking: Ranking
) -> tuple[list[MethodRanking], dict[str, Any], AdjustedScores | None]:
    """Return the rankings by adjusted scores; metrics and scores are those of the headline."""
    if len(scores.cells.systems) > MOST_SYSTEMS:
        return [_unranked(method, counts, TOO_MANY) for method in ADJUSTED], {}, None
    rankings, metrics, headline = [], {}, None
    for method, is_scaled in ADJUSTED.items():
        if headline is not None and headline.spread_of_spreads < LEAST_SPREAD:
            rankings.append(_unranked(method, counts, EQUAL_SPREADS))
            continue
        params = ScoreParams(ranking.judge_effects, ranking.segment_effects, is_scaled)
        fitted = adjusted_scores(scores.blocks, params)
        has_score = counts.judgments > 0
        values = np.where(has_score, comparable(fitted.estimates.values), np.nan)
        estimates = replace(fitted.estimates, values=values)
        inference = compare_estimates(estimates, alpha=ranking.alpha)
        if not is_scaled:
            metrics = inference_metrics(inference, counts.segments_of_judge > 0)
            headline = replace(fitted, estimates=estimates)
        component = _numbered(np.where(has_score, estimates.component, -1))
        rankings.append(
            MethodRanking(
                method, values, inference.rank, component, *counts.by_system,
                _adjusted_reasons(scores.cells.systems, estimates, inference, component, connected),
                values - inference.half_width, values + inference.half_width, inference,
            )
        )  # fmt: skip
    return rankings, metrics, headline


def _unranked(method: str, counts: ScoreCounts, reason: str) -> MethodRanking:
    """Return a ranking without scores and ranks, for one reason."""
    n = counts.judgments.size
    none = np.zeros(n, np.int64)
    reasons = [[reason] for _ in range(n)]
    return MethodRanking(method, np.full(n, np.nan), none, none - 1, *counts.by_system, reasons)


def _adjusted_reasons(
    names: Sequence[str],
    estimates: SystemEstimates,
    inference: RankingInference,
    component: Codes,
    connected: Codes,
) -> list[list[str]]:
    """Return what is missing of each system, or limits its tests."""
    reasons = inference_reasons(estimates, inference)
    for code, own in enumerate(component.tolist()):
        if own < 0:
            reasons[code] = [NOT_KEPT]
        elif component.max() > 0:
            members = few(names, component == own)
            reasons[code].insert(0, _why_separate(connected, own, members))
    return reasons


def _why_separate(connected: Codes, component: int, members: str) -> str:
    what = "no judge connects all systems"
    if connected.max(initial=0) == 0:
        what = "judges and segments do not tell all systems apart"
    return f"{what}: ranked within component {component + 1} only ({members})"


def _numbered(component: Codes) -> Codes:
    """Return components numbered from 0 by their first system; -1 stays."""
    numbered = np.full(component.size, -1)
    codes = component[component >= 0]
    _, first, code = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(first.size, np.int64)
    order[np.argsort(first)] = np.arange(first.size)
    numbered[component >= 0] = order[code.reshape(-1)]
    return numbered


def _described(
    cells: TaskCells, counts: ScoreCounts, component: Codes, ranking: Ranking, seed: int
) -> list[MethodRanking]:
    """Return the rankings by means of segment scores."""
    why_no_interval = _why_no_interval(cells, counts, ranking)
    intervals = None if why_no_interval else _bootstrap(cells, ranking, seed)
    n_unfiltered, n_filtered = (
        int(cells.methods[method].n_judgments.sum()) for method in ("raw_mean", "filtered_mean")
    )
    rankings = []
    for number, (method, scores) in enumerate(cells.methods.items()):
        # z-scores of judges who share no system are not on one scale
        groups = component if method == "z_mean" else np.zeros_like(component)
        described = _described_by(method, scores, groups, cells.systems, ranking)
        why = why_no_interval
        if method == "raw_mean" and n_unfiltered > n_filtered:
            why = why or "no interval: it counts judges who failed"
        if why:
            for reasons, rank in zip(described.reasons, described.rank, strict=True):
                reasons.extend([why] if rank else [])
        elif intervals is not None:
            low, high = intervals[number]
            described = replace(described, low=low, high=high)
        rankings.append(described)
    return rankings


def _described_by(
    method: str, scores: Cells, groups: Codes, names: Sequence[str], ranking: Ranking
) -> MethodRanking:
    """Return the ranking by the means of segment scores, without intervals."""
    n = len(names)
    n_segments = np.bincount(scores.systems, minlength=n)
    score = means(scores.systems, scores.scores, n_groups=n)
    group = np.where(n_segments > 0, groups, -1)
    reasons: list[list[str]] = []
    for code in range(n):
        own = [] if n_segments[code] else [NO_JUDGMENT]
        if n_segments[code] and group.max(initial=0) > 0:
            own = [_why_separate(groups, group[code], few(names, group == group[code]))]
        reasons.append(own)
    rank_sum, cluster = _rank_sum(scores, comparable(score), group, ranking)
    return MethodRanking(
        method, score, ranks_within(comparable(score), group), group, n_segments,
        np.bincount(scores.systems, scores.n_judgments, n).astype(np.int64), reasons,
        rank_sum=rank_sum, wmt_cluster=cluster,
    )  # fmt: skip


def _why_no_interval(cells: TaskCells, counts: ScoreCounts, ranking: Ranking) -> str:
    """Return why means have no bootstrap interval; empty if segments are all that repeats."""
    if not ranking.bootstrap:
        return "ranking.bootstrap is 0: no interval"
    if counts.segments_of_judge.max(initial=0) > 1:
        return JUDGES_REPEAT
    return FEW_SEGMENTS if cells.n_segments < CONFIRMED_SEGMENTS else ""


def _bootstrap(cells: TaskCells, ranking: Ranking, seed: int) -> list[tuple[Floats, Floats]]:
    """Return the 95% intervals of the scores by method, from the same draws of segments."""
    name = hashlib.sha256(cells.task.encode()).digest()
    rounds = resample_segments(
        [SegmentScores(one.systems, one.segments, one.scores) for one in cells.methods.values()],
        n_systems=len(cells.systems), n_segments=cells.n_segments, rounds=ranking.bootstrap,
        rng=np.random.default_rng([seed, int.from_bytes(name[:8], "big")]),
    )  # fmt: skip
    intervals = []
    for drawn, scores in zip(rounds, cells.methods.values(), strict=True):
        n_segments = np.bincount(scores.systems, minlength=len(cells.systems))
        enough = (n_segments >= CONFIRMED_SEGMENTS) & ~np.isnan(drawn).all(axis=0)
        low, high = np.full((2, enough.size), np.nan)
        if enough.any():
            low[enough], high[enough] = np.nanquantile(drawn[:, enough], TAILS, axis=0)
        intervals.append((low, high))
    return intervals


def _rank_sum(
    scores: Cells, score: Floats, component: Codes, ranking: Ranking
) -> tuple[RankSumTests, Codes] | tuple[None, None]:
    """Return WMT's tests of all pairs of a component, and clusters by `Ranking.cluster_rule`."""
    n = score.size
    if n > MOST_SYSTEMS:
        return None, None
    compared = compare_systems(scores.systems, scores.scores, n_systems=n)
    together = component[:, None] == component
    difference, p_value = (
        np.where(together, part, np.nan) for part in (compared.difference, compared.p_value)
    )
    p_adjusted = adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)
    p_decisive = p_adjusted if ranking.correction == "holm" else p_value
    beats = np.nan_to_num(p_decisive, nan=1.0) < ranking.alpha
    cluster = np.zeros(n, np.int64)
    for code in range(int(component.max(initial=-1)) + 1):
        members = np.flatnonzero(component == code)
        members = members[np.argsort(-score[members], kind="stable")]
        cluster[members] = clusters(beats[np.ix_(members, members)], ranking.cluster_rule)
    return RankSumTests(difference, p_value, p_adjusted, beats), cluster
