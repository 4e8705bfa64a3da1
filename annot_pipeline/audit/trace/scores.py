"""Weights in the score of one item, and the score without each judge."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.audit.trace.labels import Weighed
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.methods.scores.cell_means import score_evidence
from annot_pipeline.stages.shared.orient_scores import OrientedScores, orient_scores

Row = dict[str, Any]

HELD_FIXED = (
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
    return Weighed(of_judgment, without, HELD_FIXED)


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
