"""Accuracy against gold: Snow et al. 2008 and Zheng et al. 2017, to four digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from annot_pipeline.methods.dawid_skene import DawidSkeneParams, dawid_skene
from annot_pipeline.methods.votes import count_votes

# majority vote with ties counted in expectation, diagonal start, votes start
ACCURACIES = {
    "rte": (0.8969, 0.9275, 0.9275),
    "temp": (0.9361, 0.9416, 0.9416),
    "wsd": (0.9944, 0.9944, 0.9944),
    "dog": (0.8222, 0.8414, 0.8426),
    "face": (0.6367, 0.6404, 0.6404),
}

# of the labels that the model calls at least 99% certain (diagonal start), the share that is
# right: the model is far too sure of itself on hard items
RIGHT_OF_CERTAIN = {"rte": 0.950, "temp": 0.947, "wsd": 0.994, "dog": 0.852, "face": 0.677}


def labels_and_gold(data: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Columns item, judge, label; and the truth by item."""
    if name in ("rte", "temp", "wsd"):
        path = data / "snow2008" / "all_collected_data" / f"{name}.standardized.tsv"
        table = pd.read_csv(path, sep="\t")
        table = table.rename(
            columns={"orig_id": "item", "!amt_worker_ids": "judge", "response": "label"}
        )
        return table, table.groupby("item").gold.first()
    folder = data / {"dog": "dog-4class", "face": "face-sentiment"}[name]
    table = pd.read_csv(folder / "answer.csv")
    table.columns = pd.Index(["item", "judge", "label"])
    return table, pd.read_csv(folder / "truth.csv").set_index("question").truth


@pytest.mark.parametrize("name", ACCURACIES)
def test_accuracy(shared_data, name):
    table, gold = labels_and_gold(shared_data, name)
    item, items = pd.factorize(table.item, sort=True)
    judge, judges = pd.factorize(table.judge, sort=True)
    label, classes = pd.factorize(table.label, sort=True)
    truth = np.searchsorted(classes, gold.reindex(items))
    majority, *fitted = ACCURACIES[name]

    votes = count_votes(item, label, n_items=len(items), n_labels=len(classes))
    expected = votes.tied[np.arange(len(items)), truth] / votes.tied.sum(axis=1)
    assert expected.mean() == pytest.approx(majority, abs=0.00005)

    for start, accuracy in zip(("diagonal", "votes"), fitted, strict=True):
        result = dawid_skene(
            item, judge, label,
            n_items=len(items), n_judges=len(judges), n_labels=len(classes),
            params=DawidSkeneParams(start=start),
        )  # fmt: skip
        right = result.posterior.argmax(axis=1) == truth
        assert right.mean() == pytest.approx(accuracy, abs=0.00005)
        if start == "diagonal":
            certain = result.posterior.max(axis=1) >= 0.99
            assert right[certain].mean() == pytest.approx(RIGHT_OF_CERTAIN[name], abs=0.0005)
