"""Items of a task that has a model become rows of labels, with their certificates.

An answer has the control ``audit``: judgments with a control are not used, so the labels of an
item are the same whether it was sampled or not. The answers count for the labels that they were
drawn from alone: where judgments, known answers (expert decisions that recalibrate, too), settings
or code change any label or probability of the task, or its items, the certificate is void.
Decisions of experts on sampled items may follow: the certificate is of the model's labels, and a
decision in the place of one makes them no worse.

An item that several experts answered is wrong if one of them differs from the label. Of several
answers of one expert, the fates say which counts. One sample certifies: a second one of the same
labels would be a second try.

What belongs here is what is said of items: their codes as the methods take them, rows of one item,
and what items add up to. So a task's items may come some at a time, on many machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config.judges import JudgeSettings, entry_for, is_model
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, LABELS
from annot_pipeline.methods.labels.class_identity import ClassIdentity, class_identity, item_support
from annot_pipeline.methods.labels.estimates import Counts
from annot_pipeline.methods.labels.inference import FEWEST_JUDGES
from annot_pipeline.methods.labels.label_audit import LEVELS, certify, level_bands
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.published_labels import (
    ItemFit,
    Probabilities,
    TaskLabels,
    probabilities,
    published_counts,
)
from annot_pipeline.methods.labels.recalibration import KnownItems
from annot_pipeline.methods.labels.votes import Votes, VoteSums, count_judges, count_votes
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.runtime.audit_answers import AuditSample, audited_items, labels_checksum
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import class_order, is_in, names_of
from annot_pipeline.stages.shared.known_items import Truths, known_items

CODED = ("item", "judge", "judge_id", "label", "votes", "fate", "control", "control_of")
"""Columns that are coded."""


@dataclass(frozen=True)
class JudgedTask:
    """Judgments of a categorical task, and what is known beside them.

    Parameters
    ----------
    name
        Of the task.
    judgments
        `CODED`, in blocks of whole items; those used count.
    classes
        Declared classes in order, or None.
    by_votes
        Whether votes come as counts, of judges whom nobody names.
    truths
        Of items; with what experts decided, they say which classes are known.
    doubted
        judge_id of judges by whom no label is certain (suspected or unlinked).
    """

    name: str
    judgments: Blocks[pa.Table]
    classes: Sequence[str] | None = None
    by_votes: bool = False
    truths: Truths = field(default_factory=Truths)
    doubted: Collection[str] = ()


@dataclass(frozen=True)
class Vocabulary:
    """Classes and judges of a whole task, by which each block is coded.

    Parameters
    ----------
    classes
        In order.
    judges
        By the names that records have for them, their public names.
    families
        ``(n_judges,)`` of judges: the code of the first of the family.
    models
        ``(n_judges,)`` whether a judge is declared to be a model.
    doubted
        ``(n_judges,)`` whether no label is certain by a judge.
    """

    classes: Sequence[str]
    judges: Mapping[str, str]
    families: Codes
    models: Flags
    doubted: Flags

    @classmethod
    def from_task(cls, task: JudgedTask, related: Sequence[JudgeSettings]) -> Vocabulary:
        """Return the names of a task; ``related``: what is declared of judges."""
        names, labels = zip(*task.judgments.map(_scan), strict=True)
        public = {} if task.by_votes else {k: v for judges in names for k, v in judges.items()}
        judges = dict(sorted(public.items()))
        return cls(
            list(task.classes or class_order(sorted(set().union(*labels)))),
            judges,
            judge_families([*judges], related),
            np.array([is_model(name, related) for name in judges], np.bool_),
            np.array([name in task.doubted for name in judges.values()], np.bool_),
        )

    def is_identified(self, fit: ItemFit) -> bool:
        """Return whether agreement, or known items, can say how often each judge is right.

        Of fewer than three judges it cannot: how often two agree is one number. Then no label is
        certain by any of them.
        """
        families = self.families if fit.families is None else fit.families
        return fit.recalibration is not None or np.unique(families).size >= FEWEST_JUDGES


@dataclass(frozen=True)
class LabelTask:
    """One task, or some items of it: names in the order of the codes.

    Parameters
    ----------
    name
        Of the task.
    items, classes
        Their names.
    codes
        Of the labels; of judges and classes those of the whole task.
    known_items
        Items whose class is known.
    """

    name: str
    items: Sequence[str]
    classes: Sequence[str]
    codes: LabelCodes
    known_items: KnownItems

    @classmethod
    def from_rows(
        cls, rows: pa.Table, name: str, vocabulary: Vocabulary, truths: Truths
    ) -> LabelTask:
        """Return the labels of a block; ``rows`` as `JudgedTask` has them."""
        used, classes = CodedTask(name, used_rows(rows)), vocabulary.classes
        items = used["item"].names
        codes = LabelCodes(
            used["item"].codes,
            used.codes_among("judge", [*vocabulary.judges]),
            used.codes_among("label", classes),
            len(items),
            len(vocabulary.judges),
            len(classes),
            vocabulary.families,
            vocabulary.models,
        )
        with_class = known_items(items, classes, truths, _decisions(rows))
        return cls(name, items, classes, codes, with_class)

    @property
    def labels(self) -> TaskLabels:
        """Return what the methods take."""
        return TaskLabels(self.codes, self.known_items)


def used_rows(judgments: pa.Table) -> pa.Table:
    """Return the judgments that count."""
    return judgments.filter(is_in(judgments["fate"], ("used",)))


def judge_families(names: Sequence[str], settings: Sequence[JudgeSettings]) -> Codes:
    """Return ``(n_judges,)`` family of each judge: the code of its first judge.

    Parameters
    ----------
    names
        Of judges, as records have them.
    settings
        The first whose pattern matches a name says its family; judges of none are their own.
    """
    first: dict[str, int] = {}
    families = np.arange(len(names))
    for code, name in enumerate(names):
        entry = entry_for(name, settings)
        if entry is not None and entry.family is not None:
            families[code] = first.setdefault(entry.family, code)
    return families


def _scan(rows: pa.Table) -> tuple[dict[str, str], set[str]]:
    """Return the judges of a block, and the labels that they gave."""
    used = CodedTask("", used_rows(rows))
    has_names = not used.rows["judge"].null_count  # votes as counts are of no named judge
    return used.public_judges() if has_names else {}, {*used["label"].names}


def _decisions(rows: pa.Table) -> dict[str, str]:
    """Return what experts decided, by item."""
    decided = rows.filter(is_in(rows["fate"], ("adjudication",)))
    return dict(zip(decided["item"].to_pylist(), decided["label"].to_pylist(), strict=True))


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
    certain_at
        Probability from which a label is certain.
    is_doubtful
        ``(n_items,)`` items of which doubted judges gave half of the labels or more.
    level
        Probability from which an audit certifies labels, whoever gave them; None: it does not.
    """

    task: LabelTask
    probabilities: Probabilities
    votes: Votes
    certain_at: float
    is_doubtful: Flags
    level: float | None = None

    @property
    def inferred(self) -> Codes:
        """Return the most probable class of each item; ties go to the lower code."""
        return np.asarray(self.probabilities.published.argmax(axis=1))

    @property
    def probability(self) -> Floats:
        """Return the probability of each item's label."""
        return np.asarray(np.minimum(self.probabilities.published.max(axis=1), 1.0))

    @property
    def certain(self) -> Flags:
        """Return whether each item's label is certain, or certified; never of one class."""
        published = self.probabilities.published
        if self.level is None:
            return self.is_certain(published)
        return np.asarray((self.probability >= self.level) & (published.shape[1] > 1))

    def is_certain(self, posterior: Floats) -> Flags:
        """Return whether a posterior's label of each item is certain; never of one class."""
        is_certain = (posterior.max(axis=1) >= self.certain_at) & (posterior.shape[1] > 1)
        return np.asarray(is_certain & ~self.is_doubtful)


