"""Prediction-powered means: the package's numbers, cases by hand, and coverage by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import ndtri

from annot_pipeline.methods.model_judges.prediction_powered import (
    best_power,
    prediction_powered_mean,
)


def sample(seed: int, n: int = 60, n_elsewhere: int = 400):
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.3, 1, n + n_elsewhere)
    model = 0.8 * truth + rng.normal(0.2, 0.5, truth.size)
    return truth[:n], model[:n], model[n:]


@pytest.mark.parametrize(
    ("seed", "point", "low", "high"),
    [  # ppi_python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci(alpha=0.05) of `sample`
        (1, 0.202224519856553, 0.054774729147442, 0.349674310565664),
        (2, 0.279806259251781, 0.140958247799207, 0.418654270704354),
    ],
)
def test_as_the_package_of_the_authors(seed, point, low, high):
    human, model, elsewhere = sample(seed)
    mean = prediction_powered_mean(human, model, elsewhere)
    assert mean.value == pytest.approx(point, abs=1e-9)
    # the package divides by n, and takes the normal distribution
    n, n_elsewhere = human.size, elsewhere.size
    rest = (human - mean.power * model).var() / n
    error = np.sqrt(rest + (mean.power * elsewhere).var() / n_elsewhere)
    half = ndtri(0.975) * error
    assert (mean.value - half, mean.value + half) == pytest.approx((low, high), abs=1e-9)
    corrected = rest * n / (n - 1) + mean.power**2 * elsewhere.var(ddof=1) / n_elsewhere
    assert mean.standard_error == pytest.approx(np.sqrt(corrected), abs=1e-12)


def test_four_answers_by_hand():
    """Residuals at power 1: 1, -1, 1, -1; model elsewhere 2, 4."""
    human, model = np.array([2.0, 0, 4, 2]), np.array([1.0, 1, 3, 3])
    mean = prediction_powered_mean(human, model, np.array([2.0, 4]), power=1)
    assert mean.value == 3  # 0 + 3
    assert mean.standard_error**2 == pytest.approx(4 / 3 / 4 + 2 / 2)
    assert mean.degrees_of_freedom == 3
    assert (mean.human_value, mean.n_human, mean.n_model) == (2, 4, 2)


def test_two_clusters_by_hand():
    """Deviations 1, 1, -1, -1 in two clusters: sums 2 and -2; (4 + 4) * 2 / 16 = 1."""
    human = np.array([3.0, 3, 1, 1])
    nothing, none = np.zeros(4), np.zeros(0)
    pairs = np.array([0, 0, 1, 1])
    one_way = prediction_powered_mean(human, nothing, none, clusters=[pairs])
    assert one_way.standard_error == pytest.approx(1)
    assert one_way.degrees_of_freedom == 1
    # across: sums 0 and 0; both: four cells, 4 * (4 / 3) / 16 = 1/3; 1 + 0 - 1/3 = 2/3
    two_way = prediction_powered_mean(
        human, nothing, none, clusters=[pairs, np.array([0, 1, 0, 1])]
    )
    assert two_way.standard_error**2 == pytest.approx(2 / 3)


def test_a_finite_population_by_hand():
    """Four of eight items, power 1/2, slope 1: residuals 1, -1, 1, -1, whose variance is 4/3."""
    human, model = np.array([2.0, 0, 4, 2]), np.array([1.0, 1, 3, 3])
    elsewhere = np.array([2.0, 4, 2, 4])
    mean = prediction_powered_mean(human, model, elsewhere, power=0.5, population="finite")
    assert mean.value == 2.5  # 2 - (2 - 2.5), people corrected by the model's mean over all
    assert mean.standard_error**2 == pytest.approx(1 / 2 * 4 / 3 / 4)
    assert mean.human_standard_error**2 == pytest.approx(1 / 2 * 8 / 3 / 4)
    assert mean.effective_n_human == pytest.approx(8)
    infinite = prediction_powered_mean(human, model, elsewhere, power=0.5)
    assert infinite.value == mean.value
    assert infinite.standard_error > mean.standard_error


def test_over_all_samples_the_finite_variance_is_that_of_the_value():
    """20 samples of three of six items, with a power fixed beforehand: equal, not about equal."""
    human, model = np.array([1.0, 4, 2, 8, 5, 7]), np.array([2.0, 3, 3, 9, 4, 4])
    values, variances = [], []
    for judged in itertools.combinations(range(6), 3):
        rows = np.isin(np.arange(6), judged)
        mean = prediction_powered_mean(
            human[rows], model[rows], model[~rows], power=0.4, population="finite"
        )
        values.append(mean.value)
        variances.append(mean.standard_error**2)
    assert len(values) == 20
    assert np.mean(values) == pytest.approx(human.mean())
    assert np.mean(variances) == pytest.approx(np.var(values))


def test_a_finite_population_judged_whole_has_no_error_and_no_clusters():
    human = np.arange(4.0)
    mean = prediction_powered_mean(human, human, np.zeros(0), population="finite")
    assert (mean.value, mean.standard_error, mean.human_standard_error) == (1.5, 0, 0)
    with pytest.raises(ValueError, match="no clusters"):
        prediction_powered_mean(
            human, human, human, clusters=[np.zeros(4, np.int64)], population="finite"
        )


def test_power_is_that_of_least_variance():
    human, model, elsewhere = sample(3, n=4000, n_elsewhere=4000)
    best = best_power(human, model, elsewhere)
    errors = {
        power: prediction_powered_mean(human, model, elsewhere, power=power).standard_error
        for power in (best, best - 0.05, best + 0.05, 0.0)
    }
    assert min(errors, key=errors.__getitem__) == best


def test_a_model_that_tells_nothing_costs_nothing():
    human, _, elsewhere = sample(4)
    for model in (np.full(human.size, 2.0), -human):  # constant; the opposite of people
        mean = prediction_powered_mean(human, model, np.full(elsewhere.size, 2.0))
        assert mean.power == 0
        assert (mean.value, mean.standard_error) == (mean.human_value, mean.human_standard_error)
        assert mean.effective_n_human == pytest.approx(human.size)


def test_what_cannot_be_known_is_nan():
    one = prediction_powered_mean(np.ones(1), np.ones(1), np.ones(5))
    assert np.isnan(one.standard_error)
    assert np.isnan(one.interval()).all()
    assert np.isnan(one.effective_n_human)
    one_judge = prediction_powered_mean(
        np.arange(4.0), np.zeros(4), np.zeros(0), clusters=[np.zeros(4, np.int64)]
    )
    assert np.isnan(one_judge.standard_error)
    with pytest.raises(ValueError, match="human and"):
        prediction_powered_mean(np.zeros(0), np.zeros(0), np.zeros(3))


def test_intervals_cover_and_are_shorter_than_those_of_people_alone():
    """A lenient model and people judge passes: 400 draws of 100 of 1,000 items."""
    rng = np.random.default_rng(5)
    n_items, n = 1000, 100
    truth = (rng.random(n_items) < 0.6).astype(float)
    flips = rng.random(n_items) < np.where(truth == 1, 0.05, 0.2)
    model = np.where(flips, 1 - truth, truth)
    covered, shorter, naive = [], [], []
    for _ in range(400):
        chosen = rng.permutation(n_items)
        there, rest = chosen[:n], chosen[n:]
        mean = prediction_powered_mean(truth[there], model[there], model[rest])
        low, high = mean.interval()
        covered.append(low <= truth.mean() <= high)
        shorter.append(mean.effective_n_human / n)
        naive.append(abs(model.mean() - truth.mean()) < 1.96 * model.std() / np.sqrt(n_items))
    assert 0.925 < np.mean(covered) < 0.985
    assert np.mean(shorter) > 1.5
    assert np.mean(naive) == 0


def test_clusters_of_judges_widen_intervals_as_far_as_they_must():
    """Ten judges with a level of their own answer 20 items each."""
    rng = np.random.default_rng(6)
    judges = np.repeat(np.arange(10), 20)
    covered = {False: [], True: []}
    for _ in range(300):
        quality = rng.normal(0, 1, 1000)
        model = quality + rng.normal(0, 0.5, 1000)
        human = quality[:200] + rng.normal(0, 0.7, 10)[judges]
        for is_clustered, hits in covered.items():
            mean = prediction_powered_mean(
                human, model[:200], model[200:], clusters=[judges] if is_clustered else ()
            )
            low, high = mean.interval()
            hits.append(low <= 0 <= high)
    assert np.mean(covered[True]) > 0.92
    assert np.mean(covered[False]) < 0.7


def test_weights_are_inverse_probabilities_by_hand():
    """Weights 1, 1, 2: mean (1 + 0 + 2) / 4; deviations .75 * (.25, -.75, .5) have no sum."""
    human, weights = np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0])
    mean = prediction_powered_mean(human, np.zeros(3), np.zeros(0), weights=weights)
    assert mean.value == pytest.approx(0.75)
    deviations = np.array([0.25, -0.75, 0.5]) * 0.75
    assert mean.standard_error == pytest.approx(np.sqrt((deviations**2).sum() * 3 / 2 / 9))


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(8)
    human, model, elsewhere = rng.random(40), rng.random(40), rng.random(200)
    options = {"power": 0.4, "clusters": [np.arange(40) // 2]}
    plain = prediction_powered_mean(human, model, elsewhere, **options)
    weighted = prediction_powered_mean(human, model, elsewhere, weights=np.full(40, 7.0), **options)
    assert weighted.value == pytest.approx(plain.value, rel=1e-12)
    assert weighted.standard_error == pytest.approx(plain.standard_error, rel=1e-12)


def test_weighted_estimates_cover_what_a_chosen_sample_would_miss():
    """Items that the model calls 1 are asked four times as often; truth follows the model."""
    rng = np.random.default_rng(9)
    covered, missed, shorter = [], [], []
    for _ in range(400):
        model = (rng.random(4000) < 0.3).astype(float)
        human = np.where(rng.random(4000) < 0.85, model, 1 - model)
        probability = np.where(model == 1, 0.12, 0.03)
        asked = rng.random(4000) < probability
        weights = 1 / probability[asked]
        estimate = prediction_powered_mean(human[asked], model[asked], model, weights=weights)
        low, high = estimate.interval()
        truth = 0.3 * 0.85 + 0.7 * 0.15
        covered.append(low <= truth <= high)
        naive = prediction_powered_mean(human[asked], model[asked], model[~asked], power=0.0)
        low, high = naive.interval()
        missed.append(not low <= truth <= high)
        shorter.append(estimate.effective_n_human / estimate.n_human)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)
    assert np.mean(missed) > 0.9
    assert np.mean(shorter) > 1.3


def test_wrong_weights_are_refused():
    for weights in (np.ones(2), np.array([1.0, 0.0, 1.0])):
        with pytest.raises(ValueError, match="weights"):
            prediction_powered_mean(np.ones(3), np.ones(3), np.ones(3), weights=weights)


def test_strata_are_those_of_separate_means():
    """500 and 1,500 items: the mean is that of the two strata's means, by shares."""
    rng = np.random.default_rng(4)
    human = np.r_[rng.random(10), 3 + rng.random(20)]
    strata = np.repeat([0, 1], [10, 20])
    weights = np.where(strata == 0, 500 / 10, 1500 / 20)
    nothing = np.zeros(0)
    mean = prediction_powered_mean(
        human, np.zeros(30), nothing, weights=weights, strata=strata, power=0.0
    )
    parts = [
        prediction_powered_mean(human[strata == s], np.zeros(n), nothing, power=0.0)
        for s, n in ((0, 10), (1, 20))
    ]
    assert mean.value == pytest.approx(0.25 * parts[0].value + 0.75 * parts[1].value)
    # one cluster more or less is corrected for: 30 / 29; strata have 500 and 1,500 by chance
    distance = parts[1].value - parts[0].value
    between = 0.25 * 0.75 * distance**2 / 2000
    within = sum((w * one.standard_error) ** 2 for w, one in zip((0.25, 0.75), parts, strict=True))
    expected = np.sqrt(within * 30 / 29 + between)
    assert mean.standard_error == pytest.approx(expected)
    with pytest.raises(ValueError, match="two answers"):
        prediction_powered_mean(np.ones(3), np.ones(3), np.ones(3), strata=np.array([0, 0, 1]))


