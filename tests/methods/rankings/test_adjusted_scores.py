"""Adjusted scores: dense algebra by loops, invariances, blocks, designs that tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import NOT_CONNECTED, compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import ScoreParams
from tests.methods.rankings.judge_loads import weights_of


def draw(seed, n_judges=8, n_segments=12, n_systems=4, n=300, segment_sd=6.0):
    """Scores of a random design: segments, judges, systems, scores."""
    rng = np.random.default_rng(seed)
    g, j, s = (rng.integers(0, k, n) for k in (n_segments, n_judges, n_systems))
    y = 50 + rng.normal(0, 12, n_judges)[j] + rng.normal(0, segment_sd, n_segments)[g]
    y += 3.0 * s + rng.normal(0, 4, (n_judges, n_systems))[j, s] + rng.normal(0, 8, n)
    return g, j, s, y


def block(g, j, s, y, n_judges=None, n_systems=None):
    g = np.unique(g, return_inverse=True)[1].reshape(-1)
    sizes = (
        int(g.max(initial=-1)) + 1,
        int(j.max(initial=-1)) + 1 if n_judges is None else n_judges,
        int(s.max(initial=-1)) + 1 if n_systems is None else n_systems,
    )
    return ScoreBlock.from_rows(g, j, s, y, sizes)


def fit(rows, n_blocks=1, params=None, **sizes):
    g, j, s, y = rows
    sizes = {"n_judges": int(j.max()) + 1, "n_systems": int(s.max()) + 1} | sizes
    parts = np.array_split(np.unique(g), n_blocks)
    masks = [np.isin(g, part) for part in parts]
    blocks = [block(g[m], j[m], s[m], y[m], **sizes) for m in masks]
    return adjusted_scores(InMemoryBlocks(blocks), params)


def regression(design, weights, y):
    root = np.sqrt(weights)
    return np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]


def centred(values):
    return values - values.mean()


def test_without_segments_it_is_the_regression_on_judges_and_systems():
    g, j, s, y = draw(1, segment_sd=0.0)
    g = np.arange(g.size)  # each segment once: no pair tells of them
    actual = fit((g, j, s, y))
    design = np.hstack([np.eye(4)[s], np.eye(8)[j]])
    expected = regression(design, weights_of(j, s, actual), y)[:4]
    np.testing.assert_allclose(centred(actual.estimates.values), centred(expected), atol=1e-5)
    assert actual.estimates.values @ np.bincount(s) / s.size == pytest.approx(y.mean())


def test_fixed_segments_are_the_regression_on_all_three():
    g, j, s, y = draw(2, n=900)
    actual = fit((g, j, s, y), params=ScoreParams(segments="fixed"))
    design = np.hstack([np.eye(4)[s], np.eye(8)[j], np.eye(12)[g]])
    expected = regression(design, weights_of(j, s, actual), y)[:4]
    np.testing.assert_allclose(centred(actual.estimates.values), centred(expected), atol=1e-4)


def test_variances_by_loops_over_clusters():
    """Instruments, CR2 by a matrix root for each judge, shares for segments, cells of both."""
    g, j, s, y = draw(3)
    actual = fit((g, j, s, y))
    components = actual.components
    k, n_judges, n_segments = 4, 8, 12
    y = y - y.mean()
    w, x = weights_of(j, s, actual), np.eye(k)[s]
    wx = w[:, None] * x
    shrink_judge, shrink_segment = 1e-8, components.residual / components.segment
    p = np.array(
        [wx[j == c].sum(axis=0) / (w[j == c].sum() + shrink_judge) for c in range(n_judges)]
    )
    for _ in range(2):
        q = np.array(
            [
                (wx - w[:, None] * p[j])[g == c].sum(axis=0) / (w[g == c].sum() + shrink_segment)
                for c in range(n_segments)
            ]
        )
        p = np.array(
            [
                (wx - w[:, None] * q[g])[j == c].sum(axis=0) / (w[j == c].sum() + shrink_judge)
                for c in range(n_judges)
            ]
        )
    z = w[:, None] * (x - p[j] - q[g])
    a = z.T @ x
    values, vectors = np.linalg.eig(a)  # the group inverse: without the level, of eigenvalue 0
    apart = np.abs(values) > 1e-6 * np.abs(values).max()
    inverse = np.real((vectors[:, apart] / values[apart]) @ np.linalg.inv(vectors)[apart])
    inverse = inverse - inverse.mean(axis=0)
    values = inverse @ (z.T @ y)
    np.testing.assert_allclose(centred(actual.estimates.values), values, atol=1e-9)
    r = y - values[s]
    judge, segment = np.zeros(n_judges), np.zeros(n_segments)
    for _ in range(8):
        judge = np.array(
            [
                (w * (r - segment[g]))[j == c].sum() / (w[j == c].sum() + 1e-8)
                for c in range(n_judges)
            ]
        )
        segment = np.array(
            [
                (w * (r - judge[j]))[g == c].sum() / (w[g == c].sum() + shrink_segment)
                for c in range(n_segments)
            ]
        )
    e = r - judge[j] - segment[g]

    def outer(sums):
        return inverse @ sum(np.outer(v, v) for v in sums) @ inverse.T

    of_judges = []
    for c in range(n_judges):
        mine = j == c
        of_cluster = np.diag(wx[mine].sum(axis=0)) - np.outer(p[c], wx[mine].sum(axis=0))
        root = np.linalg.inv(np.real(sqrtm(np.eye(k) - of_cluster @ inverse)))
        of_judges.append(root @ (z[mine] * (r - segment[g])[mine, None]).sum(axis=0))
    np.testing.assert_allclose(actual.estimates.judges.covariance, outer(of_judges), rtol=1e-3)
    totals = wx.sum(axis=0)
    of_segments = [
        (z[g == c] * (r - judge[j])[g == c, None]).sum(axis=0)
        / np.sqrt(1 - wx[g == c].sum(axis=0) / totals)
        for c in range(n_segments)
    ]
    np.testing.assert_allclose(actual.estimates.segments.covariance, outer(of_segments), rtol=1e-6)
    cells = [
        (z[(g == a) & (j == b)] * e[(g == a) & (j == b), None]).sum(axis=0)
        for a in range(n_segments)
        for b in range(n_judges)
    ]
    np.testing.assert_allclose(actual.estimates.both, outer(cells), rtol=1e-6, atol=1e-12)
    correlation = within(j, s, e, w)
    freedom = np.zeros((k, k))
    for first in range(k):
        for second in range(k):
            if first == second:
                continue
            u = inverse[first] - inverse[second]
            u = u - u.mean()
            v = []
            for c in range(n_judges):
                m, own = x[j == c].sum(axis=0), wx[j == c].sum(axis=0)
                mean = (own @ u) / (own.sum() + 1e-8)
                of_mean = (1 + np.maximum(m - 1, 0) * correlation) / np.maximum(m, 1)
                v.append((own**2 * of_mean * (u - mean) ** 2).sum())
            freedom[first, second] = sum(v) ** 2 / (np.array(v) ** 2).sum() - 1
    np.testing.assert_allclose(actual.estimates.judges.degrees_of_freedom, freedom, rtol=1e-6)
    correlation = within(g, s, e, w)
    m = np.array([wx[g == c].sum(axis=0) for c in range(n_segments)])
    squares = np.array([(wx**2)[g == c].sum(axis=0) for c in range(n_segments)])
    v = (squares + (m**2 - squares) * correlation) / totals**2
    of_pair = v[:, :, None] + v[:, None, :]
    expected = of_pair.sum(axis=0) ** 2 / (of_pair**2).sum(axis=0) - 1
    off = ~np.eye(k, dtype=bool)
    segments = actual.estimates.segments.degrees_of_freedom
    np.testing.assert_allclose(segments[off], expected[off], rtol=1e-6)


def within(clusters, systems, e, w):
    """Correlation of residuals of pairs of one cluster and system, each pair by its weights."""
    total, n_pairs = 0.0, 0.0
    for c in np.unique(clusters):
        for k in np.unique(systems):
            mine = (clusters == c) & (systems == k)
            total += (w * e)[mine].sum() ** 2 - ((w * e)[mine] ** 2).sum()
            n_pairs += w[mine].sum() ** 2 - (w[mine] ** 2).sum()
    return float(np.clip(total / n_pairs / (((w * e) ** 2).sum() / (w**2).sum()), 0, 1))


def same(first, second, *, points=1.0, rtol=1e-7):
    a, b = (compare_estimates(actual.estimates) for actual in (first, second))
    np.testing.assert_allclose(b.difference, points * a.difference, rtol=rtol, atol=1e-7)
    np.testing.assert_allclose(b.error, points * a.error, rtol=rtol)
    np.testing.assert_allclose(b.p_value, a.p_value, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("is_scaled", [False, True])
def test_what_does_not_matter(is_scaled):
    g, j, s, y = draw(4)
    params = ScoreParams(is_scaled=is_scaled)
    whole = fit((g, j, s, y), params=params)
    order = np.random.default_rng(0).permutation(y.size)
    same(whole, fit((g[order], j[order], s[order], y[order]), params=params), rtol=1e-9)
    same(whole, fit((g, 7 - j, s, y), params=params))
    same(whole, fit((11 - g, j, s, y), params=params))
    same(whole, fit((g, j, s, 3 * y + 10), params=params), points=3.0)
    same(whole, fit((g, j, s, y), n_blocks=5, params=params))
    lenient = np.random.default_rng(5).normal(0, 30, 8)
    by_judge = fit((g, j, s, y + lenient[j]), params=params).estimates.values
    np.testing.assert_allclose(centred(by_judge), centred(whole.estimates.values), atol=1e-4)


def test_rows_in_any_order_give_the_same_bytes():
    g, j, s, y = draw(6)
    order = np.random.default_rng(1).permutation(y.size)
    first, second = fit((g, j, s, y)), fit((g[order], j[order], s[order], y[order]))
    np.testing.assert_array_equal(first.estimates.values, second.estimates.values)
    np.testing.assert_array_equal(first.estimates.both, second.estimates.both)


def test_systems_that_no_judge_connects():
    """Each judge saw one system: nothing tells judges from systems, unless drawn at random."""
    rng = np.random.default_rng(7)
    s = np.repeat(np.arange(3), 200)
    j = s * 10 + rng.integers(0, 10, 600)
    g, y = rng.integers(0, 40, 600), rng.normal(50, 10, 600)
    actual = compare_estimates(fit((g, j, s, y)).estimates)
    assert (actual.reason[~np.eye(3, dtype=bool)] == NOT_CONNECTED).all()
    assert np.isnan(actual.p_value).all()
    drawn = compare_estimates(fit((g, j, s, y), params=ScoreParams(judges="random")).estimates)
    assert not np.isnan(drawn.p_value[0, 1])


def test_fixed_segments_of_each_system_tell_no_system_from_its_segments():
    """Judges score each system on segments of its own: are these easier, or is it better?"""
    rng = np.random.default_rng(11)
    s, j, g = (array.reshape(-1) for array in np.indices((3, 6, 10)))
    rows = (s * 10 + g, j, s, rng.normal(50, 10, s.size))
    fixed = compare_estimates(fit(rows, params=ScoreParams(segments="fixed")).estimates)
    assert (fixed.reason[~np.eye(3, dtype=bool)] == NOT_CONNECTED).all()
    drawn = compare_estimates(fit(rows).estimates)
    assert not np.isnan(drawn.p_value[0, 1])


def test_a_judge_who_uses_more_of_the_scale_counts_as_others_when_scaled():
    g, j, s, y = draw(8, n=600)
    wide = np.where(j == 0, 50 + 10 * (y - 50), y)
    plain, scaled = (
        fit((g, j, s, wide), params=ScoreParams(is_scaled=is_scaled)) for is_scaled in (False, True)
    )
    truth = centred(3.0 * np.arange(4))
    errors = [np.abs(centred(f.estimates.values) - truth).mean() for f in (plain, scaled)]
    assert errors[1] < 0.95 * errors[0]
    assert plain.judge_spreads[0] > 4 * np.median(plain.judge_spreads)


ONE = np.zeros(6, np.int64)
ODD = {
    "one system": (np.arange(6), np.arange(6) % 2, ONE, np.arange(6.0)),
    "a score a judge": (np.arange(6), np.arange(6), np.arange(6) % 2, np.arange(6.0)),
    "equal scores": (np.arange(6) % 3, np.arange(6) % 2, np.arange(6) // 3, np.full(6, 50.0)),
    "one judge": (np.arange(6) % 3, ONE, np.arange(6) // 3, np.arange(6.0) ** 2),
    "one segment": (ONE, np.arange(6) % 3, np.arange(6) // 3, np.arange(6.0) ** 2),
    "an outlier": (np.arange(6) % 3, np.arange(6) % 2, np.arange(6) // 3, np.r_[1e6, 1:6]),
    "one score": (np.zeros(1, int), np.zeros(1, int), np.zeros(1, int), np.array([5.0])),
    "nothing": (ONE[:0], ONE[:0], ONE[:0], np.empty(0)),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("params", [ScoreParams(), ScoreParams("random", "fixed", is_scaled=True)])
@pytest.mark.parametrize("name", ODD)
def test_odd_designs(name, params):
    actual = adjusted_scores(InMemoryBlocks([block(*ODD[name])]), params)
    compared = compare_estimates(actual.estimates)
    tested = compared.reason == 0
    assert np.isfinite(compared.p_value[tested]).all()
    assert not compared.beats[~tested].any()
    if name in ("equal scores", "one system", "one score", "nothing", "a score a judge"):
        assert not compared.beats.any()


def test_a_system_without_judgments():
    g, j, s, y = draw(9)
    actual = compare_estimates(fit((g, j, s, y), n_systems=6).estimates)
    np.testing.assert_array_equal(actual.rank > 0, [True] * 4 + [False] * 2)
    assert np.isnan(actual.p_value[0, 5])


def test_a_judge_without_judgments_changes_nothing():
    rows = draw(10)
    more = fit(rows, n_judges=11)
    same(fit(rows), replace(more))
    assert np.isnan(more.judge_effects[8:]).all()


@pytest.mark.parametrize("most", [1, 5, 12])
def test_a_block_in_pieces_gives_the_same_scores(most):
    whole = block(*draw(4))
    pieces = whole.split(most)
    assert len(pieces) == -(-12 // most)
    assert sum(piece.scores.size for piece in pieces) == whole.scores.size
    assert all(piece.n_segments <= most for piece in pieces)
    one, two = (adjusted_scores(InMemoryBlocks(some)) for some in ([whole], pieces))
    np.testing.assert_allclose(one.estimates.values, two.estimates.values, rtol=1e-10)
    for mine, theirs in zip(one.estimates.variance(), two.estimates.variance(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)
