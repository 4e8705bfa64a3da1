"""Items of a task that has a model become rows of labels, and sums that say of the task.

What belongs here is what is said of items: rows of one item, and what items add up to. So a task's
items may come some at a time, on many machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.contracts import CERTAIN, LABEL_DISTRIBUTIONS, LABELS
from annot_pipeline.methods.labels.class_identity import ClassIdentity, class_identity, item_support
from annot_pipeline.methods.labels.held_out_labels import n_judges_of
from annot_pipeline.methods.labels.label_calibration import ItemFit, Probabilities, probabilities
from annot_pipeline.methods.labels.votes import Votes, VoteSums, count_votes
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.stages.labels.label_tasks import LabelTask

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelledItems:
    """Some items of a task, or all, with what models say of them.

    Parameters
    ----------
    task
        Their names and codes; judges and classes are those of the whole task.
    probabilities
        Of classes.
    votes
        Of the items.
    """

    task: LabelTask
    probabilities: Probabilities
    votes: Votes

    @property
    def inferred(self) -> Codes:
        """Return the most probable class of each item; ties go to the lower code."""
        return np.asarray(self.probabilities.raw.argmax(axis=1))


def labelled_items(tasks: Sequence[LabelTask], fits: Sequence[ItemFit]) -> list[LabelledItems]:
    """Return some items of each task with what models say of them."""
    codes = [task.codes for task in tasks]
    return [
        LabelledItems(task, classes, count_votes(
            task.codes.items, task.codes.labels,
            n_items=task.codes.n_items, n_labels=task.codes.n_labels,
        ))
        for task, classes in zip(tasks, probabilities(codes, fits), strict=True)
    ]  # fmt: skip


@dataclass(frozen=True)
class LabelSums(Additive):
    """What items add up to.

    Parameters
    ----------
    votes, identity, pooled_identity
        Of votes, and of classes as judges and as pooled judges have them.
    judgments
        ``(n_judges,)`` labels that each judge gave.
    n_certain
        ``(n_labels,)`` items that are certain by Dawid-Skene's own probability, by class.
    n_calibrated_certain
        Items that are certain by the calibrated probability.
    judged
        Items by how many labels they have.
    other_class
        Items of which calibration prefers another class.
    """

    votes: VoteSums
    identity: ClassIdentity
    pooled_identity: ClassIdentity
    judgments: Codes
    n_certain: Codes
    n_calibrated_certain: int
    judged: Counter[int]
    other_class: int

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return self.judged.total()


def sums_of(labelled: LabelledItems) -> LabelSums:
    """Add items up."""
    codes, inferred = labelled.task.codes, labelled.inferred
    certain = labelled.probabilities.raw.max(axis=1) >= CERTAIN
    judged = np.bincount(labelled.votes.counts.sum(axis=1))
    return LabelSums(
        votes=labelled.votes.sums,
        identity=class_identity(labelled.probabilities.raw, labelled.votes),
        pooled_identity=class_identity(labelled.probabilities.pooled, labelled.votes),
        judgments=np.bincount(codes.judges, minlength=codes.n_judges),
        n_certain=np.bincount(inferred[certain], minlength=codes.n_labels),
        n_calibrated_certain=int(_calibrated_certain(labelled).sum()),
        judged=Counter({n: int(judged[n]) for n in np.flatnonzero(judged).tolist()}),
        other_class=int((labelled.probabilities.calibrated.argmax(axis=1) != inferred).sum()),
    )


def label_rows(labelled: LabelledItems) -> pa.Table:
    """Return the rows of `LABELS`, as models have them."""
    return LABELS.from_columns(_labels(labelled))


def distribution_rows(labelled: LabelledItems) -> pa.Table:
    """Return the rows of `LABEL_DISTRIBUTIONS`."""
    return LABEL_DISTRIBUTIONS.from_columns(_distributions(labelled))


def _calibrated(labelled: LabelledItems) -> Floats:
    """Calibrated probability of each item's label."""
    return np.asarray(
        labelled.probabilities.calibrated[np.arange(len(labelled.inferred)), labelled.inferred]
    )


def _calibrated_certain(labelled: LabelledItems) -> npt.NDArray[np.bool_]:
    """Return whether each item's label is certain; never where there is one class."""
    certain: npt.NDArray[np.bool_] = _calibrated(labelled) >= CERTAIN
    return certain if labelled.probabilities.raw.shape[1] > 1 else np.zeros_like(certain)


def _labels(labelled: LabelledItems) -> dict[str, Any]:
    task, posterior, votes, inferred = (
        labelled.task,
        labelled.probabilities.raw,
        labelled.votes,
        labelled.inferred,
    )
    calibrated = _calibrated(labelled)
    probability = posterior.max(axis=1)
    logs = np.log(posterior, where=posterior > 0, out=np.zeros_like(posterior))
    label = names_of(task.classes, inferred)
    n = len(task.items)
    return {
        "task": pa.repeat(task.name, n),
        "item": task.items,
        "label": label,
        "probability": np.minimum(probability, 1.0),
        "certain": probability >= CERTAIN,
        "entropy": np.maximum(-(posterior * logs).sum(axis=1), 0.0),
        "n_judgments": votes.counts.sum(axis=1),
        "n_judges": n_judges_of(task.codes),
        "majority_label": names_of(task.classes, votes.majority),
        "majority_share": votes.majority_share,
        "support": item_support(inferred, votes),
        "adjudicated": np.zeros(n, np.bool_),
        "model_label": label,
        "model_probability": np.minimum(probability, 1.0),
        "calibrated_probability": np.minimum(calibrated, 1.0),
        "calibrated_certain": _calibrated_certain(labelled),
    }


def _distributions(labelled: LabelledItems) -> dict[str, Any]:
    task, posterior, votes = labelled.task, labelled.probabilities.raw, labelled.votes
    n, k = posterior.shape
    return {
        "task": pa.repeat(task.name, n * k),
        "item": names_of(task.items, np.repeat(np.arange(n), k)),
        "label": names_of(task.classes, np.tile(np.arange(k), n)),
        "probability": np.minimum(posterior, 1.0).reshape(-1),
        "calibrated_probability": np.minimum(labelled.probabilities.calibrated, 1.0).reshape(-1),
        "votes": votes.counts.reshape(-1),
    }
