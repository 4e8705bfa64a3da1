"""Certainty that holds: left alone where the model is right, lowered where judges err together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.experiments.crowds import CROWDS
from annot_pipeline.methods.labels import calibration_choice
from annot_pipeline.methods.labels.calibration_choice import (
    ENOUGH,
    Choice,
    powers,
    shared_confusions,
)
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    dawid_skene,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.label_calibration import CalibrationParams, fit_calibrated
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.wilson import wilson_interval
from tests.methods.crowds import calibrated as fit_and_calibrate
from tests.methods.crowds import crowd, log_loss

UNTOLD = Choice(3.0, 0.19, np.nan, "default")
"""Where labels are too few to choose by."""


def calibrated(*tasks, params=None):
    """Fits of the model, and what was calibrated."""
    return dawid_skene_batch(tasks), fit_and_calibrate(tasks, params)


@pytest.fixture(scope="module")
def crowds():
    """Tasks, truths, fits and calibrations of two crowds of each kind."""
    found = {}
    for kind in CROWDS:
        tasks, truths = zip(*(crowd(kind, seed) for seed in (1, 2)), strict=True)
        found[kind] = list(zip(truths, *calibrated(*tasks), strict=True))
    return found


def test_a_model_that_holds_is_left_alone(crowds):
    for truth, fit, of in crowds["independent"]:
        assert of.choice.dependence == 0
        assert (of.power == 1).all()
        assert log_loss(of.posterior, truth) < 1.02 * log_loss(fit.posterior, truth)
        assert np.abs(of.posterior - of.pooled).max() == 0


@pytest.mark.parametrize("kind", ["difficulty", "correlated", "sparse", "spam"])
def test_where_dawid_skene_is_too_sure_the_log_loss_falls(crowds, kind):
    for truth, fit, of in crowds[kind]:
        assert log_loss(of.posterior, truth) < 0.8 * log_loss(fit.posterior, truth)
        right = of.posterior.argmax(axis=1) == truth
        assert right.mean() > (fit.posterior.argmax(axis=1) == truth).mean() - 0.02
        assert of.evidence.calibrated.mean > of.evidence.pooled.mean - 1e-12 > of.evidence.raw.mean
        assert of.evidence.calibrated.mean > of.evidence.votes.mean
        assert of.evidence.overconfidence.is_clear


@pytest.mark.parametrize("kind", CROWDS)
def test_of_labels_called_certain_99_percent_are_right(crowds, kind):
    right = np.concatenate([
        (of.posterior.argmax(axis=1) == truth)[of.posterior.max(axis=1) >= 0.99]
        for truth, _, of in crowds[kind]
    ])  # fmt: skip
    _, high = wilson_interval([right.sum()], [right.size])
    assert right.size > 100
    assert high[0] >= 0.99
    assert right.mean() >= 0.985


def test_judges_who_err_together_depend_on_each_other(crowds):
    assert all(of.choice.dependence >= 0.1 for _, _, of in crowds["correlated"])
    assert all(of.choice.dependence > 0 for _, _, of in crowds["difficulty"])


def test_judges_with_few_labels_borrow_more(crowds):
    assert min(of.choice.pooling for _, _, of in crowds["sparse"]) >= max(
        of.choice.pooling for _, _, of in crowds["spam"]
    )


def test_powers_by_hand():
    assert powers(np.array([0, 1, 2, 10]), 0.25).tolist() == [1, 1, 1 / 1.25, 1 / 3.25]
    assert powers(np.array([7]), 0.0).tolist() == [1]


def test_the_most_probable_class_is_that_of_the_pooled_model(crowds):
    for kind in CROWDS:
        for _, _, of in crowds[kind]:
            assert (of.posterior.argmax(axis=1) == of.pooled.argmax(axis=1)).all()
            assert of.posterior.sum(axis=1) == pytest.approx(1)


def test_without_pooling_and_temper_it_is_dawid_skene_to_the_last_bit():
    task, _ = crowd("correlated", 3, n_items=200)
    (fit,), (of,) = calibrated(task, params=CalibrationParams("none", 1))
    assert np.array_equal(of.posterior, fit.posterior)
    assert (of.choice.pooling, of.choice.chosen_by) == (0, "settings")
    assert of.evidence.raw.mean == of.evidence.pooled.mean == of.evidence.calibrated.mean
    assert of.evidence.residual_overconfidence == of.evidence.overconfidence


def test_numbers_are_taken_as_given():
    task, _ = crowd("correlated", 3, n_items=200)
    _, (of,) = calibrated(task, params=CalibrationParams(3.0, 0.5))
    assert (of.choice.pooling, of.choice.chosen_by) == (3.0, "settings")
    assert np.isnan(of.choice.dependence)
    odds = of.pooled[:, 0] / of.pooled[:, 1]
    assert of.posterior[:, 0] / of.posterior[:, 1] == pytest.approx(np.sqrt(odds))
    _, (half,) = calibrated(task, params=CalibrationParams("held_out", 0.5))
    assert half.choice.pooling in calibration_choice.POOLING
    _, (borrowed,) = calibrated(task, params=CalibrationParams(3.0, "held_out"))
    assert borrowed.choice.pooling == 3.0
    assert borrowed.choice.dependence > 0


def test_no_digit_depends_on_the_order_of_rows_or_the_tasks_beside():
    task, _ = crowd("correlated", 4, n_items=300)
    other, _ = crowd("sparse", 5, n_items=300)
    rows = np.random.default_rng(6).permutation(task.items.size)
    shuffled = LabelCodes(task.items[rows], task.judges[rows], task.labels[rows], *task_sizes(task))
    _, (alone,) = calibrated(task)
    _, (again,) = calibrated(shuffled)
    _, (beside, _) = calibrated(task, other)
    assert alone.choice.chosen_by == "task"
    _, (among, *_) = calibrated(task, *(crowd("spam", n, n_items=200)[0] for n in range(70)))
    assert np.array_equal(among.posterior, alone.posterior)
    for found in (again, beside):
        assert np.array_equal(found.posterior, alone.posterior)
        assert found.evidence == alone.evidence


def task_sizes(task):
    return task.n_items, task.n_judges, task.n_labels


def test_small_tasks_choose_together():
    tasks = [crowd("correlated", seed, n_items=60)[0] for seed in range(8)]
    _, found = calibrated(*tasks)
    assert {of.choice.chosen_by for of in found} == {"tasks"}
    assert len({(of.choice.pooling, of.choice.dependence) for of in found}) == 1


def test_too_few_labels_take_what_is_usual():
    tasks = [crowd("independent", seed, n_items=20, per_item=5)[0] for seed in range(3)]
    _, found = calibrated(*tasks)
    assert {of.choice for of in found} == {UNTOLD}
    _, (own, *_) = calibrated(*tasks, params=CalibrationParams(1.0, "held_out"))
    assert (own.choice.pooling, own.choice.dependence) == (1.0, UNTOLD.dependence)
    _, (own, *_) = calibrated(*tasks, params=CalibrationParams("held_out", 0.7))
    assert (own.choice.pooling, own.choice.temper) == (UNTOLD.pooling, 0.7)
    assert set(own.power.tolist()) == {0.7}


@pytest.mark.slow
def test_where_no_two_judges_label_an_item_nothing_is_done():
    task, _ = crowd("independent", 1, per_item=1, n_items=1_500)
    (fit,), (of,) = calibrated(task)
    assert np.array_equal(of.posterior, fit.posterior)
    assert of.choice == Choice(0.0, 0.0, np.nan, "default")
    assert of.evidence.n_labels == 0
    assert np.isnan(of.evidence.raw.mean)
    assert not of.evidence.residual_overconfidence.is_clear
    _, (given,) = calibrated(task, params=CalibrationParams(2.0, 0.5))
    assert (given.choice.pooling, set(given.power.tolist())) == (2.0, {0.5})


def test_labels_without_others_do_not_make_a_task_large():
    both, _ = crowd("correlated", 1, n_items=100)
    lone = np.arange(100, 1_100)
    mixed = LabelCodes(
        np.append(both.items, lone), np.append(both.judges, lone % 60),
        np.append(both.labels, lone % 3), 1_100, both.n_judges, 3,
    )  # fmt: skip
    assert mixed.items.size > ENOUGH
    _, (of,) = calibrated(mixed)
    assert of.choice == UNTOLD
    assert of.evidence.n_labels == both.items.size
    assert set(of.power[100:].tolist()) == {1}


def chosen_by_labels(monkeypatch):
    """Labels that each call of the choice looks at, by task."""
    seen, curves = [], calibration_choice._curves

    def noted(held_out, *rest):
        seen.append([of.n_labels for of in held_out])
        return curves(held_out, *rest)

    monkeypatch.setattr(calibration_choice, "_curves", noted)
    return seen


def test_many_labels_are_chosen_by_some_of_them(monkeypatch):
    seen = chosen_by_labels(monkeypatch)
    monkeypatch.setattr(calibration_choice, "MOST_LABELS", 2_000)
    tasks = [crowd("correlated", seed, n_items=300)[0] for seed in (7, 8)]
    few = [crowd("spam", seed, n_items=60)[0] for seed in range(3)]
    _, found = calibrated(*tasks, *few)
    assert seen == [[480, 480, 480], [2_000, 2_000]]
    assert [of.choice.chosen_by for of in found] == ["task"] * 2 + ["tasks"] * 3
    assert [of.choice.n_labels for of in found] == [2_000] * 2 + [1_440] * 3
    assert found[0].evidence.n_labels == 2_400  # of all
    monkeypatch.setattr(calibration_choice, "MOST_CHOSEN_BY", 2_000)
    seen.clear()
    _, found = calibrated(*tasks, *few)
    assert seen == [[1_000, 480, 480, 480], [2_000]]
    assert [of.choice.chosen_by for of in found] == ["task"] + ["tasks"] * 4


def test_tasks_that_choose_for_themselves_move_no_others():
    few = [crowd("correlated", seed, n_items=60)[0] for seed in range(3)]
    _, alone = calibrated(*few)
    _, beside = calibrated(*few, crowd("independent", 1, n_items=400)[0])
    for one, other in zip(alone, beside, strict=False):
        assert np.array_equal(one.posterior, other.posterior)


def test_where_tempering_gains_nothing_pooling_is_the_best_without_it():
    """Of two numbers of pooling the first is best with tempering, which gains too little."""
    curves = np.zeros((2, len(calibration_choice.DEPENDENCE), 4))
    curves[0, 3] = [9.0, -3.0, 4.0, -2.0]
    curves[1, 0] = [1.0, 1.0, 1.0, 1.0]
    found = calibration_choice._best([curves], (1.0, 2.0), np.nan, "task", 8)
    assert (found.pooling, found.dependence) == (2.0, 0.0)


def test_repeats_of_a_judge_are_no_judges_more():
    task, _ = crowd("independent", 1, n_items=300)
    twice = LabelCodes(
        np.tile(task.items, 2), np.tile(task.judges, 2), np.tile(task.labels, 2), *task_sizes(task)
    )
    _, (of,) = calibrated(twice, params=CalibrationParams("none", "held_out"))
    assert set(of.power.tolist()) == {1 / (1 + 7 * of.choice.dependence)}


@pytest.mark.parametrize(("pooling", "temper"), [("none", 1), ("none", 0.999), (1e-6, 1)])
def test_what_is_left_too_sure_is_seen(pooling, temper):
    task, _ = crowd("correlated", 3)
    _, (of,) = calibrated(task, params=CalibrationParams(pooling, temper))
    assert of.evidence.residual_overconfidence.is_clear
    _, (chosen,) = calibrated(task)
    assert not chosen.evidence.residual_overconfidence.is_clear


def test_what_is_not_sure_enough_is_not_left_too_sure():
    """Higher powers would gain here, lower ones nothing."""
    task, _ = crowd("independent", 1)
    _, (of,) = calibrated(task, params=CalibrationParams("none", 0.1))
    assert of.evidence.calibrated.mean < of.evidence.pooled.mean
    assert not of.evidence.residual_overconfidence.is_clear


def test_given_powers_leave_items_without_labels_alone():
    task, _ = crowd("spam", 3, n_items=100)
    more = replace(task, n_items=101)
    _, (of,) = calibrated(more, params=CalibrationParams("none", 0.5))
    assert of.power.tolist() == [0.5] * 100 + [1]
    assert of.posterior[100] == pytest.approx(of.fits.pooled.prevalence)


def test_nothing_and_little():
    assert fit_calibrated(InMemoryBlocks([[]]), seeds=[]) == []
    none = np.empty(0, np.int64)
    (fit,), (of,) = calibrated(LabelCodes(none, none, none, 3, 2, 2))
    assert of.posterior.tolist() == fit.posterior.tolist() == [[0.5, 0.5]] * 3
    assert np.isnan(of.evidence.raw.mean)
    assert not of.evidence.overconfidence.is_clear
    one = LabelCodes(np.array([0]), np.array([0]), np.array([1]), 1, 1, 2)
    _, (of,) = calibrated(one)
    assert np.isfinite(of.posterior).all()


@pytest.mark.parametrize(
    ("pooling", "temper", "match"),
    [(-1, 1, "pooling"), (np.inf, 1, "pooling"), ("some", 1, "could not convert|pooling"),
     ("none", 0, "temper"), ("none", 1.5, "temper")],
)  # fmt: skip
def test_settings_that_cannot_be(pooling, temper, match):
    with pytest.raises(ValueError, match=match):
        CalibrationParams(pooling, temper)


# --- pooled confusions -------------------------------------------------------------------------


def plain_em(task, prior, smoothing, n_iterations):
    """Dawid-Skene with prior counts, by loops."""
    n, j, k = task_sizes(task)
    theta = np.full((j, k, k), 0.3 / k) + 0.7 * np.eye(k)
    pi = np.full(k, 1 / k)

    def posterior():
        found = np.tile(pi, (n, 1))
        for item, judge, label in zip(task.items, task.judges, task.labels, strict=True):
            found[item] *= theta[judge, :, label]
        return found / found.sum(axis=1, keepdims=True)

    q = posterior()
    for _ in range(n_iterations):
        counts = np.full((j, k, k), smoothing) + prior
        for item, judge, label in zip(task.items, task.judges, task.labels, strict=True):
            counts[judge, :, label] += q[item]
        theta = counts / counts.sum(axis=2, keepdims=True)
        pi = (q.sum(axis=0) + smoothing) / (n + k * smoothing)
        q = posterior()
    return q, theta


@pytest.mark.parametrize("seed", range(3))
def test_prior_counts_are_those_of_plain_loops(seed):
    task, _ = crowd("independent", seed, n_items=40, n_judges=9, per_item=3)
    prior = np.random.default_rng(seed).gamma(1, 2, (3, 3))
    params = DawidSkeneParams(max_iterations=4, tolerance=0)
    fit = dawid_skene(task.items, task.judges, task.labels, n_items=40, n_judges=9, n_labels=3,
                      params=params, prior=prior)  # fmt: skip
    posterior, theta = plain_em(task, prior, 0.01, 4)
    assert fit.posterior == pytest.approx(posterior, abs=1e-12)
    assert fit.confusion == pytest.approx(theta, abs=1e-12)


def test_the_objective_with_a_prior_never_falls():
    tasks = [crowd("sparse", seed, n_items=100)[0] for seed in range(4)]
    priors = [8 * shared for shared in shared_confusions(tasks, DawidSkeneParams())]
    for fit in dawid_skene_batch(tasks, priors=priors):
        assert np.diff(fit.convergence.log_posterior).min() >= -1e-9
        assert fit.convergence.converged
    for smoothing in (0.0, 0.5):
        params = DawidSkeneParams(smoothing=smoothing)
        fit = dawid_skene_batch(tasks[:1], params=params, priors=priors[:1])[0]
        assert np.diff(fit.convergence.log_posterior).min() >= -1e-9


def test_a_prior_of_nothing_changes_no_bit_and_a_large_one_decides():
    task, _ = crowd("spam", 1, n_items=100)
    as_it_is = dawid_skene_batch([task])[0]
    nothing = dawid_skene_batch([task], priors=[np.zeros((3, 3))])[0]
    assert np.array_equal(as_it_is.posterior, nothing.posterior)
    shared = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    much = dawid_skene_batch([task], priors=[1e9 * shared])[0]
    assert much.confusion == pytest.approx(np.broadcast_to(shared, much.confusion.shape), abs=1e-6)


def test_priors_stay_with_their_tasks_as_others_end():
    """Tasks leave the batch as they converge; a prior of another task would show."""
    tasks = [crowd(kind, 2, n_items=n)[0] for kind, n in (("sparse", 40), ("spam", 300))]
    priors = [c * shared for c, shared in zip(
        (30, 1), shared_confusions(tasks, DawidSkeneParams()), strict=True
    )]  # fmt: skip
    together = dawid_skene_batch(tasks, priors=priors)
    for task, prior, fit in zip(tasks, priors, together, strict=True):
        alone = dawid_skene_batch([task], priors=[prior])[0]
        assert np.array_equal(alone.posterior, fit.posterior)
        assert alone.convergence.iterations == fit.convergence.iterations


@pytest.mark.parametrize("prior", [np.ones((2, 2)), -np.ones((3, 3)), np.full((3, 3), np.nan)])
def test_priors_that_cannot_be(prior):
    task, _ = crowd("spam", 1, n_items=10)
    with pytest.raises(ValueError, match="prior must be counts"):
        dawid_skene_batch([task], priors=[prior])


def test_judges_taken_as_one():
    """Their shared confusion is that of one judge who gave all labels."""
    task, _ = crowd("independent", 1, n_items=100)
    one = replace(task, judges=np.zeros_like(task.judges), n_judges=1)
    (shared,) = shared_confusions([task], DawidSkeneParams())
    assert np.array_equal(shared, dawid_skene_batch([one])[0].confusion[0])
    assert shared.sum(axis=1) == pytest.approx(1)
