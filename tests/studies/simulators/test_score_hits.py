"""Simulated direct assessments: HITs, times and status."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.simulators.scores import (
    ASK_AGAIN,
    BAD_REFERENCE,
    GOOD_REFERENCE,
    ORDINARY,
    ScoreSimulation,
    SimulatedScores,
    simulate_scores,
)
from tests.studies.simulators.simulated_scores import SMALL, pairs_of


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
