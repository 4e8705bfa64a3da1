"""How an iterative fit ended, and what its objective did on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Convergence:
    """The course of one fit.

    Parameters
    ----------
    converged
        Whether the relative change of the tested objective fell below the tolerance
        before the iterations ran out.
    iterations
        Parameter updates made (M-steps, each with an E-step, for EM).
    stop_on
        Name of the objective that was tested.
    log_posterior, log_likelihood
        ``(iterations + 1,)`` in nats; element 0 belongs to the starting parameters,
        the last one to the parameters that are returned.
    """

    converged: bool
    iterations: int
    stop_on: str
    log_posterior: npt.NDArray[np.float64]
    log_likelihood: npt.NDArray[np.float64]
