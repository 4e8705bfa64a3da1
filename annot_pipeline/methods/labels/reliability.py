"""Whether predicted probabilities are frequencies: reliability bins and calibration error.

Items are put in bins of equal width by the probability of the class that was predicted; within a
bin the mean probability is held against how often the class was right, by gold's distribution
and by its label. The expected calibration error is the mean gap, bins weighing by their items
(Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017). It is biased upwards where bins hold few
items. Its standard error takes it for what it is once it is known on which side of the diagonal
each bin lies, a mean over items: a bootstrap would add to the bias.

Degenerate input: a bin without items is NaN; without items so are the errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats


@dataclass(frozen=True)
class Reliability:
    """Bins from low to high; arrays are ``(n_bins,)``.

    Parameters
    ----------
    low, high
        Edges: a probability is above ``low`` and at most ``high``; 0 is in the first bin.
    n_items
        Items in the bin.
    confidence
        Their mean probability of the class predicted.
    expected_accuracy, accuracy
        Their mean chance of being right by gold's distribution, and their share right.
    error, label_error
        Expected calibration error against gold's distribution, and against its label.
    label_error_se
        Standard error of the latter; NaN with fewer than two items.
    """

    low: Floats
    high: Floats
    n_items: Codes
    confidence: Floats
    expected_accuracy: Floats
    accuracy: Floats
    error: float
    label_error: float
    label_error_se: float


def reliability(
    confidence: npt.ArrayLike,
    expected: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    n_bins: int = 10,
) -> Reliability:
    """Compare predicted probabilities with frequencies.

    Parameters
    ----------
    confidence
        ``(n_items,)`` predicted probability of the class predicted, from 0 to 1.
    expected
        ``(n_items,)`` gold's probability of that class.
    right
        ``(n_items,)`` whether it is gold's label.
    n_bins
        Bins from 0 to 1.

    Raises
    ------
    ValueError
        Arrays of different lengths, no bin.
    """
    sure, chance = np.asarray(confidence, np.float64), np.asarray(expected, np.float64)
    hit = np.asarray(right, np.float64)
    if not sure.shape == chance.shape == hit.shape:
        raise ValueError("confidence, expected and right must be of one length")
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}, allowed are 1 and more")
    edges = np.arange(n_bins + 1) / n_bins
    positions = np.clip(np.searchsorted(edges, sure, side="left") - 1, 0, n_bins - 1)
    n = np.bincount(positions, minlength=n_bins)

    def mean(values: Floats) -> Floats:
        sums = np.bincount(positions, weights=values, minlength=n_bins)
        return np.where(n > 0, sums / np.maximum(n, 1), np.nan)

    means = mean(sure), mean(chance), mean(hit)

    def error(frequencies: Floats) -> float:
        gaps = np.where(n > 0, np.abs(means[0] - frequencies), 0.0)
        return float((gaps * n).sum() / n.sum()) if n.sum() else float("nan")

    side = np.sign(means[2] - means[0])[positions]
    se = np.std(side * (hit - sure), ddof=1) / np.sqrt(hit.size) if hit.size > 1 else np.nan
    errors = error(means[1]), error(means[2]), float(se)
    return Reliability(edges[:-1], edges[1:], n, *means, *errors)
