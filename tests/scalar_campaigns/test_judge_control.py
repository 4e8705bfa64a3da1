"""Scores through the whole pipeline: judge control."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError, counted
from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    Row,
    by,
    expected_test,
    fates,
    gates,
    hit_of,
    of,
)

AGAIN = [(70, 66), (52, 60), (85, 80), (61, 61), (88, 92), (45, 51), (74, 77), (57, 50)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("test", "contrast", "signed"),
    [
        ("paired_t", "paired", False),
        ("signed_rank", "paired", False),
        ("welch", "pooled", False),
        ("mann_whitney", "pooled", False),
        ("welch", "difference", False),
        ("mann_whitney", "difference", False),
        ("welch", "difference", True),
        ("mann_whitney", "difference", True),
    ],
)
def test_every_test_of_every_contrast(test: str, contrast: str, signed: bool, stage: Any) -> None:
    """Statistic, effect, p and verdict as scipy has them."""
    judges = {"careful": CAREFUL, "careless": CARELESS}
    rows = [row for name, given in judges.items() for row in hit_of(name, given, AGAIN)]
    built = stage(rows, quality={"test": test, "contrast": contrast, "signed": signed})
    actual = by(built.rows("judges"), "judge")
    for name, given in judges.items():
        statistic, effect, p = expected_test(test, contrast, given, AGAIN, signed)
        judge = actual[name]
        assert judge["effect"] == pytest.approx(effect)
        assert judge["p_value"] == judge["p_adjusted"] == pytest.approx(p)
        assert judge["verdict"] == ("passed" if p < 0.05 else "failed")
        assert judge["dropped"] == (p >= 0.05)
        assert (judge["test"], judge["contrast"], judge["n_pairs"]) == (test, contrast, 8)
        assert (judge["n_bad_reference"], judge["n_ask_again"]) == (8, 8)
        if test in ("paired_t", "welch"):
            assert judge["statistic"] == pytest.approx(statistic)
    assert actual["careful"]["verdict"] == "passed"
    assert actual["careless"]["verdict"] == "failed"
    kept = {row["judge"]: row["fate"] for row in built.rows("lineage") if row["item"] == "s0/x"}
    assert kept["careless"] == "judge_failed"
    (reason,) = {row["reason"] for row in built.rows("lineage") if row["judge"] == "careless"}
    assert reason == f"judge control: failed ({test}, p = {actual['careless']['p_value']:.4g})"
    scores = by(built.rows("scores"), "item")["s0/x"]
    assert (scores["raw_mean"], scores["unfiltered_mean"]) == (72, 61)


PAIRED_ONLY = "compares pairs; with contrast: {} write test: welch or mann_whitney"


TWO_SAMPLES = (
    "compares two samples; write contrast: pooled (all ordinary scores against all degraded ones) "
    "or difference (d2 against d1)"
)


REFUSED = {
    (test, contrast): f"{test} {why.format(contrast)}"
    for tests, contrasts, why in (
        (("paired_t", "signed_rank"), ("pooled", "difference"), PAIRED_ONLY),
        (("welch", "mann_whitney"), ("paired",), TWO_SAMPLES),
    )
    for test, contrast in product(tests, contrasts)
}


@pytest.mark.parametrize(("test", "contrast"), REFUSED)
def test_tests_that_do_not_fit_the_contrast(test: str, contrast: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([of()], quality={"test": test, "contrast": contrast})
    assert str(caught.value).splitlines()[1] == f"  quality: {REFUSED[test, contrast]}"


@pytest.mark.parametrize(
    ("quality", "error"),
    [
        ({"signed": True}, "quality: signed belongs to contrast: difference"),
        ({"test": "t_test"}, "quality.test: 't_test' is not allowed"),
        ({"contrast": "pairs"}, "quality.contrast: 'pairs' is not allowed"),
        (
            {"min_pairs": 1},
            "quality.min_pairs: input should be greater than or equal to 2 (found '1')",
        ),
        ({"alpha": 0}, "quality.alpha: input should be greater than 0 (found '0')"),
        ({"alpha": 1}, "quality.alpha: input should be less than 1 (found '1')"),
        ({"correction": "bonferroni"}, "quality.correction: 'bonferroni' is not allowed"),
        ({"scope": "judge"}, "quality.scope: 'judge' is not allowed"),
        ({"undetermined": "pass"}, "quality.undetermined: 'pass' is not allowed"),
        ({"known_accuracy": 1}, "quality.known_accuracy: input should be less than 1 (found '1')"),
        ({"tests": "none"}, "quality.tests: unknown key"),
    ],
)
def test_settings_that_are_none(quality: Row, error: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([of()], quality=quality)
    assert error in str(caught.value)


def test_no_test(stage: Any) -> None:
    built = stage(hit_of("careless", CARELESS), quality={"test": "none"})
    (judge,) = built.rows("judges")
    assert (judge["verdict"], judge["verdict_reason"]) == ("untested", "quality.test is none")
    assert (judge["test"], judge["contrast"], judge["p_value"], judge["n_pairs"]) == (
        None,
        None,
        None,
        0,
    )
    assert not judge["dropped"]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("undetermined", ["keep", "drop"])
def test_a_judge_with_too_few_controls(undetermined: str, stage: Any) -> None:
    rows = [*hit_of("careful", CAREFUL), *hit_of("one", CAREFUL[:1]), of(judge="none")]
    built = stage(rows, quality={"undetermined": undetermined})
    judges = by(built.rows("judges"), "judge")
    assert judges["careful"]["verdict"] == "passed"
    dropped = undetermined == "drop"
    for name, n in (("one", 1), ("none", 0)):
        judge = judges[name]
        assert judge["verdict"] == "undetermined", "a campaign with controls asks them of everyone"
        assert judge["verdict_reason"] == f"{counted(n, 'pair')}, 3 are needed"
        assert judge["n_needed"] == 3
        assert (judge["dropped"], judge["n_pairs"], judge["p_value"]) == (dropped, n, None)
    fate = fates(built, "item", "judge")["s/x", "none"]
    why = "judge control: undetermined (0 pairs, 3 are needed)"
    assert fate == (("judge_failed", why) if dropped else ("used", None))
    assert gates(built)["judges_undetermined"].value == pytest.approx(2 / 3)
    assert gates(built)["few_controls"].value == 1, "8 pairs are few, too"


@pytest.mark.sampled
@pytest.mark.parametrize(("min_pairs", "verdict"), [(8, "passed"), (9, "undetermined")])
def test_how_many_pairs_are_enough(min_pairs: int, verdict: str, stage: Any) -> None:
    (judge,) = stage(hit_of("ann", CAREFUL), quality={"min_pairs": min_pairs}).rows("judges")
    assert judge["verdict"] == verdict


@pytest.mark.slow
def test_a_campaign_without_controls_tests_nobody(stage: Any) -> None:
    built = stage([of(), of("t", judge="bob")], quality={"undetermined": "drop"})
    for judge in built.rows("judges"):
        assert (judge["verdict"], judge["dropped"]) == ("untested", False)
        assert judge["verdict_reason"] == "no controls for this test"


@pytest.mark.slow
def test_references_alone_are_no_controls_for_the_paired_test(stage: Any) -> None:
    rows = [of(), of(control="good_reference", score=90), of(control="ask_again", score=60)]
    (judge,) = stage(rows).rows("judges")
    assert (judge["verdict"], judge["n_good_reference"], judge["n_ask_again"]) == ("untested", 1, 1)
    assert (judge["mean_good_reference"], judge["mean_ordinary"]) == (90, 60)


ZERO_VARIANCE = {
    "everything one score": ([(70.1, 70.1)] * 5, "failed"),
    "always ten points lower": ([(60, 50), (80, 70), (30, 20)], "passed"),
    "always ten points higher": ([(50, 60), (70, 80), (20, 30)], "failed"),
    "always a tenth lower, as decimals": ([(0.3, 0.2), (0.8, 0.7), (0.2, 0.1)], "passed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("test", ["paired_t", "signed_rank"])
@pytest.mark.parametrize("name", ZERO_VARIANCE)
def test_no_variance_is_decided_by_the_means(name: str, test: str, stage: Any) -> None:
    pairs, verdict = ZERO_VARIANCE[name]
    if test == "signed_rank":
        pairs = pairs * 5  # three pairs can never be significant by ranks
        pairs = [(a, b) for a, b in pairs]
    (judge,) = _all_judges(stage, hit_of("ann", pairs), {"test": test})
    assert judge["verdict"] == verdict
    if test == "paired_t" and "decimals" not in name:
        assert judge["verdict_reason"] == "the scores do not vary: decided by the means"
        assert judge["p_value"] == (0 if verdict == "passed" else 1)
        assert judge["statistic"] in (None, 0)


def _all_judges(build: Any, rows: list[Row], quality: Row) -> list[Row]:
    """Judges, with one more who passes, so that something is left to publish."""
    built = build([*rows, *hit_of("careful", CAREFUL * 2, AGAIN)], quality=quality)
    judges: list[Row] = built.rows("judges")
    assert by(judges, "judge")["careful"]["verdict"] == "passed"
    return [row for row in judges if row["judge"] != "careful"]
