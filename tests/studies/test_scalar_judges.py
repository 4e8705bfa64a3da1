"""Simulated judges: what they see, how they use the scale, who is asked."""

from __future__ import annotations

import numpy as np
import pytest

from studies.params import ItemStudy, Judging
from studies.scalar_judges import AskedJudges, Judges, draw_judges

EXACT = {"noise": 0.0, "bias": 0.0, "stretch": 0.0, "whole_points": False}
TRUTH = np.linspace(0, 1, 21)


def judges(shift: list[float], stretch: list[float], **params: object) -> Judges:
    return Judges(
        np.array(shift), np.array(stretch), np.zeros(len(shift), np.bool_),
        Judging(**(EXACT | params)),  # type: ignore[arg-type]
    )  # fmt: skip


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_a_score_by_hand() -> None:
    two = judges([0.1, -0.2], [1.0, 2.0])
    seen = two.answer(
        np.array([0, 1, 1, 0]), np.array([0.3, 0.6, 0.9, 0.95]), rng(), is_joint=False
    )
    # 1/2 + .1 - .2; 1/2 - .2 + 2 x .1; 1/2 - .2 + 2 x .4 is cut off at 1; 1/2 + .1 + .45 too
    np.testing.assert_allclose(seen, [0.4, 0.5, 1.0, 1.0])
    low = two.answer(np.array([1]), np.array([0.1]), rng(), is_joint=False)
    assert low.tolist() == [0.0]


def test_whole_points() -> None:
    one = judges([0.0], [1.0], whole_points=True)
    seen = one.answer(np.zeros(3, np.int64), np.array([0.123, 0.5, 0.999]), rng(), is_joint=False)
    assert seen.tolist() == [0.12, 0.5, 1.0]


def test_context_takes_a_share_of_shift_and_noise_away_where_items_are_seen_together() -> None:
    one = judges([0.2], [1.0], noise=0.1, context=0.25)
    truth, judge = np.full(20_000, 0.4), np.zeros(20_000, np.int64)
    singly, jointly = (one.answer(judge, truth, rng(), is_joint=t) for t in (False, True))
    # the same draws of noise: all that differs is the context
    np.testing.assert_allclose(jointly - 0.4, 0.75 * (singly - 0.4), atol=1e-12)
    assert singly.mean() == pytest.approx(0.6, abs=0.005)
    assert singly.std() == pytest.approx(0.1, rel=0.05)
    same = judges([0.2], [1.0], noise=0.1)
    assert (
        same.answer(judge, truth, rng(), is_joint=True)
        == same.answer(judge, truth, rng(), is_joint=False)
    ).all()


def test_spammers_answer_evenly() -> None:
    drawn = draw_judges(Judging(spam=0.25, n_judges=8), rng())
    assert drawn.spammer.sum() == 2
    spam = np.flatnonzero(drawn.spammer)[:1]
    seen = drawn.answer(np.repeat(spam, 10_000), np.full(10_000, 0.9), rng(), is_joint=False)
    np.testing.assert_allclose(np.histogram(seen, 5, (0, 1))[0] / 10_000, 0.2, atol=0.02)


def test_traits_have_the_spread_that_was_asked() -> None:
    drawn = draw_judges(Judging(n_judges=4000, bias=0.1, stretch=0.2), rng())
    assert drawn.shift.std() == pytest.approx(0.1, rel=0.05)
    assert np.log(drawn.stretch).std() == pytest.approx(0.2, rel=0.05)
    assert not drawn.spammer.any()


def test_no_judge_is_asked_again_before_all_others() -> None:
    params = ItemStudy(n_judges=10)
    asked = AskedJudges(draw_judges(params, rng()), TRUTH, rng())
    for _ in range(10):
        asked.score_items(np.arange(21))
    assert (asked._asked == 1).all()
    asked.score_items(np.array([3]))
    assert asked._asked[3].sum() == 11
    assert asked._asked[3].max() == 2


def test_a_hit_has_one_judge_who_was_asked_least_about_its_items() -> None:
    # each judge gives away who it is
    teller = judges([0.0, 0.1, 0.2], [1e-9] * 3)
    asked = AskedJudges(teller, TRUTH, rng())
    seen = asked.score_hits(np.array([[0, 1, 2], [0, 1, 2], [2, 3, 4], [0, 1, 2]]))
    assert (np.ptp(seen, axis=1) < 1e-6).all()
    who = np.round((seen[:, 0] - 0.5) * 10).astype(int).tolist()
    assert sorted([who[0], who[1], who[3]]) == [0, 1, 2]
    assert asked._asked[2].sum() == 4
