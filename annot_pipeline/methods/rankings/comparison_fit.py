"""The likelihood of comparisons by Davidson's model, its maximum, and which effects it can tell.

The log odds of a comparison are the difference of two strengths, plus the effect of the order of
its group, plus covariates times their coefficients. Ties have the probability of Davidson 1970, or
count as half wins.

Degenerate input: a parameter without data stays at 0, the mode of its prior.

Where a difference of two outputs is one of their systems alone, the system and the covariate are
the same thing.

Where one system is always shown first, being first and being that system are the same thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.moments import Additive

STRENGTH_PRECISION = 1 / 9
"""Prior precision of strengths, 1 / logits^2: N(0, 9) keeps those of unbeaten systems finite."""
WEAK_PRECISION = 1e-6
"""Prior precision of coefficients, of the frequency of ties, and of order effects by themselves."""
ORDER_SD = 0.7
"""Logits, of a judge's order effect around the average judge's, and of the average's around 0.

So effects are within 1 logit of 0 in two of three cases. One pair seen in both orders leaves the
effect uncertain by 1.4 logits or more: the prior matters where few pairs are, not where many are.
"""
MAX_ITERATIONS, TOLERANCE, LARGEST_STEP = 100, 1e-9, 2.0
CELLS_AT_ONCE = 2**20
"""Products of a design's entries that are in memory at one time."""


@dataclass(frozen=True)
class Derivatives(Additive):
    """Gradient and expected information of the log likelihood."""

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
    shrinks_orders: bool

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
        """Return the prior precision of all parameters, a matrix."""
        precision = np.full(self.parameters.size, WEAK_PRECISION)
        precision[: self.n_systems] = STRENGTH_PRECISION
        if not self.has_ties:
            precision[-1] = 1.0  # has no data, and stays 0
        matrix = np.diag(precision)
        if self.shrinks_orders:
            orders = slice(self.n_systems, self.n_not_covariates)
            own = np.eye(self.order_effects.size)
            matrix[orders, orders] = np.linalg.inv(ORDER_SD**2 * (own + 1))
        return matrix

    def log_odds(self, first: Codes, second: Codes, orders: Codes, covariates: Floats) -> Floats:
        """Return the log odds that the first system wins, ``(n,)``; orders: -1 has no effect."""
        strengths = self.parameters[: self.n_systems]
        effects = np.append(0.0, self.order_effects)
        odds = strengths[first] - strengths[second] + effects[orders + 1]
        return np.asarray(odds + covariates @ self.coefficients if self.n_covariates else odds)

    def expected(self, log_odds: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected preference, the probability of a tie, the preference's variance."""
        return expected_preferences(log_odds, self.parameters[-1] if self.has_ties else -np.inf)

    def design(self, first: Codes, second: Codes, orders: Codes, covariates: Floats) -> Design:
        """Return the design matrix of `log_odds`, ``(n_rows, n_linear)``."""
        ones = np.ones(first.size)
        has_order = orders >= 0
        entries = [(first, ones), (second, -ones)]
        if has_order.any():
            parameter = np.where(has_order, self.n_systems + orders, first)
            entries.append((parameter, has_order.astype(np.float64)))
        for code, values in enumerate(covariates.T):
            entries.append((np.full(first.size, self.n_not_covariates + code), values))
        parameters, factors = zip(*entries, strict=True)
        return Design(np.stack(parameters, axis=1), np.stack(factors, axis=1), self.n_linear)

    def derivatives(
        self, design: Design, log_odds: Floats, n: Floats, preferences: Floats, ties: Floats
    ) -> Derivatives:
        """Return the derivatives of rows of n comparisons, with sums of preferences and ties."""
        preference, tie, variance = self.expected(log_odds)
        size = self.n_linear
        gradient, information = np.zeros(size + 1), np.zeros((size + 1, size + 1))
        gradient[:size] = design.sums(preferences - n * preference)
        information[:size, :size] = design.products(n * variance)
        if self.has_ties:
            gradient[-1] = (ties - n * tie).sum()
            cross = design.sums(n * tie * (0.5 - preference))
            information[:size, -1] = information[-1, :size] = cross
            information[-1, -1] = (n * tie * (1 - tie)).sum()
        return Derivatives(gradient, information)


def expected_preferences(log_odds: Floats, tie: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return the expected preference, the probability of a tie, the preference's variance.

    ``tie``: Davidson's log nu, of all or of each; minus infinity where ties are half wins.
    """
    half = np.abs(log_odds) / 2
    worse, ties = np.exp(-2 * half), np.exp(tie - half)
    total = 1 + worse + ties
    wins = np.where(log_odds > 0, 1.0, worse) / total
    ties = ties / total
    preference = wins + ties / 2
    return preference, ties, wins + ties / 4 - preference**2


@dataclass(frozen=True)
class Design:
    """A design matrix with few entries per row.

    Parameters
    ----------
    parameters, factors
        ``(n_rows, n_entries)`` codes of parameters, and how often each is added.
    n_parameters
        How many there are.
    """

    parameters: Codes
    factors: Floats
    n_parameters: int

    def sums(self, values: Floats) -> Floats:
        """Return the transposed matrix times ``(n_rows,)`` values, ``(n_parameters,)``."""
        weights = self.factors * values[:, None]
        sums = np.bincount(self.parameters.ravel(), weights.ravel(), self.n_parameters)
        return np.asarray(sums, np.float64)

    def products(self, weights: Floats) -> Floats:
        """Return the sum of outer products of rows, times weights, ``(n_parameters,) * 2``."""
        products = np.zeros(self.n_parameters**2)
        rows_at_once = max(CELLS_AT_ONCE // self.parameters.shape[1] ** 2, 1)
        for start in range(0, weights.size, rows_at_once):
            rows = slice(start, start + rows_at_once)
            codes, factors = self.parameters[rows], self.factors[rows]
            cells = codes[:, :, None] * self.n_parameters + codes[:, None, :]
            weighted = factors * weights[rows, None]
            np.add.at(products, cells.ravel(), (factors[:, :, None] * weighted[:, None]).ravel())
        return products.reshape(self.n_parameters, self.n_parameters)


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
    for _ in range(MAX_ITERATIONS):
        current = derivatives(model)
        step = np.linalg.solve(
            current.information + precision,
            current.gradient - precision @ model.parameters,
        )
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max(initial=0)), TOLERANCE))
        model = replace(model, parameters=model.parameters + step)
        if np.abs(step).max(initial=0) < TOLERANCE:
            break
    return model, derivatives(model).information + precision


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
    left_out = np.flatnonzero(has_comparisons & ~is_estimable)
    estimated = np.flatnonzero(is_estimable)
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
