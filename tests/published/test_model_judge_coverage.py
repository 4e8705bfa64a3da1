"""The study `model_judges` on recorded judgments: 500 draws of people's items, as documented.

Chatzi et al. 2024 (win rates of 20 models) and the framing data of Calderon et al. 2025
(prevalence of the two largest classes).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.model_judge_coverage import METHODS
from studies.model_judge_study import run_model_judges
from studies.params import ModelJudgeCoverage

CASES = {
    "comparisons": ("arena-judges/judgments.csv.gz", 3, 20),
    "labels": ("alt-test/framing.csv.gz", 6, 2),
}


def silent(_: str) -> None:
    pass


def rows_of(kind: str, shared_data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of prediction-powered means, and the coverage of models alone."""
    name, n_models, n_quantities = CASES[kind]
    result = run_model_judges(ModelJudgeCoverage(file=str(shared_data / name)), silent)
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in result.numbers:
        assert (row["kind"], row["quantities"]) == (kind, n_quantities)
        by_method.setdefault(str(row["method"]), []).append(dict(row))
    assert [len(rows) for rows in by_method.values()] == [n_models] * len(METHODS[kind])
    alone = {row["judge"]: row["coverage"] for row in by_method["model"]}
    return by_method["prediction_powered"] + by_method["human"], alone


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_intervals_of_recorded_judgments_hold(kind: str, shared_data: Path) -> None:
    rows, alone = rows_of(kind, shared_data)
    for row in rows:
        assert 0.93 <= row["coverage"] <= 0.97, row
        assert 0.92 <= row["least_coverage"] <= row["largest_coverage"] <= 0.98, row
        assert row["effective_ratio"] >= 1, row
        assert row["error_ratio"] > 0.98, row
    if kind == "comparisons":
        assert sorted(alone.values()) == pytest.approx([0.2, 0.35, 0.45])
    else:
        assert [sum(value == share for value in alone.values()) for share in (0, 1)] == [4, 2]
    assert np.mean([row["effective_ratio"] for row in rows]) > 1.02
