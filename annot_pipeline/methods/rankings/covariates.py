"""Whether the coefficient of a covariate of comparisons can be estimated beside the systems.

Where a difference of two outputs is one of their systems alone, the system and the covariate are
the same thing.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats

LEAST_INFORMATION = 1e-3
"""Sum of squares that systems do not explain, as a share of all of it."""


def varies_within_systems(differences: Floats, first: Codes, second: Codes) -> bool:
    """Return whether differences are more than those of one number for each system.

    Parameters
    ----------
    differences
        ``(n,)`` of the first output to the second.
    first, second
        ``(n,)`` codes from 0 of their systems.
    """
    total = float(differences @ differences)
    if not total > 0:
        return False
    n_systems = int(max(first.max(), second.max())) + 1
    pairs = np.bincount(first * n_systems + second, minlength=n_systems**2)
    compared = pairs.reshape(n_systems, n_systems) + pairs.reshape(n_systems, n_systems).T
    systems = np.diag(compared.sum(axis=1)) - compared  # X'X
    cross = np.bincount(first, differences, n_systems) - np.bincount(second, differences, n_systems)
    ridge = 1e-9 * max(float(np.trace(systems)), 1.0) * np.eye(n_systems)
    explained = float(cross @ np.linalg.solve(systems + ridge, cross))
    return total - explained > LEAST_INFORMATION * total
