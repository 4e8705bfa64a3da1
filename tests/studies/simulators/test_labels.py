"""The generator of label campaigns: the same bytes for a seed, and the truth can be found."""

import csv
import gzip
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.methods.labels.dawid_skene import dawid_skene
from studies.simulators.label_exports import write_label_campaign
from studies.simulators.labels import (
    DAMAGES,
    ExportRows,
    LabelSimulation,
    simulate_labels,
)

SMALL = LabelSimulation(n_items=200, n_judges=12)


def written(params: LabelSimulation, folder: Path) -> dict[str, bytes]:
    paths = write_label_campaign(simulate_labels(params), folder)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def that_count(rows: ExportRows) -> ExportRows:
    """The latest undamaged answer of each judge to each item."""
    latest: dict[tuple[int, int], int] = {}
    for place in np.flatnonzero(rows.damage == "").tolist():
        pair = (int(rows.item[place]), int(rows.judge[place]))
        known = latest.get(pair)
        if known is None or rows.submitted_at[place] >= rows.submitted_at[known]:
            latest[pair] = place
    return rows.take(np.array(sorted(latest.values())))


# --- bytes ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = written(SMALL, tmp_path / "a"), written(SMALL, tmp_path / "b")
    assert list(first) == [
        "exports/night-1.csv",
        "exports/night-2.csv",
        "exports/night-3.jsonl.gz",
        "exports/night-4.csv",
        "items.csv",
    ]
    assert first == second


def test_another_seed_gives_other_bytes_in_every_file(tmp_path: Path) -> None:
    first = written(SMALL, tmp_path / "a")
    second = written(replace(SMALL, seed=18), tmp_path / "b")
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] == second[name]] == []


def test_gzip_holds_neither_time_nor_file_name(tmp_path: Path) -> None:
    packed = written(SMALL, tmp_path)["exports/night-3.jsonl.gz"]
    flags, mtime = packed[3], packed[4:8]
    assert flags == 0
    assert mtime == bytes(4)


def test_files_that_are_right_already_are_left_alone(tmp_path: Path) -> None:
    simulated = simulate_labels(SMALL)
    paths = write_label_campaign(simulated, tmp_path)
    changed = paths[1]
    changed.write_bytes(b"cut short")
    before = {path: path.stat().st_mtime_ns for path in paths if path != changed}
    assert write_label_campaign(simulated, tmp_path) == paths
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert changed.read_bytes() == written(SMALL, tmp_path / "fresh")["exports/night-2.csv"]


def test_every_row_is_written_once_in_order_of_time(tmp_path: Path) -> None:
    simulated = simulate_labels(replace(SMALL, dirty_share=0))
    folder = tmp_path / "campaign"
    write_label_campaign(simulated, folder)
    rows = simulated.rows
    read: list[tuple[str, str, str]] = []
    for night in range(1, 5):
        path = folder / "exports" / f"night-{night}.csv"
        if path.exists():
            text = io.StringIO(path.read_text(encoding="utf-8"))
            actual: list[dict[str, Any]] = list(csv.DictReader(text))
            labels = [row["label"] for row in actual]
        else:
            lines = gzip.decompress(path.with_suffix(".jsonl.gz").read_bytes()).splitlines()
            actual = [json.loads(line) for line in lines]
            labels = [row["answer"]["label"] for row in actual]
        times = [row["submitted_at"] for row in actual]
        assert times == sorted(times)
        read += [(r["item"], r["judge"], x) for r, x in zip(actual, labels, strict=True)]
    classes = simulated.params.classes
    assert read == [
        (simulated.items[item], simulated.judges[judge], classes[label])
        for item, judge, label in zip(rows.item, rows.judge, rows.label, strict=True)
    ]


@pytest.mark.parametrize("classes", [("1", "2"), ("a, b", 'say "c"'), ("ja", "né")])
def test_any_names_of_classes_survive_csv_and_damage(
    classes: tuple[str, ...], tmp_path: Path
) -> None:
    params = replace(SMALL, classes=classes, prevalence=(0.5, 0.5), json_night=4)
    simulated = simulate_labels(params)
    text = written(params, tmp_path)["exports/night-1.csv"].decode("utf-8", "surrogateescape")
    actual = list(csv.reader(io.StringIO(text)))[1:]
    rows = simulated.rows.take(simulated.rows.night == 1)
    good = [bool(f[1]) and len(f) == 5 and f[2] in classes for f in actual]
    assert good == (rows.damage == "").tolist()


# --- what the exports hold -----------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.01, 0.02, 0.03])
def test_as_many_rows_are_damaged_as_asked(share: float) -> None:
    rows = simulate_labels(replace(SMALL, dirty_share=share)).rows
    dirty = Counter(rows.damage[rows.damage != ""].tolist())
    assert dirty.total() == round(share * len(rows))
    if share:
        assert dirty.keys() == set(DAMAGES)
        assert max(dirty.values()) - min(dirty.values()) <= 1


def test_less_than_three_percent_is_damaged_by_default() -> None:
    rows = simulate_labels().rows
    assert 0.01 < np.mean(rows.damage != "") < 0.03


def test_a_correction_comes_the_night_after_and_says_something_else() -> None:
    rows = simulate_labels().rows
    first = {
        (i, j): (night, label, time)
        for i, j, night, label, time, origin in zip(
            rows.item, rows.judge, rows.night, rows.label, rows.submitted_at, rows.origin,
            strict=True,
        )
        if origin == "new"
    }  # fmt: skip
    corrections = rows.take(rows.origin == "correction")
    assert len(corrections) > 100
    for place in range(len(corrections)):
        night, label, time = first[corrections.item[place], corrections.judge[place]]
        assert corrections.night[place] == night + 1
        assert corrections.label[place] != label
        assert corrections.submitted_at[place] > time


