"""Stacked probabilities: leave-one-out predictions, weights, the cap, blocks, sets with truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.labels.e_step import tempered
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.held_out_labels import (
    Predictions,
    held_out_predictions,
    held_out_votes,
)
from annot_pipeline.methods.labels.item_labels import ItemLabels, UnsupportedClasses
from annot_pipeline.methods.labels.label_em import Shape, run_em
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.model_fits import label_groups
from annot_pipeline.methods.labels.stacking import (
    DEPENDENCE,
    PRIOR,
    UNSEEN,
    UNSEEN_OF_MODELS,
    StackedFit,
    fit_stacking,
    stacked_posterior,
    stacking_weights,
)
from annot_pipeline.methods.labels.votes import smoothed_votes
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from tests.gold_labels import task_and_truth
from tests.methods.labels.test_label_models import crowd

HIERARCHICAL = DawidSkeneParams(model="hierarchical")


def in_blocks(task: LabelCodes, n_blocks: int) -> list[LabelCodes]:
    blocks = []
    for items in np.array_split(np.arange(task.n_items), n_blocks):
        rows = np.isin(task.items, items)
        codes = (task.items[rows] - items[0], task.judges[rows], task.labels[rows])
        sizes = (items.size, task.n_judges, task.n_labels)
        blocks.append(LabelCodes(*codes, *sizes, task.families, task.models))
    return blocks


def fit(task: LabelCodes, n_blocks: int = 1) -> tuple[np.ndarray, list[Estimates], StackedFit]:
    blocks = in_blocks(task, n_blocks)
    shape = Shape(task.n_items, task.n_judges, task.n_labels)
    [group] = label_groups(InMemoryBlocks([[b] for b in blocks]), [shape], HIERARCHICAL)
    estimates = [
        run_em(group.labels, None, replace(HIERARCHICAL, dependence=dependence)).estimates
        for dependence in DEPENDENCE
    ]
    stacked, _ = fit_stacking(InMemoryBlocks(blocks), estimates)
    parts = [stacked_posterior(block, estimates, stacked) for block in blocks]
    return np.concatenate(parts), estimates, stacked


def test_predictions_without_a_label_by_a_loop():
    """Each label's probability, its own judge's labels of the item taken out everywhere."""
    task = crowd(2, n_items=12, n_judges=5, classes=3)
    repeated = replace(
        task,
        items=np.append(task.items, [0, 0]),
        judges=np.append(task.judges, task.judges[[0, 0]]),
        labels=np.append(task.labels, [2, task.labels[0]]),
    )
    labels = ItemLabels.from_codes(repeated)
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), 12)
    counts = 0.5 + np.zeros((5, 3, 3))
    np.add.at(counts, (repeated.judges, repeated.labels), q[repeated.items])
    log_pi, shares = np.log([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    actual = held_out_predictions(labels, q, counts, log_pi, DEPENDENCE)
    by_member = np.stack([*actual, held_out_votes(labels, shares)], axis=1)
    rows = list(zip(repeated.items, repeated.judges, repeated.labels, strict=True))

    def theta(judge: int, label: int, item: int, own: list[int]) -> np.ndarray:
        left = counts[judge, label] - own.count(label) * q[item]
        return left / (counts[judge].sum(axis=0) - len(own) * q[item])

    n = 0
    for i, j, label in sorted(set(rows)):
        others = {b for a, b, _ in rows if a == i and b != j}
        if not others:
            n += 1
            continue
        logs = log_pi.copy()
        votes = np.zeros(3)
        for b in others:
            theirs = [c for a, d, c in rows if (a, d) == (i, b)]
            for given in theirs:
                logs += np.log(theta(b, given, i, theirs))
                votes[given] += 1
        own = [c for a, b, c in rows if (a, b) == (i, j)]
        members = []
        for dependence in DEPENDENCE:
            p = np.exp(logs / (1 + (len(others) - 1) * dependence))
            unsupported = UnsupportedClasses.from_votes(votes[None], np.array([len(others)]))
            p = unsupported.cap((p / p.sum())[None])[0]
            members.append(p @ theta(j, label, i, own))
        members.append((votes[label] + shares[label]) / (votes.sum() + 1))
        np.testing.assert_allclose(by_member[n], members, rtol=1e-9)
        assert labels.times[n] == own.count(label)
        n += 1
    assert n == labels.times.size > 30


def test_weights_are_those_of_a_general_optimizer():
    rng = np.random.default_rng(4)
    members, times = rng.uniform(0.05, 1, (400, PRIOR.size)), rng.integers(1, 4, 400) * 1.0
    actual = stacking_weights(
        InMemoryBlocks([Predictions(members, members, np.arange(400), times)])
    )

    def loss(w: np.ndarray) -> float:
        return -float(times @ np.log(members @ w) + 30 * PRIOR @ np.log(w))

    best = minimize(
        loss, PRIOR, method="SLSQP", bounds=[(1e-6, 1)] * PRIOR.size, tol=1e-12,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"maxiter": 1000},
    )  # fmt: skip
    assert actual.sum() == pytest.approx(1)
    assert loss(actual) <= loss(best.x) + 1e-7
    np.testing.assert_allclose(actual, best.x, atol=2e-3)


def test_weights_of_few_labels_are_the_prior():
    empty = np.empty((0, PRIOR.size))
    nothing = Predictions(empty, empty, np.empty(0, np.int64), np.empty(0))
    np.testing.assert_allclose(stacking_weights(InMemoryBlocks([nothing])), PRIOR)
    same = np.full((500, PRIOR.size), 0.3)
    alike = Predictions(same, same, np.arange(500), np.ones(500))
    np.testing.assert_allclose(stacking_weights(InMemoryBlocks([alike])), PRIOR, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_no_class_without_a_vote_is_ever_the_label(seed):
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 3, (200, 5)) * rng.integers(0, 2, (200, 5))
    n = np.maximum((votes > 0).sum(axis=1), rng.integers(0, 6, 200)) * (votes.sum(axis=1) > 0)
    p = rng.dirichlet(np.full(5, 0.1), 200)
    p[:5] = np.eye(5)
    actual = UnsupportedClasses.from_votes(votes, n).cap(p)
    np.testing.assert_allclose(actual.sum(axis=1), 1)
    judged = n > 0
    without = np.where(votes == 0, actual, 0).sum(axis=1)
    most = 1 / (np.maximum(n, (votes > 0).sum(axis=1)) + 2)
    assert (without[judged] <= most[judged] + 1e-12).all()
    label = actual.argmax(axis=1)
    assert (votes[np.arange(200), label][judged] > 0).all()
    np.testing.assert_array_equal(actual[~judged], p[~judged])


@pytest.mark.parametrize("are_models", [False, True])
def test_the_average_by_hand(are_models):
    """Two judges say 0, one says 1; each member at its dependence and what labels cannot show."""
    task = crowd(5, n_items=40, classes=2)
    task = replace(task, models=np.full(task.n_judges, are_models))
    posterior, estimates, stacked = fit(task)
    unseen = UNSEEN_OF_MODELS if are_models else UNSEEN
    i = int(np.bincount(task.items).argmax())
    mine = task.items == i
    votes = np.bincount(task.labels[mine], minlength=2) * 1.0
    n = np.unique(task.judges[mine]).size
    average = stacked.weights[-1] * smoothed_votes(votes[None], stacked.shares)[0]
    for weight, fitted, dependence in zip(stacked.weights, estimates, DEPENDENCE, strict=False):
        logs = fitted.log_pi[0].copy()
        for judge, label in zip(task.judges[mine], task.labels[mine], strict=True):
            logs += fitted.log_theta[judge, label]
        r = dependence + unseen * (1 - dependence)
        p = np.exp(logs / (1 + (n - 1) * r))
        average += weight * p / p.sum()
    expected = UnsupportedClasses.from_votes(votes[None], np.array([n])).cap(average[None])[0]
    np.testing.assert_allclose(posterior[i], expected, rtol=1e-9)


def test_pairs_of_models_share_more_mistakes_than_pairs_with_people():
    """Item 0: two models, one of two versions, and a person; item 1: a model and a person."""
    items, judges = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 0, 3])
    task = LabelCodes(items, judges, np.zeros(6, np.int64), 2, 4, 2, np.array([0, 1, 1, 3]))
    task = replace(task, models=np.array([True, True, True, False]))
    expected = UNSEEN + (UNSEEN_OF_MODELS - UNSEEN) * 1 / (3 + 1)  # one of four pairs
    for n_blocks in (1, 2):
        assert fit(task, n_blocks)[2].unseen == pytest.approx(expected)


def test_blocks_are_the_whole_and_no_order_counts():
    task = crowd(6, n_items=90)
    whole, _, stacked = fit(task)
    in_parts, _, other = fit(task, n_blocks=4)
    np.testing.assert_allclose(in_parts, whole, atol=1e-10)
    np.testing.assert_allclose(other.weights, stacked.weights, atol=1e-10)
    rng = np.random.default_rng(0)
    rows, judges = rng.permutation(task.items.size), rng.permutation(task.n_judges)
    classes = rng.permutation(task.n_labels)
    renamed = replace(
        task,
        items=task.items[rows],
        judges=judges[task.judges[rows]],
        labels=classes[task.labels[rows]],
    )
    actual, _, _ = fit(renamed)
    np.testing.assert_allclose(actual[:, classes], whole, atol=1e-8)


def test_items_without_labels_have_the_prevalence():
    task = replace(crowd(7), n_items=62)
    posterior, estimates, stacked = fit(task)
    expected = stacked.weights[-1] * stacked.shares
    for weight, fitted in zip(stacked.weights, estimates, strict=False):
        expected = expected + weight * np.exp(fitted.log_pi[0])
    np.testing.assert_allclose(posterior[-2:], np.stack([expected] * 2), atol=1e-12)


def test_tempered_is_kish():
    p = np.array([[0.9, 0.1]])
    np.testing.assert_allclose(tempered(np.log(p), np.array([1]), 0.6), p)
    odds = 9 ** (1 / (1 + 3 * 0.6))
    expected = [[odds / (1 + odds), 1 / (1 + odds)]]
    np.testing.assert_allclose(tempered(np.log(p), np.array([4]), 0.6), expected)


@pytest.mark.slow
def test_independent_judges_are_not_held_to_be_dependent():
    """Where Dawid-Skene's assumptions hold it is at most .005 more often right (5 crowds)."""
    n_judges = 25
    right = np.zeros(3)
    rng = np.random.default_rng(11)
    for _ in range(5):
        truth = rng.choice(2, 600, p=[0.7, 0.3])
        confusion = rng.beta(3, 3, (n_judges, 1, 1)) * np.full((2, 2), 0.5)
        confusion += (1 - 2 * confusion[:, :1, :1]) * np.eye(2) * rng.random((n_judges, 2, 1))
        confusion /= confusion.sum(axis=2, keepdims=True)
        items = np.repeat(np.arange(600), 5)
        judges = np.concatenate([rng.choice(n_judges, 5, replace=False) for _ in range(600)])
        labels = (rng.random(items.size) > confusion[judges, truth[items], 0]).astype(int)
        task = LabelCodes(items, judges, labels, 600, n_judges, 2)
        posterior, _, _ = fit(task)
        [raw] = dawid_skene_batch([task])
        votes = ItemLabels.from_codes(task).votes
        right += [share_right(p, truth) for p in (votes, raw.posterior, posterior)]
    majority, dawid_skene, stacked = right / 5
    assert dawid_skene > majority - 0.02, "the judges are worth a model"
    assert stacked >= max(majority, dawid_skene) - 0.005


