"""How far the probabilities of labels hold, and by what that is known."""

from __future__ import annotations

from annot_pipeline.contracts.table import TASK, Column, Table, count, real
from annot_pipeline.contracts.values import TEXT

MODELS = ("raw", "pooled", "calibrated", "votes", "observed")
STATISTICS = (
    "pooling", "dependence", "temper", "held_out_log_likelihood", "overconfidence",
    "pairwise_agreement", "unanimous_share", "accuracy", "log_loss", "expected_calibration_error",
    "certain_share", "certain_accuracy",
)  # fmt: skip

LABEL_CALIBRATION = Table(
    "label_calibration",
    "one task, model, statistic",
    ("task", "model", "statistic"),
    (
        TASK,
        Column(
            "model",
            TEXT,
            "raw: Dawid-Skene; pooled: with confusions drawn together; calibrated: tempered too; "
            "votes: shares of votes, one more vote shared as all are; observed: the labels",
            allowed=MODELS,
        ),
        Column(
            "statistic",
            TEXT,
            "pooling: labels of each class that a judge's confusion borrows; dependence: of judges "
            "on one item, 0 to 1, or temper: the power that was given; held_out_log_likelihood: "
            "mean, nats a label, of labels predicted from the item's others; overconfidence: what "
            "tempering, or more of it, would add to that; "
            "pairwise_agreement, unanimous_share: between judges, observed or expected under the "
            "model; the others: against the truth of item tables",
            allowed=STATISTICS,
        ),
        real("value", "The figure; null where undefined"),
        real("ci_low", "Lower end of the 95% interval"),
        real("ci_high", "Upper end of the 95% interval"),
        count(
            "n",
            "Labels held out, or items; of what was chosen: labels it was chosen by, 0 where it "
            "is given or the usual",
        ),
    ),
)
