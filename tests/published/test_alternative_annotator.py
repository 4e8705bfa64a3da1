"""Calderon et al. 2025: winning rates and advantage probabilities of 46 models and data sets."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.alternative_annotator import alternative_annotator_test


def codes(names: list[str]) -> tuple[dict[str, int], np.ndarray]:
    by_name = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return by_name, np.array([by_name[name] for name in names])


def test_all_published_pairs_to_two_digits(shared_data: Path) -> None:
    folder = shared_data / "alt-test"
    with (folder / "published.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 46
    for name in {row["dataset"] for row in published}:
        with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
            rows = list(csv.DictReader(file))
        people = [row for row in rows if row["judge_kind"] == "human"]
        by_item, items = codes([row["item"] for row in people])
        _, judges = codes([row["judge"] for row in people])
        labels, _ = codes([row["answer"] for row in rows])
        for row in (one for one in published if one["dataset"] == name):
            is_label = row["kind"] == "label"
            value = labels.__getitem__ if is_label else float
            model = np.full(len(by_item), np.nan)
            for answer in rows:
                if answer["judge"] == row["model_judge"] and answer["item"] in by_item:
                    model[by_item[answer["item"]]] = value(answer["answer"])
            test = alternative_annotator_test(
                items, judges, np.array([value(one["answer"]) for one in people], float), model,
                kind="labels" if is_label else "scores", epsilon=float(row["epsilon"]),
            )  # fmt: skip
            rates = test.winning_rate, test.advantage_probability
            expected = float(row["winning_rate"]), float(row["advantage_probability"])
            assert rates == pytest.approx(expected, abs=0.0051), (name, row["model_judge"])
