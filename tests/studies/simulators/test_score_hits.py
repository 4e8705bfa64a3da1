"""Simulated direct assessments: HITs, times and status."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from studies.simulators.scores import (
    ASK_AGAIN,
    BAD_REFERENCE,
    GOOD_REFERENCE,
    ORDINARY,
    ScoreSimulation,
    simulate_scores,
)


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
