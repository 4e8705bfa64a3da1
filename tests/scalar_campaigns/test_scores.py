"""Scores through the whole pipeline: scores, judges without z, criteria, agreement."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from statistics import fmean, stdev
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    SCALE,
    by,
    fates,
    gates,
    hit_of,
    of,
    z_of,
)

NO_NUMBERS = {
    "85,5": "score is not a number: '85,5'",
    "70%": "score is not a number: '70%'",
    "NaN": "score is not a number: 'NaN'",
    "nan": "score is not a number: 'nan'",
    "inf": "score is not a number: 'inf'",
    "-Infinity": "score is not a number: '-Infinity'",
    "1e400": "score is too large: '1e400'",
    "-1e400": "score is too large: '-1e400'",
    "1e16": "score is too large: '1e16'",
    "0x1F": "score is not a number: '0x1F'",
    "1_000": "score is not a number: '1_000'",
    "1 0": "score is not a number: '1 0'",
    "eighty": "score is not a number: 'eighty'",
    "½": "score is not a number: '½'",
    "²": "score is not a number: '²'",
    "--5": "score is not a number: '--5'",
    "5.5.5": "score is not a number: '5.5.5'",
    "1e": "score is not a number: '1e'",
    ".": "score is not a number: '.'",
    "=5+5": "score is not a number: '=5+5'",
    "'50": 'score is not a number: "\'50"',
    "None": "score is not a number: 'None'",
    "true": "score is not a number: 'true'",
    "": "score is blank",
    "  ": "score is blank",
    "-0.0001": "score is outside the scale: -0.0001",
    "100.0001": "score is outside the scale: 100.0001",
    "101": "score is outside the scale: 101.0",
    "-1": "score is outside the scale: -1.0",
    "1e15": "score is outside the scale: 1000000000000000.0",
}


NUMBERS = {
    "+85": 85, " 85 ": 85, "\t85": 85, "85\n": 85, "\u00a085": 85, "８５": 85, "٨٥": 85,  # noqa: RUF001
    "085": 85, "85.": 85, ".5": 0.5, "8.5e1": 85, "8.5E+01": 85, "-0": 0, "0": 0, "100": 100,
    "1e-320": 0, "33.333333333333336": 100 / 3,
}  # fmt: skip


def test_scores_are_numbers_or_reasons(stage: Any) -> None:
    """One campaign: every odd score is a record with its reason, and no mean feels it."""
    rows = [{"item": f"i{n}", "judge": "ann", "score": n} for n in range(10)]
    rows += [{"item": f"no{n}", "judge": "odd", "score": text} for n, text in enumerate(NO_NUMBERS)]
    rows += [{"item": f"yes{n}", "judge": "odd", "score": text} for n, text in enumerate(NUMBERS)]
    built = stage(rows)
    actual = fates(built)
    assert {text: actual[f"no{n}"] for n, text in enumerate(NO_NUMBERS)} == {
        text: ("rejected", reason) for text, reason in NO_NUMBERS.items()
    }
    scores = by(built.rows("scores"), "item")
    assert scores.keys() == {row["item"] for row in rows if not row["item"].startswith("no")}
    for n, (text, number) in enumerate(NUMBERS.items()):
        assert actual[f"yes{n}"] == ("used", None), text
        assert scores[f"yes{n}"]["raw_mean"] == pytest.approx(number), text
    judge = by(built.rows("judges"), "judge")["odd"]
    assert judge["n_judgments"] == len(NUMBERS)
    assert judge["mean"] == pytest.approx(fmean(NUMBERS.values()))
    assert judge["sd"] == pytest.approx(stdev(NUMBERS.values()))


@pytest.mark.slow
def test_without_a_declared_scale_all_numbers_count(stage: Any) -> None:
    given = [-1e15, -5, 0, 7.5, 1e15]
    rows = [{"item": f"i{n}", "judge": "ann", "score": score} for n, score in enumerate(given)]
    rows.append({"item": "x", "judge": "ann", "score": "1.1e15"})
    built = stage(rows, tasks=[{"name": "*", "kind": "scalar"}])
    assert fates(built)["x"] == ("rejected", "score is too large: '1.1e15'")
    assert [row["raw_mean"] for row in built.rows("scores")] == given
    (judge,) = built.rows("judges")
    assert judge["share_at_ends"] is None, "nobody knows the ends"
    statistics = {row["statistic"] for row in built.rows("agreement")}
    assert "inter_kappa_z_5" in statistics
    assert not [name for name in statistics if "kappa_raw" in name], "no scale to cut"


def test_a_typing_error_is_named_where_no_scale_is_declared(stage: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": judge, "score": 90 + k % 5}
        for k in range(12)
        for judge in ("ann", "ben")
    ]
    rows[0]["score"], rows[3]["score"] = "-1111111", "9999"
    settings: dict[str, Any] = {"tasks": [{"name": "*", "kind": "scalar"}]}
    gate = gates(stage(rows, **settings).run("judge_scores"))["outlying_scores"]
    assert (gate.level, gate.value) == ("warn", 2)
    named = re.findall(r"(-?[\d,]+) of (\w+) by (\w+)", gate.detail)
    assert named == [("-1,111,111", "i0", "ann"), ("9,999", "i1", "ben")]
    many = [row | {"item": f"{row['item']} {n}"} for n in range(8) for row in rows]
    staged = stage(many, **settings).run("judge_scores")
    assert gates(staged)["outlying_scores"].value == 16
    farthest = staged.metrics("standardize_scores")["farthest_scores"]
    assert [text.split()[1] for text in farthest] == ["-1,111,111"] * 5, "of any number"
    of_known_scale = stage(rows, tasks=[{"name": "*", "kind": "scalar", "scale": [-1e7, 1e7]}])
    assert gates(of_known_scale.run("judge_scores"))["outlying_scores"].value == 0


@pytest.mark.parametrize(
    ("scale", "error"),
    [
        ([100, 0], "tasks.0.scale: [100.0, 0.0] is not ascending; write [lowest, highest]"),
        ([5, 5], "tasks.0.scale: [5.0, 5.0] is not ascending; write [lowest, highest]"),
        ([0], "tasks.0.scale.1: is missing"),
        ([0, "high"], "tasks.0.scale.1: input should be a valid number (found 'high')"),
        ([0, "1e400"], "tasks.0.scale.1: input should be a valid number (found '1e400')"),
    ],
)
def test_scales_that_are_none(scale: Any, error: str, build: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build([{"item": "i", "judge": "a", "score": 1}], tasks=[SCALE[0] | {"scale": scale}])
    assert error in str(caught.value)


@pytest.mark.slow
def test_a_constant_judge_has_no_z(build: Any) -> None:
    """Also of a constant like 70.1, whose mean in floating point is not exactly 70.1."""
    constants = list(product([70, 70.1, 0.1, 33.3, 100 / 3, 0, 99.99], [2, 3, 7]))
    rows = [{"item": f"i{k}", "judge": "ann", "score": 10 * k} for k in range(7)]
    rows += [
        {"item": f"i{k}", "judge": f"{constant} {n}", "score": constant}
        for constant, n in constants
        for k in range(n)
    ]
    built = build(rows)
    judges = by(built.rows("judges"), "judge")
    aside = Counter(
        (row["judge"], row["left_out_of"], row["reason"]) for row in built.rows("set_aside")
    )
    for constant, n in constants:
        judge = judges[f"{constant} {n}"]
        assert (judge["mean"], judge["sd"]) == (constant, 0)
        assert judge["no_z_reason"] == f"all {n} scores are equal"
        assert aside.pop((judge["judge"], "z_scores", judge["no_z_reason"])) == n
    assert not aside
    scores = by(built.rows("scores"), "item")
    z = z_of([10 * k for k in range(7)])
    for k in range(7):
        given = [10 * k, *(constant for constant, n in constants if k < n)]
        assert scores[f"i{k}"]["z_mean"] == pytest.approx(z[k]), "of ann alone"
        assert scores[f"i{k}"]["raw_mean"] == pytest.approx(fmean(given))
        assert scores[f"i{k}"]["n_judgments"] == len(given)
    assert gates(built)["rows_without_z"].value == pytest.approx(1 - 7 / len(rows))


@pytest.mark.slow
def test_a_judge_with_one_judgment(stage: Any) -> None:
    rows = [{"item": f"i{k}", "judge": "ann", "score": 10 * k} for k in range(3)]
    built = stage([*rows, {"item": "i0", "judge": "once", "score": 50}])
    judge = by(built.rows("judges"), "judge")["once"]
    assert (judge["mean"], judge["sd"], judge["n_judgments"]) == (50, None, 1)
    assert judge["no_z_reason"].endswith("; 2 are needed")
    scores = by(built.rows("scores"), "item")
    assert scores["i0"]["raw_mean"] == 25
    assert scores["i0"]["z_mean"] == pytest.approx(-1), "of ann alone"
    assert [row["item"] for row in built.rows("set_aside")] == ["i0"]


@pytest.mark.slow
def test_items_of_judges_without_z_alone(stage: Any) -> None:
    built = stage([{"item": "i", "judge": "once", "score": 50}])
    (row,) = built.rows("scores")
    assert (row["raw_mean"], row["z_mean"], row["n_judgments"]) == (50, None, 1)


@pytest.mark.sampled
@pytest.mark.parametrize("controls", ["include", "exclude"])
def test_controls_count_for_z_or_not(controls: str, stage: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "control": "", "score": s}
        for k, s in enumerate([20, 40, 90])
    ]
    rows += [{"item": "b", "judge": "ann", "control": "bad_reference", "score": 10}]
    rows += [{"item": "b", "judge": "bad", "control": "bad_reference", "score": s} for s in (1, 2)]
    built = stage(rows, standardize={"controls": controls})
    judges = by(built.rows("judges"), "judge")
    scores = by(built.rows("scores"), "item")
    z = z_of([20, 40, 90, 10] if controls == "include" else [20, 40, 90])
    assert [scores[f"i{k}"]["z_mean"] for k in range(3)] == pytest.approx(z[:3])
    assert "b" not in scores
    if controls == "include":
        assert judges["bad"]["no_z_reason"] is None
    else:
        assert judges["bad"]["no_z_reason"] == "0 ordinary scores; 2 are needed"


def test_agreement_as_counted_by_hand(stage: Any) -> None:
    """Bins of 20 points (an edge belongs above), and of 50; first showings between judges."""
    given = {"ann": [10, 50, 90], "bob": [15, 70, 95]}
    rows = [
        {"item": f"i{n}", "judge": judge, "hit": "h", "score": score}
        for judge, scores in given.items()
        for n, score in enumerate(scores)
    ]
    rows += [rows[n] | {"control": "ask_again", "score": score} for n, score in ((0, 20), (1, 55))]
    rows += [rows[2] | {"control": "bad_reference", "score": 0}]
    actual = by(stage(rows).rows("agreement"), "statistic")
    for name, share, k in (
        ("inter_{}_raw_5", 2 / 3, 5),
        ("inter_{}_raw_2", 1, 2),
        ("intra_{}_raw_5", 1 / 2, 5),
        ("intra_{}_raw_2", 1, 2),
    ):
        assert actual[name.format("percent_agreement")]["value"] == pytest.approx(share)
        kappa = (share - 1 / k) / (1 - 1 / k)
        assert actual[name.format("kappa")]["value"] == pytest.approx(kappa)
    assert actual["inter_difference_mean"]["value"] == pytest.approx(fmean([5, 20, 5]))
    assert actual["intra_difference_mean"]["value"] == pytest.approx(fmean([10, 5]))
    counts = {name: (row["n_items"], row["n_judges"]) for name, row in actual.items()}
    assert counts["inter_kappa_raw_5"] == (3, 2)
    assert counts["intra_kappa_raw_5"] == (2, 1)
    assert not [name for name in actual if name.endswith("_unfiltered")], "nobody failed"


@pytest.mark.slow
def test_agreement_of_judges_kept_beside_that_of_all(stage: Any) -> None:
    rows = hit_of("ann", CAREFUL) + hit_of("bob", [(a - 3, b) for a, b in CAREFUL])
    rows += hit_of("careless", CARELESS)
    actual = by(stage(rows).rows("agreement"), "statistic")
    assert actual["inter_difference_mean"]["value"] == pytest.approx(3)
    assert actual["inter_difference_mean"]["n_judges"] == 2
    apart = [abs(a - c) for (a, _), (c, _) in zip(CAREFUL, CARELESS, strict=True)]
    apart += [abs(a - 3 - c) for (a, _), (c, _) in zip(CAREFUL, CARELESS, strict=True)]
    everyone = actual["inter_difference_mean_unfiltered"]
    assert everyone["value"] == pytest.approx(fmean([3] * 8 + apart))
    assert everyone["n_judges"] == 3


@pytest.mark.slow
def test_agreement_that_nothing_can_be_said_of_is_null(stage: Any) -> None:
    rows = [{"item": f"i{n}", "judge": f"j{n}", "score": 50} for n in range(3)]
    for row in stage(rows).rows("agreement"):
        assert (row["value"], row["ci_low"], row["n_items"], row["n_judges"]) == (None, None, 0, 0)


def test_an_items_score_is_the_mean_over_criteria(stage: Any) -> None:
    """Whatever the number of judgments of each; z is by judge over all criteria."""
    given = [
        ("ann", "fluency", 10),
        ("bob", "fluency", 20),
        ("eve", "fluency", 60),
        ("ann", "fun", 90),
    ]
    rows = [
        {"item": "i", "judge": judge, "criterion": criterion, "score": score}
        for judge, criterion, score in given
    ]
    rows += [
        {"item": "j", "judge": j, "criterion": "fun", "score": s}
        for j, s in (("bob", 50), ("eve", 0))
    ]
    scores = by(stage(rows).rows("scores"), "item")
    assert scores["i"]["raw_mean"] == (30 + 90) / 2
    z = {"ann": z_of([10, 90]), "bob": z_of([20, 50]), "eve": z_of([60, 0])}
    fluency = fmean(z[judge][0] for judge in z)
    assert scores["i"]["z_mean"] == pytest.approx((fluency + z["ann"][1]) / 2)
    assert scores["i"]["n_judgments"] == 4


def test_a_reversed_criterion_is_turned(stage: Any) -> None:
    rows = [
        {"item": f"i{k}", "judge": "ann", "criterion": criterion, "score": score}
        for k, (good, robotic) in enumerate([(5, 1), (3, 2), (1, 5)])
        for criterion, score in (("good", good), ("robotic", robotic))
    ]
    tasks = [
        {
            "name": "*",
            "kind": "scalar",
            "scale": [1, 5],
            "criteria": {"good": {}, "robotic": {"reverse": True}},
        }
    ]
    built = stage(rows, tasks=tasks)
    assert [row["raw_mean"] for row in built.rows("scores")] == [5, 3.5, 1]
    (judge,) = built.rows("judges")
    assert judge["mean"] == pytest.approx(fmean([5, 5, 3, 4, 1, 1]))
    assert judge["share_at_ends"] == pytest.approx(4 / 6)


def test_a_reversed_criterion_needs_a_scale(build: Any) -> None:
    criteria = {"robotic": {"reverse": True}, "dull": {"reverse": True}, "good": {}}
    with pytest.raises(ConfigError) as caught:
        build([of(criterion="good")], tasks=[{"name": "*", "kind": "scalar", "criteria": criteria}])
    error = "tasks.0: to reverse robotic, dull, name scale: [lowest, highest]"
    assert error in str(caught.value)


@pytest.mark.slow
def test_criteria_that_are_blank_or_not_declared(stage: Any) -> None:
    names = {"good": None, "": "criterion is blank", " ": "criterion is blank",
             "Good": "criterion is not declared: 'Good'", "fun": "criterion is not declared: 'fun'",
             "x" * 200: f"criterion is not declared: '{'x' * 60}'"}  # fmt: skip
    rows = [
        {"item": f"i{n}", "judge": "ann", "criterion": name, "score": 10 * n}
        for n, name in enumerate(names)
    ]
    built = stage(rows, tasks=[SCALE[0] | {"criteria": {"good": {}, "dull": {}}}])
    actual = fates(built)
    for n, reason in enumerate(names.values()):
        assert actual[f"i{n}"] == (("rejected", reason) if reason else ("used", None))
    assert by(stage(rows).rows("scores"), "item").keys() == {f"i{n}" for n in range(6)}
