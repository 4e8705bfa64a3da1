"""Position bias of published model judges: LLMBar's 499 runs, and four judges of Chatbot Arena."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.order_effect import order_effect

OUTCOMES = {"model_a": 1.0, "model_b": 0.0}


def test_pairs_with_equal_answers_in_both_orders(shared_data: Path) -> None:
    """Zeng et al. 2024 count answers that name one output in both orders; all runs have them."""
    folder = shared_data / "llmbar"
    with (folder / "published.csv").open(encoding="utf-8") as file:
        published = {row["run"]: row for row in csv.DictReader(file)}
    runs: dict[str, list[tuple[int, bool, int]]] = {}
    with gzip.open(folder / "judgments.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            answer = int(row["item"]), row["order"] == "swapped", int(row["winner"] or 0)
            runs.setdefault(row["run"], []).append(answer)
    assert runs.keys() == published.keys()
    assert len(runs) == 499
    for run, answers in runs.items():
        items, swapped, winners = np.array(answers).T
        # output 0 is shown first unless swapped; winners name outputs, 1 or 2
        outcomes = np.where(winners == 0, 0.5, (winners == 1 + swapped).astype(float))
        result = order_effect(swapped, 1 - swapped, outcomes, items, strengths="items")
        assert result.n_both_orders == int(published[run]["items"])
        assert result.n_consistent == int(published[run]["same_in_both_orders"]), run


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("judge", "share"),
    [
        ("human", 0.503),
        ("gpt-4-0125-preview", 0.551),
        ("claude-3-opus-20240229", 0.395),
        ("gpt-3.5-turbo", 0.863),
    ],
)
def test_shares_of_the_first_shown(shared_data: Path, judge: str, share: float) -> None:
    with gzip.open(shared_data / "arena-judges" / "judgments.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["judge"] == judge]
    sides = np.array([[row["model_a"], row["model_b"]] for row in rows])
    codes = np.unique(sides, return_inverse=True)[1].reshape(sides.shape)
    outcomes = np.array([OUTCOMES.get(row["winner"], 0.5) for row in rows])
    questions = np.unique([row["question_id"] for row in rows], return_inverse=True)[1]
    result = order_effect(codes[:, 0], codes[:, 1], outcomes, questions)
    assert len(rows) == 26_919
    assert result.first_wins / result.n_decided == pytest.approx(share, abs=5e-4)
    low, high = result.effect.interval()
    # the effect has the sign of the share; people have none
    assert (low > 0) == (share > 0.52)
    assert (high < 0) == (share < 0.48)
