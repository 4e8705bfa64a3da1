"""Certificates of labels: exact bounds, worked numbers, and how often a certificate is wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from annot_pipeline.methods.labels.label_audit import (
    LEVELS,
    AuditDesign,
    audit_design,
    error_bound,
    fewest_items,
    level_bands,
    level_tests,
)


def counts(**by_level: int) -> np.ndarray:
    """Return items by band; ``p90``: of those from .9 to the level above it."""
    bands = np.zeros(len(LEVELS), np.int64)
    for name, n in by_level.items():
        bands[LEVELS.index(int(name[1:]) / 100)] = n
    return bands


def test_worked_numbers():
    """With zero errors 59 items are needed for .95, with one 93 (Clopper-Pearson tables)."""
    assert [fewest_items(0.95, errors) for errors in range(5)] == [59, 93, 124, 153, 181]
    assert [fewest_items(share) for share in (0.9, 0.99)] == [29, 299]
    assert error_bound(0, 59) == pytest.approx(1 - 0.05 ** (1 / 59))
    assert error_bound(3, 100) == pytest.approx(0.07571, abs=1e-5)
    assert binom.cdf(3, 100, error_bound(3, 100)) == pytest.approx(0.05)
    assert error_bound(5, 5) == 1


def test_bands_hold_their_lower_end():
    bands = level_bands(np.array([1, 0.99, 0.98999, 0.95, 0.9, 0.31]))
    assert [LEVELS[band] for band in bands.tolist()] == [0.99, 0.99, 0.98, 0.95, 0.9, 0]


def test_the_sample_is_of_the_strictest_set_with_room():
    """RTE's 162 items from .9 on, 423 from .85 on, 800 in all."""
    rte = counts(p93=55, p90=107, p85=261, p80=132, p75=90, p70=51, p60=61, p50=43)
    small, large = audit_design(rte, 60, 0.95), audit_design(rte, 400, 0.95)
    assert small is not None
    assert large is not None
    assert (small.sizes.tolist(), small.drawn.tolist()) == ([162], [60])
    assert [LEVELS[band] for band in large.bands.tolist()] == [0.85, 0.8, 0.75]
    assert large.sizes.tolist() == [423, 132, 90]
    assert large.drawn.tolist() == [262, 82, 56]  # 400 in proportion
    assert large.strata(level_bands(np.array([0.95, 0.86, 0.8, 0.7]))).tolist() == [0, 0, 1, -1]
    assert large.by_stratum(rte).tolist() == [423, 132, 90]
    assert audit_design(rte, 58, 0.95) is None  # even without an error
    assert audit_design(counts(p99=58), 100, 0.95) is None
    whole = audit_design(counts(p99=60), 1_000, 0.95)
    assert whole is not None
    assert whole.drawn.tolist() == [60]


def test_levels_are_tested_from_the_strictest_to_the_first_that_fails():
    design = AuditDesign(np.array([3, 5, 6]), np.array([100, 100, 100]), np.array([100, 100, 100]))
    held = [*level_tests(design, np.array([0, 2, 40]), 0.95)]
    assert [test.level for test in held] == [0.95, 0.9, 0.85]
    assert [test.errors for test in held] == [0, 2, 42]
    assert [test.bound <= 0.05 for test in held] == [True, True, False]
    assert len([*level_tests(design, np.array([20, 0, 0]), 0.95)]) == 1


def test_all_items_answered_leave_no_doubt():
    """3 of 60 labels are wrong: 5%, which a sample of 60 from more would bound by 12.4%."""
    counts = np.bincount([0], minlength=len(LEVELS)) * 60
    design = audit_design(counts, 60, 0.95)
    [test] = level_tests(design, np.array([3]), 0.95)
    assert (test.n, test.bound) == (60, 0.05)
    larger = audit_design(counts * 10, 60, 0.95)
    [test] = level_tests(larger, np.array([3]), 0.95)
    assert test.bound == pytest.approx(0.1242, abs=5e-5)


def test_a_stratum_with_a_smaller_share_of_the_sample_widens_the_bound():
    design = AuditDesign(np.array([3, 5]), np.array([200, 600]), np.array([100, 100]))
    first, second = level_tests(design, np.array([0, 0]), 0.9)
    assert first.bound == pytest.approx(error_bound(0, 100))
    assert second.bound == pytest.approx(1.5 * error_bound(0, 200))  # 3/4 of items, 1/2 of it


@pytest.mark.parametrize("n", [45, 70])
def test_a_wrong_certificate_is_as_rare_as_promised(n):
    """Exact: all outcomes of sampling without replacement, whatever the errors by stratum."""
    certain_at = 0.9
    design = audit_design(counts(p95=60, p90=50, p80=30), n, certain_at)
    assert design is not None
    sizes, drawn = design.sizes.tolist(), design.drawn.tolist()
    outcomes = list(itertools.product(*(range(12) for _ in sizes)))
    certified = np.zeros(len(outcomes), np.int64)  # the number of levels that hold
    for k, errors in enumerate(outcomes):
        tests = level_tests(design, np.array(errors), certain_at)
        certified[k] = sum(test.bound <= 1 - certain_at for test in tests)
    worst = 0.0
    for wrong in itertools.product(*(range(0, 25, 2) for _ in sizes)):
        false = [
            sum(wrong[: k + 1]) > (1 - certain_at) * sum(sizes[: k + 1]) for k in range(len(sizes))
        ]
        first = next((k + 1 for k, is_false in enumerate(false) if is_false), None)
        if first is None:
            continue
        is_wrong = certified >= first  # any level that is certified and false
        chance = np.prod(
            [
                hypergeom.pmf(np.array(outcomes)[:, h], sizes[h], wrong[h], drawn[h])
                for h in range(len(sizes))
            ],
            axis=0,
        )
        worst = max(worst, float(chance[is_wrong].sum()))
    assert 0.001 < worst <= 0.05
