"""The study of labels by gain: a made set, and RTE to the published share."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from studies.label_replay import ReplayedSet, run_label_replay
from studies.params import LabelReplay

PER_ITEM = 4


def made() -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Answers of four judges of accuracy .9 to 60 items."""
    rng = np.random.default_rng(1)
    truths = {f"i{n:02}": str(rng.integers(0, 2)) for n in range(60)}
    answers = [
        (item, f"j{j}", truth if rng.random() < 0.9 else str(1 - int(truth)))
        for item, truth in truths.items() for j in range(PER_ITEM)
    ]  # fmt: skip
    return answers, truths


@pytest.mark.slow
def test_items_are_asked_until_they_reach_the_level_or_have_no_answer_left():
    replayed = ReplayedSet(*made(), np.random.default_rng(2))
    counts, accuracy = replayed.ask_by_gain(1, 0.8)
    rows = {row["item"]: row for row in replayed.gold(counts).table("labels").to_pylist()}
    for item, n in counts.items():
        assert n == PER_ITEM or rows[item]["probability"] >= 0.8
    assert min(counts.values()) < PER_ITEM
    assert accuracy > 0.8
    even = replayed.spread(100, np.random.default_rng(3))
    assert sorted({*even.values()}) == [1, 2]
    assert sum(even.values()) == 100


def test_no_set():
    with pytest.raises(ConfigError, match="has none of RTE"):
        run_label_replay(LabelReplay(folder="nowhere"), lambda _: None)


@pytest.mark.slow
@pytest.mark.skipif("ANNOT_REAL_DATA" not in os.environ, reason="tests/real_data/README.md")
def test_rte_takes_two_thirds_of_its_labels():
    """Measured: 65% of the labels give .926, all .9275, as many spread evenly .917."""
    params = LabelReplay(folder=os.environ["ANNOT_REAL_DATA"], levels=(0.85,), repeats=1)
    [row] = run_label_replay(params, lambda _: None).numbers
    assert 0.6 < row["share_of_labels"] < 0.72
    assert row["with_all_labels"] == pytest.approx(0.9275)
    assert row["accuracy"] > 0.918


@pytest.mark.slow
def test_the_folder_is_read_by_the_study(tmp_path: Path):
    answers, truths = made()
    (tmp_path / "barzan").mkdir()
    with (tmp_path / "barzan" / "label.csv").open("w") as file:
        csv.writer(file).writerows([["item", "judge", "label"], *answers])
    with (tmp_path / "barzan" / "truth.csv").open("w") as file:
        csv.writer(file).writerows([["item", "truth"], *truths.items()])
    params = LabelReplay(folder=str(tmp_path), sets="Barzan", levels=(0.6,), repeats=1)
    [row] = run_label_replay(params, lambda _: None).numbers
    assert row["labels"] == 240
    assert row["asked"] == row["share_of_labels"] * 240
