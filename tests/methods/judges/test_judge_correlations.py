"""Rank correlation of judges: scipy on every pair, hand-worked numbers, real data, invariances."""

from __future__ import annotations

from dataclasses import astuple
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from annot_pipeline.methods.judges.judge_correlations import mean_spearman
from annot_pipeline.methods.numerics import bootstrap
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples

NAN = np.nan


def measure(items, judges, scores, criteria=None, rounds=0, rng=0, **more):
    """The statistic, code ranges taken from the data."""
    sizes = [int(max(codes, default=-1)) + 1 for codes in (items, judges)]
    return mean_spearman(
        items, judges, scores, criteria=criteria,
        n_items=sizes[0], n_judges=sizes[1], rounds=rounds, rng=rng, **more,
    )  # fmt: skip


def of_table(table, **options):
    """The statistic of a table judges x items with NaN for missing scores."""
    table = np.asarray(table, np.float64)
    judges, items = np.nonzero(~np.isnan(table))
    return measure(items, judges, table[judges, items], **options)


def random_table(seed, n_judges=7, n_items=25, points=9, gaps=None):
    """Ties, gaps, a judge of one score, one of one but for an item, one of few items."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=n_items) + rng.normal(size=(n_judges, n_items))
    table = np.round(table * points / 4)
    gaps = rng.uniform(0, 0.8) if gaps is None else gaps
    table[rng.random(table.shape) < gaps] = NAN
    table[0, ~np.isnan(table[0])] = 3
    table[1, 4:] = NAN
    table[2] = np.where(np.isnan(table[2]), NAN, np.arange(n_items) == 5)
    return table


def by_scipy(table):
    """Weighted mean, its items and judges, all pairs and those left out: by plain loops."""
    rhos, weights, items, judges, n_pairs = [], [], set(), set(), 0
    for a, b in combinations(range(len(table)), 2):
        common = np.flatnonzero(~np.isnan(table[[a, b]]).any(axis=0))
        x, y = table[a, common], table[b, common]
        n_pairs += common.size > 0
        if common.size >= 3 and np.ptp(x) > 0 and np.ptp(y) > 0:
            rhos.append(spearmanr(x, y).statistic)
            weights.append(common.size - 1)
            items |= set(common)
            judges |= {a, b}
    mean = np.average(rhos, weights=weights) if rhos else NAN
    return mean, len(items), len(judges), n_pairs, n_pairs - len(rhos)


# --- from outside


@pytest.mark.parametrize("seed", range(40))
def test_each_pair_is_that_of_scipy(seed):
    sizes = {"common_at_once": 11} if seed >= 20 else {}
    table = random_table(seed)
    result = of_table(table, **sizes)
    mean, *counts = by_scipy(table)
    assert result.value == pytest.approx(mean, rel=1e-12, nan_ok=True)
    assert [
        result.n_items, result.n_judges, result.n_pairs, result.n_undefined_pairs
    ] == counts  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_without_gaps_it_is_the_plain_mean(seed):
    rng = np.random.default_rng(seed)
    table = np.round(rng.normal(size=12) + rng.normal(size=(5, 12)), 1)
    plain = [spearmanr(x, y).statistic for x, y in combinations(table, 2)]
    assert of_table(table).value == pytest.approx(np.mean(plain), rel=1e-12)


def test_three_judges_by_hand():
    """a, b: 1 - 6 (1 + 1)/(4 15) = .8; a, c: -1; b, c: 1 - 6 (4 + 1 + 1)/(3 8) = -.5."""
    result = of_table([[1, 2, 3, 4], [10, 30, 20, 99], [3, 2, 1, NAN]])
    assert result.value == pytest.approx((3 * 0.8 + 2 * -1 + 2 * -0.5) / 7, rel=1e-15)
    assert astuple(result)[3:] == (4, 3, 3, 0, (4 + 3 + 3) / 3)


def test_ties_by_hand():
    """Ranks less 2.5 are -1.5, 0, 0, 1.5 and -1, -1, .5, 1.5: squares 4.5 each, products 3.75."""
    result = of_table([[1, 2, 2, 7], [0, 0, 5, 6]])
    assert result.value == pytest.approx(3.75 / 4.5, rel=1e-15)


def test_word_similarity_of_snow_2008(shared_data):
    """Ten judges, thirty pairs of words, all judged by all."""
    scores = snow(shared_data, "wordsim")
    table = scores.pivot(index="item", columns="judge", values="score")
    assert table.notna().all(axis=None)
    assert table.shape == (30, 10)
    rho = table.corr(method="spearman").to_numpy()
    result = measure_names(scores, rounds=1000)
    assert result.value == pytest.approx(rho[np.triu_indices(10, 1)].mean(), rel=1e-12)
    assert round(result.value, 4) == 0.8001
    assert (result.ci_low, result.ci_high) == pytest.approx((0.71, 0.873), abs=0.005)
    assert astuple(result)[3:7] == (30, 10, 45, 0)


EMOTIONS = {
    "anger": (0.4598, 0), "disgust": (0.4846, 0), "fear": (0.4046, 16), "joy": (0.3690, 17),
    "sadness": (0.5349, 7), "surprise": (0.1260, 21), "valence": (0.3685, 7),
}  # fmt: skip
"""Weighted mean over the 214 pairs of judges, and pairs of which one judge gave one score."""


@pytest.mark.parametrize("name", EMOTIONS)
def test_emotions_of_snow_2008(shared_data, name):
    scores = snow(shared_data, name)
    table = scores.pivot(index="judge", columns="item", values="score").to_numpy()
    result = measure_names(scores)
    mean, *counts = by_scipy(table)
    assert result.value == pytest.approx(mean, rel=1e-12)
    assert [*astuple(result)[3:7]] == counts
    assert (round(result.value, 4), result.n_undefined_pairs) == EMOTIONS[name]
    assert result.n_pairs == 214


def snow(data, name):
    """Columns item, judge, score."""
    path = data / "snow2008" / "all_collected_data" / f"{name}.standardized.tsv"
    names = {"orig_id": "item", "!amt_worker_ids": "judge", "response": "score"}
    return pd.read_csv(path, sep="\t").rename(columns=names)


def measure_names(scores, **options):
    item, judge = (pd.factorize(scores[name], sort=True)[0] for name in ("item", "judge"))
    return measure(item, judge, scores.score, **options)


# --- the interval


@pytest.mark.parametrize("seed", range(5))
def test_each_round_is_the_correlation_of_the_ranks_drawn(monkeypatch, seed):
    table = random_table(seed, n_items=14, gaps=seed / 10)
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    seen = []
    monkeypatch.setattr(
        Estimate, "from_replicates", lambda r: seen.append(r) or Estimate(*r[[0, 1, 2]])
    )
    of_table(table, rounds=30, rng=3)
    weights = np.concatenate(list(ItemResamples.draw(table.shape[1], 30, 3).chunks(7)), axis=1)
    rounds = np.array([of_draw(table, drawn) for drawn in weights.T.astype(int)])
    centred = rounds[1:] - np.nanmean(rounds[1:]) + rounds[0]
    np.testing.assert_allclose(seen[0][1:], np.clip(centred, -1, 1), rtol=1e-12, atol=1e-12)
    assert np.std(seen[0][1:]) > 0.01


def of_draw(table, drawn):
    """Mean over pairs with three different items drawn, ranks as of all items."""
    rhos, weights = [], []
    for a, b in combinations(range(len(table)), 2):
        common = np.flatnonzero(~np.isnan(table[[a, b]]).any(axis=0))
        x, y = (np.repeat(rankdata(table[j, common]), drawn[common]) for j in (a, b))
        if (drawn[common] > 0).sum() >= 3 and np.ptp(x) > 0 and np.ptp(y) > 0:
            rhos.append(np.corrcoef(x, y)[0, 1])
            weights.append(x.size - 1)
    return np.average(rhos, weights=weights) if rhos else NAN


def test_blocks_change_nothing(monkeypatch):
    table = random_table(5, n_judges=12, n_items=60, gaps=0.2)
    whole = of_table(table, rounds=40, rng=1)
    calls = []
    replicate = bootstrap.replicate_counts
    monkeypatch.setattr(
        bootstrap, "replicate_counts", lambda *a, **k: calls.append(1) or replicate(*a, **k)
    )
    blocks = of_table(table, rounds=40, rng=1, common_at_once=50)
    assert astuple(blocks) == pytest.approx(astuple(whole), rel=1e-12)
    assert len(calls) > 5


def test_parts_change_no_digit():
    table = random_table(5, n_judges=12, n_items=60, gaps=0.2)
    whole = of_table(table, rounds=40, rng=1)
    parts = of_table(table, rounds=40, rng=1, pairs_at_once=7)
    assert astuple(parts) == astuple(whole)


def test_the_interval_holds_the_value_in_a_large_campaign():
    """Four thousand pairs of five items each: as they come, the rounds lie .019 too low."""
    rng = np.random.default_rng(1)
    shape = (4_000, 5, 2)  # pairs of judges, items, judges
    items = np.repeat(np.arange(20_000), 2)
    judges = np.broadcast_to(np.arange(8_000).reshape(-1, 1, 2), shape).ravel()
    scores = rng.normal(size=20_000)[items] + rng.normal(size=items.size) * 0.6
    ranks = scores.reshape(shape).argsort(axis=1).argsort(axis=1)
    rho = 1 - 6 * (np.diff(ranks) ** 2).sum(axis=(1, 2)) / (5 * 24)
    result = measure(items, judges, scores, rounds=200)
    assert result.value == pytest.approx(rho.mean(), rel=1e-12)
    error = 1.96 * rho.std() / np.sqrt(rho.size)  # the pairs share nothing
    for arm in (result.value - result.ci_low, result.ci_high - result.value):
        assert error < arm < 1.6 * error  # five items: too wide, by a third


def test_intervals_hold_what_they_should():
    """Judges correlate by .5 in scores: 6/pi asin(.25) = .483 in ranks, less 2% of 30 items."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(100):
        table = rng.normal(size=30) + rng.normal(size=(8, 30))
        result = of_table(table, rounds=200, rng=rng)
        held += result.ci_low <= 0.475 <= result.ci_high
    assert 85 <= held <= 99


