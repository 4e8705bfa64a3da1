"""Tables on model judges: validation against people, corrected estimates, and judge bias."""

from __future__ import annotations

from typing import Literal

from annot_pipeline.contracts.table import Count, JudgeKind, Share, Table, columns_of

Reference = Literal["people", "truth"]
Quantity = Literal["mean_score", "prevalence", "win_rate"]
EstimationMethod = Literal["model", "people", "prediction_powered", "rogan_gladen"]
ALL_MODELS = "all models"
"""Value of ``judge`` in `estimates` for the mean answer of all models on the items that all judged;
for labels, the share of models that give the label."""


class JudgeValidation:
    """A model judge against people or known answers.

    Parameters
    ----------
    judge
        Model judge, named as in the table judges
    reference
        What the model is compared with: people's judgments, or known answers
    n_items
        Number of items answered by the model and the reference; for scores with criteria, of pairs
        of item and criterion
    n_people
        Number of people who judged the items that the model also judged
    n_judgments
        Number of people's judgments of the items that the model also judged, or of known answers
    agreement
        Labels and comparisons: share of people's answers that equal the model's; each item counts
        once, and a tie is an answer
    agreement_low
        Lower end of the 95% interval of agreement
    agreement_high
        Upper end of the 95% interval of agreement
    kappa
        Labels and comparisons: Cohen's kappa of the model and people, which corrects agreement for
        chance
    kappa_low
        Lower end of the 95% interval of kappa
    kappa_high
        Upper end of the 95% interval of kappa
    human_agreement
        Labels and comparisons: share of people's answers that equal another person's; the ceiling
        for agreement
    human_kappa
        Labels and comparisons: Cohen's kappa between people; the ceiling for kappa
    bias
        Scores: mean score of the model minus mean score of people, in points of the scale
    bias_low
        Lower end of the 95% interval of bias
    bias_high
        Upper end of the 95% interval of bias
    error
        Scores: root mean squared difference of the model from people's means, in points of the
        scale
    correlation
        Scores: Pearson correlation of the model with people's means of items
    correlation_low
        Lower end of the 95% interval of correlation
    correlation_high
        Upper end of the 95% interval of correlation
    rank_correlation
        Scores: Spearman correlation of the model with people's means of items
    human_error
        Scores: root mean squared difference of each person from the mean of the other people, in
        points of the scale
    human_correlation
        Scores: Pearson correlation of each person with the means of the other people
    pairwise_accuracy
        Scores: share of item pairs in the same order as people's; pairs tied in both count as
        correct (Deutsch et al. 2023). Only pairs within a segment, where segments are known
    n_pairs
        Number of item pairs that pairwise_accuracy uses
    soft_pairwise_accuracy
        Scores: agreement with people on pairs of systems, by p-values (Thompson et al. 2024)
    n_systems
        Number of systems that soft_pairwise_accuracy compares
    winning_rate
        Alternative annotator test (Calderon et al. 2025): share of people over whom the model wins
    advantage_probability
        Alternative annotator test (Calderon et al. 2025): probability that the model is as good as
        a person, or better
    epsilon
        Margin by which a person may be better than the model in the alternative annotator test:
        judges.epsilon
    n_people_tested
        Number of people in the alternative annotator test: those with at least 30 items
    reason
        Why values are null, or which judges or items they apply to
    """

    task: str
    judge: str
    reference: Reference
    n_items: Count
    n_people: Count
    n_judgments: Count
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    human_agreement: float | None
    human_kappa: float | None
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    error: float | None
    correlation: float | None
    correlation_low: float | None
    correlation_high: float | None
    rank_correlation: float | None
    human_error: float | None
    human_correlation: float | None
    pairwise_accuracy: Share | None
    n_pairs: Count | None
    soft_pairwise_accuracy: Share | None
    n_systems: Count | None
    winning_rate: Share | None
    advantage_probability: Share | None
    epsilon: Share | None
    n_people_tested: Count
    reason: str | None


JUDGE_VALIDATION = Table(
    "judge_validation",
    "task, model judge and reference",
    ("task", "judge", "reference"),
    columns_of(JudgeValidation),
)


class ValidationConfusion:
    """A cell of the confusion matrix of a model judge with people or known answers.

    Parameters
    ----------
    judge
        Model judge, named as in the table judges
    reference
        What the model is compared with: people's judgments, or known answers
    reference_answer
        Label given by people, or known label; in comparisons a, b or tie, where a is the item whose
        name sorts first
    model_answer
        Answer of the model
    n_items
        Number of items; an item judged by several people is divided among their answers
    share
        Share of the items with this reference_answer that have this model_answer
    """

    task: str
    judge: str
    reference: Reference
    reference_answer: str
    model_answer: str
    n_items: float
    share: Share


VALIDATION_CONFUSION = Table(
    "validation_confusion",
    "task, model judge, reference, reference answer and model answer",
    ("task", "judge", "reference", "reference_answer", "model_answer"),
    columns_of(ValidationConfusion),
)


