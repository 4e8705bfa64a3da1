"""Rows of ``label_calibration`` that need no truth: how a task's probabilities were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import LABEL_CALIBRATION
from annot_pipeline.methods.labels.held_out_evidence import Evidence
from annot_pipeline.methods.labels.published_labels import ItemFit
from annot_pipeline.methods.labels.recalibration import ENOUGH
from annot_pipeline.methods.numerics.wilson import Z
from annot_pipeline.stages.labels.label_items import LabelSums

Row = dict[str, Any]

FEW_KNOWN = f"fewer than {ENOUGH} known items: labels cannot show mistakes that judges share"
NO_SAMPLE = "the known items are no sample of all items"
ONE_CLASS = "judges gave one class alone"


def calibration_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as the table has them."""
    return LABEL_CALIBRATION.from_columns(
        {
            column.name: [row.get(column.name) for row in rows]
            for column in LABEL_CALIBRATION.columns
        }
    )


def calibration_row(
    model: str, statistic: str, value: float, n: int, interval: Sequence[float] = (np.nan, np.nan)
) -> Row:
    """Return a figure of a task; null if it is not finite."""
    low, high = interval
    numbers = {"value": value, "ci_low": low, "ci_high": high}
    finite = {name: number if np.isfinite(number) else None for name, number in numbers.items()}
    return {"model": model, "statistic": statistic, **finite, "n": n}


def evidence_rows(
    fit: ItemFit, evidence: Evidence, sums: LabelSums, audit: Mapping[str, Any]
) -> Iterator[Row]:
    """Return how the probabilities of a task were found, and what an audit certifies.

    All columns but the task.
    """
    if audit:
        level = np.nan if audit["level"] is None else audit["level"]
        row = calibration_row("published", "certified_level", level, audit["n"])
        yield row | {"reason": audit["reason"]}
    if fit.stacking is not None:
        dependence = fit.stacking.dependence
        yield calibration_row("published", "dependence", dependence, evidence.n_labels)
        weight = 1.0 if fit.stacking.votes_alone else float(fit.stacking.weights[-1])
        yield calibration_row("published", "weight_of_votes", weight, evidence.n_labels)
    if fit.recalibration is not None:
        n = fit.recalibration.n_known
        temperature = fit.recalibration.scaling.temperature
        yield calibration_row("published", "temperature", temperature, n)
    for model in ("published", "dawid_skene", "votes"):
        mean, error = evidence.mean_of(model)
        ends = (mean - Z * error, min(mean + Z * error, 0.0))
        yield calibration_row(model, "held_out_log_likelihood", mean, evidence.n_labels, ends)
    yield _expected_accuracy(fit, sums)


def _expected_accuracy(fit: ItemFit, sums: LabelSums) -> Row:
    """Return the share of labels that are right, by known items, with its interval.

    The mean probability with the mean error of known items (the difference estimator of Cochran
    1977, section 7.2). Null, with the reason, without known items that are a sample: mistakes that
    judges share cannot be seen in labels.
    """
    mean, checked = sums.probability / sums.n_items, sums.known_items
    names = ("published", "expected_accuracy")
    reason = (
        ONE_CLASS if np.count_nonzero(sums.votes.labels) < 2
        else FEW_KNOWN if checked.n < ENOUGH
        else NO_SAMPLE if fit.known_items_differ
        else None
    )  # fmt: skip
    if reason is not None:
        return calibration_row(*names, np.nan, 0) | {"reason": reason}
    error = checked.error / checked.n
    variance = (checked.squared_error / checked.n - error**2) / (checked.n - 1)
    value, half = mean + error, Z * np.sqrt(max(variance, 0.0))
    ends = (min(max(value - half, 0.0), 1.0), min(max(value + half, 0.0), 1.0))
    return calibration_row(*names, min(max(value, 0.0), 1.0), checked.n, ends)
