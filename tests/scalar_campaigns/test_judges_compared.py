"""Judges of scores compared with each other, and screened, through the whole pipeline."""

from __future__ import annotations

import random
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from tests.scalar_campaigns.judged import Row, by, fates, gates

pytestmark = pytest.mark.slow

LISTENERS = 12
FIVE = [{"name": "*", "kind": "scalar", "scale": [1, 5]}]
COMPARED = ("bias", "spread", "inconsistency", "correlation", "n_shared_items")


def listening_test(n_clips: int = 40, seed: int = 1) -> list[Row]:
    """Twelve listeners grade clips from 1 to 5; s9 to s12 answer at random, s1 grades high."""
    draw = random.Random(seed)
    rows = []
    for clip in range(n_clips):
        quality = draw.uniform(1, 5)
        for n in range(1, LISTENERS + 1):
            score = quality + draw.gauss(0, 0.6) + (0.7 if n == 1 else 0)
            grade = draw.randint(1, 5) if n > 8 else min(max(round(score), 1), 5)
            rows.append({"judge": f"s{n}", "item": f"clip{clip}", "score": grade})
    return rows


def test_random_listeners_are_told_by_default(build: Any) -> None:
    built = build(listening_test(), tasks=FIVE)
    judges = by(built.rows("judges"), "judge")
    for n in range(1, LISTENERS + 1):
        judge = judges[f"s{n}"]
        assert (judge["verdict"], judge["n_shared_items"]) == ("untested", 40)
        assert (judge["correlation"] < 0.5) == (n > 8)
        assert (judge["inconsistency"] > 1.2) == (n > 8)
        assert (judge["spread"] < 0.5) == (n > 8)
    assert 0.3 < judges["s1"]["bias"] < 1
    assert all(judges[f"s{n}"]["bias"] < 0.3 for n in range(2, 9))
    gate = gates(built)["inconsistent_judges"]
    assert (gate.level, gate.value) == ("warn", 4)
    for n in (9, 10, 11, 12):
        assert f"s{n} (correlation {judges[f's{n}']['correlation']:.2f}, 40 items)" in gate.detail


def test_the_gates_minimum_of_shared_items(stage: Any) -> None:
    for minimum, value in ((40, 4), (41, 0)):
        built = stage(
            listening_test(), tasks=FIVE, gates={"inconsistent_judges": {"minimum": minimum}}
        )
        built.run("judges")
        assert gates(built)["inconsistent_judges"].value == value


def test_random_listeners_fail_the_test_of_consistency(build: Any) -> None:
    built = build(listening_test(), tasks=FIVE, quality={"test": "consistency"})
    judges = by(built.rows("judges"), "judge")
    failed = [name for name, judge in judges.items() if judge["verdict"] == "failed"]
    assert sorted(failed) == ["s10", "s11", "s12", "s9"]
    assert {judge["verdict"] for name, judge in judges.items() if name not in failed} == {"passed"}
    fate, reason = fates(built, "judge", "item")["s9", "clip3"]
    assert fate == "judge_failed"
    assert reason == f"judge control: failed (consistency, p = {judges['s9']['p_value']:.4g})"
    scores = by(built.rows("scores"), "item")
    assert {row["n_judgments"] for row in scores.values()} == {8}
    actual = gates(built)
    assert actual["inconsistent_judges"].level == "pass"
    assert actual["judges_failed"].value == pytest.approx(4 / 12)


def test_neither_the_seed_nor_pseudonyms_move_p(stage: Any) -> None:
    """Orders are drawn by the judge's own name; hits may be planned with another seed."""
    quality = {"test": "consistency"}

    def p_values(*sets: str, **more: Any) -> list[float]:
        built = stage(listening_test(), *sets, tasks=FIVE, quality=quality, **more)
        return sorted(row["p_value"] for row in built.rows("judges"))

    plain = p_values()
    assert p_values() == plain
    assert p_values(privacy={"pseudonymize": True}) == plain
    assert p_values("seed=18") == plain


ALL = ("L0", "L1", "L2", "L3")


