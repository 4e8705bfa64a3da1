"""The table on the calibration of label probabilities."""

from __future__ import annotations

from annot_pipeline.contracts.table import TASK, Column, Table, count, real, text
from annot_pipeline.contracts.values import TEXT

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
