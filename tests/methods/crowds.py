"""Crowds of known truth, what is fitted to them, and what is asked of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.experiments.crowds import CrowdParams, draw_crowd
from annot_pipeline.methods.labels.calibration_choice import Choice
from annot_pipeline.methods.labels.label_calibration import (
    CalibratedFit,
    CalibrationParams,
    Evidence,
    fit_calibrated,
    probabilities,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks

Floats = npt.NDArray[np.float64]


def crowd(kind, seed, **sizes):
    """Labels of a task and the true classes."""
    return draw_crowd(CrowdParams(kind, **sizes), np.random.default_rng(seed))


def log_loss(posterior, truth):
    """Mean over items, with probabilities of 1e-9 at least."""
    return -np.log(np.maximum(posterior[np.arange(truth.size), truth], 1e-9)).mean()


@dataclass(frozen=True)
class Calibrated:
    """What a task's labels say: probabilities of items, and what they follow from."""

    fits: CalibratedFit
    raw: Floats
    pooled: Floats
    posterior: Floats
    power: Floats

    @property
    def choice(self) -> Choice:
        return self.fits.choice

    @property
    def evidence(self) -> Evidence:
        return self.fits.evidence


def calibrated(
    tasks: Sequence[LabelCodes], params: CalibrationParams | None = None
) -> list[Calibrated]:
    """Fit and calibrate tasks in memory."""
    seeds = [[17, n] for n in range(len(tasks))]
    found = fit_calibrated(InMemoryBlocks([tasks]), params=params, seeds=seeds)
    items = probabilities(tasks, [fits.item_fit for fits in found])
    return [
        Calibrated(fits, of.raw, of.pooled, of.calibrated, of.power)
        for fits, of in zip(found, items, strict=True)
    ]
