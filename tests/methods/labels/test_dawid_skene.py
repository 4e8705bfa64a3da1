"""Dawid-Skene against a plain loop, by hand, by invariances, and on degenerate input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    dawid_skene,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes


def plain_loop(items, judges, labels, n_items, n_judges, k, smoothing, steps):
    """EM as the paper states it, in probability space, with dictionaries and loops."""
    theta = [
        [[0.3 / k + (0.7 if t == o else 0) for o in range(k)] for t in range(k)]
        for _ in range(n_judges)
    ]
    pi = [1 / k] * k
    for step in range(steps + 1):
        posterior = []
        for i in range(n_items):
            p = list(pi)
            for item, judge, label in zip(items, judges, labels, strict=True):
                if item == i:
                    p = [p[t] * theta[judge][t][label] for t in range(k)]
            posterior.append([x / sum(p) for x in p])
        if step == steps:
            return posterior, pi, theta
        pi = [smoothing + math.fsum(row[t] for row in posterior) for t in range(k)]
        pi = [x / math.fsum(pi) for x in pi]
        theta = [[[smoothing] * k for _ in range(k)] for _ in range(n_judges)]
        for item, judge, label in zip(items, judges, labels, strict=True):
            for t in range(k):
                theta[judge][t][label] += posterior[item][t]
        theta = [[[c / math.fsum(row) for c in row] for row in table] for table in theta]
    raise AssertionError


@st.composite
def label_tables(draw, max_labels=5):
    n_items, n_judges = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    k = draw(st.integers(1, max_labels))
    n = draw(st.integers(1, 30))
    items = draw(st.lists(st.integers(0, n_items - 1), min_size=n, max_size=n))
    judges = draw(st.lists(st.integers(0, n_judges - 1), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    return LabelCodes(np.array(items), np.array(judges), np.array(labels), n_items, n_judges, k)


def fit(task: LabelCodes, **params):
    return dawid_skene_batch([task], params=DawidSkeneParams(**params))[0]


@given(label_tables(), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_equals_a_plain_loop(task, steps):
    result = fit(task, max_iterations=steps, tolerance=0)
    posterior, pi, theta = plain_loop(
        task.items, task.judges, task.labels, task.n_items, task.n_judges, task.n_labels,
        0.01, result.convergence.iterations,
    )  # fmt: skip
    np.testing.assert_allclose(result.posterior, posterior, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(result.prevalence, pi, rtol=1e-7)
    np.testing.assert_allclose(result.confusion, theta, rtol=1e-7, atol=1e-12)


def test_one_step_by_hand():
    """Two judges, one item, labels 0 and 0; K = 2: both are .85 right at the start."""
    result = dawid_skene(
        [0, 0], [0, 1], [0, 0], n_items=1, n_judges=2, n_labels=2,
        params=DawidSkeneParams(smoothing=0, max_iterations=1, tolerance=0),
    )  # fmt: skip
    p = 0.85**2 / (0.85**2 + 0.15**2)
    assert result.prevalence == pytest.approx([p, 1 - p])
    assert result.confusion[0] == pytest.approx(np.array([[1, 0], [1, 0]]))
    assert result.convergence.log_likelihood[0] == pytest.approx(
        math.log(0.5 * 0.85**2 + 0.5 * 0.15**2)
    )


@given(label_tables())
@settings(max_examples=80, deadline=None)
def test_the_log_posterior_never_falls(task):
    trace = fit(task, max_iterations=60, tolerance=0).convergence.log_posterior
    assert np.all(np.diff(trace) >= -1e-9 * np.abs(trace[:-1]))


def test_the_log_posterior_never_falls_step_by_step():
    """EM stopped after each number of steps, not only its own trace."""
    rng = np.random.default_rng(5)
    task = LabelCodes(
        rng.integers(0, 40, 400), rng.integers(0, 9, 400), rng.integers(0, 4, 400), 40, 9, 4
    )
    for start in ("diagonal", "votes"):
        objectives = []
        for steps in range(1, 40):
            result = fit(task, start=start, max_iterations=steps, tolerance=0)
            prior = 0.01 * (np.log(result.confusion).sum() + np.log(result.prevalence).sum())
            objectives.append(log_likelihood(task, result) + prior)
            assert result.convergence.log_posterior[-1] == pytest.approx(objectives[-1])
        assert np.all(np.diff(objectives) >= -1e-9)
        assert objectives[-1] > objectives[0] + 1


def log_likelihood(task, result) -> float:
    """Of the returned parameters, from its definition."""
    logs = np.tile(np.log(result.prevalence), (task.n_items, 1))
    np.add.at(logs, task.items, np.log(result.confusion[task.judges, :, task.labels]))
    return float(np.log(np.exp(logs).sum(axis=1)).sum())


@given(label_tables(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_row_order_does_not_matter_to_the_last_bit(task, random):
    order = list(range(task.items.size))
    random.shuffle(order)
    shuffled = LabelCodes(
        task.items[order], task.judges[order], task.labels[order],
        task.n_items, task.n_judges, task.n_labels,
    )  # fmt: skip
    a, b = fit(task), fit(shuffled)
    assert a.posterior.tobytes() == b.posterior.tobytes()
    assert a.confusion.tobytes() == b.confusion.tobytes()


@pytest.mark.slow
@given(st.lists(label_tables(), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_batch_equals_its_tasks_one_by_one_to_the_last_bit(tasks):
    together = dawid_skene_batch(tasks)
    for task, result in zip(tasks, together, strict=True):
        alone = fit(task)
        assert alone.posterior.tobytes() == result.posterior.tobytes()
        assert alone.prevalence.tobytes() == result.prevalence.tobytes()
        assert alone.confusion.tobytes() == result.confusion.tobytes()
        assert alone.convergence.iterations == result.convergence.iterations


def test_renaming_classes_renames_the_result():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 200)
    task = LabelCodes(rng.integers(0, 30, 200), rng.integers(0, 5, 200), labels, 30, 5, 3)
    new = np.array([2, 0, 1])
    renamed = LabelCodes(task.items, task.judges, new[labels], 30, 5, 3)
    np.testing.assert_allclose(
        fit(renamed, tolerance=1e-13).posterior[:, new], fit(task, tolerance=1e-13).posterior,
        atol=1e-6,
    )  # fmt: skip


def test_recovers_simulated_judges():
    rng = np.random.default_rng(11)
    n_items, n_judges, k = 3000, 12, 3
    truth = rng.choice(k, n_items, p=[0.5, 0.3, 0.2])
    theta = np.stack([rng.dirichlet(np.eye(k)[t] * 8 + 1, n_judges) for t in range(k)], axis=1)
    items = np.repeat(np.arange(n_items), n_judges)
    judges = np.tile(np.arange(n_judges), n_items)
    labels = np.array(
        [rng.choice(k, p=theta[j, truth[i]]) for i, j in zip(items, judges, strict=True)]
    )
    result = dawid_skene(items, judges, labels, n_items=n_items, n_judges=n_judges, n_labels=k)
    assert np.abs(result.confusion - theta).max() < 0.05
    assert np.abs(result.prevalence - np.bincount(truth) / n_items).max() < 0.01
    assert (result.posterior.argmax(axis=1) == truth).mean() > 0.97


def test_classes_without_votes_and_items_without_labels_are_kept():
    result = dawid_skene([0, 0, 2], [0, 1, 0], [0, 0, 1], n_items=3, n_judges=2, n_labels=4)
    assert result.posterior.shape == (3, 4)
    assert result.posterior[1] == pytest.approx(result.prevalence)  # nothing is known of it
    assert np.isfinite(result.confusion).all()
    assert result.confusion.sum(axis=2) == pytest.approx(np.ones((2, 4)))


def test_unsmoothed_judges_have_no_estimate_for_classes_they_never_met():
    result = dawid_skene(
        [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], n_items=2, n_judges=2, n_labels=2,
        params=DawidSkeneParams(start="votes", smoothing=0),
    )  # fmt: skip
    assert result.confusion[:, 1] == pytest.approx(np.full((2, 2), 0.5))
    assert result.prevalence == pytest.approx([1, 0])
    assert result.convergence.converged


def test_one_class_is_certain():
    result = dawid_skene([0, 1], [0, 0], [0, 0], n_items=2, n_judges=1, n_labels=1)
    assert result.posterior == pytest.approx(np.ones((2, 1)))


def test_says_when_it_did_not_converge():
    rng = np.random.default_rng(3)
    task = LabelCodes(
        rng.integers(0, 50, 300), rng.integers(0, 9, 300), rng.integers(0, 3, 300), 50, 9, 3
    )
    short = fit(task, max_iterations=2)
    assert not short.convergence.converged
    assert short.convergence.iterations == 2
    assert short.convergence.log_posterior.shape == (3,)
    assert fit(task).convergence.converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": [0, 9]}, "items holds codes 0 to 9, allowed are 0 to 1"),
        ({"labels": [0, -1]}, "labels holds codes -1 to 0"),
        ({"judges": [0]}, "one length"),
    ],
)
def test_refuses_codes_outside_their_range(change, message):
    codes = {"items": [0, 1], "judges": [0, 0], "labels": [0, 1]} | change
    with pytest.raises(ValueError, match=message):
        dawid_skene(**codes, n_items=2, n_judges=1, n_labels=2)


@pytest.mark.parametrize(
    "setting",
    [
        {"start": "random"}, {"smoothing": -1}, {"stop_on": "x"}, {"tolerance": -1e-3},
        {"max_iterations": 0}, {"smoothing": float("nan")},
    ],
)  # fmt: skip
def test_refuses_settings_that_mean_nothing(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        DawidSkeneParams(**setting)
