"""Judges who answer in a hurry: the share of fast answers, by hand."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from annot_pipeline.gates import GATES
from annot_pipeline.gates.measures import hurried_judges
from annot_pipeline.stages.gold.metrics import JudgeMetrics

NAMES = {"privacy": {"pseudonymize": False}}
UNTESTED = {"quality": {"test": "none"}}
Times = dict[str, list[float | None]]
START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def sources(column: str, **fields: str) -> dict[str, Any]:
    fields = {"item": "item", "judge": "judge", "label": "label", column: column} | fields
    return {"sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}]}


def by_seconds(times: Times) -> str:
    """Return an export in which judges take some seconds for items 0, 1, 2..."""
    return "item,judge,label,seconds\n" + "".join(
        f"i{n},{judge},x,{'' if value is None else value}\n"
        for judge, values in times.items()
        for n, value in enumerate(values)
    )


def by_instant(instants: Times) -> str:
    """Return an export in which judges answer items 0, 1, 2... so many seconds after a start."""
    return "item,judge,label,submitted_at\n" + "".join(
        f"i{n},{judge},x,{(START + timedelta(seconds=value or 0)).isoformat()}\n"
        for judge, values in instants.items()
        for n, value in enumerate(values)
    )


def shares(staged: Any) -> dict[str, tuple[float | None, float | None]]:
    return {r["judge"]: (r["hurried_share"], r["hurried_below"]) for r in staged.rows("judges")}


def warning(staged: Any) -> Any:
    staged.rows("judges")
    [gate] = (g for g in staged.runs["describe_judges"].gates if g.name == "hurried_judges")
    return gate


def every(step: float, n: int = 24) -> list[float | None]:
    return [step * (k + 1) for k in range(n)]


SLOW: Times = {"a": [9.0] * 24, "b": [12.0] * 24, "c": [15.0] * 24}


def test_a_third_of_the_median_over_judges(stage_campaign) -> None:
    """Medians 9, 12, 15 and 2: their median is 10.5, a third of it 3.5."""
    times = SLOW | {"d": [2.0] * 20 + [3.5] * 4}
    staged = stage_campaign({"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"))
    assert shares(staged) == {
        "a": (0, 3.5), "b": (0, 3.5), "c": (0, 3.5), "d": (pytest.approx(20 / 24), 3.5),
    }  # fmt: skip
    gate = warning(staged)
    assert (gate.level, gate.value) == ("warn", 1)
    assert gate.detail == "small d (83% below 3.5 s)"


def test_a_limit_of_minutes_is_written_in_seconds():
    row = {"task": "t", "judge": "j", "share": 0.81, "below": 186.66}
    metrics = JudgeMetrics(0.05, hurried_judges=[row])
    assert hurried_judges(metrics).detail == "t j (81% below 186.7 s)"


@pytest.mark.slow
def test_half_of_the_answers_is_no_warning(stage_campaign) -> None:
    times = SLOW | {"d": [2.0] * 12 + [12.0] * 12}
    staged = stage_campaign({"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"))
    assert shares(staged)["d"][0] == 0.5
    assert warning(staged).level == "pass"


@pytest.mark.slow
def test_with_few_timed_answers_there_is_no_share(stage_campaign) -> None:
    """Negative seconds, the clock is wrong, are no time; 0 is."""
    times = SLOW | {
        "few": [1.0] * 19, "some": [1.0] * 19 + [None] * 5, "wrong": [1.0] * 19 + [-1.0] * 5,
        "zero": [0.0] * 20,
    }  # fmt: skip
    staged = stage_campaign({"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"))
    hurried = shares(staged)
    assert [hurried[name][0] for name in ("few", "some", "wrong")] == [None] * 3
    assert hurried["zero"] == (1, 3.5)  # the medians are 0, 9, 12, 15


@pytest.mark.slow
def test_two_judges_set_no_level(stage_campaign) -> None:
    times: Times = {"a": [9.0] * 24, "d": [1.0] * 24}
    staged = stage_campaign({"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"))
    assert {*shares(staged).values()} == {(None, None)}


def test_a_flood_does_not_set_the_level(stage_campaign) -> None:
    """Four judges who pass take 12 seconds, nine who answer at random take one."""
    chance, rows = random.Random(5), "item,judge,label,seconds\n"
    for n in range(60):
        truth = chance.random() < 0.5
        for k in range(13):
            answer = truth if k < 4 else chance.random() < 0.5
            rows += f"i{n},{'good' if k < 4 else 'fast'}{k},{answer},{12 if k < 4 else 1}\n"
    staged = stage_campaign({"a.csv": rows}, **NAMES, **sources("seconds"))
    passed = [r["judge"] for r in staged.rows("judges") if r["verdict"] == "passed"]
    assert {"good0", "good1", "good2", "good3"} <= {*passed}
    assert {*shares(staged).values()} == {(0, 4), (1, 4)}
    assert warning(staged).value == 9


def test_without_seconds_the_gaps_between_answers_count(stage_campaign) -> None:
    """Gaps of 9, 12, 15, and of 2 after a pause of 31 minutes: 23 gaps, 22 of d, 21 of them 2."""
    pause = [2.0 * k + 1_860 * (k > 11) + 10 * (k > 5) for k in range(24)]
    instants: Times = {"a": every(9), "b": every(12), "c": every(15), "d": [*pause]}
    staged = stage_campaign(
        {"a.csv": by_instant(instants)}, **NAMES, **UNTESTED, **sources("submitted_at")
    )
    hurried = shares(staged)
    assert hurried["d"] == (pytest.approx(21 / 22), 3.5)
    assert hurried["a"] == (0, 3.5)


def test_answers_that_were_submitted_at_once_have_no_gap(stage_campaign) -> None:
    """`one`: all, `two`: always two; `some`: 30 single answers 10 s apart and a batch of 9."""
    batch: list[float | None] = [10.0 * k for k in range(30)] + [400.0] * 9
    instants = {"a": every(9), "b": every(12), "c": every(15), "one": [5.0] * 24, "some": batch}
    instants["two"] = [float(k // 2) for k in range(24)]
    staged = stage_campaign(
        {"a.csv": by_instant(instants)}, **NAMES, **UNTESTED, **sources("submitted_at")
    )
    hurried = shares(staged)
    assert hurried["one"][0] is None
    assert hurried["two"][0] is None
    assert hurried["some"][0] == 0
    assert warning(staged).level == "pass"


@pytest.mark.slow
def test_criteria_of_an_item_are_one_answer(stage_campaign) -> None:
    """Scores of two criteria at one time: 24 gaps of 12 seconds, not 48 of which half are 0."""
    rows = "item,judge,score,criterion,submitted_at\n"
    for judge, step in (("a", 9), ("b", 12), ("c", 15), ("d", 2)):
        for n in range(24):
            when = (START + timedelta(seconds=step * n)).isoformat()
            rows += "".join(f"i{n},{judge},{n % 7},{name},{when}\n" for name in ("good", "clear"))
    fields = {name: name for name in ("item", "judge", "score", "criterion", "submitted_at")}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    staged = stage_campaign({"a.csv": rows}, **NAMES, **UNTESTED, sources=[source])
    hurried = shares(staged)
    assert hurried["d"] == (1, 3.5)
    assert hurried["b"] == (0, 3.5)


@pytest.mark.slow
def test_models_have_no_share_and_set_no_level(stage_campaign) -> None:
    times = SLOW | {"gpt": [0.1] * 24, "d": [2.0] * 24}
    judges = {"declared": [{"name": "gpt", "kind": "model"}]}
    staged = stage_campaign(
        {"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"), judges=judges
    )
    hurried = shares(staged)
    assert hurried["gpt"] == (None, None)
    assert hurried["d"] == (1, 3.5)


def test_the_report_shows_the_share(build_campaign) -> None:
    times = SLOW | {"d": [2.0] * 24}
    built = build_campaign({"a.csv": by_seconds(times)}, **NAMES, **UNTESTED, **sources("seconds"))
    report = (built.publication.release.folder / "report.html").read_text(encoding="utf-8")
    assert "Answers in a third of the typical time" in report
    [check] = [
        c for c in built.publication.release.manifest["checks"] if c["name"] == "hurried_judges"
    ]
    assert check["level"] == "warn"
    assert built.metrics("describe_judges")["hurried_judges"] == [
        {"task": "small", "judge": "d", "share": 1.0, "below": 3.5}
    ]
    assert {row["fate"] for row in built.rows("lineage")} == {"used"}


def test_the_gate_never_fails() -> None:
    [gate] = [gate for gate in GATES if gate.name == "hurried_judges"]
    assert gate.error is None
