"""Quality-controlled HITs: where controls stand, and which outputs they belong to.

A HIT is groups of slots, in the paper ten of ten: ordinary outputs and one control of each
kind (Graham et al. 2013, section 4.1). A control belongs to an ordinary output of another
group, so many groups away that the two are never nearer or farther than the spacing allows; no
output has two controls. The order within a group is random, so a control may come before or
after its output.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags

ORDINARY = 0
"""Kind of a slot without a control; the controls of a design are counted from 1."""


@dataclass(frozen=True)
class HitDesign:
    """How a HIT is built.

    Parameters
    ----------
    groups, group_size
        Groups of a HIT, and slots of a group.
    controls
        Names of the kinds of controls; each group holds one of each.
    spacing
        Fewest and most slots between a control and its output.

    Raises
    ------
    ValueError
        What cannot be, and what could.
    """

    groups: int = 10
    group_size: int = 10
    controls: tuple[str, ...] = ("ask_again", "bad_reference", "good_reference")
    spacing: tuple[int, int] = (40, 60)

    def __post_init__(self) -> None:
        if not 1 <= len(self.controls) <= self.group_size // 2:
            raise ValueError(
                f"a group of {self.group_size} holds 1 to {self.group_size // 2} controls, "
                f"not {len(self.controls)}: each belongs to an ordinary output of its own"
            )
        least, most = self.spacing
        if not 1 <= least <= most:
            raise ValueError(f"a spacing of {least} to {most} does not rise from 1 or more")
        if not self._distances():
            raise ValueError(
                f"pairs {least} to {most} apart are impossible with groups of {self.group_size}: "
                f"groups d apart give {self.group_size} d - {self.group_size - 1} to "
                f"{self.group_size} d + {self.group_size - 1}"
            )
        if not self._fitting():
            fewest = " or ".join(f"a multiple of {2 * d}" for d in self._distances())
            raise ValueError(
                f"pairs {least} to {most} apart are impossible with {self.groups} groups: "
                f"the number of groups must be {fewest}"
            )

    def _distances(self) -> list[int]:
        """Return distances in groups that keep all pairs within the spacing."""
        within = self.group_size - 1
        largest = self.spacing[1] // self.group_size + 1
        return [
            d
            for d in range(1, largest + 1)
            if self.group_size * d - within >= self.spacing[0]
            and self.group_size * d + within <= self.spacing[1]
        ]

    def _fitting(self) -> list[int]:
        """Return the sizes by which groups can change places two by two."""
        if self.groups < 1:
            return []
        return [d for d in self._distances() if self.groups % (2 * d) == 0]

    @property
    def slots(self) -> int:
        """Return slots of a HIT."""
        return self.groups * self.group_size

    @property
    def ordinary(self) -> int:
        """Return ordinary outputs of a group."""
        return self.group_size - len(self.controls)

    @property
    def outputs(self) -> int:
        """Return ordinary outputs of a HIT, all different."""
        return self.groups * self.ordinary

    @property
    def kinds(self) -> Codes:
        """Return ``(slots,)`` kind of each slot, before the order within groups is drawn."""
        member = np.arange(self.group_size)
        return np.tile(np.maximum(member - self.ordinary + 1, ORDINARY), self.groups)

    @property
    def slot_outputs(self) -> Codes:
        """Return ``(slots,)`` which of the outputs each slot shows.

        Those of a group stand together.

        The first outputs of a group have controls, in the order of the kinds.
        """
        distance = self._fitting()[0]
        group, member = np.divmod(np.arange(self.slots), self.group_size)
        away = np.where(group // distance % 2 == 0, group + distance, group - distance)
        of_group = np.where(self.kinds == ORDINARY, group, away)
        slot_outputs: Codes = of_group * self.ordinary + member % self.ordinary
        return slot_outputs


@dataclass(frozen=True, eq=False)
class ControlledHits:
    """Arrays are ``(n_hits, slots)``: codes of items, and kinds of slots."""

    items: Codes
    kinds: Codes


def controlled_hits(
    judgments: Codes,
    eligible: Flags,
    *,
    n_hits: int,
    rng: np.random.Generator,
    design: HitDesign,
) -> ControlledHits:
    """Return HITs of the items with fewest judgments; each HIT shows an item's output once.

    Parameters
    ----------
    judgments
        ``(n_items,)`` judgments of each item so far; what is chosen here adds to them.
    eligible
        ``(n_controls, n_items)`` of which items a control of each kind can be made.
    n_hits
        HITs to make.
    rng
        Source of all randomness: which of the equally judged come first, and the order.
    design
        How a HIT is built.

    Raises
    ------
    ValueError
        There are not as many items, or of one kind of control not as many that can have it, as
        a HIT needs.
    """
    if judgments.size < design.outputs:
        raise ValueError(f"a HIT shows {design.outputs} items, and there are {judgments.size}")
    ties = rng.random(judgments.size)
    queue = [
        (int(n), float(tie), item)
        for item, (n, tie) in enumerate(zip(judgments, ties, strict=True))
    ]
    heapq.heapify(queue)
    kinds, slot_outputs = design.kinds, design.slot_outputs
    items = np.empty((n_hits, design.slots), np.int64)
    order = np.empty_like(items)
    for hit in range(n_hits):
        with_control, plain, counts = _outputs(queue, eligible, design)
        outputs = np.empty((design.groups, design.ordinary), np.int64)
        outputs[:, : len(design.controls)] = rng.permuted(with_control, axis=1).T
        outputs[:, len(design.controls) :] = rng.permutation(plain).reshape(design.groups, -1)
        items[hit] = outputs.reshape(-1)[slot_outputs]
        within = rng.random((design.groups, design.group_size)).argsort(axis=1)
        order[hit] = (within + np.arange(0, design.slots, design.group_size)[:, None]).reshape(-1)
        for item, tie in zip(
            outputs.reshape(-1).tolist(), rng.random(outputs.size).tolist(), strict=True
        ):
            heapq.heappush(queue, (counts[item] + 1, tie, item))
    return ControlledHits(np.take_along_axis(items, order, axis=1), kinds[order])


_Queue = list[tuple[int, float, int]]


def _outputs(
    queue: _Queue, eligible: Flags, design: HitDesign
) -> tuple[Codes, Codes, dict[int, int]]:
    """Return items with a control ``(n_controls, groups)``, the others, and judgments of all.

    The items with fewest judgments, and as many more as it takes to have all controls.
    """
    popped: _Queue = []
    matched = None
    while matched is None:
        more = min(max(design.outputs, len(popped)), len(queue))  # twice as far each time
        if not more:
            have = {n: int(e.sum()) for n, e in zip(design.controls, eligible, strict=True)}
            raise ValueError(
                f"a HIT needs {design.groups} items of their own for each control; "
                f"fit for them are: {', '.join(f'{name} {n}' for name, n in have.items())}"
            )
        popped += [heapq.heappop(queue) for _ in range(more)]
        matched = _matched(eligible[:, [item for *_, item in popped]], design.groups)
    is_matched = np.zeros(len(popped), np.bool_)
    is_matched[matched] = True
    plain = np.flatnonzero(~is_matched)
    n_others = design.outputs - matched.size
    for position in plain[n_others:]:
        heapq.heappush(queue, popped[position])
    item = np.array([item for *_, item in popped])
    plain = plain[:n_others]
    counts = {popped[p][2]: popped[p][0] for p in (*matched.reshape(-1), *plain)}
    return item[matched], item[plain], counts


def _matched(eligible: Flags, groups: int) -> Codes | None:
    """Return places of different items for each kind of control; None if there are not enough."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    edges = csr_array(np.repeat(eligible, groups, axis=0).astype(np.int8))
    partners = maximum_bipartite_matching(edges, perm_type="column")
    return None if (partners < 0).any() else partners.reshape(-1, groups).astype(np.int64)
