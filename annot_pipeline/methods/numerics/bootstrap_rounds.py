"""Rounds of a bootstrap, with a stream of random numbers for each statistic of a task."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BootstrapRounds:
    """Holds the number of rounds and the seed; each statistic has draws of its own."""

    task: str
    rounds: int
    seed: int

    def arguments(self, statistic: str) -> dict[str, Any]:
        """Return ``rounds`` and ``rng``, the keyword arguments of bootstrap methods."""
        name = hashlib.sha256(f"{self.task}\x1f{statistic}".encode()).digest()
        rng = np.random.default_rng([self.seed, int.from_bytes(name[:8], "big")])
        return {"rounds": self.rounds, "rng": rng}
