"""EM of label models: acceleration, both stopping rules, blocks, and states to resume from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from annot_pipeline.methods.labels import label_em
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.labels.e_step import e_step, expected_counts
from annot_pipeline.methods.labels.estimates import LEAST_SHARE, Counts, extrapolate_counts
from annot_pipeline.methods.labels.label_em import ACCELERATED, EMState, Shape, run_em
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.model_fits import fit_models, label_groups, watch_nothing
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.stages.labels.em_checkpoints import Checkpoint
from tests.methods.labels.test_dawid_skene import label_tables, log_likelihood
from tests.methods.labels.test_label_models import crowd

PLAIN = DawidSkeneParams(posterior_tolerance=np.inf)
LIMIT = replace(PLAIN, tolerance=1e-15, max_iterations=200_000)
ACCURATE = DawidSkeneParams(tolerance=1e-14, posterior_tolerance=1e-7)


def slow_crowd(seed: int, n_items: int = 1500, n_judges: int = 8, per_item: int = 4) -> LabelCodes:
    """Two classes, and judges who are right little more often than wrong."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < 0.3).astype(np.int64)
    accuracy = rng.uniform(0.55, 0.75, (n_judges, 2))
    items = np.repeat(np.arange(n_items), per_item)
    judges = np.argsort(rng.random((n_items, n_judges)), axis=1)[:, :per_item].reshape(-1)
    right = rng.random(items.size) < accuracy[judges, truth[items]]
    labels = np.where(right, truth[items], 1 - truth[items])
    return LabelCodes(items, judges, labels, n_items, n_judges, 2)


def fit(task: LabelCodes, params: DawidSkeneParams) -> DawidSkeneResult:
    [result] = dawid_skene_batch([task], params=params)
    return result


def distance(first: DawidSkeneResult, second: DawidSkeneResult) -> float:
    return float(np.abs(first.posterior - second.posterior).max())


def as_bytes(result: DawidSkeneResult) -> tuple[object, ...]:
    course = result.convergence
    arrays = (
        result.posterior, result.prevalence, result.confusion,
        course.log_posterior, course.log_likelihood,
    )  # fmt: skip
    return (*(array.tobytes() for array in arrays), course.iterations, course.converged)


def same_size(tasks: int) -> list[LabelCodes]:
    """Tasks of two classes that take different numbers of iterations, some of them many."""
    return [
        slow_crowd(3 + place, n_items=300 + 40 * place)
        if place % 2
        else crowd(place, n_items=40 + place, classes=2)
        for place in range(tasks)
    ]


def blocks_of(task: LabelCodes, n_blocks: int) -> InMemoryBlocks[list[LabelCodes]]:
    """The items of a task in blocks, with one block that has none."""
    bounds = np.linspace(0, task.n_items, n_blocks + 1).astype(int)
    ranges = [*pairwise(bounds.tolist()), (task.n_items, task.n_items)]
    return InMemoryBlocks([
        [
            replace(
                task, items=task.items[rows] - first, judges=task.judges[rows],
                labels=task.labels[rows], n_items=end - first,
            )
        ]
        for first, end in ranges
        for rows in [(task.items >= first) & (task.items < end)]
    ])  # fmt: skip


