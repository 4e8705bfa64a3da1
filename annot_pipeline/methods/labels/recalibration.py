"""Recalibration: probabilities of classes corrected by items whose class is known.

The corrected probability of class k is proportional to p_k ** temperature * exp(offset_k): vector
scaling with one slope (Guo et al. 2017, section 4.2; Platt 1999 for two classes). Offsets correct
classes that all judges take for another, the temperature how sure all are: mistakes that
judges share, and that their labels cannot show.

Penalized maximum likelihood: temperature ~ N(1, `SLOPE_SD`), offsets ~ N(0, `OFFSET_SD`), so that
few known items change little. Items that are known get probabilities from the other folds
(cross-fitting), so that what is said of them is said without them. The correction is dropped where
it does not predict them better than no correction.

Offsets take known items for a sample of all. Items that were chosen by their class are none: if
only items of one class are known, all mistakes are about it. Where classes are more or less
probable on known items than on all, beyond chance, there are no offsets (`unlike_others`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import Additive

ENOUGH = 50
"""Known items from which probabilities are recalibrated."""
FOLDS = 5
SLOPE_SD, OFFSET_SD, NO_OFFSET_SD = 0.5, 1.0, 1e-6
LEAST = 1e-9
"""Probability of a class at least, where its logarithm is taken."""
ROUNDS, TOLERANCE = 100, 1e-10
UNLIKE, LEAST_DIFFERENCE = 4.0, 0.05
"""Standard errors, and probability, by which known items differ from all in a class's mean."""


