"""Probabilities of labels held against the truth of item tables, and how they were calibrated.

A truth that is no class of the task has probability 0, so a label of such an item is wrong; a gate
names these truths. What experts decided has no part: it is the models that are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import LABEL_CALIBRATION, TEXT
from annot_pipeline.errors import shorten
from annot_pipeline.methods.labels.held_out_labels import Evidence
from annot_pipeline.methods.labels.published_labels import ItemFit
from annot_pipeline.methods.labels.recalibration import ENOUGH
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.methods.numerics.shares import Z, wilson_interval
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.labels.label_items import LabelSums

Row = dict[str, Any]

FEW_KNOWN = f"fewer than {ENOUGH} known items: labels cannot show mistakes that judges share"
NO_SAMPLE = "the known items are no sample of all items"
ONE_CLASS = "judges gave one class alone"


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
        mean, error = getattr(evidence, model)
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


NO_CLASS = -1
FLOOR = 1e-9
"""What a probability counts as at least, so that log loss is finite; as `annot score` has it."""


def check_calibration(
    task: str, evidence: pa.Table, distributions: pa.Table, items: pa.Table, certain_at: float
) -> tuple[pa.Table, dict[str, Any]]:
    """Return all figures on the calibration of label probabilities of a task.

    Parameters
    ----------
    task
        Its name.
    evidence
        Rows of `LABEL_CALIBRATION` that need no truth.
    distributions
        ``item``, ``label``, ``probability``, ``dawid_skene_probability``, ``votes``;
        a task labelled by votes alone has no probability, and is left out.
    items
        ``item``, ``truth``.
    certain_at
        Probability from which a label is certain.

    Returns
    -------
    figures, metrics
        ``wrong_certain_labels`` where more are wrong than certainty allows, with counts;
        ``truths_of_no_class``: truths of items that are no class of the task.
    """
    rows: list[Row] = []
    is_level = is_in(evidence["statistic"], ("certified_level",))
    certified = evidence["value"].filter(is_level).drop_null().to_pylist()
    if distributions.num_rows and not distributions["probability"].null_count:
        probabilities, truth = held_against_truth(distributions, items)
        rows = [
            {"task": task, **row}
            for model, model_probabilities in probabilities.items()
            for level in [*certified * (model == "published"), certain_at][:1]
            for row in _figures(model, model_probabilities, truth, level)
        ]
    table = pa.concat_tables(
        [evidence.cast(LABEL_CALIBRATION.schema), LABEL_CALIBRATION.from_rows(rows)]
    )
    metrics: dict[str, Any] = {}
    for row in rows:
        is_wrong = row["ci_high"] is not None and row["ci_high"] < certain_at
        if is_wrong and (row["model"], row["statistic"]) == ("published", "certain_accuracy"):
            right = f"{task} {row['value']:.1%} of {row['n']:,} right"
            metrics["wrong_certain_labels"] = right
    if strange := truths_of_no_class(distributions, items):
        metrics["truths_of_no_class"] = strange
    return table.sort_by([(name, "ascending") for name in LABEL_CALIBRATION.key]), metrics


def truths_of_no_class(distributions: pa.Table, items: pa.Table) -> list[str]:
    """Return truths of items that are no class of their task."""
    with_truth = items.filter(items["truth"].is_valid())
    judged = with_truth.filter(
        is_in(with_truth["item"], pc.unique(distributions["item"].cast(TEXT)).to_pylist())
    )
    truths = {*judged["truth"].cast(TEXT).to_pylist()}
    classes = {*pc.unique(distributions["label"].cast(TEXT)).to_pylist()}
    return sorted(map(shorten, truths - classes))


def held_against_truth(rows: pa.Table, items: pa.Table) -> tuple[dict[str, Floats], Codes]:
    """Return probabilities and truth of a task's items whose truth is known.

    Parameters
    ----------
    rows
        Of one task: ``item``, ``label``, ``probability``, ``dawid_skene_probability``, ``votes``;
        all classes of an item together, in one order.
    items
        ``item``, ``truth``.

    Returns
    -------
    probabilities
        ``(n_items, n_classes)`` by model; none without an item whose truth is known.
    truth
        ``(n_items,)`` codes of classes; `NO_CLASS`: it is none.
    """
    classes = pc.unique(rows["label"]).cast(TEXT)
    k = len(classes)
    names = rows["item"].cast(TEXT).take(pa.array(np.arange(0, rows.num_rows, k)))
    with_truth = items.filter(items["truth"].is_valid())
    positions = pc.index_in(names, with_truth["item"].cast(TEXT).combine_chunks())
    has_truth = positions.is_valid().to_numpy()
    named = with_truth["truth"].cast(TEXT).take(positions.combine_chunks().drop_null())
    truth = pc.fill_null(pc.index_in(named, classes), NO_CLASS).to_numpy().astype(np.int64)
    if not truth.size:
        return {}, truth
    published, own, votes = (
        rows[name].to_numpy().astype(np.float64).reshape(-1, k)
        for name in ("probability", "dawid_skene_probability", "votes")
    )
    votes += votes.sum(axis=0) / votes.sum()  # one more, shared as all are
    shares = votes / votes.sum(axis=1, keepdims=True)
    return {
        "published": published[has_truth],
        "dawid_skene": own[has_truth],
        "votes": shares[has_truth],
    }, truth


def _figures(model: str, probabilities: Floats, truth: Codes, certain_at: float) -> Iterator[Row]:
    n = truth.size
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    certain = (confidence >= certain_at) & (probabilities.shape[1] > 1)
    of_truth = np.where(truth == NO_CLASS, 0.0, probabilities[np.arange(n), truth])
    loss = -np.log(np.maximum(of_truth, FLOOR))
    se = loss.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    errors = reliability(confidence, right, right)
    yield _share(model, "accuracy", right)
    yield _mean(model, "log_loss", loss.mean(), se, n)
    yield _mean(model, "expected_calibration_error", errors.label_error, errors.label_error_se, n)
    yield _share(model, "certain_share", certain)
    yield _share(model, "certain_accuracy", right[certain])


def _mean(model: str, statistic: str, mean: float, se: float, n: int) -> Row:
    """Return the row of a mean, at least 0, with its normal interval."""
    return calibration_row(model, statistic, mean, n, (max(mean - Z * se, 0.0), mean + Z * se))


def _share(model: str, statistic: str, flags: npt.NDArray[np.bool_]) -> Row:
    n = flags.size
    low, high = wilson_interval([flags.sum()], [n])
    value = flags.mean() if n else np.nan
    return calibration_row(model, statistic, float(value), n, (float(low[0]), float(high[0])))
