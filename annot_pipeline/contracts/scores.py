"""Scores of items."""

from __future__ import annotations

from annot_pipeline.contracts.table import Count, Share, Table, columns_of


class Scores:
    """The score of an item.

    Parameters
    ----------
    n_judgments
        Number of judgments used, from judges who were not dropped by judge control
    raw_mean
        Mean score by judges who were not dropped, in points of the scale; called filtered_mean in
        system_rankings
    z_mean
        Mean z-score by judges who were not dropped by judge control
    n_unfiltered
        Number of judgments of all judges, including those dropped by judge control
    unfiltered_mean
        Mean score by all judges, including those dropped, in points of the scale; called raw_mean
        in system_rankings
    easl_score
        EASL score, from 0 to 1 of the scale: mode of the item's Beta distribution, which is the
        mean of its scores
    easl_alpha
        First parameter of the item's Beta distribution: 1 + sum of its scores, scaled to 0 to 1
    easl_beta
        Second parameter of the item's Beta distribution: 1 + sum of (1 - score), scores scaled to 0
        to 1
    easl_variance
        Variance of the item's Beta distribution
    n_comparisons
        Number of comparisons with other items by the same judge in the same HIT and segment
    ra_score
        Score by bounded ranking aggregation of the item's comparisons, 0 to 1
    trueskill_mean
        TrueSkill mean from the item's comparisons, unbounded
    trueskill_sd
        TrueSkill's own sigma after the item's comparisons: no standard error, as plus and minus
        1.96 times it covers far less than 95%
    reason
        Why values of this row are null
    """

    task: str
    item: str
    segment: str | None
    system: str | None
    n_judgments: Count
    raw_mean: float | None
    z_mean: float | None
    n_unfiltered: Count
    unfiltered_mean: float | None
    easl_score: Share | None
    easl_alpha: float | None
    easl_beta: float | None
    easl_variance: float | None
    n_comparisons: Count
    ra_score: Share | None
    trueskill_mean: float | None
    trueskill_sd: float | None
    reason: str | None


SCORES = Table("scores", "task and item", ("task", "item"), columns_of(Scores))
