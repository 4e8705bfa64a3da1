"""Replays the recorded judgments of a campaign's items: DA, RA and EASL at equal cost.

A question draws one of the item's recorded judgments that was not drawn yet, at random; once
all are drawn, they can be drawn again, which is counted, for it adds cost and no knowledge. A
HIT is answered by a judge who has judgments left for all its items, where there is one; else
each item is answered by its own. Comparisons between different judges carry the differences
between their scales: where HITs of one judge are rare, RA is not what it would be with real
HITs. Nor were the judgments given in these HITs, so a replay can show what choosing items
gains, and not what seeing them together does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.numerics.moments import means
from studies.item_rounds import ASKERS, ItemTask, repeat_rounds
from studies.oracles import Oracle, on_scale, read_item_oracle
from studies.params import ItemReplay, too_few
from studies.progress import Progress, Steps
from studies.recorded import TITLE, RecordedTask, read_recorded

MEANS = "mean of all judgments"
"""The oracle where a campaign has no truth."""

ITERATIONS = 10
"""Rounds, unless there are fewer judgments of an item."""


@dataclass
class Drawn:
    """What one method drew, over all repetitions."""

    judgments: int = 0
    repeats: int = 0
    hits: int = 0
    hits_of_one_judge: int = 0

    def __add__(self, other: Drawn) -> Drawn:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Drawn(*(mine + theirs for mine, theirs in pairs))


class RecordedAnswers:
    """Draws from recorded judgments.

    Parameters
    ----------
    items, judges, scores
        ``(n_judgments,)`` codes from 0, and scores in [0, 1]; every item has one or more.
    n_items
        Size of the items' code range.
    rng
        Draws.
    draws
        Counted there.
    """

    def __init__(
        self, items: Codes, judges: Codes, scores: Floats, n_items: int,
        rng: np.random.Generator, draws: Drawn,
    ) -> None:  # fmt: skip
        order = np.argsort(items, kind="stable")
        ends = np.cumsum(np.bincount(items, minlength=n_items))[:-1]
        self._all = [part.tolist() for part in np.split(order, ends)]
        self._left: list[list[int]] = [[] for _ in self._all]
        self._cycle = [0] * n_items
        self._judge, self._score = judges.tolist(), scores
        self._rng, self.draws = rng, draws

    def score_items(self, items: Codes) -> Floats:
        """Return one judgment of each item."""
        return self._score[[self._draw(item) for item in items.tolist()]]

    def score_hits(self, hits: Codes) -> Floats:
        """Return one judgment of each item of each HIT, of one judge where there is one."""
        return np.stack([self._score[self._hit(items)] for items in hits.tolist()])

    def _hit(self, items: Sequence[int]) -> list[int]:
        shared = set.intersection(
            *({self._judge[position] for position in self._fresh(item)} for item in items)
        )
        self.draws.hits += 1
        if not shared:
            return [self._draw(item) for item in items]
        self.draws.hits_of_one_judge += 1
        judge = self._pick(sorted(shared))
        return [self._draw(item, judge) for item in items]

    def _draw(self, item: int, judge: int | None = None) -> int:
        """Draw a judgment of an item, of those drawn least so far."""
        fresh = self._fresh(item)
        places = fresh if judge is None else [p for p in fresh if self._judge[p] == judge]
        position = self._pick(places)
        fresh.remove(position)
        self.draws.judgments += 1
        self.draws.repeats += self._cycle[item] > 1
        return position

    def _fresh(self, item: int) -> list[int]:
        if not self._left[item]:
            self._left[item] = list(self._all[item])
            self._cycle[item] += 1
        return self._left[item]

    def _pick(self, places: list[int]) -> int:
        return places[int(self._rng.integers(len(places)))]


def run_item_replay(
    campaign: LoadedCampaign, params: ItemReplay, oracle: Path | None, progress: Progress
) -> tuple[list[ItemTask], list[str]]:
    """Replay every scalar task; each has its own curves.

    Returns
    -------
    tasks, notes
        And why a task, or something of it, was left out.

    Raises
    ------
    AnnotError
        As `read_recorded`; no task has items enough.
    """
    right_answers = None if oracle is None else read_item_oracle(oracle)
    recorded = read_recorded(campaign, progress)
    notes = [f"a gate would stop a build: {gate}" for gate in recorded.failed_gates]
    replayed_tasks: list[_Replayed] = []
    for task in recorded.tasks:
        replayed = _replayed(task, right_answers, params)
        if allowed := too_few(len(replayed.items), params.hit_size):
            what = f"{len(replayed.items)} items with judgments and a truth"
            notes.append(f"{task.task} is left out: {what}; allowed: {allowed}")
        else:
            replayed_tasks.append(replayed)
    if not replayed_tasks:
        raise ConfigError(TITLE, [Problem("", note) for note in notes])
    steps = Steps(progress, "replay", len(replayed_tasks) * params.repeats * len(ASKERS))
    tasks, all_draws = zip(*(_replay(task, params, steps) for task in replayed_tasks), strict=True)
    if any(task.facts["oracle"] == MEANS for task in tasks):
        notes.append(
            "Without a truth the oracle is the mean of all judgments, those drawn among them: "
            "correlations are too high, and 1 once all are drawn."
        )
    return list(tasks), [*notes, *_about_draws(all_draws)]


def _about_draws(all_draws: Sequence[Mapping[str, Drawn]]) -> list[str]:
    """Describe how much was drawn again, and how many of RA's HITs had one judge."""
    total = {
        method: sum((draws[method] for draws in all_draws), start=Drawn())
        for method in ("EASL", "RA")
    }
    easl, ra = (draws.repeats / draws.judgments for draws in total.values())
    one_judge = total["RA"].hits_of_one_judge / total["RA"].hits
    return [
        f"Drawn again, because all judgments of an item were used: {easl:.1%} of EASL's, {ra:.1%} "
        "of RA's; they add cost and no knowledge.",
        f"One judge had scored all items of {one_judge:.1%} of RA's HITs. In the others every item "
        "has a judge of its own: what RA compares there is judges as well as items, so it is "
        "worse than with real HITs.",
    ]


