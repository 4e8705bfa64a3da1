"""The generator of preferences: collected as Pighin et al. 2012 did, truth to be found."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr

from annot_pipeline import cli
from annot_pipeline.errors import ConfigError
from studies.simulators.preference_exports import (
    ANSWER_COLUMNS,
    COLUMNS,
    ITEM_COLUMNS,
    write_preference_campaign,
)
from studies.simulators.preference_settings import PreferenceSimulation
from studies.simulators.preferences import (
    DAMAGES,
    PreferenceRows,
    SimulatedPreferences,
    simulate_preferences,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "preferences"
SMALL = PreferenceSimulation(n_systems=5, n_segments=40, n_judges=6, shared_segments=10)
KNOWN = replace(SMALL, judge_sd=0, noise_sd=0, first_shown=0, dirty=0, repeat_share=0)
"""Everybody says what outputs are worth."""

WORDS = {1: "left", -1: "right", 0: "same"}


@pytest.fixture(scope="module")
def example() -> SimulatedPreferences:
    return simulate_preferences()


def new(simulated: SimulatedPreferences) -> PreferenceRows:
    return simulated.rows.take(~simulated.rows.repeat)


def pairs_by_hit(rows: PreferenceRows) -> dict[int, list[tuple[int, int]]]:
    """Pairs of systems, whichever was shown first, in the order of time."""
    actual: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for hit, a, b in zip(rows.hit.tolist(), rows.first.tolist(), rows.second.tolist(), strict=True):
        actual[hit].append((min(a, b), max(a, b)))
    return actual


# --- what is asked -------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_systems=st.integers(1, 10),
    copied_share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_a_hit_is_the_tournament_of_the_different_outputs_of_a_segment(
    seed: int, n_systems: int, copied_share: float
) -> None:
    params = replace(SMALL, n_systems=n_systems, copied_share=copied_share, seed=seed)
    simulated = simulate_preferences(params)
    rows = new(simulated)
    asked = pairs_by_hit(rows)
    segment = dict(zip(rows.hit.tolist(), rows.segment.tolist(), strict=True))
    # n sets in pairs, an odd one out with any other, and so on: by hand for 1 to 11
    n_pairs = dict(enumerate([0, 1, 3, 3, 6, 6, 7, 7, 11, 11, 12], start=1))
    players = [set(row) for row in simulated.same_as.tolist()]
    for hit, pairs in asked.items():
        here = players[segment[hit]]
        assert set(itertools.chain(*pairs)) == here
        assert len(pairs) == n_pairs[len(here)]
        if len(here) > 3:
            assert len(set(pairs)) == len(pairs)
        a, b = zip(*pairs, strict=True)
        n = 1 + n_systems
        parts = connected_components(coo_array((np.ones(len(a)), (a, b)), (n, n)))[1]
        assert len(set(parts[sorted(here)].tolist())) == 1
    silent = sum(len(here) == 1 for here in players)
    assert len(set(segment.values())) == params.n_segments - silent


# --- what is said --------------------------------------------------------------------------


def test_without_noise_the_better_output_wins_and_close_ones_tie() -> None:
    simulated = simulate_preferences(KNOWN)
    rows, worth = simulated.rows, simulated.worth
    decided = Counter()
    for place in range(len(rows)):
        of = worth[rows.segment[place]]
        more = of[rows.first[place]] - of[rows.second[place]]
        wanted = 0 if abs(more) < 0.45 else 1 if more > 0 else -1
        assert rows.outcome[place] == wanted
        decided[wanted] += 1
    assert min(decided.values()) > 30
    apart = simulate_preferences(replace(KNOWN, tie_below=0)).rows
    assert set(apart.outcome.tolist()) == {1, -1}


@pytest.mark.parametrize("seed", range(5))
def test_the_true_order_can_be_recovered(seed: int) -> None:
    simulated = simulate_preferences(PreferenceSimulation(seed=seed))
    rows = new(simulated)
    points = np.zeros(9)
    np.add.at(points, rows.first, rows.outcome)
    np.add.at(points, rows.second, -rows.outcome)
    shown = np.bincount(np.append(rows.first, rows.second))
    rho = spearmanr(points / shown, simulated.quality).statistic
    assert rho > 0.9
    assert simulated.quality.argmax() == 0  # the reference is best, but not always
    best = simulated.worth.argmax(axis=1)
    assert 0.3 < (best == 0).mean() < 0.9


# --- when, and in which export --------------------------------------------------------------


def test_an_export_starts_with_the_last_rows_of_the_one_before() -> None:
    rows = simulate_preferences(replace(SMALL, repeat_share=0.2)).rows
    for night in (1, 2, 3):
        today = rows.take(rows.night == night)
        fresh = today.take(~today.repeat)
        assert (np.diff(fresh.submitted_at) >= 0).all()
        repeated = today.take(today.repeat)
        assert len(repeated) == (night > 1) * round(0.2 * len(fresh))
        if night > 1:
            before = rows.take((rows.night == night - 1) & ~rows.repeat)
            for name in ("hit", "first", "second", "outcome", "submitted_at", "damage"):
                wanted = getattr(before, name)[-len(repeated) :]
                assert getattr(repeated, name).tolist() == wanted.tolist()


@pytest.mark.parametrize("dirty", [0, 1, 4])
def test_as_many_rows_are_damaged_as_asked(dirty: int) -> None:
    simulated = simulate_preferences(replace(SMALL, dirty=dirty))
    actual = Counter(new(simulated).damage.tolist())
    assert actual.pop("") > 200
    assert actual == {damage: dirty for damage in DAMAGES if dirty}
    assert simulated.answers.damaged.sum() == dirty


# --- questions and answers -----------------------------------------------------------------


# --- texts ---------------------------------------------------------------------------------


# --- exports -------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        actual = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        parts = ("shown", "said")
        return [
            {name: value for name, value in row.items() if name not in parts}
            | {name: value for part in parts for name, value in row[part].items()}
            for row in actual
        ]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_is_written_as_it_is(tmp_path: Path) -> None:
    simulated = simulate_preferences(replace(SMALL, dirty=2, repeat_share=0.1))
    *nights, answers, items = write_preference_campaign(simulated, tmp_path)
    names = ["preferences-1.csv", "preferences-2.jsonl", "preferences-3.csv", "answers-4.csv"]
    assert [path.name for path in (*nights, answers)] == names
    rows = simulated.rows
    written = [row for path in nights for row in read(path)]
    assert len(written) == len(rows)
    for place, row in enumerate(written):
        assert set(row) == set(COLUMNS)
        time = int(rows.submitted_at[place])
        if rows.night[place] != 2:
            time = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        a, b = (simulated.systems[codes[place]] for codes in (rows.first, rows.second))
        word = WORDS[int(rows.outcome[place])]
        if rows.damage[place] == "system as outcome":
            assert row["outcome"] in set(simulated.systems) - {a, b}
        wanted = {
            "unknown outcome": (a, b, "both bad"),
            "system as outcome": (a, b, row["outcome"]),
            "blank outcome": (a, b, ""),
            "against itself": (a, a, word),
            "blank system": (a, "", word),
        }
        shown = row["left"], row["right"], row["outcome"]
        assert shown == wanted.get(str(rows.damage[place]), (a, b, word))
        assert row["hit"] == f"hit-{rows.hit[place] + 1:02}"
        assert row["worker"] == simulated.judges[rows.judge[place]]
        assert row["segment"] == simulated.segments[rows.segment[place]]
        assert float(row["seconds"]) == rows.seconds[place]
        assert row["submitted_at"] == time
    said = read(answers)
    assert tuple(said[0]) == ANSWER_COLUMNS
    words = np.where(simulated.answers.adequate, "good", "not good")
    words[simulated.answers.damaged] = "maybe"
    assert [row["answer"] for row in said] == words.tolist()
    assert [row["system"] for row in said] == [
        simulated.systems[code] for code in simulated.answers.system
    ]
    listed = read(items)
    assert tuple(listed[0]) == ITEM_COLUMNS
    assert [row["text"] for row in listed] == simulated.texts.reshape(-1).tolist()
    assert [row["source"] for row in listed] == np.repeat(simulated.sources, 6).tolist()
    assert [row["segment"] for row in listed] == np.repeat(simulated.segments, 6).tolist()
    assert [row["system"] for row in listed] == [*simulated.systems] * 40


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def written(folder: str, params: PreferenceSimulation) -> list[bytes]:
        paths = write_preference_campaign(simulate_preferences(params), tmp_path / folder)
        return [path.read_bytes() for path in paths]

    first = written("a", SMALL)
    assert first == written("b", SMALL)
    other = written("c", replace(SMALL, seed=18))
    assert [a == b for a, b in zip(first, other, strict=True)] == [False] * 5


def test_the_example_reads_all_of_it(
    example: SimulatedPreferences, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_preference_campaign(example, tmp_path)
    sets = [
        f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}",
        f"sources.0.path={tmp_path / 'exports/preferences-*.csv'}",
        f"sources.1.path={tmp_path / 'exports/preferences-*.jsonl'}",
        f"sources.2.path={tmp_path / 'exports/answers-*.csv'}",
        f"items.0.path={tmp_path / 'items.csv'}",
    ]  # fmt: skip
    command = ["validate", str(EXAMPLE), "--json"]
    assert cli.main([*command, *(part for given in sets for part in ("--set", given))]) == 0
    actual = json.loads(capsys.readouterr().out)
    rows = example.rows
    n_damaged_repeats = int((rows.repeat & (rows.damage != "")).sum())
    assert actual["records"] == len(rows) + len(example.answers)
    assert actual["fates"]["rejected"] == 3 * len(DAMAGES) + 3 + n_damaged_repeats
    assert actual["fates"]["duplicate"] == rows.repeat.sum() - n_damaged_repeats > 15
    assert actual["fates"].get("superseded", 0) == 0
    kinds = Counter()
    for rejection in actual["rejections"]:
        kinds[rejection["kind"].split(":")[0]] += rejection["records"]
    assert set(kinds) == {
        "preference has no match", "item_a and item_b are the same", "item_b is blank",
        "label is not a declared class",
    }  # fmt: skip
    assert {task["task"]: task["kind"] for task in actual["tasks"]} == {
        "preference": "pairwise", "good_enough": "categorical",
    }  # fmt: skip


# --- settings ------------------------------------------------------------------------------


def test_all_settings_that_do_not_fit_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        PreferenceSimulation(
            n_systems=625, n_segments=0, n_judges=2, nights=0, shared_segments=1,
            judges_of_shared=3, judges_of_answer=2, noise_sd=-1, tie_below=float("inf"),
            first_shown=float("nan"), copied_share=1.5, json_night=1, dirty=-1,
        )  # fmt: skip
    assert [problem.where for problem in caught.value.problems] == [
        "n_systems", "n_segments", "nights", "shared_segments", "judges_of_shared",
        "judges_of_answer", "noise_sd", "tie_below", "first_shown", "copied_share", "json_night",
        "dirty",
    ]  # fmt: skip