class Estimates:
    """A share, mean or win rate, by models, people or both.

    Parameters
    ----------
    quantity
        Quantity that is estimated. prevalence: share of items that more than half of their people
        give the label; mean_score: mean in points of the scale; win_rate: share of a system's
        comparisons that it wins, with a tie as half a win
    criterion
        Criterion of the scores; null unless the task has several
    system
        System that the estimate describes; null if it describes all items
    label
        Label whose prevalence is estimated; null for other quantities
    method
        Method of estimation. people: people's answers alone; model: the model's alone, over all
        items; prediction_powered: the model's, corrected by people's (PPI++); rogan_gladen: the
        model's, corrected by its label confusion
    judge
        Model judge, or 'all models' for their mean answer (for labels, the share of models that
        give the label); null for people alone
    value
        Estimate of the quantity; if null, see reason
    ci_low
        Lower end of the 95% interval of value
    ci_high
        Upper end of the 95% interval of value
    n_human
        Number of human judgments used; for prevalence, number of items that people judged
    n_model
        Number of items that the model judged
    effective_n_human
        Number of human answers that would give an interval of the same width without the model
    power
        Weight of the model's answers in the estimate (power tuning of PPI++), 0 to 1
    reason
        Why value or its interval is null, or which judges or items they apply to
    """

    task: str
    quantity: Quantity
    criterion: str | None
    system: str | None
    label: str | None
    method: EstimationMethod
    judge: str | None
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_human: Count
    n_model: Count
    effective_n_human: float | None
    power: Share | None
    reason: str | None


ESTIMATES = Table(
    "estimates",
    "task, quantity, criterion, system, label, method and model judge",
    ("task", "quantity", "criterion", "system", "label", "method", "judge"),
    columns_of(Estimates),
)


class JudgeBias:
    """Order bias, length bias and preference for its own family of a judge.

    Parameters
    ----------
    n_comparisons
        Number of comparisons of two items that the judge made
    n_decided
        Number of comparisons that are not ties and whose display order is known
    first_shown_share
        Share of the comparisons counted in n_decided that the item shown first won
    order_effect
        Log odds that the item shown first wins, adjusted for the systems (Davidson & Beaver 1977);
        above 0 if the judge favours the first; if null, see order_reason
    order_effect_low
        Lower end of the 95% interval of order_effect
    order_effect_high
        Upper end of the 95% interval of order_effect
    order_reason
        Why order_effect is null
    n_both_orders
        Number of pairs of items that the judge saw in both orders
    n_consistent
        Number of pairs seen in both orders that got the same answer in both
    consistency
        Share of the pairs seen in both orders that got the same answer in both
    consistency_low
        Lower end of the 95% interval of consistency
    consistency_high
        Upper end of the 95% interval of consistency
    n_unanswered
        Number of pairs that the judge was shown in both orders and answered in neither; no other
        count includes them
    n_truths
        Number of pairs seen in both orders that have a known answer
    n_right_forward
        Number of pairs counted in n_truths that were answered correctly with the item whose name
        sorts first shown first
    n_right_reverse
        Number of pairs counted in n_truths that were answered correctly with the item whose name
        sorts first shown second
    n_lengths
        Number of comparisons of two texts of known length
    longer_share
        Share of comparisons of texts of unequal length, without ties, won by the longer text
    length_effect
        Log odds that a text wins which is e times as long as the other, adjusted for the systems;
        ties are half wins; not adjusted for display order; if null, see length_reason
    length_effect_low
        Lower end of the 95% interval of length_effect
    length_effect_high
        Upper end of the 95% interval of length_effect
    length_reason
        Why length_effect is null
    n_own_family
        Number of comparisons of an output of the judge's own family with another output
    own_family_share
        Share of the comparisons counted in n_own_family that the judge's own family won; ties count
        as half
    own_family_preference
        own_family_share minus the share that people give to the judge's family on the same pairs;
        if null, see family_reason
    own_family_preference_low
        Lower end of the 95% interval of own_family_preference
    own_family_preference_high
        Upper end of the 95% interval of own_family_preference
    family_reason
        Why own_family_preference is null
    """

    task: str
    judge: str
    kind: JudgeKind | None
    n_comparisons: Count
    n_decided: Count
    first_shown_share: Share | None
    order_effect: float | None
    order_effect_low: float | None
    order_effect_high: float | None
    order_reason: str | None
    n_both_orders: Count
    n_consistent: Count
    consistency: float | None
    consistency_low: float | None
    consistency_high: float | None
    n_unanswered: Count
    n_truths: Count
    n_right_forward: Count
    n_right_reverse: Count
    n_lengths: Count
    longer_share: Share | None
    length_effect: float | None
    length_effect_low: float | None
    length_effect_high: float | None
    length_reason: str | None
    n_own_family: Count
    own_family_share: Share | None
    own_family_preference: float | None
    own_family_preference_low: float | None
    own_family_preference_high: float | None
    family_reason: str | None


JUDGE_BIAS = Table("judge_bias", "task and judge", ("task", "judge"), columns_of(JudgeBias))
