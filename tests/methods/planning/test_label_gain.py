"""The expected gain of one more judgment, by hand and by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.planning.label_gain import expected_gain

JUDGE = np.array([[0.8, 0.2], [0.2, 0.8]])


def entropy(*p: float) -> float:
    return -sum(x * np.log(x) for x in p if x > 0)


def test_a_judge_of_accuracy_08_by_hand():
    """Where both classes are as probable, the answer has ln 2 nats, of which .5004 are noise."""
    gains = expected_gain(np.array([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]]), JUDGE)
    assert gains[0] == pytest.approx(np.log(2) - 0.5004, abs=1e-4)
    assert gains[1] == pytest.approx(entropy(0.74, 0.26) - 0.5004, abs=1e-4)  # .9 x .8 + .1 x .2
    assert gains[2] == 0


def test_it_is_the_expected_fall_of_the_entropy():
    rng = np.random.default_rng(1)
    posterior, confusion = rng.dirichlet(np.ones(4), 20), rng.dirichlet(np.ones(4), 4)
    gains = expected_gain(posterior, confusion)
    for p, gain in zip(posterior, gains.tolist(), strict=True):
        joint = p[:, None] * confusion
        after = sum(joint[:, y].sum() * entropy(*(joint[:, y] / joint[:, y].sum()))
                    for y in range(4))  # fmt: skip
        assert gain == pytest.approx(entropy(*p) - after)


def test_a_judge_who_answers_blindly_tells_nothing():
    blind = np.tile([0.7, 0.3], (2, 1))
    assert expected_gain(np.array([[0.5, 0.5], [0.8, 0.2]]), blind) == pytest.approx([0, 0])
