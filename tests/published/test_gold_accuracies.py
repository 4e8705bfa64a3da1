"""Accuracy against gold: Snow et al. 2008 and Zheng et al. 2017, to four digits."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.labels.votes import count_votes
from tests.gold_labels import task_and_truth

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


@pytest.mark.parametrize("name", ACCURACIES)
def test_accuracy(shared_data, name):
    task, truth = task_and_truth(shared_data, name)
    majority, *fitted = ACCURACIES[name]

    votes = count_votes(task.items, task.labels, n_items=task.n_items, n_labels=task.n_labels)
    expected = votes.tied[np.arange(task.n_items), truth] / votes.tied.sum(axis=1)
    assert expected.mean() == pytest.approx(majority, abs=0.00005)

    for start, accuracy in zip(("diagonal", "votes"), fitted, strict=True):
        (result,) = dawid_skene_batch([task], params=DawidSkeneParams(start=start))
        right = result.posterior.argmax(axis=1) == truth
        assert right.mean() == pytest.approx(accuracy, abs=0.00005)
        if start == "diagonal":
            certain = result.posterior.max(axis=1) >= 0.99
            assert right[certain].mean() == pytest.approx(RIGHT_OF_CERTAIN[name], abs=0.0005)