class Counted:
    """Counts E-steps, those of the stopping rule too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        for name, n in (("expected_counts", 1), ("_changes_in_block", 2)):
            monkeypatch.setattr(label_em, name, self._counting(getattr(label_em, name), n))

    def _counting(self, function: Callable[..., object], n: int) -> Callable[..., object]:
        def counting(*arguments: object) -> object:
            self.n += n
            return function(*arguments)

        return counting

    def of(self, task: LabelCodes, params: DawidSkeneParams) -> int:
        self.n = 0
        fit(task, params)
        return self.n


# --- acceleration ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_slow_tasks_end_near_their_limit_at_less_cost(monkeypatch, seed):
    task = slow_crowd(seed)
    limit, plain, accelerated = (fit(task, params) for params in (LIMIT, PLAIN, DawidSkeneParams()))
    assert limit.convergence.converged
    assert distance(plain, limit) > 0.003
    assert distance(accelerated, limit) < 0.001
    assert accelerated.convergence.converged
    counted = Counted(monkeypatch)
    assert counted.of(task, DawidSkeneParams()) < 0.7 * counted.of(task, PLAIN)


@pytest.mark.parametrize("model", ACCELERATED)
def test_accelerated_and_plain_em_have_the_same_limit(model):
    for seed in range(6):
        task = crowd(seed)
        limit = fit(task, replace(LIMIT, model=model))
        assert distance(fit(task, DawidSkeneParams(model=model)), limit) < 2e-4
        assert distance(fit(task, replace(ACCURATE, model=model)), limit) < 2e-5


@given(label_tables())
@settings(max_examples=60, deadline=None)
def test_the_log_posterior_of_small_tables_never_falls(task):
    for smoothing in (0.0, 0.01):
        course = fit(task, replace(ACCURATE, smoothing=smoothing, max_iterations=90)).convergence
        assert np.isfinite(course.log_posterior).all()
        steps = np.diff(course.log_posterior)
        assert (steps >= -1e-13 * (1 + np.abs(course.log_posterior[1:]))).all()


@pytest.mark.parametrize("model", ACCELERATED)
@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_the_log_posterior_of_slow_tasks_never_falls(model, dependence):
    params = replace(ACCURATE, model=model, dependence=dependence, max_iterations=600)
    tasks = [*(crowd(seed) for seed in range(6)), *(slow_crowd(seed, 400) for seed in range(4))]
    for result in dawid_skene_batch(tasks, params=params):
        trace = result.convergence.log_posterior
        assert (np.diff(trace) >= -1e-14 * np.abs(trace[1:])).all()


def test_a_task_stays_where_it_is_when_an_extrapolation_is_lower(monkeypatch):
    """An extrapolation to equal counts is always lower: accelerated EM is plain EM that waits."""

    def equal(counts, judge_starts):
        del judge_starts
        return Counts(np.ones_like(counts[2].theta), np.ones_like(counts[2].pi), np.zeros(1))

    task = crowd(0)
    monkeypatch.setattr(label_em, "extrapolate_counts", equal)
    waiting = fit(task, replace(DawidSkeneParams(), max_iterations=90)).convergence.log_posterior
    plain = fit(task, replace(PLAIN, max_iterations=90)).convergence.log_posterior
    is_third = np.arange(waiting.size) % 3 == 0
    waits = np.flatnonzero(is_third[1:] & (np.diff(waiting) == 0)) + 1
    assert waits.size > 10
    moved = np.delete(waiting, waits)
    assert moved.tobytes() == plain[: moved.size].tobytes()


def test_the_log_posterior_is_that_of_the_estimates_in_every_iteration():
    """Also where an extrapolation was lower, and the task stayed where it was."""
    task = slow_crowd(7, 400)
    whole = fit(task, DawidSkeneParams()).convergence.log_posterior
    stays = np.flatnonzero(np.diff(whole) == 0) + 1
    assert stays.size > 2
    for n_iterations in (*stays[:6], *(stays[:6] + 1), *range(3, 40, 6)):
        result = fit(task, DawidSkeneParams(max_iterations=int(n_iterations)))
        prior = 0.01 * (np.log(result.confusion).sum() + np.log(result.prevalence).sum())
        assert result.convergence.log_posterior[-1] == whole[n_iterations]
        assert whole[n_iterations] == pytest.approx(log_likelihood(task, result) + prior, rel=1e-12)


def test_extrapolated_counts_by_hand():
    """One task: differences r = (1, -1) and v = -(1, -1) / 2 in both arrays, so a = 2."""
    starts = np.array([0, 1])
    series = [np.array([[4.0, 6]]), np.array([[5.0, 5]]), np.array([[5.5, 4.5]])]
    counts = [Counts(np.repeat(x, 2, axis=0), x, np.zeros(1)) for x in series]
    extrapolated = extrapolate_counts(counts, starts)
    np.testing.assert_allclose(extrapolated.pi, [[6, 4]])  # the limit of a geometric series
    np.testing.assert_allclose(extrapolated.theta, [[6, 4], [6, 4]])


def test_extrapolated_counts_stay_positive_and_zeros_stay_zero():
    starts = np.array([0, 1])
    series = [np.array([[0.0, 5, 5]]), np.array([[0.0, 1, 9]]), np.array([[0.0, 0.5, 9.5]])]
    counts = [Counts(np.repeat(x, 3, axis=0), x, np.zeros(1)) for x in series]
    extrapolated = extrapolate_counts(counts, starts)
    assert (extrapolated.pi >= LEAST_SHARE * series[2]).all()
    assert extrapolated.pi[0, 0] == 0
    series[2] = np.array([[0.0, 0.01, 9.99]])
    counts[2] = Counts(np.repeat(series[2], 3, axis=0), series[2], np.zeros(1))
    shares = extrapolate_counts(counts, starts).pi / np.where(series[2] > 0, series[2], 1)
    assert shares[0, 1] >= LEAST_SHARE


def test_counts_that_do_not_change_are_extrapolated_to_themselves():
    counts = Counts(np.arange(4.0).reshape(2, 2), np.array([[1.0, 2]]), np.zeros(1))
    extrapolated = extrapolate_counts([counts] * 3, np.array([0, 1]))
    np.testing.assert_array_equal(extrapolated.theta, counts.theta)
    np.testing.assert_array_equal(extrapolated.pi, counts.pi)


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_estimates_are_distributions(smoothing):
    for seed in range(4):
        result = fit(crowd(seed), DawidSkeneParams(smoothing=smoothing))
        for array in (result.posterior, result.confusion, result.prevalence):
            assert (array >= 0).all()
            np.testing.assert_allclose(array.sum(axis=-1), 1)


# --- stopping rules ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", LABEL_MODELS)
def test_no_posterior_changes_much_in_the_last_iteration(model):
    """With a coarse tolerance of the objective the posteriors decide, whatever the model."""
    loose = DawidSkeneParams(model=model, tolerance=1e-3)
    n_longer = 0
    for seed in range(4):
        last, objective_alone = (
            fit(crowd(seed), params)
            for params in (loose, replace(loose, posterior_tolerance=np.inf))
        )
        n_longer += last.convergence.iterations > objective_alone.convergence.iterations
        before = fit(crowd(seed), replace(loose, max_iterations=last.convergence.iterations - 1))
        assert last.convergence.converged
        assert not before.convergence.converged
        assert distance(before, last) <= loose.posterior_tolerance
    assert n_longer > 2


@pytest.mark.parametrize(
    "setting", [{"posterior_tolerance": -1e-9}, {"posterior_tolerance": np.nan}]
)
def test_refuses_posterior_tolerances_that_mean_nothing(setting):
    with pytest.raises(ValueError, match="posterior_tolerance"):
        DawidSkeneParams(**setting)


def plain_em(task: LabelCodes, params: DawidSkeneParams) -> tuple[bytes, bytes, bytes, int]:
    """EM in a loop that stops on the objective alone: posterior, pi, objective; iterations."""
    matrix = LabelMatrix.from_tasks([0], [task])
    start = label_groups(
        InMemoryBlocks([[task]]), [Shape(task.n_items, task.n_judges, task.n_labels)], params
    )[0]
    estimates = label_em.first_estimates(start.labels, None, params)
    counts = expected_counts(matrix, estimates)
    trace = [_objective(counts, estimates, params)]
    while len(trace) <= params.max_iterations:
        estimates = LABEL_MODELS[params.model](
            counts, matrix.judge_starts, None, params.smoothing, estimates
        )
        counts = expected_counts(matrix, estimates)
        trace.append(_objective(counts, estimates, params))
        if abs(trace[-1] - trace[-2]) <= params.tolerance * abs(trace[-2]):
            break
    posterior, pi = e_step(matrix, estimates)[0], np.exp(estimates.log_pi[0])
    return posterior.tobytes(), pi.tobytes(), np.array(trace).tobytes(), len(trace) - 1


def _objective(counts, estimates, params) -> float:
    if params.stop_on == "likelihood":
        return float(counts.log_likelihood[0])
    return float((counts.log_likelihood + estimates.log_prior)[0])


@pytest.mark.parametrize("start", ["diagonal", "votes"])
@pytest.mark.parametrize(
    "setting",
    [
        {"stop_on": "likelihood", "tolerance": 1e-8, "max_iterations": 100},
        {"stop_on": "likelihood"},
        {"posterior_tolerance": np.inf},
        {"tolerance": 0.0, "max_iterations": 200},
    ],
    ids=["as published", "likelihood", "objective alone", "tolerance 0"],
)
def test_plain_em_is_not_accelerated_to_the_last_bit(setting, start):
    params = DawidSkeneParams(start=start, **setting)
    for task in (crowd(0), slow_crowd(8, 400)):
        result = fit(task, params)
        trace = result.convergence.log_posterior
        if params.stop_on == "likelihood":
            trace = result.convergence.log_likelihood
        assert plain_em(task, params) == (
            result.posterior.tobytes(), result.prevalence.tobytes(),
            trace.tobytes(), result.convergence.iterations,
        )  # fmt: skip


# --- tasks side by side, blocks, states --------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("model", ["dawid_skene", "one_coin", "mace"])
def test_slow_and_fast_tasks_beside_each_other_change_no_bit(model):
    params = DawidSkeneParams(model=model)
    tasks = same_size(7)
    together = dawid_skene_batch(tasks, params=params)
    assert len({result.convergence.iterations for result in together}) > 3
    for task, result in zip(tasks, together, strict=True):
        assert as_bytes(result) == as_bytes(fit(task, params))


def test_blocks_of_items_are_fitted_as_the_whole():
    task = slow_crowd(8, 400)
    shapes = [Shape(task.n_items, task.n_judges, task.n_labels)]
    (whole,), (blocks,) = (
        fit_models(tasks, shapes, [ACCURATE], watch_nothing)[0]
        for tasks in (InMemoryBlocks([[task]]), blocks_of(task, 3))
    )
    assert whole.convergence.converged
    assert blocks.convergence.converged
    np.testing.assert_allclose(blocks.confusion, whole.confusion, atol=1e-7)
    np.testing.assert_allclose(blocks.prevalence, whole.prevalence, atol=1e-7)


def test_states_keep_what_the_next_extrapolation_needs():
    tasks = [crowd(seed, n_items=40 + seed, classes=2) for seed in range(3)]
    shapes = [Shape(task.n_items, task.n_judges, task.n_labels) for task in tasks]
    [group] = label_groups(InMemoryBlocks([tasks]), shapes, ACCURATE)
    states: list[EMState] = []
    params = replace(ACCURATE, max_iterations=8)
    run_em(group.labels, None, params, progress=lambda _, state: states.append(state))
    kept = states[7].keep(group.labels.judge_starts, np.array([False, True, False]))
    [alone] = label_groups(InMemoryBlocks([tasks[1:2]]), shapes[1:2], ACCURATE)
    run_em(alone.labels, None, params, progress=lambda _, state: states.append(state))
    assert len(kept.earlier) == 2
    for own, other in zip(kept.earlier, states[-1].earlier, strict=True):
        for name, array in vars(own).items():
            assert array.tobytes() == getattr(other, name).tobytes()


@pytest.mark.parametrize("model", ["dawid_skene", pytest.param("mace", marks=pytest.mark.slow)])
def test_em_that_resumes_from_any_state_gives_the_same_bytes(tmp_path, model):
    params = DawidSkeneParams(model=model)
    task = slow_crowd(3, 300)
    shapes = [Shape(task.n_items, task.n_judges, task.n_labels)]
    [group] = label_groups(blocks_of(task, 2), shapes, params)
    states: list[EMState] = []
    whole = run_em(group.labels, None, params, progress=lambda _, state: states.append(state))
    course = whole.convergence[0]
    assert len(states) == course.iterations > 20
    checkpoint = Checkpoint(tmp_path / "state.npz")
    for state in [*states[:7], *states[-8:-1]]:
        checkpoint.write(state)
        resumed = run_em(group.labels, None, params, state=checkpoint.read())
        for name, array in vars(resumed.estimates).items():
            assert array.tobytes() == getattr(whole.estimates, name).tobytes()
        again = resumed.convergence[0]
        assert again.log_posterior.tobytes() == course.log_posterior.tobytes()
        assert again.log_likelihood.tobytes() == course.log_likelihood.tobytes()
        assert (again.iterations, again.converged) == (course.iterations, course.converged)
