"""All rankings of the systems of some tasks: by scores, and by comparisons of outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.stages.comparisons.answers_of_systems import SystemAnswers, with_answers
from annot_pipeline.stages.comparisons.judgments_of_systems import judgments_of_systems
from annot_pipeline.stages.comparisons.rank_by_comparisons import rank_by_comparisons
from annot_pipeline.stages.comparisons.ranked import RankingContext


def with_comparisons(
    by_scores: Mapping[str, pa.Table],
    comparisons: pa.Table,
    segment_ranks: pa.Table,
    settings: Campaign,
    item_rows: pa.Table | None = None,
    progress: Callable[[str], None] = lambda _: None,
    answers: Mapping[str, SystemAnswers] | None = None,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the rank by comparisons beside the rankings by scores.

    Parameters
    ----------
    by_scores
        As `rank_systems` gives them.
    comparisons, segment_ranks
        Of the same tasks, as `rank_by_comparisons` takes them.
    settings
        ``ranking``, ``easl``, ``seed``.
    item_rows
        Of the item tables, where a covariate needs them.
    progress
        Is called with messages about the progress.
    answers
        Answers that were asked for, by task.

    Returns
    -------
    tables, metrics
        The same tables by their keys.
    """
    compared, metrics = rank_by_comparisons(
        comparisons,
        RankingContext.from_settings(settings, progress),
        judges=settings.judges.declared,
        segment_ranks=segment_ranks,
        item_rows=item_rows,
        scored=frozenset(by_scores["system_rankings"]["task"].unique().to_pylist()),
    )
    whole = {
        name: pa.concat_tables([table, *([compared[name]] if name in compared else [])]).sort_by(
            [(column, "ascending") for column in GOLD[name].key]
        )
        for name, table in by_scores.items()
    }
    whole["system_rankings"] = with_answers(whole["system_rankings"], answers or {})
    systems = {"judgments_of_systems": judgments_of_systems(whole["system_rankings"])}
    return whole, metrics | systems
