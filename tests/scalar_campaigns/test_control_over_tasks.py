"""Scores through the whole pipeline: judges over tasks, rejected assignments."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from scipy import stats

from annot_pipeline.errors import ConfigError, GateError
from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    SCALE,
    Row,
    by,
    expected_test,
    fates,
    gates,
    hit_of,
    of,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("correction", "passing"), [("none", 4), ("holm", 1), ("benjamini_hochberg", 3)]
)
def test_corrections_over_judges(correction: str, passing: int, stage: Any) -> None:
    """Adjusted by hand (Holm) and by scipy; undetermined judges are no tests."""
    shifts = {"j1": 40, "j2": 21, "j3": 20.5, "j4": 15, "j5": 2, "j6": 0}
    noise = [-14, 17, -25, 22, 5, -9, 30, -26]
    rows = [
        row
        for name, shift in shifts.items()
        for row in hit_of(name, [(50 + n, 50 + n - shift - d) for n, d in enumerate(noise)])
    ]
    rows += hit_of("few", CAREFUL[:1])
    quality = {"correction": correction, "min_power": 0}  # whoever does not pass fails
    built = stage(rows, quality=quality, tasks=[{"name": "*", "kind": "scalar"}])
    judges = by(built.rows("judges"), "judge")
    assert judges["few"]["p_adjusted"] is None
    p = [
        stats.ttest_1samp([shift + d for d in noise], 0, alternative="greater").pvalue
        for shift in shifts.values()
    ]
    adjusted = p
    if correction == "holm":  # p rises from judge to judge
        assert p == sorted(p)
        adjusted = [min(1, max(p[i] * (6 - i) for i in range(n + 1))) for n in range(6)]
    elif correction == "benjamini_hochberg":
        adjusted = stats.false_discovery_control(p, method="bh").tolist()
    assert [judges[name]["p_value"] for name in shifts] == pytest.approx(p)
    assert [judges[name]["p_adjusted"] for name in shifts] == pytest.approx(adjusted)
    verdicts = [judges[name]["verdict"] for name in shifts]
    assert verdicts == ["passed"] * passing + ["failed"] * (6 - passing)


def test_scope_campaign_or_task(stage: Any) -> None:
    """A judge careful in one task and careless in another."""
    rows = [*hit_of("ann", CAREFUL, task="t1"), *hit_of("ann", CARELESS, task="t2")]
    rows += [
        *hit_of("bob", CAREFUL, task="t2"),
        of(task="t3", judge="ann"),
        of(task="t3", judge="bob"),
    ]
    rows += [of(task="t4", judge="eve")]
    whole = by(stage(rows).rows("judges"), "task", "judge")
    p = stats.ttest_rel(*zip(*CAREFUL, *CARELESS, strict=True), alternative="greater").pvalue
    for task in ("t1", "t2", "t3"):
        assert whole[task, "ann"]["p_value"] == pytest.approx(p)
        assert whole[task, "ann"]["n_pairs"] == 16
        assert whole[task, "ann"]["verdict"] == "passed"
    assert whole["t4", "eve"]["verdict"] == "untested", "her task has no controls"
    built = stage(rows, quality={"scope": "task", "undetermined": "drop"})
    each = by(built.rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in each.items()} == {
        ("t1", "ann"): "passed",
        ("t2", "ann"): "failed",
        ("t2", "bob"): "passed",
        ("t3", "ann"): "untested",
        ("t3", "bob"): "untested",
        ("t4", "eve"): "untested",
    }
    assert each["t1", "ann"]["p_value"] == pytest.approx(
        stats.ttest_rel(*zip(*CAREFUL, strict=True), alternative="greater").pvalue
    )
    fate = fates(built, "task", "item", "judge")
    assert fate["t1", "s0/x", "ann"][0] == "used"
    assert fate["t2", "s0/x", "ann"][0] == "judge_failed"
    assert fate["t3", "s/x", "ann"][0] == "used"


@pytest.mark.parametrize(("test", "contrast"), [("paired_t", "paired"), ("welch", "pooled")])
def test_a_judge_tested_over_tasks_of_different_scales(
    test: str, contrast: str, stage: Any
) -> None:
    """In hundredths of each scale, so that the widest does not decide alone."""
    rows = hit_of("ann", CAREFUL, task="wide") + hit_of(
        "ann", [(1 + a / 25, 1 + b / 25) for a, b in CARELESS], task="narrow"
    )
    tasks = [{"name": "narrow", "kind": "scalar", "scale": [1, 5]}, *SCALE]
    quality = {"test": test, "contrast": contrast}
    (narrow, wide) = stage(rows, tasks=tasks, quality=quality).rows("judges")
    _, effect, p = expected_test(test, contrast, CAREFUL + CARELESS, (), False)
    assert narrow["effect"] == wide["effect"] == pytest.approx(effect)
    assert narrow["p_value"] == wide["p_value"] == pytest.approx(p)
    unlike = [tasks[0], {"name": "*", "kind": "scalar"}]
    with pytest.raises(ConfigError) as caught:
        stage(rows, tasks=unlike, quality=quality).rows("judges")
    assert "judges cannot be tested over tasks of different scales" in str(caught.value)
    each = stage(rows, tasks=unlike, quality=quality | {"scope": "task"}).rows("judges")
    narrow_verdict = "failed" if contrast == "paired" else "undetermined"  # 8 scores tell little
    assert {row["task"]: row["verdict"] for row in each} == {
        "narrow": narrow_verdict, "wide": "passed",
    }  # fmt: skip


def test_a_judge_who_fails_fails_in_all_tasks_of_the_campaign(stage: Any) -> None:
    rows = [*hit_of("ann", CARELESS, task="t1"), of(task="t2", judge="ann")]
    rows += [*hit_of("bob", CAREFUL, task="t1"), of(task="t2", judge="bob", score=40)]
    built = stage(rows)
    assert fates(built, "task", "item", "judge")["t2", "s/x", "ann"][0] == "judge_failed"
    row = by(built.rows("scores"), "task", "item")["t2", "s/x"]
    assert (row["raw_mean"], row["n_judgments"], row["unfiltered_mean"], row["n_unfiltered"]) == (
        40,
        1,
        50,
        2,
    )


@pytest.mark.parametrize("quality", [{}, {"undetermined": "drop"}])
def test_when_nobody_is_left(quality: Row, build: Any) -> None:
    pairs = CAREFUL[:1] if quality else CARELESS
    with pytest.raises(GateError) as caught:
        build(hit_of("ann", pairs), quality=quality)
    assert "nothing_used" in str(caught.value)
    assert "if all judges failed, check quality" in str(caught.value)


def test_controls_of_several_criteria(stage: Any) -> None:
    """A criterion with quality: false takes no part in the test, but in z and scores it does."""
    rows = [row | {"criterion": "fluency"} for row in hit_of("ann", CAREFUL)]
    rows += [row | {"criterion": "fun"} for row in hit_of("ann", [(b, a) for a, b in CAREFUL])]
    tasks = [SCALE[0] | {"criteria": {"fluency": {}, "fun": {"quality": False}}}]
    (judge,) = stage(rows, tasks=tasks).rows("judges")
    assert (judge["verdict"], judge["n_pairs"], judge["n_bad_reference"]) == ("passed", 8, 16)
    _, effect, p = expected_test("paired_t", "paired", CAREFUL, (), False)
    assert (judge["effect"], judge["p_value"]) == (pytest.approx(effect), pytest.approx(p))
    assert judge["mean"] == pytest.approx(fmean(x for pair in CAREFUL for x in pair))
    built = stage([*rows, *hit_of("bob", CAREFUL, criterion="fun")], tasks=SCALE)
    assert by(built.rows("judges"), "judge")["bob"]["verdict"] == "passed"


@pytest.mark.parametrize(("test", "contrast"), [("paired_t", "paired"), ("mann_whitney", "pooled")])
def test_a_reversed_criterion_is_turned_before_the_test(
    test: str, contrast: str, stage: Any
) -> None:
    """How robotic an output is: degraded copies get more."""
    turned = [(100 - a, 100 - b) for a, b in CAREFUL]
    rows = [row | {"criterion": "robotic"} for row in hit_of("ann", turned)]
    tasks = [SCALE[0] | {"criteria": {"robotic": {"reverse": True}}}]
    quality = {"test": test, "contrast": contrast}
    (judge,) = stage(rows, tasks=tasks, quality=quality).rows("judges")
    _, effect, p = expected_test(test, contrast, CAREFUL, (), False)
    assert judge["verdict"] == "passed"
    assert (judge["effect"], judge["p_value"]) == (pytest.approx(effect), pytest.approx(p))
    assert judge["mean_ordinary"] == pytest.approx(fmean(a for a, _ in CAREFUL))
    assert judge["mean_bad_reference"] == pytest.approx(fmean(b for _, b in CAREFUL))


STATUSES = {
    "Rejected": True, "rejected": True, "REJECTED": True, " Rejected ": True, "Approved": False,
    "Submitted": False, "": False, "not rejected": False, "Reject": False,
}  # fmt: skip


@pytest.mark.parametrize("policy", ["drop", "keep"])
def test_rejected_assignments(policy: str, build: Any) -> None:
    rows = [
        {"item": "i", "judge": f"j{n}", "status": status, "score": n}
        for n, status in enumerate(STATUSES)
    ]
    built = build(rows, quality={"rejected_assignments": policy}, gates={})
    actual = fates(built, "judge")
    for n, (status, rejected) in enumerate(STATUSES.items()):
        reason = f"assignment was rejected: '{status.strip()}'"
        dropped = rejected and policy == "drop"
        assert actual[f"j{n}"] == (("rejected", reason) if dropped else ("used", None)), status
    kept = [n for n, r in enumerate(STATUSES.values()) if not r or policy == "keep"]
    assert built.rows("scores")[0]["raw_mean"] == pytest.approx(fmean(kept))
    assert gates(built)["rejected_share"].value == 0, "no defect of the export"
