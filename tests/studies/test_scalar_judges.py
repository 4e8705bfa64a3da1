"""Simulated judges: what they see, how they use the scale, who is asked."""

from __future__ import annotations

import numpy as np

from studies.params import Judging
from studies.scalar_judges import AskedJudges, Judges

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


def test_a_hit_has_one_judge_who_was_asked_least_about_its_items() -> None:
    # each judge gives away who it is
    teller = judges([0.0, 0.1, 0.2], [1e-9] * 3)
    asked = AskedJudges(teller, TRUTH, rng())
    seen = asked.score_hits(np.array([[0, 1, 2], [0, 1, 2], [2, 3, 4], [0, 1, 2]]))
    assert (np.ptp(seen, axis=1) < 1e-6).all()
    who = np.round((seen[:, 0] - 0.5) * 10).astype(int).tolist()
    assert sorted([who[0], who[1], who[3]]) == [0, 1, 2]