def mushra(low: dict[str, int], scale: float = 1.0, n_trials: int = 10) -> list[Row]:
    """Four listeners score a hidden reference, an anchor and two codecs in each trial.

    ``low``: in how many trials a listener gives the reference 55 of 100.
    """
    draw = random.Random(7)
    rows = []
    for trial in range(n_trials):
        for listener in ALL:
            scores = {
                "reference": 55 if trial < low.get(listener, 0) else 90 + trial % 2 * 10,
                "anchor": draw.randint(5, 30),
                "C1": draw.randint(40, 70),
                "C2": draw.randint(60, 90),
            }  # fmt: skip
            control = {"reference": "good_reference", "anchor": "bad_reference"}
            rows += [
                {"judge": listener, "segment": f"t{trial}", "system": system,
                 "score": score * scale, "control": control.get(system, "none")}
                for system, score in scores.items()
            ]  # fmt: skip
    return rows


BY_REFERENCE = {"test": "reference_threshold"}


def test_who_scores_the_hidden_reference_low_fails(build: Any) -> None:
    """ITU-R BS.1534-3, 4.1.2: below 90 in more than 15% of the trials; 90 itself is not below."""
    built = build(mushra({"L1": 4, "L2": 1, "L3": 2}), quality=BY_REFERENCE)
    judges = by(built.rows("judges"), "judge")
    assert {name: judge["verdict"] for name, judge in judges.items()} == {
        "L0": "passed", "L1": "failed", "L2": "passed", "L3": "failed",
    }  # fmt: skip
    reason = "4 of 10 references below 90% of the scale, 15% are allowed"
    assert judges["L1"]["verdict_reason"] == reason
    assert [judges[name]["statistic"] for name in ALL] == [0, 0.4, 0.1, 0.2]
    for judge in judges.values():
        assert (judge["test"], judge["contrast"], judge["n_pairs"]) == (
            "reference_threshold", None, 10,
        )  # fmt: skip
        for name in ("effect", "p_value", "p_adjusted", "power", "required_effect"):
            assert judge[name] is None
    assert fates(built, "judge", "item")["L1", "t3/C1"] == (
        "judge_failed", f"judge control: failed ({reason})",
    )  # fmt: skip
    assert gates(built)["unused_controls"].value == 0
    # L1 and L3 are no others: L0 is compared with L2 alone
    scores = by(mushra({}), "judge", "segment", "system")
    differences = [
        scores["L0", f"t{n}", c]["score"] - scores["L2", f"t{n}", c]["score"]
        for n in range(10) for c in ("C1", "C2")
    ]  # fmt: skip
    assert judges["L0"]["bias"] == pytest.approx(sum(differences) / 20)
    assert judges["L1"]["n_shared_items"] == 20


@pytest.mark.parametrize(
    ("quality", "failed"),
    [
        ({"share": 0.2}, ["L1"]),
        ({"share": 0.4}, []),
        ({"share": 0}, ["L1", "L2", "L3"]),
        ({"threshold": 55}, []),
        ({"threshold": 55.5}, ["L1", "L3"]),
        ({"threshold": 90.5}, list(ALL)),
    ],
)
def test_threshold_and_share_are_settings(quality: Row, failed: list[str], stage: Any) -> None:
    built = stage(mushra({"L1": 4, "L2": 1, "L3": 2}), quality=BY_REFERENCE | quality)
    judges = by(built.rows("judges"), "judge")
    assert [name for name in ALL if judges[name]["verdict"] == "failed"] == failed


def test_the_threshold_is_a_share_of_the_scale(stage: Any) -> None:
    tasks = [{"name": "*", "kind": "scalar", "scale": [0, 10]}]
    rows = mushra({"L1": 4}, scale=0.1)
    verdicts = {
        row["judge"]: row["verdict"] for row in stage(rows, tasks=tasks, quality=BY_REFERENCE).rows(
            "judges"
        )
    }  # fmt: skip
    assert verdicts == {"L0": "passed", "L1": "failed", "L2": "passed", "L3": "passed"}


