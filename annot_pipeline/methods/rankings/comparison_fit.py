"""The likelihood of comparisons by Davidson's model, and its maximum by Newton's method.

The log odds of a comparison are the difference of two strengths, plus the effect of the order of
its group, plus covariates times their coefficients. Ties have the probability of Davidson 1970, or
count as half wins.

Degenerate input: what no comparison tells of stays at 0, where the prior has its mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.numerics.additive import Additive

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

PRIOR = 1 / 9
"""Of strengths: 1 / variance, logits."""
LITTLE_PRIOR = 1e-6
"""Of order effects, coefficients and the frequency of ties."""
ROUNDS, TOLERANCE, LARGEST_STEP = 100, 1e-9, 2.0


@dataclass(frozen=True)
class Derivatives(Additive):
    """Of the log likelihood: the gradient and the expected information."""

    gradient: Floats
    information: Floats


@dataclass(frozen=True)
class ComparisonModel:
    """The parameters of systems, orders, covariates and ties, in this order.

    ``(K + n_orders + n_covariates + 1,)``.
    """

    parameters: Floats
    n_systems: int
    n_covariates: int
    has_ties: bool

    @classmethod
    def start(
        cls, n_systems: int, n_orders: int, n_covariates: int, *, has_ties: bool
    ) -> ComparisonModel:
        """Return a model with all parameters 0."""
        return cls(
            np.zeros(n_systems + n_orders + n_covariates + 1), n_systems, n_covariates, has_ties
        )

    @property
    def n_linear(self) -> int:
        """Return how many parameters the log odds are linear in."""
        return self.parameters.size - 1

    @property
    def n_not_covariates(self) -> int:
        """Return how many parameters stand before those of covariates."""
        return self.n_linear - self.n_covariates

    @property
    def order_effects(self) -> Floats:
        """Return the effects of order groups, ``(n_orders,)``."""
        return self.parameters[self.n_systems : self.n_not_covariates]

    @property
    def coefficients(self) -> Floats:
        """Return the coefficients of covariates, ``(n_covariates,)``."""
        return self.parameters[self.n_not_covariates : self.n_linear]

    @property
    def precision(self) -> Floats:
        """Return those of the prior of each parameter."""
        precision = np.full(self.parameters.size, LITTLE_PRIOR)
        precision[: self.n_systems] = PRIOR
        if not self.has_ties:
            precision[-1] = 1.0  # has no data, and stays 0
        return precision

    def log_odds(self, first: Codes, second: Codes, orders: Codes, covariates: Floats) -> Floats:
        """Return the log odds that the first system wins, ``(n,)``; orders: -1 has no effect."""
        strengths = self.parameters[: self.n_systems]
        effects = np.append(0.0, self.order_effects)
        odds = strengths[first] - strengths[second] + effects[orders + 1]
        return np.asarray(odds + covariates @ self.coefficients if self.n_covariates else odds)

    def expected(self, log_odds: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected preference, the probability of a tie, the preference's variance."""
        half = np.abs(log_odds) / 2
        worse = np.exp(-2 * half)
        tie = np.exp(self.parameters[-1] - half) if self.has_ties else np.zeros_like(half)
        total = 1 + worse + tie
        wins = np.where(log_odds > 0, 1.0, worse) / total
        tie = tie / total
        preference = wins + tie / 2
        return preference, tie, wins + tie / 4 - preference**2

    def design(self, first: Codes, second: Codes, orders: Codes, covariates: Floats) -> csr_array:
        """Return what the log odds add up from, ``(n_rows, n_linear)``."""
        from scipy.sparse import coo_array, csr_array, hstack

        rows = np.arange(first.size)
        has_order = orders >= 0
        values = np.concatenate([np.ones(rows.size), -np.ones(rows.size), np.ones(has_order.sum())])
        places = (
            np.concatenate([rows, rows, rows[has_order]]),
            np.concatenate([first, second, self.n_systems + orders[has_order]]),
        )
        design = csr_array((values, places), shape=(rows.size, self.n_not_covariates))
        if self.n_covariates:
            design = hstack([design, coo_array(covariates)], format="csr")
        return design

    def derivatives(
        self, design: csr_array, log_odds: Floats, n: Floats, preferences: Floats, ties: Floats
    ) -> Derivatives:
        """Return the derivatives of rows of n comparisons, with sums of preferences and ties."""
        preference, tie, variance = self.expected(log_odds)
        size = self.n_linear
        gradient, information = np.zeros(size + 1), np.zeros((size + 1, size + 1))
        gradient[:size] = design.T @ (preferences - n * preference)
        information[:size, :size] = (design.T @ design.multiply((n * variance)[:, None])).toarray()
        if self.has_ties:
            gradient[-1] = (ties - n * tie).sum()
            cross = design.T @ (n * tie * (0.5 - preference))
            information[:size, -1] = information[-1, :size] = cross
            information[-1, -1] = (n * tie * (1 - tie)).sum()
        return Derivatives(gradient, information)


def maximise(
    derivatives: Callable[[ComparisonModel], Derivatives], model: ComparisonModel
) -> tuple[ComparisonModel, Floats]:
    """Return the model of the highest posterior, and the information of its parameters.

    Parameters
    ----------
    derivatives
        Of the log likelihood of all comparisons.
    model
        Where to start.
    """
    precision = model.precision
    for _ in range(ROUNDS):
        current = derivatives(model)
        step = np.linalg.solve(
            current.information + np.diag(precision),
            current.gradient - precision * model.parameters,
        )
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max(initial=0)), TOLERANCE))
        model = replace(model, parameters=model.parameters + step)
        if np.abs(step).max(initial=0) < TOLERANCE:
            break
    return model, derivatives(model).information + np.diag(precision)
