"""Validation where people's items were chosen with known, unequal probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.label_validation import label_validation
from annot_pipeline.methods.model_judges.score_validation import score_validation

N_ITEMS = 4000


def label_population(rng):
    """Return labels of a person and of a model, and how likely each item is to be chosen."""
    human = rng.choice(3, N_ITEMS, p=[0.6, 0.3, 0.1])
    right = np.array([0.95, 0.8, 0.4])[human]
    model = np.where(rng.random(N_ITEMS) < right, human, rng.choice(3, N_ITEMS))
    return human, model, np.array([0.03, 0.1, 0.3])[model]


def score_population(rng):
    truth = rng.normal(60, 15, N_ITEMS)
    human = truth + rng.normal(0, 8, N_ITEMS)
    model = 0.7 * truth + 25 + rng.normal(0, 6, N_ITEMS)
    return human, model, np.where(model < 60, 0.25, 0.02)


def covered(value, interval):
    return interval[0] <= value <= interval[1]


def test_intervals_of_labels_cover_what_all_items_would_say():
    rng = np.random.default_rng(1)
    hits = {"agreement": [], "kappa": [], "unweighted": []}
    for _ in range(300):
        human, model, probability = label_population(rng)
        everything = np.arange(N_ITEMS)
        whole = label_validation(everything, everything * 0, human, model)
        chosen = np.flatnonzero(rng.random(N_ITEMS) < probability)
        arguments = (chosen, np.zeros(chosen.size, int), human[chosen], model)
        weighted = label_validation(*arguments, weights=1 / probability)
        for name in ("agreement", "kappa"):
            value = getattr(whole, name).value
            hits[name].append(covered(value, getattr(weighted, name).interval()))
        plain = label_validation(*arguments)
        hits["unweighted"].append(covered(whole.agreement.value, plain.agreement.interval()))
    assert np.mean(hits["agreement"]) == pytest.approx(0.95, abs=0.035)
    assert np.mean(hits["kappa"]) == pytest.approx(0.95, abs=0.035)
    assert np.mean(hits["unweighted"]) < 0.3


@pytest.mark.slow
def test_intervals_of_scores_cover_what_all_items_would_say():
    rng = np.random.default_rng(2)
    hits = {"bias": [], "pearson": [], "unweighted": []}
    ranks = []
    for _ in range(300):
        human, model, probability = score_population(rng)
        everything = np.arange(N_ITEMS)
        whole = score_validation(everything, everything * 0, human, model)
        chosen = np.flatnonzero(rng.random(N_ITEMS) < probability)
        arguments = (chosen, np.zeros(chosen.size, int), human[chosen], model)
        weighted = score_validation(*arguments, weights=1 / probability)
        hits["bias"].append(covered(whole.bias.value, weighted.bias.interval()))
        hits["pearson"].append(covered(whole.pearson.value, weighted.pearson.interval()))
        plain = score_validation(*arguments)
        hits["unweighted"].append(covered(whole.bias.value, plain.bias.interval()))
        ranks.append(weighted.spearman - whole.spearman)
    assert np.mean(hits["bias"]) == pytest.approx(0.95, abs=0.035)
    assert np.mean(hits["pearson"]) == pytest.approx(0.95, abs=0.035)
    assert np.mean(hits["unweighted"]) < 0.7
    assert np.mean(ranks) == pytest.approx(0, abs=0.01)


def test_a_weight_of_three_counts_as_three_items():
    rng = np.random.default_rng(3)
    human, model = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    weights = rng.integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    one = np.zeros(40, int)
    labels = label_validation(np.arange(40), one, human, model, weights=weights)
    copied = label_validation(
        np.arange(copies.size), one[:1].repeat(copies.size), human[copies], model[copies]
    )
    assert labels.agreement.value == pytest.approx(copied.agreement.value)
    assert labels.kappa.value == pytest.approx(copied.kappa.value)
    assert labels.weighted_confusion == pytest.approx(copied.confusion)
    assert labels.confusion.sum() == pytest.approx(40)
    scores = score_validation(np.arange(40), one, human * 9.0, model * 7.0, weights=weights)
    copied_scores = score_validation(
        np.arange(copies.size),
        one[:1].repeat(copies.size),
        human[copies] * 9.0,
        model[copies] * 7.0,
    )
    for name in ("bias", "root_mean_square", "pearson"):
        ours, theirs = getattr(scores, name).value, getattr(copied_scores, name).value
        assert ours == pytest.approx(theirs)
    assert scores.spearman == pytest.approx(copied_scores.spearman)


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(4)
    items, judges = np.repeat(np.arange(30), 2), np.tile([0, 1], 30)
    labels, model = rng.integers(0, 3, 60), rng.integers(0, 3, 30)
    weights = np.full(30, 5.0)
    plain = label_validation(items, judges, labels, model)
    weighted = label_validation(items, judges, labels, model, weights=weights)
    for name in ("agreement", "kappa", "human_agreement", "human_kappa"):
        ours, theirs = getattr(plain, name), getattr(weighted, name)
        assert ours.value == pytest.approx(theirs.value)
        assert ours.interval() == pytest.approx(theirs.interval())
