"""Replays the recorded judgments of systems' outputs: Fig. 11 of Sakaguchi & Van Durme (2018).

DA draws recorded judgments without replacement. EASL and `random` draw a HIT of one segment: a
system, a random segment where it has a judgment left and another system too, and up to n - 1
of these others. No judgment is drawn twice; where no such HIT is left, curves end. The outputs
of a HIT were mostly judged by different judges and in other HITs, so a replay can show what
choosing systems gains, and not what seeing outputs together does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from studies.oracles import on_scale, read_system_oracle
from studies.params import SystemReplay
from studies.progress import Progress, Steps
from studies.recorded import TITLE, RecordedTask, read_recorded
from studies.system_asking import METHODS
from studies.system_rounds import SystemTask, repeat_systems


class RecordedOutputs:
    """Recorded judgments of outputs, each drawn once at most.

    Parameters
    ----------
    systems, segments, scores
        ``(n_judgments,)`` codes from 0, and scores in [0, 1].
    n_systems, n_segments
        Sizes of the code ranges.
    rng
        Draws.
    """

    def __init__(
        self, systems: Codes, segments: Codes, scores: Floats, n_systems: int, n_segments: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.n_systems, self._rng = n_systems, rng
        self._order = rng.permutation(systems.size)
        self._systems, self._scores = systems[self._order], scores[self._order]
        cell = segments[self._order] * n_systems + systems[self._order]
        self._by_cell = np.argsort(cell, kind="stable")  # those of a cell in random order
        n_fresh = np.bincount(cell, minlength=n_segments * n_systems)
        self._next = np.cumsum(n_fresh) - n_fresh
        self._n_fresh = n_fresh.reshape(n_segments, n_systems)
        is_fresh = self._n_fresh > 0
        self._able = is_fresh & (is_fresh.sum(axis=1, keepdims=True) >= 2)
        self._n_able = self._able.sum(axis=0)

    def sample(self, n: int) -> tuple[Codes, Floats]:
        """Return the first judgments of all, in random order."""
        return self._systems[:n], self._scores[:n]

    def seeds(self) -> Flags:
        """Return systems with a segment where they and another one have a judgment left."""
        return np.asarray(self._n_able > 0)

    def segment(self, seed: int) -> tuple[int, Codes]:
        """Draw one of these segments."""
        able = np.flatnonzero(self._able[:, seed])
        segment = int(able[self._rng.integers(able.size)])
        fresh = np.flatnonzero(self._n_fresh[segment])
        return segment, fresh[fresh != seed]

    def judge(self, segment: int, systems: Codes) -> Floats:
        """Draw a judgment of each output that was not drawn so far."""
        cells = segment * self.n_systems + systems
        scores = self._scores[self._by_cell[self._next[cells]]]
        self._next[cells] += 1
        self._n_fresh[segment, systems] -= 1
        is_fresh = self._n_fresh[segment] > 0
        able = is_fresh & (is_fresh.sum() >= 2)
        self._n_able += able.astype(np.int64) - self._able[segment]
        self._able[segment] = able
        return np.asarray(scores)


def run_system_replay(
    campaign: LoadedCampaign, params: SystemReplay, oracle: Path | None, progress: Progress
) -> tuple[list[SystemTask], list[str]]:
    """Replay every scalar task that names systems; each has its own curves.

    Returns
    -------
    tasks, notes
        And why a task, or something of it, was left out.

    Raises
    ------
    AnnotError
        As `read_recorded`; no task has systems enough.
    """
    right_answers = None if oracle is None else read_system_oracle(oracle)
    recorded = read_recorded(campaign, progress, rank=right_answers is None)
    notes = [f"a gate would stop a build: {gate}" for gate in recorded.failed_gates]
    tasks: list[tuple[RecordedTask, Mapping[str, float], str]] = []
    for task in recorded.tasks:
        if right_answers is None:
            right = recorded.z_means.get(task.task, {})
            truth_source = "mean z-score of all judgments"
        else:
            right, truth_source = right_answers.for_task(task.task), right_answers.file
        judged = {task.systems[code] for code in np.unique(task.system[task.system >= 0]).tolist()}
        unknown = sorted(judged - right.keys())
        if unknown:
            notes.append(f"{task.task}: not in the oracle, left out: {', '.join(unknown[:5])}")
        n = len(judged & right.keys())
        if n < 2:
            notes.append(f"{task.task} is left out: {n} systems with a rank, 2 or more are needed")
        else:
            tasks.append((task, right, truth_source))
    if not tasks:
        raise ConfigError(TITLE, [Problem("", note) for note in notes])
    steps = Steps(progress, "replay", len(tasks) * params.repeats * len(METHODS))
    return [_replay(*task, params, steps) for task in tasks], notes


def _replay(
    task: RecordedTask,
    right: Mapping[str, float],
    truth_source: str,
    params: SystemReplay,
    steps: Steps,
) -> SystemTask:
    score = task.score if params.scores == "raw" else _z(task)
    is_ranked = np.array([name in right for name in task.systems] + [False])
    rows = is_ranked[task.system] & (task.segment >= 0) & ~np.isnan(score)
    codes, system = np.unique(task.system[rows], return_inverse=True)
    segments, segment = np.unique(task.segment[rows], return_inverse=True)
    names = tuple(task.systems[code] for code in codes.tolist())
    truth = np.array([right[name] for name in names])

    def outputs(_: int, __: str, rng: np.random.Generator) -> RecordedOutputs:
        return RecordedOutputs(
            system.reshape(-1), segment.reshape(-1), score[rows], codes.size, segments.size, rng
        )

    n = int(rows.sum())
    result = repeat_systems(
        task.task, names, truth, outputs,
        n_judgments=min(params.per_system * codes.size, n) or n, params=params, steps=steps,
    )  # fmt: skip
    facts: dict[str, object] = {
        "oracle": truth_source,
        "segments": int(segments.size),
        "recorded_judgments": n,
        "judgments_left_aside": int(rows.size - n),
    }
    return replace(result, facts=facts | result.facts)


def _z(task: RecordedTask) -> Floats:
    """Return standardised scores on 0 to 1, moved and stretched alike: means keep their order."""
    low, high = np.nanmin(task.z), np.nanmax(task.z)
    return on_scale(task.z, (float(low), float(high)))
