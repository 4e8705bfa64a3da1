"""Bradley-Terry by hand, against scipy's optimisers on the likelihood as printed, and at limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog, minimize

from annot_pipeline.methods.comparisons import bradley_terry as module
from annot_pipeline.methods.comparisons.bradley_terry import (
    BradleyTerryParams,
    bradley_terry,
    bradley_terry_rounds,
)

HALF = BradleyTerryParams(ties="half")


def example(n: int = 5, seed: int = 2, size: int = 9):
    """Counts of all pairs of n systems."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    strength = rng.normal(size=n)
    gap = strength[first] - strength[second]
    wins = rng.binomial(size, 1 / (1 + np.exp(-gap)))
    return first, second, wins, rng.poisson(size / 4, first.size), size - wins


def log_likelihood(theta, delta, first, second, wins, ties, losses):
    """Davidson 1970, with strengths exp(theta), comparison by comparison."""
    total = 0.0
    for i, j, w, t, lost in zip(first, second, wins, ties, losses, strict=True):
        a, b = math.exp(theta[i]), math.exp(theta[j])
        tie = math.exp(delta) * math.sqrt(a * b)
        for n, p in ((w, a), (t, tie), (lost, b)):
            total += n * (math.log(p) - math.log(a + b + tie)) if n else 0.0
    return total


