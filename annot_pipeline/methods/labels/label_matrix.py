"""Labels of many tasks side by side as one sparse item x (judge, label) matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # settings alone, which need Params, load no scipy
    from scipy.sparse import csr_array

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelCodes:
    """One task's labels in long form.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0; one element a label that was given.
    n_items, n_judges, n_labels
        Sizes of the code ranges; ``n_labels`` is K. Unused codes are allowed.
    """

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_judges: int
    n_labels: int

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

    def of_items(self, some: npt.NDArray[np.bool_]) -> LabelCodes:
        """Labels of some items ``(n_items,)``, with the same codes."""
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
        return cls._from_votes(np.asarray(places), item_starts, judge_starts, votes, n_labels)

    @classmethod
    def _from_votes(
        cls, tasks: Codes, item_starts: Codes, judge_starts: Codes, votes: csr_array, n_labels: int
    ) -> LabelMatrix:
        from scipy.sparse import csr_array

        by_judge = votes.T.tocsr()
        by_judge.sort_indices()
        n_items = int(item_starts[-1])
        members = csr_array(
            (np.ones(n_items), np.arange(n_items), item_starts), shape=(tasks.size, n_items)
        )
        return cls(tasks, item_starts, judge_starts, votes, by_judge, members, n_labels)

    @cached_property
    def judges_per_item(self) -> Codes:
        """Number of judges of each item, ``(n_items,)``."""
        judge = self.votes.indices // self.n_labels
        starts = self.votes.indptr
        is_first = np.ones(judge.size, np.bool_)  # of its judge, on its item
        is_first[1:] = judge[1:] != judge[:-1]
        is_first[starts[:-1][starts[:-1] < judge.size]] = True
        upto = np.concatenate([[0], np.cumsum(is_first)])
        return np.asarray(upto[starts[1:]] - upto[starts[:-1]], np.int64)

    def keep(self, mask: npt.NDArray[np.bool_]) -> LabelMatrix:
        """Return the matrix of the tasks that ``mask`` selects."""
        items = np.repeat(mask, np.diff(self.item_starts))
        columns = np.repeat(mask, np.diff(self.judge_starts) * self.n_labels)
        votes = self.votes[items][:, columns]
        votes.sort_indices()
        return self._from_votes(
            self.tasks[mask],
            np.concatenate([[0], np.cumsum(np.diff(self.item_starts)[mask])]),
            np.concatenate([[0], np.cumsum(np.diff(self.judge_starts)[mask])]),
            votes,
            self.n_labels,
        )


def _concatenate_codes(codes: list[Codes], size: int) -> npt.NDArray[np.int32] | Codes:
    """Concatenate codes, as 4-byte integers where they fit."""
    if size < 2**31:
        return np.concatenate(codes, dtype=np.int32, casting="same_kind")
    return np.concatenate(codes)
