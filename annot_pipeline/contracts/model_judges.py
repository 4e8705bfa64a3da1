"""Model judges held against people: validation, estimates, and the bias of each judge."""

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
from annot_pipeline.contracts.values import TEXT

REFERENCES = ("people", "truth")
QUANTITIES = ("mean_score", "prevalence", "win_rate")
METHODS = ("model", "people", "prediction_powered", "rogan_gladen")
ALL_MODELS = "all models"
"""Stands for a judge in `estimates`: the mean answer of all models on the items that all judged;
of labels, the share of them that give it."""


def _with_ends(name: str, description: str) -> tuple[Column, ...]:
    """A column of shares or coefficients, and the ends of its 95% interval."""
    return (
        real(name, description),
        real(f"{name}_low", "Lower end of its 95% interval"),
        real(f"{name}_high", "Upper end of its 95% interval"),
    )


REFERENCE = Column(
    "reference",
    TEXT,
    "What the model is compared with: people's judgments, or known answers",
    allowed=REFERENCES,
)

JUDGE_VALIDATION = Table(
    "judge_validation",
    "one task, model judge, reference",
    ("task", "judge", "reference"),
    (
        TASK,
        text("judge", "The model judge, by the name that judges has"),
        REFERENCE,
        count("n_items", "Items (with criteria: per criterion) that model and reference answer"),
        count("n_people", "People who judged these items"),
        count("n_judgments", "People's judgments of these items, or known answers"),
        *_with_ends("agreement", "Labels, comparisons: share of people's answers that are the "
                    "model's, each item counted once; in comparisons a tie is an answer"),
        *_with_ends("kappa", "The same, corrected for chance (Cohen's kappa)"),
        real("human_agreement", "The same agreement of each person with the others: the ceiling"),
        real("human_kappa", "The same, corrected for chance"),
        *_with_ends("bias", "Scores: the model's mean minus people's, points of the scale"),
        real("error", "Scores: root mean squared difference from people's means, points"),
        *_with_ends("correlation", "Scores: Pearson correlation with people's means of items"),
        real("rank_correlation", "Scores: Spearman correlation with the same means"),
        real("human_error", "The same error of each person against the mean of the others"),
        real("human_correlation", "The same correlation of each person with the others"),
        share("pairwise_accuracy", "Scores: share of pairs of items in the order that people "
              "give them, tied in both counted as right (Deutsch et al. 2023); pairs within a "
              "segment where segments are known", nullable=True),
        count("n_pairs", "Pairs of items that pairwise_accuracy is of", nullable=True),
        share("soft_pairwise_accuracy", "Scores: agreement with people on pairs of systems, by "
              "p-values (Thompson et al. 2024)", nullable=True),
        count("n_systems", "Systems that soft_pairwise_accuracy compares", nullable=True),
        share("winning_rate", "Alternative annotator test (Calderon et al. 2025): share of people "
              "over whom the model wins", nullable=True),
        share("advantage_probability", "The same test: probability that the model is as good as a "
              "person, or better", nullable=True),
        share("epsilon", "By which a person may be better: judges.epsilon", nullable=True),
        count("n_people_tested", "People with 30 items or more that the test takes"),
        text("reason", "Why figures are null, or for whom they are", nullable=True),
    ),
)  # fmt: skip

VALIDATION_CONFUSION = Table(
    "validation_confusion",
    "one task, model judge, reference, answer of the reference, answer of the model",
    ("task", "judge", "reference", "reference_answer", "model_answer"),
    (
        TASK,
        text("judge", "The model judge, by the name that judges has"),
        REFERENCE,
        text("reference_answer", "Label of people or known label; in comparisons a, b or tie, "
             "where a is the item whose name comes first"),
        text("model_answer", "The model's answer"),
        real("n_items", "Items; those of several people are shared out over their answers",
             nullable=False),
        share("share", "Of the items with this answer of the reference"),
    ),
)  # fmt: skip

ESTIMATES = Table(
    "estimates",
    "one task, quantity, criterion, system, label, method, model judge",
    ("task", "quantity", "criterion", "system", "label", "method", "judge"),
    (
        TASK,
        Column(
            "quantity",
            TEXT,
            "prevalence: share of items whose label it is, that of more than half of their people; "
            "mean_score: points of the scale; win_rate: share of a system's comparisons that it "
            "wins, a tie is half a win",
            allowed=QUANTITIES,
        ),
        text("criterion", "Of scores, where a task has several", nullable=True),
        text("system", "System that it is of; null: of all items", nullable=True),
        text("label", "Label whose prevalence it is", nullable=True),
        Column(
            "method",
            TEXT,
            "people: their answers alone; model: the model's alone, over all items; "
            "prediction_powered: the model's, corrected by people (PPI++); rogan_gladen: the "
            "model's, corrected by its confusion of labels",
            allowed=METHODS,
        ),
        text(
            "judge",
            f"The model judge, or '{ALL_MODELS}': their mean answer, of labels the share "
            "that give it; null: people alone",
            nullable=True,
        ),
        real("value", "The estimate; null with a reason"),
        real("ci_low", "Lower end of its 95% interval"),
        real("ci_high", "Upper end of its 95% interval"),
        count("n_human", "People's answers: judgments; of prevalences, items"),
        count("n_model", "Items that the model judged"),
        real(
            "effective_n_human",
            "People's answers that would give as short an interval without the model",
        ),
        share("power", "How far the model counts, 0 to 1", nullable=True),
        text("reason", "Why value or interval is null, or for whom it is", nullable=True),
    ),
)

JUDGE_BIAS = Table(
    "judge_bias",
    "one task, judge",
    ("task", "judge"),
    (
        TASK,
        JUDGE,
        KIND,
        count("n_comparisons", "Comparisons of two items that the judge made"),
        count("n_decided", "Of these, those that are no ties and whose order of showing is known"),
        share("first_shown_share", "Share of decided comparisons won by what was shown first",
              nullable=True),
        *_with_ends("order_effect", "Log odds that what is shown first wins, beside the systems "
                    "(Davidson & Beaver 1977); above 0: the judge favours the first"),
        text("order_reason", "Why order_effect is null", nullable=True),
        count("n_both_orders", "Pairs of items that the judge saw in both orders"),
        count("n_consistent", "Of these, pairs with the same answer in both orders"),
        *_with_ends("consistency", "The share of consistent pairs"),
        count("n_unanswered", "Pairs that the judge was shown in both orders and answered in "
              "neither; they are in no other count"),
        count("n_truths", "Pairs in both orders with a known answer"),
        count("n_right_forward", "Of these, right where the item whose name comes first is shown "
              "first"),
        count("n_right_reverse", "Of these, right in the other order"),
        count("n_lengths", "Comparisons of two texts whose lengths are known"),
        share("longer_share", "Share of decided comparisons won by the longer text",
              nullable=True),
        *_with_ends("length_effect", "Log odds that a text wins which is e times as long, beside "
                    "the systems; ties are half wins, the order of showing is left aside"),
        text("length_reason", "Why length_effect is null", nullable=True),
        count("n_own_family", "Comparisons of an output of the judge's family with another"),
        share("own_family_share", "Share of these that the own family wins, ties are half",
              nullable=True),
        *_with_ends("own_family_preference", "own_family_share minus that of people on the same "
                    "pairs"),
        text("family_reason", "Why own_family_preference is null", nullable=True),
    ),
)  # fmt: skip
