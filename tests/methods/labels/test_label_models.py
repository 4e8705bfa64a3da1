"""Label models: one coin and MACE beside Dawid-Skene, against crowd-kit and by their properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.label_em import DIAGONAL_START
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.models import LABEL_MODELS

CLASSES = 4
MODELS = [*LABEL_MODELS]
FIXED_PRIOR = [name for name in MODELS if name != "hierarchical"]
"""Models whose prior does not follow the estimates (tests of `hierarchical` are apart)."""


def crowd(seed: int, n_items: int = 60, n_judges: int = 9, classes: int = CLASSES) -> LabelCodes:
    """Judges of different accuracy; some prefer one class when they err."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n_items)
    accuracy, favourite = rng.uniform(0.3, 0.95, n_judges), rng.integers(0, classes, n_judges)
    items = np.repeat(np.arange(n_items), 4)
    judges = np.concatenate([rng.choice(n_judges, 4, replace=False) for _ in range(n_items)])
    right = rng.random(items.size) < accuracy[judges]
    errors = np.where(
        rng.random(items.size) < 0.6, favourite[judges], rng.integers(0, classes, items.size)
    )
    labels = np.where(right, truth[items], errors)
    return LabelCodes(items, judges, labels, n_items, n_judges, classes)


def fit(task: LabelCodes, **params: object) -> DawidSkeneResult:
    settings = DawidSkeneParams(**{"tolerance": 1e-14, "max_iterations": 20_000, **params})
    [result] = dawid_skene_batch([task], params=settings)
    return result


def frame(task: LabelCodes) -> pd.DataFrame:
    return pd.DataFrame({"task": task.items, "worker": task.judges, "label": task.labels})


@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # by crowd-kit
@pytest.mark.parametrize("seed", [0])
@pytest.mark.slow
def test_one_coin_is_that_of_crowd_kit(seed):
    from crowdkit.aggregation import OneCoinDawidSkene

    task = crowd(seed)
    peer = OneCoinDawidSkene(n_iter=200, tol=-np.inf).fit(frame(task))
    actual = fit(task, model="one_coin", start="votes", smoothing=0.0)
    expected = peer.probas_.sort_index()[range(CLASSES)].to_numpy()
    np.testing.assert_allclose(actual.posterior, expected, atol=1e-6)
    skills = peer.skills_.sort_index().to_numpy()
    np.testing.assert_allclose(actual.confusion[:, 0, 0], skills, atol=1e-6)


def test_one_coin_by_hand():
    """Three judges on two items of two classes, votes 2:1 and 3:0: one M-step from the votes."""
    task = LabelCodes(
        np.repeat([0, 1], 3), np.tile([0, 1, 2], 2), np.array([0, 0, 1, 0, 0, 0]), 2, 3, 2
    )
    actual = dawid_skene(
        task.items, task.judges, task.labels, n_items=2, n_judges=3, n_labels=2,
        params=DawidSkeneParams(model="one_coin", start="votes", smoothing=0.0, max_iterations=1),
    )  # fmt: skip
    # accuracies 5/6, 5/6, 2/3 and prevalence 5/6, 1/6, then one more iteration from their E-step
    a, pi = np.array([5 / 6, 5 / 6, 2 / 3]), np.array([5 / 6, 1 / 6])
    first = pi * np.array([a[0] * a[1] * (1 - a[2]), (1 - a[0]) * (1 - a[1]) * a[2]])
    second = pi * np.array([a.prod(), (1 - a).prod()])
    q = np.array([first / first.sum(), second / second.sum()])
    right = np.array([q[0, 0] + q[1, 0], q[0, 0] + q[1, 0], q[0, 1] + q[1, 0]]) / 2
    np.testing.assert_allclose(actual.confusion[:, 0, 0], right, atol=1e-14)
    np.testing.assert_allclose(actual.prevalence, q.mean(axis=0), atol=1e-14)


