"""Categorical tasks as the methods take them: names, and codes of items, judges and classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.config.judges import JudgeSettings, entry_for, is_model
from annot_pipeline.methods.labels.inference import FEWEST_JUDGES
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.published_labels import ItemFit, TaskLabels
from annot_pipeline.methods.labels.recalibration import KnownItems
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import class_order, is_in
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
