"""Agreement and consistency of preferences and rankings, by task.

Sources: Pighin, Formiga & Marquez 2012, sections 4.1, 4.2 and 4.4; the WMT campaigns' kappa. What
does not belong here: the statistics themselves (ternary_agreement, majority_class, rank_agreement,
comparison_graphs, comparison_times).

=========================================  =====================================================
statistic (n_items counts ...)             what it is
=========================================  =====================================================
{inter,intra}_kappa_ternary (pairs of      WMT's kappa between two judges, and between two
outputs with two decisions)                decisions of one judge; systems that share an output
                                           are expanded, so ties that nobody was asked about count
{inter,intra}_percent_agreement_ternary    pA of these
..._ternary_collapsed                      the same of what was asked: systems that share an
                                           output are one. Not there if no output is shared
cohen_kappa_ternary (pairs of outputs)     between the two most prolific judges
majority_class_agreement, ..._chance       an absolute majority took the same decision; by chance
(pairs of outputs with two judges)
inter_{pearson,spearman}_ranks (segments)  final ranks of two judges of a segment, mean
share_of_graphs_with_contradictions        a graph is what one judge said of one segment
(graphs)
consistency (outputs of graphs)            share of outputs outside of any contradiction
first_shown_win_share (pairs of outputs)   of strict preferences, those for what was shown first,
                                           if either order were as frequent, from pairs of systems
                                           that stand in both; there only if the order is known
=========================================  =====================================================

Cohen's kappa, the majority class and the share of the first shown count what was asked; ranks and
graphs are of the outputs of systems. Judgments of judges who do not count are left out; where there
are any, the same statistics of all judges stand beside, with ``_unfiltered`` behind their names.
Intervals draw segments (where none is mapped: pairs of outputs, or graphs).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.agreement.majority_class import majority_class
from annot_pipeline.methods.agreement.rank_agreement import RankAgreement, rank_agreement
from annot_pipeline.methods.agreement.rating_counts import n_distinct, order_weights
from annot_pipeline.methods.agreement.segment_ratio import segment_ratio
from annot_pipeline.methods.agreement.ternary_agreement import (
    Pairs,
    most_prolific_kappa,
    ternary_agreement,
)
from annot_pipeline.methods.numerics.bootstrap import BootstrapRounds, Estimate
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.stages.agreement.ratings import (
    UNFILTERED,
    Row,
    agreement_row,
    bootstrap_interval,
)
from annot_pipeline.stages.shared.output_comparisons import UNKNOWN, JudgeGraphs, OutputComparisons


def measure_preference_agreement(
    comparisons: CodedTask, *, rounds: int, seed: int
) -> tuple[list[Row], dict[str, Any]]:
    """Measure a task that has comparisons.

    Parameters
    ----------
    comparisons
        As `COMPARISONS`.
    rounds, seed
        Of the bootstrap over segments; each statistic has its own stream.

    Returns
    -------
    rows
        Of the table `agreement`; NaN where undefined.
    metrics
        Of judges that count, ``graphs``, ``graphs_with_contradictions``,
        ``share_of_graphs_with_contradictions`` (None without a graph), pairs of judges left out
        of the agreement of ranks.
    """
    everyone, task = OutputComparisons.from_rows(comparisons), comparisons.name
    counted = _Judged.from_comparisons(everyone.only(everyone.is_kept))
    bootstrap = BootstrapRounds(task, rounds, seed)
    ranks = counted.rank_agreement(bootstrap)
    rows = [*counted.rows(ranks, "", bootstrap)]
    if not everyone.is_kept.all():
        whole = _Judged.from_comparisons(everyone)
        bootstrap = BootstrapRounds(task + UNFILTERED, rounds, seed)
        rows += whole.rows(whole.rank_agreement(bootstrap), UNFILTERED, bootstrap)
    return rows, _metrics(counted.graphs, ranks)


def _metrics(graphs: JudgeGraphs, ranks: RankAgreement) -> dict[str, Any]:
    n, n_with = graphs.contradicts.size, int(graphs.contradicts.sum())
    return {
        "graphs": n,
        "graphs_with_contradictions": n_with,
        "share_of_graphs_with_contradictions": n_with / n if n else None,
        "rank_pairs_with_few_common_outputs": ranks.n_few,
        "rank_pairs_with_constant_ranks": ranks.n_constant,
    }


@dataclass(frozen=True)
class _Judged:
    """Comparisons of some judges: as they count for systems, and as they were asked."""

    expanded: OutputComparisons
    questions: OutputComparisons
    graphs: JudgeGraphs

    @classmethod
    def from_comparisons(cls, compared: OutputComparisons) -> _Judged:
        return cls(
            compared, compared.merge_shared_outputs(), JudgeGraphs.from_comparisons(compared)
        )

    def rank_agreement(self, bootstrap: BootstrapRounds) -> RankAgreement:
        graphs = self.graphs
        segments, judges = graphs.segments[graphs.graph], graphs.judges[graphs.graph]
        return rank_agreement(
            segments, judges, graphs.output, graphs.rank, **bootstrap.arguments("ranks")
        )

    def rows(self, ranks: RankAgreement, suffix: str, bootstrap: BootstrapRounds) -> Iterator[Row]:
        """Yield the rows of all statistics; the suffix goes behind their names."""
        n_drawn = n_distinct(self.expanded.resampled_units(self.expanded.pairs()))
        for statistic, estimate, n_items, n_judges in (
            *_ternary(self.expanded, "", bootstrap),
            *(_ternary(self.questions, "_collapsed", bootstrap) if self._shared() else ()),
            *_between_judges(self.questions, bootstrap),
            ("inter_pearson_ranks", ranks.pearson, ranks.n_segments, ranks.n_judges),
            ("inter_spearman_ranks", ranks.spearman, ranks.n_segments, ranks.n_judges),
            *self._contradictions(bootstrap),
            *_first_shown(self.questions, bootstrap),
        ):
            low, high, reason = bootstrap_interval(
                estimate, min(n_items, n_drawn), bootstrap.rounds, _undefined(statistic, n_items),
                unbounded=EXACT if statistic == "majority_class_chance" else None,
            )  # fmt: skip
            published = Estimate(estimate.value, low, high)
            task = {"task": self.expanded.names.task}
            yield agreement_row(task, statistic + suffix, published, n_items, n_judges, reason)

    def _shared(self) -> bool:
        return bool(self.expanded.same_output.any())

    def _contradictions(self, bootstrap: BootstrapRounds) -> Iterator[StatisticRow]:
        graphs = self.graphs
        n_graphs, n_judges = graphs.segments.size, n_distinct(graphs.judges)
        lone = graphs.segments == len(self.expanded.names.segments)
        units = np.where(lone, graphs.segments + np.arange(n_graphs), graphs.segments)
        name = "share_of_graphs_with_contradictions"
        estimate = segment_ratio(
            units, graphs.contradicts, np.ones(n_graphs), **bootstrap.arguments(name)
        )
        yield name, estimate, n_graphs, n_judges
        n_outputs = graphs.n_outputs
        outside = n_outputs - graphs.n_in_contradiction
        estimate = segment_ratio(units, outside, n_outputs, **bootstrap.arguments("consistency"))
        yield "consistency", estimate, int(n_outputs.sum()), n_judges


StatisticRow = tuple[str, Any, int, int]
"""Name, what has value, ci_low and ci_high, items, judges."""


def _decisions(compared: OutputComparisons) -> tuple[Codes, Codes, Codes, Codes]:
    """Return the codes of pairs of outputs and judges, decisions, and codes of what is drawn."""
    pairs = compared.pairs()
    return pairs, compared.judges, compared.outcome, compared.resampled_units(pairs)


def _ternary(
    compared: OutputComparisons, collapsed: str, bootstrap: BootstrapRounds
) -> Iterator[StatisticRow]:
    pairs: Pairs
    for pairs in ("inter", "intra"):
        name = f"{pairs}_kappa_ternary{collapsed}"
        agreement = ternary_agreement(
            *_decisions(compared), pairs=pairs, **bootstrap.arguments(name)
        )
        yield name, agreement.kappa, agreement.n_items, agreement.n_judges
        name = f"{pairs}_percent_agreement_ternary{collapsed}"
        yield name, agreement.percent_agreement, agreement.n_items, agreement.n_judges


def _between_judges(
    comparisons: OutputComparisons, bootstrap: BootstrapRounds
) -> Iterator[StatisticRow]:
    name = "cohen_kappa_ternary"
    cohen = most_prolific_kappa(*_decisions(comparisons), **bootstrap.arguments(name))
    yield name, cohen.kappa, cohen.n_items, 2 if cohen.n_items else 0
    name = "majority_class_agreement"
    majority = majority_class(*_decisions(comparisons), **bootstrap.arguments(name))
    yield name, majority.agreement, majority.n_items, majority.n_judges
    chance = Estimate(majority.chance, np.nan, np.nan)  # exact
    yield "majority_class_chance", chance, majority.n_items, majority.n_judges


def _first_shown(
    comparisons: OutputComparisons, bootstrap: BootstrapRounds
) -> Iterator[StatisticRow]:
    if (comparisons.second_shown_first == UNKNOWN).all():
        return
    rows = comparisons.only(
        (comparisons.second_shown_first != UNKNOWN) & (comparisons.outcome != 0)
    )
    is_turned = rows.second_shown_first == 1
    weights = order_weights(rows.first_system, rows.second_system, is_turned)
    rows, weights = rows.only(weights > 0), weights[weights > 0]
    pairs, judges, outcome, units = _decisions(rows)
    won = outcome == np.where(rows.second_shown_first == 1, -1, 1)
    name = "first_shown_win_share"
    share = segment_ratio(units, won * weights, weights, **bootstrap.arguments(name))
    yield name, share, n_distinct(pairs), n_distinct(judges)


EXACT = "no interval: exact"


def _undefined(statistic: str, n_items: int) -> str:
    """Return why a statistic has no value."""
    if n_items and "kappa" in statistic:
        return "agreement by chance is certain"
    for name, reason in _UNDEFINED.items():
        if statistic.startswith(name):
            return reason
    raise ValueError(f"{statistic} has no reason for a missing value")


_UNDEFINED = {
    "inter_kappa": "no pair of outputs has decisions by two judges",
    "inter_percent": "no pair of outputs has decisions by two judges",
    "intra_": "no judge decided a pair of outputs twice",
    "cohen_kappa": "the two judges with most comparisons share no pair of outputs",
    "majority_class": "no pair of outputs has decisions by two judges",
    "inter_": "no two judges rank enough outputs of one segment, each with different ranks",
    "share_of_graphs": "no comparisons",
    "consistency": "no comparisons",
    "first_shown": "no two systems stand in both orders: side and system cannot be told apart",
}
"""By the beginning of a statistic's name; the first that fits."""
