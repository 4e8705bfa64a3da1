"""Differences that an evaluation finds: by textbook numbers, and by simulated evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.detectable import (
    DesignParams,
    design_error,
    detectable_difference,
)
from annot_pipeline.methods.rankings.inference import compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock

VARIANCES = {"judge_system": 9.0, "segment_system": 25.0, "residual": 100.0}


def test_with_many_degrees_of_freedom_it_is_the_normal_textbook_number():
    """Two means of n each: d = (z.95 + z.80) sd sqrt(2 / n), 2.486 for a standard error of 1."""
    actual = detectable_difference(1.0, 1e9)
    assert actual == pytest.approx(norm.ppf(0.95) + norm.ppf(0.8), rel=1e-6)
    few = detectable_difference(1.0, 3.0)
    assert few == pytest.approx(t.ppf(0.95, 3) + t.ppf(0.8, 3))


def test_the_error_of_a_design_by_hand():
    """2 (9 / 9 + 25 / 50 + 100 / 100) = 5."""
    error, freedom = design_error(DesignParams(9, 50, 2.0), **VARIANCES)
    assert error == pytest.approx(np.sqrt(5))
    assert freedom == pytest.approx(25 / ((2 * 2) ** 2 / 8 + (2 * 1.5) ** 2 / 49))


def test_more_judges_or_segments_find_less():
    errors = [
        design_error(DesignParams(*sizes), **VARIANCES)[0]
        for sizes in ((5, 50), (10, 50), (10, 100), (10, 100, 3.0))
    ]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.slow
def test_a_design_finds_what_it_is_planned_for():
    """12 judges, 40 segments, each output judged by 3: found in 80 of 100 evaluations."""
    rng = np.random.default_rng(8)
    n_judges, n_segments, per_output = 12, 40, 3
    design = DesignParams(n_judges, n_segments, per_output)
    wanted = float(detectable_difference(*design_error(design, **VARIANCES)))
    actual = []
    for _ in range(300):
        judges = np.argsort(rng.random((n_segments, n_judges)), axis=1)[:, :per_output]
        judges = np.repeat(judges[:, None], 2, axis=1).reshape(-1)  # both systems, same judges
        segments, systems, _ = (
            part.reshape(-1) for part in np.indices((n_segments, 2, per_output))
        )
        scores = (
            wanted * (systems == 0)
            + rng.normal(0, 20, n_judges)[judges]
            + rng.normal(0, 10, n_segments)[segments]
            + rng.normal(0, 3, (n_judges, 2))[judges, systems]
            + rng.normal(0, 5, (n_segments, 2))[segments, systems]
            + rng.normal(0, 10, judges.size)
        )
        block = ScoreBlock.from_rows(segments, judges, systems, scores, (n_segments, n_judges, 2))
        inference = compare_estimates(adjusted_scores(InMemoryBlocks([block])).estimates)
        actual.append(inference.p_value[0, 1] < 0.05)
    assert np.mean(actual) == pytest.approx(0.8, abs=0.07)
