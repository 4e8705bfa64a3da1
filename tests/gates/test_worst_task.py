"""What many tasks hide, and what few items are worth: worked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from annot_pipeline.config import Threshold
from annot_pipeline.errors import ConfigError
from annot_pipeline.gates import GATES, check_gate_names
from annot_pipeline.gates.measures import largest_change


def gate_result(name, metrics, **given):
    """Level, figure and detail of one gate."""
    (gate,) = (gate for gate in GATES if gate.name == name)
    levels = gate.levels(Threshold(**given))
    compared = {"released_version": "v0001", "judges_have_other_names": False}
    finding = gate.find(SimpleNamespace(**compared | metrics), levels)
    serious = finding.value if finding.serious is None else finding.serious
    failed = levels.error is not None and serious > levels.error
    return "error" if failed else "warn" if finding.value > levels.warn else "pass", finding


def flips(*tasks):
    return {"label_changes": [
        {"task": task, "items": items, "changed": changed, "first_changed": ["i"]}
        for task, items, changed in tasks
    ]}  # fmt: skip


def test_a_big_task_does_not_hide_a_small_one():
    """15 of 20 is .75; pooled it would be 15 of 1020."""
    level, finding = gate_result("label_flips", flips(("big", 1000, 0), ("small", 20, 15)))
    assert (level, finding.value, finding.detail) == ("error", 0.75, "small 15 of 20: i")


def test_a_task_of_two_items_is_no_alarm():
    level, finding = gate_result("label_flips", flips(("big", 1000, 10), ("tiny", 2, 2)))
    assert (level, finding.value) == ("pass", 0.01)
    assert finding.detail == "big 10 of 1,000: i; tiny 2 of 2: i"
    assert gate_result("label_flips", flips(("tiny", 2, 2)), minimum=2)[0] == "error"


def test_small_tasks_count_together():
    """Three tasks of 8 are 24 items, of which 18 changed."""
    level, finding = gate_result("label_flips", flips(*((f"t{n}", 8, 6) for n in range(3))))
    assert (level, finding.value) == ("error", 18 / 24)
    assert gate_result("label_flips", flips(("a", 8, 6), ("b", 8, 6)))[0] == "pass"


def test_unseen_judges_of_the_worst_task_warn_and_never_fail():
    rows = [
        {"task": task, "judgments": n, "unseen_judgments": unseen, "unseen_judges": 1}
        for task, n, unseen in (("big", 900, 0), ("small", 30, 30), ("tiny", 19, 19))
    ]
    level, finding = gate_result("unseen_judges", {"judge_changes": rows})
    assert (level, finding.value) == ("warn", 1)
    assert finding.detail == ("small 1 judge, 30 of 30 judgments; tiny 1 judge, 19 of 19 judgments")


def test_changes_of_few_items_are_left_aside():
    changes = [
        {"name": "tiny", "change": -0.9, "low": -1, "high": -0.1, "items": 19},
        {"name": "big", "change": 0.2, "low": 0.1, "high": 0.3, "items": 20},
    ]
    assert largest_change(changes, 20).value == 0.2
    assert largest_change(changes, 19).value == 0.9


@pytest.mark.parametrize(("judges", "level"), [(9, "warn"), (10, "error")])
def test_of_few_judges_who_fail_it_only_warns(judges, level):
    metrics = {"judges_in_control": judges, "verdicts": {"failed": judges}}
    assert gate_result("judges_failed", metrics)[0] == level
    names = ["j"] * (judges - 2)
    below = {"judges": {"t": judges - 1, "u": 1}, "judges_below_chance": {"t": names, "u": ["j"]}}
    assert gate_result("judges_below_chance", below)[0] == level


def test_the_minimum_of_items_and_systems_is_a_setting():
    """Of 10 items 2 have one judgment and 5 have two."""
    metrics = {"items_by_judgments": {"t": [[1, 1], [2, 5]], "u": [[1, 1], [3, 3]]}}
    for name in ("single_judgment_items", "single_judgment_scores"):
        assert gate_result(name, metrics)[1].value == 0.2
        assert gate_result(name, metrics, minimum=3)[1].value == 0.7
    systems = {"judgments_of_systems": {"t": {"a": 9, "b": 10, "c": 40}}}
    assert gate_result("thin_systems", systems)[1].detail == "t a"
    assert gate_result("thin_systems", systems, minimum=40)[1].detail == "t a, t b"


def test_a_question_names_the_minimum_that_holds():
    for gate in GATES:
        assert gate.minimum is not None or "{minimum}" not in gate.question
    (gate,) = (gate for gate in GATES if gate.name == "thin_systems")
    asked = gate.asks(gate.levels(Threshold(minimum=30)))
    assert asked == "number of systems ranked by fewer than 30 judgments"


def test_a_minimum_of_a_gate_without_one_is_refused():
    check_gate_names({"label_flips": Threshold(minimum=5)})
    with pytest.raises(ConfigError, match=r"gates\.look_alikes\.minimum") as error:
        check_gate_names({"look_alikes": Threshold(minimum=5)})
    assert "label_flips" in str(error.value)
