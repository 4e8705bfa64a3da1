"""Rankings by scores: adjusted for judges and segments, and means of segment scores.

They are descriptions. They have a bootstrap interval only where segments are all that repeats, and
WMT's rank-sum tests and clusters under ``wmt_`` names (Graham et al. 2013, section 5). What does
not belong here: how a segment is scored (system_scores).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.clusters import clusters
from annot_pipeline.methods.numerics.bootstrap import SegmentScores, resample_segments, seed_of_name
from annot_pipeline.methods.numerics.distinct import numbered_by_first
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.multiplicity import adjust
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import (
    CONFIRMED_SEGMENTS,
    RankingInference,
    SystemEstimates,
    compare_estimates,
)
from annot_pipeline.methods.rankings.score_effects import ScoreParams
from annot_pipeline.methods.scores.system_comparisons import compare_systems
from annot_pipeline.stages.rankings import ranking_rows
from annot_pipeline.stages.rankings.system_scores import Cells, ScoreCounts, SystemScores

ADJUSTED = {"adjusted": False, "adjusted_scaled": True}
"""Methods of adjusted scores, and whether judges' spreads are taken out."""
LEAST_SPREAD = 0.1
"""Standard deviation of the logarithm of judges' spreads from which on they are taken out."""
NOT_KEPT = "no judgment of judges kept"
NO_JUDGE_CONNECTS = "no judge connects all systems"
EQUAL_SPREADS = "the spreads of judges hardly differ: see adjusted"


def adjusted_rankings(
    scores: SystemScores, context: ranking_rows.RankingContext
) -> ranking_rows.Ranked:
    """Return the rankings by adjusted scores; metrics are those of the headline."""
    counts, ranking = scores.counts, context.ranking
    connected: dict[str, Any] = {
        "judge_components": _names_of_components(scores.names, scores.connected),
        "judge_effects": ranking.judge_effects,
    }
    if len(scores.names) > context.most_systems:
        why = f"more than {context.most_systems} systems: not adjusted, and no tests"
        return ranking_rows.Ranked(
            [_unranked(method, counts, why) for method in ADJUSTED], connected
        )
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
            metrics = ranking_rows.inference_metrics(inference, counts.segments_of_judge > 0)
            headline = replace(fitted, estimates=estimates)
        component = np.full(has_score.size, -1)
        component[has_score] = numbered_by_first(estimates.component[has_score])
        rankings.append(
            ranking_rows.MethodRanking(
                method, values, inference.rank, component, *counts.by_system,
                _adjusted_reasons(scores.names, estimates, inference, component, scores.connected),
                values - inference.half_width, values + inference.half_width, inference,
                caveats=ranking_rows.inference_caveats(estimates, inference),
            )
        )  # fmt: skip
    return ranking_rows.Ranked(rankings, metrics | connected, headline)


def _unranked(method: str, counts: ScoreCounts, reason: str) -> ranking_rows.MethodRanking:
    return ranking_rows.unranked(method, *counts.by_system, [[reason] for _ in counts.judgments])


def _adjusted_reasons(
    names: Sequence[str],
    estimates: SystemEstimates,
    inference: RankingInference,
    component: Codes,
    connected: Codes,
) -> list[list[str]]:
    """Return what is missing of each system, or limits its tests."""
    reasons = ranking_rows.inference_reasons(estimates, inference)
    for code, own in enumerate(component.tolist()):
        if own < 0:
            reasons[code] = [NOT_KEPT]
        elif component.max() > 0:
            members = ranking_rows.few(names, component == own)
            reasons[code].insert(0, why_separate(connected, own, members))
    return reasons


def _names_of_components(names: Sequence[str], component: Codes) -> list[list[str]]:
    """Return some systems of each component."""
    return [
        [names[code] for code in np.flatnonzero(component == one)[:5]]
        for one in range(min(int(component.max(initial=-1)) + 1, 20))
    ]


def why_separate(connected: Codes, component: int, members: str) -> str:
    """Return why ranks hold within a component alone."""
    what = NO_JUDGE_CONNECTS
    if connected.max(initial=0) == 0:
        what = "judges and segments do not separate all systems"
    return f"{what}: ranked within component {component + 1} only ({members})"


NO_JUDGMENT = "no judgment that this method can use"
JUDGES_REPEAT = "no interval: judges judge several segments, see the headline"
DOCUMENTS_REPEAT = "no interval: segments of one document are not independent, see the headline"
FEW_SEGMENTS = f"no interval: fewer than {CONFIRMED_SEGMENTS} segments"


