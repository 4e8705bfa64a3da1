"""Labels of some items, drawn from all items of a task and gathered from the blocks they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.held_out_labels import HeldOutLabels, drawn_items, n_judges_of
from annot_pipeline.methods.labels.label_em import Shape
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.predictive_checks import items_to_check
from annot_pipeline.methods.numerics.blocks import Blocks

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ItemSizes:
    """Of the items of a task in one block, ``(n_items,)``: labels, and judges.

    32 bits each: tasks have tens of millions of items.
    """

    n: npt.NDArray[np.int32]
    n_judges: npt.NDArray[np.int32]
    shape: Shape


def item_sizes(tasks: Sequence[LabelCodes]) -> list[ItemSizes]:
    """Return the sizes of the items of each task."""
    return [
        ItemSizes(
            np.bincount(task.items, minlength=task.n_items).astype(np.int32),
            n_judges_of(task).astype(np.int32),
            Shape(task.n_items, task.n_judges, task.n_labels),
        )
        for task in tasks
    ]


class LabelDraws:
    """Draws items of tasks, and gathers their labels from blocks.

    Parameters
    ----------
    tasks
        Of each block the labels of all tasks, with codes of whole tasks but for items.
    """

    def __init__(self, tasks: Blocks[Sequence[LabelCodes]]) -> None:
        self._tasks = tasks
        by_block = tasks.map(item_sizes)
        self._of = [list(of) for of in zip(*by_block, strict=True)]

    @property
    def shapes(self) -> list[Shape]:
        """Of each task, over all blocks."""
        return [
            blocks[0].shape._replace(n_items=sum(of.shape.n_items for of in blocks))
            for blocks in self._of
        ]

    def n_predictable(self, task: int) -> int:
        """Labels of items of a task that have others, of other judges."""
        return sum(int(of.n[of.n_judges > 1].sum()) for of in self._of[task])

    def held_out(
        self, streams: Mapping[int, np.random.Generator], most: int
    ) -> dict[int, HeldOutLabels]:
        """Return labels of tasks to hold out, about ``most`` of each; streams are by task."""
        some = {task: drawn_items(self._all(task, "n"), rng, most) for task, rng in streams.items()}
        gathered = self._gather(some)
        return {task: HeldOutLabels.of(gathered[task], rng) for task, rng in streams.items()}

    def to_check(self, streams: Mapping[int, np.random.Generator]) -> dict[int, LabelCodes]:
        """Return labels of tasks that take part in predictive checks."""
        return self._gather(
            {
                task: items_to_check(self._all(task, "n_judges"), rng)
                for task, rng in streams.items()
            }
        )

    def _all(self, task: int, name: str) -> Codes:
        return np.concatenate([getattr(of, name) for of in self._of[task]]).astype(np.int64)

    def _gather(self, some: Mapping[int, Flags]) -> dict[int, LabelCodes]:
        """Labels of some items ``(n_items,)`` of tasks."""
        starts = {t: np.cumsum([0, *(of.n.size for of in self._of[t])]) for t in some}
        wanted = [
            {t: flags[starts[t][b] : starts[t][b + 1]] for t, flags in some.items()}
            for b in range(len(self._of[0]) if self._of else 0)
        ]
        by_block = self._tasks.map(labels_of_items, each=wanted)
        found = {}
        for t, flags in some.items():
            parts = [
                replace(of[t], items=of[t].items + start, n_items=flags.size)
                for of, start in zip(by_block, starts[t].tolist(), strict=False)
            ]
            items, judges, labels = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("items", "judges", "labels")
            )
            found[t] = replace(parts[0], items=items, judges=judges, labels=labels)
        return found


def labels_of_items(
    tasks: Sequence[LabelCodes], wanted: Mapping[int, Flags]
) -> dict[int, LabelCodes]:
    """Return the labels of wanted items of a block, by task."""
    return {t: tasks[t].of_items(some) for t, some in wanted.items()}