def test_beyond_the_work_there_is_a_value_and_no_interval():
    table = np.arange(12.0).reshape(3, 4)  # three pairs of four items
    for most, affordable in ((3 * 4 * 10, True), (3 * 4 * 10 - 1, False)):
        result = of_table(table, rounds=10, most_pair_work=most)
        assert result.value == 1
        assert np.isnan([result.ci_low, result.ci_high]).all() != affordable


def test_without_most_of_its_rounds_there_is_no_interval():
    """Three items are drawn in 2 of 9 rounds, in which nothing varies; of four in 21 of 32."""
    result = of_table([[1, 2, 3], [1, 3, 2]], rounds=100)
    assert result.value == 0.5
    assert np.isnan([result.ci_low, result.ci_high]).all()
    result = of_table([[1, 2, 3, 4], [1, 3, 2, 4]], rounds=100)
    assert result.ci_low < 0.8 < result.ci_high


def test_the_value_takes_no_rounds():
    table = random_table(6)
    assert of_table(table).value == of_table(table, rounds=30).value
    assert np.isnan([of_table(table).ci_low, of_table(table).ci_high]).all()


# --- invariances


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_no_digit_depends_on_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    items, judges, criteria = rng.integers(9, size=80), rng.integers(5, size=80), np.arange(80) % 2
    scores = np.round(rng.uniform(0, 1, 80), 1)  # several of an item by one judge
    shuffled = rng.permutation(80)
    plain = measure(items, judges, scores, criteria, rounds=20)
    rows = (of[shuffled] for of in (items, judges, scores, criteria))
    assert repr(measure(*rows, rounds=20)) == repr(plain)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_names_of_judges_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    table = random_table(seed)
    plain = astuple(of_table(table, rounds=20))
    wider = np.full((30, table.shape[1]), NAN)
    wider[rng.permutation(30)[: len(table)]] = table
    renamed = astuple(of_table(wider, rounds=20))
    assert renamed == pytest.approx(plain, rel=1e-9, abs=1e-12, nan_ok=True)
    moved = astuple(of_table(table[:, rng.permutation(table.shape[1])]))
    assert moved[3:] == plain[3:]
    assert moved[0] == pytest.approx(plain[0], rel=1e-9, abs=1e-12, nan_ok=True)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_each_judge_may_have_a_scale_of_their_own(seed):
    table = random_table(seed)
    maps = [np.exp, np.cbrt, lambda x: 1e15 + x, lambda x: 1e-9 * x, np.arctan, lambda x: x**3]
    own = np.stack([maps[j % len(maps)](row) for j, row in enumerate(table)])
    plain = of_table(table, rounds=20)
    assert repr(of_table(own, rounds=20)) == repr(plain)
    assert repr(of_table(-table, rounds=20)) == repr(plain)


