"""Scores through the whole pipeline: known answers."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from scipy import stats

from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    KNOWN,
    YES_NO,
    by,
    fates,
    gates,
    hit_of,
    item_of,
    known,
    labels,
)


def wilson(right: int, n: int) -> tuple[float, float]:
    actual = stats.binomtest(right, n).proportion_ci(method="wilson")
    return float(actual.low), float(actual.high)


def test_judges_against_known_answers(stage: Any) -> None:
    """By scipy's binomial test; whoever answers at random, or worse, fails."""
    judges = {
        "good": "yynyynynyn",
        "fair": "yynyynyyny",
        "random": "yyyyyyyyyy",
        "worse": "nnynnynyny",
    }
    rows = [row for j, answers in judges.items() for row in known(j, answers, judges["good"])]
    rows += [row for judge in [*judges, "unasked"] for row in labels(judge, "ynny")]
    built = stage(rows, tasks=YES_NO, quality=KNOWN)
    actual = by(built.rows("judges"), "judge")
    for judge, answers in judges.items():
        right = sum(a == b for a, b in zip(answers, judges["good"], strict=True))
        p = stats.binomtest(right, 10, 0.5, alternative="greater").pvalue
        row = actual[judge]
        assert row["p_value"] == pytest.approx(p), judge
        assert row["verdict"] == ("passed" if p < 0.05 else "failed"), judge
        assert (row["n_known_answers"], row["n_pairs"], row["statistic"]) == (10, 10, right)
        assert row["known_answer_accuracy"] == pytest.approx(right / 10)
        assert row["effect"] == pytest.approx(right / 10 - 0.5)
        interval = row["known_answer_low"], row["known_answer_high"]
        assert interval == pytest.approx(wilson(right, 10), abs=1e-12)
        assert (row["test"], row["contrast"]) == ("known_answer", None)
    assert actual["good"]["verdict"] == "passed"
    assert actual["random"]["verdict"] == actual["worse"]["verdict"] == "failed"
    assert actual["unasked"]["verdict"] == "undetermined"
    assert actual["unasked"]["known_answer_accuracy"] is None
    fate = fates(built, "judge", "item")
    assert fate["worse", "i0"] == ("judge_failed", "judge control: failed (known_answer, p = 1)")
    assert fate["good", "k0"] == ("control", "control item: known_answer")
    items = {row["item"] for row in built.rows("labels")}
    assert items == {"i0", "i1", "i2", "i3"}, "what is known is not inferred"
    assert by(built.rows("labels"), "item")["i0"]["n_judgments"] == 3 - (
        actual["fair"]["verdict"] == "failed"
    )


@pytest.mark.slow
def test_a_campaign_may_demand_more_than_chance(stage: Any) -> None:
    """17 of 20 are more than chance; whether they are more than .8, so few cannot tell."""
    rows = known("ann", "y" * 17 + "n" * 3, "y" * 20) + labels("ann", "yn") + labels("bob", "yn")
    judge, _ = stage(rows, tasks=YES_NO, quality=KNOWN).rows("judges")
    assert judge["verdict"] == "passed"
    judge, _ = stage(rows, tasks=YES_NO, quality=KNOWN | {"known_accuracy": 0.8}).rows("judges")
    p = stats.binomtest(17, 20, 0.8, alternative="greater").pvalue
    assert (judge["verdict"], judge["p_value"]) == ("undetermined", pytest.approx(p))
    assert judge["power"] == pytest.approx(0.9**20), "20 of 20 are needed"


def test_one_known_answer_is_no_verdict(stage: Any) -> None:
    """Of four classes, nobody can be told by one answer: it is right by chance in 1 of 4."""
    rows = known("ann", "y", "y") + labels("ann", "yn") + labels("bob", "yn")
    tasks = [YES_NO[0] | {"labels": ["n", "y", "?", "-"]}]
    built = stage(rows, tasks=tasks, quality=KNOWN)
    judge = by(built.rows("judges"), "judge")["ann"]
    assert (judge["verdict"], judge["p_value"], judge["effect"]) == ("undetermined", 0.25, 0.75)


