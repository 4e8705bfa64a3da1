"""Simulated direct assessments: scores, the truth can be found."""

from collections import Counter
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
    HABITS,
    ORDINARY,
    ScoreSimulation,
    SimulatedScores,
    simulate_scores,
)
from tests.studies.simulators.simulated_scores import KNOWN, SMALL, pairs_of


def test_names_sort_as_their_codes(example: SimulatedScores) -> None:
    assert example.judges[:2] == ("judge-01", "judge-02")
    assert example.systems == tuple(f"system-{number}" for number in range(1, 9))
    assert (len(example.judges), len(example.segments)) == (40, 400)
    for actual in (example.judges, example.systems, example.segments):
        assert list(actual) == sorted(set(actual))


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


def test_references_are_better_and_one_for_each_segment() -> None:
    rows = simulate_scores(KNOWN).rows
    good = rows.kind == GOOD_REFERENCE
    assert rows.score[good].mean() > rows.score[rows.kind == ORDINARY].mean() + 25
    for segment in range(10):
        assert len(set(rows.score[good & (rows.segment == segment)].tolist())) <= 1


def test_noise_and_spread_are_as_asked() -> None:
    params = replace(
        KNOWN, language_pairs=("cs-en",), n_judges=400, n_hits=1200, n_segments=400,
        quality_range=0, item_sd=2, segment_sd=1, noise_sd=8, location_sd=5, spread_sd=0.2,
    )  # fmt: skip
    simulated = simulate_scores(params)  # little is cut off at the ends
    rows = simulated.rows
    outputs, repeats = pairs_of(rows, ASK_AGAIN)
    stretch = simulated.spread[rows.judge[outputs]]
    differences = (rows.score[outputs] - rows.score[repeats]) / stretch
    assert differences.std() == pytest.approx(8 * np.sqrt(2), rel=0.02)
    ordinary = rows.kind == ORDINARY
    actual = np.bincount(rows.judge[ordinary], weights=rows.score[ordinary]) / np.bincount(
        rows.judge[ordinary]
    )
    assert np.corrcoef(actual - CENTRE, simulated.location)[0, 1] > 0.97
    assert simulated.location.std() == pytest.approx(5, rel=0.1)
    assert np.log(simulated.spread).std() == pytest.approx(0.2, rel=0.1)


def test_the_truth_is_as_asked() -> None:
    params = ScoreSimulation(n_segments=2000, n_systems=10, quality_range=30)
    simulated = simulate_scores(params)
    np.testing.assert_allclose(simulated.worth.mean(axis=1), simulated.quality, atol=1e-9)
    for quality in simulated.quality:
        assert quality.max() - quality.min() == pytest.approx(30)
        assert np.diff(np.sort(quality)).min() > 30 / 9 / 2 - 1e-9
    within = simulated.worth - simulated.quality[:, None, :]
    assert within.std(axis=1).mean() == pytest.approx(22, rel=0.05)
    assert within.mean(axis=2).std() == pytest.approx(np.hypot(12, 18.44 / np.sqrt(10)), rel=0.05)
    orders = {tuple(np.argsort(quality).tolist()) for quality in simulated.quality}
    assert len(orders) == 2  # each language pair has an order of its own, not that of the names
    assert orders.isdisjoint({tuple(range(10)), tuple(range(9, -1, -1))})


def test_careless_judges_score_without_looking() -> None:
    params = replace(SMALL, n_judges=90, n_hits=900, careless_share=1 / 3)
    simulated = simulate_scores(params)
    assert Counter(simulated.habit.tolist()) == {
        "conscientious": 60, "random": 10, "constant": 10, "always_high": 10,
    }  # fmt: skip
    np.testing.assert_array_equal(simulated.careless, simulated.habit != HABITS[0])
    rows = simulated.rows
    habit = simulated.habit[rows.judge]
    at_random = rows.score[habit == "random"]
    assert (at_random.min(), at_random.max()) == (0, 100)
    assert at_random.mean() == pytest.approx(50, abs=2)
    assert at_random.std() == pytest.approx(29.2, abs=1)
    for judge in np.flatnonzero(simulated.habit == "constant"):
        assert len(set(rows.score[rows.judge == judge].tolist())) == 1
    high = rows.score[habit == "always_high"]
    assert high.min() > 65
    assert high.std() > 2
    for name in ("random", "always_high"):
        kinds = [rows.score[(habit == name) & (rows.kind == kind)].mean() for kind in range(4)]
        assert max(kinds) - min(kinds) < 5  # degraded or not, it is all one
    assert rows.score.min() >= 0
    assert rows.score.max() <= 100


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


def test_careless_judges_pass_by_chance_only() -> None:
    simulated = simulate_scores(
        ScoreSimulation(n_judges=2000, n_hits=2000, n_segments=200, careless_share=0.75)
    )
    kept = kept_judges(simulated)
    assert kept[simulated.habit == "random"].mean() == pytest.approx(0.05, abs=0.03)
    assert kept[simulated.habit == "always_high"].mean() == pytest.approx(0.05, abs=0.03)
    assert not kept[simulated.habit == "constant"].any()
    assert kept[~simulated.careless].mean() > 0.9


def test_where_nobody_looks_nothing_is_found() -> None:
    simulated = simulate_scores(ScoreSimulation(careless_share=1))
    assert kept_judges(simulated).mean() < 0.25
