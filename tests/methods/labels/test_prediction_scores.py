"""Predictions against uncertain gold: worked by hand, and against what others compute."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from annot_pipeline.methods.labels.prediction_scores import (
    FIGURES,
    NO_CLASS,
    mean_over_tasks,
    pool,
    resample_scores,
    score_items,
)
from annot_pipeline.methods.numerics.bootstrap import ItemResamples

GOLD = np.array([[0.8, 0.2], [0.5, 0.5]])
Q = np.array([[0.9, 0.1], [0.25, 0.75]])


def column(scores, name):
    return scores.values[:, FIGURES.index(name)]


def random_case(n_items=200, n_labels=4, seed=3):
    rng = np.random.default_rng(seed)
    gold, q = (
        rng.dirichlet(np.full(n_labels, 0.4), n_items),
        rng.dirichlet(np.ones(n_labels), n_items),
    )
    return gold, gold.argmax(axis=1), q.argmax(axis=1), q


def test_two_items_by_hand():
    actual = score_items(GOLD, [0, 0], [0, 1], Q)
    # -.8 ln .9 - .2 ln .1 and -.5 ln .25 - .5 ln .75; less -.8 ln .8 - .2 ln .2 and ln 2
    assert column(actual, "log_loss") == pytest.approx([0.5448054311, 0.8369882168], abs=1e-9)
    assert column(actual, "entropy") == pytest.approx([0.5004024235, 0.6931471806], abs=1e-9)
    assert column(actual, "kl") == pytest.approx([0.0444030076, 0.1438410362], abs=1e-9)
    # .8 (.1^2 + .1^2) + .2 (.9^2 + .9^2); .5 (.75^2 + .75^2) + .5 (.25^2 + .25^2)
    assert column(actual, "brier") == pytest.approx([0.34, 0.625])
    assert column(actual, "accuracy").tolist() == [1, 0]
    assert column(actual, "expected_accuracy").tolist() == [0.8, 0.5]
    assert column(actual, "log_loss_label") == pytest.approx([0.1053605157, 1.3862943611])
    assert not actual.floored.any()


def test_scipy_says_the_same_of_entropy_and_kl():
    gold, label, code, q = random_case()
    actual = score_items(gold, label, code, q)
    assert column(actual, "entropy") == pytest.approx(scipy.stats.entropy(gold, axis=1))
    assert column(actual, "kl") == pytest.approx(scipy.stats.entropy(gold, q, axis=1))


def test_certain_gold_gives_the_figures_of_scikit_learn():
    """log_loss and brier_score_loss of scikit-learn 1.6's own examples (of two classes, halved)."""
    gold = np.eye(2)[[1, 0, 0, 1]]
    q = np.array([[0.1, 0.9], [0.9, 0.1], [0.8, 0.2], [0.35, 0.65]])
    actual = score_items(gold, [1, 0, 0, 1], [1, 0, 0, 1], q)
    assert column(actual, "log_loss").mean() == pytest.approx(0.21616, abs=5e-6)
    assert column(actual, "log_loss") == pytest.approx(column(actual, "log_loss_label"))
    assert column(actual, "entropy").tolist() == [0, 0, 0, 0]
    gold, p = np.eye(2)[[0, 1, 1, 0]], np.array([0.1, 0.9, 0.8, 0.3])
    actual = score_items(gold, [0, 1, 1, 0], [0, 1, 1, 0], np.column_stack([1 - p, p]))
    assert column(actual, "brier").mean() / 2 == pytest.approx(0.0375)


def test_figures_are_expected_over_labels_drawn_from_gold():
    gold, label, code, q = random_case(20)
    actual = score_items(gold, label, code, q)
    certain = [score_items(np.eye(4)[np.full(20, k)], np.full(20, k), code, q) for k in range(4)]
    for name, of in (
        ("brier", "brier"),
        ("log_loss", "log_loss"),
        ("expected_accuracy", "accuracy"),
    ):
        by_hand = sum(gold[:, k] * column(certain[k], of) for k in range(4))
        assert column(actual, name) == pytest.approx(by_hand)


def test_no_prediction_beats_gold_itself():
    gold, label, code, q = random_case()
    best = score_items(gold, label, label, gold)
    assert np.abs(column(best, "kl")).max() < 1e-15
    assert column(best, "log_loss") == pytest.approx(column(best, "entropy"))
    worse = score_items(gold, label, code, q)
    for name in ("log_loss", "brier"):
        assert (column(worse, name) >= column(best, name) - 1e-12).all()
    assert (column(worse, "expected_accuracy") <= column(best, "expected_accuracy")).all()


def test_the_floor_bounds_log_loss_and_is_counted_where_gold_is_above_it():
    gold = np.array([[1.0, 0, 0], [1 - 1e-12, 1e-12, 0], [0.5, 0.5, 0]])
    q = np.array([[0.0, 1, 0], [1, 0, 0], [1, 0, 0]])
    actual = score_items(gold, [0, 0, 0], [1, 0, 0], q, floor=1e-3)
    assert column(actual, "log_loss")[0] == pytest.approx(-np.log(1e-3))
    assert column(actual, "log_loss")[2] == pytest.approx(-0.5 * np.log(1e-3))
    assert column(actual, "kl")[1] == pytest.approx(0, abs=1e-11)  # raised to gold's own 1e-12
    assert actual.floored.tolist() == [True, False, True]
    assert np.isfinite(actual.values).all()


