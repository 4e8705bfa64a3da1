"""Chatzi et al. 2024: win rates of 20 models from 1,000 human and 25,919 model judgments."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.prediction_powered import prediction_powered_mean

DRAWS = 500 if "SOAK" in os.environ else 60
SHARES = {"model_a": 1.0, "model_b": 0.0}


@pytest.fixture(scope="module")
def judgments(shared_data: Path) -> dict[str, list[dict[str, str]]]:
    """Rows by judge."""
    by_judge: dict[str, list[dict[str, str]]] = {}
    with gzip.open(shared_data / "arena-judges" / "judgments.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            by_judge.setdefault(row["judge"], []).append(row)
    return by_judge


def win_shares(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes of the first and second system, and the share of the first, by question."""
    rows = sorted(rows, key=lambda row: row["question_id"])
    sides = np.array([[row["model_a"], row["model_b"]] for row in rows])
    codes = np.unique(sides, return_inverse=True)[1].reshape(sides.shape)
    return codes[:, 0], codes[:, 1], np.array([SHARES.get(row["winner"], 0.5) for row in rows])


@pytest.mark.sampled
@pytest.mark.parametrize("judge", ["gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo"])
def test_intervals_of_win_rates_cover(
    judgments: dict[str, list[dict[str, str]]], judge: str
) -> None:
    first, second, human = win_shares(judgments["human"])
    model = win_shares(judgments[judge])[2]
    assert human.size == model.size == 26_919
    rng = np.random.default_rng(1)
    covered, naive = np.zeros((2, 20, DRAWS), np.bool_)
    gains = []
    for draw in range(DRAWS):
        chosen = np.zeros(human.size, np.bool_)
        chosen[rng.choice(human.size, 1000, replace=False)] = True
        for system in range(20):
            of_system = (first == system) | (second == system)
            turned = second == system
            own, other = (np.where(turned, 1 - one, one) for one in (human, model))
            there, rest = of_system & chosen, of_system & ~chosen
            mean = prediction_powered_mean(own[there], other[there], other[rest])
            low, high = mean.interval()
            truth = own[of_system].mean()
            covered[system, draw] = low <= truth <= high
            gains.append(mean.effective_n_human / mean.n_human)
            alone = other[of_system]
            half = 1.96 * alone.std() / np.sqrt(alone.size)
            naive[system, draw] = abs(alone.mean() - truth) <= half
    error = 3 * np.sqrt(0.05 * 0.95 / (20 * DRAWS))
    assert 0.93 - error < covered.mean() < 0.97 + error
    assert naive.mean() < 0.5
    assert np.mean(gains) > 0.99, "a useless judge costs nothing"
