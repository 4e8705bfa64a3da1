"""The headline of comparisons: Bradley-Terry with ties and order effects, also at equal length.

Only comparisons within a strongly connected component tell sizes: between components one side
never lost. Systems of several components are ranked by how many are known to be better, and tested
by signs over judges. ``ranking.regularize`` gives all systems of a part finite scores, by virtual
comparisons that never count as data; tests stay within components.

The model of the headline, in which the difference of the logarithms of the lengths of the two texts
is a covariate with one coefficient of all judges: strengths are those of texts of equal length
(Dubois et al. 2024; LMArena's style control, Li et al. 2024). Comparisons without both texts are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Ranking
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings import comparison_fit
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    AdjustedComparisons,
    ComparisonBlock,
    ComparisonFit,
    adjusted_comparisons,
    pair_counts,
)
from annot_pipeline.methods.rankings.inference import compare_estimates
from annot_pipeline.methods.rankings.sign_tests import sign_tests
from annot_pipeline.stages.rankings import ranking_rows
from annot_pipeline.stages.rankings.comparison_scores import (
    NOT_KEPT,
    ONLY_TIES,
    part_reasons,
)
from annot_pipeline.stages.rankings.system_comparisons import SystemComparisons

METHOD = "bradley_terry"
NO_SIZE = "one side never lost to the other, or comparisons do not connect them: no difference"
DIGITS = 9
"""Digits after the point to which scores are compared: beyond is the solver's."""


def bradley_terry_rankings(
    task: SystemComparisons, context: ranking_rows.RankingContext
) -> ranking_rows.Ranked:
    """Return the ranking of one task by strengths."""
    return rank_by_strengths(task, context, METHOD)


def _unranked(task: SystemComparisons, method: str, reason: str) -> ranking_rows.Ranked:
    reasons = [[reason if is_compared else NOT_KEPT] for is_compared in task.part >= 0]
    return ranking_rows.Ranked(
        [ranking_rows.unranked(method, task.n_segments, task.n_comparisons, reasons)]
    )


def rank_by_strengths(
    task: SystemComparisons,
    context: ranking_rows.RankingContext,
    method: str,
    covariates: Mapping[str, Floats] | None = None,
) -> ranking_rows.Ranked:
    """Return the ranking of one task by strengths.

    Parameters
    ----------
    task, context
        As any ranking method takes them.
    method
        Name of the method, under which the metrics stand.
    covariates
        By name, ``(n_comparisons,)`` differences of the first output to the second.
    """
    ranking = context.ranking
    n = len(task.names)
    if n > context.most_systems:
        why = f"more than {context.most_systems} systems: no Bradley-Terry"
        return _unranked(task, method, why)
    is_order_known = ranking.shown_order == "as_listed"
    block, one_order, n_inestimable = _block(task, is_known=is_order_known)
    if covariates:
        turned = np.where(task.second_shown_first == 1, -1.0, 1.0)
        columns = np.stack([turned * values for values in covariates.values()], axis=1)
        block = replace(block, covariates=columns)
    has_sizes = ranking.regularize != "none"
    component = task.graph.component
    inside = component[block.first] == component[block.second]
    fitted = adjusted_comparisons(
        InMemoryBlocks([block if has_sizes else _only(block, inside)]),
        has_ties=ranking.bradley_terry_ties == "davidson" and not task.is_graded,
        virtual=0.0 if ranking.regularize == "none" else ranking.regularize,
        shrinks_orders=True,
    )
    scale = task.part if has_sizes else np.where(task.part < 0, -1, component)
    values = comparable(_centred(fitted.estimates.values, scale))
    estimates = replace(fitted.estimates, values=values, component=component, one_order=one_order)
    inference = compare_estimates(estimates, alpha=ranking.alpha)
    is_lone = np.bincount(component, minlength=n)[component] == 1
    is_sized = ~np.isnan(values) & (has_sizes | ~is_lone | (task.part < 0))
    score = np.where(is_sized, values, np.nan)
    reasons = ranking_rows.inference_reasons(estimates, inference)
    for code in range(n):
        reasons[code] = _reasons(task, ranking, code, reasons[code])
    ranked = ranking_rows.MethodRanking(
        method, score, _ranks(task, values, has_sizes=has_sizes), task.part, task.n_segments,
        task.n_comparisons, reasons, score - inference.half_width,
        score + inference.half_width, inference, _sign_p_values(task, block),
        caveats=ranking_rows.inference_caveats(estimates, inference), why_not_connected=NO_SIZE,
    )  # fmt: skip
    judges = np.zeros(int(task.judge.max(initial=-1)) + 1, np.bool_)
    judges[task.judge] = True
    return ranking_rows.Ranked([ranked], {method: {
        **ranking_rows.inference_metrics(inference, judges),
        "tie_parameter": None if np.isnan(fitted.fit.tie) else float(np.exp(fitted.fit.tie)),
        **_order_metrics(
            task, is_known=is_order_known, fitted=fitted, n_inestimable=n_inestimable
        ),
        **_covariate_metrics(fitted.fit, list(covariates or ())),
    }})  # fmt: skip


