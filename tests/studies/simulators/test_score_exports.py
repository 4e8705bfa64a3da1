"""Simulated direct assessments: exports, settings, size."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from annot_pipeline import cli
from annot_pipeline.errors import ConfigError
from studies.simulators.score_exports import (
    COLUMNS,
    DAMAGES,
    DOUBLED,
    KIND_NAMES,
    UNFIT_SCORES,
    UNPAIRED,
    WrittenScores,
    write_score_campaign,
)
from studies.simulators.scores import (
    ScoreSimulation,
    SimulatedScores,
    simulate_scores,
)
from tests.studies.simulators.simulated_scores import EXAMPLE, SMALL


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


def test_the_same_seed_gives_the_same_bytes_whatever_the_block(tmp_path: Path) -> None:
    first = write_score_campaign(simulate_scores(SMALL), tmp_path / "a", dirty=2)
    second = write_score_campaign(simulate_scores(SMALL), tmp_path / "b", dirty=2, rows_at_once=97)
    names = [path.name for path in first.paths]
    assert names == ["night-1.csv", "night-2.csv", "night-3.csv", "night-4.csv"]
    for one, other in zip(first.paths, second.paths, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in first.paths[0].parent.iterdir()) == names


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


def test_the_example_reads_all_of_it(
    example: SimulatedScores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_score_campaign(example, tmp_path, dirty=2)
    exports = f"sources.0.path={tmp_path / 'exports/night-*.csv'}"
    store, gold = f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}"
    command = ["validate", str(EXAMPLE), "--json", "--set", exports]
    assert cli.main([*command, "--set", store, "--set", gold]) == 0
    actual = json.loads(capsys.readouterr().out)
    assert actual["records"] == written.n_rows == 10_150
    # the unfit scores by reason, and rows of assignments that the requester rejected
    reasons = {r["kind"]: r["records"] for r in actual["rejections"]}
    assert reasons == {
        "assignment was rejected": written.n_rejected,
        "score is not a number": 8,
        "score is outside the scale": 2,
    }
    assert actual["fates"]["rejected"] == written.n_rejected + 10 < 0.05 * written.n_rows
    assert actual["fates"]["duplicate"] == written.n_repeats - written.n_rejected_repeats
    (source,) = actual["sources"]
    assert [field["field"] for field in source["fields"]] == [
        "task", "judge", "hit", "native_id", "position", "system", "segment", "control", "score",
        "seconds", "submitted_at", "status",
    ]  # fmt: skip
    assert sorted(task["task"] for task in actual["tasks"]) == ["cs-en", "de-en"]


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