@dataclass(frozen=True, eq=False)
class _Replayed:
    """A task without the items that have no truth."""

    task: str
    items: tuple[str, ...]
    item: Codes
    judge: Codes
    score: Floats
    truth: Floats  # in [0, 1]
    facts: dict[str, object]


def _replayed(task: RecordedTask, oracle: Oracle | None, params: ItemReplay) -> _Replayed:
    truth, truth_source = task.truth, "truth"
    if oracle is not None:
        right = oracle.for_task(task.task)
        truth = np.array([right.get(item, np.nan) for item in task.items])
        truth_source = oracle.file
    elif np.isnan(truth).all():
        truth, truth_source = means(task.item, task.score, n_groups=len(task.items)), MEANS
    with_truth = np.flatnonzero(~np.isnan(truth))
    positions = np.full(truth.size, -1)
    positions[with_truth] = np.arange(with_truth.size)
    rows = positions[task.item] >= 0
    scale = (0.0, 1.0) if truth_source == MEANS else params.scale or task.scale
    values, mapped = _on_unit_scale(truth[with_truth], scale)
    return _Replayed(
        task=task.task,
        items=tuple(task.items[code] for code in with_truth.tolist()),
        item=positions[task.item[rows]],
        judge=task.judge[rows],
        score=task.score[rows],
        truth=values,
        facts={
            "oracle": truth_source,
            "oracle_mapped_by_its_ends": mapped,
            "items_without_truth": int(truth.size - with_truth.size),
            "recorded_judgments": int(rows.sum()),
            "judges": int(np.unique(task.judge[rows]).size),
        },
    )


def _on_unit_scale(truth: Floats, scale: tuple[float, float]) -> tuple[Floats, bool]:
    """Return truth as shares of its scale, or of its own range where it exceeds the scale."""
    low, high = scale
    if truth.size and (truth.min() < low or truth.max() > high):
        low, high = float(truth.min()), float(truth.max())
        return (on_scale(truth, (low, high)) if high > low else np.full(truth.size, 0.5)), True
    return on_scale(truth, scale), False


def _replay(task: _Replayed, params: ItemReplay, steps: Steps) -> tuple[ItemTask, dict[str, Drawn]]:
    n = len(task.items)
    iterations = params.iterations or max(min(ITERATIONS, task.item.size // n), 1)
    draws_by_method = {method: Drawn() for method in ASKERS}

    def answers(_: int, method: str, rng: np.random.Generator) -> RecordedAnswers:
        return RecordedAnswers(task.item, task.judge, task.score, n, rng, draws_by_method[method])

    result = repeat_rounds(
        task.task, task.items, task.truth, answers,
        iterations=iterations, params=params, steps=steps,
    )  # fmt: skip
    shares = {
        method: {
            "drawn_again_share": draws.repeats / draws.judgments,
            "hits_of_one_judge_share": draws.hits_of_one_judge / draws.hits if draws.hits else None,
        }
        for method, draws in draws_by_method.items()
    }
    return replace(result, facts=task.facts | result.facts | {"draws": shares}), draws_by_method
