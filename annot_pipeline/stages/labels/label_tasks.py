"""Categorical tasks as the methods take them: names, and codes of items, judges and classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.judges import JudgeSettings, entry_for
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.published_labels import TaskLabels
from annot_pipeline.methods.labels.recalibration import KnownItems
from annot_pipeline.methods.numerics.distinct import distinct
from annot_pipeline.runtime.indexing import class_order, index, index_pairs, is_in
from annot_pipeline.stages.labels.known_items import Truths, known_items


@dataclass(frozen=True)
class LabelTask:
    """One task, or some items of it: names in the order of the codes.

    Parameters
    ----------
    name
        Of the task.
    items, classes
        Their names.
    judges
        By the names that records have for them, their public names.
    codes
        Of the labels.
    known_items
        Items whose class is known.
    """

    name: str
    items: list[str]
    judges: dict[str, str]
    classes: list[str]
    codes: LabelCodes
    known_items: KnownItems

    @property
    def labels(self) -> TaskLabels:
        """Return what the methods take."""
        return TaskLabels(self.codes, self.known_items)

    def among(self, judges: Mapping[str, str], families: npt.NDArray[np.int64]) -> LabelTask:
        """Return the task with the codes and families of more judges, those of the whole task."""
        position = {name: n for n, name in enumerate(judges)}
        wider = np.array([position[name] for name in self.judges], np.int64)
        codes = replace(
            self.codes,
            judges=wider[self.codes.judges],
            n_judges=len(judges),
            families=families,
        )
        return replace(self, judges=dict(judges), codes=codes)


def judge_families(
    names: Sequence[str], settings: Sequence[JudgeSettings]
) -> npt.NDArray[np.int64]:
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


def are_doubted(judges: Mapping[str, str], doubted: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return ``(n_judges,)`` whether a judge's public name is among those of doubted judges."""
    names = frozenset(doubted)
    return np.array([public in names for public in judges.values()], np.bool_)


def label_tasks(
    judgments: pa.Table,
    tasks: pa.Table,
    truths: Truths | None = None,
    related: Sequence[JudgeSettings] = (),
) -> list[LabelTask]:
    """Return categorical tasks in code point order, each with its codes.

    Parameters
    ----------
    judgments
        ``task``, ``item``, ``judge``, ``judge_id``, ``label``, ``fate``; those used count.
    tasks
        ``task``, ``kind``, ``by_votes``, ``labels`` (declared classes in order, or null); those
        by votes are left out, as no judge is named.
    truths
        Of items; with what experts decided, they say which classes are known.
    related
        Settings that say which judges are related.
    """
    declared = {
        row["task"]: row["labels"]
        for row in tasks.to_pylist()
        if row["kind"] == "categorical" and not row["by_votes"]
    }
    used = judgments.filter(
        pc.and_(
            is_in(judgments["fate"], ("used",)),
            is_in(judgments["task"], list(declared)),
        )
    )
    if not used.num_rows:
        return []
    task, label = index(used["task"]), index(used["label"])
    item, judge = index(used["item"]), index(used["judge"])
    rows_of_judges = np.empty(len(judge.names), np.int64)  # any one: a judge has one public name
    rows_of_judges[judge.codes] = np.arange(used.num_rows)
    public = used["judge_id"].take(pa.array(rows_of_judges)).cast(TEXT).to_pylist()
    items, judges = index_pairs(task.codes, item.codes), index_pairs(task.codes, judge.codes)
    order = np.argsort(task.codes, kind="stable")
    row_ends = np.searchsorted(task.codes[order], np.arange(len(task.names) + 1))
    item_ends = np.searchsorted(items.first, np.arange(len(task.names) + 1))
    judge_ends = np.searchsorted(judges.first, np.arange(len(task.names) + 1))
    decisions = _decisions(judgments)
    categorical_tasks = []
    for t, name in enumerate(task.names):
        rows = order[row_ends[t] : row_ends[t + 1]]
        label_codes = label.codes[rows]
        answers = distinct(label_codes)[0].tolist()
        classes = list(declared[name] or class_order([label.names[c] for c in answers]))
        positions = np.full(len(label.names), -1, np.int64)
        for code in answers:
            positions[code] = classes.index(label.names[code])
        of_task = judges.second[judge_ends[t] : judge_ends[t + 1]].tolist()
        public_names = {judge.names[c]: public[c] for c in of_task}
        families = judge_families([*public_names], related)
        codes = LabelCodes(
            items.codes[rows] - item_ends[t],
            judges.codes[rows] - judge_ends[t],
            positions[label_codes],
            int(item_ends[t + 1] - item_ends[t]),
            int(judge_ends[t + 1] - judge_ends[t]),
            len(classes),
            families,
        )
        names = [item.names[c] for c in items.second[item_ends[t] : item_ends[t + 1]]]
        items_with_truth = known_items(names, classes, truths or Truths(), decisions.get(name, {}))
        categorical_tasks.append(
            LabelTask(name, names, public_names, classes, codes, items_with_truth)
        )
    return categorical_tasks


def _decisions(judgments: pa.Table) -> dict[str, dict[str, str]]:
    """Return what experts decided, by task and item."""
    rows = judgments.filter(is_in(judgments["fate"], ("adjudication",)))
    decisions: dict[str, dict[str, str]] = {}
    names = (rows[name].cast(TEXT).to_pylist() for name in ("task", "item", "label"))
    for task, item, label in zip(*names, strict=True):
        decisions.setdefault(task, {})[item] = label
    return decisions
