"""Certificates of labels by the answers of an audit, which take no part in the labels.

An answer has the control ``audit``: judgments with a control are not used, so the labels of an
item are the same whether it was sampled or not. The answers count for the labels that they were
drawn from alone: where judgments, known answers (expert decisions that recalibrate, too), settings
or code change any label or probability of the task, or its items, the certificate is void.
Decisions of experts on sampled items may follow: the certificate is of the model's labels, and a
decision in the place of one makes them no worse.

An item that several experts answered is wrong if one of them differs from the label. Of several
answers of one expert, the fates say which counts. One sample certifies: a second one of the same
labels would be a second try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.labels.label_audit import LEVELS, certify, level_bands
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.runtime.audit_answers import AuditSample, audited_items, labels_checksum
from annot_pipeline.stages.labels.label_items import LabelledItems

VOID = "the labels are not those sampled from {}: judgments, settings or code changed"


@dataclass(frozen=True)
class AuditSums(Additive):
    """A checksum of labels, and items by band; of them those answered and wrong, by sample."""

    checksum: int
    items: Codes
    answered: Codes
    wrong: Codes


def audit_sums(labelled: LabelledItems, rows: pa.Table, names: Sequence[str]) -> AuditSums:
    """Add up the items of a block, and the answers of samples to them, as `audited_items`."""
    items, probability = labelled.task.items, labelled.probability
    labels = [labelled.task.classes[code] for code in labelled.inferred.tolist()]
    bands = np.eye(len(LEVELS), dtype=np.int64)[level_bands(probability)]
    counts = (flags @ bands for flags in audited_items(rows, items, labels, names))
    checksum = labels_checksum(zip(items, labels, probability.tolist(), strict=True))
    return AuditSums(checksum, bands.sum(axis=0), *counts)


def certificate(names: Sequence[str], sums: AuditSums, certain_at: float) -> dict[str, Any]:
    """Return what the samples of a task certify of its labels: ``certificates`` of its metrics.

    Parameters
    ----------
    names
        Of the samples, at least one.
    sums
        Of all items of the task.
    certain_at
        Share of labels that must be right.
    """
    samples = {k: own for k, name in enumerate(names) if (own := AuditSample.from_name(name))}
    matching = [k for k, own in samples.items() if own.is_of(sums.checksum, certain_at)]
    newest = max(samples.values(), key=lambda sample: int(sample.release[1:]), default=None)
    test, reason = None, "the answers name no sample: control_of is blank or damaged"
    if len(matching) == 1:
        [k] = matching
        newest, answered = samples[k], sums.answered[k]
        test, reason = certify(sums.items, newest.n, answered, sums.wrong[k], certain_at)
    elif matching:
        reason = f"{len(matching)} samples of the same labels: each further one is another try"
    elif newest:
        reason = VOID.format(newest.release)
    return {
        "certified": not reason, "certain_at": certain_at, "reason": reason or None,
        "release": newest and newest.release, "sample": newest and newest.name,
        "level": test.level if test and not reason else None, "n": test.n if test else 0,
        "errors": test.errors if test else 0, "bound": test.bound if test else None,
    }  # fmt: skip
