"""Verdicts through the whole pipeline: none without power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    KNOWN,
    YES_NO,
    Row,
    by,
    fates,
    gates,
    hit_of,
    known,
    labels,
)

pytestmark = pytest.mark.slow

PERFECT = "even a perfect record has p = "


def answered(**judges: str) -> list[Row]:
    """Judges whose known answers are right (y) or wrong (n), each with four items to label."""
    rows = [row for judge, given in judges.items() for row in known(judge, given, "y" * len(given))]
    return rows + [row for judge in judges for row in labels(judge, "ynny")]


def test_three_of_three_right_answers_are_not_failed(build: Any) -> None:
    """By hand: two classes, (1/2)^3 = .125; five right answers have 1/32.

    That only perfect records of six pass tells nothing of those who pass: .75 is assumed, which
    has power .4613 with 15 answers and .6302 with 16 (12 pass of both), and not below .5 again.
    """
    built = build(answered(ann="yyy", bob="yyyyyy", eve="yyyyyy"), tasks=YES_NO, quality=KNOWN)
    judges = by(built.rows("judges"), "judge")
    ann = judges["ann"]
    assert (ann["verdict"], ann["dropped"], ann["p_value"]) == ("undetermined", False, 0.125)
    assert ann["verdict_reason"] == (
        f"3 known answers: {PERFECT}0.125, not below 0.05 (5 are enough); "
        "16 are needed for a power of 0.5"
    )
    assert (ann["n_needed"], ann["power"]) == (16, 0)
    assert (judges["bob"]["verdict"], judges["bob"]["n_needed"]) == ("passed", None)
    assert fates(built, "judge", "item")["ann", "i0"][0] == "used"
    gate = gates(built)["verdicts_without_power"]
    assert (gate.level, gate.value) == ("warn", 1)
    assert gate.detail == "1 judge with 3 controls: 16 are needed"


def test_a_judge_without_known_answers_is_told_no_number(stage: Any) -> None:
    rows = answered(ann="yyyyyy", bob="yyyyyy") + labels("new", "ynny")
    [judge] = [j for j in stage(rows, tasks=YES_NO, quality=KNOWN).rows("judges")
               if j["judge"] == "new"]  # fmt: skip
    assert (judge["verdict"], judge["verdict_reason"]) == ("undetermined", "no known answers")


def test_a_perfect_record_that_cannot_pass_the_correction(stage: Any) -> None:
    """Six judges with 5 of 5: Holm asks the first for .05/6, and 1/32 is more."""
    rows = answered(**{f"j{n}": "yyyyy" for n in range(6)})
    plain = stage(rows, tasks=YES_NO, quality=KNOWN).rows("judges")
    assert {row["verdict"] for row in plain} == {"passed"}
    for correction, level in (("holm", 0.05 / 6), ("benjamini_hochberg", 0.05)):
        built = stage(rows, tasks=YES_NO, quality=KNOWN | {"correction": correction})
        verdicts = {row["verdict"] for row in built.rows("judges")}
        assert verdicts == ({"undetermined"} if level < 1 / 32 else {"passed"})
    built = stage(rows, tasks=YES_NO, quality=KNOWN | {"correction": "holm"})
    assert {row["verdict_reason"] for row in built.rows("judges")} == {
        f"5 known answers: {PERFECT}0.0312, not below 0.00833 (7 are enough); "
        "28 are needed for a power of 0.5"
    }
    power = []
    for n in range(7, 60):
        p = stats.binom.sf(np.arange(n + 1) - 1, n, 0.5)
        power.append(stats.binom.sf(np.flatnonzero(p < 0.05 / 6)[0] - 1, n, 0.75))
    assert max(n for n, of_n in enumerate(power, 7) if of_n < 0.5) == 27


@pytest.mark.parametrize("n", [2, 3, 4])
def test_signed_ranks_of_few_pairs(n: int, stage: Any) -> None:
    """2^-4 = 1/16, also of tied differences, whose p by the normal approximation is .036."""
    tied = [(80 + k, 40 + k) for k in range(n)]
    rows = hit_of("ann", CAREFUL) + hit_of("bob", CAREFUL[:n]) + hit_of("eve", tied)
    judges = by(stage(rows, quality={"test": "signed_rank"}).rows("judges"), "judge")
    assert judges["ann"]["verdict"] == "passed"
    for name in ("bob", "eve"):
        assert judges[name]["verdict"] == "undetermined"
        assert f"{PERFECT}{0.5**n:.3g}, not below 0.05" in judges[name]["verdict_reason"]
        assert judges[name]["n_needed"] >= 5


def test_rank_sums_of_three_scores(stage: Any) -> None:
    """3 against 3: 1 of 20 orders, .05, and a judge passes with p below."""
    rows = hit_of("ann", CAREFUL) + hit_of("bob", CAREFUL[:3])
    quality = {"test": "mann_whitney", "contrast": "pooled"}
    bob = by(stage(rows, quality=quality).rows("judges"), "judge")["bob"]
    assert (bob["verdict"], bob["power"]) == ("undetermined", 0)
    assert bob["verdict_reason"].startswith(f"3 scores in the smaller sample: {PERFECT}0.05")
    assert bob["verdict_reason"].endswith("; 5 are needed for a power of 0.5")


def careful(draw: np.random.Generator, n: int) -> list[tuple[float, float]]:
    """Pairs as METHODS has them: item sd 22, noise 12, degradation 20."""
    item = draw.normal(55, 22, n)
    return [(a, b) for a, b in zip(item + draw.normal(0, 12, n), item - 20 + draw.normal(0, 12, n),
                                   strict=True)]  # fmt: skip


def rounded(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(round(min(max(a, 0), 100)), round(min(max(b, 0), 100))) for a, b in pairs]


@pytest.mark.parametrize("test", ["paired_t", "signed_rank"])
def test_careful_judges_with_few_pairs_do_not_fail(test: str, stage: Any) -> None:
    """The paired t-test with 2 pairs fails four of five; with 10 it finds nearly all."""
    draw = np.random.default_rng(4)
    rows = []
    for size in (2, 3, 10):
        for n in range(20):
            rows += hit_of(f"{size}-{n}", rounded(careful(draw, size)))
    for n in range(10):
        rows += hit_of(f"eve{n}", draw.integers(0, 101, (10, 2)).tolist())
    judges = stage(rows, quality={"test": test}).rows("judges")
    verdicts = Counter((row["judge"].split("-")[0][:3], row["verdict"]) for row in judges)
    assert verdicts["2", "failed"] == 0
    assert verdicts["2", "undetermined"] >= 10
    assert verdicts["3", "failed"] == 0
    assert verdicts["10", "passed"] >= 17
    assert verdicts["eve", "failed"] >= 8, "ten pairs are enough to tell who does not look"
    needed = {row["n_needed"] for row in judges if row["verdict"] == "undetermined"}
    assert len(needed) == 1
    assert 3 < needed.pop() <= 10


def test_verdicts_do_not_depend_on_who_else_has_few_controls(stage: Any) -> None:
    """Judges with one pair tell nothing of the spread, and change nobody's verdict."""
    rows = hit_of("ann", CAREFUL) + hit_of("bob", CARELESS) + hit_of("joe", CARELESS[:3])
    alone = by(stage(rows).rows("judges"), "judge")
    more = [row for n in range(9) for row in hit_of(f"few{n}", CAREFUL[:1])]
    beside = by(stage(rows + more).rows("judges"), "judge")
    compared = ("bias", "spread", "inconsistency", "correlation", "n_shared_items")
    for name, row in alone.items():
        assert [key for key in row if row[key] != beside[name][key] and key not in compared] == []
    assert alone["bob"]["verdict"] == "failed"


