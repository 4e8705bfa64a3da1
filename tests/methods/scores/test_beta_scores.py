import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from annot_pipeline.methods.scores.easl import FRESH, beta_mode, beta_variance


def arrays(*values: float) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


def test_two_scores_of_the_methods_page():
    """Scores .8 and .6: a 2.4, b 1.6, mode .7, variance .048."""
    alpha, beta = arrays(FRESH + 0.8 + 0.6, FRESH + 0.2 + 0.4)
    assert beta_mode(alpha, beta)[0] == pytest.approx(0.7, abs=1e-15)
    assert beta_variance(alpha, beta)[0] == pytest.approx(0.048, abs=1e-15)


def test_variance_can_rise_with_a_score():
    actual = beta_variance(np.array([1.0, 2.0]), np.array([5.0, 5.0]))
    np.testing.assert_allclose(actual, [0.0198, 0.0255], atol=0.00005)


def test_fresh_items_are_in_the_middle():
    ulp = np.finfo(float).eps
    alpha = np.array([1, 1 + ulp, 1 - ulp, 1, 1 + ulp, 1 - ulp, 1.5])
    beta = np.array([1, 1, 1, 1 - ulp, 1 - ulp, 1 - ulp, 0.5])
    assert beta_mode(alpha, beta).tolist() == [0.5] * 7
    assert beta_variance(*arrays(1.0, 1.0))[0] == pytest.approx(1 / 12)


def test_what_is_below_one_counts_as_one():
    """The density falls or rises all the way: its highest point is a bound."""
    alpha, beta = np.array([0.5, 1.2, 1 - 1e-12]), np.array([1.2, 0.5, 3.0])
    assert beta_mode(alpha, beta).tolist() == [0, 1, 0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_mode_of_summed_scores_is_their_mean(scores):
    alpha, beta = arrays(FRESH + sum(scores), FRESH + sum(1 - s for s in scores))
    assert beta_mode(alpha, beta)[0] == pytest.approx(np.mean(scores), abs=1e-12)


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6))
def test_the_mode_is_a_score(alpha, beta):
    assert 0 <= beta_mode(*arrays(alpha, beta))[0] <= 1


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (2.4, 1.6), (1.0, 5.0), (30.0, 7.0)])
def test_against_the_density_integrated(alpha, beta):
    """Variance, from x^(a-1) (1-x)^(b-1) alone."""

    def moment(k):
        return integrate.quad(lambda x: x ** (alpha - 1 + k) * (1 - x) ** (beta - 1), 0, 1)[0]

    total = moment(0)
    mean = moment(1) / total
    actual = beta_variance(*arrays(alpha, beta))[0]
    assert actual == pytest.approx(moment(2) / total - mean**2, abs=1e-9)
