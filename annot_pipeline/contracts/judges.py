"""Tables of judges and of their agreement."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    FLAG,
    JUDGE,
    KIND,
    REAL,
    TASK,
    TEXT,
    VERDICTS,
    Column,
    Table,
    count,
    real,
    share,
    text,
)

JUDGES = Table(
    "judges",
    "task and judge",
    ("task", "judge"),
    (
        TASK,
        JUDGE,
        KIND,
        text(
            "model",
            "Name of the model, without version, prompt and temperature; null if the "
            "judge is not a model",
            nullable=True,
        ),
        text(
            "family",
            "Family of related judges declared in campaign.yaml; null if none is declared",
            nullable=True,
        ),
        text(
            "version",
            "Version of the model; null unless stated in exports or under judges in campaign.yaml",
            nullable=True,
        ),
        text(
            "prompt_hash",
            "First 12 hex digits of the SHA-256 of the model's prompt, or of the text "
            "that identifies the prompt; null if unknown",
            nullable=True,
        ),
        real(
            "temperature",
            "Sampling temperature of the model; null unless stated in exports or under "
            "judges in campaign.yaml",
        ),
        count(
            "n_judgments",
            "Number of judgments used, measured, set aside as controls, or made by a "
            "judge who failed judge control; 0 if all answers failed",
        ),
        count(
            "n_unscored",
            "Number of answers that failed (fate unscored); where judges differ, see the gate "
            "answers_missing_by_judge",
        ),
        share(
            "answered_share",
            "Share of the judge's answers that did not fail: n_judgments of n_judgments and "
            "n_unscored",
        ),
        Column("verdict", TEXT, "Result of judge control", allowed=VERDICTS),
        text(
            "verdict_reason", "Why there is no test, or how the verdict was reached", nullable=True
        ),
        Column("dropped", FLAG, "Whether the judge's judgments have the fate judge_failed"),
        Column(
            "suspected",
            FLAG,
            "Whether the judge's labels look wrong while the data cannot tell who is right "
            "(verdict_reason); labels of which suspected judges gave half of the answers or more "
            "are never certain, unless an audit certifies them",
        ),
        text(
            "test",
            "Name of the statistical test of judge control, or by the others' answers "
            "(chance, constant, copies); null if there is none",
            nullable=True,
        ),
        text(
            "contrast",
            "Groups of judgments that the test compares; null if there is no such test",
            nullable=True,
        ),
        real(
            "statistic",
            "Test statistic: t, standard normal z, or number of correct answers, as the "
            "test defines",
        ),
        real(
            "effect",
            "Difference that is tested, in points of the scale; for known answers, "
            "accuracy minus chance; for chance, the agreement with the other judges above "
            "chance, as a share of the largest possible",
        ),
        real(
            "effect_low",
            "Lower end of the 95% interval of effect, in points (known answers: a share); "
            "allows for dependent scores within an output and within a HIT",
        ),
        real(
            "effect_high",
            "Upper end of the 95% interval of effect, in points (known answers: a share); "
            "allows for dependent scores within an output and within a HIT",
        ),
        real(
            "required_effect",
            "A failed judge with a lower effect_high is proposed for rejection: "
            "quality.required_effect or half the passing judges' median effect, corrected "
            "for selection (known answers: midway from the judge's chance to the passing "
            "judges' accuracy); null if unknown",
        ),
        share("p_value", "One-sided p-value of the test; null without a test", nullable=True),
        share(
            "p_adjusted",
            "One-sided p-value, corrected over judges by quality.correction (chance: as it is); "
            "null without a test",
            nullable=True,
        ),
        share(
            "power",
            "Probability that a judge with the passing judges' median effect (corrected "
            "for selection), or an assumed one if that is unknown, passes with this "
            "number of controls (docs/campaign.md)",
            nullable=True,
        ),
        count(
            "n_pairs",
            "Sample size of the test: number of pairs, of scores in the smaller sample, "
            "of known answers, or of labels or preferences of items that others judged",
        ),
        count(
            "n_needed",
            "Sample size, counted like n_pairs, from which power is at least "
            "quality.min_power (chance: 1 - alpha); null if there is a verdict or no size is "
            "enough",
            nullable=True,
        ),
        count("n_ask_again", "Number of judgments of repeated items"),
        count("n_bad_reference", "Number of judgments of degraded copies"),
        count("n_good_reference", "Number of judgments of references"),
        count("n_known_answers", "Number of questions with a known answer"),
        share(
            "known_answer_accuracy",
            "Share of the questions with a known answer that the judge answered correctly",
            nullable=True,
        ),
        share(
            "known_answer_low",
            "Lower end of the 95% Wilson interval of known_answer_accuracy",
            nullable=True,
        ),
        share(
            "known_answer_high",
            "Upper end of the 95% Wilson interval of known_answer_accuracy",
            nullable=True,
        ),
        real("mean", "Mean of the judge's scores in points of the scale, as used for z-scores"),
        real(
            "sd",
            "Standard deviation (ddof 1) of the judge's scores in points of the scale, as "
            "used for z-scores",
        ),
        real(
            "mean_ordinary",
            "Mean score of ordinary outputs and repeated items, in points of the scale",
        ),
        real("mean_good_reference", "Mean score of references, in points of the scale"),
        real("mean_bad_reference", "Mean score of degraded copies, in points of the scale"),
        text("no_z_reason", "Why the judge has no z-scores; null otherwise", nullable=True),
        count("n_graphs", "Number of segments whose outputs the judge compared", nullable=True),
        count(
            "n_graphs_in_contradiction",
            "Number of segments in which the judge's comparisons contradict each other",
            nullable=True,
        ),
        share(
            "consistency",
            "Share of the compared outputs that are not part of a contradiction among the "
            "judge's comparisons",
            nullable=True,
        ),
        Column(
            "seconds_per_judgment",
            REAL,
            "Mean time per judgment in seconds; computed from the seconds of HITs if "
            "judgments have none",
            True,
            doubtful_below=0,
        ),
        share(
            "hurried_share",
            "Share of the judge's timed answers (labels, scores) that take less time than "
            "hurried_below; null for models, with fewer than 20 timed answers, or without "
            "hurried_below",
            nullable=True,
        ),
        real(
            "hurried_below",
            "Level of hurried_share, seconds: a third of the median over judges of their median "
            "time per answer; judges who passed judge control where 3 did, else all; null with "
            "fewer than 3 judges of 20 timed answers",
        ),
        count(
            "longest_constant_run",
            "Length of the longest run of equal scores in order of work; null if the "
            "order is unknown",
            nullable=True,
        ),
        share(
            "share_at_ends",
            "Share of the judge's scores at the lowest or highest point of the declared scale",
            nullable=True,
        ),
        share(
            "accuracy",
            "Probability of a correct label: diagonal of the judge's confusion matrix, "
            "weighted by prevalence; too low if judges err independently (docs/methods.md); null "
            "without items that others judged or whose label is known",
            nullable=True,
        ),
        share(
            "mean_class_accuracy",
            "Unweighted mean of the diagonal of the judge's confusion matrix",
            nullable=True,
        ),
        share(
            "mean_met_class_accuracy",
            "Unweighted mean of the diagonal of the judge's confusion matrix, without "
            "classes that no item was inferred to have",
            nullable=True,
        ),
        share(
            "chance_accuracy",
            "Expected accuracy of random answers with the label frequencies of this judge",
            nullable=True,
        ),
        Column("below_chance", FLAG, "Whether accuracy is below chance_accuracy", True),
        text("bias_label", "Label that the judge overuses most", nullable=True),
        real(
            "bias",
            "Labels: share of bias_label among expected answers minus its prevalence. "
            "Scores: mean points above the other judges on the same items; null with "
            "fewer than 3 shared items",
        ),
        real(
            "spread",
            "Change of the judge's scores, in points, per point of the other judges' "
            "noise-corrected mean (assessor model); null with fewer than 3 shared items, "
            "or if these means vary more by noise than by items",
        ),
        real(
            "inconsistency",
            "Standard deviation of the judge's noise, in points of the scale (ITU-T "
            "P.913); null with fewer than 3 shared items",
        ),
        Column(
            "correlation",
            REAL,
            "Correlation of the judge's scores with the other judges' means on the same "
            "items; null with fewer than 3 shared items, or if either is constant",
            True,
            minimum=-1,
            maximum=1,
        ),
        count(
            "n_shared_items",
            "Number of items and criteria scored by this judge and by others, not "
            "counting others who failed judge control or agree no better than chance; "
            "null if there are no scores",
            nullable=True,
        ),
    ),
)

AGREEMENT = Table(
    "agreement",
    "task and statistic",
    ("task", "statistic"),
    (
        TASK,
        text("statistic", "Name of the statistic"),
        real("value", "Value of the statistic; null if undefined"),
        real("ci_low", "Lower end of the 95% interval of value; see reason if null"),
        real("ci_high", "Upper end of the 95% interval of value; see reason if null"),
        count(
            "n_items", "Number of items that the statistic uses: those with two or more judgments"
        ),
        count("n_judges", "Number of judges who judged the items that the statistic uses"),
        text(
            "reason",
            "Why value, ci_low or ci_high is null, or which judges the interval applies to",
            nullable=True,
        ),
    ),
)