def _block(task: SystemComparisons, *, is_known: bool) -> tuple[ComparisonBlock, Flags, int]:
    """Return comparisons by the order of showing, the pairs that this leaves confounded, and n.

    An effect that cannot be estimated is taken to be 0, in n comparisons; ``is_known``: whether
    the order is known.
    """
    swap = task.second_shown_first == 1
    clusters = task.segment if task.cluster is None else task.cluster
    segments = np.unique(clusters, return_inverse=True)
    n_groups = int(task.order_group.max(initial=-1)) + 1
    block = ComparisonBlock(
        segments[1].reshape(-1), task.judge, np.where(swap, task.second, task.first),
        np.where(swap, task.first, task.second),
        np.where(swap, 1 - task.preferences, task.preferences),
        np.where((task.second_shown_first < 0) | (not is_known), -1, task.order_group),
        segments[0].size, int(task.judge.max(initial=-1)) + 1, len(task.names), n_groups,
        has_documents=task.cluster is not None,
    )  # fmt: skip
    counts = pair_counts(block).n
    is_estimable = comparison_fit.estimable_orders(counts)
    without = (block.orders >= 0) & ~np.append(is_estimable, False)[block.orders]
    block = replace(block, orders=np.where(without, -1, block.orders))
    return block, comparison_fit.confounded_pairs(counts, is_estimable), int(without.sum())


def _only(block: ComparisonBlock, rows: Flags) -> ComparisonBlock:
    names = ["segments", "judges", "first", "second", "preferences", "orders"]
    if block.covariates is not None:
        names.append("covariates")
    return replace(block, **{name: getattr(block, name)[rows] for name in names})


def _centred(values: Floats, scale: Codes) -> Floats:
    """Return values less the mean of those on one scale."""
    centred = values.copy()
    for code in np.unique(scale):
        members = (scale == code) & ~np.isnan(values)
        if members.any():
            centred[members] -= values[members].mean()
    return centred


def _ranks(task: SystemComparisons, values: Floats, *, has_sizes: bool) -> Codes:
    """Return the rank of each system: 1 + the number of systems of its part known to be better.

    By their scores, where all of a part are on one scale; else systems of components that won
    against its own, by any chain, and those of its own with a higher score. 0: not compared.
    """
    is_seen = task.part >= 0
    score = np.round(values, DIGITS)
    if has_sizes:
        return ranking_rows.ranks_within(np.where(is_seen, score, np.nan), task.part)
    score = np.where(is_seen, np.nan_to_num(score), np.nan)
    within = ranking_rows.ranks_within(score, task.graph.component)
    return np.where(is_seen, within + task.graph.count_better(), 0)


def _reasons(task: SystemComparisons, ranking: Ranking, code: int, limits: list[str]) -> list[str]:
    """Return why values of a system are missing, and what limits the others."""
    if task.part[code] < 0:
        return [NOT_KEPT]
    reasons = part_reasons(task, code)
    graph = task.graph
    if task.only_ties(task.part)[code]:
        return [*reasons, ONLY_TIES]
    members = graph.component == graph.component[code]
    if ranking.regularize != "none" or graph.strong[graph.part[code]]:
        return reasons + limits
    what = "score within its component" if members.sum() > 1 else "no finite score and interval"
    text = f"{what}: the comparisons are not strongly connected; "
    names = ranking_rows.few(task.names, members)
    if graph.total[graph.part[code]]:
        text += f"ranked by the order of the components, of which this is ({names})"
    else:
        text += (
            f"the components, of which this is ({names}), have no total order: rank is 1 + the "
            "number of systems known to be better; ranking.regularize gives all a finite score"
        )
    return [*reasons, text, *(limits if members.sum() > 1 else [])]


def _sign_p_values(task: SystemComparisons, block: ComparisonBlock) -> Floats | None:
    """Return ``(K, K)`` p-values of systems of which one never lost to the other's component."""
    component = task.graph.component
    tests = sign_tests(InMemoryBlocks([block]), component)
    if not tests.better.size:
        return None
    by_component = np.full((int(component.max()) + 1,) * 2, np.nan)
    by_component[tests.better, tests.worse] = tests.p_value
    by_component[tests.worse, tests.better] = 1.0
    return np.asarray(by_component[np.ix_(component, component)])


