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
            "How the score is made; raw_mean: all judges, filtered_mean and z_mean: judges kept",
        ),
        text("system", "System"),
        count(
            "rank",
            "Rank, 1 is best, ties 1 2 2 4; null without judgments that count",
            nullable=True,
        ),
        real("score", "Score of the method"),
        real("ci_low", "Lower end of the 95% bootstrap interval"),
        real("ci_high", "Upper end of the 95% bootstrap interval"),
        count("rank_low", "Best rank in the 95% interval", nullable=True),
        count("rank_high", "Worst rank in the 95% interval", nullable=True),
        count("wins", "Systems beaten significantly", nullable=True),
        count("cluster", "Cluster, 1 is best", nullable=True),
        count(
            "component",
            "Part of the comparison graph within which the rank holds; null where there is one",
            nullable=True,
        ),
        count("n_segments", "Segments judged"),
        count(
            "n_judgments",
            "Judgments used; for methods of comparisons these, ties of shared outputs too",
        ),
        text("reason", "Why something is missing", nullable=True),
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
        real("difference", "Score of a minus score of b"),
        share("p_value", "One-sided p that a is better", nullable=True),
        share("p_adjusted", "The same, Holm-adjusted", nullable=True),
        Column(
            "a_beats_b",
            FLAG,
            "Whether p_value, or p_adjusted if ranking.correction is holm, is below ranking.alpha",
        ),
    ),
)
