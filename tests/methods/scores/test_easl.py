import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.methods.scores.easl import easl


def test_worked_numbers():
    actual = easl(np.array([0, 0]), np.array([0.8, 0.6]), n_items=2)
    assert actual.alpha[0] == pytest.approx(2.4)
    assert actual.beta[0] == pytest.approx(1.6)
    assert actual.score[0] == pytest.approx(0.7)
    assert actual.variance[0] == pytest.approx(0.048)
    assert (actual.alpha[1], actual.beta[1], actual.score[1], actual.n[1]) == (1, 1, 0.5, 0)


def test_variance_can_rise_with_a_score():
    zeros = easl(np.zeros(4, int), np.zeros(4), n_items=1)
    one_more = easl(np.zeros(5, int), np.array([0, 0, 0, 0, 1.0]), n_items=1)
    assert round(float(zeros.variance[0]), 4) == 0.0198
    assert round(float(one_more.variance[0]), 4) == 0.0255


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_scores_all_at_one_end(score):
    actual = easl(np.zeros(50, int), np.full(50, score), n_items=1)
    assert actual.score[0] == score
    assert 0 < actual.variance[0] < 1e-3


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1000)), min_size=1, max_size=60),
    st.randoms(use_true_random=False),
)
def test_order_of_judgments_does_not_matter_to_the_last_bit(judgments, random):
    def run(rows):
        items = np.array([item for item, _ in rows])
        actual = easl(items, np.array([score for _, score in rows]) / 1000, n_items=4)
        return np.array([actual.alpha, actual.beta, actual.score, actual.variance])

    shuffled = random.sample(judgments, len(judgments))
    assert np.array_equal(run(judgments), run(shuffled))


def test_score_is_the_mean():
    rng = np.random.default_rng(5)
    items, scores = rng.integers(0, 30, 600), rng.random(600)
    actual = easl(items, scores, n_items=30)
    means = [scores[items == item].mean() for item in range(30)]
    assert actual.score == pytest.approx(means, abs=1e-15)
    mode = (actual.alpha - 1) / (actual.alpha + actual.beta - 2)
    assert actual.score == pytest.approx(mode, abs=1e-14)


@pytest.mark.parametrize("score", [-0.01, 1.01, np.nan])
def test_scores_off_the_unit_interval_are_refused(score):
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\]"):
        easl(np.array([0]), np.array([score]), n_items=1)