def labelled_items(
    task: LabelTask, fit: ItemFit, certain_at: float, doubted: Flags, level: float | None = None
) -> LabelledItems:
    """Return some items of a task with what models say of them.

    Parameters
    ----------
    task, fit
        The items, and the fit of the whole task.
    certain_at
        Probability from which a label is certain.
    doubted
        ``(n_judges,)`` whether no label is certain by a judge.
    level
        Probability from which an audit certifies labels.
    """
    votes = count_votes(
        task.codes.items, task.codes.labels,
        n_items=task.codes.n_items, n_labels=task.codes.n_labels, judges=task.codes.judges,
    )  # fmt: skip
    codes = task.codes
    n = np.bincount(codes.items, minlength=codes.n_items)
    of_doubted = np.bincount(codes.items, doubted[codes.judges], codes.n_items)
    is_doubtful = (n > 0) & (2 * of_doubted >= n)
    published = probabilities(task.labels, fit)
    return LabelledItems(task, published, votes, certain_at, is_doubtful, level)


@dataclass(frozen=True)
class KnownSums(Additive):
    """What known items add up to: their number, and the errors of probabilities.

    Parameters
    ----------
    n
        Known items.
    error, squared_error
        Sums over them of whether the label is right less its probability, and of its square.
    """

    n: int
    error: float
    squared_error: float


