"""Labels of items, and what the model says of classes and judges."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    ITEM,
    JUDGE,
    TASK,
    Column,
    Table,
    count,
    share,
    text,
)
from annot_pipeline.contracts.values import FLAG, REAL, TIME

LABELS = Table(
    "labels",
    "one task, item",
    ("task", "item"),
    (
        TASK,
        ITEM,
        text(
            "label",
            "The expert's decision where adjudicated, else model_label, else majority_label",
        ),
        share(
            "probability",
            "Probability of the label: 1 where adjudicated, else under the published model "
            "(label_model); null where the task has too many classes for the model",
            nullable=True,
        ),
        Column(
            "certain",
            FLAG,
            "Whether probability >= labels.certain_at (0.95 unless set); without a decision never "
            "in a task with a single class, where every probability is 1",
        ),
        Column(
            "entropy",
            REAL,
            "Entropy of the published distribution, nats; 0 where adjudicated",
            True,
            minimum=0,
        ),
        count("n_judgments", "Judgments used"),
        count("n_judges", "Distinct judges of the judgments used"),
        text("majority_label", "Label with most votes; ties broken by class order", nullable=True),
        share("majority_share", "Share of the judgments that gave majority_label", nullable=True),
        share("support", "Share of the judgments that gave label", nullable=True),
        Column("adjudicated", FLAG, "Whether an expert's decision overrides the model"),
        text(
            "model_label",
            "Most probable class; ties broken by class order; null where only an expert judged, "
            "or where the task has too many classes for the model",
            nullable=True,
        ),
        share("model_probability", "Probability of model_label", nullable=True),
        text(
            "dawid_skene_label",
            "Most probable class under Dawid-Skene as the paper has it; null as model_label is",
            nullable=True,
        ),
        share(
            "dawid_skene_probability",
            "Posterior probability of dawid_skene_label; too high where judges err together",
            nullable=True,
        ),
        Column(
            "dawid_skene_certain",
            FLAG,
            "Whether dawid_skene_probability >= labels.certain_at; never with a single class",
        ),
        text("adjudicator", "Who decided; a pseudonym, as judges are", nullable=True),
        Column("adjudicated_at", TIME, "When, if the export says so", True),
        text("adjudication_reason", "Why, in the expert's words", nullable=True),
    ),
)

LABEL_DISTRIBUTIONS = Table(
    "label_distributions",
    "one task, item, label",
    ("task", "item", "label"),
    (
        TASK,
        ITEM,
        text(
            "label",
            "A class of the task; where the task has too many for the model, one with votes",
        ),
        share(
            "probability",
            "Probability of the class under the published model, whatever experts decided; null "
            "where none was fitted",
            nullable=True,
        ),
        share(
            "dawid_skene_probability",
            "The same of Dawid-Skene as the paper has it",
            nullable=True,
        ),
        count("votes", "Judgments used that gave this label"),
    ),
)

PREVALENCE = Table(
    "prevalence",
    "one task, label",
    ("task", "label"),
    (
        TASK,
        text("label", "A class of the task"),
        count("label_order", "Place of the class in the task's class order, from 0"),
        share(
            "prevalence",
            "Share of items with this class: the mean of its published probability",
        ),
        share("dawid_skene_prevalence", "The same of Dawid-Skene as the paper has it"),
        share("vote_share", "Share of raw labels"),
        share("plurality_frequency", "Share of items whose majority_label it is"),
        share("majority_frequency", "Share of items where more than half the labels are it"),
        share(
            "support",
            "Mean share of the votes that the inferred label got, over items inferred as this "
            "class; null without items",
            nullable=True,
        ),
        share(
            "plurality_support",
            "Mean share of the votes that the most frequent label got, over the same items",
            nullable=True,
        ),
        share(
            "plurality_agreement",
            "Share of the same items whose most frequent label (ties count) is this class",
            nullable=True,
        ),
        Column(
            "named",
            FLAG,
            "Whether judges who see this class most often answer its own name; null without mass",
            True,
        ),
        Column(
            "names_truth",
            FLAG,
            "Whether this class is the most likely truth behind its name; null if never answered",
            True,
        ),
        Column("dawid_skene_named", FLAG, "As named, of Dawid-Skene", True),
        Column("dawid_skene_names_truth", FLAG, "As names_truth, of Dawid-Skene", True),
        count("n_items", "Items whose inferred label it is"),
        count("n_certain", "Of these, items whose label is certain"),
    ),
)

JUDGE_CONFUSION = Table(
    "judge_confusion",
    "one task, judge, true label, observed label",
    ("task", "judge", "true_label", "observed_label"),
    (
        TASK,
        JUDGE,
        text("true_label", "Class of the item"),
        text("observed_label", "Label that the judge gave"),
        share(
            "probability",
            "Probability that the judge answers observed_label to true_label, by the published "
            "model: estimated from its probabilities",
        ),
        share("dawid_skene_probability", "The same of Dawid-Skene as the paper has it"),
    ),
)
