"""The weight of each answer in the label or score of one item, and the result without a judge."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.methods.labels.e_step import tempered
from annot_pipeline.methods.labels.item_labels import UnsupportedClasses
from annot_pipeline.methods.labels.label_evidence import TIED, LabelEvidence, label_evidence
from annot_pipeline.methods.scores.cell_means import score_evidence
from annot_pipeline.stages.shared.orient_scores import OrientedScores, orient_scores

AVERAGE_DIFFERS = (
    "The published label is an average of several fits and of votes, corrected by known items "
    "where there are some. The confusion matrices alone make another label most probable here: "
    "the deciding judge is unknown."
)
VOTES_ALONE = (
    "In this task votes alone are published: each judge has one vote, and judges of one family "
    "share one. What a label model makes of the answers has no part in it."
)
LEAST = 1e-12
"""Probability of a class at least, where two are divided."""
Row = dict[str, Any]

HELD_FIXED = (
    "Without a judge: the prevalence of the classes and the confusion matrices of the judges stay "
    "as they are with all judgments, and so does what the average of fits and known items add; a "
    "new fit would move them too."
)


@dataclass(frozen=True)
class Weighed:
    """What a trace says of answers and of judges.

    Parameters
    ----------
    of_judgment
        By judgment id: ``evidence``, ``likelihoods``, ``rules_out``, ``weight``.
    without_judge
        A row a judge: what the item would be without this judge.
    held_fixed
        What stays as it is in these rows.
    runner_up
        The class that ``evidence`` is against.
    prior_evidence
        Log odds of the prevalence, of the model's label against that class; null where one of
        them has none.
    """

    of_judgment: Mapping[str, Row] = field(default_factory=dict)
    without_judge: Sequence[Row] = ()
    held_fixed: str | None = None
    runner_up: str | None = None
    prior_evidence: float | None = None


def weigh_labels(
    label: Row | None,
    prevalence: Sequence[Row],
    confusion: Sequence[Row],
    judgments: Sequence[Row],
    distribution: Sequence[Row],
    calibration: Sequence[Row] = (),
) -> Weighed:
    """Weigh the answers about one item of a categorical task.

    Parameters
    ----------
    label
        The item's row of ``labels``.
    prevalence, confusion
        Rows of the task: the classes in their order; of answers of judges the probability by true
        label, ``likelihoods``.
    judgments
        Rows of ``judgments`` about the item; those used count.
    distribution
        The item's rows of ``label_distributions``.
    calibration
        Rows of ``label_calibration`` of the task, with the dependence of its judges and the weight
        of votes if the published model has them.
    """
    model_label = label["model_label"] if label else None
    used = [row for row in judgments if row["fate"] == "used"]
    classes = [row["label"] for row in sorted(prevalence, key=lambda row: row["label_order"])]
    if model_label is None or not used:
        return Weighed()
    figures = {
        row["statistic"]: row["value"] for row in calibration if row.get("model") == "published"
    }
    if figures.get("weight_of_votes") == 1:
        return Weighed(held_fixed=VOTES_ALONE)
    probabilities = {row["label"]: row["probability"] for row in distribution}
    published = np.array([probabilities.get(k, 0.0) for k in classes])
    label_code = classes.index(model_label)
    rivals = np.delete(np.arange(len(classes)), label_code)
    runner_up = int(rivals[published[rivals].argmax()]) if rivals.size else -1
    theta = {(row["judge"], row["observed_label"]): row["likelihoods"] for row in confusion}
    likelihoods = np.array(
        [[theta[row["judge"], row["label"]][k] for k in classes] for row in used]
    )
    names = sorted({row["judge"] for row in used})
    codes = np.array([names.index(row["judge"]) for row in used])
    prior = {row["label"]: row["prevalence"] for row in prevalence}
    evidence = label_evidence(
        codes,
        likelihoods,
        np.array([prior[k] for k in classes]),
        n_judges=len(names),
        label=label_code,
        runner_up=runner_up,
    )
    of_judgment = {
        row["judgment_id"]: {
            "evidence": value if math.isfinite(value) else None,
            "likelihoods": [
                {"label": k, "probability": p} for k, p in zip(classes, shares, strict=True)
            ],
            "rules_out": [k for k, p in zip(classes, shares, strict=True) if p == 0],
        }
        for row, value, shares in zip(
            used, evidence.evidence.tolist(), likelihoods.tolist(), strict=True
        )
    }
    without, is_explained = evidence.without, True
    if "dependence" in figures:
        votes = np.zeros((len(names), len(classes)))
        np.add.at(votes, (codes, np.array([classes.index(row["label"]) for row in used])), 1.0)
        without, is_explained = _published_without(
            evidence, votes, published, figures["dependence"]
        )
    return Weighed(
        of_judgment,
        _label_without_judges(without, label_code, names, codes.tolist(), classes)
        if is_explained
        else (),
        HELD_FIXED if is_explained else AVERAGE_DIFFERS,
        classes[runner_up] if runner_up >= 0 else None,
        _log_odds(prior, model_label, classes[runner_up]) if runner_up >= 0 else None,
    )


def _log_odds(prior: Mapping[str, float], label: str, other: str) -> float | None:
    if not (prior[label] and prior[other]):
        return None
    return math.log(prior[label]) - math.log(prior[other])


def _published_without(
    evidence: LabelEvidence, votes: Floats, published: Floats, dependence: float
) -> tuple[Floats, bool]:
    """Return what would be published without each judge; whether the evidence explains the label.

    What is published differs from what the confusion matrices say by a factor for each class, which
    stays: it holds what the average of fits, votes and known items add.

    Parameters
    ----------
    evidence
        Of independent judges.
    votes
        ``(n_judges, n_labels)`` of each judge.
    published
        ``(n_labels,)``.
    dependence
        Of judges, averaged over the model's members.
    """
    n, total = len(votes), votes.sum(axis=0)
    [whole] = _dependent(evidence.posterior[None], n, dependence)
    without = _dependent(evidence.without, n - 1, dependence) * published / whole
    without /= without.sum(axis=1, keepdims=True)
    capped = UnsupportedClasses.from_votes(total - votes, np.full(n, n - 1)).cap(without)
    return capped, bool(whole.argmax() == evidence.label)


def _dependent(posterior: Floats, n_judges: int, dependence: float) -> Floats:
    """Return posteriors ``(n, n_labels)`` of dependent judges; none is 0."""
    logs = np.log(np.maximum(posterior, np.finfo(np.float64).tiny))
    return np.maximum(tempered(logs, np.full(len(posterior), n_judges), dependence), LEAST)


def _label_without_judges(
    without: Floats, label: int, names: Sequence[str], codes: Sequence[int], classes: Sequence[str]
) -> list[Row]:
    labels = (without >= without.max(axis=1, keepdims=True) * (1 - TIED)).argmax(axis=1).tolist()
    return [
        {
            "judge": name,
            "n_judgments": codes.count(code),
            "n_left": len(codes) - codes.count(code),
            "label": classes[labels[code]],
            "probability": float(without[code, labels[code]]),
            "flips": labels[code] != label,
        }
        for code, name in enumerate(names)
    ]


SCORES_HELD_FIXED = (
    "Without a judge: the z-scores of the others keep the mean and standard deviation of their "
    "judges, which do not depend on other judges."
)


def weigh_scores(settings: Mapping[str, Any], task: str, judgments: Sequence[Row]) -> Weighed:
    """Weigh the scores that one item of a scalar task got.

    Parameters
    ----------
    settings
        Of the release: criteria that are reversed, and the scale.
    task
        The task.
    judgments
        Rows of ``judgments`` about the item; those used count.
    """
    used = [row for row in judgments if row["fate"] == "used" and row["score"] is not None]
    if not used:
        return Weighed()
    declared = _task_settings(settings, task)
    names = sorted({row["judge"] for row in used})
    codes = np.array([names.index(row["judge"]) for row in used])
    criteria = sorted({row["criterion"] or "" for row in used})
    criterion = np.array([criteria.index(row["criterion"] or "") for row in used])
    oriented = _oriented(used, task, declared)
    z = np.array([np.nan if row["z"] is None else row["z"] for row in used])
    raw = score_evidence(codes, criterion, oriented.score, n_judges=len(names))
    standard = score_evidence(codes, criterion, z, n_judges=len(names))
    easl = (oriented.score - oriented.low) / (oriented.high - oriented.low)
    one = np.zeros_like(criterion)
    shares = score_evidence(codes, one, np.clip(easl, 0, 1), n_judges=len(names))
    of_judgment = {
        row["judgment_id"]: {"weight": weight, "z_weight": z_weight}
        for row, weight, z_weight in zip(
            used, raw.weight.tolist(), standard.weight.tolist(), strict=True
        )
    }
    without = [
        {
            "judge": name,
            "n_judgments": int((codes == code).sum()),
            "n_left": int((codes != code).sum()),
            "raw_mean": _none_if_nan(raw.without[code]),
            "z_mean": _none_if_nan(standard.without[code]),
            "easl_score": _none_if_nan(shares.without[code]),
            "change": _none_if_nan(raw.without[code] - raw.mean),
        }
        for code, name in enumerate(names)
    ]
    return Weighed(of_judgment, without, SCORES_HELD_FIXED)


def _task_settings(settings: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return the settings of the first task pattern that a task's name matches."""
    matching = (s for s in settings.get("tasks", ()) if fnmatch.fnmatchcase(task, s["name"]))
    return next(matching, {})


def _oriented(used: Sequence[Row], task: str, declared: Mapping[str, Any]) -> OrientedScores:
    """Reverse scores of reversed criteria, so that more is better; also return the scale's ends."""
    low, high = declared.get("scale") or (None, None)
    criteria = [
        {"criterion": name, "reverse": bool(options.get("reverse")), "quality": True}
        for name, options in declared.get("criteria", {}).items()
        if low is not None  # what is reversed has a scale
    ]
    settings = {"task": [task], "scale_low": [low], "scale_high": [high], "criteria": [criteria]}
    names = [row["criterion"] for row in used]
    rows = {"task": [task] * len(used), "criterion": pa.array(names, TEXT)}
    scores = pa.array([row["score"] for row in used], REAL)
    return orient_scores(pa.table(rows | {"score": scores}), pa.table(settings))


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