def test_min_power_decides(stage: Any) -> None:
    """4 of 5 right, beside judges of .9: a judge of that accuracy passes in .9^5 = .59.

    Of 60 answers 37 pass, which a judge of .9 does always: selection changes nothing.
    """
    answers = {f"j{n}": "yyyyyyyyyn" * 6 for n in range(4)}
    rows = answered(bob="yyyyn", **answers)
    for min_power, verdict in ((0.59, "failed"), (0.591, "undetermined")):
        quality = KNOWN | {"min_power": min_power}
        bob = by(stage(rows, tasks=YES_NO, quality=quality).rows("judges"), "judge")["bob"]
        assert bob["power"] == pytest.approx(0.9**5)
        assert bob["verdict"] == verdict
    assert bob["verdict_reason"] == (
        "5 known answers, 8 are needed: the power is 0.59 for an accuracy of 0.9 (of the judges "
        "who pass, corrected for selection), 0.591 is needed"
    )


def test_where_nobody_passes(build: Any) -> None:
    """A crowd that does not look fails by many controls; few tell nothing of anybody."""
    many = [row for n in range(4) for row in hit_of(f"j{n}", CARELESS * 2)]
    few = [row for n in range(4) for row in hit_of(f"k{n}", CARELESS[:4])]
    for rows, verdict in ((many, "failed"), (few, "undetermined")):
        built = build(rows, gates={"nothing_used": {"error": None}})
        judges = built.rows("judges")
        assert {row["verdict"] for row in judges} == {verdict}
        assert {row["required_effect"] for row in judges} == {None}
    assert "(assumed: no judge passes)" in judges[0]["verdict_reason"]
    assert gates(built)["verdicts_without_power"].value == 4


