"""How far the probabilities of labels hold, and by what that is known."""

from __future__ import annotations

from annot_pipeline.contracts.table import TASK, Column, Table, count, real
from annot_pipeline.contracts.values import TEXT

MODELS = ("published", "dawid_skene", "votes")
STATISTICS = (
    "dependence", "weight_of_votes", "temperature", "held_out_log_likelihood",
    "expected_accuracy", "accuracy", "log_loss", "expected_calibration_error", "certain_share",
    "certain_accuracy",
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
            "published: the model whose label and probability are published; dawid_skene: as the "
            "paper has it; votes: shares of votes, one more vote shared as all are",
            allowed=MODELS,
        ),
        Column(
            "statistic",
            TEXT,
            "dependence: share of a judge's evidence that another's repeats, 0 to 1, and "
            "weight_of_votes: of smoothed votes in the average, both as held-out labels weigh "
            "them; temperature: power of probabilities by known items, null where none correct "
            "them; held_out_log_likelihood: mean, nats a label, of labels predicted from other "
            "judges' labels of the item; expected_accuracy: share of labels that are right, by "
            "the probabilities and, where items are known, their errors, null where no item has "
            "labels of two families; the others: against the truth of item tables",
            allowed=STATISTICS,
        ),
        real("value", "The figure; null where undefined"),
        real("ci_low", "Lower end of the 95% interval; null where labels cannot show it"),
        real("ci_high", "Upper end of the 95% interval; null where labels cannot show it"),
        count("n", "Labels that were predicted, or items"),
    ),
)
