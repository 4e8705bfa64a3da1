"""Preferences as exports have them: winners by name, grades, both orders of a pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from tests.conftest import load_campaign, write_small_campaign

PAIR = {"judge": "judge", "segment": "prompt", "system_a": "a", "system_b": "b"}


def settings(fields: dict[str, Any], task: dict[str, Any] | None = None, **more: Any) -> Any:
    source = {"path": "exports/*.csv", "format": "csv", "fields": PAIR | fields, **more}
    tasks = [{"name": "*", "kind": "pairwise"} | (task or {})]
    return {"sources": [source], "tasks": tasks}


def answers(staged: Any) -> list[tuple[str, Any]]:
    rows = sorted(staged.rows("controlled"), key=lambda row: row["source_row"])
    return [(row["fate"], row["reason"] or row["preference"]) for row in rows]


def test_the_winner_by_name(stage_campaign):
    rows = "judge,prompt,a,b,won\n"
    rows += "j,1,x,y,x\nj,2,x,y,y\nj,3,x,y,tie\nj,4,x,y,z\nj,5,x,y,\nj,6,x,x,x\n"
    assert answers(stage_campaign({"e.csv": rows}, **settings({"winner": "won"}))) == [
        ("used", "a"), ("used", "b"), ("used", "tie"),
        ("rejected", "winner is neither side: 'z'"), ("rejected", "winner is blank"),
        ("rejected", "winner is the name of both sides"),
    ]  # fmt: skip


def test_words_that_name_no_side_go_through_map(stage_campaign):
    rows = "judge,prompt,a,b,won\nj,1,x,y,both bad\nj,2,x,y,y\nj,3,x,y,left\nj,4,x,y,hm\n"
    winner = {"column": "won", "map": {"both bad": "tie", "left": "a"}}
    assert answers(stage_campaign({"e.csv": rows}, **settings({"winner": winner}))) == [
        ("used", "tie"), ("used", "b"), ("used", "a"), ("rejected", "winner is neither side: 'hm'"),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_winner_among_texts_of_one_policy(stage_campaign):
    """Two samples of one system: items differ; no ranking of systems takes them."""
    rows = "judge,prompt,a,b,ta,tb,won\nj,1,x,x,t1,t2,t2\nj,1,x,y,t1,t3,t1\n"
    fields = {"winner": "won", "item_a": "ta", "item_b": "tb"}
    staged = stage_campaign({"e.csv": rows}, **settings(fields))
    assert answers(staged) == [("used", "b"), ("used", "a")]
    assert staged.metrics("rank_systems")["comparisons_of_one_system"] == {"small": 1}


@pytest.mark.slow
def test_one_hot_winners(stage_campaign):
    rows = "judge,prompt,a,b,wa,wb,wt\nj,1,x,y,1,0,0\nj,2,x,y,0,1,0\nj,3,x,y,0,0,1\n"
    preference = {"join": ["wa", "wb", "wt"], "map": {"100": "a", "010": "b", "001": "tie"}}
    assert answers(stage_campaign({"e.csv": rows}, **settings({"preference": preference}))) == [
        ("used", "a"), ("used", "b"), ("used", "tie"),
    ]  # fmt: skip


def test_grades_have_shares(stage_campaign):
    """AlpacaEval's preference is 1 for the first and 2 for the second."""
    grades = [0.9, 0.4, 0.5, 1.0, 0.0, 0.7]
    rows = "judge,prompt,a,b,p\n" + "".join(
        f"j{n % 4},{n},base,new,{1 + p}\n" for n, p in enumerate(grades)
    )
    staged = stage_campaign({"e.csv": rows}, **settings({"strength": "p"}, strength=[2, 1]))
    assert [answer for _, answer in answers(staged)] == ["b", "a", "tie", "b", "a", "b"]
    scores = {(r["method"], r["system"]): r["score"] for r in staged.rows("system_rankings")}
    mean = np.mean(grades)
    assert scores["wins_ties_half", "new"] == pytest.approx(mean)
    # at the maximum the expected share is the mean, but for the prior N(0, 9) of both strengths
    odds = scores["bradley_terry", "new"] - scores["bradley_terry", "base"]
    assert 6 * (mean - 1 / (1 + np.exp(-odds))) == pytest.approx(odds / 18, rel=1e-6)
    assert ("wins", "new") not in scores


