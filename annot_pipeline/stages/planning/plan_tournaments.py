"""Tournaments: the comparisons that connect the outputs of each segment, a HIT a segment.

A bracket goes on from what is known: outputs that comparisons of judges kept connect, or that
are equal but for case, are one set. A segment that is connected gets one comparison more where
its two best outputs were never held against each other, even indirectly.

Source: Pighin, Formiga & Marquez 2012, sections 3.1, 4.5 and 5. **Readings**: all pairs of a
bracket are asked at once, for who meets whom does not depend on outcomes. The comparison more is
asked as long as no more pairs than a whole bracket has were compared: once, after a bracket.
What does not belong here: who meets whom (tournament).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.config import Campaign
from annot_pipeline.methods.planning.tournament import isolated_top_pairs, n_comparisons, tournament
from annot_pipeline.stages.planning.compared_outputs import ComparedOutputs
from annot_pipeline.stages.planning.hit_plan import CannotPlanError, Slots

ROLES = ("bracket", "top_pair")
"""Why two outputs are compared: to connect the segment; to settle which one is best."""


class NothingLeftError(CannotPlanError):
    """All that the design asks of a task is known; a message for people."""


@dataclass(frozen=True, eq=False)
class _Segments:
    """Segments by code; arrays are ``(n_segments,)``.

    Parameters
    ----------
    n_outputs
        Outputs that can be asked about, equal ones once.
    n_sets
        Sets of them that nothing connects.
    n_pairs
        Pairs compared, equal outputs taken for one.
    top
        ``(n_segments, 2)`` the pair that one comparison more is about; -1: there is none.
    """

    n_outputs: Codes
    n_sets: Codes
    n_pairs: Codes
    top: Codes

    @property
    def is_open(self) -> Flags:
        """Return whether the bracket is not finished."""
        return np.asarray(self.n_sets > 1)


def plan_tournament(outputs: ComparedOutputs, settings: Campaign, notes: list[str]) -> Slots:
    """Plan the HITs of a task: the segments with the fewest comparisons first.

    Raises
    ------
    NothingLeftError, CannotPlanError
        Why there can be none.
    """
    task, rng = outputs.items.question.task, outputs.items.rng(settings.seed)
    can_be_asked = outputs.can_be_asked
    segments = _segments(outputs, can_be_asked)
    open_ = np.flatnonzero(segments.is_open | (segments.top[:, 0] >= 0))
    _say(task, outputs, segments, notes)
    if not open_.size:
        raise _nothing(segments)
    # random among equals, so that a cap does not choose segments by name
    order = open_[np.lexsort((rng.random(open_.size), segments.n_pairs[open_]))]
    most = settings.next_hits.segments
    if order.size > most:
        notes.append(
            f"{task}: {order.size - most:,} of {order.size:,} segments wait for the next batch; "
            f"next_hits.segments is {most:,}"
        )
    members = _by_segment(outputs.segment, can_be_asked)
    chosen_pairs: list[Codes] = []
    roles: list[str] = []
    sizes: list[int] = []
    for segment in order[:most].tolist():
        if segments.n_sets[segment] > 1:
            sets = _sets(outputs.graphs.part, members[segment])
            pairs, role = tournament(sets, rng).pairs, ROLES[0]
        else:
            pairs, role = rng.permuted(segments.top[segment])[None, :], ROLES[1]
        chosen_pairs.append(pairs)
        roles += [role] * len(pairs)
        sizes += even_parts(len(pairs), settings.next_hits.hit_size)
    all_pairs = np.concatenate(chosen_pairs)
    return Slots(
        items=all_pairs[:, 0],
        roles=roles,
        texts=[outputs.text(item) for item in all_pairs[:, 0].tolist()],
        sizes=np.array(sizes, np.int64),
        items_b=all_pairs[:, 1],
        texts_b=[outputs.text(item) for item in all_pairs[:, 1].tolist()],
    )


def even_parts(n: int, most: int) -> list[int]:
    """Return the sizes of the fewest nearly equal parts of n questions, none above ``most``."""
    n_parts = -(-n // most)
    return [n // n_parts + (part < n % n_parts) for part in range(n_parts)]


def _segments(outputs: ComparedOutputs, can_be_asked: Flags) -> _Segments:
    segment, representative = outputs.segment, outputs.representative
    n_segments = int(segment.max(initial=-1)) + 1
    first, second = representative[outputs.first], representative[outputs.second]
    pairs = np.sort(np.stack([first, second])[:, first != second], axis=0)
    pairs = np.unique(pairs, axis=1)
    sets = np.unique(np.stack([segment, outputs.graphs.part])[:, can_be_asked], axis=1)
    n_outputs, n_sets, n_pairs = (
        np.bincount(segments, minlength=n_segments)
        for segments in (segment[can_be_asked], sets[0], segment[pairs[0]])
    )
    top = np.full((n_segments, 2), -1)
    for position, pair in _top_pairs(outputs, can_be_asked):
        if n_pairs[position] <= n_comparisons(int(n_outputs[position])):
            top[position] = pair
    return _Segments(n_outputs, n_sets, n_pairs, top)


def _top_pairs(
    outputs: ComparedOutputs, can_be_asked: Flags
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield segments whose two best outputs are isolated, and which outputs to show."""
    component = outputs.graphs.component
    nodes = np.flatnonzero(can_be_asked)
    least = np.full(int(component.max(initial=-1)) + 1, -1)
    least[component[nodes[::-1]]] = nodes[::-1]  # of a component the first that can be asked
    top_pairs = isolated_top_pairs(outputs.segment, outputs.graphs)
    for segment, *pair in zip(
        top_pairs.graph.tolist(),
        *(least[component[side]] for side in (top_pairs.first, top_pairs.second)),
        strict=True,
    ):
        a, b = map(int, pair)
        if min(a, b) >= 0:
            yield segment, (a, b)


def _by_segment(segment: Codes, can_be_asked: Flags) -> list[Codes]:
    """Return the outputs that can be asked about, by segment."""
    nodes = np.flatnonzero(can_be_asked)
    ends = np.searchsorted(segment[nodes], np.arange(int(segment.max(initial=-1)) + 2))
    return [nodes[start:end] for start, end in itertools.pairwise(ends)]


def _sets(part: Codes, members: Codes) -> list[list[int]]:
    members_by_part: dict[int, list[int]] = {}
    for item in members.tolist():
        members_by_part.setdefault(int(part[item]), []).append(item)
    return list(members_by_part.values())


def _say(task: str, outputs: ComparedOutputs, segments: _Segments, notes: list[str]) -> None:
    if all(segment is None for segment in outputs.items.segments) and outputs.segment.size:
        notes.append(f"{task}: no segment is mapped: all its outputs are treated as one segment")
    equal = int((outputs.representative != np.arange(outputs.segment.size)).sum())
    if equal:
        notes.append(
            f"{task}: {equal:,} outputs are equal to another of their segment except in case: "
            "ties, and not asked about"
        )
    n_small = int((segments.n_outputs < 2).sum())
    if n_small:
        notes.append(
            f"{task}: {n_small:,} of {segments.n_outputs.size:,} segments have fewer than two "
            "outputs to compare"
        )


def _nothing(segments: _Segments) -> CannotPlanError:
    if not (segments.n_outputs > 1).any():
        return CannotPlanError("no segment has two outputs to compare; list more under items")
    return NothingLeftError(
        f"all {int((segments.n_outputs > 1).sum()):,} segments are connected: nothing is left to "
        "ask"
    )
