"""Labels of many tasks side by side as one sparse item x (judge, label) matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.methods.numerics.distinct import is_new

if TYPE_CHECKING:  # settings alone, which need Params, load no scipy
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class LabelCodes:
    """One task's labels in long form.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0; one element a label that was given.
    n_items, n_judges, n_labels
        Sizes of the code ranges; ``n_labels`` is K. Unused codes are allowed.
    families
        ``(n_judges,)`` family of each judge, codes below ``n_judges``. Labels that one family gives
        an item count together as one judge's label, repeats of one judge too: each of m labels has
        weight 1/m. None: every label counts by itself, as Dawid & Skene 1979 have it.
    models
        ``(n_judges,)`` whether each judge is a language model; None: nobody is.
    """

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_judges: int
    n_labels: int
    families: Codes | None = None
    models: Flags | None = None

    def __post_init__(self) -> None:
        for name, codes, size in (
            ("items", self.items, self.n_items),
            ("judges", self.judges, self.n_judges),
            ("labels", self.labels, self.n_labels),
        ):
            if codes.shape != self.items.shape or codes.ndim != 1:
                raise ValueError("items, judges and labels must be 1-d and of one length")
            if codes.size and not 0 <= codes.min() <= codes.max() < size:
                code_range = f"{codes.min()} to {codes.max()}"
                raise ValueError(f"{name} holds codes {code_range}, allowed are 0 to {size - 1}")
        if self.families is not None:
            if self.families.shape != (self.n_judges,):
                raise ValueError(
                    f"families has shape {self.families.shape}, must be one for each of "
                    f"{self.n_judges} judges"
                )
            if ((self.families < 0) | (self.families >= self.n_judges)).any():
                raise ValueError(f"families must be codes from 0 to {self.n_judges - 1}")

    def with_families(self, families: Codes) -> LabelCodes:
        """Return the same labels with families of judges."""
        return replace(self, families=families)

    def of_items(self, some: npt.NDArray[np.bool_]) -> LabelCodes:
        """Return labels of some items ``(n_items,)``, with the same codes."""
        rows = some[self.items]
        return replace(
            self, items=self.items[rows], judges=self.judges[rows], labels=self.labels[rows]
        )


@dataclass(frozen=True)
class LabelMatrix:
    """Tasks with K classes, laid side by side: a block-diagonal label matrix."""

    tasks: Codes  # (n_tasks,) places in the caller's list
    item_starts: Codes  # (n_tasks + 1,)
    judge_starts: Codes  # (n_tasks + 1,)
    votes: csr_array  # (n_items, n_judges * K) labels given, column = judge * K + label
    votes_by_judge: csr_array  # its transpose
    members: csr_array  # (n_tasks, n_items) which item is whose
    n_labels: int
    families: Codes | None = None
    """``(n_judges,)`` family of each judge within its task; -1 in tasks without families."""
    weighted_votes: csr_array | None = None
    """`votes`, each label by its share of its family's labels of the item; None if all are 1."""

    @property
    def evidence(self) -> csr_array:
        """Return labels as they count for the class of an item, ``(n_items, n_judges * K)``."""
        return self.votes if self.weighted_votes is None else self.weighted_votes

    @classmethod
    def from_tasks(cls, places: Sequence[int], tasks: Sequence[LabelCodes]) -> LabelMatrix:
        """Lay tasks side by side; ``places`` say which of the caller's tasks they are."""
        from scipy.sparse import csr_array

        n_labels = tasks[0].n_labels
        item_starts = np.cumsum([0] + [task.n_items for task in tasks])
        judge_starts = np.cumsum([0] + [task.n_judges for task in tasks])
        shape = (int(item_starts[-1]), int(judge_starts[-1]) * n_labels)
        rows = [task.items + start for task, start in zip(tasks, item_starts, strict=False)]
        columns = [
            (task.judges + start) * n_labels + task.labels
            for task, start in zip(tasks, judge_starts, strict=False)
        ]
        cells = _concatenate_codes(rows, shape[0]), _concatenate_codes(columns, shape[1])
        del rows, columns  # with millions of labels, memory is short here
        votes = csr_array((np.ones(cells[0].size), cells), shape=shape)
        del cells
        votes.sum_duplicates()
        families = _concatenate_families(tasks)
        return cls._from_votes(
            np.asarray(places), item_starts, judge_starts, votes, n_labels, families
        )

    @classmethod
    def _from_votes(
        cls,
        tasks: Codes,
        item_starts: Codes,
        judge_starts: Codes,
        votes: csr_array,
        n_labels: int,
        families: Codes | None,
    ) -> LabelMatrix:
        from scipy.sparse import csr_array

        by_judge = votes.T.tocsr()
        by_judge.sort_indices()
        n_items = int(item_starts[-1])
        members = csr_array(
            (np.ones(n_items), np.arange(n_items), item_starts), shape=(tasks.size, n_items)
        )
        weighted = None if families is None else _weight_votes(votes, n_labels, families)
        return cls(
            tasks, item_starts, judge_starts, votes, by_judge, members, n_labels, families, weighted
        )

    @cached_property
    def judges_per_item(self) -> Codes:
        """Return the number of judges of each item, ``(n_items,)``.

        Judges of one family are one.
        """
        if self.families is not None:
            _, item = _labels_of_families(self.votes, self.n_labels, self.families)
            return np.asarray(np.bincount(item, minlength=self.votes.shape[0]), np.int64)
        judge = self.votes.indices // self.n_labels
        starts = self.votes.indptr
        is_first = is_new(judge)  # of its judge, on its item
        is_first[starts[:-1][starts[:-1] < judge.size]] = True
        upto = np.concatenate([[0], np.cumsum(is_first)])
        return np.asarray(upto[starts[1:]] - upto[starts[:-1]], np.int64)

    def keep(self, mask: npt.NDArray[np.bool_]) -> LabelMatrix:
        """Return the matrix of the tasks that ``mask`` selects."""
        items = np.repeat(mask, np.diff(self.item_starts))
        columns = np.repeat(mask, self._n_judges * self.n_labels)
        votes = self.votes[items][:, columns]
        votes.sort_indices()
        return self._from_votes(
            self.tasks[mask],
            np.concatenate([[0], np.cumsum(np.diff(self.item_starts)[mask])]),
            np.concatenate([[0], np.cumsum(self._n_judges[mask])]),
            votes,
            self.n_labels,
            None if self.families is None else self.families[np.repeat(mask, self._n_judges)],
        )

    @property
    def _n_judges(self) -> Codes:
        return np.diff(self.judge_starts)