def test_each_task_has_its_own_careful_judges(stage: Any) -> None:
    """scope: task on scales of 100 and of 1: effects are not pooled."""
    small = [(a / 100, b / 100) for a, b in CAREFUL]
    rows = hit_of("ann", CAREFUL, task="wide") + hit_of("ann", small, task="narrow")
    rows += hit_of("bob", [(a / 100, b / 100) for a, b in CARELESS], task="narrow")
    tasks = [
        {"name": "narrow", "kind": "scalar", "scale": [0, 1]},
        {"name": "*", "kind": "scalar", "scale": [0, 100]},
    ]
    judges = by(stage(rows, tasks=tasks, quality={"scope": "task"}).rows("judges"), "task", "judge")
    wide, narrow = judges["wide", "ann"], judges["narrow", "ann"]
    assert wide["required_effect"] == pytest.approx(wide["effect"] / 2, rel=0.003)
    assert narrow["required_effect"] == pytest.approx(narrow["effect"] / 2, rel=0.003)
    assert judges["narrow", "bob"]["verdict"] == "failed"
    assert judges["narrow", "bob"]["required_effect"] == narrow["required_effect"]


def test_the_required_effect_of_known_answers_is_halfway_from_chance(stage: Any) -> None:
    """9 and 10 of 10 pass; both are as likely where p = 10 (1 - p), at 10/11."""
    judges = by(
        stage(answered(ann="y" * 10, bob="y" * 9 + "n", eve="y" * 3 + "n" * 17), tasks=YES_NO,
              quality=KNOWN).rows("judges"), "judge",
    )  # fmt: skip
    eve = judges["eve"]
    assert eve["required_effect"] == pytest.approx((10 / 11 - 0.5) / 2)
    assert eve["effect_high"] == pytest.approx(0.37893 - 0.5, abs=1e-4), "3 of 20, Clopper-Pearson"
    assert eve["verdict"] == "failed"


def test_where_only_perfect_records_pass_the_assumed_accuracy_tells_what_is_required(
    build: Any,
) -> None:
    """By hand: of 6 answers 6 pass; halfway from 1/2 to 3/4; 0 of 20: at most 1 - .025^(1/20)."""
    answers = {f"j{n}": "yyyyyy" for n in range(3)} | {"eve": "n" * 20, "joe": "nnnnnn"}
    judges = by(build(answered(**answers), tasks=YES_NO, quality=KNOWN).rows("judges"), "judge")
    assert [judge["required_effect"] for judge in judges.values()] == pytest.approx([0.125] * 5)
    assert judges["eve"]["effect_high"] == pytest.approx(1 - 0.025 ** (1 / 20) - 0.5)
    assert (judges["eve"]["verdict"], judges["joe"]["verdict"]) == ("failed", "undetermined")


def test_a_requirement_of_the_campaign(stage: Any) -> None:
    rows = hit_of("ann", CAREFUL) + hit_of("bob", CARELESS)
    judges = stage(rows, quality={"required_effect": 7.5}).rows("judges")
    assert {row["required_effect"] for row in judges} == {7.5}


@pytest.mark.parametrize(("n_judges", "verdict"), [(3, "undetermined"), (20, "failed")])
def test_a_crowd_of_which_nobody_passes(n_judges: int, verdict: str, stage: Any) -> None:
    """Ten known answers each, five right: a judge of .75 passes in .244, one of 20 in .996."""
    rows = answered(**{f"j{n}": "yn" * 5 for n in range(n_judges)})
    judges = stage(
        rows, tasks=YES_NO, quality=KNOWN,
        gates={"nothing_used": {"error": None}, "judges_failed": {"error": None}},
    ).rows("judges")  # fmt: skip
    assert {row["verdict"] for row in judges} == {verdict}
    assert judges[0]["power"] == pytest.approx(stats.binom.sf(8, 10, 0.75))
    assert 1 - (1 - judges[0]["power"]) ** 20 > 0.95 > 1 - (1 - judges[0]["power"]) ** 3
    assert {row["required_effect"] for row in judges} == {None}, "nobody is rejected for it"
    if verdict == "failed":
        assert judges[0]["verdict_reason"] == (
            "no judge passes, although at least one of so many judges with "
            "an accuracy of 0.75 would"
        )