@dataclass(frozen=True)
class KnownItems:
    """Items of a block whose class is known: decided by an expert, or by the table of items.

    Parameters
    ----------
    items, classes
        ``(n_known,)`` codes.
    folds
        ``(n_known,)`` from 0 to `FOLDS` - 1, by the name of the item.
    """

    items: Codes
    classes: Codes
    folds: Codes

    @classmethod
    def none(cls) -> KnownItems:
        """Return no items."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, nothing)


@dataclass(frozen=True)
class ClassMass(Additive):
    """Probabilities of all items of a task: how many items, sums and sums of squares ``(K,)``."""

    n_items: int
    total: Floats
    squares: Floats

    @classmethod
    def from_probabilities(cls, probabilities: Floats) -> ClassMass:
        """Return the sums over ``(n_items, K)``."""
        return cls(len(probabilities), probabilities.sum(axis=0), (probabilities**2).sum(axis=0))


@dataclass(frozen=True)
class Scaling:
    """Temperature, and ``(K,)`` offsets of classes, nats."""

    temperature: float
    offsets: Floats

    def apply(self, probabilities: Floats) -> Floats:
        """Return corrected probabilities of ``(n_items, K)``."""
        return _softmax(self.temperature * _logs(probabilities) + self.offsets)


@dataclass(frozen=True)
class Recalibration:
    """What known items correct.

    Parameters
    ----------
    scaling
        By all known items, for the others.
    by_fold
        By the items of the other folds, for the known items of each fold.
    n_known
        Known items.
    gain, gain_error
        Log probability of the known classes that the correction adds, nats an item, cross-fitted;
        and its standard error.
    """

    scaling: Scaling
    by_fold: tuple[Scaling, ...]
    n_known: int
    gain: float
    gain_error: float

    def apply(self, probabilities: Floats, known_items: KnownItems) -> Floats:
        """Return corrected probabilities ``(n_items, K)`` of a block."""
        corrected = self.scaling.apply(probabilities)
        for fold, scaling in enumerate(self.by_fold):
            items = known_items.items[known_items.folds == fold]
            corrected[items] = scaling.apply(probabilities[items])
        return corrected


def unlike_others(probabilities: Floats, mass: ClassMass) -> bool:
    """Return whether known items have other classes than all items have, beyond chance.

    Their class is not asked, but the probabilities that the labels give it: a mistake that all
    judges share makes known items no different from others.

    Parameters
    ----------
    probabilities
        ``(n_known, K)`` of known items, before the correction.
    mass
        Of all items.
    """
    n, mean = len(probabilities), mass.total / mass.n_items
    variance = np.maximum(mass.squares / mass.n_items - mean**2, 0) * (1 - n / mass.n_items) / n
    difference = np.abs(probabilities.mean(axis=0) - mean)
    return bool(((difference > UNLIKE * np.sqrt(variance)) & (difference > LEAST_DIFFERENCE)).any())


def fit_recalibration(
    probabilities: Floats,
    classes: Codes,
    folds: Codes,
    *,
    least: int = ENOUGH,
    has_offsets: bool = True,
) -> Recalibration | None:
    """Return the correction by known items; None where they are too few, or it does not help.

    Parameters
    ----------
    probabilities
        ``(n_known, K)`` before the correction.
    classes, folds
        ``(n_known,)``.
    least
        Known items that it takes.
    has_offsets
        Whether classes have offsets.
    """
    n, k = probabilities.shape
    if n < least or k < 2:
        return None
    offset_sd = OFFSET_SD if has_offsets else NO_OFFSET_SD
    by_fold = []
    fitted = np.empty_like(probabilities)
    for fold in range(FOLDS):
        mine = folds == fold
        by_fold.append(fit_scaling(probabilities[~mine], classes[~mine], offset_sd))
        fitted[mine] = by_fold[-1].apply(probabilities[mine])
    rows = np.arange(n)
    gains = np.log(np.maximum(fitted[rows, classes], LEAST)) - np.log(
        np.maximum(probabilities[rows, classes], LEAST)
    )
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n))
    if gain <= 0:
        return None
    scaling = fit_scaling(probabilities, classes, offset_sd)
    return Recalibration(scaling, tuple(by_fold), n, gain, error)


def fit_scaling(probabilities: Floats, classes: Codes, offset_sd: float = OFFSET_SD) -> Scaling:
    """Return the scaling that makes classes most probable, by Newton's method.

    The penalized log likelihood is concave in temperature and offsets.

    Parameters
    ----------
    probabilities
        ``(n, K)``.
    classes
        ``(n,)``.
    offset_sd
        Standard deviation of offsets, nats.
    """
    logs = _logs(probabilities)
    k = logs.shape[1]
    right = np.eye(k)[classes]
    precision = np.r_[SLOPE_SD**-2.0, np.full(k, offset_sd**-2.0)]
    center = np.r_[1.0, np.zeros(k)]
    at = center.copy()
    for _ in range(ROUNDS):
        p = _softmax(at[0] * logs + at[1:])
        error = right - p
        gradient = np.r_[(error * logs).sum(), error.sum(axis=0)] - precision * (at - center)
        mean = (p * logs).sum(axis=1, keepdims=True)
        centered = p * (logs - mean)
        information = np.empty((k + 1, k + 1))
        information[0, 0] = (centered * logs).sum()
        information[0, 1:] = information[1:, 0] = centered.sum(axis=0)
        information[1:, 1:] = np.diag(p.sum(axis=0)) - p.T @ p
        step = np.linalg.solve(information + np.diag(precision), gradient)
        before = _objective(logs, right, at, precision, center)
        size = 1.0
        while (
            _objective(logs, right, at + size * step, precision, center) < before
            and size > TOLERANCE
        ):
            size /= 2
        at = at + size * step
        if np.abs(size * step).max() < TOLERANCE:
            break
    return Scaling(max(float(at[0]), 0.0), at[1:])


def _objective(logs: Floats, right: Floats, at: Floats, precision: Floats, center: Floats) -> float:
    p = _softmax(at[0] * logs + at[1:])
    likelihood = np.log(np.maximum((p * right).sum(axis=1), LEAST**4)).sum()
    return float(likelihood - 0.5 * (precision * (at - center) ** 2).sum())


def _logs(probabilities: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probabilities, LEAST)))


def _softmax(logits: Floats) -> Floats:
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
