"""Copies agree on answers that the others deny; honest judges of hard items do not."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.judges.label_copies import groups_of_copies, label_copies


def crowd(
    rng: np.random.Generator, n_items: int, n_judges: int, hard: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw answers of all judges to all items, right with .75; of hard items most are wrong."""
    truth = rng.integers(0, 3, n_items)
    is_hard = rng.random(n_items) < hard
    items = np.repeat(np.arange(n_items), n_judges)
    judges = np.tile(np.arange(n_judges), n_items)
    right = rng.random(items.size) < np.where(is_hard[items], 0.4, 0.75)
    wrong = (truth[items] + np.where(is_hard[items], 1, rng.integers(1, 3, items.size))) % 3
    return items, judges, np.where(right, truth[items], wrong)


def copy_answers(labels: np.ndarray, judges: np.ndarray, source: int, copier: int) -> None:
    labels[judges == copier] = labels[judges == source]


def test_a_pair_by_hand() -> None:
    """Judges 3 and 4 say b where three others say a, 8 times of 10."""
    items, judges = np.repeat(np.arange(10), 5), np.tile(np.arange(5), 10)
    labels = np.where(judges >= 3, 1, 0)
    labels[items >= 8] = 0
    copies = label_copies(items, judges, labels, n_items=10, n_judges=5, n_labels=2)
    assert (copies.first.tolist(), copies.second.tolist()) == ([3], [4])
    assert (copies.denials.tolist(), copies.shared.tolist()) == ([8], [10])
    labels[(items == 0) & (judges == 4)] = 0  # seven denials are too few
    assert not label_copies(items, judges, labels, n_items=10, n_judges=5, n_labels=2).first.size


@pytest.mark.parametrize("hard", [0.0, 0.3])
def test_groups_are_found_and_honest_judges_are_not(hard: float) -> None:
    rng = np.random.default_rng(17)
    for _ in range(20):
        items, judges, labels = crowd(rng, 200, 10, hard)
        sizes = {"n_items": 200, "n_judges": 10, "n_labels": 3}
        assert not label_copies(items, judges, labels, **sizes).first.size
        copy_answers(labels, judges, source=2, copier=5)
        copy_answers(labels, judges, source=2, copier=7)
        copies = label_copies(items, judges, labels, **sizes)
        assert {*zip(copies.first.tolist(), copies.second.tolist(), strict=True)} == {
            (2, 5), (2, 7), (5, 7)
        }  # fmt: skip
        groups = groups_of_copies(copies, 10)
        assert groups.tolist() == [0, 1, 2, 3, 4, 2, 5, 2, 6, 7]


def test_a_judge_who_repeats_an_item_counts_once() -> None:
    items, judges = np.repeat(np.arange(10), 5), np.tile(np.arange(5), 10)
    labels = np.where(judges >= 3, 1, 0)
    twice = (np.tile(items, 2), np.tile(judges, 2), np.concatenate([1 - labels, labels]))
    copies = label_copies(*twice, n_items=10, n_judges=5, n_labels=2)
    assert copies.shared.tolist() == [10]