def by_scipy(first, second, wins, ties, losses, n: int, davidson: bool):
    if not davidson:
        wins, ties, losses = wins + ties / 2, 0 * ties, losses + ties / 2
    table = first, second, wins, ties, losses

    def loss(x):
        return -log_likelihood(np.append(x[:-1], -x[:-1].sum()), x[-1] if davidson else -50, *table)

    found = minimize(loss, np.zeros(n), method="BFGS", options={"gtol": 1e-7})
    found = minimize(loss, found.x, method="Nelder-Mead", options={
        "xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 40_000})  # fmt: skip
    return np.append(found.x[:-1], -found.x[:-1].sum()), math.exp(found.x[-1])


def test_two_systems_by_hand():
    """3 wins, 2 ties, 1 loss: log(3 / 1), nu = 2 / sqrt(3 * 1); half ties: log(4 / 2)."""
    found = bradley_terry([0], [1], [3], [2], [1], n_systems=2)
    assert found.score.tolist() == pytest.approx([math.log(3) / 2, -math.log(3) / 2], abs=1e-12)
    assert found.tie_parameter == pytest.approx(2 / math.sqrt(3), rel=1e-12)
    half = bradley_terry([0], [1], [3], [2], [1], n_systems=2, params=HALF)
    assert half.score.tolist() == pytest.approx([math.log(2) / 2, -math.log(2) / 2], abs=1e-12)
    assert math.isnan(half.tie_parameter)
    # the variance of log(4 / 2) of 6 comparisons is 1/4 + 1/2
    assert half.covariance.tolist() == pytest.approx(np.array([[1, -1], [-1, 1]]) * 0.75 / 4)


@pytest.mark.parametrize("ties", ["davidson", "half"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_as_scipy_finds_it(ties, seed):
    table = example(5, seed)
    found = bradley_terry(*table, n_systems=5, params=BradleyTerryParams(ties=ties))
    theta, nu = by_scipy(*table, 5, ties == "davidson")
    np.testing.assert_allclose(found.score, theta, atol=1e-6)
    assert found.converged
    assert found.finite
    assert found.score.sum() == pytest.approx(0, abs=1e-12)
    if ties == "davidson":
        assert found.tie_parameter == pytest.approx(nu, rel=1e-6)


def test_covariance_is_of_the_curvature():
    """Second differences of the likelihood in n free parameters, carried over to n scores."""
    table = example(4, 5, size=30)
    found = bradley_terry(*table, n_systems=4)

    def value(x):
        return log_likelihood(np.append(x[:3], -x[:3].sum()), x[3], *table)

    at = np.append(found.score[:3], math.log(found.tie_parameter))
    step = 1e-4
    curvature = np.array(
        [
            [
                (value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b))
                / (4 * step**2)
                for a in step * np.eye(4)
            ]
            for b in step * np.eye(4)
        ]
    )
    free = np.linalg.inv(-curvature)[:3, :3]
    carry = np.concatenate([np.eye(3), -np.ones((1, 3))])
    np.testing.assert_allclose(found.covariance, carry @ free @ carry.T, rtol=1e-4)
    np.testing.assert_allclose(approx_fprime(at, value), 0, atol=1e-3)


def test_twice_the_data_is_the_same_with_half_the_variance():
    first, second, *counts = example()
    one = bradley_terry(first, second, *counts, n_systems=5)
    two = bradley_terry(first, second, *(2 * c for c in counts), n_systems=5)
    np.testing.assert_allclose(two.score, one.score, atol=1e-10)
    np.testing.assert_allclose(two.covariance, one.covariance / 2, rtol=1e-8)


def test_order_and_sides_of_pairs_change_nothing():
    first, second, wins, ties, losses = example()
    turned = bradley_terry(second[::-1], first[::-1], losses[::-1], ties[::-1], wins[::-1],
                           n_systems=5)  # fmt: skip
    np.testing.assert_allclose(
        turned.score, bradley_terry(*example(), n_systems=5).score, atol=1e-12
    )
    assert wins.sum() != losses.sum()


def test_a_strict_chain_has_no_scores_but_an_order():
    for params in (None, HALF):
        found = bradley_terry([0, 1], [1, 2], [0, 0], [0, 0], [5, 1], n_systems=3, params=params)
        assert np.isnan(found.score).all()
        assert np.isnan(found.covariance).all()
        assert found.connectivity.component.tolist() == [2, 1, 0]
        assert found.connectivity.total.tolist() == [True]
        assert not found.finite


def test_components_have_scores_within():
    """0 and 1 beat each other 2 to 1, both beat 2: 2's distance is infinite."""
    found = bradley_terry([0, 0, 1], [1, 2, 2], [2, 4, 4], [0, 0, 0], [1, 0, 0], n_systems=3)
    assert found.score[:2].tolist() == pytest.approx([math.log(2) / 2, -math.log(2) / 2])
    assert math.isnan(found.score[2])
    assert found.tie_parameter == 0
    assert np.isfinite(found.covariance[:2, :2]).all()
    assert np.isnan(found.covariance[2]).all()


def test_parts_have_scores_within_and_share_a_tie_parameter():
    """By the likelihood of both parts: nu cannot be that of either alone."""
    found = bradley_terry([0, 2], [1, 3], [6, 3], [1, 6], [2, 1], n_systems=4)
    assert found.connectivity.part.tolist() == [0, 0, 1, 1]
    assert found.score[:2].sum() == pytest.approx(0, abs=1e-12)
    assert found.score[2:].sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.covariance.sum(axis=1), 0, atol=1e-12)
    table = np.array([0, 2]), np.array([1, 3]), np.array([6, 3]), np.array([1, 6]), np.array([2, 1])

    def loss(x):
        return -log_likelihood([x[0], -x[0], x[1], -x[1]], x[2], *table)

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    assert found.score[[0, 2]].tolist() == pytest.approx(best[:2], abs=1e-5)
    assert found.tie_parameter == pytest.approx(math.exp(best[2]), rel=1e-4)


def test_without_ties_the_tie_parameter_is_zero():
    first, second, wins, _, losses = example()
    none = 0 * wins
    found = bradley_terry(first, second, wins, none, losses, n_systems=5)
    half = bradley_terry(first, second, wins, none, losses, n_systems=5, params=HALF)
    assert found.tie_parameter == 0
    np.testing.assert_array_equal(found.score, half.score)
    np.testing.assert_array_equal(found.covariance, half.covariance)


def test_with_ties_only_it_is_infinite_and_all_are_equal():
    found = bradley_terry([0, 1], [1, 2], [0, 0], [4, 1], [0, 0], n_systems=3)
    assert found.ties_only
    assert found.tie_parameter == math.inf
    assert found.score.tolist() == [0, 0, 0]
    assert np.isnan(found.covariance).all()
    half = bradley_terry([0, 1], [1, 2], [0, 0], [4, 1], [0, 0], n_systems=3, params=HALF)
    np.testing.assert_allclose(half.score, 0, atol=1e-12)
    assert np.isfinite(half.covariance).all()


def test_ties_that_outgrow_wins_leave_an_order_only():
    """a beats b three times, ties twice, never loses: likelier the farther, ever more ties."""
    found = bradley_terry([0], [1], [3], [2], [0], n_systems=2)
    assert np.isnan(found.score).all()
    assert found.tie_parameter == math.inf
    assert not found.ties_only
    assert found.order_score[0] > found.order_score[1]
    half = bradley_terry([0], [1], [3], [2], [0], n_systems=2, params=HALF)
    assert half.score[0] == pytest.approx(math.log(4) / 2)


def test_regularised_all_are_finite():
    """a > b > c once each, one virtual comparison a pair, half won by each: by scipy."""
    for ties in ("davidson", "half"):
        params = BradleyTerryParams(ties=ties, regularize=1.0)
        found = bradley_terry([0, 1], [1, 2], [1, 1], [0, 0], [0, 0], n_systems=3, params=params)
        pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
        theta, _ = by_scipy(
            *pairs, np.array([1.5, 0.5, 1.5]), np.zeros(3), np.full(3, 0.5), 3, False
        )
        np.testing.assert_allclose(found.score, theta, atol=1e-6)
        assert found.finite
    ties_only = bradley_terry(
        [0], [1], [0], [3], [0], n_systems=2, params=BradleyTerryParams(regularize=0.5)
    )
    assert ties_only.tie_parameter == pytest.approx(2 * 3 / 0.5)


def test_parts_are_not_joined_by_regularising():
    params = BradleyTerryParams(regularize=2.0)
    found = bradley_terry([0, 2], [1, 3], [3, 1], [0, 0], [0, 5], n_systems=5, params=params)
    assert found.score[:2].sum() == pytest.approx(0, abs=1e-12)
    assert found.score[0] == pytest.approx(math.log(4) / 2)
    assert math.isnan(found.score[4])  # never compared


def recession_exists(n, comparisons) -> bool:
    """By linear programming: a direction in which no outcome that was seen becomes less likely,
    and some become more likely."""
    rows = []
    for i, j, outcome in comparisons:
        gap = np.zeros(n + 1)
        gap[i], gap[j] = 1, -1
        two_delta = np.zeros(n + 1)
        two_delta[n] = 2
        if outcome:
            rows += [two_delta - outcome * gap, -outcome * gap]
        else:
            rows += [gap - two_delta, -gap - two_delta]
    rows = np.array(rows)
    best = linprog(rows.sum(axis=0), A_ub=rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return bool(best.fun < -1e-9)


COMPARISONS = st.integers(2, 4).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(-1, 1)).filter(
                lambda c: c[0] != c[1]
            ),
            min_size=1,
            max_size=7,
        ),
    )
)


