"""Linear algebra of stages has one thread, and gives back what it found."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from annot_pipeline.runtime.blas_threads import one_blas_thread


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_one_thread_within_and_as_many_as_before_after():
    np.zeros((2, 2)) @ np.zeros((2, 2))
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_products_and_inverses_do_not_depend_on_the_threads_outside():
    matrix = np.random.default_rng(4).normal(size=(400, 400))
    actual = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads, user_api="blas"), one_blas_thread():
            actual.append([matrix.T @ matrix, np.linalg.inv(matrix)])
    for one, two in zip(*actual, strict=True):
        np.testing.assert_array_equal(one, two)


def test_stages_run_on_one_thread(stage_campaign, monkeypatch):
    from annot_pipeline.stages.rankings import rank_systems

    seen = []
    rank = rank_systems.rank_systems

    def noted(*arguments, **options):
        seen.append(blas_threads())
        return rank(*arguments, **options)

    monkeypatch.setattr(rank_systems, "rank_systems", noted)
    built = stage_campaign(
        {"a.csv": "judge,system,segment,score\nann,x,s,10\nann,y,s,20\n"},
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": {
            name: name for name in ("judge", "system", "segment", "score")}}],
    )  # fmt: skip
    assert built.rows("system_rankings")
    assert seen == [{1}]
