"""Certainty of labels that holds, and what it rests on: calibrations of all tasks, as rows.

What does not belong here: how a task is calibrated (label_calibration), labels (infer_labels), what
truth says of certainty (check_calibration).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import LABEL_CALIBRATION
from annot_pipeline.methods.labels.calibration_choice import Choice, choose_together, draw_together
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.held_out_labels import HeldOutLabels
from annot_pipeline.methods.labels.label_calibration import (
    CalibratedFit,
    CalibrationParams,
    Evidence,
    early_fits,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.predictive_checks import PredictiveChecks
from annot_pipeline.methods.numerics.wilson import Z

Row = dict[str, Any]

MODELS = ("raw", "pooled", "calibrated", "votes")
"""Those whose probabilities of held-out labels are compared."""
LIKELIHOOD = "held_out_log_likelihood"


def hold_out_together(name: str, task: LabelCodes, *, seed: int) -> HeldOutLabels:
    """Return the labels by which a task chooses together with others."""
    return draw_together(task, task_seed(name, seed))


def choose_together_by(
    held_out: Sequence[HeldOutLabels], *, model: DawidSkeneParams, params: CalibrationParams
) -> Choice:
    """Choose for tasks that choose together, by some of them; see `choose_together`."""
    return choose_together(
        held_out, pooling=params.given_pooling, temper=params.given_temper,
        params=early_fits(model),
    )  # fmt: skip


def calibration_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as the table has them."""
    return LABEL_CALIBRATION.from_columns(
        {column.name: [row[column.name] for row in rows] for column in LABEL_CALIBRATION.columns}
    )


def calibration_row(
    model: str, statistic: str, value: float, n: int, interval: Sequence[float] = (np.nan, np.nan)
) -> Row:
    """Return a figure of a task; null if it is not finite."""
    low, high = interval
    numbers = {"value": value, "ci_low": low, "ci_high": high}
    finite = {name: number if np.isfinite(number) else None for name, number in numbers.items()}
    return {"model": model, "statistic": statistic, **finite, "n": n}


def task_seed(name: str, seed: int) -> list[int]:
    """Return the seed of a task's draws, which depends on its name and the seed alone."""
    digest = hashlib.sha256(f"{name}\x1fcalibration".encode()).digest()
    return [seed, int.from_bytes(digest[:8], "big")]


def evidence_rows(fits: CalibratedFit) -> Iterator[Row]:
    """Return how a task is calibrated and the evidence; all columns but the task."""
    yield from _held_out_rows(fits.choice, fits.evidence)
    yield from _rows_of_checks("raw", fits.checks)
    yield from _rows_of_checks("pooled", fits.pooled_checks)


def _held_out_rows(choice: Choice, evidence: Evidence) -> Iterator[Row]:
    """Yield the choice of a task and its fit to held-out labels; all but the task."""
    n_pooling = 0 if choice.is_pooling_given else choice.n_labels
    yield calibration_row("pooled", "pooling", choice.pooling, n_pooling)
    if np.isnan(choice.temper):
        yield calibration_row("calibrated", "dependence", choice.dependence, choice.n_labels)
    else:
        yield calibration_row("calibrated", "temper", choice.temper, 0)
    for model, statistic, estimate in (
        *((m, LIKELIHOOD, getattr(evidence, m)) for m in MODELS),
        ("raw", "overconfidence", evidence.overconfidence),
        ("calibrated", "overconfidence", evidence.residual_overconfidence),
    ):
        low, high = estimate.mean - Z * estimate.error, estimate.mean + Z * estimate.error
        ends = (low, min(high, 0.0) if statistic == LIKELIHOOD else high)
        yield calibration_row(model, statistic, estimate.mean, evidence.n_labels, ends)


def _rows_of_checks(model: str, checks: PredictiveChecks) -> Iterator[Row]:
    """Yield the rows of one model, and with the raw one those of the data."""
    for statistic in ("pairwise_agreement", "unanimous_share"):
        check = getattr(checks, statistic)
        if model == "raw":
            yield calibration_row("observed", statistic, check.observed, checks.n_items)
        ends = (check.low, check.high)
        yield calibration_row(model, statistic, check.expected, checks.n_items, ends)
