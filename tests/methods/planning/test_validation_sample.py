"""Samples for people: allocations by hand, invariances, and whether intervals halve and cover."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.prediction_powered import prediction_powered_mean
from annot_pipeline.methods.planning.validation_sample import (
    LEAST,
    SampledPopulation,
    allocation_of_size,
    draw_strata,
    expected_variance,
    joined_probability,
    shrunk_squares,
    validation_sample,
)


def population(sizes, sds, earlier=0.0, floor=0.0):
    """One estimand over all items, a cell a stratum, with the spread of each."""
    sizes, sds = np.array(sizes), np.array(sds, float)
    squares = (sizes * sds**2 / sizes.sum() ** 2)[None, :]
    return SampledPopulation(
        sizes, np.arange(sizes.size), np.full(sizes.size, earlier), squares, np.array([floor])
    )


def test_items_are_allocated_by_size_and_spread():
    # N S = 400, 300, 300: of 100 items 40, 30, 30
    strata = population([400, 150, 600], [1, 2, 0.5])
    assert allocation_of_size(strata, 100).tolist() == [40, 30, 30]
    # alike everywhere: in proportion to sizes
    alike = population([500, 300, 200], [2, 2, 2])
    assert allocation_of_size(alike, 50).tolist() == [25, 15, 10]


def test_a_stratum_is_drawn_whole_and_the_rest_goes_to_others():
    # N S = 100, 100: 30 each of 60, but there are 10 of the first
    strata = population([10, 1000], [10, 0.1])
    assert allocation_of_size(strata, 60).tolist() == [10, 50]


def test_every_stratum_gets_its_least_number():
    strata = population([1000, 50, 1], [1, 0, 0])
    assert allocation_of_size(strata, 20).tolist() == [17, LEAST, 1]
    assert allocation_of_size(strata, 1).tolist() == [LEAST, LEAST, 1]


def test_variance_by_hand():
    # sum of squares / p: 400 x 1 / .1 + 100 x 4 / .2, over 500 squared, and the floor
    strata = population([400, 100], [1, 2], floor=0.001)
    variance = expected_variance(strata, np.array([40, 20]))
    assert variance == pytest.approx([(400 / 0.1 + 400 / 0.2) / 500**2 + 0.001])
    # with p = .1 before, .1 more items join: 1 - .9 x .9
    joined = population([500], [1], earlier=0.1)
    assert expected_variance(joined, np.array([50])) == pytest.approx([1 / (500 * 0.19)])


def test_what_nobody_could_choose_has_no_error():
    strata = population([10, 10], [1, 1])
    assert expected_variance(strata, np.array([2, 0])) == np.inf
    assert np.isfinite(expected_variance(population([10, 10], [1, 0]), np.array([2, 0]))).all()


def test_two_samples_join():
    joined = joined_probability(np.array([0.0, 1.0, 0.5]), np.array([0.2, 0.2, 0.5]))
    assert joined == pytest.approx([0.2, 1, 0.75])


def test_a_quarter_of_the_variance_takes_four_times_the_items():
    # 100 of 10,000 were judged: the joined probability must be 4 x .01
    strata = population([6000, 4000], [0.3, 0.3], earlier=0.01)
    now = expected_variance(strata, np.zeros(2, np.int64))[0]
    sample = validation_sample(strata, now / 4)
    assert (sample.variance <= sample.target).all()
    assert sample.variance[0] == pytest.approx(now / 4, rel=0.005)
    share = (0.04 - 0.01) / 0.99
    assert sample.allocation.tolist() == [int(np.ceil(6000 * share)), int(np.ceil(4000 * share))]


def test_no_smaller_sample_does():
    rng = np.random.default_rng(2)
    strata = population(rng.integers(50, 900, 6), rng.uniform(0.1, 2, 6), earlier=0.02)
    target = expected_variance(strata, np.zeros(6, np.int64))[0] / 4
    sample = validation_sample(strata, target)
    assert (sample.variance <= sample.target).all()
    smaller = allocation_of_size(strata, sample.n_items - 7)
    assert smaller.sum() < sample.n_items
    assert expected_variance(strata, smaller)[0] > target
    others = rng.multinomial(sample.n_items, strata.stratum_sizes / strata.stratum_sizes.sum(), 200)
    others = np.clip(others, 2, strata.stratum_sizes)
    assert min(expected_variance(strata, other)[0] for other in others) > sample.variance[0]


def test_every_estimand_reaches_the_target():
    sizes = np.array([500, 500])
    squares = np.array([[0.25 / 500, 0], [0, 0.25 / 500]])
    strata = SampledPopulation(sizes, np.arange(2), np.full(2, 0.02), squares, np.zeros(2))
    sample = validation_sample(strata, 0.25 / 20)
    assert (sample.variance <= sample.target).all()
    assert sample.allocation[0] == sample.allocation[1]
    lone = SampledPopulation(sizes, np.arange(2), np.full(2, 0.02), squares[:1], np.zeros(1))
    assert validation_sample(lone, 0.25 / 20).allocation[1] == LEAST


def test_a_target_out_of_reach_draws_all_and_says_so():
    strata = population([30, 40], [1, 1], floor=0.5)
    sample = validation_sample(strata, 0.1)
    assert sample.allocation.tolist() == [30, 40]
    assert (sample.variance > sample.target).any()
    capped = validation_sample(strata, 0.1, most=20)
    assert capped.n_items <= 20
    assert (capped.variance > capped.target).any()


def test_a_stratum_that_is_judged_whole_gets_no_item():
    strata = SampledPopulation(
        np.array([20, 80]), np.arange(2), np.array([1.0, 0.0]),
        np.array([[0.002, 0.008]]), np.zeros(1),
    )  # fmt: skip
    assert allocation_of_size(strata, 30).tolist() == [0, 30]


def test_cells_of_a_stratum_are_drawn_alike():
    """Items judged before (p 1) and others of one stratum: the others decide."""
    strata = SampledPopulation(
        np.array([20, 80]), np.zeros(2, np.int64), np.array([1.0, 0.0]),
        np.array([[0.002, 0.008]]), np.zeros(1),
    )  # fmt: skip
    assert allocation_of_size(strata, 30).tolist() == [30]
    assert expected_variance(strata, np.array([30])) == pytest.approx([0.002 + 0.008 / 0.3])


def test_no_deviation_needs_the_least():
    assert validation_sample(population([50, 60], [0, 0]), 0.1).allocation.tolist() == [2, 2]


def test_small_strata_borrow():
    squares, stratum = np.array([1.0, 1, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 1, 1])
    # the mean of all is 1/3; prior 2: (2 + 2/3) / 4, (0 + 2/3) / 6, and of the third 1/3
    shrunk = shrunk_squares(squares, np.ones(6), stratum, n_strata=3, prior=2)
    assert shrunk == pytest.approx([2 / 3, 1 / 9, 1 / 3])
    # weights 3 of the first two: the mean of all is .6
    weights = np.array([3.0, 3, 1, 1, 1, 1])
    assert shrunk_squares(squares, weights, stratum, n_strata=3, prior=2)[2] == pytest.approx(0.6)
    assert shrunk_squares(squares[:0], squares[:0], stratum[:0], n_strata=2, prior=2).tolist() == [
        0,
        0,
    ]


def test_draws_are_even_without_replacement_and_repeat():
    stratum = np.array([1, 0, 1, 0, -1, 1, 0, 1, -1, 0])
    allocation = np.array([2, 3])
    drawn = draw_strata(stratum, allocation, np.random.default_rng(5))
    assert np.bincount(stratum[drawn], minlength=2).tolist() == [2, 3]
    assert not drawn[stratum < 0].any()
    again = draw_strata(stratum, allocation, np.random.default_rng(5))
    assert (drawn == again).all()
    rng = np.random.default_rng(6)
    counts = sum(draw_strata(stratum, allocation, rng).astype(int) for _ in range(4000)) / 4000
    assert counts == pytest.approx(
        np.where(stratum < 0, 0, np.where(stratum == 0, 0.5, 0.75)), abs=0.03
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_items": np.array([3, 0])}, "has no items"),
        ({"stratum": np.array([0, 2])}, "has no items"),
        ({"earlier": np.array([0, 1.5])}, "between 0 and 1"),
        ({"squares": np.zeros((2, 2))}, "a row for each estimand"),
        ({"n_items": np.zeros(0, int)}, "at least one"),
    ],
)
def test_populations_that_are_none(change, words):
    arrays = {
        "n_items": np.array([3, 4]), "stratum": np.array([0, 1]), "earlier": np.zeros(2),
        "squares": np.zeros((1, 2)), "floor": np.zeros(1),
    }  # fmt: skip
    with pytest.raises(ValueError, match=words):
        SampledPopulation(**arrays | change)


def simulated(n_items=4000):
    """People and a model who differ mostly where two models differ, by strata."""
    rng = np.random.default_rng(11)
    people = (rng.random(n_items) < 0.4).astype(float)
    is_unsure = rng.random(n_items) < 0.25
    is_wrong = rng.random(n_items) < np.where(is_unsure, 0.1 + 0.5 * people, 0.03)
    model = np.where(is_wrong, 1 - people, people)
    return people, model, (2 * model + is_unsure).astype(np.int64)


def two_rounds(rng, people, model, strata, n_first):
    """A random sample, the sample that halves its interval, and both estimates."""
    n = people.size
    first = np.zeros(n, bool)
    first[rng.choice(n, n_first, replace=False)] = True
    now = prediction_powered_mean(people[first], model[first], model[~first])
    rest = people - now.power * model
    squares = (rest[first] - rest[first].mean()) ** 2
    mean = shrunk_squares(squares, np.ones(n_first), strata[first], n_strata=4, prior=10)
    sizes = np.bincount(strata, minlength=4)
    floor = now.power**2 * model.var() / n
    cells = SampledPopulation(
        sizes, np.arange(4), np.full(4, n_first / n), (sizes * mean / n**2)[None, :],
        np.array([floor]),
    )  # fmt: skip
    present = expected_variance(cells, np.zeros(4, np.int64))[0]
    sample = validation_sample(cells, present / 4)
    both = first | draw_strata(strata, sample.allocation, rng)
    p = joined_probability(np.full(n, n_first / n), (sample.allocation / sizes)[strata])
    after = prediction_powered_mean(people[both], model[both], model, weights=1 / p[both])
    evenly = prediction_powered_mean(people[both], model[both], model)  # as if drawn at random
    overall = SampledPopulation(
        np.array([n]), np.zeros(1, np.int64), np.array([n_first / n]),
        np.array([[squares.mean() / n]]), np.array([floor]),
    )  # fmt: skip
    evenly_drawn = validation_sample(overall, present / 4).n_items * (1 - n_first / n)
    return now, after, evenly, (both.sum() - n_first, evenly_drawn)


REPEATS = 300


@pytest.mark.slow
def test_intervals_halve_and_cover():
    """300 times: the interval halves, the mean is unbiased, and more than 93% cover."""
    people, model, strata = simulated()
    rng = np.random.default_rng(3)
    widths, errors, uneven, covered, asked = [], [], [], 0, []
    for _ in range(REPEATS):
        now, after, evenly, n_new = two_rounds(rng, people, model, strata, 200)
        widths.append(after.standard_error / now.standard_error)
        errors.append((after.value - people.mean()) / after.standard_error)
        uneven.append((evenly.value - people.mean()) / after.standard_error)
        low, high = after.interval()
        covered += low <= people.mean() <= high
        asked.append(n_new)
    assert np.mean(widths) == pytest.approx(0.5, abs=0.02)
    assert np.mean(errors) == pytest.approx(0, abs=3 / np.sqrt(REPEATS) + 0.02)
    assert np.mean(uneven) > 1, "without probabilities the mean is biased"
    assert covered / REPEATS > 0.93
    asked_here, asked_evenly = np.mean(asked, axis=0)
    assert asked_here < 0.85 * asked_evenly, "strata save people's answers"
