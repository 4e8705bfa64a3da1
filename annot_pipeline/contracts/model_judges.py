"""Tables on model judges: validation against people, corrected estimates, and judge bias."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    JUDGE,
    KIND,
    TASK,
    TEXT,
    Column,
    Table,
    count,
    real,
    share,
    text,
)

REFERENCES = ("people", "truth")
QUANTITIES = ("mean_score", "prevalence", "win_rate")
METHODS = ("model", "people", "prediction_powered", "rogan_gladen")
ALL_MODELS = "all models"
"""Value of ``judge`` in `estimates` for the mean answer of all models on the items that all judged;
for labels, the share of models that give the label."""


def _with_ends(name: str, description: str) -> tuple[Column, ...]:
    """Return a column of shares or coefficients, and the two ends of its 95% interval."""
    return (
        real(name, description),
        real(f"{name}_low", f"Lower end of the 95% interval of {name}"),
        real(f"{name}_high", f"Upper end of the 95% interval of {name}"),
    )


REFERENCE = Column(
    "reference",
    TEXT,
    "What the model is compared with: people's judgments, or known answers",
    allowed=REFERENCES,
)

JUDGE_VALIDATION = Table(
    "judge_validation",
    "task, model judge and reference",
    ("task", "judge", "reference"),
    (
        TASK,
        text("judge", "Model judge, named as in the table judges"),
        REFERENCE,
        count(
            "n_items",
            "Number of items answered by the model and the reference; for scores with "
            "criteria, of pairs of item and criterion",
        ),
        count("n_people", "Number of people who judged the items that the model also judged"),
        count(
            "n_judgments",
            "Number of people's judgments of the items that the model also judged, or of "
            "known answers",
        ),
        *_with_ends(
            "agreement",
            "Labels and comparisons: share of people's answers that equal the model's; "
            "each item counts once, and a tie is an answer",
        ),
        *_with_ends(
            "kappa",
            "Labels and comparisons: Cohen's kappa of the model and people, which "
            "corrects agreement for chance",
        ),
        real(
            "human_agreement",
            "Labels and comparisons: share of people's answers that equal another "
            "person's; the ceiling for agreement",
        ),
        real(
            "human_kappa",
            "Labels and comparisons: Cohen's kappa between people; the ceiling for kappa",
        ),
        *_with_ends(
            "bias",
            "Scores: mean score of the model minus mean score of people, in points of the scale",
        ),
        real(
            "error",
            "Scores: root mean squared difference of the model from people's means, in "
            "points of the scale",
        ),
        *_with_ends(
            "correlation", "Scores: Pearson correlation of the model with people's means of items"
        ),
        real(
            "rank_correlation",
            "Scores: Spearman correlation of the model with people's means of items",
        ),
        real(
            "human_error",
            "Scores: root mean squared difference of each person from the mean of the "
            "other people, in points of the scale",
        ),
        real(
            "human_correlation",
            "Scores: Pearson correlation of each person with the means of the other people",
        ),
        share(
            "pairwise_accuracy",
            "Scores: share of item pairs in the same order as people's; pairs tied in "
            "both count as correct (Deutsch et al. 2023). Only pairs within a segment, "
            "where segments are known",
            nullable=True,
        ),
        count("n_pairs", "Number of item pairs that pairwise_accuracy uses", nullable=True),
        share(
            "soft_pairwise_accuracy",
            "Scores: agreement with people on pairs of systems, by p-values (Thompson et al. 2024)",
            nullable=True,
        ),
        count("n_systems", "Number of systems that soft_pairwise_accuracy compares", nullable=True),
        share(
            "winning_rate",
            "Alternative annotator test (Calderon et al. 2025): share of people over whom "
            "the model wins",
            nullable=True,
        ),
        share(
            "advantage_probability",
            "Alternative annotator test (Calderon et al. 2025): probability that the "
            "model is as good as a person, or better",
            nullable=True,
        ),
        share(
            "epsilon",
            "Margin by which a person may be better than the model in the alternative "
            "annotator test: judges.epsilon",
            nullable=True,
        ),
        count(
            "n_people_tested",
            "Number of people in the alternative annotator test: those with at least 30 items",
        ),
        text(
            "reason", "Why values are null, or which judges or items they apply to", nullable=True
        ),
    ),
)

VALIDATION_CONFUSION = Table(
    "validation_confusion",
    "task, model judge, reference, reference answer and model answer",
    ("task", "judge", "reference", "reference_answer", "model_answer"),
    (
        TASK,
        text("judge", "Model judge, named as in the table judges"),
        REFERENCE,
        text(
            "reference_answer",
            "Label given by people, or known label; in comparisons a, b or tie, where a "
            "is the item whose name sorts first",
        ),
        text("model_answer", "Answer of the model"),
        real(
            "n_items",
            "Number of items; an item judged by several people is divided among their answers",
            nullable=False,
        ),
        share("share", "Share of the items with this reference_answer that have this model_answer"),
    ),
)

ESTIMATES = Table(
    "estimates",
    "task, quantity, criterion, system, label, method and model judge",
    ("task", "quantity", "criterion", "system", "label", "method", "judge"),
    (
        TASK,
        Column(
            "quantity",
            TEXT,
            "Quantity that is estimated. prevalence: share of items that more than half "
            "of their people give the label; mean_score: mean in points of the scale; "
            "win_rate: share of a system's comparisons that it wins, with a tie as half a "
            "win",
            allowed=QUANTITIES,
        ),
        text(
            "criterion", "Criterion of the scores; null unless the task has several", nullable=True
        ),
        text(
            "system",
            "System that the estimate describes; null if it describes all items",
            nullable=True,
        ),
        text(
            "label", "Label whose prevalence is estimated; null for other quantities", nullable=True
        ),
        Column(
            "method",
            TEXT,
            "Method of estimation. people: people's answers alone; model: the model's "
            "alone, over all items; prediction_powered: the model's, corrected by "
            "people's (PPI++); rogan_gladen: the model's, corrected by its label "
            "confusion",
            allowed=METHODS,
        ),
        text(
            "judge",
            f"Model judge, or '{ALL_MODELS}' for their mean answer (for labels, the share of "
            "models that give the label); null for people alone",
            nullable=True,
        ),
        real("value", "Estimate of the quantity; if null, see reason"),
        real("ci_low", "Lower end of the 95% interval of value"),
        real("ci_high", "Upper end of the 95% interval of value"),
        count(
            "n_human",
            "Number of human judgments used; for prevalence, number of items that people judged",
        ),
        count("n_model", "Number of items that the model judged"),
        real(
            "effective_n_human",
            "Number of human answers that would give an interval of the same width "
            "without the model",
        ),
        share(
            "power",
            "Weight of the model's answers in the estimate (power tuning of PPI++), 0 to 1",
            nullable=True,
        ),
        text(
            "reason",
            "Why value or its interval is null, or which judges or items they apply to",
            nullable=True,
        ),
    ),
)

JUDGE_BIAS = Table(
    "judge_bias",
    "task and judge",
    ("task", "judge"),
    (
        TASK,
        JUDGE,
        KIND,
        count("n_comparisons", "Number of comparisons of two items that the judge made"),
        count(
            "n_decided", "Number of comparisons that are not ties and whose display order is known"
        ),
        share(
            "first_shown_share",
            "Share of the comparisons counted in n_decided that the item shown first won",
            nullable=True,
        ),
        *_with_ends(
            "order_effect",
            "Log odds that the item shown first wins, adjusted for the systems (Davidson "
            "& Beaver 1977); above 0 if the judge favours the first; if null, see "
            "order_reason",
        ),
        text("order_reason", "Why order_effect is null", nullable=True),
        count("n_both_orders", "Number of pairs of items that the judge saw in both orders"),
        count(
            "n_consistent", "Number of pairs seen in both orders that got the same answer in both"
        ),
        *_with_ends(
            "consistency", "Share of the pairs seen in both orders that got the same answer in both"
        ),
        count(
            "n_unanswered",
            "Number of pairs that the judge was shown in both orders and answered in "
            "neither; no other count includes them",
        ),
        count("n_truths", "Number of pairs seen in both orders that have a known answer"),
        count(
            "n_right_forward",
            "Number of pairs counted in n_truths that were answered correctly with the "
            "item whose name sorts first shown first",
        ),
        count(
            "n_right_reverse",
            "Number of pairs counted in n_truths that were answered correctly with the "
            "item whose name sorts first shown second",
        ),
        count("n_lengths", "Number of comparisons of two texts of known length"),
        share(
            "longer_share",
            "Share of comparisons of texts of unequal length, without ties, won by the longer text",
            nullable=True,
        ),
        *_with_ends(
            "length_effect",
            "Log odds that a text wins which is e times as long as the other, adjusted "
            "for the systems; ties are half wins; not adjusted for display order; if "
            "null, see length_reason",
        ),
        text("length_reason", "Why length_effect is null", nullable=True),
        count(
            "n_own_family",
            "Number of comparisons of an output of the judge's own family with another output",
        ),
        share(
            "own_family_share",
            "Share of the comparisons counted in n_own_family that the judge's own family "
            "won; ties count as half",
            nullable=True,
        ),
        *_with_ends(
            "own_family_preference",
            "own_family_share minus the share that people give to the judge's family on "
            "the same pairs; if null, see family_reason",
        ),
        text("family_reason", "Why own_family_preference is null", nullable=True),
    ),
)
