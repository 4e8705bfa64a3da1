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
    """Numbers of labels and of judges of a task's items in one block, ``(n_items,)`` each.

    They have 32 bits, as tasks have tens of millions of items.
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
        self._sizes = [list(sizes) for sizes in zip(*by_block, strict=True)]

    @property
    def shapes(self) -> list[Shape]:
        """Of each task, over all blocks."""
        return [
            blocks[0].shape._replace(n_items=sum(block.shape.n_items for block in blocks))
            for blocks in self._sizes
        ]

    def n_predictable(self, task: int) -> int:
        """Labels of items of a task that have others, of other judges."""
        return sum(int(block.n[block.n_judges > 1].sum()) for block in self._sizes[task])

    def held_out(
        self, streams: Mapping[int, np.random.Generator], most: int
    ) -> dict[int, HeldOutLabels]:
        """Return labels of tasks to hold out, about ``most`` of each; streams are by task."""
        drawn = {
            task: drawn_items(self._all(task, "n"), rng, most) for task, rng in streams.items()
        }
        gathered = self._gather(drawn)
        return {
            task: HeldOutLabels.from_labels(gathered[task], rng) for task, rng in streams.items()
        }

    def to_check(self, streams: Mapping[int, np.random.Generator]) -> dict[int, LabelCodes]:
        """Return labels of tasks that take part in predictive checks."""
        return self._gather(
            {
                task: items_to_check(self._all(task, "n_judges"), rng)
                for task, rng in streams.items()
            }
        )

    def _all(self, task: int, name: str) -> Codes:
        return np.concatenate([getattr(block, name) for block in self._sizes[task]]).astype(
            np.int64
        )

    def _gather(self, drawn: Mapping[int, Flags]) -> dict[int, LabelCodes]:
        """Return the labels of drawn items ``(n_items,)``, by task."""
        starts = {t: np.cumsum([0, *(block.n.size for block in self._sizes[t])]) for t in drawn}
        wanted = [
            {t: flags[starts[t][b] : starts[t][b + 1]] for t, flags in drawn.items()}
            for b in range(len(self._sizes[0]) if self._sizes else 0)
        ]
        by_block = self._tasks.map(labels_of_items, each=wanted)
        gathered = {}
        for t, flags in drawn.items():
            parts = [
                replace(labels[t], items=labels[t].items + start, n_items=flags.size)
                for labels, start in zip(by_block, starts[t].tolist(), strict=False)
            ]
            items, judges, labels = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("items", "judges", "labels")
            )
            gathered[t] = replace(parts[0], items=items, judges=judges, labels=labels)
        return gathered


def labels_of_items(
    tasks: Sequence[LabelCodes], wanted: Mapping[int, Flags]
) -> dict[int, LabelCodes]:
    """Return the labels of wanted items of a block, by task."""
    return {t: tasks[t].of_items(flags) for t, flags in wanted.items()}
