"""Posteriors of published labels lie near the limit of EM, at no more cost than without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from tests.gold_labels import task_and_truth
from tests.methods.labels.test_label_em import LIMIT, PLAIN, Counted, distance, fit
from tests.published.test_passonneau_carpenter_2013 import words

GOLD = ("rte", "temp", "wsd", "dog", "face")
STOPPED_EARLY = {"add-v": 0.99, "full-j": 0.62, "level-n": 0.95}
"""Words where the objective alone stops EM at a saddle, and how far from its limit."""
SLOW = ("help-v", "poor-j", "serve-v", "suggest-v", "tell-v", "win-v")
"""Words whose posteriors are more than .005 off where the objective alone stops EM."""


def task_of(data: Path, name: str) -> LabelCodes:
    if name in GOLD:
        return task_and_truth(data, name)[0]
    return words(data / "masc-wordsense" / "munged")[name]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", [*GOLD, *STOPPED_EARLY, *SLOW])
def test_posteriors_are_near_their_limit(shared_data, name):
    task = task_of(shared_data, name)
    limit, plain, accelerated = (fit(task, params) for params in (LIMIT, PLAIN, DawidSkeneParams()))
    assert limit.convergence.converged
    assert accelerated.convergence.converged
    assert distance(accelerated, limit) < 2.5e-4
    labels = [result.posterior.argmax(axis=1) for result in (accelerated, limit)]
    np.testing.assert_array_equal(*labels)
    if name not in GOLD:
        assert distance(plain, limit) > STOPPED_EARLY.get(name, 0.005)


def test_slow_words_need_fewer_e_steps_than_with_the_objective_alone(shared_data, monkeypatch):
    """Those of the stopping rule are counted too."""
    tasks, counted = [task_of(shared_data, name) for name in SLOW], Counted(monkeypatch)
    before = [counted.of(task, PLAIN) for task in tasks]
    after = [counted.of(task, DawidSkeneParams()) for task in tasks]
    assert sum(after) < 0.9 * sum(before)
    assert max(np.divide(after, before)) < 1.1


@pytest.mark.slow
def test_no_word_ends_in_another_optimum(shared_data):
    """Jumps made too early lead elsewhere; those of slow tasks alone do not."""
    for name, task in words(shared_data / "masc-wordsense" / "munged").items():
        limit = fit(task, replace(LIMIT, tolerance=1e-13))
        assert distance(fit(task, DawidSkeneParams()), limit) < 1e-3, name