def _covariate_metrics(fit: ComparisonFit, names: Sequence[str]) -> dict[str, Any]:
    """Return the coefficient of each covariate with its 95% interval; nothing without any."""
    from scipy.special import stdtrit

    if not names:
        return {}
    half = stdtrit(fit.effect_degrees_of_freedom, 0.975) * fit.coefficient_errors
    has_interval = fit.effect_degrees_of_freedom >= 1
    return {"covariates": [
        {
            "covariate": name,
            "logits": float(fit.coefficients[code]),
            "standard_error": float(fit.coefficient_errors[code]) if has_interval else None,
            "ci_low": float(fit.coefficients[code] - half[code]) if has_interval else None,
            "ci_high": float(fit.coefficients[code] + half[code]) if has_interval else None,
        }
        for code, name in enumerate(names)
    ]}  # fmt: skip


def _order_metrics(
    task: SystemComparisons, *, is_known: bool, fitted: AdjustedComparisons, n_inestimable: int
) -> dict[str, Any]:
    """Return effects of the order by group, and how lopsided orders are."""
    has_order = (task.second_shown_first >= 0) & is_known
    first = np.where(task.second_shown_first == 1, task.second, task.first)[has_order]
    both = np.concatenate([task.first[has_order], task.second[has_order]])
    n = np.bincount(both, minlength=len(task.names))
    share = np.bincount(first, minlength=len(task.names)) / np.maximum(n, 1)
    often = n >= 20
    return {
        "order_effects": [
            {"judges": f"model {group}" if group else "people", "logits": float(effect)}
            for group, effect in enumerate(fitted.fit.order_effects)
            if fitted.counts.n[group + 1].any()
        ],
        "inestimable_orders": n_inestimable,
        "comparisons_with_order": int(has_order.sum()),
        "lopsided": [
            task.names[code]
            for code in np.flatnonzero(often & ((share < 0.1) | (share > 0.9)))
        ],
    }  # fmt: skip


AT_EQUAL_LENGTH, COVARIATE = "bradley_terry_length", "length"
NO_TEXTS = "no comparison of two outputs with texts: map text of items"
EQUAL = "the texts of each comparison are equally long"
BY_SYSTEM = "lengths differ by system alone: length and system cannot be separated"
ALWAYS_ONE = "the longer text always wins or never wins: its effect has no finite value"
WITHOUT_TEXT = "no comparison of two outputs with texts"


def length_rankings(
    task: SystemComparisons, context: ranking_rows.RankingContext
) -> ranking_rows.Ranked:
    """Return the ranking of one task by strengths at equal length, if the campaign asks for it."""
    if COVARIATE not in context.ranking.covariates:
        return ranking_rows.Ranked([])
    if len(task.names) > context.most_systems:
        return rank_by_strengths(task, context, AT_EQUAL_LENGTH)
    lengths = task.length_difference
    has_texts = np.zeros(task.first.size, np.bool_) if lengths is None else ~np.isnan(lengths)
    if lengths is None or not has_texts.any():
        return _unranked(task, AT_EQUAL_LENGTH, NO_TEXTS)
    compared = _with_texts(task, has_texts)
    reason = _why_not(compared, lengths[has_texts])
    if reason is not None:
        return _unranked(task, AT_EQUAL_LENGTH, reason)
    ranked = rank_by_strengths(compared, context, AT_EQUAL_LENGTH, {COVARIATE: lengths[has_texts]})
    n_left_out = int((~has_texts).sum())
    ranked.metrics[AT_EQUAL_LENGTH]["comparisons_without_text"] = n_left_out
    [ranking] = ranked.rankings
    lost = (task.part >= 0) & (compared.part < 0)
    reasons = [
        [WITHOUT_TEXT] if is_lost else own
        for own, is_lost in zip(ranking.reasons, lost.tolist(), strict=True)
    ]
    return ranking_rows.Ranked([replace(ranking, reasons=reasons)], ranked.metrics)


def _with_texts(task: SystemComparisons, rows: Flags) -> SystemComparisons:
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
    if not comparison_fit.varies_within_systems(lengths, task.first, task.second):
        return BY_SYSTEM
    longer = np.where(lengths > 0, task.preferences, 1 - task.preferences)[lengths != 0]
    return ALWAYS_ONE if longer.min() == 1 or longer.max() == 0 else None
