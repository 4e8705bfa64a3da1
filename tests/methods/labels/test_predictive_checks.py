"""Agreement between judges against what a fitted model draws."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.dawid_skene import dawid_skene_batch
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.predictive_checks import predictive_checks
from tests.methods.crowds import calibrated, crowd


def checked(task, fit=None, **how):
    fit = fit or dawid_skene_batch([task])[0]
    return predictive_checks(task, fit, rng=np.random.default_rng(1), **how)


def test_observed_by_hand():
    """aab, aa, and b alone: of pairs 1 of 3 and 1 of 1 agree; one of two items is unanimous."""
    items, judges = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 0])
    found = checked(LabelCodes(items, judges, np.array([0, 0, 1, 0, 0, 1]), 3, 3, 2))
    assert found.pairwise_agreement.observed == pytest.approx(2 / 4)
    assert found.unanimous_share.observed == pytest.approx(1 / 2)
    assert (found.n_items, found.n_labels) == (2, 5)


def test_repeats_of_a_judge_are_no_agreement_between_judges():
    items, judges = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1])
    found = checked(LabelCodes(items, judges, np.array([0, 0, 1, 1, 1]), 2, 2, 2))
    assert found.pairwise_agreement.observed == pytest.approx(1 / 2)


@pytest.mark.parametrize("seed", range(3))
def test_judges_who_err_alone_agree_as_often_as_expected(seed):
    task, _ = crowd("independent", seed)
    found = checked(task)
    for of in (found.pairwise_agreement, found.unanimous_share):
        assert of.low <= of.observed <= of.high


@pytest.mark.parametrize("kind", ["difficulty", "correlated"])
def test_judges_who_err_together_agree_more_often(kind):
    task, _ = crowd(kind, 3)
    fits = dawid_skene_batch([task])
    pooled = calibrated([task])[0].fits.pooled
    for fit in (*fits, pooled):
        of = checked(task, fit).unanimous_share
        assert of.observed > of.high > of.expected > of.low


def test_expected_agreement_is_that_of_the_formula():
    """sum_k pi_k sum_l theta_jkl theta_j'kl, over the pairs that met."""
    task, _ = crowd("independent", 4, n_items=400, n_judges=5, per_item=3)
    fit = dawid_skene_batch([task])[0]
    by_item = task.judges.reshape(-1, 3)
    pairs = np.concatenate([by_item[:, [a, b]] for a, b in ((0, 1), (0, 2), (1, 2))])
    both = np.einsum("k,pkl,pkl->p", fit.prevalence, *fit.confusion[pairs.T])
    assert checked(task, fit).pairwise_agreement.expected == pytest.approx(both.mean(), abs=0.006)


def test_of_many_labels_some_take_part_whatever_their_order():
    task, _ = crowd("independent", 1)
    fit = dawid_skene_batch([task])[0]
    found = checked(task, fit, most=800)
    assert (found.n_items, found.n_labels) == (100, 800)
    rows = np.random.default_rng(2).permutation(task.items.size)
    other = LabelCodes(
        task.items[rows], task.judges[rows], task.labels[rows], task.n_items, task.n_judges, 3
    )
    assert checked(other, fit, most=800) == found


def test_without_two_judges_there_is_nothing_to_say():
    found = checked(LabelCodes(np.array([0, 1]), np.array([0, 1]), np.array([0, 1]), 2, 2, 2))
    assert found.n_items == 0
    assert np.isnan(found.pairwise_agreement.observed)
