"""Ranks of outputs and of systems."""

from __future__ import annotations

from annot_pipeline.contracts.table import AdequacySource, Count, Share, Table, columns_of


class SegmentRanks:
    """The rank of an output within its segment.

    Parameters
    ----------
    segment
        Segment: an input that several systems processed; the task's name if no segment is mapped
    n_comparisons
        Number of comparisons of the output by judges who were not dropped, including ties between
        systems that share an output; 0 if it is ranked only through an output with equal text
    dominance
        Number of outputs that it dominates minus number that dominate it, a whole number; with
        ranking.segment_graphs: judge, the mean over judges who compared the output
    n_dominates
        Number of outputs that this output dominates
    n_dominated_by
        Number of outputs that dominate this output
    rank
        Dense rank by dominance within the part; 1 is best
    part
        Number of the part of the segment's graph; no comparisons connect two parts
    component
        Number of the vertex in the segment's graph; outputs with the same number are tied or
        contradict each other
    in_contradiction
        Whether the output is in a cycle that contains a strict preference
    adequate
        Whether the output is good enough; null if unknown
    adequacy_source
        How adequate was determined
    harmonized_rank
        Dense rank by adequacy, then dominance; 1 is best; null if the adequacy of any output of the
        part is unknown
    """

    task: str
    segment: str
    item: str
    system: str | None
    n_comparisons: Count
    dominance: float
    n_dominates: Count
    n_dominated_by: Count
    rank: Count
    part: Count
    component: Count
    in_contradiction: bool
    adequate: bool | None
    adequacy_source: AdequacySource
    harmonized_rank: Count | None


SEGMENT_RANKS = Table(
    "segment_ranks", "task, segment and item", ("task", "segment", "item"), columns_of(SegmentRanks)
)


class SystemRankings:
    """Score, interval, rank and cluster of a system by a method.

    Parameters
    ----------
    method
        Method of the score. adjusted: judges who were not dropped, adjusted for judges and
        segments; raw_mean: all judges; filtered_mean and z_mean: judges who were not dropped
    system
        Name of the system
    headline
        Whether this is the task's headline method, the one to report: only its tests are valid
    rank
        Rank by score; 1 is best; ties share a rank (1, 2, 2, 4); null if no judgments count
    score
        Score of the system by the method
    ci_low
        Lower end of the score's 95% interval. Headline: for the difference from the mean of the
        other systems (compare two systems in system_comparisons). Others: bootstrap over segments,
        if no judge judged two segments
    ci_high
        Upper end of the score's 95% interval. Headline: for the difference from the mean of the
        other systems (compare two systems in system_comparisons). Others: bootstrap over segments,
        if no judge judged two segments
    rank_low
        Best rank that the tests do not exclude: 1 + number of systems that beat this one
    rank_high
        Worst rank that the tests do not exclude: number of systems minus those that this one beats
    wins
        Number of systems that this one beats after Holm's correction
    cluster
        Cluster within the component; 1 is best; each system beats all systems in lower clusters;
        null with fewer than 10 effective judges or 20 effective segments (documents, if mapped)
    component
        Number of the component of comparable systems in which the rank holds; null if there is only
        one
    n_segments
        Number of segments in which the system was judged
    n_judgments
        Number of judgments used; for methods of comparisons, number of comparisons, including ties
        between systems that share an output
    n_asked
        Number of answers asked for: those with the fates used, unscored and not_asked; null if no
        record names the system
    answered_share
        Share of the answers asked for that count; where systems differ, see the gate
        answers_missing_by_system
    wmt_wins
        Number of systems that this one beats by WMT's rank-sum test, which treats segments as
        independent
    wmt_cluster
        Cluster by wmt_wins and ranking.cluster_rule
    reason
        Why values are null, or which judges and segments the intervals apply to
    """

    task: str
    method: str
    system: str
    headline: bool
    rank: Count | None
    score: float | None
    ci_low: float | None
    ci_high: float | None
    rank_low: Count | None
    rank_high: Count | None
    wins: Count | None
    cluster: Count | None
    component: Count | None
    n_segments: Count
    n_judgments: Count
    n_asked: Count | None
    answered_share: Share | None
    wmt_wins: Count | None
    wmt_cluster: Count | None
    reason: str | None


SYSTEM_RANKINGS = Table(
    "system_rankings",
    "task, method and system",
    ("task", "method", "system"),
    columns_of(SystemRankings),
)


class Variance:
    """A variance component, or the smallest detectable difference.

    Parameters
    ----------
    statistic
        Name of the statistic: a variance component (variance_judge, ...; points squared), an
        intraclass correlation (icc_1, icc_2_1, icc_k), judgments_per_item, or detectable_difference
        (points)
    value
        Value of the statistic, in the unit that the column statistic implies
    ci_low
        Lower end of the 95% interval of value
    ci_high
        Upper end of the 95% interval of value
    n_items
        Number of items; with systems, an item is a system's output for a segment
    n_judges
        Number of judges
    reason
        Why values are null, or which judges the value applies to
    """

    task: str
    statistic: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_items: Count
    n_judges: Count
    reason: str | None


VARIANCE = Table("variance", "task and statistic", ("task", "statistic"), columns_of(Variance))


class SystemComparisons:
    """The difference and the test of two systems by a method.

    Parameters
    ----------
    method
        Method of the scores, as in system_rankings
    system_a
        System that the one-sided test claims to be better
    system_b
        System that the one-sided test claims to be worse
    headline
        Whether this is the task's headline method, as in system_rankings
    difference
        Score of system_a minus score of system_b
    ci_low
        Lower end of the 95% interval of difference
    ci_high
        Upper end of the 95% interval of difference
    standard_error
        Standard error of difference
    degrees_of_freedom
        Degrees of freedom of the interval and test of difference
    effective_judges
        1 + degrees of freedom of the variance over judges; clusters need 9.5; null if judges are
        not treated as a random sample
    effective_segments
        1 + degrees of freedom of the variance over segments, or over documents if mapped; clusters
        need 19.5; null if they are not treated as a random sample
    p_value
        One-sided p-value for system_a being better; null without a test
    p_adjusted
        One-sided p-value for system_a being better, after Holm's correction; null without a test
    a_beats_b
        Whether p_adjusted is below ranking.alpha; null without a test
    sign_p_value
        One-sided p-value of a sign test over judges, for pairs in which one system never lost to
        the other, so that the difference has no finite estimate
    wmt_p_value
        One-sided p-value of WMT's rank-sum test, which treats segments as independent; null without
        this test
    wmt_p_adjusted
        One-sided p-value of WMT's rank-sum test after Holm's correction; null without this test
    wmt_a_beats_b
        Whether wmt_p_value (wmt_p_adjusted with ranking.correction: holm) is below ranking.alpha;
        null without this test
    reason
        Why there is no test, or what limits it
    """

    task: str
    method: str
    system_a: str
    system_b: str
    headline: bool
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    standard_error: float | None
    degrees_of_freedom: float | None
    effective_judges: float | None
    effective_segments: float | None
    p_value: Share | None
    p_adjusted: Share | None
    a_beats_b: bool | None
    sign_p_value: Share | None
    wmt_p_value: Share | None
    wmt_p_adjusted: Share | None
    wmt_a_beats_b: bool | None
    reason: str | None


SYSTEM_COMPARISONS = Table(
    "system_comparisons",
    "task, method and ordered pair of systems",
    ("task", "method", "system_a", "system_b"),
    columns_of(SystemComparisons),
)
