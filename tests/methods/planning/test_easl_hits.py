import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from annot_pipeline.methods.comparisons.trueskill import log_match_quality
from annot_pipeline.methods.planning import partners
from annot_pipeline.methods.planning.easl_hits import ROLES, NextHitsParams, next_hits
from annot_pipeline.methods.planning.partners import draw_partners, log_sums, panels, states
from tests.memory import peak_bytes

SEED, PARTNER, RANDOM, COVER, FILL = range(5)


def after(n_judgments, scores):
    """States after so many judgments of a mean score."""
    n, s = np.asarray(n_judgments, float), np.asarray(scores, float)
    return 1 + n * s, 1 + n * (1 - s)


def naive_quality(alpha, beta, i, j, gamma):
    """Equation 23, one pair at a time, as the paper prints it."""

    def mode(k):
        return 0.5 if alpha[k] + beta[k] == 2 else (alpha[k] - 1) / (alpha[k] + beta[k] - 2)

    def var(k):
        total = alpha[k] + beta[k]
        return alpha[k] * beta[k] / (total**2 * (total + 1))

    c2 = 2 * gamma**2 + var(i) + var(j)
    return np.sqrt(2 * gamma**2 / c2) * np.exp(-((mode(i) - mode(j)) ** 2) / (2 * c2))


def p_of_fit(observed, expected):
    """Chi-square; what is expected less than five times counts together."""
    rare = expected < 5
    pooled = [np.r_[x[~rare], x[rare].sum()] if x[rare].sum() else x[~rare] for x in
              (observed, expected)]  # fmt: skip
    if len(pooled[0]) < len(pooled[1]):
        pooled[0] = np.r_[pooled[0], 0]
    return chisquare(*pooled, sum_check=False).pvalue


# --- match quality -------------------------------------------------------------------------


def test_match_quality_is_equation_23():
    alpha, beta = after([0, 1, 3, 9], [0.5, 0.2, 0.9, 1.0])
    item = states(alpha, beta)
    one = (item.score[:, None], item.variance[:, None])
    actual = np.exp(log_match_quality(*one, item.score, item.variance, gamma=0.1))
    for i in range(4):
        for j in range(4):
            assert actual[i, j] == pytest.approx(naive_quality(alpha, beta, i, j, 0.1), rel=1e-13)


def test_match_quality_far_apart_has_a_logarithm():
    assert log_match_quality(0.0, 1e-9, 1.0, 1e-9, gamma=1e-4) < -1e6


# --- partners: the exact distribution ------------------------------------------------------

STATES = {
    "fresh": (np.zeros(150, int), np.full(150, 0.5)),
    "one judgment": (np.ones(150, int), np.round(np.linspace(0, 1, 150), 2)),
    "many judgments": (np.arange(150) % 7 + 1, np.linspace(0, 1, 150) ** 2),
    "sizes all differ": (np.linspace(0.5, 40, 150), np.linspace(0, 1, 150) ** 2),
    "two camps": (np.full(150, 5), np.where(np.arange(150) % 3 == 0, 0.02, 0.97)),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("few", [1000, 1], ids=["all weighed", "by cells"])
@pytest.mark.parametrize("name", STATES)
def test_partners_have_the_distribution_of_the_naive_computation(name, few):
    alpha, beta = after(*STATES[name])
    seed, draws = 31, 6000
    others = np.array([i for i in range(150) if i != seed])
    exact = np.array([naive_quality(alpha, beta, seed, j, 0.1) for j in others])
    exact /= exact.sum()
    item = states(alpha, beta)
    drawn = draw_partners(
        item.take(np.full(draws, seed)), item.take(others),
        n_partners=4, gamma=0.1, rng=np.random.default_rng(5), few=few,
    )  # fmt: skip
    first = np.bincount(drawn.candidate[:, 0], minlength=149)
    assert p_of_fit(first, draws * exact) > 1e-3
    # the second, given the first: exact probability of each is the sum over all firsts
    second = exact * (np.sum(exact / (1 - exact)) - exact / (1 - exact))
    actual = np.bincount(drawn.candidate[:, 1], minlength=149)
    assert p_of_fit(actual, draws * second) > 1e-3
    assert all(len(set(row)) == 4 for row in drawn.candidate.tolist())
    # how likely each draw was, given those before
    left, rel = np.ones(draws), 1e-6 if name == "sizes all differ" else 1e-9
    for place in range(4):
        share = exact[drawn.candidate[:, place]]
        assert np.exp(drawn.log_probability[:, place]) == pytest.approx(share / left, rel=rel)
        left = left - share


def test_partners_where_one_outweighs_all_others():
    # the second draw is a rare one: rejection alone would take 1e12 tries
    alpha, beta = after([400] * 3001, [1.0, 1.0] + [0.0] * 2999)
    item = states(alpha, beta)
    others = np.arange(1, 3001)
    drawn = draw_partners(
        item.take(np.array([0])), item.take(others),
        n_partners=3, gamma=0.01, rng=np.random.default_rng(1), few=10,
    )  # fmt: skip
    assert drawn.candidate[0, 0] == 0
    assert len(set(drawn.candidate[0].tolist())) == 3
    assert np.exp(drawn.log_probability[0]) == pytest.approx([1, 1 / 2999, 1 / 2998], rel=1e-6)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("sizes_differ", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.02, 0.005])
