"""Careless judges of preferences are tested by the answers of others to the same pairs."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

NAMES = {"privacy": {"pseudonymize": False}}
HEAD = "judge,segment,a,b,won\n"
FIELDS = {
    "task": {"value": "better"}, "judge": "judge", "segment": "segment", "system_a": "a",
    "system_b": "b", "preference": {"column": "won", "map": {"left": "a", "right": "b"}},
}  # fmt: skip
TURNED = {"left": "right", "right": "left"}
Judge = Callable[[random.Random, str], str]


def careful(chance: random.Random, better: str) -> str:
    return better if chance.random() < 0.85 else TURNED[better]


def reversed_sides(chance: random.Random, better: str) -> str:
    return TURNED[careful(chance, better)]


def coin(chance: random.Random, _: str) -> str:
    return chance.choice(["left", "right"])


def left(_: random.Random, __: str) -> str:
    return "left"


def answers(judges: dict[str, Judge], n: int = 100, per_pair: int = 8) -> list[list[str]]:
    """Return rows of n pairs of two systems, each shown on either side; X is better in 60%."""
    chance, rows = random.Random(17), []
    for segment in range(n):
        best = "X" if chance.random() < 0.6 else "Y"
        for name in chance.sample(sorted(judges), min(per_pair, len(judges))):
            sides = chance.sample(["X", "Y"], 2)
            better = "left" if sides[0] == best else "right"
            rows.append([name, f"s{segment}", *sides, judges[name](chance, better)])
    return rows


def text(rows: list[list[str]]) -> str:
    return HEAD + "".join(",".join(row) + "\n" for row in rows)


def sources(fields: dict = FIELDS) -> list[dict]:
    return [{"path": "exports/a*.csv", "format": "csv", "fields": fields}]


def verdicts(built) -> dict[str, tuple[str, str | None]]:
    return {row["judge"]: (row["verdict"], row["test"]) for row in built.rows("judges")}


CROWD = {f"good{k:02}": careful for k in range(12)}
MIXED = CROWD | {"coin": coin, "left": left, "turned": reversed_sides}


def test_who_answers_at_random_or_the_wrong_way_round_fails(stage_campaign):
    built = stage_campaign({"a.csv": text(answers(MIXED))}, sources=sources(), **NAMES)
    by_judge = verdicts(built)
    assert {by_judge[name] for name in CROWD} == {("passed", "chance")}
    for name in ("coin", "left", "turned"):
        assert by_judge[name] == ("failed", "chance")
    fates = {(row["judge"], row["fate"]) for row in built.rows("lineage")}
    assert fates == {(n, "used" if n in CROWD else "judge_failed") for n in MIXED}
    counts = {row["judge"] for row in built.rows("comparisons") if row["kept"]}
    assert counts == {*CROWD}
    [turned] = [r["verdict_reason"] for r in built.rows("judges") if r["judge"] == "turned"]
    assert " preferences, p = " in turned
    metrics = built.metrics("control_judges")
    assert metrics["careless_judges"] == {"chance": ["coin", "left", "turned"]}
    assert metrics["suspected_judges"] == metrics["unlinked_judges"] == []


@pytest.mark.slow
def test_sides_do_not_matter_and_ranks_say_the_same(stage_campaign):
    rows = answers(MIXED)
    exchanged = [
        [j, s, b, a, TURNED[won]] if j < "good06" else [j, s, a, b, won] for j, s, a, b, won in rows
    ]
    ranked = {**FIELDS, "rank_a": {"column": "won", "map": {"left": "1", "right": "2"}},
              "rank_b": {"column": "won", "map": {"left": "2", "right": "1"}}}  # fmt: skip
    del ranked["preference"]
    first, *others = [
        [(r["judge"], r["verdict"], r["statistic"]) for r in built.rows("judges")]
        for built in (
            stage_campaign({"a.csv": text(rows)}, sources=sources(), **NAMES),
            stage_campaign({"a.csv": text(exchanged)}, sources=sources(), **NAMES),
            stage_campaign({"a.csv": text(rows)}, sources=sources(ranked), **NAMES),
        )
    ]
    assert others == [first, first]


@pytest.mark.parametrize(
    "judges",
    [
        {f"j{k:02}": coin for k in range(12)},
        {f"j{k:02}": careful if k % 2 else reversed_sides for k in range(12)},
    ],
    ids=["equal systems", "two tastes"],
)
def test_where_tastes_differ_nobody_fails_and_nobody_is_suspected(judges, stage_campaign):
    built = stage_campaign({"a.csv": text(answers(judges))}, sources=sources(), **NAMES)
    assert "failed" not in {verdict for verdict, _ in verdicts(built).values()}
    metrics = built.metrics("control_judges")
    assert metrics["careless_judges"] == {}
    assert metrics["suspected_judges"] == []
    assert {g.level for g in built.runs["control_judges"].gates} == {"pass"}


def test_a_few_who_agree_on_the_wrong_way_round_fail(stage_campaign):
    """Among labels they would be a camp of copies, of whom nobody can tell who is right."""

    def sure(chance: random.Random, better: str) -> str:
        return better if chance.random() < 0.98 else TURNED[better]

    judges = {f"good{k:02}": sure for k in range(9)}
    judges |= {f"turned{k}": lambda chance, better: sure(chance, TURNED[better]) for k in range(3)}
    built = stage_campaign({"a.csv": text(answers(judges))}, sources=sources(), **NAMES)
    failed = {name for name, (verdict, _) in verdicts(built).items() if verdict == "failed"}
    assert failed == {"turned0", "turned1", "turned2"}


def test_who_shares_no_pair_with_most_is_not_held_against_the_build(stage_campaign):
    others = [[f"x{j}", f"other{s}", *more] for j, s, *more in answers(CROWD, n=10, per_pair=3)]
    built = stage_campaign({"a.csv": text(answers(CROWD) + others)}, sources=sources(), **NAMES)
    assert built.metrics("control_judges")["unlinked_judges"] == []


def test_pairs_of_one_ranking_test_nobody(stage_campaign):
    fields = {**FIELDS, "ranking": "segment"}
    built = stage_campaign({"a.csv": text(answers(MIXED))}, sources=sources(fields), **NAMES)
    assert {verdict for verdict, _ in verdicts(built).values()} == {"untested"}


def test_pairs_that_one_judge_saw_test_nobody(stage_campaign):
    rows = answers(CROWD, per_pair=1)
    built = stage_campaign({"a.csv": text(rows)}, sources=sources(), **NAMES)
    assert {verdict for verdict, _ in verdicts(built).values()} == {"untested"}
    assert {row["verdict_reason"] for row in built.rows("judges")} == {
        "no preference of an item that others judged"
    }


@pytest.mark.parametrize(
    ("sets", "fate"),
    [((), "judge_failed"), (("quality.labels=measure",), "used"), (("quality.test=none",), "used")],
)
def test_judges_of_preferences_may_be_measured_only(sets, fate, stage_campaign):
    exports = {"a.csv": text(answers(CROWD | {"coin": coin}))}
    built = stage_campaign(exports, *sets, sources=sources(), **NAMES)
    assert {row["fate"] for row in built.rows("lineage") if row["judge"] == "coin"} == {fate}


@pytest.mark.parametrize("scope", ["campaign", "task"])
def test_labels_and_preferences_are_tested_apart(scope, stage_campaign):
    """Who labels with care and prefers at random fails: in all tasks, or in one."""
    chance, labels = random.Random(3), "judge,item,label\n"
    for item in range(60):
        truth = chance.choice(["yes", "no"])
        other = "no" if truth == "yes" else "yes"
        for name in [*CROWD, "coin"]:
            labels += f"{name},i{item},{truth if chance.random() < 0.9 else other}\n"
    fields = {"task": {"value": "labels"}, "judge": "judge", "item": "item", "label": "label"}
    of_labels = {"path": "exports/l.csv", "format": "csv", "fields": fields}
    exports = {"a.csv": text(answers(CROWD | {"coin": coin})), "l.csv": labels}
    built = stage_campaign(
        exports, f"quality.scope={scope}", sources=[*sources(), of_labels], **NAMES
    )
    by_task = {(row["task"], row["judge"]): row["verdict"] for row in built.rows("judges")}
    assert by_task["better", "coin"] == "failed"
    assert by_task["labels", "coin"] == ("failed" if scope == "campaign" else "passed")
    assert {v for (_, judge), v in by_task.items() if judge != "coin"} == {"passed"}
