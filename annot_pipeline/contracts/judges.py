"""Judges, and how they agree."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    JUDGE,
    KIND,
    TASK,
    Column,
    Table,
    count,
    real,
    share,
    text,
)
from annot_pipeline.contracts.values import FLAG, REAL, TEXT, VERDICTS

JUDGES = Table(
    "judges",
    "one task, judge",
    ("task", "judge"),
    (
        TASK,
        JUDGE,
        KIND,
        text("model", "Of a model, its name without version, prompt, temperature", nullable=True),
        text("family", "Family of related judges that campaign.yaml declares", nullable=True),
        text("version", "Of a model, its version, where exports or judges say it", nullable=True),
        text(
            "prompt_hash",
            "First 12 hex digits of the SHA-256 of a model's prompt, or of what names it",
            nullable=True,
        ),
        real("temperature", "Of a model, its temperature, where exports or judges say it"),
        count(
            "n_judgments",
            "Judgments used or measured, set aside as controls, or of a judge who failed",
        ),
        Column("verdict", TEXT, "Outcome of judge control", allowed=VERDICTS),
        text("verdict_reason", "Why there is no test, or how it was decided", nullable=True),
        Column("dropped", FLAG, "Whether the judge's judgments have the fate judge_failed"),
        text("test", "Test of judge control", nullable=True),
        text("contrast", "What the test compares", nullable=True),
        real("statistic", "t, or standard normal z, or number of right answers"),
        real(
            "effect",
            "Difference that the test is about, points of the scale; for known "
            "answers accuracy minus chance",
        ),
        real(
            "effect_low",
            "Lower end of the effect's 95% interval, which allows for scores of one output and of "
            "one HIT that depend on each other; points of the scale, for known answers share",
        ),
        real("effect_high", "Upper end of the same interval"),
        real(
            "required_effect",
            "annot review proposes to reject work of judges who fail and whose effect_high is "
            "below: quality.required_effect, or half the median effect of the judges who pass, "
            "corrected for selection (known answers: halfway from this judge's chance to their "
            "accuracy); null where they do not tell it",
        ),
        share("p_value", "One-sided p", nullable=True),
        share(
            "p_adjusted",
            "The same, corrected over judges as quality.correction says",
            nullable=True,
        ),
        share(
            "power",
            "Chance that a judge with the median effect of the judges who pass, corrected for "
            "selection, would pass with so many controls; where they do not tell it, with an "
            "assumed effect (docs/campaign.md)",
            nullable=True,
        ),
        count("n_pairs", "Pairs, scores of the smaller sample, or known answers in the test"),
        count(
            "n_needed",
            "As n_pairs: so many from which on the power is at least quality.min_power; null where "
            "there is a verdict or no number is enough",
            nullable=True,
        ),
        count("n_ask_again", "Judgments of repeated items"),
        count("n_bad_reference", "Judgments of degraded copies"),
        count("n_good_reference", "Judgments of references"),
        count("n_known_answers", "Questions with a known answer"),
        share("known_answer_accuracy", "Share of them answered right", nullable=True),
        share("known_answer_low", "Lower end of its 95% interval (Wilson)", nullable=True),
        share("known_answer_high", "Upper end of its 95% interval (Wilson)", nullable=True),
        real("mean", "Mean score, points of the scale, as z-scores take it"),
        real("sd", "Standard deviation of the scores (ddof 1), as z-scores take it"),
        real("mean_ordinary", "Mean score of ordinary outputs and repeats"),
        real("mean_good_reference", "Mean score of references"),
        real("mean_bad_reference", "Mean score of degraded copies"),
        text("no_z_reason", "Why the judge has no z-scores", nullable=True),
        count("n_graphs", "Segments whose outputs the judge compared", nullable=True),
        count(
            "n_graphs_in_contradiction",
            "Of these, segments where the judge's comparisons contradict each other",
            nullable=True,
        ),
        share(
            "consistency",
            "Share of the outputs compared that are outside of the judge's contradictions",
            nullable=True,
        ),
        Column(
            "seconds_per_judgment",
            REAL,
            "Mean seconds a judgment; from the seconds of HITs where judgments have none",
            True,
            doubtful_below=0,
        ),
        count(
            "longest_constant_run",
            "Longest run of equal scores; null if nothing tells the order of work",
            nullable=True,
        ),
        share(
            "share_at_ends",
            "Share of scores at the lowest or highest point of the declared scale",
            nullable=True,
        ),
        share("accuracy", "Confusion diagonal weighted by prevalence", nullable=True),
        share("mean_class_accuracy", "Unweighted mean of the confusion diagonal", nullable=True),
        share(
            "mean_met_class_accuracy",
            "The same mean without classes that no item was inferred to have",
            nullable=True,
        ),
        share(
            "chance_accuracy",
            "Accuracy of a judge who gives labels as often but without looking",
            nullable=True,
        ),
        Column("below_chance", FLAG, "Whether accuracy < chance_accuracy", True),
        text("bias_label", "Label that the judge overuses most", nullable=True),
        real(
            "bias",
            "Labels: share of bias_label among expected answers minus its prevalence. Scores: "
            "points that the judge gives more than the others on the same items, null with fewer "
            "than 3 shared items",
        ),
        real(
            "spread",
            "Points by which the judge's scores differ where items differ by one point by the "
            "mean of the others, free of its noise (assessor model); null with fewer than 3 shared "
            "items, or where the means of the others vary more by noise than by items",
        ),
        real(
            "inconsistency",
            "Standard deviation of the judge's noise, points (ITU-T P.913); null with fewer than 3 "
            "shared items",
        ),
        Column(
            "correlation",
            REAL,
            "Correlation of the judge's scores with the mean of the others on the same items; null "
            "with fewer than 3 shared items, or where either does not vary",
            True,
            minimum=-1,
            maximum=1,
        ),
        count(
            "n_shared_items",
            "Items and criteria that the judge scored and others too; judges who fail judge "
            "control or agree no better than chance are no others; null where there are no scores",
            nullable=True,
        ),
    ),
)

AGREEMENT = Table(
    "agreement",
    "one task, statistic",
    ("task", "statistic"),
    (
        TASK,
        text("statistic", "Name of the statistic"),
        real("value", "Value; null where undefined"),
        real("ci_low", "Lower end of the 95% interval"),
        real("ci_high", "Upper end of the 95% interval"),
        count("n_items", "Items that the statistic rests on: with two or more judgments"),
        count("n_judges", "Judges of these items"),
        text(
            "reason",
            "Why value, ci_low or ci_high is null, or for whom the interval is",
            nullable=True,
        ),
    ),
)