@pytest.mark.slow
def test_grades_on_a_symmetric_scale(stage_campaign):
    rows = "judge,prompt,a,b,p\nj,1,x,y,-3\nj,2,x,y,0\nj,3,x,y,1\nj,4,x,y,4\nj,5,x,y,hm\n"
    staged = stage_campaign({"e.csv": rows}, **settings({"strength": "p"}, strength=[-3, 3]))
    assert answers(staged) == [
        ("used", "b"), ("used", "tie"), ("used", "a"),
        ("rejected", "strength is outside -3 to 3: 4"),
        ("rejected", "strength is not a number: 'hm'"),
    ]  # fmt: skip
    by_row = {row["source_row"]: row["strength"] for row in staged.rows("controlled")}
    assert (by_row[1], by_row[2], by_row[3]) == (0, 0.5, pytest.approx(4 / 6))


@pytest.mark.parametrize(
    ("fields", "more", "what"),
    [
        ({"strength": "p"}, {}, "fields.strength and strength go together"),
        ({"preference": "p"}, {"strength": [0, 1]}, "fields.strength and strength go together"),
        ({"strength": "p"}, {"strength": [1, 1]}, "both ends are the same"),
        ({"winner": "p", "preference": "q"}, {}, "preference and winner say the same"),
    ],
)
def test_forms_that_cannot_be(tmp_path, fields, more, what):
    with pytest.raises(ConfigError) as caught:
        load_campaign(write_small_campaign(tmp_path, {}, **settings(fields, **more)))
    assert what in caught.value.problems[0].what


def test_both_orders_of_a_pair_are_one_comparison(stage_campaign):
    """A win only if both orders agree, else a tie (Zheng et al. 2023)."""
    rows = "judge,prompt,a,b,p\n"
    rows += "j,1,x,y,a\nj,1,y,x,b\n"  # x both times
    rows += "j,2,x,y,a\nj,2,y,x,a\n"  # the first shown
    rows += "j,3,x,y,tie\nj,3,y,x,b\n"  # x once
    rows += "j,4,x,y,a\n"  # one order only
    rows += "k,1,y,x,a\nk,1,x,y,b\n"  # y both times, by another judge
    fields = {"preference": "p"}
    staged = stage_campaign({"e.csv": rows}, **settings(fields, {"reconcile": "order"}))
    by_pair = {(r["segment"], r["judge"]): r for r in staged.rows("comparisons")}
    assert {key: row["outcome"] for key, row in by_pair.items()} == {
        ("1", "j"): 1, ("2", "j"): 0, ("3", "j"): 0, ("1", "k"): -1,
    }  # fmt: skip
    assert {row["b_shown_first"] for row in by_pair.values()} == {None}
    assert [row["reason"] for row in staged.rows("not_compared")] == [
        "the judge saw the pair in one order only (reconcile: order)"
    ]
    assert len(stage_campaign({"e.csv": rows}, **settings(fields)).rows("comparisons")) == 9


def test_reconcile_is_of_pairs(tmp_path):
    task = {"kind": "categorical", "reconcile": "order"}
    with pytest.raises(ConfigError) as caught:
        load_campaign(write_small_campaign(tmp_path, {}, **settings({"preference": "p"}, task)))
    assert "reconcile belongs to kind: pairwise" in caught.value.problems[0].what


def test_known_answers_of_pairs(stage_campaign):
    """The truth is a side, or the name of what should win."""
    rows = "judge,prompt,a,b,won,gold,control\n"
    for n in range(6):
        rows += f"good,{n},x,bad,x,x,known_answer\n"
        rows += f"poor,{n},bad,x,bad,x,known_answer\n"
        rows += f"good,{n + 10},x,y,x,,none\npoor,{n + 10},x,y,y,,none\n"
    rows += "good,20,x,bad,x,z,known_answer\n"
    fields = {"winner": "won", "truth": "gold", "control": "control"}
    staged = stage_campaign({"e.csv": rows}, **settings(fields), quality={"test": "known_answer"})
    assert sorted(r["verdict"] for r in staged.rows("judge_tests")) == ["failed", "passed"]
    failed = {r["judge"] for r in staged.rows("controlled") if r["fate"] == "judge_failed"}
    assert failed == {"poor"}
    reasons = {row["reason"] for row in staged.rows("known_answers")}
    assert reasons == {None, "the truth is neither side and no tie: 'z'"}
