"""Evidence for the label of one item: what the fitted model makes of each answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.e_step import tempered
from annot_pipeline.methods.labels.label_evidence import TIED, label_evidence
from annot_pipeline.methods.labels.unsupported import UnsupportedClasses

FITS_DIFFER = (
    "The published label is an average of several fits and of votes, which differ on this item. "
    "The evidence is that of the fit that weighs most; which judge decides cannot be told."
)
Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

HELD_FIXED = (
    "Without a judge: the prevalence of the classes and the confusion matrices of the judges stay "
    "as they were fitted with all judgments; a new fit would move them too."
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
    calibration
        Rows of ``label_calibration`` of the task, with the dependence of its judges if the
        published model has one.
    """
    model_label = answered_by_model(label) if label else None
    used = [row for row in judgments if row["fate"] == "used"]
    classes = [row["label"] for row in sorted(prevalence, key=lambda row: row["label_order"])]
    if model_label is None or not used:
        return Weighed()
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
        label=classes.index(model_label),
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
    votes = np.zeros((len(names), len(classes)))
    np.add.at(votes, (codes, np.array([classes.index(row["label"]) for row in used])), 1.0)
    dependence = next(
        (row["value"] for row in calibration if row["statistic"] == "dependence"), None
    )
    without, is_explained = evidence.without, True
    if dependence is not None:
        total = votes.sum(axis=0)
        without = _published(without, total - votes, dependence, len(names) - 1)
        [whole] = _published(evidence.posterior[None], total[None], dependence, len(names))
        is_explained = whole.argmax() == evidence.label
    without_judge = _label_without_judges(without, evidence.label, names, codes.tolist(), classes)
    return Weighed(
        of_judgment,
        without_judge if is_explained else (),
        HELD_FIXED if is_explained else FITS_DIFFER,
        classes[evidence.runner_up] if evidence.runner_up >= 0 else None,
        _log_odds(prior, model_label, classes[evidence.runner_up])
        if evidence.runner_up >= 0
        else None,
    )


def _log_odds(prior: Mapping[str, float], label: str, other: str) -> float | None:
    if not (prior[label] and prior[other]):
        return None
    return math.log(prior[label]) - math.log(prior[other])


def answered_by_model(label: Row) -> str | None:
    """The model's own label of a row of ``labels``; schema 1 has a label alone."""
    answer: str | None = label["model_label"] if "model_label" in label else label["label"]
    return answer


def _published(posterior: Floats, votes: Floats, dependence: float, n_judges: int) -> Floats:
    """Return posteriors as the published model has them, about.

    Parameters
    ----------
    posterior, votes
        ``(n, n_labels)`` of independent judges, and their votes.
    dependence
        Of judges, averaged over the model's members.
    n_judges
        Whose votes they are.
    """
    n = np.full(len(posterior), n_judges)
    with np.errstate(divide="ignore"):
        p = tempered(np.log(posterior), n, dependence)
    return UnsupportedClasses.from_votes(votes, n).cap(p)


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
