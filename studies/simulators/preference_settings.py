"""What a campaign of simulated preferences is to be like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from annot_pipeline.errors import ConfigError, Problem
from studies.simulators.translations import MOST_TEXTS


@dataclass(frozen=True)
class PreferenceSimulation:
    """What to simulate. Worth and noise are in units of their own; 0 is an average output.

    Parameters
    ----------
    n_systems, n_segments, n_judges
        How many there are; the human reference comes on top of the systems.
    shared_segments, judges_of_shared
        Segments whose pairs several judges decide, and how many.
    quality_range, reference_lead
        Worth between the best and the worst system, which stand evenly; how much better than
        the best the reference is.
    item_sd
        Standard deviation of the worth of a system's outputs.
    judge_sd, judge_spread
        Standard deviation of how a judge sees an output, once for a segment; how judges differ
        in it (standard deviation of its logarithm).
    noise_sd
        Standard deviation of what is added anew for each pair.
    tie_below
        What is seen to differ by less is a tie.
    first_shown
        How much better looks what is shown first.
    copied_share
        Share of the systems' outputs that are another's, every second one but for case.
    adequate_above
        Outputs worth more are good enough.
    judges_of_answer
        Judges who say whether an output is good enough; odd.
    nights, json_night
        Number of exports of preferences, and which of them (from 1) is JSON Lines.
    repeat_share
        Rows of an export, as a share of its new ones, that are the last of the one before.
    dirty
        Rows of each kind of damage.
    seed
        Of all randomness.

    Raises
    ------
    ConfigError
        All settings that do not fit, at once.
    """

    n_systems: int = 8
    n_segments: int = 150
    n_judges: int = 16
    shared_segments: int = 30
    judges_of_shared: int = 3
    quality_range: float = 1.5
    reference_lead: float = 0.75
    item_sd: float = 1.0
    judge_sd: float = 0.3
    judge_spread: float = 0.3
    noise_sd: float = 0.3
    tie_below: float = 0.45
    first_shown: float = 0.1
    copied_share: float = 0.15
    adequate_above: float = 0.4
    judges_of_answer: int = 3
    nights: int = 3
    json_night: int = 2
    repeat_share: float = 0.02
    dirty: int = 3
    seed: int = 17

    def __post_init__(self) -> None:
        problems = [Problem(*problem) for problem in self._problems()]
        if problems:
            raise ConfigError("a simulation that cannot be", problems)

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what is wrong, what is allowed)."""
        if not 1 <= self.n_systems < MOST_TEXTS:
            yield "n_systems", f"is {self.n_systems}", f"1 to {MOST_TEXTS - 1}"
        for name in ("n_segments", "n_judges", "nights"):
            if getattr(self, name) < 1:
                yield name, f"is {getattr(self, name)}", "1 or more"
        if not 0 <= self.shared_segments <= self.n_segments:
            yield "shared_segments", f"is {self.shared_segments}", f"0 to {self.n_segments}"
        for name in ("judges_of_shared", "judges_of_answer"):
            if not 1 <= getattr(self, name) <= self.n_judges:
                yield name, f"is {getattr(self, name)}", f"1 to {self.n_judges}, the judges"
        if self.judges_of_answer % 2 == 0:
            yield "judges_of_answer", f"is {self.judges_of_answer}", "odd, so that most agree"
        spreads = ("quality_range", "item_sd", "judge_sd", "judge_spread", "noise_sd", "tie_below")
        for name in spreads:
            if not 0 <= getattr(self, name) < np.inf:
                yield name, f"is {getattr(self, name)}", "0 or more"
        for name in ("reference_lead", "first_shown", "adequate_above"):
            if not np.isfinite(getattr(self, name)):
                yield name, f"is {getattr(self, name)}", "a number"
        for name in ("copied_share", "repeat_share"):
            if not 0 <= getattr(self, name) <= 1:
                yield name, f"is {getattr(self, name)}", "0 to 1"
        if not 1 <= self.json_night <= self.nights:
            yield "json_night", f"is {self.json_night}", f"1 to {self.nights}"
        if self.dirty < 0:
            yield "dirty", f"is {self.dirty}", "0 or more"
