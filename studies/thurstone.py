"""Thurstone's model of comparisons: maximum likelihood of all at once, whatever their order.

Item i has a score S_i ~ N(mu_i, sigma^2), so i is preferred to j with probability
Phi((mu_i - mu_j) / (sqrt(2) sigma)). Fitted by Newton's method; the likelihood is concave.

Sources: Thurstone 1927; Sakaguchi & Van Durme 2018, eqs. 1 and 2. Reading: the model has no
ties, so a tie counts as half a win for each.

Assumes that comparisons are independent and that sigma is the same for all items; it is the
unit of the scale. Without a prior only differences have an estimate (means sum to zero), and it
is finite only if wins lead from every item to every other one, a tie being a win both ways
(Ford 1957, whose argument needs no more than that log p is concave and has no lower bound).
Otherwise some items win for ever: means are NaN, and `ThurstoneResult.component` says which
items hold together. A prior N(0, prior_sd^2), as TrueSkill has, makes every estimate finite.
An item that is never compared takes no part in this: it has NaN, or the prior's mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.special import log_ndtr

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons.trueskill import surprisal_of_win
from annot_pipeline.methods.comparisons.waves import winners_first
from annot_pipeline.methods.numerics.convergence import Convergence

_ROUNDING = 1e-14  # relative: log posteriors that differ by less are equal
_SOLVED = 1e-8  # relative residual of a Newton step; what is left falls to the next step


@dataclass(frozen=True)
class ThurstoneParams:
    """Settings of one fit.

    Parameters
    ----------
    sigma
        Standard deviation of one item's score, the unit of the scale; > 0.
    prior_sd
        Standard deviation of the prior of means, in the same unit, > 0; None: no prior.
    tolerance
        Stop when a Newton step promises no more gain of log posterior than this, in nats,
        and relative to it where it is below 1; > 0. A gain g is a move of sqrt(2 g) posterior
        standard deviations, however many comparisons other items have.
    max_iterations
        >= 1.
    """

    sigma: float = 1.0
    prior_sd: float | None = None
    tolerance: float = 1e-14
    max_iterations: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.sigma < np.inf:
            raise ValueError(f"sigma must be > 0, not {self.sigma}")
        if self.prior_sd is not None and not 0 < self.prior_sd < np.inf:
            raise ValueError(f"prior_sd must be > 0 or None, not {self.prior_sd}")
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance must be in (0, 1), not {self.tolerance}")
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be >= 1, not {self.max_iterations}")


@dataclass(frozen=True, eq=False)
class ThurstoneResult:
    """Estimates.

    Parameters
    ----------
    mean
        ``(n_items,)``; the means of compared items sum to zero.
    component
        ``(n_items,)`` strongly connected component of the graph of wins, numbered from 0 by
        their first items; -1 for an item that is never compared.
    finite
        Whether the compared items have a finite estimate. Without a prior: whether they form
        exactly one component.
    convergence
        How the fit ended; no iteration was made where nothing is finite.
    params
        What was asked.
    """

    mean: Floats
    component: Codes
    finite: bool
    convergence: Convergence
    params: ThurstoneParams


def thurstone(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    n_items: int,
    params: ThurstoneParams | None = None,
) -> ThurstoneResult:
    """Fit the model.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of items from 0, in any order.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    n_items
        Size of the code range.
    params
        Settings; default `ThurstoneParams`.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, an item against itself, an invalid setting.
    """
    params = params or ThurstoneParams()
    pairs, tie = winners_first(first, second, outcome, n_items=n_items)
    compared = np.flatnonzero(np.bincount(pairs.reshape(-1), minlength=n_items))
    positions = np.full(n_items, -1)
    positions[compared] = np.arange(compared.size)
    unit = np.sqrt(2) * params.sigma
    precision = 0.0 if params.prior_sd is None else (unit / params.prior_sd) ** 2
    wins = _Wins.from_comparisons(positions[pairs], tie, compared.size, precision)
    component = np.full(n_items, -1)
    component[compared] = wins.component
    finite = params.prior_sd is not None or (compared.size > 0 and not wins.component.any())
    x, convergence = _fit(wins, params, finite=finite)
    mean = np.full(n_items, np.nan if params.prior_sd is None else 0.0)
    mean[compared] = unit * x if finite else np.nan
    return ThurstoneResult(mean, component, finite, convergence, params)


@dataclass(frozen=True)
class _Wins:
    """Counted wins and the prior; scores x are in units of sqrt(2) sigma.

    ``winner``, ``loser`` and ``count`` are ``(n_pairs,)``, one place for each ordered pair of
    items that has a win. ``block`` is ``(n_items,)``: what comparisons connect in any way.
    """

    winner: Codes
    loser: Codes
    count: Floats
    block: Codes
    component: Codes
    precision: float

    @classmethod
    def from_comparisons(
        cls, pairs: Codes, tie: npt.NDArray[np.bool_], n_items: int, precision: float
    ) -> _Wins:
        winner, loser = np.concatenate([pairs, pairs[::-1, tie]], axis=1)
        worth = np.concatenate([np.where(tie, 0.5, 1.0), np.full(int(tie.sum()), 0.5)])
        key, which = np.unique(winner * n_items + loser, return_inverse=True)
        count = np.bincount(which.reshape(-1), weights=worth, minlength=key.size)
        winner, loser = np.divmod(key, n_items)
        block = _components(winner, loser, n_items, "weak")
        component = _components(winner, loser, n_items, "strong")
        return cls(winner, loser, count.astype(np.float64), block, component, precision)

    def objectives(self, x: Floats) -> tuple[float, float]:
        """Return the log posterior, without the constant of the prior, and log likelihood."""
        likelihood = (self.count * log_ndtr(x[self.winner] - x[self.loser])).sum()
        return float(likelihood - self.precision / 2 * (x * x).sum()), float(likelihood)

    def slope_and_curvature(self, x: Floats) -> tuple[Floats, csr_array]:
        """Return the gradient of the log posterior, and minus its Hessian."""
        v, w = surprisal_of_win(x[self.winner] - x[self.loser], 0.0)
        pull, weight = self.count * v, self.count * w
        slope = self._by_item(self.winner, pull) - self._by_item(self.loser, pull)
        diagonal = self._by_item(self.winner, weight) + self._by_item(self.loser, weight)
        own = np.arange(x.size)
        rows = np.concatenate([self.winner, self.loser, own])
        columns = np.concatenate([self.loser, self.winner, own])
        values = np.concatenate([-weight, -weight, diagonal + self.precision])
        curvature = coo_array((values, (rows, columns)), shape=(x.size, x.size))
        return self.centred(slope - self.precision * x), curvature.tocsr()

    def centred(self, values: Floats) -> Floats:
        """Return values less their mean in each block: there x and its slope have sum zero.

        What rounding adds to that sum is what little or no prior would turn into a large step.
        """
        n = np.maximum(np.bincount(self.block), 1)
        return values - (np.bincount(self.block, weights=values) / n)[self.block]

    def _by_item(self, items: Codes, values: Floats) -> Floats:
        sums = np.bincount(items, weights=values, minlength=self.block.size)
        return sums.astype(np.float64)


def _components(
    winner: Codes, loser: Codes, n_items: int, connection: Literal["weak", "strong"]
) -> Codes:
    """Return components of the graph of wins, numbered by their first items."""
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(winner.size), (winner, loser)), shape=(n_items, n_items)).tocsr()
    labels = connected_components(graph, directed=True, connection=connection)[1]
    _, at, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(at))[codes.reshape(-1)], dtype=np.int64)


def _fit(wins: _Wins, params: ThurstoneParams, *, finite: bool) -> tuple[Floats, Convergence]:
    """Run Newton's method from zero; a step that lowers the log posterior is halved."""
    x = np.zeros(wins.block.size)
    objective_trace = [wins.objectives(x)]
    converged = False
    while finite and not converged and len(objective_trace) <= params.max_iterations:
        before = objective_trace[-1][0]
        slope, curvature = wins.slope_and_curvature(x)
        step = _newton_step(slope, curvature)
        gain = float((slope * step).sum()) / 2
        moved = wins.centred(x + step)
        while (objectives := wins.objectives(moved))[0] < before - _ROUNDING * abs(before):
            step = step / 2
            moved = wins.centred(x + step)
        x = moved
        objective_trace.append(objectives)
        converged = gain <= params.tolerance * min(1.0, abs(objectives[0]))
    name = "likelihood" if params.prior_sd is None else "posterior"
    posterior, likelihood = np.array(objective_trace).T
    return x, Convergence(converged, len(objective_trace) - 1, name, posterior, likelihood)


def _newton_step(slope: Floats, curvature: csr_array) -> Floats:
    """Solve by conjugate gradients: no matrix of items x items, whoever met whom.

    Not scipy's: it sums by BLAS, whose last digits depend on the number of threads.
    """
    scale = 1 / curvature.diagonal()
    step, direction, residual = np.zeros_like(slope), np.zeros_like(slope), slope
    first = before = float((slope * scale * slope).sum())
    for _ in range(10 * slope.size):
        now = float((residual * scale * residual).sum())
        if now <= _SOLVED**2 * first:
            break
        direction = scale * residual + now / before * direction
        image = curvature @ direction
        bend = float((direction * image).sum())
        if bend <= 0:  # by underflow
            break
        size = now / bend
        step, residual, before = step + size * direction, residual - size * image, now
    return step
