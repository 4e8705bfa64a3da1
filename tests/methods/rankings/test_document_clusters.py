"""Segments of one document are one cluster: the partition, and what it does to variances."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.cluster_variance import document_clusters
from annot_pipeline.methods.rankings.inference import compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.rankings.score_effects import ScoreParams
from tests.methods.rankings.judge_loads import weights_of

N_JUDGES, N_SEGMENTS, N_SYSTEMS = 8, 24, 4
SIZES = (N_SEGMENTS, N_JUDGES, N_SYSTEMS)
OWN = np.arange(N_SEGMENTS)
DOCUMENTS = OWN % 6  # of four segments each, which are no neighbours


def draw(seed, n=500, segment_sd=6.0):
    rng = np.random.default_rng(seed)
    g, j, s = (rng.integers(0, k, n) for k in SIZES)
    y = 50 + rng.normal(0, 12, N_JUDGES)[j] + rng.normal(0, segment_sd, N_SEGMENTS)[g] + 3.0 * s
    y += rng.normal(0, 4, (N_JUDGES, N_SYSTEMS))[j, s] + rng.normal(0, 8, n)
    return g, j, s, y + rng.normal(0, 4, (6, N_SYSTEMS))[DOCUMENTS[g], s]


def fit(rows, clusters, params=None, most_segments=N_SEGMENTS):
    block = ScoreBlock.from_rows(*rows, SIZES, clusters)
    return adjusted_scores(InMemoryBlocks(block.split(most_segments)), params)


@pytest.mark.parametrize(
    ("segments", "documents", "clusters"),
    [
        ([0, 1, 2, 3], [1, 0, 1, 0], [0, 1, 0, 1]),
        ([0, 1, 2], [-1, 0, -1], [0, 1, 2]),  # without a document: a cluster of its own
        ([0, 0, 1, 2], [-1, 0, 0, -1], [0, 0, 1]),  # one row names it: all rows of the segment
        ([0, 1, 1, 2, 3], [0, 0, 1, 1, 2], [0, 0, 0, 1]),  # a segment of two documents joins them
    ],
)
def test_clusters_of_segments(segments, documents, clusters):
    rows = np.array(segments), np.array(documents)
    np.testing.assert_array_equal(document_clusters(*rows, len(set(segments))), clusters)


def test_no_document_is_no_cluster():
    assert document_clusters(np.arange(3), np.full(3, -1), 3) is None
    assert document_clusters(np.arange(0), np.arange(0), 0) is None


@pytest.mark.parametrize("params", [ScoreParams(), ScoreParams("random", "fixed", is_scaled=True)])
def test_documents_of_one_segment_give_the_same_scores_to_the_bit(params):
    rows = draw(1)
    one, own = fit(rows, None, params), fit(rows, OWN[::-1], params)
    assert (one.estimates.has_documents, own.estimates.has_documents) == (False, True)
    np.testing.assert_array_equal(one.estimates.values, own.estimates.values)
    assert one.components == own.components
    for kind in ("judges", "segments"):
        mine, other = (getattr(actual.estimates, kind) for actual in (one, own))
        np.testing.assert_array_equal(mine.covariance, other.covariance)
        np.testing.assert_array_equal(mine.degrees_of_freedom, other.degrees_of_freedom)
    np.testing.assert_array_equal(one.estimates.both, own.estimates.both)


def test_documents_change_errors_alone():
    rows = draw(2)
    segments, documents = fit(rows, None), fit(rows, DOCUMENTS)
    assert vars(segments.components) == pytest.approx(vars(documents.components), rel=1e-9)
    one, two = segments.estimates, documents.estimates
    np.testing.assert_allclose(one.values, two.values, rtol=1e-12)
    np.testing.assert_allclose(one.judges.covariance, two.judges.covariance, rtol=1e-9)
    a, b = compare_estimates(one), compare_estimates(two)
    off = ~np.eye(N_SYSTEMS, dtype=bool)
    assert (b.error[off] > 1.1 * a.error[off]).mean() > 0.5
    freedom = [actual.segments.degrees_of_freedom[off] for actual in (one, two)]
    assert (freedom[0] > 15).all()
    assert (freedom[1] < 5).all()


@pytest.mark.parametrize("params", [ScoreParams(), ScoreParams(segments="fixed")])
def test_variances_by_loops_over_documents(params):
    """Sums of the influences of judgments: by document, and by judge and document."""
    rows = draw(3)
    g, j, s = rows[:3]
    by_segment, actual = fit(rows, None, params), fit(rows, DOCUMENTS, params)
    influences = judgment_influences(rows, by_segment, params)
    w, d = influences["weights"], DOCUMENTS[g]
    totals = np.bincount(s, w)
    counts = np.array([np.bincount(s[d == c], w[d == c], N_SYSTEMS) for c in range(6)])
    covariance = np.zeros((N_SYSTEMS, N_SYSTEMS))
    for c in range(6):
        v = influences["judges_taken_out"][d == c].sum(axis=0) / np.sqrt(1 - counts[c] / totals)
        covariance += np.outer(v, v)
    both = np.zeros_like(covariance)
    for cell in np.unique(d * N_JUDGES + j):
        v = influences["both_taken_out"][d * N_JUDGES + j == cell].sum(axis=0)
        both += np.outer(v, v)
    inverse, estimates = influences["inverse"], actual.estimates
    np.testing.assert_allclose(
        estimates.segments.covariance, inverse @ covariance @ inverse.T, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(estimates.both, inverse @ both @ inverse.T, rtol=1e-4, atol=1e-6)


def judgment_influences(rows, actual, params):
    """Return z r of each judgment with residuals less the judge, and less judge and segment."""
    g, j, s, y = rows
    y, x = y - y.mean(), np.eye(N_SYSTEMS)[s]
    w = weights_of(j, s, actual)[:, None]
    components = actual.components
    shrink = 1e-8 if params.segments == "fixed" else components.residual / components.segment
    of_judge, of_segment = np.eye(N_JUDGES)[j], np.eye(N_SEGMENTS)[g]
    of_judge, of_segment = w * of_judge, w * of_segment
    by_judge = 1 / (of_judge.sum(axis=0) + 1e-8)[:, None]
    by_segment = 1 / (of_segment.sum(axis=0) + shrink)[:, None]
    p = by_judge * (of_judge.T @ x)
    for _ in range(12 if params.segments == "fixed" else 2):
        q = by_segment * (of_segment.T @ (x - p[j]))
        p = by_judge * (of_judge.T @ (x - q[g]))
    z = w * (x - p[j] - q[g])
    inverse = np.linalg.pinv(z.T @ x, rcond=1e-6)
    inverse = inverse - inverse.mean(axis=0)
    r = y - actual.estimates.values[s]
    judge, segment = np.zeros((N_JUDGES, 1)), np.zeros((N_SEGMENTS, 1))
    for _ in range(8):
        judge = by_judge * (of_judge.T @ (r[:, None] - segment[g]))
        segment = by_segment * (of_segment.T @ (r[:, None] - judge[j]))
    without_judge = r[:, None] - judge[j]
    return {
        "judges_taken_out": z * without_judge,
        "both_taken_out": z * (without_judge - segment[g]),
        "inverse": inverse,
        "weights": w[:, 0],
    }


@pytest.mark.parametrize("most_segments", [1, 5, 9])
def test_blocks_hold_whole_documents(most_segments):
    rows = draw(4)
    block = ScoreBlock.from_rows(*rows, SIZES, DOCUMENTS)
    pieces = block.split(most_segments)
    assert [piece.n_clusters for piece in pieces] == {1: [1] * 6, 5: [1] * 6, 9: [2] * 3}[
        most_segments
    ]
    assert sum(piece.scores.size for piece in pieces) == block.scores.size
    whole, cut = fit(rows, DOCUMENTS), fit(rows, DOCUMENTS, most_segments=most_segments)
    np.testing.assert_allclose(whole.estimates.values, cut.estimates.values, rtol=1e-10)
    for mine, theirs in zip(whole.estimates.variance(), cut.estimates.variance(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)


def test_fewer_than_four_documents_are_these_documents():
    estimates = fit(draw(5), OWN % 3).estimates
    assert estimates.segments is None
    assert estimates.has_documents
    assert fit(draw(5), OWN % 4).estimates.segments is not None


def test_few_documents_confirm_no_cluster_although_segments_are_many():
    rows = draw(6, n=4000)
    wide = np.random.default_rng(6).integers(0, 40, rows[0].size)
    sizes = (N_SEGMENTS, 40, N_SYSTEMS)
    confirmed = [
        compare_estimates(
            adjusted_scores(
                InMemoryBlocks([ScoreBlock.from_rows(rows[0], wide, *rows[2:], sizes, clusters)])
            ).estimates
        ).is_confirmed.any()
        for clusters in (None, OWN % 12)
    ]
    assert confirmed == [True, False]


def test_a_block_without_judgments():
    empty = np.zeros(0, np.int64)
    block = ScoreBlock.from_rows(empty, empty, empty, np.zeros(0), (0, N_JUDGES, N_SYSTEMS), empty)
    assert block.n_clusters == 0
    whole = ScoreBlock.from_rows(*draw(7), SIZES, DOCUMENTS)
    one, two = (adjusted_scores(InMemoryBlocks(some)) for some in ([whole], [whole, block]))
    np.testing.assert_array_equal(one.estimates.variance()[0], two.estimates.variance()[0])


def test_comparisons_by_document():
    """The variance is the sum over documents; strengths are those of segments."""
    rng = np.random.default_rng(8)
    n = 600
    g, j, a = rng.integers(0, N_SEGMENTS, n), rng.integers(0, N_JUDGES, n), rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    taste = rng.normal(0, 1.5, (6, 4))[DOCUMENTS[g]]
    odds = taste[np.arange(n), a] - taste[np.arange(n), b]
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.float64)

    def compared(codes, has_documents):
        sizes = (int(codes.max()) + 1, N_JUDGES, 4, 0)
        block = ComparisonBlock(codes, j, a, b, y, np.full(n, -1), *sizes, has_documents)
        return adjusted_comparisons(InMemoryBlocks([block]), has_ties=False).estimates

    segments, documents = compared(g, False), compared(DOCUMENTS[g], True)
    assert documents.has_documents
    np.testing.assert_array_equal(segments.values, documents.values)
    one, two = compare_estimates(segments), compare_estimates(documents)
    off = ~np.eye(4, dtype=bool)
    assert (two.error[off] > one.error[off]).mean() > 0.8
