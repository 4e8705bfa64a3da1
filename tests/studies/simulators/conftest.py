"""Simulated direct assessments: fixtures."""

import pytest

from studies.simulators.scores import (
    SimulatedScores,
    simulate_scores,
)


@pytest.fixture(scope="module")
def example() -> SimulatedScores:
    return simulate_scores()
