"""Subtypes of items: EM by loops, shared mistakes, the guards of classes, pluralities, families."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.labels import inference
from annot_pipeline.methods.labels.e_step import e_step, tempered, tempered_classes
from annot_pipeline.methods.labels.held_out_labels import ModelLabels, held_out_predictions
from annot_pipeline.methods.labels.item_labels import ItemLabels, UnsupportedClasses
from annot_pipeline.methods.labels.item_subtypes import borrowed_by_subtype, fit_subtypes
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from tests.methods import crowds
from tests.methods.labels.test_inference import infer, known_items
from tests.methods.labels.test_label_models import crowd
from tests.methods.labels.test_stacking import in_blocks


def from_answers(answers: np.ndarray, k: int) -> LabelCodes:
    """Return labels of ``(n_judges, n_items)`` answers; -1 is none."""
    judges, items = np.nonzero(answers >= 0)
    sizes = (answers.shape[1], len(answers), k)
    return LabelCodes(items, judges, answers[judges, items], *sizes, np.arange(len(answers)))


def misled(seed: int, n: int = 600) -> tuple[LabelCodes, np.ndarray]:
    """12 judges, 8 an item; four of ten items of class 0 look like 1 to eight of the judges."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) >= 0.75).astype(np.int64)
    is_misleading = (truth == 0) & (rng.random(n) < 0.4)
    accuracy = np.tile(rng.uniform(0.8, 0.92, 12)[:, None], n)
    accuracy[4:, is_misleading] = 0.3
    accuracy[:4, is_misleading] = 0.9
    answers = np.where(rng.random((12, n)) < accuracy, truth, 1 - truth)
    answers[rng.random((12, n)).argsort(axis=0) >= 8] = -1
    return from_answers(answers, 2), truth


def right(p: np.ndarray, truth: np.ndarray) -> float:
    return float((p.argmax(axis=1) == truth).mean())


def test_em_by_loops():
    """Written out item by item, from the same start, for as many iterations."""
    task = crowd(3, n_items=40, classes=3)
    k, m = 3, 2
    votes = np.zeros((40, k))
    np.add.at(votes, (task.items, task.labels), 1)
    share = votes / votes.sum(axis=1, keepdims=True)
    q = np.stack([share**2, share * (1 - share)], axis=2)
    before = 0.0
    for _ in range(300):
        theta = np.full((task.n_judges, k, m, k), 0.5)  # [judge, class, subtype, label]
        for c in range(k):
            theta[:, c, :, c] = 4
        for i, j, label in zip(task.items, task.judges, task.labels, strict=True):
            theta[j, :, :, label] += q[i]
        theta /= theta.sum(axis=3, keepdims=True)
        classes = q.sum(axis=(0, 2)) + 1
        within = q.sum(axis=0) + 1
        pi = (classes / classes.sum())[:, None] * within / within.sum(axis=1, keepdims=True)
        logs = np.tile(np.log(pi), (40, 1, 1))
        for i, j, label in zip(task.items, task.judges, task.labels, strict=True):
            logs[i] += np.log(theta[j, :, :, label])
        total = np.log(np.exp(logs).sum(axis=(1, 2)))
        q = np.exp(logs - total[:, None, None])
        if abs(total.sum() - before) <= 1e-6 * abs(before):
            break
        before = total.sum()
    fitted = fit_subtypes(InMemoryBlocks([replace(task, families=None)]))
    np.testing.assert_allclose(np.exp(fitted.log_pi[0]), pi.reshape(-1), rtol=1e-6)
    expected = theta.transpose(0, 3, 1, 2).reshape(-1, k, k * m)
    np.testing.assert_allclose(np.exp(fitted.log_theta), expected, rtol=1e-6)
    posterior, _ = e_step(LabelMatrix.from_tasks([0], [replace(task, families=None)]), fitted)
    np.testing.assert_allclose(posterior, q.reshape(40, -1), rtol=1e-6, atol=1e-12)
    in_parts = fit_subtypes(InMemoryBlocks(in_blocks(replace(task, families=None), 3)))
    np.testing.assert_allclose(in_parts.log_theta, fitted.log_theta, rtol=1e-8)


def test_judges_who_see_through_a_shared_mistake_are_believed(monkeypatch):
    """Labels that are held out choose subtypes; without them votes and the model are led astray."""
    gains = []
    for seed in range(4):
        task, truth = misled(seed)
        fit, published = infer(task)
        assert fit.item_fit.stacking.weights[-2] > 0.25
        with monkeypatch.context() as patch:
            patch.setattr(inference, "LEAST_ITEMS", 10**9)
            fit, without = infer(task)
        assert fit.item_fit.stacking.weights.size == 4
        gains.append(right(published.published, truth) - right(without.published, truth))
    assert np.mean(gains) > 0.02


