"""Families of judges: their labels of an item count together as one judge's label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.labels import held_out_labels
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.labels.e_step import e_step, expected_counts, voted_counts
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.held_out_labels import (
    ModelLabels,
    held_out_predictions,
    held_out_votes,
)
from annot_pipeline.methods.labels.item_labels import ItemLabels, UnsupportedClasses
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.stacking import DEPENDENCE, fit_stacking
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from tests.methods.labels.test_label_models import crowd
from tests.methods.labels.test_stacking import fit, in_blocks

FAMILIES = np.array([0, 1, 2, 1, 0, 5, 1, 7, 8])
"""Of the nine judges of `crowd`: two judges, three judges, and four judges alone."""


def with_copies(task: LabelCodes, judge: int, n_copies: int) -> LabelCodes:
    """Add judges who label as one judge does, all of one family."""
    mine = task.judges == judge
    copies = np.arange(task.n_judges, task.n_judges + n_copies)
    return replace(
        task,
        items=np.append(task.items, np.tile(task.items[mine], n_copies)),
        judges=np.append(task.judges, np.repeat(copies, mine.sum())),
        labels=np.append(task.labels, np.tile(task.labels[mine], n_copies)),
        n_judges=task.n_judges + n_copies,
        families=np.append(np.arange(task.n_judges), np.full(n_copies, judge)),
    )


def estimates_of(task: LabelCodes, dependence: float = 0.0, seed: int = 0) -> Estimates:
    rng = np.random.default_rng(seed)
    k = task.n_labels
    theta = rng.dirichlet(np.ones(k), (task.n_judges, k)).transpose(0, 2, 1)
    log_pi = np.log(rng.dirichlet(np.ones(k)))[None]
    return Estimates(log_pi, np.log(theta), np.zeros(1), np.array([dependence]))


@pytest.mark.parametrize("dependence", [0.0, 0.4])
def test_the_posterior_of_a_family_by_hand(dependence):
    """Judges 0, 1, 2 are a family and say 0, 0, 1; judge 3 says 1: weights 1/3, 1/3, 1/3 and 1."""
    task = LabelCodes(
        np.zeros(4, int), np.arange(4), np.array([0, 0, 1, 1]), 1, 4, 2, np.array([2, 2, 2, 0])
    )
    right = np.array([0.9, 0.8, 0.7, 0.6])
    theta = np.stack([[[a, 1 - a], [1 - a, a]] for a in right])
    estimates = Estimates(np.log([[0.5, 0.5]]), np.log(theta), np.zeros(1), np.array([dependence]))
    matrix = LabelMatrix.from_tasks([0], [task])
    assert matrix.judges_per_item.tolist() == [2]
    [[first, _]], _ = e_step(matrix, estimates)
    counts = expected_counts(matrix, estimates)
    odds = (9 * 4 * 3 / 7) ** (1 / 3) * (4 / 6)
    odds **= 1 / (1 + dependence)
    assert first == pytest.approx(odds / (1 + odds))
    whole = np.eye(2)[task.labels][:, :, None] * np.array([first, 1 - first])
    np.testing.assert_allclose(counts.theta.reshape(4, 2, 2), whole, err_msg="whole labels")
    np.testing.assert_allclose(voted_counts(matrix).pi, [[1 / 3, 2 / 3]])
    labels = ItemLabels.from_codes(task)
    assert labels.n_judges.tolist() == [2]
    np.testing.assert_allclose(labels.votes, [[2 / 3, 4 / 3]])


@pytest.mark.parametrize("dependence", DEPENDENCE)
def test_three_copies_of_a_judge_are_one_judge(dependence):
    task = crowd(1)
    copied = with_copies(task, judge=4, n_copies=2)
    alone = estimates_of(task, dependence)
    theta = np.append(alone.log_theta, alone.log_theta[[4, 4]], axis=0)
    own, _ = e_step(LabelMatrix.from_tasks([0], [task]), alone)
    actual, _ = e_step(LabelMatrix.from_tasks([0], [copied]), replace(alone, log_theta=theta))
    np.testing.assert_allclose(actual, own, rtol=1e-9)
    np.testing.assert_array_equal(
        ItemLabels.from_codes(copied).n_judges, ItemLabels.from_codes(task).n_judges
    )
    # fits: no prior of the common confusion here, so that the copies' confusion is the same
    params = DawidSkeneParams(dependence=dependence, tolerance=1e-13)
    fits = [dawid_skene_batch([each], params=params)[0] for each in (task, copied)]
    np.testing.assert_allclose(fits[1].posterior, fits[0].posterior, atol=1e-4)
    np.testing.assert_allclose(fits[1].confusion[-1], fits[0].confusion[4], atol=1e-4)


def test_repeats_of_a_judge_alone_share_one_vote():
    codes = (np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    every = LabelCodes(*codes, 2, 2, 2)
    shared = replace(every, families=np.arange(2))
    np.testing.assert_array_equal(ItemLabels.from_codes(every).votes, [[2, 1], [0, 1]])
    np.testing.assert_array_equal(ItemLabels.from_codes(shared).votes, [[1, 1], [0, 1]])
    estimates = estimates_of(every)
    logits = estimates.log_pi[0] + estimates.log_theta[[0, 1], [0, 1]].sum(axis=0)
    [actual, _], _ = e_step(LabelMatrix.from_tasks([0], [shared]), estimates)
    np.testing.assert_allclose(actual, np.exp(logits) / np.exp(logits).sum())


def test_families_of_one_judge_change_no_bit():
    task = crowd(2)
    alone = replace(task, families=np.arange(task.n_judges))
    assert LabelMatrix.from_tasks([0], [alone]).weighted_votes is None
    for each in (LabelMatrix.from_tasks([0], [task]), LabelMatrix.from_tasks([0], [alone])):
        assert each.evidence is each.votes
    assert fit(alone)[0].tobytes() == fit(task)[0].tobytes()


def test_a_task_without_families_beside_one_with_them_changes_no_bit():
    """Its repeats count each by itself, as they do alone."""
    task = crowd(3)
    task = replace(
        task,
        items=np.append(task.items, task.items[:9]),
        judges=np.append(task.judges, task.judges[:9]),
        labels=np.append(task.labels, task.labels[:9]),
    )
    families = replace(task, families=FAMILIES)
    params = DawidSkeneParams(model="hierarchical", dependence=0.15)
    together = dawid_skene_batch([families, task, families], params=params)
    for each, actual in zip([families, task], together, strict=False):
        [alone] = dawid_skene_batch([each], params=params)
        assert actual.posterior.tobytes() == alone.posterior.tobytes()
    matrix = LabelMatrix.from_tasks([0, 1, 2], [families, task, families])
    for mask in ([True, False, True], [False, True, False], [False, False, True]):
        kept = matrix.keep(np.array(mask))
        some = np.repeat(mask, task.n_items)
        np.testing.assert_array_equal(kept.judges_per_item, matrix.judges_per_item[some])
        np.testing.assert_array_equal(
            kept.evidence.toarray(),
            matrix.evidence[some][:, np.repeat(mask, task.n_judges * task.n_labels)].toarray(),
        )


@pytest.mark.slow
def test_blocks_are_the_whole_and_no_name_or_order_counts():
    task = replace(crowd(4, n_items=90), families=FAMILIES)
    whole, _, stacked = fit(task)
    without, _, _ = fit(replace(task, families=None))
    assert np.abs(whole - without).max() > 0.05
    blocks = in_blocks(task, 4)
    estimates = fit(task)[1]
    in_parts, _ = fit_stacking(InMemoryBlocks(blocks), estimates)
    np.testing.assert_allclose(in_parts.weights, stacked.weights, atol=1e-10)
    rng = np.random.default_rng(0)
    rows, judges = rng.permutation(task.items.size), rng.permutation(task.n_judges)
    names = rng.permutation(task.n_judges)
    families = np.empty(task.n_judges, int)
    families[judges] = names[FAMILIES]
    renamed = LabelCodes(
        task.items[rows], judges[task.judges[rows]], task.labels[rows], 90, 9, 4, families
    )
    np.testing.assert_allclose(fit(renamed)[0], whole, atol=1e-8)
    some = task.of_items(np.arange(90) < 30)
    np.testing.assert_array_equal(some.families, FAMILIES)


def test_predictions_without_a_family_by_a_loop():
    """A label is predicted from other families; its own judge's confusion lacks its own labels."""
    task = crowd(2, n_items=12, n_judges=9, classes=3)
    task = replace(
        task,
        items=np.append(task.items, [0, 0]),
        judges=np.append(task.judges, task.judges[[0, 0]]),
        labels=np.append(task.labels, [2, task.labels[0]]),
        families=FAMILIES,
    )
    labels = ItemLabels.from_codes(task)
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), 12)
    counts = 0.5 + np.zeros((9, 3, 3))
    np.add.at(counts, (task.judges, task.labels), q[task.items])
    log_pi, shares = np.log([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    rows = list(zip(task.items.tolist(), task.judges.tolist(), task.labels.tolist(), strict=True))

    def theta(judge: int, label: int, item: int) -> np.ndarray:
        own = [c for a, b, c in rows if (a, b) == (item, judge)]
        without = counts[judge, label] - own.count(label) * q[item]
        return without / (counts[judge].sum(axis=0) - len(own) * q[item])

    n_shared = 0
    for dependence in DEPENDENCE:
        [actual] = held_out_predictions(labels, q, counts, log_pi, [dependence])
        by_votes = held_out_votes(labels, shares)
        for n, (i, j, label) in enumerate(sorted(set(rows))):
            logs, votes = log_pi.copy(), np.zeros(3)
            families = {FAMILIES[b] for a, b, _ in rows if a == i} - {FAMILIES[j]}
            for family in families:
                given = [(b, c) for a, b, c in rows if a == i and FAMILIES[b] == family]
                n_shared += len(given) > 1
                for b, c in given:
                    logs += np.log(theta(b, c, i)) / len(given)
                    votes[c] += 1 / len(given)
            if not families:
                continue
            p = np.exp(logs / (1 + (len(families) - 1) * dependence))
            n_others = np.array([len(families)])
            p = UnsupportedClasses.from_votes(votes[None], n_others).cap((p / p.sum())[None])[0]
            assert actual[n] == pytest.approx(p @ theta(j, label, i))
            assert by_votes[n] == pytest.approx((votes[label] + shares[label]) / (votes.sum() + 1))
            m = sum(a == i and FAMILIES[b] == FAMILIES[j] for a, b, _ in rows)
            assert labels.weights[n] == pytest.approx(rows.count((i, j, label)) / m)
    assert n_shared > 20


def test_no_remainder_of_a_family_is_a_vote_of_others():
    """Seven judges of one family say 0, another judge 1: nobody else says 0 or 1, to the bit."""
    task = LabelCodes(
        np.zeros(8, int), np.arange(8), np.repeat([0, 1], [7, 1]), 1, 8, 2,
        np.repeat([0, 1], [7, 1]),
    )  # fmt: skip
    actual = held_out_votes(ItemLabels.from_codes(task), np.array([0.0, 1.0]))
    assert (actual[:7] == 0).all()
    assert actual[7] == pytest.approx(0.5)


def test_each_family_counts_once_for_the_weights():
    task = replace(crowd(6), families=FAMILIES)
    estimates = fit(task)[1]
    block = ModelLabels.from_codes(task, estimates)
    counts = [np.ones((9, 4, 4)) for _ in DEPENDENCE]
    predictions = held_out_labels.predict(block, counts, estimates, DEPENDENCE, np.full(4, 0.25))
    n = block.labels.n_judges
    assert predictions.times.sum() == pytest.approx(n[n > 1].sum())
    assert n.sum() < task.items.size


def test_families_that_do_not_fit_the_judges_are_refused():
    task = crowd(0)
    with pytest.raises(ValueError, match=r"families has shape \(3,\), must be one for each of 9"):
        replace(task, families=np.zeros(3, int))
    for code in (-1, 9):
        with pytest.raises(ValueError, match="families must be codes from 0 to 8"):
            replace(task, families=np.full(9, code))


def test_odd_families():
    """No label at all; one family of all judges: nothing predicts a label, votes are shares."""
    nothing = np.empty(0, int)
    empty = LabelCodes(nothing, nothing, nothing, 3, 2, 2, np.zeros(2, int))
    posterior, _, _ = fit(empty)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    task = replace(crowd(5), families=np.zeros(9, int))
    posterior, _, _ = fit(task)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    votes = ItemLabels.from_codes(task).votes
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert (votes[np.arange(task.n_items), posterior.argmax(axis=1)] > 0).all()