def test_sums_over_all_candidates_are_those_of_the_naive_computation(gamma, sizes_differ):
    rng = np.random.default_rng(3)
    n = 10 ** rng.uniform(0, 2, 2500) if sizes_differ else rng.integers(1, 8, 2500)
    item = states(*after(n, rng.beta(0.5, 0.5, 2500)))
    seeds, others = item.take(np.arange(200)), item.take(np.arange(200, 2500))
    exact = np.logaddexp.reduce(
        log_match_quality(
            seeds.score[:, None], seeds.variance[:, None], others.score, others.variance,
            gamma=gamma,
        ),
        axis=1,
    )  # fmt: skip
    assert log_sums(seeds, others, gamma) == pytest.approx(exact, abs=1e-6)


def test_too_few_candidates_for_partners():
    item = states(*after([1, 1], [0.1, 0.2]))
    with pytest.raises(ValueError, match="4 partners out of 2 candidates"):
        draw_partners(item, item, n_partners=4, gamma=0.1, rng=np.random.default_rng(1))


# --- seeds ---------------------------------------------------------------------------------


def test_a_round_is_n_over_hit_size_hits_of_the_highest_variance():
    rng = np.random.default_rng(2)
    alpha, beta = after(rng.integers(1, 6, 150), rng.random(150))
    actual = next_hits(alpha, beta, judged=np.ones(150, bool), rng=rng)
    assert actual.items.shape == (30, 5)
    seeds = actual.items[actual.roles == SEED]
    total = alpha + beta
    variance = alpha * beta / (total**2 * (total + 1))
    assert set(seeds) == set(np.argsort(-variance)[:30])
    assert (actual.probability[actual.roles == SEED] == 1).all()


def test_equal_variances_fall_to_chance_and_say_how_likely():
    alpha, beta = after(np.full(20, 3), np.full(20, 0.5))
    chosen = np.zeros(20)
    for seed in range(2000):
        actual = next_hits(
            alpha, beta, judged=np.ones(20, bool), rng=np.random.default_rng(seed),
            params=NextHitsParams(hits=2),
        )  # fmt: skip
        chosen[actual.items[actual.roles == SEED]] += 1
        assert (actual.probability[actual.roles == SEED] == 0.1).all()
    assert chisquare(chosen).pvalue > 1e-3


def test_partners_come_from_outside_the_seeds():
    rng = np.random.default_rng(4)
    alpha, beta = after(rng.integers(1, 4, 60), rng.random(60))
    actual = next_hits(alpha, beta, judged=np.ones(60, bool), rng=rng)
    assert not set(actual.items[actual.roles == SEED]) & set(actual.items[actual.roles == PARTNER])