def test_labels_have_no_log_loss_and_weigh_by_gold():
    actual = score_items(GOLD, [0, 0], [0, 1])
    for name in ("log_loss", "kl", "log_loss_label"):
        assert np.isnan(column(actual, name)).all()
    assert column(actual, "expected_accuracy").tolist() == [0.8, 0.5]
    assert column(actual, "brier") == pytest.approx([0.4, 1.0])  # 2 (1 - expected accuracy)
    assert not actual.floored.any()


def test_what_is_no_class_is_wrong():
    actual = score_items(GOLD, [0, 0], [NO_CLASS, NO_CLASS])
    assert (
        column(actual, "accuracy").tolist()
        == column(actual, "expected_accuracy").tolist()
        == [0, 0]
    )
    assert column(actual, "brier").tolist() == [2, 2]
    half = score_items(np.eye(2), [0, 1], [0, 1], np.eye(2) / 2)
    # half of the mass on none of the classes: (1 - .5)^2 + .5^2
    assert column(half, "brier").tolist() == [0.5, 0.5]


def test_sums_by_group_are_those_of_the_resamples():
    gold, label, code, q = random_case(60)
    groups = np.arange(60) % 3
    scores = [score_items(gold, label, code, q), score_items(gold, label, label)]
    resamples = ItemResamples.draw(60, 50, 7)
    actual = resample_scores(scores, groups, resamples, n_groups=4)
    weights = np.concatenate(list(resamples.chunks(9)), axis=1)
    for sums, score in zip(actual, scores, strict=True):
        for group in range(3):
            mine = groups == group
            assert sums.counts[group] == pytest.approx(weights[mine].sum(axis=0))
            by_hand = np.array(
                [(score.values[mine] * w[mine, None]).sum(axis=0) for w in weights.T]
            )
            assert pytest.approx(by_hand, nan_ok=True) == sums.values[group].T
    whole = actual[0].all_groups().estimates()
    means = np.array([w @ scores[0].values for w in weights.T])[1:] / 60
    for at, name in enumerate(FIGURES):
        assert whole[name].value == pytest.approx(scores[0].values[:, at].mean())
        if name != "accuracy":
            interval = np.percentile(means[:, at], [2.5, 97.5])
            assert [whole[name].ci_low, whole[name].ci_high] == pytest.approx(interval)
    n_right = int(column(scores[0], "accuracy").sum())
    wilson = scipy.stats.binomtest(n_right, 60).proportion_ci(method="wilson")
    assert (whole["accuracy"].ci_low, whole["accuracy"].ci_high) == pytest.approx(wilson)


def test_groups_without_items_or_with_one():
    scores = [score_items(GOLD[:1], [0], [0], Q[:1])]
    actual = resample_scores(scores, [1], ItemResamples.draw(1, 20, 0), n_groups=3)[0]
    assert actual.n_items.tolist() == [0, 1, 0]
    assert all(np.isnan(e.value) for e in actual.estimates(0).values())
    one = actual.estimates(1)
    assert one["log_loss"].value == pytest.approx(0.5448054311)
    assert np.isnan(one["log_loss"].ci_low)
    assert one["accuracy"].ci_low == pytest.approx(0.2065, abs=5e-5)  # Wilson's, of 1 of 1


def test_items_are_pooled_and_tasks_averaged():
    a, b = random_case(30, seed=1), random_case(90, seed=2)
    sums = []
    for case in (a, b):
        n = len(case[1])
        resamples = ItemResamples.draw(n, 40, 5)
        sums += resample_scores([score_items(*case)], np.zeros(n), resamples, n_groups=1)
    means = [column(score_items(*of), "brier").mean() for of in (a, b)]
    micro, macro = pool(sums).estimates()["brier"], mean_over_tasks(sums)["brier"]
    assert micro.value == pytest.approx((30 * means[0] + 90 * means[1]) / 120)
    assert macro.value == pytest.approx((means[0] + means[1]) / 2)
    assert macro.ci_low < macro.value < macro.ci_high
    assert pool(sums).n_items.tolist() == [120]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": [0]}, "same items"),
        ({"labels": [0, 2]}, "codes"),
        ({"predicted": [0, 2]}, "codes"),
        ({"probabilities": [[0.5, 0.5]]}, "as many"),
        ({"probabilities": [[0.5, np.nan], [0, 1]]}, "as many"),
        ({"floor": 0.0}, "floor"),
        ({"floor": float("nan")}, "floor"),
    ],
)
def test_arrays_that_do_not_fit(changed, message):
    given = {"gold": GOLD, "labels": [0, 0], "predicted": [0, 1], "probabilities": Q} | changed
    with pytest.raises(ValueError, match=message):
        score_items(**given)