def test_a_stratified_sample_covers_and_is_no_wider_than_needed():
    rng = np.random.default_rng(12)
    errors, halves, without = [], [], []
    for _ in range(600):
        model = (rng.random(4000) < 0.3).astype(float)
        human = np.where(rng.random(4000) < 0.85, model, 1 - model)
        chosen, weights = [], []
        for call, n in ((1.0, 90), (0.0, 60)):
            items = np.flatnonzero(model == call)
            chosen.append(rng.choice(items, n, replace=False))
            weights.append(np.full(n, items.size / n))
        asked, weight = np.concatenate(chosen), np.concatenate(weights)
        options = {"weights": weight, "power": 0.0}
        strata = (model[asked] == 0).astype(int)
        none = np.zeros(150)
        one = prediction_powered_mean(human[asked], none, np.zeros(0), strata=strata, **options)
        errors.append(one.value - (0.3 * 0.85 + 0.7 * 0.15))
        halves.append(one.interval()[1] - one.value)
        plain = prediction_powered_mean(human[asked], none, np.zeros(0), **options)
        without.append(plain.interval()[1] - plain.value)
    assert np.mean(np.abs(errors) <= halves) == pytest.approx(0.95, abs=0.025)
    assert np.mean(without) > 1.15 * np.mean(halves)
