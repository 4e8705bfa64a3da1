"""Bradley-Terry with the length of texts held equal, beside the headline of comparisons.

The model of the headline, in which the difference of the logarithms of the lengths of the two texts
is a covariate with one coefficient of all judges: strengths are those of texts of equal length
(Dubois et al. 2024; LMArena's style control, Li et al. 2024). Comparisons without both texts are
left out. What does not belong here: the model (bradley_terry_ranking).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.methods.rankings.covariates import varies_within_systems
from annot_pipeline.stages.rankings.bradley_terry_ranking import rank_by_strengths, unranked
from annot_pipeline.stages.rankings.ranking_rows import Ranked, RankingContext
from annot_pipeline.stages.rankings.system_comparisons import SystemComparisons

METHOD, COVARIATE = "bradley_terry_length", "length"
NO_TEXTS = "no comparison of two outputs with texts: map text of items"
EQUAL = "the texts of each comparison are equally long"
BY_SYSTEM = "lengths differ by system alone: length and system cannot be separated"
ALWAYS_ONE = "the longer text always wins or never wins: its effect has no finite value"
WITHOUT_TEXT = "no comparison of two outputs with texts"


def length_rankings(task: SystemComparisons, context: RankingContext) -> Ranked:
    """Return the ranking of one task by strengths at equal length, if the campaign asks for it."""
    if COVARIATE not in context.ranking.covariates:
        return Ranked([])
    if len(task.names) > context.most_systems:
        return rank_by_strengths(task, context, METHOD)
    lengths = task.length_difference
    has_texts = np.zeros(task.first.size, np.bool_) if lengths is None else ~np.isnan(lengths)
    if lengths is None or not has_texts.any():
        return unranked(task, METHOD, NO_TEXTS)
    compared = _only(task, has_texts)
    reason = _why_not(compared, lengths[has_texts])
    if reason is not None:
        return unranked(task, METHOD, reason)
    ranked = rank_by_strengths(compared, context, METHOD, {COVARIATE: lengths[has_texts]})
    n_left_out = int((~has_texts).sum())
    ranked.metrics[METHOD]["comparisons_without_text"] = n_left_out
    [ranking] = ranked.rankings
    lost = (task.part >= 0) & (compared.part < 0)
    reasons = [
        [WITHOUT_TEXT] if is_lost else own
        for own, is_lost in zip(ranking.reasons, lost.tolist(), strict=True)
    ]
    return Ranked([replace(ranking, reasons=reasons)], ranked.metrics)


def _only(task: SystemComparisons, rows: Flags) -> SystemComparisons:
    """Return the task with some of its comparisons, and all of its systems."""
    names = ("first", "second", "outcome", "share", "second_shown_first", "judge", "ranking",
             "segment", "has_segment", "order_group")  # fmt: skip
    return replace(
        task,
        **{name: getattr(task, name)[rows] for name in names},
        cluster=None if task.cluster is None else task.cluster[rows],
    )


def _why_not(task: SystemComparisons, lengths: Floats) -> str | None:
    """Return why the effect of length cannot be estimated; None if it can."""
    if not lengths.any():
        return EQUAL
    if not varies_within_systems(lengths, task.first, task.second):
        return BY_SYSTEM
    longer = np.where(lengths > 0, task.preferences, 1 - task.preferences)[lengths != 0]
    return ALWAYS_ONE if longer.min() == 1 or longer.max() == 0 else None
