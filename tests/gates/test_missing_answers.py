"""Answers that are missing more often for one system, or of one judge, than for others."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest

from annot_pipeline.config import Resources
from annot_pipeline.errors import GateError
from annot_pipeline.gates import GATES
from annot_pipeline.storage.queries import Queries

SYSTEMS = ("brief", "long", "plain")
FIELDS = {"segment": "text", "system": "bot", "judge": "grader", "score": "points"}
ITEM_FIELDS = {"item": "output", "judge": "grader", "score": "points"}


class Asked(NamedTuple):
    segment: int
    system: str
    judge: str


def settings(fields, **more):
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields, "failed": ["~^ERR"]}
    return {
        "sources": [source | more], "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "quality": {"test": "none"},
    }  # fmt: skip


def rows(fails, n_segments=40, graders=("g1", "g2")):
    """Return an export in which an answer fails where ``fails(asked)``."""
    head = "text,bot,output,grader,points\n"
    return head + "".join(
        f"t{n},{system},t{n}:{system},{judge},"
        f"{'ERR 500' if fails(Asked(n, system, judge)) else 40 + (7 * n + 11 * position) % 30}\n"
        for n in range(n_segments)
        for position, system in enumerate(SYSTEMS)
        for judge in graders
    )


def gate(staged, name):
    (stage,) = (gate.stage for gate in GATES if gate.name == name)
    staged.rows({"describe_judges": "judges"}.get(stage, "system_rankings"))
    (actual,) = (gate for gate in staged.runs[stage].gates if gate.name == name)
    return actual


@pytest.mark.slow
def test_answers_missing_of_one_system(stage_campaign):
    """Of 80 answers on each system, 30 on `long` failed; nothing else is missing."""
    text = rows(lambda a: a.system == "long" and a.segment % 8 < 3)
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    counts = {(r["system"], r["n_asked"], r["answered_share"])
              for r in staged.rows("system_rankings")}  # fmt: skip
    assert counts == {("brief", 80, 1.0), ("long", 80, 50 / 80), ("plain", 80, 1.0)}
    actual = gate(staged, "answers_missing_by_system")
    assert (actual.level, actual.value) == ("warn", 1)
    assert "long 62.5% (50 of 80) and brief 100.0% (80 of 80)" in actual.detail
    assert "p < 1e-9" in actual.detail
    scores = [40 + (7 * n + 11) % 30 for n in range(40) if n % 8 >= 3]
    of_brief = sum(40 + 7 * n % 30 for n in range(40)) / 40
    low, high = (sum(scores) * 2 / 80 + end * 30 / 80 - of_brief for end in (0, 100))
    assert f"raw means differ by {low:.2f} to {high:.2f}" in actual.detail


@pytest.mark.slow
def test_answers_missing_evenly_are_no_warning(stage_campaign):
    text = rows(lambda a: a.segment % 8 < 3)
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    assert {r["answered_share"] for r in staged.rows("system_rankings")} == {50 / 80}
    assert gate(staged, "answers_missing_by_system").level == "pass"


@pytest.mark.slow
def test_a_difference_that_chance_may_make_is_no_warning(stage_campaign):
    text = rows(lambda a: a.system == "long" and a.segment < 3)
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    assert gate(staged, "answers_missing_by_system").value == 0


def test_a_system_without_any_answer_is_named_though_it_is_not_ranked(stage_campaign):
    text = rows(lambda a: a.system == "long")
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    assert {r["system"] for r in staged.rows("system_rankings")} == {"brief", "plain"}
    assert "long 0.0% (0 of 80)" in gate(staged, "answers_missing_by_system").detail


@pytest.mark.slow
def test_systems_that_an_item_table_names(stage_campaign):
    """Records name items alone; words of abstention count as missing, too."""
    listed = "output,bot,text\n" + "".join(
        f"t{n}:{system},{system},t{n}\n" for n in range(40) for system in SYSTEMS
    )
    text = rows(lambda a: a.system == "plain" and a.segment < 20)
    more = settings(ITEM_FIELDS, failed=[], abstain=["ERR 500"])
    items = {"path": "exports/items.txt", "format": "csv",
             "fields": {"item": "output", "system": "bot", "segment": "text"}}  # fmt: skip
    staged = stage_campaign({"a.csv": text, "items.txt": listed}, items=[items], **more)
    counts = {(r["system"], r["n_asked"], r["answered_share"])
              for r in staged.rows("system_rankings")}  # fmt: skip
    assert counts == {("brief", 80, 1.0), ("long", 80, 1.0), ("plain", 80, 0.5)}


@pytest.mark.slow
def test_both_systems_of_a_comparison_that_failed(stage_campaign):
    pairs = [("brief", "long"), ("long", "plain"), ("brief", "plain")]
    text = "text,one,two,grader,better\n" + "".join(
        f"t{n},{a},{b},g{n % 2},{'ERR' if b == 'long' and n % 2 else 'ab'[n % 3 > 0]}\n"
        for n in range(30)
        for a, b in pairs
    )
    fields = {"segment": "text", "system_a": "one", "system_b": "two", "judge": "grader",
              "preference": "better"}  # fmt: skip
    campaign = settings(fields) | {"tasks": [{"name": "*", "kind": "pairwise"}]}
    staged = stage_campaign({"a.csv": text}, **campaign)
    counts = {(r["system"], r["n_asked"], r["answered_share"])
              for r in staged.rows("system_rankings")}  # fmt: skip
    assert counts == {("brief", 60, 0.75), ("long", 60, 0.75), ("plain", 60, 1.0)}


def test_only_answers_of_judges_and_rows_that_rank_are_asked_for(tmp_path):
    """Not those of a judge who failed judge control, of people in a task of models, of controls."""
    names = ("judge_id", "judge_kind", "fate", "control", "score")
    answers = [
        ("m1", "model", "used", "none", 3.0), ("m1", "model", "unscored", "none", None),
        ("m1", "model", "not_asked", "ask_again", None), ("m1", "model", "rejected", "none", None),
        ("m1", "model", "unscored", "bad_reference", None),
        ("m2", "model", "judge_failed", "none", 5.0), ("m2", "model", "unscored", "none", None),
        ("p1", "human", "measured", "none", 4.0), ("p1", "human", "unscored", "none", None),
        (None, None, "unscored", "none", None),
    ]  # fmt: skip
    none = dict.fromkeys(("item_a", "item_b", "system_a", "system_b"))
    controlled = pa.Table.from_pylist(
        [{"task": "t", "item": "i", "system": "s", **none, **dict(zip(names, row, strict=True))}
         for row in answers],
        pa.schema([*((name, pa.string()) for name in ("task", "item", "system", *none, *names[:4])),
                   ("score", pa.float64())]),
    )  # fmt: skip
    tasks = pa.table({"task": ["t"], "used_judges": ["model"],
                      "criteria": pa.array([[]], pa.list_(pa.string()))})  # fmt: skip
    items = pa.table({name: pa.array([], pa.string()) for name in ("item", "system", "place")})
    answers = Queries(Resources(), tmp_path).table(
        "control/answers_of_systems",
        {"controlled": controlled, "tasks": tasks, "item_rows": items},
    )
    assert answers.to_pylist() == [
        {"task": "t", "system": "s", "n_asked": 3, "n_answered": 1, "score_sum": 3.0}
    ]


def test_answers_missing_of_one_judge(stage_campaign):
    text = rows(lambda a: a.judge == "g2" and a.segment % 4 == 0)
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    unscored = {r["judge"]: r["n_unscored"] for r in staged.rows("judges")}
    assert sorted(unscored.values()) == [0, 30]
    actual = gate(staged, "answers_missing_by_judge")
    assert (actual.level, actual.value) == ("warn", 1)
    assert "75.0% (90 of 120)" in actual.detail
    assert gate(staged, "answers_missing_by_system").level == "pass"


def test_a_judge_without_any_answer_is_named(stage_campaign):
    text = rows(lambda a: a.judge == "g2")
    staged = stage_campaign({"a.csv": text}, **settings(FIELDS))
    actual = {
        (r["n_judgments"], r["n_unscored"], r["answered_share"], r["verdict"], r["verdict_reason"])
        for r in staged.rows("judges")
    }
    assert actual == {
        (120, 0, 1.0, "untested", "quality.test is none"),
        (0, 120, 0.0, "untested", "all answers failed (fate unscored)"),
    }
    detail = gate(staged, "answers_missing_by_judge").detail
    assert "0.0% (0 of 120)" in detail
    assert "(120 of 120) of the answers did not fail, p < 1e-9" in detail


@pytest.mark.slow
def test_a_judge_without_any_answer_counts_in_no_page(build_campaign):
    """Two of three judges have judgments; the third is listed, with the reason."""
    text = rows(lambda a: a.judge == "g2", n_segments=4, graders=("g1", "g2", "g3"))
    built = build_campaign({"a.csv": text}, **settings(FIELDS))
    folder = built.publication.release.folder
    assert {r["n_judgments"] for r in built.rows("judges")} == {0, 12}
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| 2 | 24 | 12 |" in card.partition("## Who judged")[2]
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "24 judgments by 2 judges" in report
    assert "all answers failed (fate unscored)" in report


def test_a_campaign_whose_answers_all_failed_stops_at_a_gate(build_campaign, tmp_path):
    text = rows(bool)
    with pytest.raises(GateError, match="usable judgments: 0; records: 240 unscored"):
        build_campaign({"a.csv": text}, **settings(FIELDS))
    assert not (tmp_path / "campaign" / "gold").exists()
