"""Asking about items in rounds: equal cost, whose HITs, what becomes of the answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.methods.planning.easl_hits import NextHitsParams, next_hits
from annot_pipeline.methods.scores.easl import beta_mode, beta_variance, easl
from studies.item_asking import Asked, ask, pairs_of
from studies.params import ItemStudy
from studies.thurstone import ThurstoneParams, thurstone

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ASKERS = ("DA", "EASL", "random", "RA")


class Noting:
    """Answers truth with some noise, and notes what was asked."""

    def __init__(self, n_items: int) -> None:
        self.truth = np.linspace(0.05, 0.95, n_items)
        self.rng = np.random.default_rng(3)
        self.rounds: list[tuple[Codes, Floats]] = []
        self.one_by_one: list[bool] = []

    def _answer(self, items: Codes, one_by_one: bool) -> Floats:
        noise = self.rng.normal(0, 0.2, size=items.shape)
        scores = np.rint(100 * np.clip(self.truth[items] + noise, 0, 1)) / 100
        self.rounds.append((items, scores))
        self.one_by_one.append(one_by_one)
        return scores

    def score_items(self, items: Codes) -> Floats:
        return self._answer(items, True)

    def score_hits(self, hits: Codes) -> Floats:
        return self._answer(hits, False)


def asked(
    method: str, n_items: int = 30, iterations: int = 6, **params: object
) -> tuple[Noting, Asked]:
    answers = Noting(n_items)
    actual = ask(
        method, answers, n_items=n_items, iterations=iterations,
        params=ItemStudy(**params), rng=np.random.default_rng(8),  # type: ignore[arg-type]
    )  # fmt: skip
    return answers, actual


@pytest.mark.parametrize("method", ASKERS)
@pytest.mark.parametrize(("n_items", "hit_size"), [(30, 5), (32, 5), (5, 5), (7, 3), (2, 2)])
def test_every_method_asks_the_same_number_in_every_round(
    method: str, n_items: int, hit_size: int
) -> None:
    answers, actual = asked(method, n_items, hit_size=hit_size)
    size = n_items // hit_size * hit_size
    assert [items.size for items, _ in answers.rounds] == [size] * 6
    assert actual.n_asked.sum(axis=1).tolist() == [size * n for n in range(1, 7)]
    assert set(answers.one_by_one) == {method == "DA"}
    for items, _ in answers.rounds:
        if method != "DA":
            assert items.shape == (n_items // hit_size, hit_size)
            assert all(len(set(hit)) == hit_size for hit in items.tolist())


def test_the_hits_of_easl_are_those_of_algorithm_1() -> None:
    answers, _ = asked("EASL", iterations=4)
    rng = np.random.default_rng(8)
    params = NextHitsParams(gamma=0.1, hit_size=5, hits=6)
    every, scores = np.zeros(0, np.int64), np.zeros(0)
    for items, given in answers.rounds:
        state = easl(every, scores, n_items=30)
        due = next_hits(state.alpha, state.beta, judged=state.n > 0, rng=rng, params=params)
        assert (items == due.items).all()
        every, scores = np.append(every, items), np.append(scores, given)


def test_the_hits_of_ra_are_those_of_algorithm_1_by_its_own_states() -> None:
    answers, actual = asked("RA", iterations=4)
    rng = np.random.default_rng(8)
    params = NextHitsParams(gamma=0.1, hit_size=5, hits=6)
    pairs = np.zeros((3, 0), np.int64)
    judged = np.zeros(30, np.bool_)
    for n, (items, given) in enumerate(answers.rounds):
        state = bounded_ra(*pairs, n_items=30, params=BoundedRaParams())
        assert (actual.mode[n] == state.score).all()
        assert (actual.variance[n] == state.variance).all()
        due = next_hits(state.alpha, state.beta, judged=judged, rng=rng, params=params)
        assert (items == due.items).all()
        pairs = np.append(pairs, pairs_of(items, given), axis=1)
        judged[items] = True
    # and all three see the same pairs
    skill = trueskill(*pairs, n_items=30, params=TrueSkillParams())
    at_once = thurstone(*pairs, n_items=30, params=ThurstoneParams(sigma=0.1, prior_sd=1.0))
    assert (actual.score["RA"][-1] == bounded_ra(*pairs, n_items=30).score).all()
    assert (actual.score["TrueSkill"][-1] == skill.mean).all()
    assert (actual.score["Thurstone"][-1] == at_once.mean).all()
    assert at_once.convergence.converged
    assert pairs.shape == (3, 4 * 6 * 10)


@pytest.mark.parametrize("method", ["DA", "EASL", "random"])
def test_scores_are_means_of_what_was_answered(method: str) -> None:
    answers, actual = asked(method)
    items = np.concatenate([items.reshape(-1) for items, _ in answers.rounds])
    scores = np.concatenate([scores.reshape(-1) for _, scores in answers.rounds])
    state = easl(items, scores, n_items=30)
    np.testing.assert_allclose(actual.score[method][-1], state.score, rtol=1e-14)
    np.testing.assert_allclose(actual.score[method][-1], beta_mode(state.alpha, state.beta))
    np.testing.assert_allclose(actual.variance[-1], beta_variance(state.alpha, state.beta))
    assert actual.mode[0].tolist() == [0.5] * 30
    assert actual.variance[0].tolist() == [1 / 12] * 30
    assert (actual.mode[1:] == actual.score[method]).all()


def test_pairs_of_a_hit_by_hand() -> None:
    hits = np.array([[4, 0, 2], [1, 3, 0]])
    scores = np.array([[0.3, 0.3, 0.9], [0.1, 0.2, 0.1 + 0.2 - 0.2]])
    assert pairs_of(hits, scores).T.tolist() == [
        [0, 2, -1], [0, 4, 0], [2, 4, 1], [0, 1, 0], [0, 3, -1], [1, 3, -1],
    ]  # fmt: skip
