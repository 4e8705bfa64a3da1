"""Tables of labels, classes, confusion matrices of judges, and calibration."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from annot_pipeline.contracts.table import Bounds, Count, Share, Table, columns_of

LabelModel = Literal["published", "dawid_skene", "votes"]
CalibrationStatistic = Literal[
    "dependence", "weight_of_votes", "temperature", "held_out_log_likelihood",
    "expected_accuracy", "certified_level", "accuracy", "log_loss",
    "expected_calibration_error", "certain_share", "certain_accuracy",
]  # fmt: skip


class Labels:
    """The label of an item.

    Parameters
    ----------
    label
        Published label: the expert's decision if adjudicated, otherwise model_label, or
        majority_label if model_label is null
    probability
        Probability of label: 1 if adjudicated, otherwise under the published model (label_model);
        null if the task has too many classes for the model
    certain
        Whether probability is at least labels.certain_at (default 0.95), or, where an audit
        certifies labels, at least certified_level (label_calibration); in a task with a single
        class, where every probability is 1, true only for expert decisions
    entropy
        Entropy of the published label distribution in nats; 0 if adjudicated
    n_judgments
        Number of judgments used
    n_judges
        Number of distinct judges who gave the judgments used
    majority_label
        Label with the most votes; ties are broken by class order
    majority_share
        Share of the judgments used that gave majority_label
    support
        Share of the judgments used that gave label
    adjudicated
        Whether an expert's decision overrides the model
    model_label
        Most probable class; ties are broken by class order; null if only an expert judged the item
        or the task has too many classes for the model
    model_probability
        Probability of model_label; null if model_label is null
    dawid_skene_label
        Most probable class under the unmodified Dawid-Skene model (1979); null if model_label is
        null
    dawid_skene_probability
        Posterior probability of dawid_skene_label under the unmodified Dawid-Skene model; too high
        if judges make the same errors
    dawid_skene_certain
        Whether dawid_skene_probability is at least labels.certain_at; always false in a task with a
        single class
    adjudicator
        Expert who decided; a pseudonym, like the names of judges; null if not adjudicated
    adjudicated_at
        Time of the expert's decision, UTC; null if the export does not state it
    adjudication_reason
        Reason for the decision in the expert's words; null if none was given
    """

    task: str
    item: str
    label: str
    probability: Share | None
    certain: bool
    entropy: Annotated[float, Bounds(minimum=0)] | None
    n_judgments: Count
    n_judges: Count
    majority_label: str | None
    majority_share: Share | None
    support: Share | None
    adjudicated: bool
    model_label: str | None
    model_probability: Share | None
    dawid_skene_label: str | None
    dawid_skene_probability: Share | None
    dawid_skene_certain: bool
    adjudicator: str | None
    adjudicated_at: datetime | None
    adjudication_reason: str | None


LABELS = Table("labels", "task and item", ("task", "item"), columns_of(Labels))


class LabelDistributions:
    """The probability of a label of an item.

    Parameters
    ----------
    label
        Class of the task; in a task with too many classes for the model, only classes with votes
    probability
        Probability of the class under the published model, not overridden by expert decisions; null
        if no model was fitted
    dawid_skene_probability
        Probability of the class under the unmodified Dawid-Skene model; null if no model was fitted
    votes
        Number of judgments used that gave this label
    """

    task: str
    item: str
    label: str
    probability: Share | None
    dawid_skene_probability: Share | None
    votes: Count


LABEL_DISTRIBUTIONS = Table(
    "label_distributions",
    "task, item and label",
    ("task", "item", "label"),
    columns_of(LabelDistributions),
)


class Prevalence:
    """How frequent a label is, by the model and by votes.

    Parameters
    ----------
    label
        Class of the task
    label_order
        Position of the class in the task's class order, from 0
    prevalence
        Share of items with this class: mean of its published probability over items
    dawid_skene_prevalence
        Share of items with this class under the unmodified Dawid-Skene model
    vote_share
        Share of the raw labels that are this class
    plurality_frequency
        Share of items whose majority_label is this class
    majority_frequency
        Share of items for which more than half of the labels are this class
    support
        Mean share of votes that agree with the inferred label, over items inferred as this class;
        null if there are none
    plurality_support
        Mean share of votes for the most frequent label, over items inferred as this class; null if
        there are none
    plurality_agreement
        Share of the items inferred as this class for which it is a most frequent label (ties
        count); null if there are none
    named
        Whether judges' most frequent answer to items of this class is this class; null if no item
        is inferred as this class
    names_truth
        Whether this class is the most likely true class when judges answer it; null if no judge
        answered it
    dawid_skene_named
        Whether judges' most frequent answer to items of this class is this class, under the
        unmodified Dawid-Skene model; null if it infers no item as this class
    dawid_skene_names_truth
        Whether this class is the most likely true class when judges answer it, under the unmodified
        Dawid-Skene model; null if no judge answered it
    n_items
        Number of items whose inferred label is this class
    n_certain
        Number of items whose inferred label is this class and is certain
    """

    task: str
    label: str
    label_order: Count
    prevalence: Share
    dawid_skene_prevalence: Share
    vote_share: Share
    plurality_frequency: Share
    majority_frequency: Share
    support: Share | None
    plurality_support: Share | None
    plurality_agreement: Share | None
    named: bool | None
    names_truth: bool | None
    dawid_skene_named: bool | None
    dawid_skene_names_truth: bool | None
    n_items: Count
    n_certain: Count


PREVALENCE = Table("prevalence", "task and label", ("task", "label"), columns_of(Prevalence))


class JudgeConfusion:
    """A cell of the confusion matrix of a judge.

    Parameters
    ----------
    true_label
        True class of the item
    observed_label
        Label that the judge gave
    probability
        Probability that the judge answers observed_label to an item of class true_label, estimated
        from the probabilities of the published model
    dawid_skene_probability
        Probability that the judge answers observed_label to an item of class true_label, under the
        unmodified Dawid-Skene model
    """

    task: str
    judge: str
    true_label: str
    observed_label: str
    probability: Share
    dawid_skene_probability: Share


JUDGE_CONFUSION = Table(
    "judge_confusion",
    "task, judge, true label and observed label",
    ("task", "judge", "true_label", "observed_label"),
    columns_of(JudgeConfusion),
)


class LabelCalibration:
    """A figure of how well the probabilities of labels hold.

    Parameters
    ----------
    model
        Model of the probabilities. published: the model of the published labels; dawid_skene: the
        unmodified Dawid-Skene model; votes: shares of votes, smoothed by one extra vote distributed
        like all votes
    statistic
        Name of the statistic. dependence: share of a judge's evidence that repeats another judge's,
        0 to 1. weight_of_votes: weight of smoothed votes in the model average. Both are fitted to
        held-out labels. temperature: exponent applied to probabilities, fitted to known items; null
        without this correction. held_out_log_likelihood: mean log probability (nats per label) of
        labels, predicted from other judges' labels of the item. expected_accuracy: expected share
        of correct labels, from the probabilities and the errors of known items; null, with a
        reason, without a sample of 50. certified_level: probability from which an audit certifies
        labels, which are then certain; null, with a reason, if it certifies none; no row without an
        audit. Other statistics compare with the truth in item tables
    value
        Value of the statistic; null if undefined
    ci_low
        Lower end of the 95% interval of value; null if labels cannot determine it
    ci_high
        Upper end of the 95% interval of value; null if labels cannot determine it
    n
        Number of labels that were predicted, or of items
    reason
        Why expected_accuracy or certified_level is null
    """

    task: str
    model: LabelModel
    statistic: CalibrationStatistic
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: Count
    reason: str | None


LABEL_CALIBRATION = Table(
    "label_calibration",
    "task, model and statistic",
    ("task", "model", "statistic"),
    columns_of(LabelCalibration),
)
