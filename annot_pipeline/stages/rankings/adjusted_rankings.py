"""Rankings by adjusted scores, the headline of tasks with scores (methods.rankings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import (
    RankingInference,
    SystemEstimates,
    compare_estimates,
)
from annot_pipeline.methods.rankings.score_params import ScoreParams
from annot_pipeline.stages.rankings.inference_reasons import (
    few,
    inference_caveats,
    inference_metrics,
    inference_reasons,
)
from annot_pipeline.stages.rankings.ranking_rows import MethodRanking, Ranked, RankingContext
from annot_pipeline.stages.rankings.system_scores import ScoreCounts, SystemScores

ADJUSTED = {"adjusted": False, "adjusted_scaled": True}
"""Methods of adjusted scores, and whether judges' spreads are taken out."""
LEAST_SPREAD = 0.1
"""Standard deviation of the logarithm of judges' spreads from which on they are taken out."""
NOT_KEPT = "no judgment of judges kept"
NO_JUDGE_CONNECTS = "no judge connects all systems"
EQUAL_SPREADS = "the spreads of judges hardly differ: see adjusted"


def adjusted_rankings(scores: SystemScores, context: RankingContext) -> Ranked:
    """Return the rankings by adjusted scores; metrics are those of the headline."""
    counts, ranking = scores.counts, context.ranking
    connected: dict[str, Any] = {
        "judge_components": _names_of_components(scores.names, scores.connected),
        "judge_effects": ranking.judge_effects,
    }
    if len(scores.names) > context.most_systems:
        why = f"more than {context.most_systems} systems: not adjusted, and no tests"
        return Ranked([_unranked(method, counts, why) for method in ADJUSTED], connected)
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
                _adjusted_reasons(scores.names, estimates, inference, component, scores.connected),
                values - inference.half_width, values + inference.half_width, inference,
                caveats=inference_caveats(estimates, inference),
            )
        )  # fmt: skip
    return Ranked(rankings, metrics | connected, headline)


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
            reasons[code].insert(0, why_separate(connected, own, members))
    return reasons


def _numbered(component: Codes) -> Codes:
    """Return components numbered from 0 by their first system; -1 stays."""
    numbered = np.full(component.size, -1)
    codes = component[component >= 0]
    _, first, code = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(first.size, np.int64)
    order[np.argsort(first)] = np.arange(first.size)
    numbered[component >= 0] = order[code.reshape(-1)]
    return numbered


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