def test_a_repeat_is_a_row_of_the_night_before() -> None:
    rows = simulate_labels().rows
    names = ("item", "judge", "label", "submitted_at", "seconds")
    held = set(zip(rows.night.tolist(), *(getattr(rows, n).tolist() for n in names), strict=True))
    repeats = rows.take(rows.origin == "repeat")
    assert len(repeats) > 100
    assert set(repeats.night.tolist()) == {2, 3, 4}
    given = zip(
        (repeats.night - 1).tolist(), *(getattr(repeats, n).tolist() for n in names), strict=True
    )
    assert set(given) <= held


def test_no_export_holds_two_answers_of_a_judge_to_an_item() -> None:
    # they would be two judgments, for repeats in one file stay apart
    rows = simulate_labels(replace(SMALL, correction_share=0.5, repeat_share=0.5)).rows
    held = list(zip(rows.night.tolist(), rows.item.tolist(), rows.judge.tolist(), strict=True))
    assert len(held) == len(set(held))


def test_each_item_gets_the_judgments_asked_for() -> None:
    rows = simulate_labels(SMALL).rows
    new = rows.take(rows.origin == "new")
    assert np.bincount(new.item).tolist() == [5] * 200
    assert len(set(zip(new.item.tolist(), new.judge.tolist(), strict=True))) == 1000


# --- truth and judges ----------------------------------------------------------------------


def test_the_truth_can_be_recovered_and_dawid_skene_beats_the_majority() -> None:
    simulated = simulate_labels()
    params, truth, rows = simulated.params, simulated.truth, that_count(simulated.rows)
    n_items, k = params.n_items, len(params.classes)
    votes = np.zeros((n_items, k))
    np.add.at(votes, (rows.item, rows.label), 1)
    winners = votes == votes.max(axis=1, keepdims=True)
    majority = np.mean(winners[np.arange(n_items), truth] / winners.sum(axis=1))  # ties by lot
    fit = dawid_skene(
        rows.item, rows.judge, rows.label, n_items=n_items, n_judges=params.n_judges, n_labels=k
    )
    model = np.mean(fit.posterior.argmax(axis=1) == truth)
    # the best that anybody could do who knew every judge's matrix
    known = np.log(np.broadcast_to(params.prevalence, (n_items, k))).copy()
    np.add.at(known, rows.item, np.log(simulated.confusion[rows.judge, :, rows.label]))
    ceiling = np.mean(known.argmax(axis=1) == truth)
    assert majority + 0.05 < model <= ceiling
    assert model > ceiling - 0.03


@pytest.mark.parametrize("seed", range(5))
def test_dawid_skene_wins_whatever_the_seed(seed: int) -> None:
    simulated = simulate_labels(LabelSimulation(seed=seed))
    rows, params = that_count(simulated.rows), simulated.params
    votes = np.zeros((params.n_items, len(params.classes)))
    np.add.at(votes, (rows.item, rows.label), 1)
    fit = dawid_skene(
        rows.item, rows.judge, rows.label,
        n_items=params.n_items, n_judges=params.n_judges, n_labels=len(params.classes),
    )  # fmt: skip
    majority = np.mean(votes.argmax(axis=1) == simulated.truth)
    assert np.mean(fit.posterior.argmax(axis=1) == simulated.truth) > majority + 0.05


def test_judges_are_as_asked() -> None:
    simulated = simulate_labels()
    assert Counter(simulated.skill.tolist()) == {"good": 33, "careless": 21, "biased": 6}
    np.testing.assert_allclose(simulated.confusion.sum(axis=2), 1)
    diagonal = simulated.confusion.diagonal(axis1=1, axis2=2)
    good = diagonal[simulated.skill == "good"]
    assert good.min() >= 0.75
    assert good.max() <= 0.95
    np.testing.assert_array_equal(simulated.confusion[simulated.skill == "careless"], 0.25)
    favoured = simulated.confusion[simulated.skill == "biased"].min(axis=1).max(axis=1)
    assert favoured.min() >= 0.75


def test_prevalence_is_as_asked() -> None:
    truth = simulate_labels(LabelSimulation(n_items=20_000)).truth
    np.testing.assert_allclose(np.bincount(truth) / 20_000, [0.4, 0.3, 0.2, 0.1], atol=0.015)


def test_a_class_of_no_prevalence_is_never_true() -> None:
    truth = simulate_labels(replace(SMALL, prevalence=(0.0, 0.5, 0.5, 0.0))).truth
    assert set(truth.tolist()) == {1, 2}


# --- settings ------------------------------------------------------------------------------


def test_all_settings_that_do_not_fit_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        LabelSimulation(
            n_items=0, nights=1, json_night=2, careless_share=0.9, biased_share=0.2,
            classes=("a", "a"), prevalence=(0.5, 0.6), good_accuracy=(0.9, 0.8),
            judgments_per_item=61,
        )  # fmt: skip
    assert [problem.where for problem in caught.value.problems] == [
        "n_items", "judgments_per_item", "nights", "json_night", "biased_share",
        "good_accuracy", "classes", "prevalence",
    ]  # fmt: skip


@pytest.mark.parametrize("classes", [("a",), ("a", ""), ("a", "b "), ("a", "not sure")])
def test_names_that_would_make_clean_rows_dirty_are_refused(classes: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="cannot be"):
        LabelSimulation(classes=classes, prevalence=(1.0, 0.0)[: len(classes)])
