"""Position bias of people and three model judges of Chatbot Arena."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.judge_coefficients import fit_judges
from annot_pipeline.methods.model_judges.order_effect import prepare_order_effect

OUTCOMES = {"model_a": 1.0, "model_b": 0.0}


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
    prepared = prepare_order_effect(
        codes[:, 0], codes[:, 1], outcomes, questions, strengths="systems"
    )
    assert len(rows) == 26_919
    assert outcomes[outcomes != 0.5].mean() == pytest.approx(share, abs=5e-4)
    low, high = fit_judges([prepared])[0].interval()
    # the effect has the sign of the share; people have none
    assert (low > 0) == (share > 0.52)
    assert (high < 0) == (share < 0.48)
