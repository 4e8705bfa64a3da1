"""Frames of judgments, as users have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def votes() -> pd.DataFrame:
    """Answers of 12 judges to 120 questions with three classes; names as no default has them."""
    draw = np.random.default_rng(1)
    truth = draw.choice(3, 120)
    rows = [
        (1000 + n, f"w{judge}", int(truth[n] if draw.random() < 0.75 else draw.choice(3)))
        for n in range(120)
        for judge in draw.choice(12, 4, replace=False)
    ]
    return pd.DataFrame(rows, columns=["question", "worker", "answer"])


@pytest.fixture(scope="session")
def points() -> pd.DataFrame:
    """Scores of 12 judges for 4 systems on 40 documents; system 3 is best."""
    draw = np.random.default_rng(2)
    rows = [
        (f"d{document}", f"m{system}", f"j{judge}", 40.0 + 8 * system + round(draw.normal(0, 9)))
        for document in range(40)
        for system in range(4)
        for judge in draw.choice(12, 2, replace=False)
    ]
    return pd.DataFrame(rows, columns=["document", "model", "worker", "points"])


@pytest.fixture(scope="session")
def battles() -> pd.DataFrame:
    """Comparisons of 4 systems by 15 judges; m3 wins most."""
    draw = np.random.default_rng(3)
    rows = []
    for _ in range(500):
        a, b = (int(n) for n in draw.choice(4, 2, replace=False))
        wins = draw.random() < 1 / (1 + np.exp(b - a))
        answer = "tie" if draw.random() < 0.1 else "ab"[not wins]
        rows.append((f"m{a}", f"m{b}", f"j{draw.integers(15)}", answer))
    return pd.DataFrame(rows, columns=["left", "right", "worker", "winner"])
