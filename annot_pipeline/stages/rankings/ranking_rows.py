"""Rows of system_rankings and system_comparisons, and what limits their inference.

A method that has inference (methods.rankings.inference) fills the plain columns of intervals,
tests and clusters. Rank-sum tests, which take segments as independent, stand under ``wmt_`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Campaign, Easl, Ranking
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS, TEXT
from annot_pipeline.methods.comparisons.clusters import ranks
from annot_pipeline.methods.rankings.adjusted_scores import AdjustedScores
from annot_pipeline.methods.rankings.inference import (
    CONFIRMED_JUDGES,
    CONFIRMED_SEGMENTS,
    FEW,
    NO_TEST,
    NO_VARIATION,
    NOT_CONNECTED,
    TESTED,
    TOO_FEW,
    RankingInference,
    SystemEstimates,
)
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.stages.shared.columns import nulls_for_nan

NAMED = 5
"""Systems that a reason names."""

THESE_JUDGES = f"fewer than {FEW} judges: intervals and tests speak of these judges only"
THESE_SEGMENTS = f"fewer than {FEW} segments: intervals and tests speak of these segments only"
NO_CLUSTERS = (
    f"no clusters: they need {CONFIRMED_JUDGES} effective judges and {CONFIRMED_SEGMENTS} segments"
)
"""Where segments have documents, texts name documents in place of segments: `by_cluster`."""


def inference_reasons(estimates: SystemEstimates, inference: RankingInference) -> list[list[str]]:
    """Return for each system what limits its intervals, tests and clusters."""
    is_connected = estimates.component[:, None] == estimates.component
    is_tested = inference.reason == TESTED
    has_clusters = (inference.is_confirmed & is_connected).any(axis=1)
    reasons = []
    for code in range(estimates.values.size):
        own: list[str] = []
        codes = np.unique(np.delete(inference.reason[code], code)).tolist()
        if not codes:
            own.append("the only system of the task: nothing to compare it with")
        elif is_tested[code].any():
            own += inference_caveats(estimates, inference)
            if not has_clusters[code]:
                own.append(by_cluster(NO_CLUSTERS, inference))
        own += [
            by_cluster(
                f"no interval and tests: {NO_TEST[one]}" if not is_tested[code].any() else
                f"no interval, and not all tests: {NO_TEST[one]}", inference
            )
            for one in codes if one not in {TESTED, NOT_CONNECTED}
        ]  # fmt: skip
        reasons.append(own)
    return reasons


def inference_caveats(estimates: SystemEstimates, inference: RankingInference) -> list[str]:
    """Return what limits all tests: they speak of these judges, or of these segments, only."""
    caveats = [THESE_JUDGES] if inference.of_these_judges else []
    few_segments = estimates.segments is None
    return caveats + ([by_cluster(THESE_SEGMENTS, inference)] if few_segments else [])


def by_cluster(reason: str, inference: RankingInference) -> str:
    """Return a reason about clusters with the word for them: segments, or documents."""
    return reason.replace("segments", "documents") if inference.has_documents else reason


def inference_metrics(inference: RankingInference, is_used: Flags) -> dict[str, Any]:
    """Return the numbers of judges and of pairs of systems: all, tested, and confirmed."""
    n_systems = int((inference.rank > 0).sum())
    return {
        "judges": int(is_used.sum()),
        "pairs": n_systems * (n_systems - 1) // 2,
        "tested": int((inference.reason == TESTED).sum()) // 2,
        "confirmed": int(inference.is_confirmed.sum()) // 2,
        "too_few": int(np.isin(inference.reason, (TOO_FEW, NO_VARIATION)).sum()) // 2,
    }


def few(names: Sequence[str], members: Flags) -> str:
    """Return some names of systems for people."""
    chosen = [names[code] for code in np.flatnonzero(members).tolist()]
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    return ", ".join(chosen[:NAMED]) + more


MOST_SYSTEMS = 500
"""Systems of a task up to which pairs are compared: beyond, a matrix of them is too much."""


@dataclass(frozen=True, eq=False)
class RankSumTests:
    """WMT's tests of K systems.

    Parameters
    ----------
    difference, p_value, p_adjusted
        ``(K, K)`` of the row against the column; NaN without a test.
    beats
        ``(K, K)`` whether the row is significantly better.
    """

    difference: Floats
    p_value: Floats
    p_adjusted: Floats
    beats: Flags


@dataclass(frozen=True, eq=False)
class MethodRanking:
    """Ranking of K systems of one task by one method.

    Parameters
    ----------
    method
        Its name.
    score
        ``(K,)``; NaN for a system without a score.
    rank
        ``(K,)`` from 1 within the component; 0 for a system without a rank.
    component
        ``(K,)`` codes from 0: ranks hold within a component; -1 where there is no rank.
    n_segments, n_judgments
        ``(K,)``.
    reasons
        For each system, why something is missing.
    low, high
        ``(K,)`` ends of the interval of the score; NaN without one.
    inference
        Of the differences, where the method has it.
    sign_p_value
        ``(K, K)`` of systems of which one never lost to the other; None where there are none.
    rank_sum
        WMT's tests, where the method has them.
    wmt_cluster
        ``(K,)`` clusters by WMT's rules; None where the method has none.
    caveats
        What limits all tests: the rows of tested pairs have them as their reason.
    why_not_connected
        Why there is no test between components.
    """

    method: str
    score: Floats
    rank: Codes
    component: Codes
    n_segments: Codes
    n_judgments: Codes
    reasons: Sequence[list[str]]
    low: Floats | None = None
    high: Floats | None = None
    inference: RankingInference | None = None
    sign_p_value: Floats | None = None
    rank_sum: RankSumTests | None = None
    wmt_cluster: Codes | None = None
    caveats: Sequence[str] = ()
    why_not_connected: str = NO_TEST[NOT_CONNECTED]


@dataclass(frozen=True)
class RankingContext:
    """Settings that ranking methods may use.

    Parameters
    ----------
    ranking, easl
        Sections of the settings.
    seed
        Of draws; each task has its own stream.
    progress
        Is called with messages about the progress.
    most_systems
        Systems of a task up to which pairs are compared.
    """

    ranking: Ranking
    easl: Easl
    seed: int
    progress: Callable[[str], None] = lambda _: None
    most_systems: int = MOST_SYSTEMS

    @classmethod
    def from_settings(
        cls, settings: Campaign, progress: Callable[[str], None] = lambda _: None
    ) -> RankingContext:
        """Return the context of a campaign."""
        return cls(settings.ranking, settings.easl, settings.seed, progress)


@dataclass(frozen=True)
class Ranked:
    """Rankings of one task by one method, or by several that share their work.

    Parameters
    ----------
    rankings
        By method.
    metrics
        For gates, by name.
    adjusted
        Adjusted scores in points, of the method that makes them.
    """

    rankings: Sequence[MethodRanking]
    metrics: dict[str, Any] = field(default_factory=dict)
    adjusted: AdjustedScores | None = None


def ranking_tables(
    task: str, names: Sequence[str], rankings: Sequence[MethodRanking], headline: str
) -> dict[str, pa.Table]:
    """Return the rows of both tables for one task.

    Parameters
    ----------
    task
        Its name.
    names
        ``(K,)`` systems in code point order.
    rankings
        By all methods.
    headline
        Name of the method to read.
    """
    rows, pairs = [SYSTEM_RANKINGS.empty()], [SYSTEM_COMPARISONS.empty()]
    for ranking in rankings:
        rows.append(_system_rows(task, names, ranking, headline))
        pairs.append(_pair_rows(task, names, ranking, headline))
    tables = {"system_rankings": rows, "system_comparisons": pairs}
    return {name: pa.concat_tables(parts) for name, parts in tables.items()}


def unranked(
    method: str, n_segments: Codes, n_judgments: Codes, reasons: Sequence[list[str]]
) -> MethodRanking:
    """Return a ranking without scores and ranks, for these reasons."""
    none = np.zeros(len(reasons), np.int64)
    missing = np.full(len(reasons), np.nan)
    return MethodRanking(method, missing, none, none - 1, n_segments, n_judgments, reasons)


def bootstrap_intervals(rounds: Floats, enough: Flags) -> tuple[Floats, Floats]:
    """Return 95% intervals, ``(K,)`` ends each, of scores ``(n_rounds, K)`` that have enough."""
    enough = enough & ~np.isnan(rounds).all(axis=0)
    low, high = np.full((2, enough.size), np.nan)
    if enough.any():
        low[enough], high[enough] = np.nanquantile(rounds[:, enough], (0.025, 0.975), axis=0)
    return low, high


def ranks_within(values: Floats, group: Codes) -> Codes:
    """Return ranks in each group, 1 for the highest, ties 1 2 2 4; 0 for NaN."""
    ranked = np.zeros(values.shape, np.int64)
    for code in np.unique(group[~np.isnan(values)]):
        members = np.flatnonzero((group == code) & ~np.isnan(values))
        ranked[members] = ranks(values[members])
    return ranked


def _system_rows(
    task: str, names: Sequence[str], ranking: MethodRanking, headline: str
) -> pa.Table:
    n, has_rank, component = len(names), ranking.rank > 0, ranking.component
    columns: dict[str, Any] = {
        "task": pa.repeat(task, n),
        "method": pa.repeat(ranking.method, n),
        "system": list(names),
        "headline": np.full(n, ranking.method == headline),
        "rank": pa.array(ranking.rank, mask=~has_rank),
        "score": nulls_for_nan(ranking.score),
        "component": pa.array(component + 1, mask=~has_rank | bool(component.max(initial=0) == 0)),
        "n_segments": ranking.n_segments,
        "n_judgments": ranking.n_judgments,
        "reason": pa.array(["; ".join(reasons) or None for reasons in ranking.reasons], TEXT),
    }
    if ranking.low is not None and ranking.high is not None:
        columns |= {"ci_low": nulls_for_nan(ranking.low), "ci_high": nulls_for_nan(ranking.high)}
    if ranking.inference is not None:
        columns |= _inference_columns(ranking.inference, component)
    if ranking.rank_sum is not None:
        columns["wmt_wins"] = pa.array(ranking.rank_sum.beats.sum(axis=1), mask=~has_rank)
    if ranking.wmt_cluster is not None:
        columns["wmt_cluster"] = pa.array(ranking.wmt_cluster, mask=~has_rank)
    return SYSTEM_RANKINGS.from_columns(columns)


def _inference_columns(inference: RankingInference, component: Codes) -> dict[str, pa.Array]:
    """Return ranks in intervals, wins and clusters, where pairs of the system have tests.

    Where systems without sizes are ranked too, the tests say nothing of ranks and clusters.
    """
    untested = ~(inference.reason == TESTED).any(axis=1)
    is_connected = component[:, None] == component
    is_partial = ((inference.reason == NOT_CONNECTED) & is_connected).any(axis=1) | untested
    unconfirmed = is_partial | ~(inference.is_confirmed & is_connected).any(axis=1)
    return {
        "rank_low": pa.array(inference.best_rank, mask=is_partial),
        "rank_high": pa.array(inference.worst_rank, mask=is_partial),
        "wins": pa.array(inference.beats.sum(axis=1), mask=untested),
        "cluster": pa.array(inference.cluster, mask=unconfirmed),
    }


def _pair_rows(task: str, names: Sequence[str], ranking: MethodRanking, headline: str) -> pa.Table:
    """Return a row for each ordered pair, where the method has tests."""
    inference, rank_sum = ranking.inference, ranking.rank_sum
    if inference is None and rank_sum is None:
        return SYSTEM_COMPARISONS.empty()
    a, b = np.nonzero(~np.eye(len(names), dtype=np.bool_))
    columns: dict[str, Any] = {
        "task": pa.repeat(task, a.size),
        "method": pa.repeat(ranking.method, a.size),
        "system_a": names_of(names, a),
        "system_b": names_of(names, b),
        "headline": np.full(a.size, ranking.method == headline),
    }
    if inference is not None:
        reason = inference.reason[a, b]
        reasons = {code: by_cluster(reason, inference) for code, reason in NO_TEST.items()} | {
            TESTED: "; ".join(ranking.caveats) or None,
            NOT_CONNECTED: ranking.why_not_connected,
        }
        texts = pa.array([reasons.get(code) for code in range(max(reasons) + 1)], TEXT)
        columns |= {
            "difference": nulls_for_nan(inference.difference[a, b]),
            "ci_low": nulls_for_nan(inference.low[a, b]),
            "ci_high": nulls_for_nan(inference.high[a, b]),
            "standard_error": nulls_for_nan(inference.error[a, b]),
            "degrees_of_freedom": nulls_for_nan(inference.degrees_of_freedom[a, b]),
            "effective_judges": nulls_for_nan(inference.effective_judges[a, b]),
            "effective_segments": nulls_for_nan(inference.effective_segments[a, b]),
            "p_value": nulls_for_nan(inference.p_value[a, b]),
            "p_adjusted": nulls_for_nan(inference.p_adjusted[a, b]),
            "a_beats_b": pa.array(inference.beats[a, b], mask=reason != TESTED),
            "reason": texts.take(pa.array(reason)),
        }
    if rank_sum is not None:
        p_value = rank_sum.p_value[a, b]
        columns |= {
            "difference": nulls_for_nan(rank_sum.difference[a, b]),
            "wmt_p_value": nulls_for_nan(p_value),
            "wmt_p_adjusted": nulls_for_nan(rank_sum.p_adjusted[a, b]),
            "wmt_a_beats_b": pa.array(rank_sum.beats[a, b], mask=np.isnan(p_value)),
        }
    if ranking.sign_p_value is not None:
        columns["sign_p_value"] = nulls_for_nan(ranking.sign_p_value[a, b])
    return SYSTEM_COMPARISONS.from_columns(columns)