def test_truth_of_the_record_or_of_the_item_table(stage: Any) -> None:
    """The record's own truth wins; a question without any is set aside with the reason."""
    rows = known("ann", "yyyyyy", "      ") + labels("ann", "yn") + labels("bob", "yn")
    rows[0]["truth"] = "n"
    items = [
        {"item": "k0", "truth": "y"}, {"item": "k1", "truth": "y"}, {"item": "k1", "truth": "n"},
        {"item": "k2", "truth": "n"}, {"item": "k3", "truth": ""}, {"item": "k9", "truth": "y"},
    ]  # fmt: skip
    built = stage(rows, items=items, tasks=YES_NO, quality=KNOWN)
    judge = by(built.rows("judges"), "judge")["ann"]
    assert (judge["n_known_answers"], judge["known_answer_accuracy"]) == (3, pytest.approx(1 / 3))
    aside = built.rows("set_aside")
    assert [(row["item"], row["left_out_of"], row["reason"]) for row in aside] == [
        (f"k{n}", "judge_control", "no truth is given for this question") for n in (3, 4, 5)
    ]
    assert built.metrics("control_judges")["known_answers_without_truth"] == 3


@pytest.mark.slow
def test_known_answers_without_any_truth(stage: Any) -> None:
    rows = known("ann", "yyy", "   ") + labels("ann", "yn")
    built = stage(rows, tasks=YES_NO, quality=KNOWN)
    (judge,) = built.rows("judges")
    assert (judge["n_known_answers"], judge["known_answer_accuracy"]) == (0, None)
    assert judge["verdict"] in ("untested", "undetermined")
    assert len(built.rows("set_aside")) == 3


@pytest.mark.slow
def test_known_answers_that_nobody_asked_for(stage: Any) -> None:
    rows = known("ann", "nnn", "yyy") + labels("ann", "yn")
    built = stage(rows, tasks=YES_NO)
    (judge,) = built.rows("judges")
    assert (judge["verdict"], judge["dropped"]) == ("untested", False)
    assert (judge["known_answer_accuracy"], judge["n_known_answers"]) == (0, 3)
    assert gates(built)["unused_controls"].level == "warn"


def test_answers_are_compared_as_written(stage: Any) -> None:
    tasks = [{"name": "*", "kind": "categorical", "labels": ["y", "Y", "n"]}]
    rows = known("ann", "yyyy", "yYny") + labels("ann", "yn")
    (judge,) = stage(
        rows,
        tasks=tasks,
        quality=KNOWN | {"test": "known_answer"},
        gates={"nothing_used": {"error": None}},
    ).rows("judges")
    assert judge["known_answer_accuracy"] == 0.5


@pytest.mark.slow
def test_a_campaign_of_labels_and_scores(stage: Any) -> None:
    """One test for the campaign; who judges labels alone is tested by the answers of others."""
    tasks = [
        {"name": "t", "kind": "categorical", "labels": ["n", "y"]},
        {"name": "*", "kind": "scalar", "scale": [0, 100]},
    ]
    scores = [
        row | {"task": "da", "item": item_of(row), "judge": judge}
        for judge, pairs in (("ann", CAREFUL), ("bob", CARELESS))
        for row in hit_of(judge, pairs)
    ]
    rows = scores + labels("ann", "yn") + labels("bob", "ny") + labels("eve", "yy")
    rows += known("eve", "n" * 14, "y" * 14) + known("ann", "y" * 14, "y" * 14)
    by_pairs = by(stage(rows, tasks=tasks).rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in by_pairs.items()} == {
        ("da", "ann"): "passed", ("da", "bob"): "failed", ("t", "ann"): "passed",
        ("t", "bob"): "failed", ("t", "eve"): "undetermined",
    }  # fmt: skip
    assert by_pairs["t", "eve"]["test"] == "chance"
    by_answers = by(stage(rows, tasks=tasks, quality=KNOWN).rows("judges"), "task", "judge")
    assert {key: row["verdict"] for key, row in by_answers.items()} == {
        ("da", "ann"): "passed", ("da", "bob"): "undetermined", ("t", "ann"): "passed",
        ("t", "bob"): "undetermined", ("t", "eve"): "failed",
    }  # fmt: skip
    built = stage(rows, tasks=tasks, quality=KNOWN | {"scope": "task"})
    by_task = by(built.rows("judges"), "task", "judge")
    assert by_task["da", "bob"]["verdict"] == by_task["da", "ann"]["verdict"] == "untested"
    assert {row["task"] for row in built.rows("labels")} == {"t"}
    assert {row["task"] for row in built.rows("scores")} == {"da"}
    kinds = defaultdict(set)
    for row in built.rows("agreement"):
        kinds[row["task"]].add(row["statistic"].removesuffix("_unfiltered"))
    assert "fleiss_kappa" in kinds["t"]
    assert "alpha_interval" in kinds["da"]
    assert not kinds["t"] & kinds["da"]
