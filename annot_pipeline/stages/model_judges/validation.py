"""Rows of ``judge_validation`` and ``validation_confusion``: each model against people and truths.

What does not belong here: the statistics themselves (methods.model_judges).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.model_judges.alternative_annotator import (
    LEAST_ITEMS,
    alternative_annotator_test,
)
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate
from annot_pipeline.methods.model_judges.label_validation import LabelValidation, label_validation
from annot_pipeline.methods.model_judges.pairwise_accuracy import pairwise_accuracy
from annot_pipeline.methods.model_judges.score_validation import ScoreValidation, score_validation
from annot_pipeline.methods.model_judges.soft_pairwise_accuracy import soft_pairwise_accuracy
from annot_pipeline.runtime.indexing import index_pairs
from annot_pipeline.stages.model_judges.answers import NONE, TaskAnswers, group_means
from annot_pipeline.stages.model_judges.estimates import NO_SHARED_ITEM, THESE_PEOPLE, PeopleSample
from annot_pipeline.stages.shared.columns import without_nan

Row = dict[str, Any]

NO_PEOPLE = "no person judged the task"
ONE_ANSWER = "the model always gives the same answer"
NO_CEILING = "no item is judged by two people: no human ceiling, no alternative annotator test"
FEW_ITEMS_EACH = (
    f"no person shares {LEAST_ITEMS} items with the model and others: no alternative annotator test"
)
OTHER_SCALE = "bias and error are null: the model's scores have a different range than people's"
OTHER_SPAN = 2.0
"""Ratio of the ranges of a model's and of people's scores from which they are on other scales."""
OTHER_SPAN_DECLARED = 5.0
"""The same where the task declares one scale: 0 to 1 and 1 to 5 lie on 0 to 100, too."""
WEIGHTED = (
    "people's items are weighted by selection_probability; pairwise accuracies, human correlation "
    "and the alternative annotator test use these items only"
)
BOUNDS = {
    "agreement": (0, 1), "kappa": (-1, 1), "correlation": (-1, 1), "bias": (-np.inf, np.inf),
}  # fmt: skip
"""What a figure can be: ends of intervals beyond are cut."""
LEAST_SYSTEMS = 2


def validation_rows(
    answers: TaskAnswers,
    sample: PeopleSample,
    *,
    epsilon: float,
    seed: int,
    has_scale: bool = False,
) -> tuple[list[Row], list[Row]]:
    """Return rows of ``judge_validation`` and of ``validation_confusion`` of a task.

    Parameters
    ----------
    answers
        Of people and models.
    sample
        How the items that people judged were chosen: figures are of all items where it says so.
    epsilon
        By which a person may be better, in the alternative annotator test.
    seed
        Of the permutations of soft pairwise accuracy.
    has_scale
        Whether the task declares the scale that all scores are on.
    """
    rows: list[Row] = []
    confusions: list[Row] = []
    for model in answers.models:
        own = answers.of_judge(model, answers.value)
        key = {"task": answers.task, "judge": answers.judges[model]}
        row, confusion = _against_people(answers, sample, own, epsilon, seed, has_scale=has_scale)
        rows.append(key | {"reference": "people"} | row)
        confusions += [key | {"reference": "people"} | one for one in confusion]
        if not np.isnan(answers.items.truth).all():
            row, confusion = _against_truths(answers, own)
            rows.append(key | {"reference": "truth"} | row)
            confusions += [key | {"reference": "truth"} | one for one in confusion]
    return rows, confusions


def _against_people(
    answers: TaskAnswers,
    sample: PeopleSample,
    own: Floats,
    epsilon: float,
    seed: int,
    *,
    has_scale: bool,
) -> tuple[Row, list[Row]]:
    """Return the figures of a model against people, and its confusion of their labels."""
    people = answers.by_people
    item, judge, value = answers.item[people], answers.judge[people], answers.value[people]
    is_shared = ~np.isnan(own[item])
    row: Row = {
        "n_items": int(np.unique(item[is_shared]).size),
        "n_people": int(np.unique(judge[is_shared]).size),
        "n_judgments": int(is_shared.sum()),
        "n_people_tested": 0,
    }
    if not row["n_items"]:
        return row | {"reason": NO_SHARED_ITEM if item.size else NO_PEOPLE}, []
    reasons: dict[str, None] = {}
    if sample.refusal is not None:
        reasons[f"for people's items only: {sample.refusal}"] = None
    weights = sample.weights
    if weights is not None and np.ptp(weights[item[is_shared]]) > 0:
        reasons[WEIGHTED] = None
    confusion: list[Row] = []
    if answers.kind == "scalar":
        scored = score_validation(
            item, judge, value, own, documents=answers.items.cluster, weights=weights
        )
        row |= _score_figures(scored, reasons) | _orders(answers, own, seed)
        if _has_other_scale(value, own, OTHER_SPAN_DECLARED if has_scale else OTHER_SPAN):
            row |= dict.fromkeys(("bias", "bias_low", "bias_high", "error"))
            reasons[OTHER_SCALE] = None
    else:
        labelled = label_validation(
            item, judge, value.astype(np.int64), _codes(own), documents=answers.items.cluster,
            weights=weights,
        )  # fmt: skip
        row |= _label_figures(labelled, reasons)
        confusion = list(_confusion(labelled, answers.classes))
    test = alternative_annotator_test(
        item, judge, value, own,
        kind="scores" if answers.kind == "scalar" else "labels", epsilon=epsilon,
    )  # fmt: skip
    n_tested = int((test.n_items >= LEAST_ITEMS).sum())
    row |= {"epsilon": epsilon, "n_people_tested": n_tested}
    if n_tested:
        row["winning_rate"] = test.winning_rate
        row["advantage_probability"] = test.advantage_probability
    else:
        reasons[FEW_ITEMS_EACH if test.n_items.any() else NO_CEILING] = None
    if np.unique(own[~np.isnan(own)]).size == 1:
        reasons = {ONE_ANSWER: None} | reasons
    if row["n_people"] < 4:
        reasons[THESE_PEOPLE] = None
    return without_nan(row | {"reason": "; ".join(reasons) or None}), confusion


def _against_truths(answers: TaskAnswers, own: Floats) -> tuple[Row, list[Row]]:
    """Return the figures of a model against known answers."""
    truth = answers.items.truth
    items = np.flatnonzero(~np.isnan(truth))
    validation = label_validation(
        items, np.zeros(items.size, np.int64), truth[items].astype(np.int64), _codes(own),
        documents=answers.items.cluster,
    )  # fmt: skip
    n = validation.n_items
    row: Row = {"n_items": n, "n_people": 0, "n_judgments": n, "n_people_tested": 0}
    if not n:
        return row | {"reason": "the model judged no item with a known answer"}, []
    reasons: dict[str, None] = {}
    row |= _label_figures(validation, reasons, has_ceiling=False)
    row["reason"] = "; ".join(reasons) or None
    return without_nan(row), list(_confusion(validation, answers.classes))


def _label_figures(
    validation: LabelValidation, reasons: dict[str, None], *, has_ceiling: bool = True
) -> Row:
    figures = _ends("agreement", validation.agreement, reasons)
    figures |= _ends("kappa", validation.kappa, reasons)
    if has_ceiling:
        figures |= {
            "human_agreement": validation.human_agreement.value,
            "human_kappa": validation.human_kappa.value,
        }
    return figures


def _score_figures(validation: ScoreValidation, reasons: dict[str, None]) -> Row:
    human = validation.human
    return {
        **_ends("bias", validation.bias, reasons),
        "error": validation.root_mean_square.value,
        **_ends("correlation", validation.pearson, reasons),
        "rank_correlation": validation.spearman,
        "human_error": _mean(human.root_mean_square, human.n_items),
        "human_correlation": _mean(human.pearson, human.n_items),
    }


def _has_other_scale(human: Floats, own: Floats, ratio: float) -> bool:
    """Return whether the model's scores have another range than people's, as 1 to 5 and 0 to 100.

    Of few scores a range says little.
    """
    model = own[~np.isnan(own)]
    if min(human.size, model.size) < LEAST_ITEMS:
        return False
    spans = float(np.ptp(human)), float(np.ptp(model))
    return min(spans) > 0 and max(spans) > ratio * min(spans)


def _orders(answers: TaskAnswers, own: Floats, seed: int) -> Row:
    """Return how often model and people order items, and systems, alike."""
    items, people = answers.items, answers.by_people
    n_items = len(items.names)
    human = group_means(answers.item[people], answers.value[people], n_items)
    shared = np.flatnonzero(~np.isnan(human) & ~np.isnan(own))
    group = index_pairs(items.segment[shared] + 1, items.criterion[shared]).codes
    pairs = pairwise_accuracy(human[shared], own[shared], group)
    figures: Row = {"pairwise_accuracy": pairs.accuracy, "n_pairs": pairs.n_pairs}
    placed = shared[(items.segment[shared] != NONE) & (items.system[shared] != NONE)]
    systems = np.unique(items.system[placed])
    if systems.size >= LEAST_SYSTEMS:
        both = [_by_segment(answers, placed, values) for values in (human, own)]
        figures["soft_pairwise_accuracy"] = soft_pairwise_accuracy(*both, seed=seed).accuracy
        figures["n_systems"] = int(systems.size)
    return figures


def _by_segment(answers: TaskAnswers, placed: npt.NDArray[np.int64], values: Floats) -> Floats:
    """Return the mean values of segments by system, ``(n_segments, K)``.

    NaN where there is none.
    """
    segment = np.unique(answers.items.segment[placed], return_inverse=True)[1].reshape(-1)
    names, system = np.unique(answers.items.system[placed], return_inverse=True)
    cell = segment * names.size + system.reshape(-1)
    size = (int(segment.max()) + 1) * names.size
    return group_means(cell, values[placed], size).reshape(-1, names.size)


def _confusion(validation: LabelValidation, classes: list[str]) -> Iterator[Row]:
    matrix, weighted = validation.confusion, validation.weighted_confusion
    totals = weighted.sum(axis=1)
    for reference, model in np.argwhere(matrix > 0).tolist():
        n = float(matrix[reference, model])
        yield {
            "reference_answer": classes[reference], "model_answer": classes[model],
            "n_items": n,
            "share": min(float(weighted[reference, model]) / float(totals[reference]), 1.0),
        }  # fmt: skip


def _ends(name: str, estimate: ClusteredEstimate, reasons: dict[str, None]) -> Row:
    if estimate.reason is not None:
        reasons[f"{name}: {estimate.reason}"] = None
    least, most = BOUNDS[name]
    low, high = np.clip(estimate.interval(), least, most).tolist()
    return {name: estimate.value, f"{name}_low": low, f"{name}_high": high}


def _codes(values: Floats) -> npt.NDArray[np.int64]:
    return np.where(np.isnan(values), NONE, values).astype(np.int64)


def _mean(values: Floats, weights: npt.NDArray[np.int64]) -> float:
    is_known = ~np.isnan(values) & (weights > 0)
    if not is_known.any():
        return float("nan")
    return float(np.average(values[is_known], weights=weights[is_known]))