def share_right(p: np.ndarray, truth: np.ndarray) -> float:
    best = np.isclose(p, p.max(axis=1, keepdims=True), atol=1e-12)
    return float((best[np.arange(truth.size), truth] / best.sum(axis=1)).mean())


def log_loss(p: np.ndarray, truth: np.ndarray) -> float:
    return float(-np.log(np.maximum(p[np.arange(truth.size), truth], 1e-9)).mean())


@pytest.mark.parametrize("name", ["rte", "temp", "wsd", "dog", "face"])
def test_sets_with_truth(shared_data: Path, name: str):
    """At most .005 less right than the better of majority and Dawid-Skene; log loss at most
    .02 above the best of smoothed votes and Dawid-Skene."""
    task, truth = task_and_truth(shared_data, name)
    known = truth < task.n_labels
    posterior, _, stacked = fit(task)
    votes = ItemLabels.from_codes(task).votes
    [raw] = dawid_skene_batch([task])
    smoothed = smoothed_votes(votes, stacked.shares)
    accuracy = [share_right(p[known], truth[known]) for p in (votes, raw.posterior, posterior)]
    losses = [log_loss(p[known], truth[known]) for p in (smoothed, raw.posterior, posterior)]
    assert accuracy[2] >= max(accuracy[:2]) - 0.005
    assert losses[2] <= min(losses[:2]) + 0.02
    label = posterior.argmax(axis=1)
    assert (votes[np.arange(task.n_items), label] > 0).all()