@dataclass(frozen=True)
class LabelSums(Additive):
    """What items add up to.

    Parameters
    ----------
    votes
        Of votes.
    identity, dawid_skene_identity
        Of classes, under the published model and Dawid-Skene.
    judgments
        ``(n_judges,)`` labels that each judge gave.
    n_compared
        ``(n_judges,)`` those of them on items that others judged, or whose label is known.
    n_certain
        ``(n_labels,)`` items whose label is certain, by class.
    judged
        Items by how many labels they have.
    unsupported, against_plurality
        Items whose label nobody gave, or others gave more often.
    other_label
        Items that Dawid-Skene labels otherwise.
    probability
        Sum of the probabilities of the labels.
    published
        Labels of judges, and items, by the published probability of each class.
    known_items
        Of known items.
    """

    votes: VoteSums
    identity: ClassIdentity
    dawid_skene_identity: ClassIdentity
    judgments: Codes
    n_compared: Codes
    n_certain: Codes
    judged: Counter[int]
    unsupported: int
    against_plurality: int
    other_label: int
    probability: float
    published: Counts
    known_items: KnownSums

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return self.judged.total()


def sums_of(labelled: LabelledItems) -> LabelSums:
    """Add items up."""
    codes, inferred, votes = labelled.task.codes, labelled.inferred, labelled.votes
    published, own = labelled.probabilities.published, labelled.probabilities.dawid_skene
    rows = np.arange(inferred.size)
    is_judged = votes.counts.sum(axis=1) > 0
    judged = np.bincount(votes.counts.sum(axis=1))
    confidence = published.max(axis=1)
    items = labelled.task.known_items
    is_compared = count_judges(codes) > 1
    is_compared[items.items] = True
    error = (inferred[items.items] == items.classes) - confidence[items.items]
    return LabelSums(
        votes=votes.sums,
        identity=class_identity(published, votes),
        dawid_skene_identity=class_identity(own, votes),
        judgments=np.bincount(codes.judges, minlength=codes.n_judges),
        n_compared=np.bincount(codes.judges[is_compared[codes.items]], minlength=codes.n_judges),
        n_certain=np.bincount(inferred[labelled.certain], minlength=codes.n_labels),
        judged=Counter({n: int(judged[n]) for n in np.flatnonzero(judged).tolist()}),
        unsupported=int((is_judged & (votes.counts[rows, inferred] == 0)).sum()),
        against_plurality=int((is_judged & ~votes.tied[rows, inferred]).sum()),
        other_label=int((own.argmax(axis=1) != inferred).sum()),
        probability=float(confidence.sum()),
        published=published_counts(codes, published),
        known_items=KnownSums(items.items.size, float(error.sum()), float((error**2).sum())),
    )


def label_rows(labelled: LabelledItems) -> pa.Table:
    """Return the rows of `LABELS`, as models have them."""
    task, votes, inferred = labelled.task, labelled.votes, labelled.inferred
    posterior, own = labelled.probabilities.published, labelled.probabilities.dawid_skene
    probability = labelled.probability
    logs = np.log(posterior, where=posterior > 0, out=np.zeros_like(posterior))
    label = names_of(task.classes, inferred)
    n = len(task.items)
    columns = {
        "task": pa.repeat(task.name, n),
        "item": task.items,
        "label": label,
        "probability": probability,
        "certain": labelled.certain,
        "entropy": np.maximum(-(posterior * logs).sum(axis=1), 0.0),
        "n_judgments": votes.counts.sum(axis=1),
        "n_judges": count_judges(task.codes),
        "majority_label": names_of(task.classes, votes.majority),
        "majority_share": votes.majority_share,
        "support": item_support(inferred, votes),
        "adjudicated": np.zeros(n, np.bool_),
        "model_label": label,
        "model_probability": probability,
        "dawid_skene_label": names_of(task.classes, own.argmax(axis=1)),
        "dawid_skene_probability": np.minimum(own.max(axis=1), 1.0),
        "dawid_skene_certain": labelled.is_certain(own),
    }
    return LABELS.from_columns(columns)


def distribution_rows(labelled: LabelledItems) -> pa.Table:
    """Return the rows of `LABEL_DISTRIBUTIONS`."""
    task, posterior, votes = labelled.task, labelled.probabilities.published, labelled.votes
    n, k = posterior.shape
    own = labelled.probabilities.dawid_skene
    columns = {
        "task": pa.repeat(task.name, n * k),
        "item": names_of(task.items, np.repeat(np.arange(n), k)),
        "label": names_of(task.classes, np.tile(np.arange(k), n)),
        "probability": np.minimum(posterior, 1.0).reshape(-1),
        "dawid_skene_probability": np.minimum(own, 1.0).reshape(-1),
        "votes": votes.counts.reshape(-1),
    }
    return LABEL_DISTRIBUTIONS.from_columns(columns)


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