def counted(n, comparisons):
    first, second = np.triu_indices(n, 1)
    counts = np.zeros((3, n, n))
    for i, j, outcome in comparisons:
        a, b, o = (i, j, outcome) if i < j else (j, i, -outcome)
        counts[1 - o, a, b] += 1
    return first, second, *counts[:, first, second]


@settings(max_examples=300, deadline=None)
@given(COMPARISONS)
def test_davidson_is_finite_where_nothing_recedes(graph):
    """Whatever is compared: finite, or it is known that it cannot be."""
    n, comparisons = graph
    table = counted(n, comparisons)
    some = sum(table[2:]) > 0
    found = bradley_terry(*(x[some] for x in table), n_systems=n)
    assert found.converged
    assert np.isfinite(found.order_score).all()
    if any(outcome == 0 for _, _, outcome in comparisons) and found.connectivity.strong.all():
        recedes = recession_exists(n, comparisons)
        assert (found.tie_parameter == math.inf) == recedes
        met = np.unique([c[:2] for c in comparisons])
        assert np.isfinite(found.score[met]).all() == (not recedes or found.ties_only)


def rounds_of(tables):
    """Several tables of the same pairs as rounds."""
    first, second = tables[0][:2]
    return first, second, *(np.stack([t[k] for t in tables]) for k in (2, 3, 4))


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_rounds_are_single_estimates(ties, monkeypatch):
    params = BradleyTerryParams(ties=ties)
    tables = [example(5, seed) for seed in range(6)]
    part = np.zeros(5, np.int64)
    found = bradley_terry_rounds(*rounds_of(tables), part=part, params=params)
    for row, table in zip(found.score, tables, strict=True):
        one = bradley_terry(*table, n_systems=5, params=params)
        np.testing.assert_allclose(row, one.score, atol=1e-9)
    assert not found.weak.any()
    assert found.converged.all()
    start = found.score[3] * 2
    near = bradley_terry_rounds(*rounds_of(tables), part=part, params=params, start=start)
    np.testing.assert_allclose(near.score, found.score, atol=1e-9)
    monkeypatch.setattr(module, "AT_ONCE", 60)
    pieces = bradley_terry_rounds(*rounds_of(tables), part=part, params=params)
    np.testing.assert_allclose(pieces.score, found.score, atol=1e-12)


