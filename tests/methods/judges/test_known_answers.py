import numpy as np
import pytest
import scipy.stats

from annot_pipeline.methods.judges.known_answers import known_answers


def test_p_is_the_exact_binomial_tail_and_the_interval_wilsons():
    n_right, n = np.array([0, 3, 9, 10]), 10
    judges = np.repeat(np.arange(4), n)
    right = np.concatenate([np.arange(n) < k for k in n_right])
    actual = known_answers(judges, right, np.full(40, 0.25), n_judges=4)
    for judge, k in enumerate(n_right):
        test = scipy.stats.binomtest(int(k), n, 0.25, alternative="greater")
        assert actual.p_value[judge] == pytest.approx(test.pvalue, rel=1e-12)
        interval = scipy.stats.binomtest(int(k), n).proportion_ci(method="wilson")
        assert actual.low[judge] == pytest.approx(interval.low, abs=1e-15)
        assert actual.high[judge] == pytest.approx(interval.high)
        assert actual.accuracy[judge] == k / n
        assert actual.effect[judge] == pytest.approx(k / n - 0.25)
    assert actual.n.tolist() == [10] * 4


def test_a_judge_without_known_answers_is_undefined():
    actual = known_answers(np.array([1]), np.array([True]), np.array([0.5]), n_judges=2)
    for name in ("accuracy", "low", "high", "effect", "p_value"):
        assert np.isnan(getattr(actual, name)[0])
    assert actual.n.tolist() == [0, 1]
    assert actual.p_value[1] == 0.5


def test_questions_with_different_chances_err_on_the_safe_side():
    """Against the exact distribution of a sum of unequal coins, at more right than expected."""
    chances = np.array([0.5] * 5 + [0.1] * 5)
    actual = known_answers(
        np.zeros(10, int), np.arange(10) < 6, chances, n_judges=1
    )  # fmt: skip
    exact = np.array([1.0])
    for chance in chances:
        exact = np.convolve(exact, [1 - chance, chance])
    assert actual.p_value[0] > exact[6:].sum() > 0
