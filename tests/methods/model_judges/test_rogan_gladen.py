"""Corrected prevalences: by hand, a published value, coverage by simulation, degenerate input."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.model_judges.rogan_gladen import (
    NO_HUMAN_ITEMS,
    NO_ITEMS,
    TOO_FEW,
    UNINFORMATIVE,
    rogan_gladen,
)


def test_published_value():
    """The manual of R's epiR: 23 of 150 cows, sensitivity 96%, specificity 89%: 5.1 per 100."""
    result = rogan_gladen(23, 150, 96, 100, 89, 100)
    assert result.value == pytest.approx(0.051, abs=5e-4)
    assert (result.sensitivity, result.specificity) == (0.96, 0.89)


def test_interval_by_hand():
    """30 of 100; sensitivity 18 of 20, specificity 36 of 40.

    z^2 = 3.8415: n' = 103.8415, share' = 31.9207 / 103.8415 = .30740; Se' = 19 / 22 = .86364,
    Sp' = 37 / 42 = .88095; Youden' = .74459; P' = .18835 / .74459 = .25296.
    Errors: .86364 x .13636 / 22 = .0053531; .88095 x .11905 / 42 = .0024970.
    Shift: 2 x 3.8415 x (.25296 x .0053531 - .74704 x .0024970) = -.0039283.
    Variance: .30740 x .69260 / 103.8415 + .063989 x .0053531 + .558068 x .0024970 = .0037864.
    Half: 1.95996 x .061534 / .74459 = .161974.
    """
    result = rogan_gladen(30, 100, 18, 20, 36, 40)
    assert result.value == pytest.approx(0.25)
    assert result.low == pytest.approx(0.25296 - 0.00393 - 0.16197, abs=2e-5)
    assert result.high == pytest.approx(0.25296 - 0.00393 + 0.16197, abs=2e-5)
    assert result.reason is None


def test_a_perfect_model_with_many_human_items_has_nearly_the_apparent_share():
    result = rogan_gladen(300, 1000, 10**7, 10**7, 10**7, 10**7)
    assert result.value == pytest.approx(0.3)
    assert (result.low, result.high) == pytest.approx((0.2725, 0.3292), abs=2e-4)  # Agresti-Coull


def test_classes_are_complements():
    """What is left of one is the prevalence of not having the class."""
    one, other = rogan_gladen(30, 100, 18, 20, 36, 40), rogan_gladen(70, 100, 36, 40, 18, 20)
    assert one.value == pytest.approx(1 - other.value)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))


@pytest.mark.parametrize(
    ("prevalence", "sensitivity", "specificity", "n_human"),
    [(0.3, 0.85, 0.9, 100), (0.05, 0.8, 0.95, 300), (0.6, 0.7, 0.75, 200)],
)
def test_intervals_cover(prevalence, sensitivity, specificity, n_human):
    rng = np.random.default_rng(1)
    repeats, covered = 3000, 0
    n_with = round(n_human * 0.4)
    for _ in range(repeats):
        share = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
        result = rogan_gladen(
            int(rng.binomial(1000, share)), 1000,
            int(rng.binomial(n_with, sensitivity)), n_with,
            int(rng.binomial(n_human - n_with, specificity)), n_human - n_with,
        )  # fmt: skip
        covered += result.low <= prevalence <= result.high
    assert 0.94 < covered / repeats < 0.975


def test_values_are_clipped():
    below = rogan_gladen(1, 100, 18, 20, 36, 40)
    assert below.value == below.low == 0 < below.high
    above = rogan_gladen(99, 100, 18, 20, 36, 40)
    assert above.value == above.high == 1 > above.low


def test_reasons():
    for counts, reason in (
        ((0, 0, 18, 20, 36, 40), NO_ITEMS),
        ((30, 100, 0, 0, 36, 40), NO_HUMAN_ITEMS),
        ((30, 100, 18, 20, 0, 0), NO_HUMAN_ITEMS),
        ((30, 100, 10, 20, 20, 40), UNINFORMATIVE),
        ((30, 100, 1, 10, 9, 10), UNINFORMATIVE),
        ((30, 100, 1, 20, 20, 40), UNINFORMATIVE),
    ):
        result = rogan_gladen(*counts)
        assert result.reason == reason
        assert np.isnan([result.value, result.low, result.high]).all()
    few = rogan_gladen(30, 100, 2, 2, 200, 1000)
    assert few.reason == TOO_FEW
    assert few.value == 0
    assert np.isnan(few.low)
    with pytest.raises(ValueError, match="totals"):
        rogan_gladen(3, 2, 1, 1, 1, 1)
    with pytest.raises(ValueError, match="totals"):
        rogan_gladen(-1, 2, 1, 1, 1, 1)
