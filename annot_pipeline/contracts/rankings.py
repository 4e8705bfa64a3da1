"""Ranks of outputs and of systems."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    ITEM,
    SYSTEM,
    TASK,
    Column,
    Table,
    count,
    real,
    share,
    text,
)
from annot_pipeline.contracts.values import ADEQUACY_SOURCES, FLAG, TEXT

SEGMENT_RANKS = Table(
    "segment_ranks",
    "one task, segment, item",
    ("task", "segment", "item"),
    (
        TASK,
        text("segment", "Input that several systems worked on; the task where none is mapped"),
        ITEM,
        SYSTEM,
        count(
            "n_comparisons",
            "Comparisons of the output by judges kept, ties of shared outputs too; 0: by its text",
        ),
        real(
            "dominance",
            "Outputs dominated minus outputs that dominate, a whole number; where "
            "ranking.segment_graphs is judge, the mean over the judges who compared the output",
            nullable=False,
        ),
        count("n_dominates", "Outputs that this one dominates"),
        count("n_dominated_by", "Outputs that dominate this one"),
        count("rank", "Dense rank by dominance, 1 is best, within the part"),
        count("part", "Part of the segment's graph: no comparison connects it with another"),
        count("component", "Outputs of one number are one vertex: ties, or a contradiction"),
        Column("in_contradiction", FLAG, "Whether a cycle with a strict preference holds it"),
        Column("adequate", FLAG, "Whether the output is good enough", True),
        Column("adequacy_source", TEXT, "Where adequate comes from", allowed=ADEQUACY_SOURCES),
        count(
            "harmonized_rank",
            "Dense rank after adequacy, 1 is best; null if any of the part is of unknown adequacy",
            nullable=True,
        ),
    ),
)

SYSTEM_RANKINGS = Table(
    "system_rankings",
    "one task, method, system",
    ("task", "method", "system"),
    (
        TASK,
        text(
            "method",
            "How the score is made; adjusted: of judges kept, adjusted for judges and segments; "
            "raw_mean: all judges, filtered_mean and z_mean: judges kept",
        ),
        text("system", "System"),
        Column(
            "headline",
            FLAG,
            "Whether the method is the one to read: of its task, it alone has tests that hold",
        ),
        count(
            "rank",
            "Rank, 1 is best, ties 1 2 2 4; null without judgments that count",
            nullable=True,
        ),
        real("score", "Score of the method"),
        real(
            "ci_low",
            "Lower end of the 95% interval of the score; of the headline, of its difference from "
            "the mean of the others: do not compare two of them, read system_comparisons; of "
            "others, by drawing segments, where no judge judged two",
        ),
        real("ci_high", "Upper end of the same interval"),
        count(
            "rank_low",
            "Best rank that the tests do not exclude: 1 + number of systems that beat it",
            nullable=True,
        ),
        count(
            "rank_high",
            "Worst rank that the tests do not exclude: number of systems less those that it beats",
            nullable=True,
        ),
        count("wins", "Systems that it beats after Holm's correction", nullable=True),
        count(
            "cluster",
            "Cluster within the component, 1 is best: each system above beats each below; null "
            "with fewer than 10 effective judges or 20 segments (documents, where mapped)",
            nullable=True,
        ),
        count(
            "component",
            "Component of systems that can be compared, in which the rank holds; null where there "
            "is one",
            nullable=True,
        ),
        count("n_segments", "Segments judged"),
        count(
            "n_judgments",
            "Judgments used; for methods of comparisons these, ties of shared outputs too",
        ),
        count(
            "wmt_wins",
            "Systems beaten by WMT's rank-sum test, which takes segments as independent",
            nullable=True,
        ),
        count("wmt_cluster", "Cluster by these wins and ranking.cluster_rule", nullable=True),
        text("reason", "Why something is missing, or what the intervals speak of", nullable=True),
    ),
)

VARIANCE = Table(
    "variance",
    "one task, statistic",
    ("task", "statistic"),
    (
        TASK,
        text(
            "statistic",
            "Variance of a kind (variance_judge, ...; points squared), intraclass correlation "
            "(icc_1, icc_2_1, icc_k), judgments_per_item, or detectable_difference (points)",
        ),
        real("value", "Value of the statistic, in the unit that statistic names"),
        real("ci_low", "Lower end of its 95% interval"),
        real("ci_high", "Upper end of its 95% interval"),
        count("n_items", "Items: outputs of systems for segments, or items"),
        count("n_judges", "Judges"),
        text("reason", "Why something is missing, or for whom the value holds", nullable=True),
    ),
)

SYSTEM_COMPARISONS = Table(
    "system_comparisons",
    "one task, method, ordered system pair",
    ("task", "method", "system_a", "system_b"),
    (
        TASK,
        text("method", "How the scores are made"),
        text("system_a", "System that may be better"),
        text("system_b", "System that may be worse"),
        Column("headline", FLAG, "Whether the method is the one to read, as in system_rankings"),
        real("difference", "Score of a minus score of b"),
        real("ci_low", "Lower end of the 95% interval of the difference"),
        real("ci_high", "Upper end of the 95% interval of the difference"),
        real("standard_error", "Standard error of the difference"),
        real("degrees_of_freedom", "Degrees of freedom of its interval and test"),
        real(
            "effective_judges",
            "1 + degrees of freedom of the variance over judges; clusters need 9.5; null where "
            "judges are not taken as drawn",
        ),
        real(
            "effective_segments",
            "The same over segments, or over documents where these are mapped; clusters need 19.5",
        ),
        share("p_value", "One-sided p that a is better", nullable=True),
        share("p_adjusted", "The same, Holm-adjusted", nullable=True),
        Column(
            "a_beats_b",
            FLAG,
            "Whether p_adjusted is below ranking.alpha; null without a test",
            True,
        ),
        share(
            "sign_p_value",
            "One-sided p of a sign test over judges, where one of both never lost to the other, so "
            "that the difference has no size",
            nullable=True,
        ),
        share(
            "wmt_p_value",
            "One-sided p of WMT's rank-sum test, which takes segments as independent",
            nullable=True,
        ),
        share("wmt_p_adjusted", "The same, Holm-adjusted", nullable=True),
        Column(
            "wmt_a_beats_b",
            FLAG,
            "Whether wmt_p_value, or wmt_p_adjusted if ranking.correction is holm, is below "
            "ranking.alpha; null without this test",
            True,
        ),
        text("reason", "Why there is no test, or what limits it", nullable=True),
    ),
)
