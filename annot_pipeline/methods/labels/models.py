"""Label models: which confusion matrices judges may have. To add one, add its M-step here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels import estimates, hierarchical, mace, one_coin
from annot_pipeline.methods.labels.estimates import Counts, Estimates


class MStep(Protocol):
    """Estimates from expected counts; with the dependence, all that differs between models.

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


class LabelModel(NamedTuple):
    """A label model: its M-step, and the dependence of judges that its E-step assumes."""

    m_step: MStep
    dependence: float = 0.0


LABEL_MODELS: Mapping[str, LabelModel] = {
    "dawid_skene": LabelModel(estimates.m_step),
    "one_coin": LabelModel(one_coin.m_step),
    "mace": LabelModel(mace.m_step),
    "hierarchical": LabelModel(hierarchical.m_step, hierarchical.DEPENDENCE),
}
"""By name, as ``label_model`` in campaign.yaml gives it."""
