"""Evidence of answers about one item: hand-worked, against the model itself, degenerate input."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest

from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene
from annot_pipeline.methods.labels.label_evidence import label_evidence

JUDGES = np.array([0, 1, 0])
"""The first judge answered twice."""
THETA = np.array([[0.8, 0.3], [0.4, 0.6], [0.2, 0.7]])
PRIOR = np.array([0.5, 0.5])


def test_by_hand():
    actual = label_evidence(JUDGES, THETA, PRIOR, n_judges=2)
    first, second = Fraction(8 * 4 * 2), Fraction(3 * 6 * 7)  # the prior cancels
    assert actual.posterior == pytest.approx([first / (first + second), second / (first + second)])
    assert (actual.label, actual.runner_up) == (1, 0)
    assert actual.evidence == pytest.approx([log(3 / 8), log(6 / 4), log(7 / 2)])
    assert actual.without[0] == pytest.approx([0.4, 0.6])  # 4 : 6
    assert actual.without[1] == pytest.approx([16 / 37, 21 / 37])  # 8 * 2 : 3 * 7
    assert actual.label_without.tolist() == [1, 1]


def test_one_judge_flips_the_label():
    likelihoods = np.array([[0.01, 0.9], [0.6, 0.3], [0.6, 0.3]])
    actual = label_evidence(np.arange(3), likelihoods, PRIOR, n_judges=3)
    assert actual.label == 1
    assert actual.label_without.tolist() == [0, 1, 1]
    assert actual.without[0] == pytest.approx([0.8, 0.2])


def test_evidence_can_be_asked_for_another_label():
    actual = label_evidence(JUDGES, THETA, PRIOR, n_judges=2, label=0)
    assert (actual.label, actual.runner_up) == (0, 1)
    assert actual.evidence == pytest.approx([log(8 / 3), log(4 / 6), log(2 / 7)])


def test_evidence_adds_up_to_the_log_odds():
    rng = np.random.default_rng(3)
    likelihoods, prior = rng.dirichlet(np.ones(4), 9), rng.dirichlet(np.ones(4))
    actual = label_evidence(np.arange(9) % 5, likelihoods, prior, n_judges=5)
    label, other = actual.label, actual.runner_up
    assert actual.posterior[[label, other]].tolist() == sorted(actual.posterior)[::-1][:2]
    odds = log(prior[label] / prior[other]) + actual.evidence.sum()
    assert odds == pytest.approx(log(actual.posterior[label] / actual.posterior[other]))


def test_the_order_of_answers_and_classes_does_not_matter():
    rng = np.random.default_rng(4)
    likelihoods, prior = rng.dirichlet(np.ones(3), 7), rng.dirichlet(np.ones(3))
    judges = rng.integers(0, 4, 7)
    actual = label_evidence(judges, likelihoods, prior, n_judges=4)
    order, classes = rng.permutation(7), np.array([2, 0, 1])
    other = label_evidence(
        judges[order], likelihoods[order][:, classes], prior[classes], n_judges=4
    )
    assert other.posterior == pytest.approx(actual.posterior[classes], rel=1e-12)
    assert other.without == pytest.approx(actual.without[:, classes], rel=1e-12)
    assert other.evidence == pytest.approx(actual.evidence[order], rel=1e-12)
    assert classes[other.label_without].tolist() == actual.label_without.tolist()


@pytest.mark.parametrize("smoothing", [0.01, 0.0])
def test_it_is_the_posterior_of_the_model(smoothing):
    """Dawid-Skene's own posterior; without a judge an E-step with the same parameters."""
    rng = np.random.default_rng(5)
    n_items, n_judges, k = 60, 7, 3
    truth = rng.integers(0, k, n_items)
    items, judges = (codes.ravel() for codes in np.indices((n_items, n_judges)))
    wrong = rng.random(items.size) < 0.3
    labels = np.where(wrong, rng.integers(0, k, items.size), truth[items])
    fit = dawid_skene(
        items, judges, labels, n_items=n_items, n_judges=n_judges, n_labels=k,
        params=DawidSkeneParams(smoothing=smoothing),
    )  # fmt: skip
    for item in range(n_items):
        given = labels[items == item]
        theta = fit.confusion[np.arange(n_judges), :, given]
        actual = label_evidence(np.arange(n_judges), theta, fit.prevalence, n_judges=n_judges)
        assert actual.posterior == pytest.approx(fit.posterior[item], abs=1e-9)
        assert actual.label == fit.posterior[item].argmax()
        for judge in range(n_judges):
            left = fit.prevalence * np.delete(theta, judge, axis=0).prod(axis=0)
            assert actual.without[judge] == pytest.approx(left / left.sum(), abs=1e-9)


def test_what_no_judge_ever_says_rules_a_class_out_and_gives_no_nan():
    likelihoods = np.array([[0.5, 0.0], [0.2, 0.6], [0.0, 0.0]])
    with np.errstate(all="raise"):
        actual = label_evidence(np.arange(3), likelihoods, PRIOR, n_judges=3)
    assert actual.posterior.tolist() == [1, 0]  # the third answer rules out both, and says nothing
    assert actual.evidence == pytest.approx([inf, log(0.2 / 0.6), 0])
    assert actual.without[0] == pytest.approx([0.25, 0.75])
    assert actual.without[1].tolist() == [1, 0]
    assert actual.label_without.tolist() == [1, 0, 0]


def test_where_every_class_is_ruled_out_the_fewest_zeros_win():
    likelihoods = np.array([[0.0, 0.5, 0.5], [0.9, 0.0, 0.5], [0.9, 0.3, 0.0], [0.0, 0.1, 0.1]])
    actual = label_evidence(np.arange(4), likelihoods, np.full(3, 1 / 3), n_judges=4)
    assert actual.posterior == pytest.approx([0, 0.5 * 0.3 / 0.4, 0.5 * 0.5 / 0.4])
    assert (actual.label, actual.runner_up) == (2, 1)
    assert actual.evidence == pytest.approx([0, inf, -inf, 0])


def test_ties_go_to_the_first_class_whatever_rounding_says():
    """The same factors in other orders: their sums of logarithms differ in the last digit."""
    rng = np.random.default_rng(0)
    shares, judges = rng.random(20), np.arange(20)
    for _ in range(50):
        likelihoods = np.array([shares, rng.permutation(shares)]).T
        actual = label_evidence(judges, likelihoods, PRIOR, n_judges=20)
        assert (actual.label, actual.runner_up) == (0, 1)
    same = np.array([shares, shares]).T
    assert set(label_evidence(judges, same, PRIOR, n_judges=20).label_without) == {0}


def test_nobody_left_gives_the_prevalence():
    prior = np.array([0.3, 0.7])
    actual = label_evidence(np.array([0]), np.array([[0.9, 0.2]]), prior, n_judges=1)
    assert actual.label == 0
    assert actual.without[0] == pytest.approx(prior)
    assert actual.label_without.tolist() == [1]


def test_one_class_has_no_runner_up():
    actual = label_evidence(np.array([0]), np.array([[1.0]]), np.array([1.0]), n_judges=1)
    assert (actual.label, actual.runner_up, actual.posterior.tolist()) == (0, -1, [1])
    assert actual.evidence.tolist() == [0]


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_numbers_that_are_no_probabilities(bad):
    with pytest.raises(ValueError, match="probabilities must lie in"):
        label_evidence(np.array([0]), np.array([[0.5, bad]]), PRIOR, n_judges=1)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="likelihoods must be"):
        label_evidence(np.array([0, 1]), THETA, PRIOR, n_judges=2)