def test_references_without_a_scale_are_an_error(stage: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        stage(mushra({}), tasks=[{"name": "*", "kind": "scalar"}], quality=BY_REFERENCE).rows(
            "judges"
        )
    assert "tasks: no scale is declared, and quality.threshold is a percentage of it" in str(
        caught.value
    )
    assert "declare scale: [lowest, highest]" in str(caught.value)


def test_who_saw_too_few_references_is_undetermined(stage: Any) -> None:
    rows = mushra({})
    rows = [
        r for r in rows
        if r["judge"] not in ("L2", "L3") or r["control"] != "good_reference"
        or (r["judge"] == "L2" and r["segment"] == "t0")
    ]  # fmt: skip
    judges = by(stage(rows, quality=BY_REFERENCE).rows("judges"), "judge")
    assert {name: judges[name]["verdict"] for name in ALL} == {
        "L0": "passed", "L1": "passed", "L2": "undetermined", "L3": "undetermined",
    }  # fmt: skip
    assert judges["L2"]["verdict_reason"] == "1 reference, 2 are needed"
    assert judges["L3"]["verdict_reason"] == "0 references, 2 are needed"
    rows = [r for r in rows if r["control"] != "good_reference"]
    for judge in stage(rows, quality=BY_REFERENCE).rows("judges"):
        assert (judge["verdict"], judge["verdict_reason"]) == ("untested", "no references")


def test_who_is_far_from_the_others_on_both_sides_fails_bt500(build: Any) -> None:
    """Observers of 60 clips; o0 is 32 points off, above and below by turns, o1 always above."""
    draw = random.Random(3)
    rows = []
    for clip in range(60):
        quality = draw.uniform(45, 55)
        for n in range(16):
            off = 0 if clip % 4 else {0: 32 * (-1) ** (clip // 4), 1: 32}.get(n, 0)
            noise = draw.gauss(0, 10)
            score = min(max(quality + off + noise, 0), 100)
            rows.append({"judge": f"o{n}", "item": f"c{clip}", "score": score})
    built = build(rows, quality={"test": "bt500"})
    judges = by(built.rows("judges"), "judge")
    assert [name for name, judge in judges.items() if judge["verdict"] == "failed"] == ["o0"]
    assert {judge["verdict"] for judge in judges.values()} == {"passed", "failed"}
    assert judges["o1"]["statistic"] > 0.05
    assert judges["o0"]["verdict_reason"].startswith("of 60 scores ")
    assert judges["o0"]["n_pairs"] == 60
    assert judges["o0"]["dropped"]
    few = [row for row in rows if row["judge"] in ("o0", "o1", "o2")]
    for judge in build(few, quality={"test": "bt500"}).rows("judges"):
        assert judge["verdict"] == "undetermined"
        assert judge["verdict_reason"] == ("0 scores of items with 6 scores or more, 2 are needed")


@pytest.mark.parametrize("test", ["consistency", "bt500", "reference_threshold"])
def test_judges_of_labels_are_tested_by_labels_whatever_the_test_of_scores(
    test: str, stage: Any
) -> None:
    rows = [{"judge": j, "item": f"i{n}", "label": "yn"[n % 2]} for n in range(9) for j in "ab"]
    tasks = [{"name": "*", "kind": "categorical"}]
    for judge in stage(rows, tasks=tasks, quality={"test": test}).rows("judges"):
        assert (judge["verdict"], judge["test"]) == ("passed", "chance")
        assert [judge[name] for name in COMPARED[1:]] == [None] * 4
        assert judge["bias"] is not None, "that of labels"
    for row in rows:
        row["item"] += row["judge"]  # nobody else judges it
    for judge in stage(rows, tasks=tasks, quality={"test": test}).rows("judges"):
        assert judge["verdict"] == "untested"
        assert judge["verdict_reason"] == "no label of an item that others judged"


@pytest.mark.parametrize(
    ("quality", "error"),
    [
        ({"threshold": 80}, "quality: threshold and share belong to test: reference_threshold"),
        ({"share": 0.1}, "quality: threshold and share belong to test: reference_threshold"),
        (
            BY_REFERENCE | {"threshold": 101},
            "quality.threshold: input should be less than or equal",
        ),
        (BY_REFERENCE | {"share": 1}, "quality.share: input should be less than 1 (found '1')"),
        (
            {"test": "bt500", "required_effect": 3},
            "quality: required_effect has no meaning with test: bt500, which estimates no effect; "
            "delete it",
        ),
        (
            {"test": "consistency", "required_effect": 3},
            "quality: required_effect is a correlation with test: consistency; 3 is not allowed: "
            "write a number above 0 and below 1, such as 0.2",
        ),
    ],
)
def test_settings_that_do_not_fit_the_test(quality: Row, error: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build(listening_test(4), quality=quality)
    assert error in str(caught.value)
