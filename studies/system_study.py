"""Study 3 of Sakaguchi & Van Durme (2018) with simulated judges: ranking systems.

An output is worth its system's quality, its segment's easiness and something of its own.
Systems stand evenly between the best and the worst; segments and outputs are drawn anew in
every repetition, and centred, so that the truth is that of these segments.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from studies.item_rounds import stream
from studies.params import SystemStudy
from studies.progress import Progress, Steps
from studies.scalar_judges import Judges, draw_judges
from studies.system_asking import METHODS
from studies.system_rounds import SystemTask, repeat_systems

CENTRE = 0.6
"""Where a system of average quality comes to stand on the scale."""


class SimulatedOutputs:
    """Outputs that can be judged any number of times, each time by a judge at random.

    Parameters
    ----------
    worth
        ``(n_segments, n_systems)`` what outputs are worth.
    judges, rng
        Who judges.
    """

    def __init__(self, worth: Floats, judges: Judges, rng: np.random.Generator) -> None:
        self._worth, self._judges, self._rng = worth, judges, rng
        self.n_systems = worth.shape[1]
        self._all = np.arange(self.n_systems)

    def sample(self, n: int) -> tuple[Codes, Floats]:
        """Return outputs at random, each by another judge."""
        output = self._rng.integers(self._worth.size, size=n)
        judge = self._rng.integers(self._judges.shift.size, size=n)
        truth = self._worth.reshape(-1)[output]
        return output % self.n_systems, self._judges.answer(judge, truth, self._rng, is_joint=False)

    def seeds(self) -> Flags:
        """Return all systems."""
        return np.ones(self.n_systems, np.bool_)

    def segment(self, seed: int) -> tuple[int, Codes]:
        """Return any segment, with all systems."""
        return int(self._rng.integers(len(self._worth))), self._all[self._all != seed]

    def judge(self, segment: int, systems: Codes) -> Floats:
        """Return one judge for all outputs."""
        judge = np.full(systems.size, self._rng.integers(self._judges.shift.size))
        return self._judges.answer(judge, self._worth[segment, systems], self._rng, is_joint=True)


def run_system_study(params: SystemStudy, progress: Progress) -> SystemTask:
    """Ask simulated judges; segments and judges of a repetition are the same for all methods."""
    quality = np.linspace(params.quality_range / 2, -params.quality_range / 2, params.n_systems)

    def outputs(repeat: int, _: str, rng: np.random.Generator) -> SimulatedOutputs:
        worth = _worth(quality, params, stream(params.seed, "systems", repeat, "outputs"))
        judges = draw_judges(params, stream(params.seed, "systems", repeat, "judges"))
        return SimulatedOutputs(worth, judges, rng)

    width = len(str(params.n_systems))
    names = tuple(f"system-{number:0{width}d}" for number in range(1, params.n_systems + 1))
    return repeat_systems(
        "systems", names, CENTRE + quality, outputs,
        n_judgments=params.per_system * params.n_systems, params=params,
        steps=Steps(progress, "systems", params.repeats * len(METHODS)),
    )  # fmt: skip


def _worth(quality: Floats, params: SystemStudy, rng: np.random.Generator) -> Floats:
    segment = rng.normal(0, params.segment_sd, size=(params.n_segments, 1))
    own_sd = np.sqrt(params.item_sd**2 - params.segment_sd**2)
    own = rng.normal(0, own_sd, size=(params.n_segments, quality.size))
    own -= own.mean(axis=0)
    return np.asarray(CENTRE + quality + segment - segment.mean() + own)
