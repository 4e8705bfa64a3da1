"""The bundled campaigns: the published table as printed, and what their builds must find."""

import csv
import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import MAKER, STAGES, Build
from annot_pipeline.storage.tables import read_table
from examples import build_all
from studies.simulators.label_exports import write_label_campaign
from studies.simulators.labels import (
    LabelSimulation,
    SimulatedLabels,
    simulate_labels,
)
from studies.simulators.preference_exports import write_preference_campaign
from studies.simulators.preferences import (
    SimulatedPreferences,
    simulate_preferences,
)
from studies.simulators.score_exports import write_score_campaign
from studies.simulators.scores import simulate_scores

EXAMPLES = Path(__file__).parents[1] / "examples"

# Dawid & Skene 1979, Table 1: 45 patients in order, the three readings of observer 1, then
# observers 2 to 5.
TABLE_1 = """
    111 1111, 333 4334, 112 2122, 222 3121, 222 3222, 222 3322, 112 2111, 333 3433, 222 2223,
    232 2223, 444 4444, 222 3343, 111 1111, 222 3212, 121 1111, 111 2111, 111 1111, 111 1111,
    222 2221, 222 1322, 222 2222, 222 2221, 222 3222, 221 2222, 111 1111, 111 1111, 232 2222,
    111 1111, 111 1111, 112 1121, 111 1111, 333 3233, 111 1111, 222 2222, 222 3232, 433 4343,
    221 2232, 232 3233, 333 3432, 111 1111, 111 1111, 121 2111, 232 2222, 121 1111, 222 2222
"""


def build(example: str, folder: Path, *sets: str) -> dict[str, pa.Table]:
    """All tables of an example, made in another folder."""
    sets = (f"store={folder / 'store'}", f"gold={folder / 'gold'}", *sets)
    run = Build(load_campaign(EXAMPLES / example, sets=sets))
    for stage in STAGES:
        run.run_stage(stage)
    return {
        table: read_table(run.recorded(stage).result.tables[table])
        for table, stage in MAKER.items()
    }


# --- anaesthetists -------------------------------------------------------------------------


