"""Answers of judges of labels as codes, task by task.

What does not belong here: what is tested (label_judges, suspicions).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.methods.judges.label_chance import LabelChance, label_chance
from annot_pipeline.methods.judges.label_copies import LabelCopies, label_copies
from annot_pipeline.methods.numerics.distinct import linked_groups
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.judges.control_scores import Units


@dataclass(frozen=True)
class LabelTask:
    """Answers of one task, as codes.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes.
    n_items, n_labels
        How many there are of each.
    pair
        ``(n_judges,)`` task and judge, as a place in the pairs of units.
    families
        ``(n_judges,)`` code of the declared family, or of the judge.
    is_model
        ``(n_judges,)`` whether the judge is a model.
    is_adjudicated
        ``(n_items,)`` whether an expert has decided the item.
    """

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_labels: int
    pair: Codes
    families: Codes
    is_model: Flags
    is_adjudicated: Flags

    def of_judges(self, chosen: Flags) -> LabelTask:
        """Return the answers of some judges, and the items that they answered."""
        return self._of_rows(np.flatnonzero(chosen[self.judges]))

    def _of_rows(self, some: Codes) -> LabelTask:
        items, item_codes = np.unique(self.items[some], return_inverse=True)
        judges, judge_codes = np.unique(self.judges[some], return_inverse=True)
        return LabelTask(
            item_codes, judge_codes, self.labels[some], items.size, self.n_labels,
            self.pair[judges], self.families[judges], self.is_model[judges],
            self.is_adjudicated[items],
        )  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """Return a digest of the codes of the answers."""
        codes = {"item": self.items, "judge": self.judges, "label": self.labels}
        return hash_values([pa.table({**codes, "n": np.full(self.items.size, self.n_labels)})])

    def by_judge_and_label(self) -> Codes:
        """Return ``(n_judges, n_labels)`` numbers of answers."""
        table = np.zeros((self.pair.size, self.n_labels), np.int64)
        np.add.at(table, (self.judges, self.labels), 1)
        return table

    @cached_property
    def component(self) -> Codes:
        """Return the component of each judge, ``(n_judges,)``: who is linked by shared items."""
        return linked_groups(self.judges, self.items, self.pair.size)

    def linked(self, fewest: int) -> Iterator[tuple[Codes, LabelTask]]:
        """Yield each group of linked judges of at least ``fewest``, with their answers."""
        judges = np.argsort(self.component, kind="stable")
        ends = np.cumsum(np.bincount(self.component))
        rows = np.argsort(self.component[self.judges], kind="stable")
        row_ends = np.cumsum(np.bincount(self.component[self.judges], minlength=ends.size))
        for n, judge_end in enumerate(ends.tolist()):
            start = ends[n - 1] if n else 0
            if judge_end - start >= fewest:
                some = np.sort(judges[start:judge_end])
                yield some, self._of_rows(np.sort(rows[row_ends[n - 1] if n else 0 : row_ends[n]]))

    def chance(self, groups: Codes, reference: Flags) -> LabelChance:
        """Return how far judges agree with those of the reference who are in other groups."""
        return label_chance(
            self.items, self.judges, self.labels, n_items=self.n_items, n_judges=self.pair.size,
            n_labels=self.n_labels, groups=groups, reference=reference,
        )  # fmt: skip

    def copies(self) -> LabelCopies:
        """Return the pairs who copy; judges who always give one answer agree without copying."""
        varies = ((self.by_judge_and_label() > 0).sum(axis=1) > 1)[self.judges]
        return label_copies(
            self.items[varies], self.judges[varies], self.labels[varies], n_items=self.n_items,
            n_judges=self.pair.size, n_labels=self.n_labels,
        )  # fmt: skip


def label_tasks(
    rows: pa.Table, families: dict[str, str], models: set[str], units: Units
) -> Iterator[LabelTask]:
    """Yield the tasks of answers; parameters as `label_judges` has them."""
    task, item, label = (index(rows[name]) for name in ("task", "item", "label"))
    pair = units.pair_of_rows(rows) if rows.num_rows else np.zeros(0, np.int64)
    adjudicated = rows["adjudicated"].to_numpy()
    order = np.argsort(task.codes, kind="stable")
    ends = np.searchsorted(task.codes[order], np.arange(len(task.names) + 1))
    for n in range(len(task.names)):
        some = order[ends[n] : ends[n + 1]]
        items, item_codes = np.unique(item.codes[some], return_inverse=True)
        labels, label_codes = np.unique(label.codes[some], return_inverse=True)
        pairs, judge_codes = np.unique(pair[some], return_inverse=True)
        names = [units.judge.names[code] for code in units.pairs.second[pairs].tolist()]
        is_adjudicated = np.zeros(items.size, np.bool_)
        is_adjudicated[item_codes] = adjudicated[some]
        first: dict[str, int] = {}
        related = [
            first.setdefault(families[name], k) if name in families else k
            for k, name in enumerate(names)
        ]
        yield LabelTask(
            item_codes, judge_codes, label_codes, items.size, labels.size, pairs,
            np.array(related, np.int64), np.array([name in models for name in names], np.bool_),
            is_adjudicated,
        )  # fmt: skip


def joined_groups(first: Codes, second: Codes) -> Codes:
    """Return groups of judges who are together in either grouping."""
    judges = np.arange(first.size)
    links = np.concatenate([first, first.size + second])
    return linked_groups(np.tile(judges, 2), links, first.size)
