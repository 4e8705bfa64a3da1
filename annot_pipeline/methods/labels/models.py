"""The registry of label models: by name, the M-step of each, from a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels import estimates, hierarchical, mace, one_coin
from annot_pipeline.methods.labels.estimates import Counts, Estimates


class MStep(Protocol):
    """Estimates from expected counts; all that differs between models.

    The E-step, the prevalence of classes and the stopping rule are shared (label_em).
    """

    def __call__(
        self,
        counts: Counts,
        judge_starts: npt.NDArray[np.int64],
        prior: npt.NDArray[np.float64] | None,
        smoothing: float,
        previous: Estimates,
        /,
    ) -> Estimates:
        """Return the estimates that maximize the expected log posterior.

        Parameters
        ----------
        counts
            Expected under ``previous``.
        judge_starts
            ``(n_tasks + 1,)`` where a task's judges start.
        prior
            ``(n_tasks, K, K)`` counts added to each judge's, as [observed, true]; or None.
        smoothing
            Count added to each free cell.
        previous
            The estimates of the iteration before.
        """


LABEL_MODELS: Mapping[str, MStep] = {
    "dawid_skene": estimates.m_step,
    "one_coin": one_coin.m_step,
    "mace": mace.m_step,
    "hierarchical": hierarchical.m_step,
}
"""By name, as ``label_model`` in campaign.yaml gives it."""
