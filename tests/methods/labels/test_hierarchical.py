"""Hierarchical Dawid-Skene: the common confusion, what judges borrow from it, dependent judges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.labels import hierarchical
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.e_step import design_effect, e_step
from annot_pipeline.methods.labels.estimates import Counts, Estimates, m_step, smoothed_shares
from annot_pipeline.methods.labels.hierarchical import (
    BORROWED,
    common_confusion,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from tests.methods.labels.test_label_models import crowd

SMOOTHING = 0.01
HIERARCHICAL = DawidSkeneParams(model="hierarchical")


def fit(task: LabelCodes) -> DawidSkeneResult:
    [result] = dawid_skene_batch([task], params=HIERARCHICAL)
    return result


def estimates_of(confusion: np.ndarray, prevalence: np.ndarray, dependence: float) -> Estimates:
    theta = np.log(confusion.transpose(0, 2, 1))
    return Estimates(np.log(prevalence)[None], theta, np.zeros(1), np.array([dependence]))


def empty_estimates(n_tasks: int) -> Estimates:
    nothing = np.empty((0, 1, 1))
    return Estimates(nothing, nothing, np.zeros(n_tasks), np.zeros(n_tasks))


def test_copy_or_guess_maximizes_its_posterior():
    """The share copied, and how labels are guessed, against a general optimizer."""
    counts = np.array([[40.0, 3, 2], [6, 9, 5], [4, 1, 30]])

    def loss(free: np.ndarray) -> float:
        copy = 1 / (1 + np.exp(-free[0]))
        guess = np.exp(free[1:] - free[1:].max())
        guess /= guess.sum()
        cells = np.log(copy * np.eye(3) + (1 - copy) * guess)
        prior = np.log(copy) + np.log(1 - copy) + 0.1 * np.log(guess).sum()
        return -float((counts * cells).sum() + prior)

    best = minimize(loss, np.zeros(4), tol=1e-12)
    [copy], [guess] = hierarchical.copy_or_guess(counts[None])
    expected = np.exp(best.x[1:]) / np.exp(best.x[1:]).sum()
    assert copy == pytest.approx(1 / (1 + np.exp(-best.x[0])), abs=1e-4)
    np.testing.assert_allclose(guess, expected, atol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 5, 30])
@pytest.mark.parametrize("n_labels", [0.0, 3.0, 1e6])
def test_a_step_of_em_leaves_copy_and_guess_as_they_are(k, n_labels):
    """Dempster, Laird & Rubin 1977: a mode of the posterior is a fixed point of EM."""
    rng = np.random.default_rng(k)
    counts = n_labels * rng.dirichlet(np.full(k * k, 0.3)).reshape(1, k, k)
    copies, guesses = hierarchical.copy_or_guess(counts)
    copy, guess = copies[0], guesses[0]
    copied = np.diag(counts[0]) * copy / (copy + (1 - copy) * guess)
    guessed = counts[0].sum(axis=0) - copied + 0.1
    assert copy == pytest.approx((copied.sum() + 1) / (counts.sum() + 2), abs=1e-9)
    np.testing.assert_allclose(guess, guessed / guessed.sum(), atol=1e-9)


def test_copy_and_guess_of_a_task_do_not_depend_on_the_tasks_beside_it():
    counts = np.random.default_rng(0).gamma(0.5, 40, (5, 3, 3))
    copies, guesses = hierarchical.copy_or_guess(counts)
    for task in range(5):
        [copy], [guess] = hierarchical.copy_or_guess(counts[[task]])
        assert copy == copies[task]
        assert guess.tolist() == guesses[task].tolist()


def test_a_class_whose_label_goes_elsewhere_gets_no_row_of_its_own():
    """Items of class 2 are labelled 1: the row stays at copy-or-guess, which prefers its label."""
    counts = np.array([[500.0, 10, 0], [10, 500, 0], [0, 20, 2]])
    [common] = common_confusion(counts[None])
    np.testing.assert_allclose(common.sum(axis=1), 1)
    assert common[2, 2] > common[2, 1]
    assert common[0, 0] == pytest.approx(500 / 510, abs=0.01)


def test_judges_with_many_labels_have_their_own_confusion_and_those_without_the_common_one():
    rng = np.random.default_rng(1)
    theta = np.stack([1e6 * rng.dirichlet(np.ones(3), 3).T, np.zeros((3, 3))])
    counts = Counts(theta.reshape(-1, 3), np.array([[5.0, 3, 2]]), np.zeros(1))
    starts = np.array([0, 2])
    estimated = hierarchical.m_step(counts, starts, None, SMOOTHING, empty_estimates(1))
    free = m_step(counts, starts, None, SMOOTHING, empty_estimates(1))
    np.testing.assert_allclose(np.exp(estimated.log_theta[0]), np.exp(free.log_theta[0]), atol=1e-4)
    common = common_confusion(theta.sum(axis=0).T[None])[0].T
    np.testing.assert_allclose(np.exp(estimated.log_theta[1]), common, atol=0.01)


def test_a_judge_borrows_as_many_labels_as_is_said():
    """By hand: with c of own labels right of n, and the common share s, (c + 6 s) / (n + 6)."""
    theta = np.zeros((2, 2, 2))
    theta[0], theta[1] = [[8, 0], [2, 10]], [[90, 10], [10, 90]]
    counts = Counts(theta.reshape(-1, 2), np.array([[50.0, 50]]), np.zeros(1))
    starts = np.array([0, 2])
    got = np.exp(hierarchical.m_step(counts, starts, None, 0.0, empty_estimates(1)).log_theta)
    common = common_confusion(theta.sum(axis=0).T[None])[0].T
    assert got[0, 0, 0] == pytest.approx((8 + BORROWED * common[0, 0]) / (10 + BORROWED))


@pytest.mark.parametrize("dependence", [0.0, 0.3, 1.0])
def test_the_posterior_of_dependent_judges_by_hand(dependence):
    """Three judges who are right with .8 say 0, 0, 1 of two classes: evidence of one judge."""
    confusion = np.repeat([[[0.8, 0.2], [0.2, 0.8]]], 3, axis=0)
    task = LabelCodes(np.zeros(3, int), np.arange(3), np.array([0, 0, 1]), 1, 3, 2)
    matrix = LabelMatrix.from_tasks([0], [task])
    estimates = estimates_of(confusion, np.array([0.5, 0.5]), dependence)
    [[first, _]], log_likelihood = e_step(matrix, estimates)
    odds = 4 ** (1 / (1 + 2 * dependence))
    assert first == pytest.approx(odds / (1 + odds))
    joint = np.array([0.5 * 0.8**2 * 0.2, 0.5 * 0.2**2 * 0.8]) ** (1 / (1 + 2 * dependence))
    assert log_likelihood[0] == pytest.approx((1 + 2 * dependence) * np.log(joint.sum()))


def test_repeats_of_a_judge_are_one_judge():
    codes = (np.array([0, 0, 0, 1, 3]), np.array([1, 1, 0, 1, 0]), np.array([0, 1, 1, 0, 0]))
    first, second = LabelCodes(*codes, 4, 2, 2), LabelCodes(*codes, 5, 3, 2)
    matrix = LabelMatrix.from_tasks([0, 1], [first, second])
    assert matrix.judges_per_item.tolist() == [2, 1, 0, 1, 2, 1, 0, 1, 0]
    assert matrix.keep(np.array([False, True])).judges_per_item.tolist() == [2, 1, 0, 1, 0]
    np.testing.assert_array_equal(design_effect(np.array([0, 1, 3]), 0.5), [1, 1, 2])


@pytest.mark.parametrize("dependence", [0.15, 0.6])
def test_em_of_dependent_judges_climbs(dependence):
    """With a prior that stays, the objective of tempered EM never falls."""
    params = DawidSkeneParams(dependence=dependence, max_iterations=300)
    for seed in range(5):
        [actual] = dawid_skene_batch([crowd(seed)], params=params)
        steps = np.diff(actual.convergence.log_posterior)
        assert steps.size > 15
        assert (steps > -1e-9 * np.abs(actual.convergence.log_posterior[1:])).all()


def test_both_starts_end_alike():
    task = crowd(3, n_items=200)
    [diagonal, votes] = [
        dawid_skene_batch([task], params=DawidSkeneParams(model="hierarchical", start=start))[0]
        for start in ("diagonal", "votes")
    ]
    np.testing.assert_allclose(diagonal.posterior, votes.posterior, atol=1e-4)


def test_no_rare_class_is_taken_over():
    """Few judges each, a class of 3%: Dawid-Skene gives it away, the common rows do not."""
    rng = np.random.default_rng(8)
    wrong = {"dawid_skene": 0.0, "hierarchical": 0.0}
    for _ in range(10):
        truth = rng.choice(3, 120, p=[0.67, 0.3, 0.03])
        items = np.repeat(np.arange(120), 3)
        judges = rng.integers(0, 25, items.size)
        right = rng.random(items.size) < 0.8
        labels = np.where(right, truth[items], rng.integers(0, 3, items.size))
        task = LabelCodes(items, judges, labels, 120, 25, 3)
        for model in wrong:
            [actual] = dawid_skene_batch([task], params=DawidSkeneParams(model=model))
            wrong[model] += float((actual.posterior.argmax(axis=1) != truth).mean()) / 10
    assert wrong["hierarchical"] < wrong["dawid_skene"] - 0.02


def test_shares_of_no_label_are_equal():
    np.testing.assert_array_equal(smoothed_shares(np.zeros((1, 4)), 0.0), np.full((1, 4), 0.25))
    np.testing.assert_allclose(smoothed_shares(np.array([[3.0, 1]]), 0.0), [[0.75, 0.25]])


@pytest.mark.parametrize("classes", [1, 2, 200])
def test_odd_tasks(classes):
    """One class; judges who label one item each; 200 classes of which two are used."""
    items = np.arange(6)
    task = LabelCodes(items, items, items % min(classes, 2), 8, 7, classes)
    actual = fit(task)
    assert np.isfinite(actual.posterior).all()
    np.testing.assert_allclose(actual.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(actual.confusion.sum(axis=2), 1)
    assert (actual.posterior.argmax(axis=1)[:6] == task.labels).all()


def test_a_class_that_nobody_used_without_smoothing():
    """Its prevalence is 0, and 0 log 0 is 0: EM converges."""
    task = replace(crowd(1, classes=2), n_labels=3)
    params = DawidSkeneParams(model="hierarchical", smoothing=0.0, start="votes")
    [actual] = dawid_skene_batch([task], params=params)
    assert actual.convergence.converged
    assert np.isfinite(actual.convergence.log_posterior).all()
