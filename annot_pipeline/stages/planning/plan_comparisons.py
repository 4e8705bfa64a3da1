"""Tournaments: the comparisons that connect the outputs of each segment, a HIT a segment.

A bracket goes on from what is known: outputs that comparisons of judges kept connect, or that
are equal but for case, are one set. A segment that is connected gets one comparison more where
its two best outputs were never held against each other, even indirectly.

Absolute labels from comparisons, a HIT a segment: references are adequate, and so is what dominates
or ties with one; what an inadequate output dominates is inadequate. Of the others those are asked
that no answer still to come could label, the most dominant first: no question of a batch is in
vain, whatever is answered to the others.

Source: Pighin, Formiga & Marquez 2012, sections 3.1, 3.2, 4.5 and 5. **Readings**: all pairs of a
bracket are asked at once, for who meets whom does not depend on outcomes. The comparison more is
asked as long as no more pairs than a whole bracket has were compared: once, after a bracket.
What does not belong here: who meets whom (tournament), the rules of adequacy (adequacy), the
released labels (rank_segments).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.config import Campaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.comparisons import adequacy
from annot_pipeline.methods.numerics.distinct import is_new
from annot_pipeline.methods.planning.tournament import isolated_top_pairs, n_comparisons, tournament
from annot_pipeline.stages.planning.compared_outputs import ComparedOutputs
from annot_pipeline.stages.planning.hit_plan import (
    CannotPlanError,
    PlannedTask,
    Question,
    Slots,
    TaskItems,
)
from annot_pipeline.stages.shared.adequacy_answers import adequacy_answers

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
        raise _nothing_to_compare(segments)
    # random among equals, so that a cap does not choose segments by name
    order = open_[np.lexsort((rng.random(open_.size), segments.n_pairs[open_]))]
    most = settings.next_hits.segments
    _note_waiting(task, order.size, most, notes)
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


def _note_waiting(task: str, n: int, most: int, notes: list[str]) -> None:
    if n > most:
        what = f"{n - most:,} of {n:,} segments wait for the next batch"
        notes.append(f"{task}: {what}; next_hits.segments is {most:,}")


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


def _nothing_to_compare(segments: _Segments) -> CannotPlanError:
    if not (segments.n_outputs > 1).any():
        return CannotPlanError("no segment has two outputs to compare; list more under items")
    return NothingLeftError(
        f"all {int((segments.n_outputs > 1).sum()):,} segments are connected: nothing is left to "
        "ask"
    )


ROLE = "adequacy"


@dataclass(frozen=True, eq=False)
class ComparedTask:
    """A task whose outputs are to be labelled.

    Parameters
    ----------
    outputs
        Its graphs.
    references
        Systems that are references.
    adequate
        Labels that say that an output is good enough.
    """

    outputs: ComparedOutputs
    references: Sequence[str]
    adequate: Sequence[str]


def plan_adequacy(
    question: Question,
    tasks: Sequence[ComparedTask],
    votes: pa.Table,
    settings: Campaign,
    notes: list[str],
) -> PlannedTask:
    """Plan the HITs of a task of adequacy.

    Parameters
    ----------
    question
        What is asked.
    tasks
        The compared tasks that it labels, one or more.
    votes
        ``task``, ``item``, ``label``, ``votes``: answers so far. An item whose votes are a draw is
        asked again.
    settings
        ``next_hits``.
    notes
        Grows by what to know.

    Raises
    ------
    NothingLeftError, CannotPlanError
        Why there can be none.
    """
    votes = _votes_of(votes, question.task, tasks)
    asked, efforts = zip(
        *(_open_questions(question.task, task, votes, notes) for task in tasks), strict=True
    )
    start = np.cumsum([0, *(task.outputs.segment.size for task in tasks)])
    codes = np.concatenate([own + at for own, at in zip(asked, start[:-1], strict=True)])
    of_task = np.repeat(np.arange(len(tasks)), [own.size for own in asked])
    segment = np.concatenate([task.outputs.segment for task in tasks])[codes]
    n_dominates = np.concatenate([task.outputs.graphs.n_dominates for task in tasks])[codes]
    items = _all_items(question, [task.outputs.items for task in tasks], votes)
    effort = sum(efforts, Counter[str]())

    starts = np.flatnonzero(is_new(of_task, segment))
    hits = np.split(np.arange(codes.size), starts[1:]) if codes.size else []
    hits.sort(key=lambda hit: -int(n_dominates[hit[0]]))  # questions of a segment stand likewise
    hits = _once(items, codes, hits, notes)
    if not hits:
        raise _nothing_to_label(effort)
    most = settings.next_hits.segments
    _note_waiting(question.task, len(hits), most, notes)
    rows = np.concatenate(hits[:most])
    counts = _counts(effort, rows.size)
    notes.append(
        f"{question.task}: {counts['asked']:,} outputs are asked about; {counts['answered']:,} are "
        f"answered, {counts['by_reference']:,} adequate by a reference, {counts['by_spread']:,} "
        f"labelled by what dominates or ties with them, {counts['left']:,} left"
    )
    asked_items = codes[rows]
    own = zip(of_task[rows].tolist(), (asked_items - start[of_task[rows]]).tolist(), strict=True)
    slots = Slots(
        items=asked_items,
        roles=[ROLE] * asked_items.size,
        texts=[tasks[task].outputs.text(output) for task, output in own],
        sizes=np.array(
            [n for hit in hits[:most] for n in even_parts(hit.size, settings.next_hits.hit_size)]
        ),
    )
    return PlannedTask(items, slots, counts)


def _votes_of(votes: pa.Table, asking: str, tasks: Sequence[ComparedTask]) -> pa.Table:
    """Return the votes on these outputs, in a fixed order."""
    names = pa.array([name for task in tasks for name in task.outputs.items.names], TEXT)
    columns = {name: votes[name].cast(TEXT) for name in ("task", "item", "label")}
    table = pa.table(columns | {"votes": votes["votes"]})
    counts = pc.and_(pc.equal(table["task"], asking), pc.greater(table["votes"], 0))
    table = table.filter(pc.and_(counts, pc.is_in(table["item"], names)))
    return table.sort_by([("item", "ascending"), ("label", "ascending")])


def _open_questions(
    asking: str, task: ComparedTask, votes: pa.Table, notes: list[str]
) -> tuple[Codes, Counter[str]]:
    """Return the outputs of a task to ask about, by segment, and outputs by what labels them."""
    outputs = task.outputs
    graphs = outputs.graphs
    answer = adequacy_answers(votes, pa.array(outputs.items.names, TEXT), task.adequate)
    references = set(task.references)
    is_reference = np.array([system in references for system in outputs.items.systems], np.bool_)
    labelled = adequacy.spread_adequacy(graphs, is_reference, answer)
    compared = outputs.is_compared
    notes += _not_compared(asking, outputs)
    questions = adequacy.adequacy_questions(outputs.segment, graphs, labelled.adequate)
    questions = questions[compared[questions]]
    # of a component that which can be shown; ties are one question
    items = np.flatnonzero(outputs.is_shown)[::-1]
    shown_of_component = np.full(int(graphs.component.max(initial=-1)) + 1, -1)
    shown_of_component[graphs.component[items]] = items
    questions = shown_of_component[graphs.component[questions]]
    questions = questions[questions >= 0]
    by_source = {
        source: int((compared & (labelled.source == code)).sum())
        for source, code in (
            ("answered", adequacy.ASKED), ("by_reference", adequacy.REFERENCE),
            ("by_spread", adequacy.SPREAD), ("unknown", adequacy.UNKNOWN),
        )
    }  # fmt: skip
    return questions, Counter(by_source)


def _not_compared(asking: str, outputs: ComparedOutputs) -> list[str]:
    """Return notes on the outputs that no comparison connects."""
    lone = ~outputs.is_compared
    n_segments = int(outputs.segment.max(initial=-1)) + 1
    askable = np.bincount(outputs.segment[outputs.can_be_asked], minlength=n_segments)
    is_alone = askable[outputs.segment] < 2
    without_text, lone_shown = lone & ~outputs.is_shown, lone & outputs.is_shown & is_alone
    name = outputs.items.question.task
    counts = [int(which.sum()) for which in (lone, without_text, lone_shown)]
    open_ = counts[0] - counts[1] - counts[2]
    notes = []
    if open_:
        notes.append(
            f"{asking}: {open_:,} outputs of {name} have no comparison yet and are left out; "
            "next_hits.design: tournament asks for them"
        )
    none_can = (
        (counts[1], "without a text"),
        (counts[2], "without another output in their segment to compare with"),
    )
    return notes + [
        f"{asking}: {n:,} outputs of {name} {why} have no comparison and are left out"
        for n, why in none_can
        if n
    ]


def _all_items(question: Question, parts: Sequence[TaskItems], votes: pa.Table) -> TaskItems:
    """Return the outputs of all compared tasks; every comparison and vote changes the state."""
    names = [name for part in parts for name in part.names]
    vote_values = json.dumps([votes[name].to_pylist() for name in ("item", "label", "votes")])
    unscored = np.full(len(names), np.nan)
    return TaskItems(
        question=question,
        names=names,
        segments=[segment for part in parts for segment in part.segments],
        systems=[system for part in parts for system in part.systems],
        alpha=unscored,
        beta=unscored,
        n_judgments=np.zeros(len(names), np.int64),  # what has an answer is not asked
        listed={
            name: part.listed[name]
            for part in reversed(parts)
            for name in part.names
            if name in part.listed
        },
        other_state=b"\0".join(part.other_state for part in parts) + vote_values.encode(),
    )


def _once(items: TaskItems, codes: Codes, hits: Sequence[Codes], notes: list[str]) -> list[Codes]:
    """Return the HITs without items that another HIT asks under the same name."""
    names: set[str] = set()
    new_hits: list[Codes] = []
    twice = 0
    for hit in hits:
        fresh = [position for position in hit.tolist() if items.names[codes[position]] not in names]
        twice += hit.size - len(fresh)
        names |= {items.names[codes[position]] for position in fresh}
        if fresh:
            new_hits.append(np.array(fresh, np.int64))
    if twice:
        notes.append(
            f"{items.question.task}: {twice:,} outputs have the name of another and are not "
            "asked about separately: name items so that tasks and segments do not share them"
        )
    return new_hits


def _counts(effort: Counter[str], n_asked: int) -> dict[str, int]:
    labelled = {name: effort[name] for name in ("answered", "by_reference", "by_spread")}
    return {"asked": n_asked, **labelled, "left": effort["unknown"] - n_asked}


def _nothing_to_label(effort: Counter[str]) -> CannotPlanError:
    n = sum(effort.values())
    if not n:
        return CannotPlanError(
            "no output is compared yet; next_hits.design: tournament asks for comparisons"
        )
    if effort["unknown"]:
        return CannotPlanError(
            f"{effort['unknown']:,} outputs are without a label, but have no text to show"
        )
    inferred = effort["by_reference"] + effort["by_spread"]
    return NothingLeftError(
        f"all {n:,} outputs compared have a label: {effort['answered']:,} answered, "
        f"{inferred:,} inferred"
    )
