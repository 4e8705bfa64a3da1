"""Verdicts by agreement with the others: size and power on simulated judges, and edges."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stages.judges.score_crowds import controlled, crowd, panel, row, shares

ALPHA = 0.05


def most(n, share=ALPHA):
    """The share that n judges exceed by chance once in a thousand."""
    return share + 3.1 * (share * (1 - share) / n) ** 0.5


def test_random_judges_fail_and_honest_ones_pass():
    actual = shares(lambda rng: panel(rng, 40, [12] * 8, 4), rounds=12)
    assert actual["r"]["failed"] > 0.85
    assert actual["r"].get("passed", 0) < most(48)
    assert actual["h"]["passed"] > 0.98


def test_random_judges_do_not_hide_in_each_others_mean():
    """Three quarters answer at random: by the mean of all, half of them are undetermined."""
    actual = shares(lambda rng: panel(rng, 40, [12] * 6, 18), rounds=8)
    assert actual["r"]["failed"] > 0.85
    assert actual["r"].get("passed", 0) < most(8 * 18)
    assert actual["h"]["passed"] > 0.95


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "make", "rounds", "judges"),
    [
        ("noisy", lambda rng: panel(rng, 40, [12, 15, 18, 24, 24, 30, 36, 36], 0), 24, 8),
        ("few items", lambda rng: panel(rng, 10, [18] * 10, 2), 24, 10),
        ("a minority", lambda rng: panel(rng, 20, [20] * 4, 36), 10, 4),
        ("crowd of 3 an item", lambda rng: crowd(rng, 60, 30, 3, 20), 3, 40),
        ("crowd of 2 an item", lambda rng: crowd(rng, 60, 60, 2, 20), 3, 40),
        # two thirds of the others of an honest judge answer at random
        ("beside random ones", lambda rng: crowd(rng, 60, 60, 2, 24, in_order=True), 6, 36),
        ("beside random ones", lambda rng: crowd(rng, 60, 40, 2, 20, in_order=True), 6, 40),
    ],
)
def test_honest_judges_fail_at_most_at_alpha(name, make, rounds, judges):
    actual = shares(make, rounds)
    assert actual["h"].get("failed", 0) <= most(rounds * judges), name


@pytest.mark.slow
def test_random_judges_of_a_crowd_fail_where_they_have_the_items():
    actual = shares(lambda rng: crowd(rng, 60, 60, 3, 20), rounds=3)
    assert actual["r"]["failed"] > 0.85
    assert actual["h"]["passed"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "rounds", "random", "careful"),
    [
        (lambda rng: panel(rng, 40, [15] * 8, 4), 25, 0.95, 0.0),
        (lambda rng: crowd(rng, 40, 40, 4, 8), 25, 0.93, 0.0),
        (lambda rng: panel(rng, 40, [15] * 3, 1), 200, 0.88, 0.0),
        (lambda rng: crowd(rng, 40, 40, 2, 8), 25, 0.70, 0.03),
        (lambda rng: crowd(rng, 40, 20, 4, 8), 25, 0.30, 0.03),
        (lambda rng: crowd(rng, 40, 10, 4, 8), 25, 0.0, 0.0),
    ],
)
def test_random_judges_fail_as_often_as_the_page_says(make, rounds, random, careful):
    """The table of docs/judge_control.md; 100 random judges or more."""
    actual = shares(make, rounds)
    assert actual["r"].get("failed", 0) == pytest.approx(random, abs=0.05)
    assert actual["h"].get("failed", 0) == pytest.approx(careful, abs=0.01)


def test_where_all_answer_at_random_nobody_is_told_apart():
    actual = shares(lambda rng: panel(rng, 40, [], 10), rounds=12)
    assert actual["r"].get("failed", 0) == 0
    judges, metrics = controlled(panel(np.random.default_rng(3), 60, [], 10))
    assert {judge["verdict"] for judge in judges.values()} == {"undetermined"}
    assert {judge["verdict_reason"] for judge in judges.values()} == {
        "no judge agrees enough with the others to decide who is right"
    }
    assert len(metrics.inconsistent_judges) == 10, "the gate counts them all the same"
    judges, metrics = controlled(panel(np.random.default_rng(3), 60, [], 10), required_effect=0.45)
    assert {judge["verdict"] for judge in judges.values()} == {"failed"}
    assert metrics.inconsistent_judges == []


@pytest.mark.slow
def test_those_who_pass_by_luck_tell_nothing():
    """Of 40 random judges two pass: what they show is not asked of the others."""
    actual = shares(lambda rng: panel(rng, 20, [], 40), rounds=25)
    assert 0.02 < actual["r"]["passed"] < most(1000)
    assert actual["r"].get("failed", 0) == 0


def test_few_items_of_random_judges_are_no_warning():
    _, metrics = controlled(panel(np.random.default_rng(3), 12, [], 10))
    assert metrics.inconsistent_judges == []


@pytest.mark.slow
def test_what_is_asked_is_what_all_honest_judges_show_not_those_who_pass():
    """Half of the judges pass, by luck in part: their median correlation is too high."""
    asked, passing, everybody = [], [], []
    for seed in range(12):
        judges, _ = controlled(panel(np.random.default_rng(seed), 20, [34] * 20, 0))
        effects = [judge["effect"] for judge in judges.values()]
        passes = [judge["effect"] for judge in judges.values() if judge["verdict"] == "passed"]
        if judges["h0"]["required_effect"] is not None:
            asked.append(2 * judges["h0"]["required_effect"])
            passing.append(np.median(passes))
            everybody.append(np.median(effects))
    assert len(asked) > 6
    assert np.mean(asked) < np.mean(passing) - 0.05
    assert np.mean(asked) == pytest.approx(np.mean(everybody), abs=0.1)


def honest(n_items=40, n_judges=6, n_random=2, seed=1):
    return panel(np.random.default_rng(seed), n_items, [10] * n_judges, n_random)


def test_what_a_row_says():
    judges, metrics = controlled(honest())
    for name, judge in judges.items():
        assert judge["verdict"] == ("passed" if name[0] == "h" else "failed"), name
        assert judge["effect"] == pytest.approx(judge["correlation"])
        assert judge["effect_low"] < judge["effect"] < judge["effect_high"]
        assert (judge["test"], judge["contrast"]) == ("consistency", None)
        assert judge["n_pairs"] == judge["n_shared_items"] == 40
        assert judge["power"] > 0.95
    typical = sorted(judges[f"h{n}"]["effect"] for n in range(6))
    assert judges["r0"]["required_effect"] == pytest.approx(np.mean(typical[2:4]) / 2, abs=0.01)
    assert judges["r0"]["effect_high"] < judges["r0"]["required_effect"] + 0.1
    assert metrics.verdicts == {"passed": 6, "failed": 2, "undetermined": 0, "untested": 0}


def test_too_few_shared_items():
    """At three items the best of 6 orders has p = 1/6, and what power needs is said."""
    few = [row("few", f"i{n:03}", 10 * n) for n in range(3)]
    two = [row("two", f"i{n:03}", 10 * n) for n in range(2)]
    lone = [row("lone", f"other {n}", 10 * n) for n in range(30)]
    judges, _ = controlled([*honest(), *few, *two, *lone])
    assert judges["h0"]["verdict"] == "passed"
    for name in ("few", "two", "lone"):
        assert judges[name]["verdict"] == "undetermined", name
        assert not judges[name]["dropped"]
    reason = judges["few"]["verdict_reason"]
    assert reason.startswith("3 shared items: even a perfect record has p = 0.167, not below 0.05")
    needed = judges["few"]["n_needed"]
    assert reason.endswith(f"; {needed} are needed for a power of 0.95")
    assert 5 <= needed <= 12
    assert judges["two"]["verdict_reason"] == f"2 shared items, {needed} are needed"
    assert judges["lone"]["verdict_reason"] == f"0 shared items, {needed} are needed"
    assert judges["lone"]["n_shared_items"] == 0
    assert judges["two"]["correlation"] is None


def test_the_power_asked_is_1_minus_alpha_or_min_power():
    """Of 12 items a judge of the typical correlation passes nearly always; of 6 not."""
    rows = panel(np.random.default_rng(5), 40, [16] * 6, 0)
    some = [row("few", f"i{n:03}", s) for n, s in enumerate([40, 90, 20, 80, 60, 70, 10])]
    judges, _ = controlled([*rows, *some])
    power = judges["few"]["power"]
    assert 0.5 < power < 0.95
    assert judges["few"]["verdict"] == "undetermined"
    assert judges["few"]["verdict_reason"].endswith("0.95 is needed")
    judges, _ = controlled([*rows, *some], alpha=0.4)
    assert judges["few"]["verdict"] in ("passed", "failed")
    judges, _ = controlled([*rows, *some], alpha=0.4, min_power=0.999)
    assert judges["few"]["verdict"] != "failed"


def test_one_score_for_everything_fails():
    flat = [row("flat", f"i{n:03}", 50) for n in range(40)]
    judges, _ = controlled([*honest(), *flat])
    assert judges["flat"]["verdict"] == "failed"
    assert judges["flat"]["verdict_reason"] == "all scores of shared items are equal"
    assert (judges["flat"]["p_value"], judges["flat"]["effect"]) == (1, None)
    assert judges["flat"]["correlation"] is None
    assert judges["flat"]["spread"] == 0


def test_others_who_do_not_tell_items_apart():
    rows = [row(f"flat{k}", f"i{n:03}", 50) for n in range(40) for k in range(3)]
    judges, _ = controlled([*rows, *(row("ann", f"i{n:03}", n) for n in range(40))])
    assert judges["ann"]["verdict"] == "undetermined"
    assert judges["ann"]["verdict_reason"] == "the means of the other judges do not vary"


@pytest.mark.parametrize("scope", ["campaign", "task"])
def test_judges_are_tested_over_all_tasks_or_in_each(scope):
    """r0 answers at random in one of two tasks only, of which scales differ."""
    first = honest(n_random=1, seed=2)
    second = [
        r | {"task": "u", "score": r["score"] / 20} for r in panel(
            np.random.default_rng(3), 40, [10] * 7, 0
        )
    ]  # fmt: skip
    second = [r | {"judge": r["judge"].replace("h6", "r0")} for r in second]
    judges, metrics = controlled([*first, *second], scope=scope)
    actual = judges["t", "r0"]["verdict"], judges["u", "r0"]["verdict"]
    assert actual == (("passed", "passed") if scope == "campaign" else ("failed", "passed"))
    assert judges["t", "r0"]["n_pairs"] == (80 if scope == "campaign" else 40)
    assert judges["t", "r0"]["n_shared_items"] == 40
    assert abs(judges["t", "r0"]["correlation"]) < 0.4 < judges["u", "r0"]["correlation"]
    assert judges["u", "h1"]["inconsistency"] < 1 < 5 < judges["t", "h1"]["inconsistency"]
    assert sum(metrics.verdicts.values()) == (7 if scope == "campaign" else 14)


def test_criteria_are_compared_within_each():
    """A second criterion, reversed in meaning, does not count against a judge; one without part
    in judge control is not looked at."""
    rng = np.random.default_rng(4)
    rows = [r | {"criterion": "a"} for r in honest()]
    rows += [r | {"criterion": "b", "score": 100 - r["score"]} for r in honest()]
    rows += [r | {"criterion": "c", "score": float(rng.integers(0, 101))} for r in honest()]
    criteria = [
        {"criterion": name, "reverse": False, "quality": name != "c"} for name in ("a", "b", "c")
    ]
    judges, _ = controlled(rows, criteria=criteria)
    assert judges["h0"]["n_shared_items"] == 80
    assert judges["h0"]["correlation"] > 0.7
    only_a, _ = controlled([r for r in rows if r["criterion"] == "a"])
    assert judges["h0"]["correlation"] == pytest.approx(only_a["h0"]["correlation"])
    assert judges["r1"]["verdict"] == "failed"


def test_judges_who_fail_another_test_are_no_reference_and_no_warning():
    judges, metrics = controlled(honest(), test="none")
    assert judges["r0"]["verdict"] == "untested"
    assert [r["judge"] for r in metrics.inconsistent_judges] == ["r0", "r1"]
    assert {r["n"] for r in metrics.inconsistent_judges} == {40}
    assert metrics.inconsistent_judges[0]["correlation"] == judges["r0"]["correlation"]
    tested, metrics = controlled(honest())
    assert metrics.inconsistent_judges == []
    for name, judge in judges.items():
        for column in ("bias", "spread", "inconsistency", "correlation", "n_shared_items"):
            assert judge[column] == tested[name][column], "random judges are no reference"


def test_controls_and_repeats_are_not_compared():
    extra = [
        r | {"control": control, "score": 0.0}
        for r in honest()
        for control in ("bad_reference", "good_reference", "ask_again")
    ]
    with_controls, _ = controlled([*honest(), *extra])
    without, _ = controlled(honest())
    for name, judge in without.items():
        assert with_controls[name]["correlation"] == judge["correlation"]
        assert with_controls[name]["p_value"] == judge["p_value"]


def test_a_correction_over_judges():
    """Holm's: the smallest of n p-values times n, the next times n - 1, never falling."""
    rows = panel(np.random.default_rng(2), 20, [12, 12, 12, 40, 40, 50, 50], 1)
    plain, _ = controlled(rows)
    holm, _ = controlled(rows, correction="holm")
    # verdicts move who is a reference, and so p: those of the corrected run are adjusted
    order = sorted(holm, key=lambda name: holm[name]["p_value"])
    largest = 0.0
    for n, name in enumerate(order):
        largest = max(largest, min(holm[name]["p_value"] * (len(order) - n), 1))
        assert holm[name]["p_adjusted"] == pytest.approx(largest)
        assert (holm[name]["verdict"] == "passed") == (largest < ALPHA)
    n_passed = [sum(j["verdict"] == "passed" for j in js.values()) for js in (plain, holm)]
    assert n_passed[0] > n_passed[1] > 0
