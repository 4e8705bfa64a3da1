"""The generator of label campaigns: the same bytes for a seed, and the truth can be found."""

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.methods.labels.dawid_skene import dawid_skene
from studies.simulators.label_exports import write_label_campaign
from studies.simulators.labels import (
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
