"""The generator of direct assessments: HITs as Graham et al. 2013 make them, truth to be found."""

import csv
import itertools
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from annot_pipeline import cli
from annot_pipeline.errors import ConfigError
from annot_pipeline.methods.grouped_tests import mann_whitney, paired_t, signed_rank, welch
from annot_pipeline.methods.zscores import z_scores
from annot_pipeline.simulate import score_exports
from annot_pipeline.simulate.score_exports import (
    COLUMNS,
    DAMAGES,
    DOUBLED,
    KIND_NAMES,
    UNFIT_SCORES,
    UNPAIRED,
    WrittenScores,
    write_score_campaign,
)
from annot_pipeline.simulate.score_pairs import ScorePairs, simulate_pairs
from annot_pipeline.simulate.scores import (
    ASK_AGAIN,
    BAD_REFERENCE,
    CENTRE,
    GOOD_REFERENCE,
    HABITS,
    ORDINARY,
    ScoreRows,
    ScoreSimulation,
    SimulatedScores,
    simulate_scores,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "direct_assessment"
SMALL = ScoreSimulation(n_judges=12, n_hits=24)
KNOWN = ScoreSimulation(location_sd=0, spread_sd=0, noise_sd=0, careless_share=0)
"""Everybody writes down what an output is worth."""

needs_soak = pytest.mark.skipif(
    os.environ.get("SOAK") != "1", reason="takes long and much memory; make soak runs it"
)


@pytest.fixture(scope="module")
def example() -> SimulatedScores:
    return simulate_scores()


def pairs_of(rows: ScoreRows, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ordinary outputs, and of their controls of a kind, found by HIT and output."""
    outputs: dict[tuple[int, int, int], int] = {}
    for place in np.flatnonzero(rows.kind == ORDINARY).tolist():
        outputs[int(rows.hit[place]), int(rows.system[place]), int(rows.segment[place])] = place
    controls = np.flatnonzero(rows.kind == kind)
    names = zip(rows.hit[controls], rows.system[controls], rows.segment[controls], strict=True)
    return np.array([outputs[int(h), int(y), int(g)] for h, y, g in names]), controls


# --- HITs ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_systems=st.integers(2, 12),
    n_segments=st.integers(35, 60),
    n_judges=st.integers(1, 9),
    more_hits=st.integers(0, 12),
    n_tasks=st.integers(1, 3),
)
def test_a_hit_is_made_as_in_the_paper(
    seed: int, n_systems: int, n_segments: int, n_judges: int, more_hits: int, n_tasks: int
) -> None:
    params = ScoreSimulation(
        language_pairs=("cs-en", "de-en", "zh-en")[:n_tasks],
        n_systems=n_systems, n_segments=n_segments,
        n_judges=n_judges, n_hits=n_judges + more_hits, nights=1, seed=seed,
    )  # fmt: skip
    simulated = simulate_scores(params)
    rows = simulated.rows
    assert len(rows) == 100 * params.n_hits
    for hit in range(params.n_hits):
        mine = slice(100 * hit, 100 * hit + 100)
        assert set(rows.hit[mine].tolist()) == {hit}
        assert set(rows.judge[mine].tolist()) == {int(simulated.hits.judge[hit])}
        assert rows.position[mine].tolist() == list(range(100))
        kinds = rows.kind[mine].tolist()
        for group in range(10):
            held = Counter(kinds[10 * group : 10 * group + 10])
            assert held == {ORDINARY: 7, ASK_AGAIN: 1, BAD_REFERENCE: 1, GOOD_REFERENCE: 1}
        shown = list(zip(rows.system[mine].tolist(), rows.segment[mine].tolist(), strict=True))
        first = {shown[place]: place for place in range(100) if kinds[place] == ORDINARY}
        assert len(first) == 70
        controls = [place for place in range(100) if kinds[place] != ORDINARY]
        assert len({shown[place] for place in controls}) == 30  # no output has two controls
        for place in controls:
            output = first[shown[place]]  # there is one
            assert output // 10 != place // 10
            assert 40 <= abs(output - place) <= 60
        task = int(simulated.hits.task[hit])
        assert {segment // n_segments for _, segment in shown} == {task}
        assert {system for system, _ in shown} <= set(range(n_systems))


def test_controls_stand_before_and_after_their_outputs(example: SimulatedScores) -> None:
    for kind in (ASK_AGAIN, BAD_REFERENCE, GOOD_REFERENCE):
        outputs, controls = pairs_of(example.rows, kind)
        assert controls.size == 1000
        later = np.mean(controls > outputs)
        assert later == pytest.approx(0.5)  # half of the groups come before their partners
        assert len(set(np.abs(controls - outputs).tolist())) > 15


def test_every_slot_of_a_group_can_hold_every_kind(example: SimulatedScores) -> None:
    rows = example.rows
    held = np.zeros((10, 4))
    np.add.at(held, (rows.position % 10, rows.kind), 1)
    np.testing.assert_allclose(held[:, 0] / 1000, 0.7, atol=0.06)
    np.testing.assert_allclose(held[:, 1:] / 1000, 0.1, atol=0.04)


def test_outputs_are_judged_about_equally_often() -> None:
    params = replace(SMALL, n_segments=35, n_hits=40)  # 280 outputs of each pair: 4 HITs a deal
    rows = simulate_scores(params).rows
    ordinary = rows.kind == ORDINARY
    counts = np.bincount((rows.segment * params.n_systems + rows.system)[ordinary])
    assert counts.tolist() == [5] * 560


def test_outputs_that_do_not_fill_a_hit_take_turns() -> None:
    params = replace(SMALL, language_pairs=("cs-en",), n_segments=10, n_hits=100)  # 80 outputs
    rows = simulate_scores(params).rows
    ordinary = rows.kind == ORDINARY
    counts = np.bincount((rows.segment * 8 + rows.system)[ordinary], minlength=80)
    assert counts.sum() == 7000
    assert counts.min() > 70


def test_every_judge_does_a_hit_and_some_do_many() -> None:
    for seed in range(20):
        hits = simulate_scores(ScoreSimulation(seed=seed)).hits
        done = np.bincount(hits.judge, minlength=40)
        assert done.min() >= 1
        assert done.max() >= 5
    alone = simulate_scores(replace(SMALL, n_hits=12)).hits
    assert sorted(alone.judge.tolist()) == list(range(12))


def test_judges_work_on_all_language_pairs(example: SimulatedScores) -> None:
    hits = example.hits
    assert Counter(hits.task.tolist()) == {0: 50, 1: 50}
    both = [len(set(hits.task[hits.judge == judge].tolist())) == 2 for judge in range(40)]
    assert sum(both) > 10


# --- times and status ----------------------------------------------------------------------


def test_a_hit_is_submitted_on_the_day_of_its_night(example: SimulatedScores) -> None:
    hits, rows = example.hits, example.rows
    assert (np.diff(hits.submitted_at) >= 0).all()
    first = datetime(2025, 3, 3, tzinfo=UTC).date()
    days = [(datetime.fromtimestamp(t, UTC).date() - first).days for t in hits.submitted_at]
    assert [day + 1 for day in days] == hits.night.tolist()
    assert Counter(hits.night.tolist()) == {1: 25, 2: 25, 3: 25, 4: 25}
    worked = rows.seconds.reshape(-1, 100).sum(axis=1)
    begun = hits.submitted_at - np.ceil(worked) - datetime(2025, 3, 3, tzinfo=UTC).timestamp()
    assert (begun % 86_400 >= 8 * 3600).all()
    assert (begun % 86_400 < 20 * 3600).all()


def test_careless_judges_are_faster(example: SimulatedScores) -> None:
    rows = example.rows
    typical = np.array([np.median(rows.seconds[rows.judge == judge]) for judge in range(40)])
    assert typical[example.careless].max() < typical[~example.careless].min()
    assert rows.seconds.min() > 0


def test_only_careless_hits_are_rejected_and_the_last_night_is_not_yet_looked_at() -> None:
    simulated = simulate_scores(replace(SMALL, n_hits=2000, rejected_share=0.3))
    hits = simulated.hits
    careless = simulated.careless[hits.judge]
    last = hits.night == 4
    assert set(hits.status[last].tolist()) == {"Submitted"}
    assert set(hits.status[~last & ~careless].tolist()) == {"Approved"}
    rejected = hits.status[~last & careless] == "Rejected"
    assert rejected.mean() == pytest.approx(0.3, abs=0.07)


# --- scores --------------------------------------------------------------------------------


def test_names_sort_as_their_codes(example: SimulatedScores) -> None:
    assert example.judges[:2] == ("judge-01", "judge-02")
    assert example.systems == tuple(f"system-{number}" for number in range(1, 9))
    assert (len(example.judges), len(example.segments)) == (40, 400)
    for found in (example.judges, example.systems, example.segments):
        assert list(found) == sorted(set(found))


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
    found = np.bincount(rows.judge[ordinary], weights=rows.score[ordinary]) / np.bincount(
        rows.judge[ordinary]
    )
    assert np.corrcoef(found - CENTRE, simulated.location)[0, 1] > 0.97
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


# --- the truth can be found ----------------------------------------------------------------


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
        float(spearmanr(found, true).statistic)
        for found, true in zip(by_system, simulated.quality, strict=True)
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


# --- power of the tests of judges ----------------------------------------------------------

N_TRIALS = 20_000


def power(p_values: np.ndarray) -> float:
    assert p_values.shape == (N_TRIALS,)
    return float(np.mean(p_values < 0.05))


def as_printed(share: float) -> tuple[float, float]:
    """Where a power printed with two digits lies: half a digit and three standard errors."""
    tolerance = 0.005 + 3 * float(np.sqrt(share * (1 - share) / N_TRIALS))
    return share - tolerance, share + tolerance


@pytest.fixture(scope="module")
def ten_pairs() -> ScorePairs:
    """One HIT of each judge; degradation 20, item sd 22, noise 12."""
    return simulate_pairs(10, n_judges=N_TRIALS)


def test_power_of_paired_tests(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .96 for the paired t, .94 for the signed rank."""
    judge, differences = ten_pairs.judge, ten_pairs.ordinary - ten_pairs.degraded
    low, high = as_printed(0.96)
    assert low < power(paired_t(judge, differences, n_groups=N_TRIALS).p_value) < high
    low, high = as_printed(0.94)
    assert low < power(signed_rank(judge, differences, n_groups=N_TRIALS).p_value) < high


def test_power_of_pooled_tests(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .74 to .77; all 70 ordinary scores against the 10 degraded."""
    first = ten_pairs.ordinary_judge, ten_pairs.all_ordinary
    second = ten_pairs.judge, ten_pairs.degraded
    assert ten_pairs.all_ordinary.shape == (70 * N_TRIALS,)
    low, high = as_printed(0.74)
    assert low < power(welch(*first, *second, n_groups=N_TRIALS).p_value) < high
    low, high = as_printed(0.76)
    assert low < power(mann_whitney(*first, *second, n_groups=N_TRIALS).p_value) < high
    # the same tests look worse still if only the ten outputs that have copies are taken
    first = ten_pairs.judge, ten_pairs.ordinary
    assert power(welch(*first, *second, n_groups=N_TRIALS).p_value) == pytest.approx(0.56, abs=0.02)
    by_ranks = power(mann_whitney(*first, *second, n_groups=N_TRIALS).p_value)
    assert by_ranks == pytest.approx(0.515, abs=0.02)


def test_power_of_differences_against_repeats(ten_pairs: ScorePairs) -> None:
    """METHODS.md, section 1: .26 for |d1| against d2."""
    judge = ten_pairs.judge
    differences = ten_pairs.ordinary - ten_pairs.degraded
    low, high = as_printed(0.26)
    for test in (welch, mann_whitney):
        found = test(judge, differences, judge, ten_pairs.repeat_difference, n_groups=N_TRIALS)
        assert low < power(found.p_value) < high


def test_without_degradation_the_tests_hold_their_level() -> None:
    null = simulate_pairs(10, n_judges=N_TRIALS, degradation=0)
    differences = null.ordinary - null.degraded
    low, high = as_printed(0.05)
    assert low < power(paired_t(null.judge, differences, n_groups=N_TRIALS).p_value) < high
    assert power(signed_rank(null.judge, differences, n_groups=N_TRIALS).p_value) < high


def test_pairs_are_as_asked() -> None:
    pairs = simulate_pairs(5, n_judges=8000, degradation=7, item_sd=30, noise_sd=4, seed=3)
    assert pairs.judge.tolist() == np.repeat(np.arange(8000), 5).tolist()
    assert np.bincount(pairs.ordinary_judge).tolist() == [35] * 8000
    assert pairs.all_ordinary.std() == pytest.approx(np.hypot(30, 4), rel=0.01)
    differences = pairs.ordinary - pairs.degraded
    assert differences.mean() == pytest.approx(7, abs=0.1)
    assert differences.std() == pytest.approx(4 * np.sqrt(2), rel=0.02)
    # the mean of |N(0, 2 * 16)|
    assert pairs.repeat_difference.mean() == pytest.approx(8 / np.sqrt(np.pi), rel=0.02)
    assert set(pairs.ordinary.tolist()) < set(pairs.all_ordinary.tolist())
    again = simulate_pairs(5, n_judges=8000, degradation=7, item_sd=30, noise_sd=4, seed=3)
    np.testing.assert_array_equal(pairs.degraded, again.degraded)
    assert simulate_pairs(5, n_judges=3, n_ordinary=10).all_ordinary.size == 30


@pytest.mark.parametrize("wrong", [{"n_pairs": 0}, {"n_judges": 0}, {"n_ordinary": 19}])
def test_pairs_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    asked: dict[str, Any] = {"n_pairs": 10, **wrong}
    with pytest.raises(ValueError, match="n_ordinary 2"):
        simulate_pairs(**asked)


# --- exports -------------------------------------------------------------------------------


def read(written: WrittenScores) -> list[list[dict[str, str]]]:
    nights = []
    for path in written.paths:
        with path.open(encoding="utf-8", newline="") as file:
            nights.append(list(csv.DictReader(file)))
    return nights


def as_written(simulated: SimulatedScores) -> Iterator[tuple[str, ...]]:
    """What the exports say of each row, made one by one."""
    rows, hits, params = simulated.rows, simulated.hits, simulated.params
    for place in range(len(rows)):
        hit = int(rows.hit[place])
        source, target = params.language_pairs[hits.task[hit]].split("-")
        time = datetime.fromtimestamp(int(hits.submitted_at[hit]), UTC)
        yield (
            source, target, f"judge-{rows.judge[place] + 1:02}", f"hit-{hit + 1:02}",
            f"assignment-{hit + 1:02}", str(rows.position[place]),
            f"system-{rows.system[place] + 1}", f"segment-{rows.segment[place] + 1:03}",
            KIND_NAMES[rows.kind[place]], str(rows.score[place]),
            f"{rows.seconds[place]:g}", time.strftime("%Y-%m-%dT%H:%M:%SZ"), hits.status[hit],
        )  # fmt: skip


def test_every_row_is_written_as_it_is_in_order_of_time(tmp_path: Path) -> None:
    simulated = simulate_scores(replace(SMALL, repeat_share=0))
    nights = read(write_score_campaign(simulated, tmp_path))
    assert len(nights) == 4
    assert {tuple(row) for night in nights for row in night} == {COLUMNS}
    written = [tuple(row.values()) for night in nights for row in night]
    assert written == list(as_written(simulated))
    for number, night in enumerate(nights):
        assert {row["submitted_at"][:10] for row in night} == {f"2025-03-{3 + number:02}"}
        times = [row["submitted_at"] for row in night]
        assert times == sorted(times)


def test_a_night_starts_with_the_last_rows_of_the_night_before(tmp_path: Path) -> None:
    simulated = simulate_scores(replace(SMALL, repeat_share=0.1))
    written = write_score_campaign(simulated, tmp_path)
    nights = read(written)
    assert [len(night) for night in nights] == [600, 660, 660, 660]
    assert (written.n_rows, written.n_repeats) == (2580, 180)
    for before, today in itertools.pairwise(nights):
        assert today[:60] == before[-60:]
        assert {row["submitted_at"][:10] for row in today[60:]} == {today[-1]["submitted_at"][:10]}


def test_the_same_seed_gives_the_same_bytes_whatever_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_score_campaign(simulate_scores(SMALL), tmp_path / "a", dirty=2)
    monkeypatch.setattr(score_exports, "BLOCK", 97)
    second = write_score_campaign(simulate_scores(SMALL), tmp_path / "b", dirty=2)
    names = [path.name for path in first.paths]
    assert names == ["night-1.csv", "night-2.csv", "night-3.csv", "night-4.csv"]
    for one, other in zip(first.paths, second.paths, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in first.paths[0].parent.iterdir()) == names


def test_another_seed_gives_other_bytes_in_every_file(tmp_path: Path) -> None:
    first = write_score_campaign(simulate_scores(SMALL), tmp_path / "a")
    second = write_score_campaign(simulate_scores(replace(SMALL, seed=18)), tmp_path / "b")
    for one, other in zip(first.paths, second.paths, strict=True):
        assert one.read_bytes() != other.read_bytes()


def test_files_that_are_right_already_are_left_alone(tmp_path: Path) -> None:
    simulated = simulate_scores(SMALL)
    paths = write_score_campaign(simulated, tmp_path).paths
    right = paths[1].read_bytes()
    paths[1].write_bytes(b"cut short")
    before = {path: path.stat().st_mtime_ns for path in paths if path != paths[1]}
    assert write_score_campaign(simulated, tmp_path).paths == paths
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert paths[1].read_bytes() == right
    assert sorted(paths[0].parent.iterdir()) == sorted(paths)


def test_clean_exports_hold_no_damage(tmp_path: Path) -> None:
    written = write_score_campaign(simulate_scores(SMALL), tmp_path)
    assert written.damage == dict.fromkeys(DAMAGES, 0)
    scores = [row["score"] for night in read(written) for row in night]
    assert all(score.isdigit() and 0 <= int(score) <= 100 for score in scores)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dirty", [1, 4])
def test_exports_hold_the_damage_that_was_asked_for_and_no_other(
    dirty: int, seed: int, tmp_path: Path
) -> None:
    simulated = simulate_scores(replace(SMALL, seed=seed))
    written = write_score_campaign(simulated, tmp_path, dirty=dirty)
    assert written.damage == dict.fromkeys(DAMAGES, dirty)
    nights = read(written)
    assert sum(map(len, nights)) == written.n_rows == 2400 + written.n_repeats
    rows = [row for night in nights for row in night]
    scores = Counter(row["score"] for row in rows)
    for text in UNFIT_SCORES.values():
        assert scores.pop(text) == dirty
    assert all(score.isdigit() and int(score) <= 100 for score in scores)
    # what is left once exact repeats between files are taken out
    new = [
        row
        for number, night in enumerate(nights)
        for row in night
        if row["submitted_at"].startswith(f"2025-03-{3 + number:02}")
    ]
    assert len(rows) - len(new) == written.n_repeats
    fit = [row for row in new if row["score"] not in UNFIT_SCORES.values()]
    shown = Counter((row["hit"], row["system"], row["segment"], row["kind"]) for row in fit)
    unpaired = [
        place for place in shown if place[3] != "SYSTEM" and (*place[:3], "SYSTEM") not in shown
    ]
    assert [place[3] for place in unpaired] == ["BAD_REF"] * written.damage[UNPAIRED]
    twice = [place for place, count in shown.items() if count > 1]
    assert [place[3] for place in twice] == ["BAD_REF"] * written.damage[DOUBLED]
    assert max(shown.values()) == 2
    assert set(twice).isdisjoint(unpaired)


def test_rows_of_rejected_assignments_are_counted_and_not_damaged(tmp_path: Path) -> None:
    params = replace(SMALL, careless_share=0.5, rejected_share=0.9, repeat_share=0.2)
    written = write_score_campaign(simulate_scores(params), tmp_path, dirty=3)
    nights = read(written)
    rejected = [row for night in nights for row in night if row["status"] == "Rejected"]
    assert written.n_rejected == len(rejected) > 500
    repeats = [
        row
        for number, night in enumerate(nights)
        for row in night
        if not row["submitted_at"].startswith(f"2025-03-{3 + number:02}")
    ]
    assert written.n_repeats == len(repeats)
    assert written.n_rejected_repeats == sum(row["status"] == "Rejected" for row in repeats) > 0
    assert {row["score"] for row in rejected}.isdisjoint(UNFIT_SCORES.values())
    once = {tuple(row.values()): row for row in rejected}.values()
    kinds = Counter((row["hit"], row["kind"]) for row in once)
    assert {count for (_, kind), count in kinds.items() if kind == "BAD_REF"} == {10}
    assert {count for (_, kind), count in kinds.items() if kind == "SYSTEM"} == {70}


def test_damage_stays_out_of_what_another_file_repeats(tmp_path: Path) -> None:
    simulated = simulate_scores(replace(SMALL, repeat_share=0.9))
    for dirty in (-1, 100):
        with pytest.raises(ConfigError, match="cannot be") as caught:
            write_score_campaign(simulated, tmp_path, dirty=dirty)
        assert caught.value.problems[0].where == "dirty"
    written = write_score_campaign(simulated, tmp_path, dirty=3)
    scores = Counter(row["score"] for night in read(written) for row in night)
    assert {scores[text] for text in UNFIT_SCORES.values()} == {3}


def test_the_example_reads_all_of_it(
    example: SimulatedScores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_score_campaign(example, tmp_path, dirty=2)
    exports = f"sources.0.path={tmp_path / 'exports/night-*.csv'}"
    store, gold = f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}"
    command = ["validate", str(EXAMPLE), "--json", "--set", exports]
    assert cli.main([*command, "--set", store, "--set", gold]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == written.n_rows == 10_150
    # the unfit scores by reason, and rows of assignments that the requester rejected
    reasons = {r["kind"]: r["records"] for r in found["rejections"]}
    assert reasons == {
        "assignment was rejected": written.n_rejected,
        "score is not a number": 8,
        "score is outside the scale": 2,
    }
    assert found["fates"]["rejected"] == written.n_rejected + 10 < 0.05 * written.n_rows
    assert found["fates"]["duplicate"] == written.n_repeats - written.n_rejected_repeats
    (source,) = found["sources"]
    assert [field["field"] for field in source["fields"]] == [
        "task", "judge", "hit", "native_id", "position", "system", "segment", "control", "score",
        "seconds", "submitted_at", "status",
    ]  # fmt: skip
    assert sorted(task["task"] for task in found["tasks"]) == ["cs-en", "de-en"]


# --- settings ------------------------------------------------------------------------------


def test_all_settings_that_do_not_fit_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        ScoreSimulation(
            language_pairs=("cs-en", "cs-en"), n_systems=1, n_segments=60, n_judges=50, n_hits=49,
            noise_sd=-1, item_sd=10, segment_sd=11, spread_sd=2, degradation=float("nan"),
            careless_share=1.5, nights=0,
        )  # fmt: skip
    assert [problem.where for problem in caught.value.problems] == [
        "language_pairs", "n_systems", "n_segments", "n_hits", "noise_sd", "segment_sd",
        "spread_sd", "degradation", "careless_share", "nights",
    ]  # fmt: skip


@pytest.mark.parametrize("pairs", [(), ("csen",), ("cs-en-x",), ("-en",), ("c,s-en",)])
def test_names_that_are_no_language_pairs_are_refused(pairs: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="cannot be"):
        ScoreSimulation(language_pairs=pairs)


def test_the_smallest_campaign() -> None:
    simulated = simulate_scores(
        ScoreSimulation(
            language_pairs=("cs-en",), n_systems=2, n_segments=35, n_judges=1, n_hits=1, nights=1
        )
    )
    assert len(simulated.rows) == 100
    assert set(simulate_scores(replace(SMALL, nights=24)).hits.night.tolist()) == set(range(1, 25))


# --- size ----------------------------------------------------------------------------------


@needs_soak
def test_five_million_judgments(tmp_path: Path) -> None:
    simulated = simulate_scores(
        ScoreSimulation(
            language_pairs=("cs-en", "de-en", "ru-en", "zh-en"),
            n_systems=12, n_segments=1000, n_judges=1500, n_hits=50_000,
        )
    )  # fmt: skip
    assert len(simulated.rows) == 5_000_000
    written = write_score_campaign(simulated, tmp_path, dirty=3)
    assert written.n_repeats == 3 * 25_000
    assert written.n_rows == 5_000_000 + written.n_repeats
    lines = 0
    for path in written.paths:
        with path.open("rb") as file:
            lines += sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 24), b""))
    assert lines == written.n_rows + len(written.paths)
