"""Which order effects can be estimated: those of judges who saw a pair of systems in both orders.

Where one system is always shown first, being first and being that system are the same thing.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Flags, Floats

LEAST_INFORMATION = 1e-3
"""Information on an order effect within pairs, as a share of the group's comparisons."""
LARGEST_SHIFT = 0.05
"""By which an order effect of one may move a difference of systems that is still tested."""


def estimable_orders(n: Floats) -> Flags:
    """Return whether the effect of each order group can be estimated, ``(n_orders,)``.

    It can where the group saw a pair in both orders, whatever the strengths of systems. Where none
    was, an effect would rest on strengths that add up, and a system that never loses could be
    ranked last for having been shown first.

    Parameters
    ----------
    n
        ``(n_orders + 1, K, K)`` comparisons by order group, system shown first and second; the
        first group has no known order.
    """
    turned = np.transpose(n, (0, 2, 1))
    pairs = n + turned
    both = np.divide(2 * n * turned, pairs, out=np.zeros_like(n), where=pairs > 0)
    is_estimable = both.sum(axis=(1, 2)) > LEAST_INFORMATION * n.sum(axis=(1, 2))
    return np.asarray(is_estimable[1:])


def confounded_pairs(n: Floats, is_estimable: Flags) -> Flags:
    """Return ``(K, K)`` pairs of systems whose difference an order effect would move.

    The effects of some groups cannot be estimated and are left out of the model. By least squares,
    one of size 1 moves the difference of a pair by between 0 and 1: 1 where one of the two is
    always shown first, 0 where the group did not compare them.

    Parameters
    ----------
    n
        As in `estimable_orders`.
    is_estimable
        ``(n_orders,)`` what that returns.
    """
    n_systems = n.shape[1]
    has_comparisons = n.sum(axis=(1, 2))[1:] > 0
    left_out, estimated = (
        np.flatnonzero(has_comparisons & ~is_estimable),
        np.flatnonzero(is_estimable),
    )
    pairs = n + np.transpose(n, (0, 2, 1))
    cross = (n.sum(axis=2) - n.sum(axis=1))[1:]
    design = np.zeros((n_systems + estimated.size,) * 2)
    design[:n_systems, :n_systems] = np.diag(pairs.sum(axis=(0, 2))) - pairs.sum(axis=0)
    design[:n_systems, n_systems:] = cross[estimated].T
    design[n_systems:, :n_systems] = cross[estimated]
    design[n_systems:, n_systems:] = np.diag(n.sum(axis=(1, 2))[1:][estimated])
    target = np.zeros((n_systems + estimated.size, left_out.size))
    target[:n_systems] = cross[left_out].T
    ridge = 1e-9 * max(float(np.trace(design)), 1.0) * np.eye(len(design))
    shift = (np.linalg.inv(design + ridge) @ target)[:n_systems]
    gaps = np.abs(shift[:, None] - shift)
    return np.asarray(gaps.max(axis=2, initial=0.0) > LARGEST_SHIFT)