@pytest.mark.slow
def test_partners_of_a_plan_have_the_distribution_and_the_probability_they_log():
    """Two groups of five, of two seeds each: three candidates a seed, drawn once."""
    scores = [0.5, 0.1, 0.4, 0.9, 0.3]
    alpha, beta = after([1] * 5 + [9] * 5, scores * 2)
    groups = np.repeat([0, 1], 5)
    params = NextHitsParams(hit_size=2, hits=4, gamma=0.2)
    seen: dict[int, dict[int, int]] = {}
    for seed in range(3000):
        actual = next_hits(
            alpha, beta, judged=np.ones(10, bool), groups=groups,
            rng=np.random.default_rng(seed), params=params,
        )  # fmt: skip
        seeds = set(actual.items[actual.draw == 0].tolist())
        for items, draw, logged in zip(actual.items, actual.draw, actual.probability, strict=True):
            chosen, partner = int(items[draw == 0][0]), int(items[draw == 1][0])
            others = [i for i in range(10) if groups[i] == groups[chosen] and i not in seeds]
            quality = {i: naive_quality(alpha, beta, chosen, i, 0.2) for i in others}
            share = quality[partner] / sum(quality.values())
            assert logged[draw == 1][0] == pytest.approx(share, rel=1e-9)
            seen.setdefault(chosen, dict.fromkeys(others, 0))[partner] += 1
    assert {int(groups[chosen]) for chosen in seen} == {0, 1}
    for chosen, counts in seen.items():
        quality = np.array([naive_quality(alpha, beta, chosen, i, 0.2) for i in counts])
        drawn = np.array(list(counts.values()))
        assert chisquare(drawn, drawn.sum() * quality / quality.sum()).pvalue > 1e-3


