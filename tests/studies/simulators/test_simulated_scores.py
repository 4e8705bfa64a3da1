"""Simulated direct assessments: scores, the truth can be found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from annot_pipeline.methods.judges.grouped_tests import paired_t
from annot_pipeline.methods.scores.zscores import z_scores
from studies.simulators.scores import (
    ASK_AGAIN,
    BAD_REFERENCE,
    CENTRE,
    GOOD_REFERENCE,
    ORDINARY,
    ScoreSimulation,
    SimulatedScores,
    simulate_scores,
)
from tests.studies.simulators.simulated_scores import KNOWN, pairs_of


def test_without_noise_a_score_is_what_the_output_is_worth() -> None:
    simulated = simulate_scores(KNOWN)
    rows, n = simulated.rows, KNOWN.n_segments
    worth = simulated.worth[rows.segment // n, rows.segment % n, rows.system]
    expected = CENTRE + worth - 20 * (rows.kind == BAD_REFERENCE)
    of_systems = rows.kind != GOOD_REFERENCE
    inside = of_systems & (expected > 0) & (expected < 100)
    np.testing.assert_allclose(rows.score[inside], expected[inside], rtol=0, atol=0.5)
    assert (rows.score[of_systems & (expected <= 0)] == 0).all()
    assert (rows.score[of_systems & (expected >= 100)] == 100).all()
    assert inside.sum() > 8000


def test_without_noise_repeats_agree_and_degraded_copies_lose_what_was_asked() -> None:
    rows = simulate_scores(replace(KNOWN, degradation=13)).rows
    outputs, repeats = pairs_of(rows, ASK_AGAIN)
    np.testing.assert_array_equal(rows.score[outputs], rows.score[repeats])
    outputs, copies = pairs_of(rows, BAD_REFERENCE)
    inside = (rows.score[outputs] < 100) & (rows.score[copies] > 0)
    assert set((rows.score[outputs] - rows.score[copies])[inside].tolist()) == {13}


def kept_judges(simulated: SimulatedScores) -> np.ndarray:
    """Judges who score outputs higher than their degraded copies."""
    rows = simulated.rows
    outputs, copies = pairs_of(rows, BAD_REFERENCE)
    differences = (rows.score[outputs] - rows.score[copies]).astype(np.float64)
    test = paired_t(rows.judge[copies], differences, n_groups=simulated.params.n_judges)
    return test.p_value < 0.05


def rank_correlations(simulated: SimulatedScores, kept: np.ndarray) -> list[float]:
    """By language pair: Spearman's rho of true qualities and systems' mean z, by segments."""
    rows, params = simulated.rows, simulated.params
    n_tasks = len(params.language_pairs)
    task = simulated.hits.task[rows.hit]
    z = z_scores(
        rows.judge * n_tasks + task, rows.score.astype(np.float64),
        n_judges=params.n_judges * n_tasks,
    ).z  # fmt: skip
    used = kept[rows.judge] & np.isin(rows.kind, (ORDINARY, ASK_AGAIN)) & np.isfinite(z)
    cell = (rows.segment * params.n_systems + rows.system)[used]
    size = (n_tasks, params.n_segments, params.n_systems)
    counts = np.bincount(cell, minlength=np.prod(size)).reshape(size)
    sums = np.bincount(cell, weights=z[used], minlength=np.prod(size)).reshape(size)
    by_segment = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    by_system = np.nanmean(by_segment, axis=1)
    return [
        float(spearmanr(actual, true).statistic)
        for actual, true in zip(by_system, simulated.quality, strict=True)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_mean_z_of_kept_judges_ranks_the_systems(seed: int) -> None:
    simulated = simulate_scores(ScoreSimulation(seed=seed))
    kept = kept_judges(simulated)
    assert min(rank_correlations(simulated, kept)) > 0.9
    assert kept[~simulated.careless].mean() > 0.85
    assert kept[simulated.careless].mean() <= 0.3
