"""Ranks of outputs and of systems."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    ADEQUACY_SOURCES,
    FLAG,
    ITEM,
    SYSTEM,
    TASK,
    TEXT,
    Column,
    Table,
    count,
    real,
    share,
    text,
)

SEGMENT_RANKS = Table(
    "segment_ranks",
    "task, segment and item",
    ("task", "segment", "item"),
    (
        TASK,
        text(
            "segment",
            "Segment: an input that several systems processed; the task's name if no "
            "segment is mapped",
        ),
        ITEM,
        SYSTEM,
        count(
            "n_comparisons",
            "Number of comparisons of the output by judges who were not dropped, "
            "including ties between systems that share an output; 0 if it is ranked only "
            "through an output with equal text",
        ),
        real(
            "dominance",
            "Number of outputs that it dominates minus number that dominate it, a whole "
            "number; with ranking.segment_graphs: judge, the mean over judges who "
            "compared the output",
            nullable=False,
        ),
        count("n_dominates", "Number of outputs that this output dominates"),
        count("n_dominated_by", "Number of outputs that dominate this output"),
        count("rank", "Dense rank by dominance within the part; 1 is best"),
        count(
            "part", "Number of the part of the segment's graph; no comparisons connect two parts"
        ),
        count(
            "component",
            "Number of the vertex in the segment's graph; outputs with the same number "
            "are tied or contradict each other",
        ),
        Column(
            "in_contradiction",
            FLAG,
            "Whether the output is in a cycle that contains a strict preference",
        ),
        Column("adequate", FLAG, "Whether the output is good enough; null if unknown", True),
        Column("adequacy_source", TEXT, "How adequate was determined", allowed=ADEQUACY_SOURCES),
        count(
            "harmonized_rank",
            "Dense rank by adequacy, then dominance; 1 is best; null if the adequacy of "
            "any output of the part is unknown",
            nullable=True,
        ),
    ),
)

SYSTEM_RANKINGS = Table(
    "system_rankings",
    "task, method and system",
    ("task", "method", "system"),
    (
        TASK,
        text(
            "method",
            "Method of the score. adjusted: judges who were not dropped, adjusted for "
            "judges and segments; raw_mean: all judges; filtered_mean and z_mean: judges "
            "who were not dropped",
        ),
        text("system", "Name of the system"),
        Column(
            "headline",
            FLAG,
            "Whether this is the task's headline method, the one to report: only its "
            "tests are valid",
        ),
        count(
            "rank",
            "Rank by score; 1 is best; ties share a rank (1, 2, 2, 4); null if no judgments count",
            nullable=True,
        ),
        real("score", "Score of the system by the method"),
        real(
            "ci_low",
            "Lower end of the score's 95% interval. Headline: for the difference from the "
            "mean of the other systems (compare two systems in system_comparisons). "
            "Others: bootstrap over segments, if no judge judged two segments",
        ),
        real(
            "ci_high",
            "Upper end of the score's 95% interval. Headline: for the difference from the "
            "mean of the other systems (compare two systems in system_comparisons). "
            "Others: bootstrap over segments, if no judge judged two segments",
        ),
        count(
            "rank_low",
            "Best rank that the tests do not exclude: 1 + number of systems that beat this one",
            nullable=True,
        ),
        count(
            "rank_high",
            "Worst rank that the tests do not exclude: number of systems minus those that "
            "this one beats",
            nullable=True,
        ),
        count(
            "wins", "Number of systems that this one beats after Holm's correction", nullable=True
        ),
        count(
            "cluster",
            "Cluster within the component; 1 is best; each system beats all systems in "
            "lower clusters; null with fewer than 10 effective judges or 20 effective "
            "segments (documents, if mapped)",
            nullable=True,
        ),
        count(
            "component",
            "Number of the component of comparable systems in which the rank holds; null "
            "if there is only one",
            nullable=True,
        ),
        count("n_segments", "Number of segments in which the system was judged"),
        count(
            "n_judgments",
            "Number of judgments used; for methods of comparisons, number of comparisons, "
            "including ties between systems that share an output",
        ),
        count(
            "n_asked",
            "Number of answers asked for: those with the fates used, unscored and not_asked; null "
            "if no record names the system",
            nullable=True,
        ),
        share(
            "answered_share",
            "Share of the answers asked for that count; where systems differ, see the gate "
            "answers_missing_by_system",
            nullable=True,
        ),
        count(
            "wmt_wins",
            "Number of systems that this one beats by WMT's rank-sum test, which treats "
            "segments as independent",
            nullable=True,
        ),
        count("wmt_cluster", "Cluster by wmt_wins and ranking.cluster_rule", nullable=True),
        text(
            "reason",
            "Why values are null, or which judges and segments the intervals apply to",
            nullable=True,
        ),
    ),
)

VARIANCE = Table(
    "variance",
    "task and statistic",
    ("task", "statistic"),
    (
        TASK,
        text(
            "statistic",
            "Name of the statistic: a variance component (variance_judge, ...; points "
            "squared), an intraclass correlation (icc_1, icc_2_1, icc_k), "
            "judgments_per_item, or detectable_difference (points)",
        ),
        real("value", "Value of the statistic, in the unit that the column statistic implies"),
        real("ci_low", "Lower end of the 95% interval of value"),
        real("ci_high", "Upper end of the 95% interval of value"),
        count(
            "n_items", "Number of items; with systems, an item is a system's output for a segment"
        ),
        count("n_judges", "Number of judges"),
        text("reason", "Why values are null, or which judges the value applies to", nullable=True),
    ),
)

SYSTEM_COMPARISONS = Table(
    "system_comparisons",
    "task, method and ordered pair of systems",
    ("task", "method", "system_a", "system_b"),
    (
        TASK,
        text("method", "Method of the scores, as in system_rankings"),
        text("system_a", "System that the one-sided test claims to be better"),
        text("system_b", "System that the one-sided test claims to be worse"),
        Column(
            "headline", FLAG, "Whether this is the task's headline method, as in system_rankings"
        ),
        real("difference", "Score of system_a minus score of system_b"),
        real("ci_low", "Lower end of the 95% interval of difference"),
        real("ci_high", "Upper end of the 95% interval of difference"),
        real("standard_error", "Standard error of difference"),
        real("degrees_of_freedom", "Degrees of freedom of the interval and test of difference"),
        real(
            "effective_judges",
            "1 + degrees of freedom of the variance over judges; clusters need 9.5; null "
            "if judges are not treated as a random sample",
        ),
        real(
            "effective_segments",
            "1 + degrees of freedom of the variance over segments, or over documents if "
            "mapped; clusters need 19.5; null if they are not treated as a random sample",
        ),
        share(
            "p_value",
            "One-sided p-value for system_a being better; null without a test",
            nullable=True,
        ),
        share(
            "p_adjusted",
            "One-sided p-value for system_a being better, after Holm's correction; null "
            "without a test",
            nullable=True,
        ),
        Column(
            "a_beats_b",
            FLAG,
            "Whether p_adjusted is below ranking.alpha; null without a test",
            True,
        ),
        share(
            "sign_p_value",
            "One-sided p-value of a sign test over judges, for pairs in which one system "
            "never lost to the other, so that the difference has no finite estimate",
            nullable=True,
        ),
        share(
            "wmt_p_value",
            "One-sided p-value of WMT's rank-sum test, which treats segments as "
            "independent; null without this test",
            nullable=True,
        ),
        share(
            "wmt_p_adjusted",
            "One-sided p-value of WMT's rank-sum test after Holm's correction; null "
            "without this test",
            nullable=True,
        ),
        Column(
            "wmt_a_beats_b",
            FLAG,
            "Whether wmt_p_value (wmt_p_adjusted with ranking.correction: holm) is below "
            "ranking.alpha; null without this test",
            True,
        ),
        text("reason", "Why there is no test, or what limits it", nullable=True),
    ),
)