def test_rounds_without_a_finite_estimate_keep_the_order():
    """A round in which 0 never loses, one where ties outgrow wins, one that leaves 2 out."""
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    wins = np.array([[3, 3, 2], [3, 0, 4], [3, 0, 0], [3, 2, 2]])
    ties = np.array([[0, 0, 1], [2, 0, 2], [1, 0, 0], [0, 0, 1]])
    losses = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 1, 1]])
    found = bradley_terry_rounds(first, second, wins, ties, losses, part=np.zeros(3, np.int64))
    assert found.weak.tolist() == [True, True, True, False]
    assert found.inside.tolist() == [
        [False, True, True], [False] * 3, [True, True, False], [True] * 3
    ]  # fmt: skip
    assert (np.diff(found.score[:2]) < 0).all()
    assert np.isnan(found.score[2, 2])
    assert found.score[2, 0] > found.score[2, 1]
    assert found.converged.all()


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_a_runaway_leaves_the_others_their_scores(ties):
    """5 wins all: differences between the others are those without it, to a hundredth of an sd.

    A weak prior on all pairs, not just on those with 5, would move them by twice as much.
    """
    params = BradleyTerryParams(ties=ties)
    first, second, *counts = example(5, 3, size=12)
    alone = bradley_terry(first, second, *counts, n_systems=5, params=params)
    assert alone.finite
    none = np.zeros(3, int)
    more = np.array([0, 1, 2]), np.full(3, 5), none, none, np.full(3, 4)
    table = [np.append(x, y) for x, y in zip((first, second, *counts), more, strict=True)]
    found = bradley_terry_rounds(
        *table[:2], *(x[None] for x in table[2:]), part=np.zeros(6, np.int64), params=params
    )
    assert found.weak.tolist() == [True]
    assert found.inside.tolist() == [[True] * 5 + [False]]
    score = found.score[0, :5] - found.score[0, :5].mean()
    np.testing.assert_allclose(score, alone.score, atol=0.011 * np.sqrt(alone.covariance[0, 0]))
    assert found.score[0, 5] > found.score[0, :5].max() + 2