def test_random_hits_stand_among_the_others_and_a_small_share_is_not_none():
    alpha, beta = after(np.full(200, 2), np.linspace(0, 1, 200))

    def random_places(share, seed):
        actual = next_hits(
            alpha, beta, judged=np.ones(200, bool), rng=np.random.default_rng(seed),
            params=NextHitsParams(random_share=share),
        )  # fmt: skip
        return np.flatnonzero((actual.roles == RANDOM).all(axis=1))

    assert random_places(0.001, 1).size == 1
    places = np.concatenate([random_places(0.25, seed) for seed in range(100)])
    assert places.size == 100 * 10
    assert chisquare(np.bincount(places // 10, minlength=4)).pvalue > 1e-3


@pytest.mark.slow
def test_threads_change_no_byte():
    """Sums of several sizes: BLAS splits some of them, not all, otherwise among two threads."""
    code = """
import hashlib, numpy as np
from annot_pipeline.methods.planning.easl_hits import next_hits
from annot_pipeline.methods.planning.partners import log_sums, states
digest = hashlib.sha256()
for seed, (n, gamma) in enumerate([(9000, .01), (30000, .02), (4001, .005), (60007, .05)]):
    rng = np.random.default_rng(seed)
    judgments, score = rng.integers(1, 5 + 6 * seed, n), rng.beta(.5, .5, n)
    alpha, beta = 1 + judgments * score, 1 + judgments * (1 - score)
    items = states(alpha, beta)
    order = np.argsort(-items.variance)
    seeds, others = items.take(order[: n // 5]), items.take(order[n // 5 :])
    digest.update(log_sums(seeds, others, gamma).tobytes())
hits = next_hits(alpha, beta, judged=judgments > 0, rng=rng)
digest.update(hits.items.tobytes() + hits.probability.tobytes())
print(digest.hexdigest())
"""
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(hashes) == 1


def test_going_on_from_what_was_drawn_keeps_the_distribution(monkeypatch):
    """One round of tries, then all candidates are weighed: the same distribution."""
    monkeypatch.setattr(partners, "ROUNDS", 1)
    alpha, beta = after(*STATES["two camps"])
    item, draws = states(alpha, beta), 4000
    others = np.array([i for i in range(150) if i != 31])
    exact = np.array([naive_quality(alpha, beta, 31, j, 0.1) for j in others])
    exact /= exact.sum()
    drawn = draw_partners(
        item.take(np.full(draws, 31)), item.take(others),
        n_partners=4, gamma=0.1, rng=np.random.default_rng(6), few=1,
    )  # fmt: skip
    assert all(len(set(row)) == 4 for row in drawn.candidate.tolist())
    second = exact * (np.sum(exact / (1 - exact)) - exact / (1 - exact))
    assert p_of_fit(np.bincount(drawn.candidate[:, 0], minlength=149), draws * exact) > 1e-3
    assert p_of_fit(np.bincount(drawn.candidate[:, 1], minlength=149), draws * second) > 1e-3


def test_slots_are_in_random_order_and_draw_tells_the_true_one():
    alpha, beta = after(np.full(50, 2), np.linspace(0, 1, 50))
    actual = next_hits(
        alpha, beta, judged=np.ones(50, bool), rng=np.random.default_rng(3),
        params=NextHitsParams(hits=10),
    )  # fmt: skip
    assert (np.sort(actual.draw, axis=1) == np.arange(5)).all()
    assert ((actual.draw == 0) == (actual.roles == SEED)).all()
    slots = np.zeros(5)
    for seed in range(400):
        more = next_hits(
            alpha, beta, judged=np.ones(50, bool), rng=np.random.default_rng(seed),
            params=NextHitsParams(hits=10),
        )  # fmt: skip
        slots += (more.roles == SEED).sum(axis=0)
    assert chisquare(slots).pvalue > 1e-3


def test_items_of_sizes_that_all_differ_take_work_in_proportion(monkeypatch):
    """Match qualities worked out for four times the items: nodes and cells are as many."""
    done = []

    def counted(*states, gamma):
        actual = log_match_quality(*states, gamma=gamma)
        done.append(actual.size)
        return actual

    for module in (partners, partners):
        monkeypatch.setattr(module, "log_match_quality", counted)
    work = []
    for n in (5_000, 20_000):
        rng = np.random.default_rng(4)
        done.clear()
        next_hits(*after(rng.uniform(1, 6, n), rng.random(n)), judged=np.ones(n, bool), rng=rng)
        work.append(sum(done))
        assert panels(states(*after(rng.uniform(1, 6, n), rng.random(n))), 0.1).middle.size < 50
    assert work[1] < 5 * work[0]  # all pairs: 16 times


def plan_hits_of_five(alpha, beta, rng) -> None:
    hits = next_hits(alpha, beta, judged=np.ones(len(alpha), bool), rng=rng)
    assert hits.items.shape == (len(alpha) // 5, 5)


@pytest.mark.slow
def test_a_million_items_need_memory_in_proportion():
    rng = np.random.default_rng(1)
    alpha, beta = after(rng.integers(1, 6, 10**6), rng.random(10**6))
    peak = peak_bytes(plan_hits_of_five, alpha, beta, rng)
    assert peak < 600 * 10**6  # a row of an N x N matrix is 8 MB


# --- coverage ------------------------------------------------------------------------------


def test_the_first_round_covers_every_item():
    fresh = np.ones(23)
    actual = next_hits(fresh, fresh, judged=np.zeros(23, bool), rng=np.random.default_rng(1))
    covered = actual.items[actual.roles == COVER]
    assert sorted(covered) == list(range(23))
    assert len(actual.items) == 5
    assert (actual.roles == FILL).sum() == 2
    # three of 23 items are in the last HIT: any of 20 others fills it, then any of 19
    assert sorted(actual.probability[actual.roles == FILL]) == pytest.approx([1 / 20, 1 / 19])
    assert (actual.probability[actual.roles == COVER] == 1).all()


def test_what_was_not_judged_comes_first_and_the_rest_of_the_budget_is_adaptive():
    alpha, beta = after(np.r_[np.zeros(7), np.ones(93)], np.full(100, 0.5))
    judged = np.r_[np.zeros(7, bool), np.ones(93, bool)]
    actual = next_hits(
        alpha, beta, judged=judged, rng=np.random.default_rng(1), params=NextHitsParams(hits=6)
    )
    assert sorted(actual.items[actual.roles == COVER]) == list(range(7))
    assert (actual.roles == SEED).sum() == 4


def test_a_budget_smaller_than_a_round_covers_with_equal_probability():
    fresh = np.ones(50)
    seen = np.zeros(50)
    for seed in range(1500):
        actual = next_hits(
            fresh, fresh, judged=np.zeros(50, bool), rng=np.random.default_rng(seed),
            params=NextHitsParams(hits=2),
        )  # fmt: skip
        assert (actual.probability == 0.2).all()
        seen[actual.items] += 1
    assert chisquare(seen.reshape(-1)).pvalue > 1e-3


# --- random share --------------------------------------------------------------------------


def test_random_share_is_drawn_evenly():
    rng = np.random.default_rng(7)
    alpha, beta = after(rng.integers(1, 4, 40), rng.random(40))
    seen = np.zeros(40)
    for seed in range(1500):
        actual = next_hits(
            alpha, beta, judged=np.ones(40, bool), rng=np.random.default_rng(seed),
            params=NextHitsParams(random_share=0.5),
        )  # fmt: skip
        random = (actual.roles == RANDOM).all(axis=1)
        assert random.sum() == 4
        seen += np.bincount(actual.items[random].reshape(-1), minlength=40)
        assert np.sort(actual.probability[random], axis=1)[0] == pytest.approx(
            [1 / 40, 1 / 39, 1 / 38, 1 / 37, 1 / 36]
        )
    assert chisquare(seen).pvalue > 1e-3


# --- groups --------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_items_of_a_hit_share_their_group_and_none_is_twice_in_it(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 90))
    groups = rng.integers(0, max(n // 12, 1), n)
    alpha, beta = after(rng.integers(0, 4, n), rng.random(n))
    judged = alpha + beta > 2
    size = int(rng.integers(2, 6))
    params = NextHitsParams(
        hit_size=size, hits=int(rng.integers(0, 40)), random_share=float(rng.choice([0, 0.3, 1]))
    )
    sizes = np.bincount(groups)
    if sizes.max() < size:
        with pytest.raises(ValueError, match=f"no group has {size} items"):
            next_hits(alpha, beta, judged=judged, groups=groups, rng=rng, params=params)
        return
    actual = next_hits(alpha, beta, judged=judged, groups=groups, rng=rng, params=params)
    assert len(actual.items) <= params.hits
    for row in actual.items.tolist():
        assert len(set(row)) == size
        assert len({int(groups[item]) for item in row}) == 1
    assert ((actual.probability > 0) & (actual.probability <= 1)).all()
    seeds = np.bincount(groups[actual.items[actual.roles == SEED]], minlength=sizes.size)
    assert (seeds <= sizes // size).all()


def test_groups_smaller_than_a_hit_are_left_out():
    groups = np.r_[np.zeros(4, int), np.ones(10, int)]
    fresh = np.ones(14)
    actual = next_hits(
        fresh, fresh, judged=np.zeros(14, bool), groups=groups, rng=np.random.default_rng(1)
    )
    assert sorted(actual.items.reshape(-1)) == list(range(4, 14))


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 4])
def test_fewer_items_than_a_hit_shows(n):
    fresh = np.ones(n)
    with pytest.raises(ValueError, match=f"no group has 5 items; the largest has {n}"):
        next_hits(fresh, fresh, judged=np.ones(n, bool), rng=np.random.default_rng(1))


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_scores_all_at_one_end_and_all_variances_equal(score):
    alpha, beta = after(np.full(30, 2), np.full(30, score))
    actual = next_hits(alpha, beta, judged=np.ones(30, bool), rng=np.random.default_rng(1))
    assert actual.items.shape == (6, 5)
    assert np.isfinite(actual.probability).all()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"gamma": 0}, "gamma must be above 0"),
        ({"gamma": np.nan}, "gamma must be above 0"),
        ({"hit_size": 1}, "hit_size must be 2 or more"),
        ({"hits": -1}, "hits must be 0 or more"),
        ({"random_share": 1.5}, "random_share must be 0 to 1"),
    ],
)
def test_parameters_that_cannot_be(setting, says):
    with pytest.raises(ValueError, match=says):
        NextHitsParams(**setting)


def test_same_seed_same_hits_and_roles_are_named():
    rng = np.random.default_rng(9)
    alpha, beta = after(rng.integers(0, 4, 5000), rng.random(5000))

    def run():
        return next_hits(
            alpha, beta, judged=alpha + beta > 2, rng=np.random.default_rng(17),
            params=NextHitsParams(random_share=0.2),
        )  # fmt: skip

    first, second = run(), run()
    for name in ("items", "roles", "probability"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert first.roles.max() < len(ROLES)
