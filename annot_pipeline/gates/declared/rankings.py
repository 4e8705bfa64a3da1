"""Gates on comparisons, rankings and agreement."""

from __future__ import annotations

from typing import Any

from annot_pipeline.gates import measures
from annot_pipeline.gates.gate import Finding, Gate
from annot_pipeline.gates.measures import named, named_by_task, total
from annot_pipeline.stages.agreement.metrics import AgreementMetrics
from annot_pipeline.stages.rankings.metrics import (
    ComparisonMetrics,
    ContradictionMetrics,
    SegmentRankMetrics,
    SystemRankMetrics,
)

RANKINGS: tuple[Gate[Any], ...] = (
    Gate(
        "tasks_without_comparisons", ComparisonMetrics, "comparisons",
        "number of tasks of kind pairwise or ranking without any comparison",
        "look at set_aside: rankings of one output; map ranking, or hit, and segment",
        lambda m: named([task for task, so in m.without_comparisons.items() if so]), warn=0,
    ),
    Gate(
        "not_compared", ComparisonMetrics, "comparisons",
        "share of ranked outputs that are in no comparison",
        "look at set_aside; map what was ranked together: ranking, or hit, and segment",
        lambda m: Finding(total(m.left_out) / max(total(m.ranked), 1)), warn=0.05,
    ),
    Gate(
        "unplaced_comparisons", ComparisonMetrics, "comparisons",
        "share of comparing judgments that lack the segment or system that others have",
        "segment_ranks or system_rankings omit them, see set_aside; map segment and system, or "
        "list all items",
        lambda m: Finding(total(m.unplaced) / max(total(m.compared), 1)), warn=0.01,
    ),
    Gate(
        "repeated_outputs", ComparisonMetrics, "comparisons",
        "number of outputs with different ranks in one ranking",
        "the mean rank counts; map ranking to separate two rankings of one segment",
        lambda m: named_by_task(m.repeated_outputs), warn=0,
    ),
    Gate(
        "contradictions", ContradictionMetrics, "judge_contradictions",
        "share of outputs that are in contradictions of single judges, in the worst task",
        "see consistency in judges: judges who contradict themselves are careless, or the task is "
        "too hard",
        lambda m: measures.worst_task(m.in_contradiction), warn=0.25,
    ),
    Gate(
        "segments_in_parts", SegmentRankMetrics, "segment_ranks",
        "share of segments that have outputs unconnected by comparisons, in the worst task",
        "each connected part is ranked separately; let judges judge outputs of different parts "
        "together (where judges compare outputs, next_hits.design: tournament asks for that)",
        measures.segments_in_parts, warn=0.1,
    ),
    Gate(
        "adequacy_without_labels", SegmentRankMetrics, "segment_ranks",
        "number of tasks with an adequacy task that has no labels",
        "correct tasks.adequacy.task; or set next_hits.design: adequacy, and annot hits asks for "
        "them",
        lambda m: named([f"{task}: {name}" for task, name in m.adequacy_without_labels.items()]),
        warn=0,
    ),
    Gate(
        "disconnected_systems", SystemRankMetrics, "system_rankings",
        "number of tasks with systems that no chain of comparisons connects",
        "each component is ranked separately, see component; compare systems of different "
        "components",
        lambda m: named([t for t, counts in m.systems_compared.items() if counts["parts"] > 1]),
        warn=0,
    ),
    Gate(
        "no_finite_scores", SystemRankMetrics, "system_rankings",
        "number of tasks without finite Bradley-Terry scores",
        "some systems never lose to others, see reason; collect more comparisons, or set "
        "ranking.regularize",
        lambda m: named([t for t, is_so in m.not_strongly_connected.items() if is_so]), warn=0,
    ),
    Gate(
        "judge_system_overlap", SystemRankMetrics, "system_rankings",
        "number of tasks with scored systems that no chain of judges connects",
        "systems are ranked by component, because scores of judges who share no system are on "
        "different scales; let judges judge systems of several components, or, if judges were "
        "assigned at random, set ranking.judge_effects: random",
        lambda m: named([task for task, counts in m.systems_scored.items()
                         if len(counts["judge_components"]) > 1
                         and counts.get("judge_effects") != "random"]),
        warn=0,
    ),
    Gate(
        "too_few_judges_to_rank", SystemRankMetrics, "system_rankings",
        "number of tasks without clusters of systems, because no pair of systems has 10 effective "
        "judges and 20 segments",
        "read ranks with their intervals, and leave clusters out; for clusters, let more judges "
        "judge both systems of a pair, on more segments (or documents, if mapped), and spread "
        "judgments evenly over judges",
        measures.unconfirmed_rankings, warn=0,
    ),
    Gate(
        "order_imbalance", SystemRankMetrics, "system_rankings",
        "number of tasks with a system shown first in less than 10% or more than 90% of its "
        "comparisons",
        "vary which system is shown first: the effect of the order cannot be separated from the "
        "system",
        measures.lopsided_orders, warn=0,
    ),
    Gate(
        "thin_systems", SystemRankMetrics, "system_rankings",
        "number of systems ranked by fewer than {minimum} judgments",
        "their ranks are uncertain, see rank_low and rank_high; collect more judgments of them, or"
        " leave them out of rankings",
        measure_from=measures.thin_systems, warn=0, minimum=10,
    ),
    Gate(
        "answers_missing_by_system", SystemRankMetrics, "system_rankings",
        "number of tasks with systems that differ in their share of answers beyond chance",
        "rankings leave out what is missing: look at lineage for why these answers failed or were "
        "not given, and ask for them again",
        lambda m: measures.missing_answers(m.missing_answers, "the answers asked for count"),
        warn=0,
    ),
    Gate(
        "agreement_by_chance", AgreementMetrics, "agreement",
        "number of tasks of {minimum} items or more with agreement no better than chance",
        "check the question and the guidelines, and look for judges who answer at random: the "
        "labels and scores of such a task are not reliable",
        measure_from=measures.agreement_by_chance, warn=0, minimum=20,
    ),
)  # fmt: skip