def test_an_item_that_one_judge_scored_changes_nothing():
    table = np.array([[1, 2, 3, 4, 2.5], [2, 1, 3, 4, 5.0]])
    alone = np.array([[0, NAN, NAN], [NAN, 9, 9]])
    plain = of_table(table, rounds=30)
    assert of_table(np.hstack([alone, table]), rounds=30) == plain


# --- criteria, and several scores


def test_a_correlation_is_within_a_criterion():
    """Pooled, these would go together, as both judges score the second criterion higher."""
    items = [0, 1, 2, 3] * 2 + [0, 1, 2] + [0, 1, 2, 3]
    judges = [0] * 4 + [1] * 4 + [0] * 3 + [1] * 4
    scores = [1, 2, 3, 4, 4, 3, 2, 1, 91, 92, 93, 92, 91, 93, 94]
    criteria = [0] * 8 + [1] * 7
    result = measure(items, judges, scores, criteria)
    assert result.value == pytest.approx((3 * -1 + 2 * 0.5) / 5)
    assert astuple(result)[3:7] == (4, 2, 2, 0)


def test_an_item_is_drawn_with_all_its_criteria():
    """A second criterion with the same scores says nothing new: the interval stays as wide."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=20) + rng.normal(size=(4, 20))
    judges, items = np.nonzero(table == table)
    once = measure(items, judges, table.ravel(), rounds=50)
    twice = measure(
        np.tile(items, 2), np.tile(judges, 2), np.tile(table.ravel(), 2),
        np.repeat([0, 1], items.size), rounds=50,
    )  # fmt: skip
    assert astuple(twice)[:3] == pytest.approx(astuple(once)[:3], rel=1e-12)
    assert astuple(twice)[3:7] == (20, 4, 12, 0)


def test_an_item_of_two_judges_in_two_criteria_changes_nothing():
    items, judges, scores = [0, 1, 2, 3] * 2, [0] * 4 + [1] * 4, [1, 2, 3, 4, 2, 1, 3, 4]
    plain = measure(items, judges, scores, [0] * 8, rounds=30)
    apart = measure([*items, 4, 4], [*judges, 0, 1], [*scores, 9, 0], [0] * 9 + [1], rounds=30)
    assert apart == plain


def test_an_items_score_is_the_mean_over_a_judges_judgments():
    items, judges = [0, 0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 1, 1, 1]
    result = measure(items, judges, [1, 9, 4, 6, 2, 1, 3])  # means 5, 4, 6
    assert result.value == 1
    assert astuple(result)[3:7] == (3, 2, 1, 0)


def test_the_noise_of_means_breaks_no_tie():
    """(.1 + .2 + .3)/3 is not .2 in floating point; as a tie the correlation is .866."""
    items, judges = [0, 0, 0, 1, 2, 0, 1, 2], [0] * 5 + [1] * 3
    assert (0.1 + 0.2 + 0.3) / 3 != 0.2
    for scores in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
        result = measure(items, judges, [*scores, 0.2, 0.7, 1, 2, 3])
        assert result.value == pytest.approx(np.sqrt(3) / 2)


# --- what has no correlation


@pytest.mark.parametrize(
    ("table", "n_pairs"),
    [
        ([[1, 2, 3, 4]], 0),  # one judge
        ([[1, 2, NAN, NAN], [NAN, NAN, 1, 2]], 0),  # nothing in common
        ([[1, 2, 3, NAN], [NAN, 1, 2, 3]], 1),  # two common items
        ([[5, 5, 5, 9], [1, 2, 3, NAN]], 1),  # one score for what is common
        ([[5, 5, 5], [5, 5, 5], [1, 2, 3]], 3),
    ],
)
def test_undefined_is_not_0(table, n_pairs):
    result = of_table(table, rounds=20)
    assert np.isnan(astuple(result)[:3]).all()
    assert astuple(result)[3:7] == (0, 0, n_pairs, n_pairs)


def test_nothing_at_all_is_undefined():
    assert np.isnan(measure([], [], [], rounds=5).value)
    assert astuple(measure([], [], []))[3:7] == (0, 0, 0, 0)


def test_pairs_without_a_correlation_are_left_out_and_counted():
    table = [[1, 2, 3, 4], [1, 2, 3, 4], [7, 7, 7, 7], [2, 1, NAN, NAN]]
    result = of_table(table, rounds=20)
    assert result.value == 1  # with zeros for five pairs it would be a fraction
    assert astuple(result)[3:7] == (4, 2, 6, 5)


@pytest.mark.parametrize("sign", [1, -1])
def test_full_agreement_has_no_width(sign):
    x = np.array([1, 1, 3, 4, 8, 9, 10, 12.0])
    result = of_table([x, sign * x], rounds=50)
    assert astuple(result)[:3] == pytest.approx((sign, sign, sign), rel=1e-12)
    assert result.value == sign


def test_no_end_of_an_interval_passes_1():
    """The rounds of .9 have a mean of .86 and go up to 1: moved as they are, to 1.04."""
    result = of_table([[0, 1, 2, 3, 4], [0, 2, 1, 3, 4]], rounds=200)
    assert result.value == pytest.approx(0.9)
    assert result.ci_high == 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"items": [0, 1]}, "one length"),
        ({"scores": [0, 1]}, "one length"),
        ({"criteria": [0, 1]}, "one length"),
        ({"items": [0, 0, 9]}, "items holds codes 0 to 9, allowed are 0 to 1"),
        ({"judges": [0, -1, 0]}, "judges holds codes"),
        ({"criteria": [0, -1, 0]}, "criteria holds -1"),
        ({"scores": [1, NAN, 2]}, "finite"),
        ({"rounds": -1}, "rounds is -1"),
        ({"n_judges": 2**32}, "too many codes"),
    ],
)
def test_refuses_what_is_no_score(change, match):
    given = {"items": [0, 0, 1], "judges": [0, 1, 0], "scores": [1, 2, 3], "criteria": None}
    sizes = {"n_items": 2, "n_judges": 2, "rounds": 0, "rng": 0}
    with pytest.raises(ValueError, match=match):
        mean_spearman(**given | sizes | change)
