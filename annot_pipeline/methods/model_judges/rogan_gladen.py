"""The prevalence of a class among items that a model labelled, corrected for the model's errors.

prevalence = (share the model labels so + specificity - 1) / (sensitivity + specificity - 1),
with sensitivity and specificity measured on items that people labelled.

Sources: Rogan & Gladen 1978, "Estimating prevalence from the results of a screening test", for the
value; Lang & Reiczigel 2014, "Confidence limits for prevalence of disease adjusted for estimated
sensitivity and specificity", for the interval: eqs. 6 and 7 (the share is drawn to 1/2 by z^2
items), sensitivity and specificity to 1/2 by one success and one failure each, eqs. 16 and 17.

Assumes that items with people's labels are, within each class, a random sample, and that people are
right. The model's labels of items and the measured sensitivity and specificity are taken to be
independent: items with people's labels are few among all.

Degenerate input, each with a reason: a class without human items, sensitivity + specificity <= 1 (a
model no better than chance), no item labelled by the model. The interval alone is NaN where so few
items have people's labels that sensitivity and specificity, drawn to 1/2, sum to no more than 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_ITEMS = "no item has a label of the model"
NO_HUMAN_ITEMS = "people gave this class to no item or to all: the model's errors are unknown"
UNINFORMATIVE = "sensitivity and specificity sum to 1 or less: the model is no better than chance"
TOO_FEW = "too few items have people's labels for an interval"


@dataclass(frozen=True)
class CorrectedPrevalence:
    """A prevalence with its 95% interval, or that of another level.

    Parameters
    ----------
    value
        Clipped to [0, 1]; NaN where it cannot be known.
    low, high
        Ends of the interval, clipped to [0, 1].
    apparent
        Share that the model labels so.
    sensitivity, specificity
        Shares of people's items with and without the class on which the model says the same.
    reason
        Why the value or the interval is NaN; None: neither is.
    """

    value: float
    low: float
    high: float
    apparent: float
    sensitivity: float
    specificity: float
    reason: str | None


def rogan_gladen(
    n_positive: int,
    n: int,
    true_positives: int,
    n_with_class: int,
    true_negatives: int,
    n_without_class: int,
    *,
    level: float = 0.95,
) -> CorrectedPrevalence:
    """Correct the share of items that a model gives a class.

    Parameters
    ----------
    n_positive, n
        Items to which the model gives the class, of those that it labelled.
    true_positives, n_with_class
        Those to which it gives the class, of items that have it by people.
    true_negatives, n_without_class
        Those to which it does not, of items that do not have it by people.
    level
        Of the interval.

    Raises
    ------
    ValueError
        A count that is negative or more than its total.
    """
    counts = ((n_positive, n), (true_positives, n_with_class), (true_negatives, n_without_class))
    if any(not 0 <= part <= total for part, total in counts):
        raise ValueError(f"counts must be from 0 to their totals: {counts}")
    apparent, sensitivity, specificity = (
        part / total if total else float("nan") for part, total in counts
    )
    reason = None
    if not n:
        reason = NO_ITEMS
    elif not n_with_class or not n_without_class:
        reason = NO_HUMAN_ITEMS
    elif true_positives * n_without_class + true_negatives * n_with_class <= (
        n_with_class * n_without_class
    ):
        reason = UNINFORMATIVE
    if reason is not None:
        nan = float("nan")
        return CorrectedPrevalence(nan, nan, nan, apparent, sensitivity, specificity, reason)
    value = (apparent + specificity - 1) / (sensitivity + specificity - 1)
    low, high = _interval(*counts, level)
    return CorrectedPrevalence(
        float(np.clip(value, 0, 1)), low, high, apparent, sensitivity, specificity,
        TOO_FEW if np.isnan(low) else None,
    )  # fmt: skip


def _interval(
    apparent: tuple[int, int],
    with_class: tuple[int, int],
    without_class: tuple[int, int],
    level: float,
) -> tuple[float, float]:
    """Return the interval of Lang & Reiczigel, clipped to [0, 1]."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    n = apparent[1] + z**2
    share = (apparent[0] + z**2 / 2) / n
    n_with, n_without = with_class[1] + 2, without_class[1] + 2
    sensitivity = (with_class[0] + 1) / n_with
    specificity = (without_class[0] + 1) / n_without
    youden = sensitivity + specificity - 1
    if youden <= 0:
        return float("nan"), float("nan")
    value = (share + specificity - 1) / youden
    error_with = sensitivity * (1 - sensitivity) / n_with
    error_without = specificity * (1 - specificity) / n_without
    shift = 2 * z**2 * (value * error_with - (1 - value) * error_without)
    variance = share * (1 - share) / n + value**2 * error_with + (1 - value) ** 2 * error_without
    half = z * float(np.sqrt(variance)) / youden
    low, high = np.clip([value + shift - half, value + shift + half], 0, 1)
    return float(low), float(high)
