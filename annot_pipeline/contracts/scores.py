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
    "task and item",
    ("task", "item"),
    (
        TASK,
        ITEM,
        SEGMENT,
        SYSTEM,
        count(
            "n_judgments",
            "Number of judgments used, from judges who were not dropped by judge control",
        ),
        real(
            "raw_mean",
            "Mean score by judges who were not dropped, in points of the scale; called "
            "filtered_mean in system_rankings",
        ),
        real("z_mean", "Mean z-score by judges who were not dropped by judge control"),
        count(
            "n_unfiltered",
            "Number of judgments of all judges, including those dropped by judge control",
        ),
        real(
            "unfiltered_mean",
            "Mean score by all judges, including those dropped, in points of the scale; "
            "called raw_mean in system_rankings",
        ),
        share(
            "easl_score",
            "EASL score, from 0 to 1 of the scale: mode of the item's Beta distribution, "
            "which is the mean of its scores",
            nullable=True,
        ),
        real(
            "easl_alpha",
            "First parameter of the item's Beta distribution: 1 + sum of its scores, "
            "scaled to 0 to 1",
        ),
        real(
            "easl_beta",
            "Second parameter of the item's Beta distribution: 1 + sum of (1 - score), "
            "scores scaled to 0 to 1",
        ),
        real("easl_variance", "Variance of the item's Beta distribution"),
        count(
            "n_comparisons",
            "Number of comparisons with other items by the same judge in the same HIT and segment",
        ),
        share(
            "ra_score",
            "Score by bounded ranking aggregation of the item's comparisons, 0 to 1",
            nullable=True,
        ),
        real("trueskill_mean", "TrueSkill mean from the item's comparisons, unbounded"),
        real(
            "trueskill_sd",
            "TrueSkill's own sigma after the item's comparisons: no standard error, as plus and "
            "minus 1.96 times it covers far less than 95%",
        ),
        text("reason", "Why values of this row are null", nullable=True),
    ),
)
