"""Weights in the score of one item, and the score without each judge."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.audit.trace.labels import Weighed
from annot_pipeline.methods.score_evidence import score_evidence

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]

HELD_FIXED = (
    "Without a judge: the z-scores of the others keep the mean and standard deviation of their "
    "judges, which hang on no other judge."
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
    declared = _declared(settings, task)
    names = sorted({row["judge"] for row in used})
    codes = np.array([names.index(row["judge"]) for row in used])
    criteria = sorted({row["criterion"] or "" for row in used})
    criterion = np.array([criteria.index(row["criterion"] or "") for row in used])
    score = np.array([_oriented(row, declared) for row in used])
    z = np.array([np.nan if row["z"] is None else row["z"] for row in used])
    raw = score_evidence(codes, criterion, score, n_judges=len(names))
    standard = score_evidence(codes, criterion, z, n_judges=len(names))
    easl = _easl(score, declared.get("scale"))
    one = np.zeros_like(criterion)
    shares = score_evidence(codes, one, easl, n_judges=len(names))
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
            "raw_mean": _known(raw.without[code]),
            "z_mean": _known(standard.without[code]),
            "easl_score": _known(shares.without[code]),
            "change": _known(raw.without[code] - raw.mean),
        }
        for code, name in enumerate(names)
    ]
    return Weighed(of_judgment, without, HELD_FIXED)


def _declared(settings: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Settings of a task: of the first pattern that its name matches."""
    found = (s for s in settings["tasks"] if fnmatch.fnmatchcase(task, s["name"]))
    return next(found, {})


def _oriented(row: Row, declared: Mapping[str, Any]) -> float:
    """The score, of a reversed criterion turned so that more is better."""
    score, scale = float(row["score"]), declared.get("scale")
    criterion = declared.get("criteria", {}).get(row["criterion"], {})
    if not criterion.get("reverse") or scale is None:
        return score
    low, high = float(scale[0]), float(scale[1])
    ends = {low: high, high: low}  # they change places exactly
    return ends.get(score, min(max(low + high - score, low), high))


def _easl(score: Floats, scale: Sequence[float] | None) -> Floats:
    """Scores as shares of the declared scale; without one nothing is said (NaN)."""
    if scale is None:
        return np.full(score.size, np.nan)
    return np.asarray(np.clip((score - scale[0]) / (scale[1] - scale[0]), 0, 1))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
