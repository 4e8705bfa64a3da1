"""Whether people's items may be a random sample: a worked example, size, power, clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annot_pipeline.methods.model_judges.sample_balance import balance_p_value


def test_a_worked_example() -> None:
    """20 of 40 asked: means 12/20 and 8/20, variance .25, error sqrt(.25 * 2/20) = .158."""
    values = np.r_[np.ones(12), np.zeros(8), np.ones(8), np.zeros(12)]
    is_asked = np.arange(40) < 20
    clustered = 40 / 39  # variance_of_mean corrects sums over 40 clusters
    error = np.sqrt(0.25 * 2 / 20 * clustered)
    expected = 2 * stats.t.sf(0.2 / error, 19)
    assert balance_p_value(values, is_asked, np.arange(40)) == pytest.approx(expected)


def test_a_random_sample_is_seldom_doubted() -> None:
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(2000):
        values = (rng.random(1000) < 0.1).astype(float)
        is_asked = np.zeros(1000, np.bool_)
        is_asked[rng.choice(1000, 150, replace=False)] = True
        p_values.append(balance_p_value(values, is_asked, np.arange(1000)))
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.02)
    assert min(p_values) > 1e-6


def test_a_sample_without_a_rare_value_is_not_doubted_for_lack_of_variance() -> None:
    """None of 150 where 7% have it: (1 - .07) ** 150 = 2e-5; of 2%: 5%, and it cannot be told."""
    values = np.zeros(1000)
    values[-70:] = 1
    assert 1e-5 < balance_p_value(values, np.arange(1000) < 150, np.arange(1000)) < 1e-3
    values[-50:] = 0
    assert np.isnan(balance_p_value(values, np.arange(1000) < 150, np.arange(1000)))


def test_documents_that_were_asked_as_a_whole_are_clusters() -> None:
    rng = np.random.default_rng(5)
    p_values: dict[str, list[float]] = {"items": [], "documents": [], "chosen": []}
    for _ in range(400):
        levels = rng.random(40)
        document = np.repeat(np.arange(40), 20)
        values = (rng.random(800) < levels[document]).astype(float)
        is_asked = np.isin(document, rng.choice(40, 20, replace=False))
        p_values["items"].append(balance_p_value(values, is_asked, np.arange(800)))
        p_values["documents"].append(balance_p_value(values, is_asked, document))
        highest = np.isin(document, np.argsort(levels)[20:])
        p_values["chosen"].append(balance_p_value(values, highest, document))
    rates = {name: float(np.mean(np.array(ps) < 0.05)) for name, ps in p_values.items()}
    assert rates["items"] > 0.25
    assert 0 < rates["documents"] <= 0.06  # the degrees of freedom are those of one side
    assert max(p_values["chosen"]) < 1e-3


@pytest.mark.parametrize(
    "values", [np.ones(40), np.r_[np.ones(5), np.zeros(35)], np.full(40, np.nan)]
)
def test_what_cannot_be_told(values: np.ndarray) -> None:
    assert np.isnan(balance_p_value(values, np.arange(40) < 20, np.arange(40)))
    rng = np.random.default_rng(1)
    assert np.isnan(balance_p_value(rng.random(40), np.arange(40) < 9, np.arange(40)))


def test_lengths_must_fit() -> None:
    with pytest.raises(ValueError, match="3 values, 2 flags"):
        balance_p_value(np.ones(3), np.ones(2, np.bool_), np.arange(3))
