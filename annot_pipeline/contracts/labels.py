"""Tables of labels, classes, confusion matrices of judges, and calibration."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    FLAG,
    ITEM,
    JUDGE,
    REAL,
    TASK,
    TEXT,
    TIME,
    Column,
    Table,
    count,
    real,
    share,
    text,
)

LABELS = Table(
    "labels",
    "task and item",
    ("task", "item"),
    (
        TASK,
        ITEM,
        text(
            "label",
            "Published label: the expert's decision if adjudicated, otherwise "
            "model_label, or majority_label if model_label is null",
        ),
        share(
            "probability",
            "Probability of label: 1 if adjudicated, otherwise under the published model "
            "(label_model); null if the task has too many classes for the model",
            nullable=True,
        ),
        Column(
            "certain",
            FLAG,
            "Whether probability is at least labels.certain_at (default 0.95), or, where an "
            "audit certifies labels, at least certified_level (label_calibration); in a task "
            "with a single class, where every probability is 1, true only for expert "
            "decisions",
        ),
        Column(
            "entropy",
            REAL,
            "Entropy of the published label distribution in nats; 0 if adjudicated",
            True,
            minimum=0,
        ),
        count("n_judgments", "Number of judgments used"),
        count("n_judges", "Number of distinct judges who gave the judgments used"),
        text(
            "majority_label",
            "Label with the most votes; ties are broken by class order",
            nullable=True,
        ),
        share(
            "majority_share", "Share of the judgments used that gave majority_label", nullable=True
        ),
        share("support", "Share of the judgments used that gave label", nullable=True),
        Column("adjudicated", FLAG, "Whether an expert's decision overrides the model"),
        text(
            "model_label",
            "Most probable class; ties are broken by class order; null if only an expert "
            "judged the item or the task has too many classes for the model",
            nullable=True,
        ),
        share(
            "model_probability",
            "Probability of model_label; null if model_label is null",
            nullable=True,
        ),
        text(
            "dawid_skene_label",
            "Most probable class under the unmodified Dawid-Skene model (1979); null if "
            "model_label is null",
            nullable=True,
        ),
        share(
            "dawid_skene_probability",
            "Posterior probability of dawid_skene_label under the unmodified Dawid-Skene "
            "model; too high if judges make the same errors",
            nullable=True,
        ),
        Column(
            "dawid_skene_certain",
            FLAG,
            "Whether dawid_skene_probability is at least labels.certain_at; always false "
            "in a task with a single class",
        ),
        text(
            "adjudicator",
            "Expert who decided; a pseudonym, like the names of judges; null if not adjudicated",
            nullable=True,
        ),
        Column(
            "adjudicated_at",
            TIME,
            "Time of the expert's decision, UTC; null if the export does not state it",
            True,
        ),
        text(
            "adjudication_reason",
            "Reason for the decision in the expert's words; null if none was given",
            nullable=True,
        ),
    ),
)

LABEL_DISTRIBUTIONS = Table(
    "label_distributions",
    "task, item and label",
    ("task", "item", "label"),
    (
        TASK,
        ITEM,
        text(
            "label",
            "Class of the task; in a task with too many classes for the model, only "
            "classes with votes",
        ),
        share(
            "probability",
            "Probability of the class under the published model, not overridden by expert "
            "decisions; null if no model was fitted",
            nullable=True,
        ),
        share(
            "dawid_skene_probability",
            "Probability of the class under the unmodified Dawid-Skene model; null if no "
            "model was fitted",
            nullable=True,
        ),
        count("votes", "Number of judgments used that gave this label"),
    ),
)

PREVALENCE = Table(
    "prevalence",
    "task and label",
    ("task", "label"),
    (
        TASK,
        text("label", "Class of the task"),
        count("label_order", "Position of the class in the task's class order, from 0"),
        share(
            "prevalence",
            "Share of items with this class: mean of its published probability over items",
        ),
        share(
            "dawid_skene_prevalence",
            "Share of items with this class under the unmodified Dawid-Skene model",
        ),
        share("vote_share", "Share of the raw labels that are this class"),
        share("plurality_frequency", "Share of items whose majority_label is this class"),
        share(
            "majority_frequency",
            "Share of items for which more than half of the labels are this class",
        ),
        share(
            "support",
            "Mean share of votes that agree with the inferred label, over items inferred "
            "as this class; null if there are none",
            nullable=True,
        ),
        share(
            "plurality_support",
            "Mean share of votes for the most frequent label, over items inferred as this "
            "class; null if there are none",
            nullable=True,
        ),
        share(
            "plurality_agreement",
            "Share of the items inferred as this class for which it is a most frequent "
            "label (ties count); null if there are none",
            nullable=True,
        ),
        Column(
            "named",
            FLAG,
            "Whether judges' most frequent answer to items of this class is this class; "
            "null if no item is inferred as this class",
            True,
        ),
        Column(
            "names_truth",
            FLAG,
            "Whether this class is the most likely true class when judges answer it; null "
            "if no judge answered it",
            True,
        ),
        Column(
            "dawid_skene_named",
            FLAG,
            "Whether judges' most frequent answer to items of this class is this class, "
            "under the unmodified Dawid-Skene model; null if it infers no item as this "
            "class",
            True,
        ),
        Column(
            "dawid_skene_names_truth",
            FLAG,
            "Whether this class is the most likely true class when judges answer it, "
            "under the unmodified Dawid-Skene model; null if no judge answered it",
            True,
        ),
        count("n_items", "Number of items whose inferred label is this class"),
        count("n_certain", "Number of items whose inferred label is this class and is certain"),
    ),
)

JUDGE_CONFUSION = Table(
    "judge_confusion",
    "task, judge, true label and observed label",
    ("task", "judge", "true_label", "observed_label"),
    (
        TASK,
        JUDGE,
        text("true_label", "True class of the item"),
        text("observed_label", "Label that the judge gave"),
        share(
            "probability",
            "Probability that the judge answers observed_label to an item of class "
            "true_label, estimated from the probabilities of the published model",
        ),
        share(
            "dawid_skene_probability",
            "Probability that the judge answers observed_label to an item of class "
            "true_label, under the unmodified Dawid-Skene model",
        ),
    ),
)


MODELS = ("published", "dawid_skene", "votes")
STATISTICS = (
    "dependence", "weight_of_votes", "temperature", "held_out_log_likelihood",
    "expected_accuracy", "certified_level", "accuracy", "log_loss",
    "expected_calibration_error", "certain_share", "certain_accuracy",
)  # fmt: skip

LABEL_CALIBRATION = Table(
    "label_calibration",
    "task, model and statistic",
    ("task", "model", "statistic"),
    (
        TASK,
        Column(
            "model",
            TEXT,
            "Model of the probabilities. published: the model of the published labels; "
            "dawid_skene: the unmodified Dawid-Skene model; votes: shares of votes, "
            "smoothed by one extra vote distributed like all votes",
            allowed=MODELS,
        ),
        Column(
            "statistic",
            TEXT,
            "Name of the statistic. dependence: share of a judge's evidence that repeats "
            "another judge's, 0 to 1. weight_of_votes: weight of smoothed votes in the "
            "model average. Both are fitted to held-out labels. temperature: exponent "
            "applied to probabilities, fitted to known items; null without this "
            "correction. held_out_log_likelihood: mean log probability (nats per label) "
            "of labels, predicted from other judges' labels of the item. "
            "expected_accuracy: expected share of correct labels, from the probabilities "
            "and the errors of known items; null, with a reason, without a sample of 50. "
            "certified_level: probability from which an audit certifies labels, which are then "
            "certain; null, with a reason, if it certifies none; no row without an audit. "
            "Other statistics compare with the truth in item tables",
            allowed=STATISTICS,
        ),
        real("value", "Value of the statistic; null if undefined"),
        real(
            "ci_low", "Lower end of the 95% interval of value; null if labels cannot determine it"
        ),
        real(
            "ci_high", "Upper end of the 95% interval of value; null if labels cannot determine it"
        ),
        count("n", "Number of labels that were predicted, or of items"),
        text("reason", "Why expected_accuracy or certified_level is null", nullable=True),
    ),
)