def mean_rankings(task: SystemScores, context: ranking_rows.RankingContext) -> ranking_rows.Ranked:
    """Return the rankings by means of segment scores."""
    why_no_interval = _why_no_interval(task, context.ranking)
    intervals = None if why_no_interval else _bootstrap(task, context.ranking, context.seed)
    n_unfiltered, n_filtered = (
        int(task.cells[method].n_judgments.sum()) for method in ("raw_mean", "filtered_mean")
    )
    rankings = []
    for number, (method, scores) in enumerate(task.cells.items()):
        # z-scores of judges who share no system are not on one scale
        groups = task.connected if method == "z_mean" else np.zeros_like(task.connected)
        described = _described_by(method, scores, groups, task.names, context)
        why = why_no_interval
        if method == "raw_mean" and n_unfiltered > n_filtered:
            why = why or "no interval: it includes judges who failed"
        if why:
            for reasons, rank in zip(described.reasons, described.rank, strict=True):
                reasons.extend([why] if rank else [])
        elif intervals is not None:
            low, high = intervals[number]
            described = replace(described, low=low, high=high)
        rankings.append(described)
    return ranking_rows.Ranked(rankings)


def _described_by(
    method: str,
    scores: Cells,
    groups: Codes,
    names: Sequence[str],
    context: ranking_rows.RankingContext,
) -> ranking_rows.MethodRanking:
    """Return the ranking by the means of segment scores, without intervals."""
    n = len(names)
    n_segments = np.bincount(scores.systems, minlength=n)
    score = means(scores.systems, scores.scores, n_groups=n)
    group = np.where(n_segments > 0, groups, -1)
    reasons: list[list[str]] = []
    for code in range(n):
        own = [] if n_segments[code] else [NO_JUDGMENT]
        if n_segments[code] and group.max(initial=0) > 0:
            own = [why_separate(groups, group[code], ranking_rows.few(names, group == group[code]))]
        reasons.append(own)
    rank_sum, cluster = _rank_sum(scores, comparable(score), group, context)
    return ranking_rows.MethodRanking(
        method, score, ranking_rows.ranks_within(comparable(score), group), group, n_segments,
        np.bincount(scores.systems, scores.n_judgments, n).astype(np.int64), reasons,
        rank_sum=rank_sum, wmt_cluster=cluster,
    )  # fmt: skip


def _why_no_interval(task: SystemScores, ranking: Ranking) -> str:
    """Return why means have no bootstrap interval; empty if segments are all that repeats."""
    if not ranking.bootstrap:
        return "ranking.bootstrap is 0: no interval"
    if task.counts.segments_of_judge.max(initial=0) > 1:
        return JUDGES_REPEAT
    if task.shares_documents:
        return DOCUMENTS_REPEAT
    return FEW_SEGMENTS if task.n_segments < CONFIRMED_SEGMENTS else ""


def _bootstrap(task: SystemScores, ranking: Ranking, seed: int) -> list[tuple[Floats, Floats]]:
    """Return the 95% intervals of the scores by method, from the same draws of segments."""
    rounds = resample_segments(
        [SegmentScores(one.systems, one.segments, one.scores) for one in task.cells.values()],
        n_systems=len(task.names), n_segments=task.n_segments, rounds=ranking.bootstrap,
        rng=np.random.default_rng([seed, seed_of_name(task.task)]),
    )  # fmt: skip
    intervals = []
    for values, scores in zip(rounds, task.cells.values(), strict=True):
        n_segments = np.bincount(scores.systems, minlength=len(task.names))
        intervals.append(ranking_rows.bootstrap_intervals(values, n_segments >= CONFIRMED_SEGMENTS))
    return intervals


def _rank_sum(
    scores: Cells, score: Floats, component: Codes, context: ranking_rows.RankingContext
) -> tuple[ranking_rows.RankSumTests, Codes] | tuple[None, None]:
    """Return WMT's tests of all pairs of a component, and clusters by `Ranking.cluster_rule`."""
    n, ranking = score.size, context.ranking
    if n > context.most_systems:
        return None, None
    compared = compare_systems(scores.systems, scores.scores, n_systems=n)
    is_connected = component[:, None] == component
    difference, p_value = (
        np.where(is_connected, part, np.nan) for part in (compared.difference, compared.p_value)
    )
    p_adjusted = adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)
    p_decisive = p_adjusted if ranking.correction == "holm" else p_value
    beats = np.nan_to_num(p_decisive, nan=1.0) < ranking.alpha
    cluster = np.zeros(n, np.int64)
    for code in range(int(component.max(initial=-1)) + 1):
        members = np.flatnonzero(component == code)
        members = members[np.argsort(-score[members], kind="stable")]
        cluster[members] = clusters(beats[np.ix_(members, members)], ranking.cluster_rule)
    return ranking_rows.RankSumTests(difference, p_value, p_adjusted, beats), cluster