def test_who_is_not_drawn_is_not_inside():
    """Regularised, no round is weak; 2 is in none of its comparisons."""
    params = BradleyTerryParams(regularize=0.5)
    found = bradley_terry_rounds(
        [0, 1], [1, 2], [[3, 0]], [[0, 0]], [[1, 0]], part=np.zeros(3, np.int64), params=params
    )
    assert not found.weak.any()
    assert found.inside.tolist() == [[True, True, False]]
    assert np.isnan(found.score[0, 2])


def test_of_two_largest_components_neither_is_the_largest():
    """0, 1 and 2, 3 beat each other, 0 beats 2; in the other round 4 and 2, 3 do so as well."""
    first, second = np.array([0, 2, 0, 2]), np.array([1, 3, 2, 4])
    wins = np.array([[1, 1, 1, 1], [1, 1, 1, 1]])
    losses = np.array([[1, 1, 0, 0], [1, 1, 0, 1]])
    found = bradley_terry_rounds(first, second, wins, 0 * wins, losses, part=np.zeros(5, np.int64))
    assert found.inside.tolist() == [[False] * 5, [False, False, True, True, True]]


@settings(max_examples=200, deadline=None)
@given(COMPARISONS, st.sampled_from(["davidson", "half"]))
def test_who_is_inside_has_differences_that_are_finite(graph, ties):
    """By what the data alone would say: whoever is inside has scores in one component of it."""
    n, comparisons = graph
    params = BradleyTerryParams(ties=ties)
    table = counted(n, comparisons)
    some = sum(table[2:]) > 0
    table = [x[some] for x in table]
    fit = bradley_terry(*table, n_systems=n, params=params)
    part = fit.connectivity.part
    (inside,) = bradley_terry_rounds(
        *table[:2], *(x[None] for x in table[2:]), part=part, params=params
    ).inside
    met = np.isin(np.arange(n), [table[0], table[1]])
    for code in np.unique(part[met]):
        members = part == code
        sizes = np.bincount(fit.connectivity.component[members])
        largest = np.flatnonzero(sizes == sizes.max())
        expected = members & (fit.connectivity.component == largest[0])
        expected &= np.isfinite(fit.score) & (not fit.ties_only)
        if largest.size > 1 or sizes.max() < 2:
            expected[:] = False
        assert inside[members].tolist() == expected[members].tolist()


def test_rounds_of_parts_and_none():
    part = np.array([0, 0, 1, 1])
    wins, ties, losses = np.array([[4, 1]]), np.array([[1, 1]]), np.array([[2, 1]])
    found = bradley_terry_rounds([0, 2], [1, 3], wins, ties, losses, part=part)
    one = bradley_terry([0, 2], [1, 3], wins[0], ties[0], losses[0], n_systems=4)
    np.testing.assert_allclose(found.score[0], one.score, atol=1e-10)
    none = bradley_terry_rounds([0], [1], *np.empty((3, 0, 1)), part=np.array([0, 0]))
    assert none.score.shape == (0, 2)
    with pytest.raises(ValueError, match="two parts"):
        bradley_terry_rounds([1], [2], [[1]], [[0]], [[0]], part=part)


def test_one_system_and_no_pair():
    found = bradley_terry([], [], [], [], [], n_systems=1)
    assert np.isnan(found.score).all()
    assert found.converged


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (([0, 1], [1, 0], [1, 1], [0, 0], [0, 0]), "twice"),
        (([0], [0], [1], [0], [0]), "itself"),
        (([0], [5], [1], [0], [0]), "not in"),
        (([0], [1], [-1], [0], [0]), ">= 0"),
        (([0], [1], [1, 2], [0], [0]), "shape"),
    ],
)
def test_refused(table, says):
    with pytest.raises(ValueError, match=says):
        bradley_terry(*table, n_systems=2)


@pytest.mark.parametrize("bad", [{"ties": "none"}, {"regularize": -1.0}])
def test_refused_params(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        BradleyTerryParams(**bad)
