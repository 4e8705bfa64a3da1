"""What limits the inference of a ranking, in words and as metrics for the gates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annot_pipeline.arrays import Flags
from annot_pipeline.methods.rankings.inference import (
    CONFIRMED_JUDGES,
    CONFIRMED_SEGMENTS,
    FEW,
    NO_TEST,
    NOT_CONNECTED,
    TESTED,
    TOO_FEW,
    RankingInference,
    SystemEstimates,
)

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
        "too_few": int((inference.reason == TOO_FEW).sum()) // 2,
    }


def few(names: Sequence[str], members: Flags) -> str:
    """Return some names of systems for people."""
    chosen = [names[code] for code in np.flatnonzero(members).tolist()]
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    return ", ".join(chosen[:NAMED]) + more