def test_ratings_are_those_of_the_published_table() -> None:
    with (EXAMPLES / "anaesthetists/exports/ratings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 315
    actual: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    for row in rows:
        actual[int(row["patient"])][row["observer"], row["rating"]] += 1
    printed = [patient.split() for patient in TABLE_1.strip().split(",")]
    assert len(printed) == 45
    for patient, (first, others) in enumerate(printed, start=1):
        given = [("1", r) for r in first] + [(str(o), r) for o, r in enumerate(others, start=2)]
        assert actual.pop(patient) == Counter(given), f"patient {patient}"
    assert not actual


def test_readings_are_numbered() -> None:
    with (EXAMPLES / "anaesthetists/exports/ratings.csv").open(encoding="utf-8") as file:
        readings = Counter((row["observer"], row["reading"]) for row in csv.DictReader(file))
    assert readings == dict.fromkeys(
        [("1", "1"), ("1", "2"), ("1", "3"), ("2", "1"), ("3", "1"), ("4", "1"), ("5", "1")], 45
    )


def test_anaesthetists_give_the_published_figures(tmp_path: Path) -> None:
    tables = build("anaesthetists", tmp_path)
    # printed with two digits; then the digits that an independent implementation gives
    prevalence = tables["prevalence"]["dawid_skene_prevalence"].to_numpy()
    np.testing.assert_allclose(prevalence, [0.40, 0.42, 0.11, 0.07], atol=0.005)
    np.testing.assert_allclose(prevalence, [0.4000, 0.4216, 0.1118, 0.0667], atol=5e-5)
    (fit,) = [fit for fit in tables["label_fits"].to_pylist() if fit["model"] == "dawid_skene"]
    assert fit["converged"]
    assert fit["log_likelihood"] == pytest.approx(-190.7310, abs=5e-5)
    assert tables["judgments"]["fate"].to_pylist() == ["used"] * 315  # all three readings count


# --- direct assessment ---------------------------------------------------------------------


@pytest.mark.slow
def test_direct_assessment_finds_the_true_order_and_the_careless_judges(tmp_path: Path) -> None:
    scores = simulate_scores()
    written = write_score_campaign(scores, tmp_path, dirty=2)
    source = f"sources.0.path={tmp_path / 'exports/night-*.csv'}"
    tables = build("direct_assessment", tmp_path, source, "privacy.pseudonymize=false")
    assert tables["lineage"].num_rows == written.n_rows
    verdicts = {row["judge"]: row["verdict"] for row in tables["judges"].to_pylist()}
    failed = {judge for judge, verdict in verdicts.items() if verdict == "failed"}
    careless = {name for name, lazy in zip(scores.judges, scores.careless, strict=True) if lazy}
    assert careless <= failed
    assert len(failed - careless) <= 4  # of 30; about one in 25 of a single HIT
    rankings = tables["system_rankings"].to_pylist()
    for task, quality in zip(scores.params.language_pairs, scores.quality, strict=True):
        rows = [r for r in rankings if (r["task"], r["method"]) == (task, "z_mean")]
        ranked = [r["system"] for r in sorted(rows, key=lambda r: r["rank"])]
        assert ranked == [scores.systems[s] for s in np.argsort(-quality)]
    reasons = Counter(row["reason"] for row in tables["set_aside"].to_pylist()
                      if row["left_out_of"] == "judge_control")  # fmt: skip
    assert reasons["no ordinary judgment of the same output"] == 2
    assert sum(reasons.values()) == 2 + 2 * 2  # and two controls that stand twice


# --- preferences ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def preferences() -> SimulatedPreferences:
    return simulate_preferences()


@pytest.fixture(scope="module")
def preference_tables(
    preferences: SimulatedPreferences, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pa.Table]:
    folder = tmp_path_factory.mktemp("preferences")
    write_preference_campaign(preferences, folder)
    return build(
        "preferences",
        folder,
        f"sources.0.path={folder / 'exports/preferences-*.csv'}",
        f"sources.1.path={folder / 'exports/preferences-*.jsonl'}",
        f"sources.2.path={folder / 'exports/answers-*.csv'}",
        f"items.0.path={folder / 'items.csv'}",
    )


@pytest.mark.slow
def test_every_intact_preference_is_one_comparison(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    rows = preferences.rows.take((preferences.rows.damage == "") & ~preferences.rows.repeat)
    expected = Counter()
    for place in range(len(rows)):
        a, b = (preferences.systems[codes[place]] for codes in (rows.first, rows.second))
        outcome = int(rows.outcome[place])
        segment = preferences.segments[rows.segment[place]]
        expected[segment, min(a, b), max(a, b), outcome if a < b else -outcome] += 1
    names = ("segment", "system_a", "system_b", "outcome")
    actual = preference_tables["comparisons"].to_pylist()
    assert Counter(tuple(row[name] for name in names) for row in actual) == expected
    assert len({row["ranking"] for row in actual}) == len(set(rows.hit.tolist())) == 210


def test_dominance_finds_the_true_order(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    dominance: dict[str, list[int]] = defaultdict(list)
    for row in preference_tables["segment_ranks"].to_pylist():
        dominance[row["system"]].append(row["dominance"])
    means = [np.mean(dominance[system]) for system in preferences.systems]
    assert spearmanr(means, preferences.quality).statistic > 0.95


COMPARED = {
    "bounded_ra", "bradley_terry", "dominance", "trueskill", "wins", "wins_ties_half",
}  # fmt: skip


def test_every_method_finds_the_true_order(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for row in preference_tables["system_rankings"].to_pylist():
        scores[row["method"]][row["system"]] = row["score"]
    assert scores.keys() == COMPARED
    for actual in scores.values():
        in_order = [actual[system] for system in preferences.systems]
        assert spearmanr(in_order, preferences.quality).statistic > 0.95


def test_outputs_equal_but_for_case_are_ranked_though_nobody_compared_them(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    actual = {row["item"]: row for row in preference_tables["segment_ranks"].to_pylist()}
    n_settled = 0
    for segment, same in zip(preferences.segments, preferences.same_as.tolist(), strict=True):
        for system, original in enumerate(same):
            row = actual.get(f"{segment}/{preferences.systems[system]}")
            twin = actual.get(f"{segment}/{preferences.systems[original]}")
            if row is not None and twin is not None and system != original:
                assert row["component"] == twin["component"]
                assert row["rank"] == twin["rank"]
                n_settled += row["n_comparisons"] == 0
    assert n_settled == sum(row["n_comparisons"] == 0 for row in actual.values()) > 90


def test_most_outputs_are_called_good_enough_or_not_without_asking(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    rows = preference_tables["segment_ranks"].to_pylist()
    truth = {
        f"{segment}/{system}": bool(adequate)
        for segment, row in zip(preferences.segments, preferences.adequate, strict=True)
        for system, adequate in zip(preferences.systems, row, strict=True)
    }
    by_source = defaultdict(list)
    for row in rows:
        by_source[row["adequacy_source"]].append(row["adequate"] == truth[row["item"]])
        if row["system"] == "human":
            assert (row["adequacy_source"], row["adequate"]) == ("reference", True)
    answers = preferences.answers
    asked = set(zip(answers.segment.tolist(), answers.system.tolist(), strict=True))
    assert len(asked) < 0.45 * len(rows)
    draws = len(asked) - len(by_source["asked"])  # where one of three answers was rejected
    assert 0 <= draws <= 3
    assert len(by_source["unknown"]) >= draws
    assert len(by_source["unknown"]) <= 5
    for source in ("asked", "reference", "spread"):
        assert np.mean(by_source[source]) > 0.85, source


def test_what_damaged_rows_lost_is_seen(
    preferences: SimulatedPreferences, preference_tables: dict[str, pa.Table]
) -> None:
    ranked = preference_tables["segment_ranks"].to_pylist()
    parts = Counter(row["segment"] for row in ranked if row["part"] > 1)
    rows = preferences.rows
    damaged = {preferences.segments[s] for s in rows.segment[rows.damage != ""].tolist()}
    assert set(parts) <= damaged
    assert len(parts) >= 1
    assert len({(row["segment"], row["part"]) for row in ranked if row["part"] == 1}) == 150


# --- simulated -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated() -> SimulatedLabels:
    return simulate_labels()


@pytest.fixture(scope="module")
def simulated_tables(
    simulated: SimulatedLabels, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pa.Table]:
    return build_simulated(
        simulated, tmp_path_factory.mktemp("simulated"), "quality.labels=measure"
    )


def build_simulated(simulated: SimulatedLabels, folder: Path, *sets: str) -> dict[str, pa.Table]:
    write_label_campaign(simulated, folder)
    return build(
        "simulated",
        folder,
        f"sources.0.path={folder / 'exports/night-*.csv'}",
        f"sources.1.path={folder / 'exports/night-*.jsonl.gz'}",
        f"items.0.path={folder / 'items.csv'}",
        *sets,
    )


def expected_fates(simulated: SimulatedLabels) -> list[str]:
    """The fate of each row by the contract: the latest answer counts, then the later source."""
    rows, json_night = simulated.rows, simulated.params.json_night
    fates = ["rejected"] * len(rows)
    answers: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in np.flatnonzero(rows.damage == "").tolist():
        answers[int(rows.item[place]), int(rows.judge[place])].append(place)
    for places in answers.values():
        # the night in JSON Lines is the second source, so it comes after the csv nights
        time, night = rows.submitted_at[places], rows.night[places]
        *older, counts = np.array(places)[np.lexsort((night, night == json_night, time))].tolist()
        fates[counts] = "used"
        for place in older:
            same = rows.label[place] == rows.label[counts]
            fates[place] = "duplicate" if same else "superseded"
    return fates


@pytest.mark.slow
def test_every_row_gets_the_fate_that_the_generator_meant(
    simulated: SimulatedLabels, simulated_tables: dict[str, pa.Table]
) -> None:
    expected: dict[int, list[str]] = defaultdict(list)
    for night, fate in zip(simulated.rows.night.tolist(), expected_fates(simulated), strict=True):
        expected[night].append(fate)
    actual: dict[int, dict[int, str]] = defaultdict(dict)
    for row in simulated_tables["lineage"].to_pylist():
        name = Path(row["source_file"]).name
        actual[int(name.removeprefix("night-").split(".")[0])][row["source_row"]] = row["fate"]
    for night, fates in expected.items():
        assert actual[night] == dict(enumerate(fates, start=1)), f"night {night}"
    counted = Counter(fate for fates in expected.values() for fate in fates)
    assert counted.keys() == {"rejected", "duplicate", "superseded", "used"}


def test_exports_hold_every_kind_of_damage(simulated_tables: dict[str, pa.Table]) -> None:
    lineage = simulated_tables["lineage"]
    rejected = lineage.filter(pc.equal(lineage["fate"], "rejected"))
    reasons = {reason.split(":")[0] for reason in rejected["reason"].to_pylist()}
    assert reasons == {
        "judge is blank",
        "label is blank",
        "label is not a declared class",
        "malformed JSON",
        "not UTF-8",
        "not UTF-8 in column 3; see options.encoding",
        "ragged row",
    }


def test_dawid_skene_beats_the_majority_on_the_simulated_campaign(
    simulated_tables: dict[str, pa.Table],
) -> None:
    labels = simulated_tables["labels"].join(simulated_tables["items"], "item").to_pylist()
    assert len(labels) == 2000
    majority = np.mean([row["majority_label"] == row["truth"] for row in labels])
    model = np.mean([row["label"] == row["truth"] for row in labels])
    certain = np.mean([row["label"] == row["truth"] for row in labels if row["certain"]])
    assert majority + 0.05 < model < certain


@pytest.mark.slow
def test_by_default_judges_who_do_not_look_are_left_out(
    simulated: SimulatedLabels, simulated_tables: dict[str, pa.Table], tmp_path: Path
) -> None:
    tables = build_simulated(simulated, tmp_path, "privacy.pseudonymize=false")
    dropped = {row["judge"] for row in tables["judges"].to_pylist() if row["dropped"]}
    careless = {
        judge
        for judge, skill in zip(simulated.judges, simulated.skill.tolist(), strict=True)
        if skill == "careless"
    }
    assert dropped <= careless
    assert len(dropped) >= 0.8 * len(careless)

    def majority(of: dict[str, pa.Table]) -> float:
        labels = of["labels"].join(of["items"], "item").to_pylist()
        return float(np.mean([row["majority_label"] == row["truth"] for row in labels]))

    assert majority(tables) > majority(simulated_tables) + 0.05


def test_the_simulated_campaign_has_two_formats_and_no_native_id() -> None:
    campaign = load_campaign(EXAMPLES / "simulated")
    assert [source.format for source in campaign.settings.sources] == ["csv", "jsonl"]
    for source in campaign.settings.sources:
        assert "native_id" not in source.fields  # a corrected answer keeps its id
        assert "submitted_at" in source.fields
    (task,) = campaign.settings.tasks
    assert task.labels == LabelSimulation().classes


# --- make build ----------------------------------------------------------------------------


def test_both_campaigns_write_below_build() -> None:
    for name in build_all.CAMPAIGNS:
        campaign = load_campaign(EXAMPLES / name)
        assert campaign.settings.campaign == name
        assert campaign.store.resolve() == build_all.BUILD / name / "store"
        assert campaign.gold.resolve() == build_all.BUILD / name / "gold"


def test_build_all_stops_with_the_status_of_a_failed_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def fails(command: list[str]) -> int:
        commands.append(command)
        return 2

    monkeypatch.setattr(build_all, "BUILD", tmp_path)
    monkeypatch.chdir(build_all.ROOT)
    monkeypatch.setattr("annot_pipeline.cli.main", fails)
    assert build_all.main() == 2
    assert [command[0] for command in commands] == ["build"]
    assert "anaesthetists campaign was not built" in capsys.readouterr().err
    packed = tmp_path / "simulated/exports/night-3.jsonl.gz"
    assert json.loads(gzip.decompress(packed.read_bytes()).splitlines()[0])["item"]


@pytest.mark.slow
def test_build_all_says_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def publishes(command: list[str]) -> int:
        _release(tmp_path / Path(command[1]).name / "gold")
        return 0

    monkeypatch.setattr(build_all, "BUILD", tmp_path)
    monkeypatch.chdir(build_all.ROOT)
    monkeypatch.setattr("annot_pipeline.cli.main", publishes)
    assert build_all.main() == 0
    first = capsys.readouterr().out
    assert build_all.main() == 0
    second = capsys.readouterr().out
    assert "anaesthetists: published" in first
    assert "simulated: nothing new, still" in second
    assert "0.4000  0.4216  0.1118  0.0667" in first
    assert "accuracy against the truth, 4 items" in first
    figures = dict(re.findall(r"^  (.+?) {2,}(\d\.\d{4})$", first, re.MULTILINE))
    assert figures["majority vote"] == "0.2500"
    assert figures["Dawid-Skene"] == "0.5000"
    assert figures["published"] == "0.7500"
    assert figures["published, 2 certain items"] == "1.0000"
    assert re.search(r"adjusted for judges and segments +1\.000 \(8\) +1\.000 \(8\)\n", first)
    assert re.search(r"raw mean, all judges +1\.000 \(8\) +1\.000 \(8\)\n", first)
    assert re.search(r"z, judges kept +-1\.000 \(8\) +-1\.000 \(8\)\n", first)
    assert "careless judges caught     0 of 10\n" in first
    assert re.search(r"  bradley_terry +n/a\n  dominance +1\.000 \(9\)\n  wins +-1\.000\n", first)
    assert re.search(r"  this build +3 +1 +66\.7%\n", first)
    assert re.search(r"  Pighin et al\. 2012, other data +11,292 +3,630 +67\.9%\n", first)
    assert figures["right of 1 asked"] == "0.0000"
    assert figures["right of 1 inferred"] == "1.0000"
    for step in ("status", "releases", "validate"):
        assert f"annot {step} examples/simulated\n" in first
    assert "dagster dev -w workspace.yaml\n" in first


def _rankings() -> list[tuple[str, str, str, float, int]]:
    """Raw means in the true order, z means in the opposite one."""
    simulated = simulate_scores()
    return [
        (task, method, system, sign * quality, 1 + place)
        for task, qualities in zip(simulated.params.language_pairs, simulated.quality, strict=True)
        for method, sign in (
            ("adjusted", 1),
            ("raw_mean", 1),
            ("filtered_mean", 1),
            ("z_mean", -1),
        )
        for place, (system, quality) in enumerate(
            zip(simulated.systems, qualities.tolist(), strict=True)
        )
    ]


def _preference_rankings() -> list[tuple[str, str, str, float | None, int | None]]:
    """Dominance in the true order, wins in the opposite one, one system without a score."""
    simulated = simulate_preferences()
    order = (-simulated.quality).argsort()
    return [
        ("preference", method, simulated.systems[code], score, cluster)
        for place, code in enumerate(order.tolist())
        for method, score, cluster in (
            ("dominance", -float(place), 1 + place),
            ("bradley_terry", None if place == 3 else -float(place), None),
            ("wins", float(place), None),
        )
    ]


def _release(gold: Path) -> None:
    """A release with a few rows: five items, one of unknown truth."""
    folder = gold / "v0001"
    folder.mkdir(parents=True, exist_ok=True)
    (gold / "latest.json").write_text('{"version": "v0001"}', encoding="utf-8")
    tables: dict[str, dict[str, list[Any]]] = {
        "prevalence": {
            "label": ["4", "1", "2", "3"],
            "dawid_skene_prevalence": [0.06667, 0.39997, 0.42158, 0.11179],
        },
        "items": {"item": [*"edcba"], "truth": [None, "x", "x", "x", "x"]},
        "labels": {
            "item": [*"abcde"],
            "label": ["x", "x", "x", "y", "x"],
            "dawid_skene_label": ["x", "x", "y", "y", "x"],
            "majority_label": ["x", "y", "y", "y", "x"],
            "certain": [True, True, False, False, True],
        },
        "system_rankings": {
            name: [row[place] for row in [*_rankings(), *_preference_rankings()]]
            for name, place in (
                ("task", 0),
                ("method", 1),
                ("system", 2),
                ("score", 3),
                ("cluster", 4),
                ("wmt_cluster", 4),
            )
        },
        "judges": {"judge": ["j1"], "verdict": ["failed"]},
        "segment_ranks": _labelled(),
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def _labelled() -> dict[str, list[Any]]:
    """Three outputs of a segment: one asked and wrong, one inferred and right, one unknown."""
    simulated = simulate_preferences()
    asked, inferred, unknown = simulated.systems[:3]
    right = simulated.adequate[0].tolist()
    return {
        "segment": [simulated.segments[0]] * 3,
        "system": [asked, unknown, inferred],
        "adequate": [not right[0], None, right[1]],
        "adequacy_source": ["asked", "unknown", "spread"],
    }