@pytest.mark.slow
def test_crowds_without_a_shared_mistake_keep_their_labels():
    for seed in range(3):
        task, truth = crowds.crowd("independent", seed, n_items=300)
        _, actual = infer(task)
        assert right(actual.published, truth) >= right(actual.dawid_skene, truth) - 0.01


def test_a_subtype_with_the_labels_of_another_class_is_not_used():
    """Six of eight judges guess, by likings of their own: subtypes are these guesses."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 500)
    likings = rng.dirichlet(np.full(3, 0.5), 8)
    guesses = np.array([rng.choice(3, 500, p=liking) for liking in likings])
    knows = rng.random((8, 500)) < np.where(np.arange(8) < 2, 0.9, 0.0)[:, None]
    task = from_answers(np.where(knows, truth, guesses), 3)
    assert fit_subtypes(InMemoryBlocks([task])) is None
    assert infer(task)[0].item_fit.stacking.weights.size == 4
    assert fit_subtypes(InMemoryBlocks([misled(1)[0]])) is not None


def test_classes_are_tempered_and_subtypes_within_them_are_not():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(6), 9)
    p[0, :2] = 0
    p /= p.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs, by_class = np.log(p), np.log(p.reshape(9, 3, 2).sum(axis=2))
    n = np.full(9, 4)
    actual = tempered_classes(logs, n, 0.4, 3).reshape(9, 3, 2)
    np.testing.assert_allclose(actual.sum(axis=2), tempered(by_class, n, 0.4))
    own = p.reshape(9, 3, 2)[1:]
    np.testing.assert_allclose(
        actual[1:, :, 0] / actual[1:].sum(axis=2), own[:, :, 0] / own.sum(axis=2)
    )
    np.testing.assert_array_equal(tempered_classes(logs, n, 0.4, 6), tempered(logs, n, 0.4))


def test_classes_without_votes_are_capped_together_with_their_subtypes():
    votes, n = np.array([[3.0, 0.0]]), np.array([3])
    unsupported = UnsupportedClasses.from_votes(votes, n)
    p = np.array([[0.1, 0.2, 0.3, 0.4]])
    by_class = unsupported.cap(np.array([[0.3, 0.7]]))
    capped = unsupported.cap(p)
    np.testing.assert_allclose(capped.reshape(2, 2).sum(axis=1), by_class[0])
    np.testing.assert_allclose(capped[0, 0] / capped[0, 1], 0.5)


def test_a_label_is_predicted_without_itself_by_subtypes():
    """The prediction of one label does not change if another label stands in its place."""
    task, _ = misled(2, n=300)
    fitted = fit_subtypes(InMemoryBlocks([task]))
    block = ModelLabels.from_codes(task, [fitted])
    cells = block.cells[0].reshape(task.n_judges, 2, 4) + borrowed_by_subtype(2)
    labels = ItemLabels.from_codes(task)
    [p] = held_out_predictions(labels, block.posteriors[0], cells, fitted.log_pi[0], [0.0])
    other = replace(labels, label=1 - labels.label)
    turned = cells.copy()
    for item, judge, label in zip(labels.item[:1], labels.judge[:1], labels.label[:1], strict=True):
        turned[judge, label] -= block.posteriors[0][item]
        turned[judge, 1 - label] += block.posteriors[0][item]
    first = np.append(other.label[:1], labels.label[1:])
    changed = replace(labels, label=first)
    [q] = held_out_predictions(changed, block.posteriors[0], turned, fitted.log_pi[0], [0.0])
    assert q[0] == pytest.approx(1 - p[0])


def test_clear_pluralities_are_not_overturned_without_known_items():
    """24 judges mostly say 0, 8 look: nothing but known items tells who is right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    blind = (rng.random((24, 120)) >= 0.8).astype(np.int64)
    careful = np.where(rng.random((8, 120)) < 0.9, truth, 1 - truth)
    task = from_answers(np.concatenate([blind, careful]), 2)
    votes = right(ItemLabels.from_codes(task).votes, truth)
    fit, actual = infer(task)
    assert fit.item_fit.stacking.votes_alone
    assert right(actual.published, truth) == pytest.approx(votes)
    fit, actual = infer(task, known_items(truth, 60))
    assert not fit.item_fit.stacking.votes_alone
    assert right(actual.published, truth) > 0.95


def test_families_overturn_more_pluralities_with_known_items_alone():
    """Five judges of twelve err together, though they are no copies."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    shared = np.where(rng.random(300) < 0.6, truth, 1 - truth)
    answers = np.where(rng.random((12, 300)) < 0.75, truth, 1 - truth)
    answers[:5] = np.where(rng.random((5, 300)) < 0.85, shared, 1 - shared)
    task = from_answers(answers, 2)
    fit, _ = infer(task)
    known, _ = infer(task, known_items(truth, 60))
    assert fit.related.n_found == 1
    assert fit.item_fit.families is None
    assert known.item_fit.families is not None
