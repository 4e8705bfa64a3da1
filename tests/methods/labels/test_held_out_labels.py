"""Labels held out in turn: each once, together with its like, and scored as by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.labels import held_out_labels
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.held_out_labels import (
    FOLDS,
    Fold,
    HeldOutLabels,
    log_scores,
    log_scores_of_votes,
    n_predictable,
    tempered,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.convergence import Convergence
from tests.methods.crowds import crowd

ALL = 10**9


def drawn(task, seed=1, most=ALL):
    return HeldOutLabels.draw(task, np.random.default_rng(seed), most=most)


def triples(items, judges, labels):
    return sorted(zip(items.tolist(), judges.tolist(), labels.tolist(), strict=True))


def test_every_label_is_held_out_once_and_given_otherwise():
    task, _ = crowd("independent", 1, n_items=90)
    found = drawn(task)
    assert (found.n_items, found.n_labels, len(found.folds)) == (90, task.items.size, FOLDS)
    whole = triples(task.items, task.judges, task.labels)
    held = [of for fold in found.folds for of in triples(fold.items, fold.judges, fold.labels)]
    assert sorted(held) == whole
    for fold in found.folds:
        given = triples(fold.training.items, fold.training.judges, fold.training.labels)
        assert sorted(given + triples(fold.items, fold.judges, fold.labels)) == whole
        assert fold.n.tolist() == np.bincount(fold.training.items, minlength=90).tolist()
        assert set(fold.n.tolist()) == {6}  # a quarter of eight is held out of every item


def test_no_fold_depends_on_the_order_of_rows():
    task, _ = crowd("independent", 2, n_items=50)
    rows = np.random.default_rng(3).permutation(task.items.size)
    other = LabelCodes(task.items[rows], task.judges[rows], task.labels[rows], 50, task.n_judges, 3)
    for one, two in zip(drawn(task).folds, drawn(other).folds, strict=True):
        assert triples(one.items, one.judges, one.labels) == triples(
            two.items, two.judges, two.labels
        )


def test_repeats_of_a_judge_are_held_out_together():
    items, judges = np.repeat([0, 1], 12), np.tile(np.repeat([0, 1, 2, 3], 3), 2)
    task = LabelCodes(items, judges, np.arange(24) % 3, 2, 4, 3)
    for fold in drawn(task).folds:
        held = set(zip(fold.items.tolist(), fold.judges.tolist(), strict=True))
        given = set(zip(fold.training.items.tolist(), fold.training.judges.tolist(), strict=True))
        assert len(held) == 2
        assert not held & given


def test_labels_of_one_judge_are_given_in_every_fold():
    items, judges = np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 2, 2, 2])
    task = LabelCodes(items, judges, np.zeros(6, np.int64), 4, 3, 2)
    found = drawn(task)
    assert (found.n_items, found.n_labels, n_predictable(task)) == (3, 2, 2)
    assert sorted(i for fold in found.folds for i in fold.items.tolist()) == [1, 1]
    for fold in found.folds:
        assert fold.training.items.tolist().count(0) == 1
        assert fold.training.items.tolist().count(2) == 3


def test_of_many_labels_some_items_are_drawn_whole():
    task, _ = crowd("independent", 1, n_items=200)
    found = drawn(task, most=400)
    assert (found.n_items, found.n_labels) == (50, 400)
    assert {fold.training.n_labels for fold in found.folds} == {3}


def test_nothing_to_hold_out():
    none = np.empty(0, np.int64)
    found = drawn(LabelCodes(none, none, none, 3, 2, 2))
    assert (found.n_items, found.n_labels, list(found.folds)) == (0, 0, [])
    one = drawn(LabelCodes(none + 0, none, none, 0, 0, 2))
    assert one.n_labels == 0


def test_fits_in_parts_are_those_of_one_batch(monkeypatch):
    tasks = [crowd("spam", seed, n_items=40)[0] for seed in range(5)]
    priors = [np.full((3, 3), float(n)) for n in range(5)]
    whole = dawid_skene_batch(tasks, priors=priors)
    sizes = []

    def noted(some, **how):
        sizes.append(len(some))
        return dawid_skene_batch(some, **how)

    monkeypatch.setattr(held_out_labels, "dawid_skene_batch", noted)
    monkeypatch.setattr(held_out_labels, "MOST_CELLS", 2 * 60 * 9 + 1)
    parts = list(held_out_labels.fits_in_turn(tasks, params=DawidSkeneParams(), priors=priors))
    assert sizes == [2, 2, 1]
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one.posterior, other.posterior)
        assert np.array_equal(one.confusion, other.confusion)
    assert list(held_out_labels.fits_in_turn([], params=DawidSkeneParams())) == []


def test_a_posterior_that_is_tempered():
    posterior = np.array([[0.9, 0.1, 0.0], [0.5, 0.25, 0.25]])
    found = tempered(posterior, np.array([0.5, 1.0]))
    assert found[0].tolist() == pytest.approx([0.75, 0.25, 0.0])  # 3 : 1 is the root of 9 : 1
    assert found[0, 2] == 0
    assert found[1].tolist() == pytest.approx([0.5, 0.25, 0.25])
    flat = tempered(posterior, np.full(2, 1e-9))
    assert flat[0].tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-8)


def test_scores_by_hand(monkeypatch):
    """Two items, two judges, two classes; the second judge's label of item 0 is held out."""
    given = LabelCodes(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 2, 2)
    fold = Fold(given, np.array([1, 2]), np.array([0]), np.array([1]), np.array([1]))
    theta = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]])
    course = Convergence(True, 1, "posterior", np.zeros(2), np.zeros(2))
    fit = DawidSkeneResult(
        np.array([0.5, 0.5]), theta, course, DawidSkeneParams(),
        posterior=np.array([[0.9, 0.1], [0.2, 0.8]]),
    )  # fmt: skip
    by_hand = np.log(0.9 * 0.4 + 0.1 * 0.9)
    rooted = np.log(0.75 * 0.4 + 0.25 * 0.9)
    powers = np.array([[1.0, 1.0], [0.5, 0.5], [0.5, 1e-3]])
    found = log_scores(fold, fit, powers)
    assert found == pytest.approx(np.array([[by_hand, 0], [rooted, 0], [rooted, 0]]))
    monkeypatch.setattr(held_out_labels, "MOST_CELLS", 1)  # one power at a time
    assert np.array_equal(log_scores(fold, fit, powers), found)
    sure = replace(fit, posterior=np.array([[1.0, 0.0], [0.2, 0.8]]))
    assert log_scores(fold, sure, powers)[:, 0] == pytest.approx(np.log(0.4))  # 0 stays 0
    # one vote for 0; all votes, and one more for each class: 2 of 5 for 0, 3 of 5 for 1
    votes = np.log((0 + 3 / 5) / (1 + 1))
    assert log_scores_of_votes(fold).tolist() == pytest.approx([votes, 0])