@pytest.mark.parametrize("model", FIXED_PRIOR)
@pytest.mark.parametrize("smoothing", [0.01, 0.5])
def test_the_objective_never_falls(model, smoothing):
    for seed in range(3):
        course = fit(crowd(seed), model=model, smoothing=smoothing).convergence.log_posterior
        assert (np.diff(course) > -1e-9 * np.abs(course[:-1])).all()


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_distributions_and_order_changes_nothing(model):
    task = crowd(1)
    actual = fit(task, model=model)
    np.testing.assert_allclose(actual.confusion.sum(axis=2), 1)
    np.testing.assert_allclose(actual.posterior.sum(axis=1), 1)
    order = np.random.default_rng(0).permutation(task.items.size)
    shuffled = LabelCodes(
        task.items[order], task.judges[order], task.labels[order],
        task.n_items, task.n_judges, task.n_labels,
    )  # fmt: skip
    np.testing.assert_allclose(fit(shuffled, model=model).posterior, actual.posterior, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_renaming_classes_renames_the_result(model):
    task, order = crowd(2), np.array([2, 0, 3, 1])
    renamed = LabelCodes(
        task.items, task.judges, order[task.labels], task.n_items, task.n_judges, task.n_labels
    )
    actual, again = fit(task, model=model), fit(renamed, model=model)
    np.testing.assert_allclose(again.posterior[:, order], actual.posterior, atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_tasks_beside_each_other_change_no_bit(model):
    params = DawidSkeneParams(model=model)
    tasks = [crowd(seed, n_items=20 + seed) for seed in range(4)]
    together = dawid_skene_batch(tasks, params=params)
    for task, actual in zip(tasks, together, strict=True):
        [alone] = dawid_skene_batch([task], params=params)
        assert np.array_equal(alone.posterior, actual.posterior)
        assert np.array_equal(alone.confusion, actual.confusion)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("classes", [1, 2])
def test_few_classes_and_judges_without_labels(model, classes):
    labels = np.zeros(3, np.int64)
    actual = dawid_skene(
        [0, 0, 1], [0, 1, 0], labels, n_items=2, n_judges=3, n_labels=classes,
        params=DawidSkeneParams(model=model),
    )  # fmt: skip
    assert np.isfinite(actual.posterior).all()
    assert np.isfinite(actual.confusion).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # by crowd-kit
def test_mace_is_that_of_crowd_kit():
    """Crowd-kit starts at random; here where we do: every judge knows 7 of 10, and picks alike."""
    from crowdkit.aggregation import MACE

    class FromOurStart(MACE):
        def _initialize(self, n_workers: int, n_labels: int) -> None:
            self.spamming_ = np.tile([1 - DIAGONAL_START, DIAGONAL_START], (n_workers, 1))
            self.thetas_ = np.full((n_workers, n_labels), 1 / n_labels)

    drawn = crowd(4)
    judges, labels = (pd.factorize(of)[0] for of in (drawn.judges, drawn.labels))
    # in the order of their codes: crowd-kit mixes up judges, or labels, that come in another
    task = replace(drawn, judges=judges, labels=labels)
    peer = FromOurStart(n_restarts=1, n_iter=400, method="em").fit(frame(task))
    actual = fit(task, model="mace", smoothing=0.01 / CLASSES)
    expected = peer.probas_.sort_index()[range(CLASSES)].to_numpy()
    np.testing.assert_allclose(actual.posterior, expected, atol=1e-6)
    known, picked = peer.spamming_[:, 1, None, None], peer.thetas_[:, None]
    confusion = known * np.eye(CLASSES) + (1 - known) * picked
    np.testing.assert_allclose(actual.confusion, confusion, atol=1e-5)


def test_mace_by_hand():
    """Two judges, one item of two classes, labels 0 and 1: one M-step from the start.

    Both are right with .85, so that the classes are even. Of a right label .7 / .85 is known: of
    half a label .411765 is, and the other .088235 and the wrong half are picked.
    """
    actual = dawid_skene(
        [0, 0], [0, 1], [0, 1], n_items=1, n_judges=2, n_labels=2,
        params=DawidSkeneParams(model="mace", smoothing=0.0, max_iterations=1),
    )  # fmt: skip
    knows = 0.5 * 0.7 / 0.85
    np.testing.assert_allclose(actual.confusion[0], [[1, 0], [1 - knows, knows]], atol=1e-12)
    np.testing.assert_allclose(actual.posterior, [[0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(actual.prevalence, [0.5, 0.5])


def test_mace_tells_who_does_not_look():
    """A judge who always answers 0 knows nothing; others who are right nine times in ten do."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    right = rng.random((300, 4)) < 0.9
    labels = np.where(right, truth[:, None], rng.integers(0, 3, (300, 4)))
    labels[:, 3] = 0
    actual = dawid_skene(
        np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300), labels.reshape(-1),
        n_items=300, n_judges=4, n_labels=3, params=DawidSkeneParams(model="mace"),
    )  # fmt: skip
    assert actual.confusion[3, :, 0].min() > 0.99
    assert np.diagonal(actual.confusion[:3], axis1=1, axis2=2).min() > 0.88


def test_one_coin_has_equal_errors():
    confusion = fit(crowd(3), model="one_coin").confusion
    off = ~np.eye(CLASSES, dtype=bool)
    assert np.ptp(confusion[:, off], axis=1).max() < 1e-14
    assert np.ptp(np.diagonal(confusion, axis1=1, axis2=2), axis=1).max() < 1e-14


def test_unknown_models_are_refused():
    with pytest.raises(ValueError, match="model must be one of dawid_skene, one_coin, mace"):
        DawidSkeneParams(model="glad")
