"""Asking about systems through their outputs, simulated and recorded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from annot_pipeline.methods.scores.easl import beta_variance
from studies.params import SystemReplay, SystemStudy
from studies.system_asking import METHODS, HitSizes, ask_systems
from studies.system_replay import RecordedOutputs
from studies.system_study import run_system_study

PARAMS = SystemReplay()


def rng(seed: int = 6) -> np.random.Generator:
    return np.random.default_rng(seed)


def sizes(n: int = 6) -> HitSizes:
    return HitSizes(np.zeros(n, np.int64))


class Noting(RecordedOutputs):
    """Notes which HITs were asked."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.hits: list[tuple[int, list[int]]] = []
        self.scores: list[float] = []

    def judge(self, segment: int, systems: np.ndarray) -> np.ndarray:
        self.hits.append((segment, systems.tolist()))
        scores = super().judge(segment, systems)
        self.scores += scores.tolist()
        return scores


def recorded(n_systems: int = 6, n_segments: int = 40, n: int = 300) -> tuple[Noting, np.ndarray]:
    """Outputs of which each recorded judgment has a score of its own."""
    systems = rng(1).integers(n_systems, size=n)
    segments = rng(2).integers(n_segments, size=n)
    scores = rng(3).permutation(n) / n
    return Noting(systems, segments, scores, n_systems, n_segments, rng(4)), np.stack(
        [systems, segments, scores]
    )


def ask(
    method: str, outputs: object, budgets: list[int], counts: HitSizes | None = None
) -> np.ndarray:
    return ask_systems(
        method, outputs, np.array(budgets),  # type: ignore[arg-type]
        params=PARAMS, sizes=counts or sizes(), rng=rng(),
    )  # fmt: skip


@pytest.mark.parametrize("method", ["EASL", "random"])
def test_a_recorded_judgment_is_drawn_once_at_most_and_for_its_own_output(method: str) -> None:
    outputs, rows = recorded()
    ask(method, outputs, [1000])
    drawn = [(system, segment) for segment, hit in outputs.hits for system in hit]
    assert len(set(outputs.scores)) == len(outputs.scores)  # each score is of one judgment
    by_score = {score: (system, segment) for system, segment, score in rows.T.tolist()}
    assert [by_score[score] for score in outputs.scores] == drawn
    # what is left can make no HIT: at most one system has judgments of a segment
    left = Counter(by_score.values()) - Counter(drawn)
    assert Counter(segment for _, segment in left) == dict.fromkeys(
        (segment for _, segment in left), 1
    )


def test_the_seed_of_easl_has_the_highest_variance_of_those_with_judgments_left() -> None:
    outputs, _ = recorded()
    ask("EASL", outputs, [200])
    alpha, beta = np.ones(6), np.ones(6)
    scores = iter(outputs.scores)
    for _, hit in outputs.hits:
        variance = beta_variance(alpha, beta)
        assert variance[hit[0]] == pytest.approx(variance.max(), rel=1e-12)
        for system in hit:
            score = next(scores)
            alpha[system] += score
            beta[system] += 1 - score


@pytest.mark.parametrize("method", METHODS)
def test_no_method_asks_more_than_the_budget(method: str) -> None:
    outputs, _ = recorded(n=2000)
    budgets = [3, 4, 5, 9, 100, 101, 500]
    actual = ask(method, outputs, budgets)
    assert actual.shape == (7, 6)
    assert not np.isnan(actual).any()
    if method == "DA":
        return
    lengths = np.cumsum([len(hit) for _, hit in outputs.hits])
    sums, counts, start = np.zeros(6), np.zeros(6), 0
    for row, budget in zip(actual, budgets, strict=True):
        n_hits = int((lengths <= budget).sum())
        for _, hit in outputs.hits[start:n_hits]:
            for system in hit:
                sums[system] += outputs.scores[int(counts.sum())]
                counts[system] += 1
        start = n_hits
        means = np.divide(sums, counts, out=np.full(6, 0.5), where=counts > 0)
        np.testing.assert_allclose(row, means)
        assert budget - 5 < counts.sum() <= budget


def test_all_judgments_give_da_the_means() -> None:
    outputs, rows = recorded()
    actual = ask("DA", outputs, [100, 300])
    means = [rows[2][rows[0] == system].mean() for system in range(6)]
    np.testing.assert_allclose(actual[-1], means)
    assert np.abs(actual[0] - means).max() > 0.01


def test_perfect_judges_rank_systems_perfectly_in_the_end() -> None:
    params = SystemStudy(
        noise=0, bias=0, stretch=0, whole_points=False, item_sd=0, segment_sd=0,
        repeats=2, per_system=20, points=4, rounds=5,
    )  # fmt: skip
    actual = run_system_study(params, lambda _: None)
    assert actual.correlations.judgments.tolist() == [5, 10, 15, 20]
    assert (actual.correlations.value[:, :, :, -1] > 1 - 1e-12).all()
    for scores in actual.final.values():
        np.testing.assert_allclose(scores, actual.truth)
    assert actual.systems[0] == "system-01"
    assert actual.facts["judgments"] == 200