def _concatenate_codes(codes: list[Codes], size: int) -> npt.NDArray[np.int32] | Codes:
    """Concatenate codes, as 4-byte integers where they fit."""
    if size < 2**31:
        return np.concatenate(codes, dtype=np.int32, casting="same_kind")
    return np.concatenate(codes)


def _concatenate_families(tasks: Sequence[LabelCodes]) -> Codes | None:
    """Return the families of judges of all tasks; -1 in a task without families."""
    if all(task.families is None for task in tasks):
        return None
    return np.concatenate(
        [np.full(task.n_judges, -1) if task.families is None else task.families for task in tasks]
    )


def _weight_votes(votes: csr_array, n_labels: int, families: Codes) -> csr_array | None:
    """Return votes divided by the number of votes of their family on the item, or None if by 1."""
    from scipy.sparse import csr_array

    group, item = _labels_of_families(votes, n_labels, families)
    n_votes = np.bincount(group, weights=votes.data, minlength=item.size)[group]
    n_votes[families[votes.indices // n_labels] < 0] = 1
    if (n_votes == 1).all():
        return None
    return csr_array((votes.data / n_votes, votes.indices, votes.indptr), shape=votes.shape)


def _labels_of_families(votes: csr_array, n_labels: int, families: Codes) -> tuple[Codes, Codes]:
    """Return the group (item, family) of each stored vote, and the item of each group.

    A judge whose family is -1 is a group alone.
    """
    judge = votes.indices // n_labels
    n_judges = families.size
    family = np.where(families < 0, n_judges + np.arange(n_judges), families)[judge]
    item = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    groups, group = np.unique(item * (2 * n_judges) + family, return_inverse=True)
    return group.reshape(-1), groups // max(2 * n_judges, 1)
