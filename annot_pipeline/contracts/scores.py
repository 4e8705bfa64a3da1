"""Scores of items."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    ITEM,
    SEGMENT,
    SYSTEM,
    TASK,
    Table,
    count,
    real,
    share,
    text,
)

SCORES = Table(
    "scores",
    "one task, item",
    ("task", "item"),
    (
        TASK,
        ITEM,
        SEGMENT,
        SYSTEM,
        count("n_judgments", "Judgments used, of judges kept"),
        real(
            "raw_mean",
            "Mean score of the judges kept, points of the scale; as filtered_mean in "
            "system_rankings",
        ),
        real("z_mean", "Mean z-score of the judges kept"),
        count("n_unfiltered", "Judgments of all judges, kept or not"),
        real(
            "unfiltered_mean",
            "Mean score of all judges, points of the scale; as raw_mean in system_rankings",
        ),
        share(
            "easl_score",
            "Mode of the item's Beta distribution, 0 to 1 of the scale: the mean of its scores",
            nullable=True,
        ),
        real("easl_alpha", "First parameter of the Beta distribution: 1 + sum of the scores"),
        real("easl_beta", "Second parameter: 1 + sum of what the scores leave to the top"),
        real("easl_variance", "Variance of the Beta distribution"),
        count("n_comparisons", "Comparisons with items of the same judge, HIT and segment"),
        share("ra_score", "Bounded ranking aggregation of the comparisons, 0 to 1", nullable=True),
        real("trueskill_mean", "TrueSkill of the comparisons: mean, no bounds"),
        real("trueskill_sd", "TrueSkill of the comparisons: standard deviation"),
        text("reason", "Why something is missing", nullable=True),
    ),
)
